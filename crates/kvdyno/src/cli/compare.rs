//! The command line of `compare`.

use super::RunsArgs;
use clap::Args;
use kvdyno_record::engine::Durability;
use std::path::PathBuf;

/// The figures, the gate, and the output format.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ComparisonArgs {
    /// Only these figures, by their names in `kvdyno export --csv -`
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) figures: Vec<String>,
    /// All figures, not only the usual ones
    #[arg(long, conflicts_with = "figures")]
    pub(crate) all: bool,
    /// End with exit code 5 if a figure regressed by more than this, as `5%`
    #[arg(long, value_name = "SHARE")]
    pub(crate) gate: Option<String>,
    /// End with exit code 4 if the gate is undecided
    #[arg(long)]
    pub(crate) strict: bool,
    /// Print the comparison as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the comparison as a page: one self-contained HTML file; `-`: standard output
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    pub(crate) html: Option<PathBuf>,
}

#[derive(Clone, Debug, Default, Args)]
#[command(after_help = "\
Examples:
  kvdyno compare 2026-11-19 latest                yesterday's run and the latest
  kvdyno compare before1,before2 after1,after2 --gate 5%
  kvdyno compare old1,old2,old3 new1,new2         several runs of each build
  kvdyno compare latest --engines lmdb,rocksdb    two engines of one run, trial by trial
  kvdyno compare latest --durability async,commit                   what a durable commit costs
  kvdyno compare latest --engines rocksdb-async,rocksdb-commit      the same with all figures
  kvdyno compare before latest --figures ops_per_s,service_ns_p99
  kvdyno compare before latest --html change.html
  kvdyno compare before latest --all --json | jq .counts

Cases are paired by their work: engine, data, RAM limit, durability class, threads, phases. Runs
that did different work are refused, with the difference. A different host, drive, version or option
is listed above the table.

Two engines of one run are judged by their trials, pair by pair, from four pairs on.
--durability compares one engine in two classes: the cost of durability. Runs are judged by how much
runs of one build differ: from four runs of both sides together. Two single runs have ratios and no
verdict. Rates are judged, and p99 of roles on a schedule; with --figures only those. All others
are shown without a verdict.

Exit codes of the gate:
  5 a rate, or a named figure, regressed past it
  4 no regression, but a figure or case could not be judged at all; or the figures are invalid
  0 passed, or undecided: the interval of a figure allows a larger loss (more trials decide it);
    with --strict an undecided gate ends with 4")]
pub(crate) struct CompareArgs {
    /// The base: a run's directory, the beginning or end of its id, its suite, or `latest`; several
    /// of one build between commas
    pub(crate) base: String,
    /// The new run, or several; omit with --engines and --durability
    #[arg(required_unless_present_any = ["engines", "durability"], conflicts_with = "engines")]
    pub(crate) new: Option<String>,
    /// Two engines of BASE, by label or name: the first is the base
    #[arg(long, value_name = "BASE,NEW", value_delimiter = ',')]
    pub(crate) engines: Vec<String>,
    /// Every engine of BASE in two durability classes, as async,commit: what the promise costs, in
    /// one table
    #[arg(long, value_name = "BASE,NEW", value_delimiter = ',', value_parser = parse_class,
          conflicts_with_all = ["new", "engines", "gate", "html"])]
    pub(crate) durability: Vec<Durability>,
    /// Two figures that differ by less are equal [default: as in the base's run, else 3%]
    #[arg(long, value_name = "SHARE")]
    pub(crate) within: Option<String>,
    #[command(flatten)]
    pub(crate) comparison: ComparisonArgs,
    #[command(flatten)]
    pub(crate) runs: RunsArgs,
}

/// Parses the word of a durability class.
fn parse_class(word: &str) -> Result<Durability, String> {
    let classes = [Durability::None, Durability::Async, Durability::Commit];
    let class = classes.into_iter().find(|class| class.as_str() == word);
    class.ok_or_else(|| format!("expected none, async or commit, found `{word}`"))
}
