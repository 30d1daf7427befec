//! Two builds side by side in one run: how `versus` changes a suite.

use super::prepare::{self, PreparedRun, prepare_text};
use super::runner::Ended;
use super::start;
use crate::cli::{KeepArgs, LocationArgs};
use crate::exit::Complaint;
use crate::printer::Printer;
use crate::records::runs;
use kvdyno_analysis::judge::rule::LEAST;
use kvdyno_analysis::judge::versus::Record;
use kvdyno_record::files::RunDir;
use kvdyno_suite::Overrides;
use std::path::Path;
use std::time::Duration;
use toml::{Table, Value};

/// The suite of a pair, and what changes it.
pub(crate) struct PairSource<'a> {
    pub(crate) suite: &'a str,
    pub(crate) overrides: Overrides,
    pub(crate) location: &'a LocationArgs,
    /// The directory of runs.
    pub(crate) runs: &'a Path,
}

/// Prepares a suite with two engines, which `two` makes from the suite's own. `what` describes
/// them.
pub(crate) fn prepare_pair(
    source: PairSource<'_>,
    what: &str,
    two: impl FnOnce(&[Table]) -> [Table; 2],
    printer: &Printer,
) -> anyhow::Result<PreparedRun> {
    let PairSource { suite, overrides, location, runs } = source;
    let (file, text) = prepare::read(suite)?;
    let text = with_two(&file, &text, what, two)?;
    let file = format!("{file} ({what})");
    let prepared = prepare_text(&file, text, overrides, location, runs, printer)?;
    let trials = prepared.plan.cases.iter().map(|case| case.trial).max().unwrap_or(0) as usize;
    if trials < LEAST {
        let what = format!("expected at least {LEAST} trials, found {trials} in the suite");
        return Err(Complaint::usage(what)
            .hint("`--trials 4`, and `--budget 10m` for more as they are needed")
            .into());
    }
    Ok(prepared)
}

/// Runs a pair, and reads its record unless the run was interrupted.
pub(crate) fn run(
    prepared: &PreparedRun,
    keep: &KeepArgs,
    budget: Option<Duration>,
    printer: &Printer,
) -> anyhow::Result<(RunDir, Option<Record>)> {
    let (dir, ended) = start::run_prepared(prepared, keep, budget, printer)?;
    let record = (ended != Ended::Interrupted).then(|| runs::read_record(&dir)).transpose()?;
    Ok((dir, record))
}

pub(crate) fn with_two(
    file: &str,
    text: &str,
    what: &str,
    two: impl FnOnce(&[Table]) -> [Table; 2],
) -> Result<String, Complaint> {
    let mut suite: Table = text
        .parse()
        .map_err(|error: toml::de::Error| Complaint::usage(format!("{file}: {error}")))?;
    let engines = suite.get("engine").and_then(Value::as_array);
    let engines: Vec<Table> =
        engines.into_iter().flatten().filter_map(Value::as_table).cloned().collect();
    let both = two(&engines).map(Value::Table).to_vec();
    suite.insert("engine".to_owned(), Value::Array(both));
    // The drive has no counterpart, and a common limit shows nothing about either.
    suite.remove("drive");
    let name = suite.get_mut("suite").and_then(|table| table.get_mut("name"));
    if let Some(Value::String(name)) = name
        && name != "versus"
        && !name.starts_with("versus-")
    {
        *name = format!("versus-{name}");
    }
    Ok(format!("# Made from {file} by `kvdyno versus`: {what}.\n{suite}"))
}
