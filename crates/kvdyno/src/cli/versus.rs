//! `versus` and `calibrate`: what can be typed. Both have two stand beside each other in a suite.

use super::{BendArgs, ComparisonArgs, KeepArgs, SuiteName};
use crate::exit::Complaint;
use clap::{Args, ValueHint};
use kvdyno_analysis::stats::MIN_TRIALS;
use kvdyno_suite::Overrides;
use std::path::PathBuf;

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
pub(crate) struct VersusArgs {
    /// The engine: one that is loaded as a library
    #[arg(long, value_name = "NAME", default_value = "rocksdb")]
    pub(crate) engine: String,
    /// The file of a build; twice, or once beside --version
    #[arg(long = "library", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) libraries: Vec<PathBuf>,
    /// An installed version; twice, or once beside --library
    #[arg(long = "version", value_name = "VERSION")]
    pub(crate) versions: Vec<String>,
    #[command(flatten)]
    pub(crate) pair: PairArgs,
    /// Show what would be done, and do nothing
    #[arg(long)]
    pub(crate) plan: bool,
    #[command(flatten)]
    pub(crate) asked: ComparisonArgs,
}

#[derive(Clone, Debug, Default, Args)]
#[command(after_help = "\
Examples:
  kvdyno calibrate                             a minute or two: LMDB against itself
  kvdyno calibrate --place /mnt/nvme           on the drive that is going to be compared on
  kvdyno calibrate --engine null               the machine and the load generator alone, no drive
  kvdyno calibrate --suite mine.toml --engine rocksdb --trials 20

One engine runs under two labels, interleaved in a random order like any two engines. What the two
differ by is noise. The run is kept as any other, and `kvdyno compare` takes the newest complete one
of its host: differences below what it resolves are not claimed.")]
pub(crate) struct CalibrateArgs {
    /// The engine; LMDB where it is found, else null
    #[arg(long, value_name = "NAME")]
    pub(crate) engine: Option<String>,
    #[command(flatten)]
    pub(crate) pair: PairArgs,
    /// All figures
    #[arg(long, conflicts_with = "json")]
    pub(crate) all: bool,
    /// What is resolved as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// A suite that two stand beside each other in.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct PairArgs {
    /// The suite: built-in, or the path of a TOML file [default: named as this command]
    #[arg(
        long,
        value_name = "SUITE",
        value_parser = SuiteName,
        hide_possible_values = true,
        value_hint = ValueHint::FilePath
    )]
    pub(crate) suite: Option<String>,
    /// How often to repeat each case: four tell differences, six or more tell small ones
    #[arg(long, value_name = "N", value_parser = trials)]
    pub(crate) trials: Option<u32>,
    #[command(flatten)]
    pub(crate) bend: BendArgs,
    #[command(flatten)]
    pub(crate) keep: KeepArgs,
}

impl PairArgs {
    pub(crate) fn overrides(&self) -> Result<Overrides, Complaint> {
        Ok(Overrides { trials: self.trials, ..self.bend.overrides()? })
    }
}

/// Refuses fewer than can tell two apart, before any engine is looked for.
fn trials(typed: &str) -> Result<u32, String> {
    let trials: u32 = typed.parse().map_err(|error| format!("{error}"))?;
    if (trials as usize) < MIN_TRIALS {
        return Err(format!(
            "two are compared by at least {MIN_TRIALS} trials of each, and {trials} came: with \
             fewer no rank test can tell a difference from chance"
        ));
    }
    Ok(trials)
}
