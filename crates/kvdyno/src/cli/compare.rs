//! `compare`: what can be typed.

use super::RunsArgs;
use clap::Args;
use std::path::PathBuf;

/// Which figures, the gate, and how the answer is shown.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ComparisonArgs {
    /// Only these figures, by their names in `kvdyno export --csv -`
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) figures: Vec<String>,
    /// All figures, where otherwise those that usually matter are shown
    #[arg(long, conflicts_with = "figures")]
    pub(crate) all: bool,
    /// End with 5 when a figure regressed by more than this, as `5%`
    #[arg(long, value_name = "SHARE")]
    pub(crate) gate: Option<String>,
    /// The answer as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// The answer as a page: one HTML file that fetches nothing; `-`: standard output
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    pub(crate) html: Option<PathBuf>,
}

#[derive(Clone, Debug, Default, Args)]
#[command(after_help = "\
Examples:
  kvdyno compare 2026-11-19 latest                yesterday's run and the latest
  kvdyno compare runs/before runs/after --gate 5%
  kvdyno compare latest --engines lmdb,rocksdb    two engines of one run, trial by trial
  kvdyno compare before latest --figures ops_per_s,service_ns_p99
  kvdyno compare before latest --html change.html
  kvdyno compare before latest --all --json | jq .counts

Cases are paired by what they did: engine, data, RAM limit, durability class, threads, phases. Runs
that did different work are refused, and the difference is named; a different host, drive, version
or option is listed above the table. A difference is claimed where its 95 % interval leaves 1 out,
a rank test agrees, and it is larger than the noise of this machine (`kvdyno calibrate` measures
it). Fewer than four trials a side claim nothing.

Exit codes of the gate:
  5 a figure shown regressed past it
  4 none is known to have, but a figure or case could not be judged; or the figures are invalid")]
pub(crate) struct CompareArgs {
    /// What to compare with: a run's folder, the beginning of its id or suite, or `latest`
    pub(crate) base: String,
    /// What to compare; left out with --engines
    #[arg(required_unless_present = "engines", conflicts_with = "engines")]
    pub(crate) new: Option<String>,
    /// Two engines of BASE, by label or name: the first is the base
    #[arg(long, value_name = "BASE,NEW", value_delimiter = ',')]
    pub(crate) engines: Vec<String>,
    #[command(flatten)]
    pub(crate) asked: ComparisonArgs,
    #[command(flatten)]
    pub(crate) runs: RunsArgs,
}
