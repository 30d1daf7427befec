//! A file per command: each takes its arguments and the printer, and says how the program ends.

pub mod bundle;
pub mod calibrate;
pub mod capacity;
pub mod check;
pub mod compare;
pub mod doctor;
pub mod drive;
pub mod engines;
pub mod export;
pub mod finish;
pub mod list;
mod pair;
pub mod plan;
pub mod prepare;
pub mod quick;
pub mod report;
pub mod rerun;
pub mod resume;
pub mod run;
pub mod runs;
pub mod search;
pub mod serve;
pub mod show;
pub mod size;
pub mod suites;
pub mod versus;
