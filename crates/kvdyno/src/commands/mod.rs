//! A file per command: each takes its arguments and the printer, and says how the program ends.

pub(crate) mod bundle;
pub(crate) mod calibrate;
pub(crate) mod capacity;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod doctor;
pub(crate) mod drive;
pub(crate) mod engines;
pub(crate) mod export;
pub(crate) mod finish;
pub(crate) mod list;
pub(crate) mod new_engine;
mod pair;
pub(crate) mod plan;
pub(crate) mod prepare;
pub(crate) mod quick;
pub(crate) mod report;
pub(crate) mod rerun;
pub(crate) mod resume;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod search;
pub(crate) mod serve;
pub(crate) mod show;
pub(crate) mod size;
pub(crate) mod suites;
pub(crate) mod versus;
