//! A file per command: each takes its arguments and the printer, and says how the program ends.

pub mod bundle;
pub mod calibrate;
pub mod capacity;
pub mod check;
pub mod compare;
pub mod completions;
pub mod doctor;
pub mod drive;
pub mod engines;
pub mod export;
pub mod finish;
pub mod list;
pub mod plan;
pub mod prepare;
pub mod report;
pub mod rerun;
pub mod resume;
pub mod run;
pub mod runs;
pub mod schema;
pub(crate) mod search;
pub mod serve;
pub mod show;
pub mod size;
pub mod suites;
pub mod undertaker;
