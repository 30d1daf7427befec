//! The command line of `versus`.

use super::{BendArgs, BudgetArgs, ComparisonArgs, KeepArgs, SuiteName};
use crate::exit::Complaint;
use clap::{Args, ValueHint};
use kvdyno_analysis::judge::rule::LEAST;
use kvdyno_suite::{Explain, Overrides};
use std::path::PathBuf;

#[derive(Clone, Debug, Default, Args)]
#[command(after_help = "\
Examples:
  kvdyno versus --library base/librocksdb.so --library new/librocksdb.so
  kvdyno versus --version 9.10.0 --version 11.8.1     two releases (kvdyno engines get)
  kvdyno versus --version 11.8.1 --library build/librocksdb.so --gate 5%
  kvdyno versus --library a.so --library b.so --suite mine.toml --trials 12 --data-dir /mnt/nvme
  kvdyno versus --library a.so --library b.so --why     and which functions it comes from
  kvdyno versus --library a.so --library b.so --figures ops_per_s,service_ns_p99 --json

For authors of an engine: two builds do the same work in one run, trial by trial, in random order,
so that drift of the machine favours neither. Then they are compared as by `kvdyno compare`. The
first is the base; a version precedes a library. Options and durability come from the suite's engine
of that name, otherwise from the defaults. Build both with optimisation: libraries with assertions
are flagged, and their comparison has no meaning.

The built-in suite `versus` takes about four minutes: a load, random reads, scans and overwrites.
Reads and scans stay in the processor's caches, which shows the cost of the code. With
`--set data.records=250k` it reads from memory, and intervals are wider. To measure drive I/O, use a
suite with data larger than its RAM limit (--suite quick).

Exit codes of the gate:
  5 a rate, or a named figure, regressed past it
  4 no regression, but a figure or case could not be judged at all; or the figures are invalid
  3 a case failed, whatever the gate says
  0 passed, or undecided: the interval of a figure allows a larger loss (--budget decides it);
    with --strict an undecided gate ends with 4")]
pub(crate) struct VersusArgs {
    /// The engine: one that is loaded as a library
    #[arg(long, value_name = "NAME", default_value = "rocksdb")]
    pub(crate) engine: String,
    /// The file of a build; twice, or once with --version
    #[arg(long = "library", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) libraries: Vec<PathBuf>,
    /// An installed version; twice, or once with --library
    #[arg(long = "version", value_name = "VERSION")]
    pub(crate) versions: Vec<String>,
    #[command(flatten)]
    pub(crate) pair: PairArgs,
    /// Show what would be done and how long it takes, without running it
    #[arg(long)]
    pub(crate) plan: bool,
    #[command(flatten)]
    pub(crate) comparison: ComparisonArgs,
}

/// A suite with two engines side by side.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct PairArgs {
    /// The suite: built-in, or the path of a TOML file [default: the suite of this command's name]
    #[arg(
        long,
        value_name = "SUITE",
        value_parser = SuiteName,
        hide_possible_values = true,
        value_hint = ValueHint::FilePath
    )]
    pub(crate) suite: Option<String>,
    /// Number of trials of each case: four can show differences, six or more small ones [default:
    /// the suite's; four with --budget or --within, which add more]
    #[arg(long, value_name = "N", value_parser = trials)]
    pub(crate) trials: Option<u32>,
    /// Count the instructions of each function as well (valgrind), and name the functions, waits
    /// and counters behind a difference
    #[arg(long, conflicts_with = "count")]
    pub(crate) why: bool,
    #[command(flatten)]
    pub(crate) budget: BudgetArgs,
    #[command(flatten)]
    pub(crate) bend: BendArgs,
    #[command(flatten)]
    pub(crate) keep: KeepArgs,
}

impl PairArgs {
    pub(crate) fn overrides(&self) -> Result<Overrides, Complaint> {
        let overrides = self.bend.overrides()?;
        // A budget adds trials, so the run begins with the fewest that can decide.
        let is_open = self.budget.time()?.is_some()
            && !overrides.set.iter().any(|set| set.starts_with("run.trials"));
        Ok(Overrides {
            trials: self.trials.or_else(|| is_open.then_some(LEAST as u32)),
            explain: self.why.then_some(Explain::Beside),
            ..overrides
        })
    }
}

/// Refuses too few trials before it looks for any engine.
fn trials(typed: &str) -> Result<u32, String> {
    let trials: u32 = typed.parse().map_err(|error| format!("{error}"))?;
    if (trials as usize) < LEAST {
        return Err(format!(
            "expected at least {LEAST} trials of each engine, found {trials}: fewer decide nothing"
        ));
    }
    Ok(trials)
}
