//! The files of kvdyno, and the messages between the program and its workers.
//!
//! The crate has types with their readers, writers and version numbers. The record is the waist of
//! the whole design: everything before it measures and never formats, everything after it is a pure
//! function of these files. The crate does not judge: no percentile, ratio or verdict is stored or
//! computed here.

pub mod blockio;
pub mod case;
pub mod claim;
pub mod column;
pub mod crew;
pub mod exit;
pub mod expected_hits;
pub mod files;
pub mod fio;
pub mod fit;
pub mod functions;
pub mod graph;
pub mod hlog;
pub mod host;
pub mod key;
pub mod known;
pub mod left_out;
pub mod library;
mod lines;
pub mod operations;
pub mod origin;
mod outcome;
pub mod plan;
pub mod pledge;
pub mod profile;
pub mod protocol;
pub mod redact;
pub mod replay;
pub mod run;
pub mod samples;
pub mod search;
pub mod series;
pub mod state;
pub mod steady;
pub mod text;
pub mod tier;
pub mod torture;
pub mod turns;
pub mod units;
pub mod usage;
pub mod volume;
pub mod work;
mod worker;
pub mod workload;

pub use kvdyno_engine as engine;

/// The program's version, and its commit where the build knew it.
pub const VERSION: &str = match option_env!("KVDYNO_VERSION") {
    Some(version) => version,
    None => env!("CARGO_PKG_VERSION"),
};

/// The version of the files a run consists of, as `major.minor`. Newer ones are refused.
pub const FORMAT: &str = "1.0";

/// The version of the protocol between program and worker. Both must have the same.
pub const PROTOCOL: u32 = 5;
