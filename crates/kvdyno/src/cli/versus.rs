//! `versus`: what can be typed.

use super::{ComparisonArgs, NamedArgs, PlaceArgs, RunsArgs, SuiteName};
use clap::{Args, ValueHint};
use std::path::PathBuf;

/// `kvdyno versus`.
#[derive(Clone, Debug, Default, Args)]
#[command(after_help = "\
Examples:
  kvdyno versus --library base/librocksdb.so --library new/librocksdb.so
  kvdyno versus --version 9.10.0 --version 11.8.1     two releases (kvdyno engines get)
  kvdyno versus --version 11.8.1 --library build/librocksdb.so --gate 5%
  kvdyno versus --library a.so --library b.so --suite mine.toml --trials 12 --place /mnt/nvme
  kvdyno versus --library a.so --library b.so --figures ops_per_s,service_ns_p99 --json

For who changes an engine: two builds of it do the same work in one run, trial by trial, in an
order drawn anew for each, so that a machine that drifts favours neither; then they are compared
as by `kvdyno compare`. The first is the base; a version comes before a library. The suite's own
engine of that name gives options and durability; without one they are the defaults. Build both with
optimisation: a library with assertions is told, and is no comparison.

The built-in suite `versus` takes about five minutes: a load, random reads, overwrites and scans of
records that fit into memory, so that what the code costs is seen. For what the drive is asked to
do take a suite whose data is larger than its RAM limit (--suite quick).

Exit codes of the gate:
  5 a figure shown regressed past it
  4 none is known to have, but a figure or case could not be judged; or the figures are invalid")]
pub struct VersusArgs {
    /// The engine: one that is loaded as a library
    #[arg(long, value_name = "NAME", default_value = "rocksdb")]
    pub engine: String,
    /// The file of a build; twice, or once beside --version
    #[arg(long = "library", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub libraries: Vec<PathBuf>,
    /// An installed version; twice, or once beside --library
    #[arg(long = "version", value_name = "VERSION")]
    pub versions: Vec<String>,
    /// The suite: built-in, or the path of a TOML file
    #[arg(
        long,
        value_name = "SUITE",
        default_value = "versus",
        value_parser = SuiteName,
        hide_possible_values = true,
        value_hint = ValueHint::FilePath
    )]
    pub suite: String,
    /// Trials of each build: six or more resolve small differences
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(4..))]
    pub trials: Option<u32>,
    /// What the run is called.
    #[command(flatten)]
    pub named: NamedArgs,
    /// Show what would be done, and do nothing
    #[arg(long)]
    pub plan: bool,
    /// What is compared, and how it is shown.
    #[command(flatten)]
    pub asked: ComparisonArgs,
    /// Change one value of the suite, as `data.records=8M`; may be repeated
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub set: Vec<String>,
    /// Scale records, RAM and operation counts, as `1/10`
    #[arg(long, value_name = "RATIO")]
    pub scale: Option<String>,
    /// Where databases lie.
    #[command(flatten)]
    pub at: PlaceArgs,
    /// Do not limit RAM, whatever the suite says
    #[arg(long)]
    pub no_ram_limit: bool,
    /// Where runs are kept.
    #[command(flatten)]
    pub runs: RunsArgs,
}
