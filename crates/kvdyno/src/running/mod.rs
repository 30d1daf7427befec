//! The way of a run from its suite to the end of its record; every command that measures takes it.

mod decide;
pub(crate) mod finish;
pub mod libraries;
pub(crate) mod machine;
mod own_database;
pub(crate) mod pair;
mod pilot;
pub(crate) mod prepare;
pub(crate) mod recorded_plan;
pub(crate) mod resume;
pub mod runner;
pub(crate) mod start;
pub mod workers;
