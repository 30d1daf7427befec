//! `kvdyno size` and `kvdyno capacity`.

use super::{RunsArgs, SuiteName};
use clap::{Args, ValueHint};
use std::path::PathBuf;

/// What both searches are told.
#[derive(Clone, Debug, Args)]
pub struct SearchArgs {
    /// The suite whose work is done: built-in, or the path of a TOML file
    #[arg(
        default_value = "quick",
        value_parser = SuiteName,
        hide_possible_values = true,
        value_hint = ValueHint::FilePath
    )]
    pub suite: String,
    /// The engine, by its label or name
    #[arg(long, value_name = "NAME")]
    pub engine: String,
    /// What must hold in every trial, as `p99 < 1ms and reads > 50k/s`
    #[arg(long, value_name = "TARGET")]
    pub target: String,
    /// How many threads its roles with `threads = "sweep"` have; the suite's largest by default
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub threads: Option<u32>,
    /// How often each point is repeated
    #[arg(long, value_name = "N", default_value_t = 3,
          value_parser = clap::value_parser!(u32).range(1..))]
    pub trials: u32,
    /// The values searched, as `256MiB..4GiB` or `1k..100k`; chosen from the data by default
    #[arg(long, value_name = "LOW..HIGH")]
    pub between: Option<String>,
    /// How close is close enough, as a share of the value
    #[arg(long, value_name = "SHARE", default_value = "10%")]
    pub tolerance: String,
    /// Change one value of the suite, as `data.records=8M`; may be repeated
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub set: Vec<String>,
    /// Scale records and operation counts, as `1/1000`
    #[arg(long, value_name = "RATIO")]
    pub scale: Option<String>,
    /// The folder in which databases are made; emptied of them afterwards
    #[arg(long, value_name = "DIR")]
    pub place: Option<PathBuf>,
    /// Where runs are kept.
    #[command(flatten)]
    pub runs: RunsArgs,
    /// The answer with its curve as JSON
    #[arg(long)]
    pub json: bool,
}

/// `kvdyno size`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  kvdyno size --engine lmdb --target 'reads > 50k/s'
  kvdyno size --engine rocksdb --target 'p99 < 1ms and reads > 50k/s' --threads 4
  kvdyno size mine.toml --engine lmdb --target 'readers.p99.9 < 5ms' --between 1GiB..64GiB

A target is one or several conditions joined by `and`: p50, p90, p99, p99.9, p99.99 or max below a
time, of every role or of one (readers.p99); reads, writes or ops a second above a number. A point
meets it when every trial does. The search takes for granted that more memory never hurts; where an
answer contradicts that, it says so. All points are cases of one run, kept like any other:
`kvdyno report` draws the curve.")]
pub struct SizeArgs {
    /// What is searched, and how.
    #[command(flatten)]
    pub search: SearchArgs,
}

/// `kvdyno capacity`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  kvdyno capacity --engine lmdb --target 'p99 < 1ms'
  kvdyno capacity --engine rocksdb --target 'readers.p99.9 < 5ms' --role readers --threads 4
  kvdyno capacity mine.toml --engine lmdb --target 'p99 < 2ms' --between 1k..200k

The role works in an open loop: operations arrive at random (Poisson) whether or not the engine
keeps up, and a latency counts from the moment at which an operation was due. Without --between the
role is first run as fast as it goes, and rates from a fiftieth of that up to it are searched. A
target is written as for `kvdyno size`.")]
pub struct CapacityArgs {
    /// What is searched, and how.
    #[command(flatten)]
    pub search: SearchArgs,
    /// The role whose rate is searched; the first of the last measured phase by default
    #[arg(long, value_name = "NAME")]
    pub role: Option<String>,
}
