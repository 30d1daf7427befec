//! The command line of `history`.

use super::{ComparisonArgs, RunsArgs};
use clap::{Args, Subcommand, ValueHint};
use std::path::PathBuf;

#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  kvdyno history add nightly.ndjson latest --as 3f2a9c1
  kvdyno history show nightly.ndjson
  kvdyno history show nightly.ndjson --gate 5% --html nightly.html

A history is one file with a line of JSON per run. A nightly job keeps it and deletes the runs.
docs/history.md has a job for GitHub Actions.")]
pub(crate) struct HistoryArgs {
    #[command(subcommand)]
    pub(crate) action: HistoryAction,
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum HistoryAction {
    /// Add a run's figures to a history
    Add(AddArgs),
    /// Show where figures changed, and whether the newest run is worse than the last stable level
    Show(HistoryShowArgs),
}

#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  kvdyno history add nightly.ndjson
  kvdyno history add nightly.ndjson runs/2026-11-20T10-15-02Z_quick_7f3a --as v1.4.2

A run is added once. A run with invalid figures is refused (exit code 4). Runs are in the order in
which they were added.")]
pub(crate) struct AddArgs {
    /// The history's file; created if it does not exist
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// A run's directory, a bundle, its name, the beginning or end of its id, its suite, or
    /// `latest`
    #[arg(value_name = "RUN", default_value = "latest")]
    pub(crate) run: String,
    /// The entry's name in tables and pages: a commit, a version [default: the run's name,
    /// otherwise its time]
    #[arg(long = "as", value_name = "LABEL")]
    pub(crate) label: Option<String>,
    #[command(flatten)]
    pub(crate) runs: RunsArgs,
}

#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  kvdyno history show nightly.ndjson
  kvdyno history show nightly.ndjson --figures ops_per_s,service_ns_p99 --json
  kvdyno history show nightly.ndjson --gate 5% --html nightly.html

For each figure of the newest run's cases: its first and current level, and the runs at which it
changed (E-divisive with Student's t, p < 0.001, and more than 1 %). Runs of other machines than the
newest run's are left out, with a note.

The gate compares the newest run with the last stable level: at least 4 runs between two changes.
How much these differ makes the interval. Rates are judged, and p99 of roles on a schedule; with
--figures only those.

Exit codes of the gate:
  5 a rate, or a named figure, is certainly worse by more than SHARE
  4 no known regression, but a figure or case could not be judged; with --strict also undecided
  0 passed, or undecided")]
pub(crate) struct HistoryShowArgs {
    /// The history's file
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) comparison: ComparisonArgs,
    /// Include runs of other machines
    #[arg(long)]
    pub(crate) any_machine: bool,
}
