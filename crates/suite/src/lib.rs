//! From a suite file to a flat plan, before anything is changed on disk.
//!
//! A suite passes two gates. [`Suite::parse`] reads the file and the arguments that change it, and
//! refuses what is wrong on any machine. [`expand`] adds the engines' descriptions and the host's
//! properties, and returns a [`kvdyno_record::plan::Plan`] with every value resolved. Both are
//! pure: they read no file, start no process and print nothing. Mistakes of both gates are shown at
//! their line.
//!
//! `docs/suites.md` teaches the language; `schemas/suite.schema.json` and `docs/suite-reference.md`
//! are made from the types here.

mod abilities;
mod adjust;
mod attached;
mod brief;
mod builtin;
mod cases;
mod check;
mod check_drive;
mod check_storage;
mod choice;
mod claim;
mod count;
mod crew;
mod db_bench;
mod drive;
mod engine;
mod estimate;
mod expand;
mod fidelity;
mod first_reads;
mod grid;
mod growth;
mod jobs;
mod left_out;
mod length;
mod linkbench;
mod media;
mod missing_engines;
mod mistake;
mod names;
mod options;
mod packing;
mod parse;
mod part;
mod phase;
mod rate;
mod read;
mod replay;
mod scalar;
mod scale;
mod schema;
mod select;
mod set;
mod setup;
mod shuffle;
mod sizing;
mod slices;
mod source;
mod space;
#[cfg(test)]
mod tests;
mod tier;
mod typed;
mod volume;
mod wanted;
mod workload;

pub use builtin::builtin;
pub use db_bench::{db_bench_options, db_bench_options_files};
pub use estimate::{estimate, write_bytes_least};
pub use expand::expand;
pub use mistake::{LocatedMistake, SuiteError, closest};
pub use parse::{Overrides, Suite};
pub use replay::Trace;
pub use scalar::{SEVERAL_MAX, slug};
pub use schema::schema;
pub use sizing::SizingHost;
pub use space::{NoSpace, check_space};
pub use wanted::{Engines, FoundWorker, Missing, Pick, WantedWorker};
pub use workload::threads_of;
