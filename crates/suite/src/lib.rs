//! Turns a suite file into a flat plan, before anything is changed on disk.
//!
//! A suite passes two gates. [`Suite::parse`] reads the file and the arguments that change it, and
//! refuses mistakes on any machine. [`expand`] adds the engines' descriptions and the host's
//! properties, and returns a [`kvdyno_record::plan::Plan`] with every value resolved. Both are
//! pure: they read no file, start no process and print nothing. Mistakes of both gates are shown at
//! their line.
//!
//! The directories are layers, and none imports a later one: `written` (a suite as typed: types,
//! reader, schema), `edit` (changes before the checks), `check` (refusals), `plan`.
//!
//! `docs/suites.md` teaches the language; `schemas/suite.schema.json` and `docs/suite-reference.md`
//! are generated from the types here.

mod check;
mod databases;
mod edit;
mod parse;
mod plan;
#[cfg(test)]
mod tests;
mod traces;
mod written;

pub use databases::OwnDatabase;
pub use edit::db_bench::{db_bench_options, read_db_bench_files};
pub use edit::overrides::{Explain, Overrides};
pub use edit::ycsb::read_ycsb_files;
pub use plan::estimate::{estimate, write_bytes_least};
pub use plan::expand::expand;
pub use plan::sizing::SizingHost;
pub use plan::space::{NoSpace, check_space};
pub use plan::trial::append_trial;
pub use plan::workload::max_threads;
pub use written::builtin::builtin;
pub use written::mistake::{LocatedMistake, SuiteError, closest};
pub use written::scalar::{SEVERAL_MAX, slug};
pub use written::schema::schema;
pub use written::suite::Suite;
pub use written::trace::Trace;
pub use written::worker::{Engines, InstalledWorker, Missing, Pick, WorkerSpec};
