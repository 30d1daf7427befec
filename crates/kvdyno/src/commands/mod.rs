//! A file per command: each takes its arguments and the printer, and returns the exit code.

pub(crate) mod bundle;
pub(crate) mod capacity;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod doctor;
pub(crate) mod export;
mod fleet;
pub(crate) mod history;
pub(crate) mod judge;
pub(crate) mod list;
pub(crate) mod plan;
pub(crate) mod quick;
pub(crate) mod report;
pub(crate) mod rerun;
pub(crate) mod resume;
pub(crate) mod run;
pub(crate) mod search;
pub(crate) mod serve;
pub(crate) mod show;
pub(crate) mod site;
pub(crate) mod size;
pub(crate) mod state;
pub(crate) mod suites;
pub(crate) mod versus;
