//! Two builds side by side in one run: how `versus` changes a suite.

use super::prepare::{self, PreparedRun, prepare_text};
use super::runner::Ended;
use super::start;
use crate::cli::PairArgs;
use crate::exit::Complaint;
use crate::printer::Printer;
use crate::records::runs;
use kvdyno_analysis::judge::rule::LEAST;
use kvdyno_analysis::judge::versus::Record;
use kvdyno_record::files::RunFolder;
use toml::{Table, Value};

/// The suite with two engines instead of its own, made from them. `what` describes them.
pub(crate) fn prepared(
    args: &PairArgs,
    what: &str,
    two: impl FnOnce(&[Table]) -> [Table; 2],
    printer: &Printer,
) -> anyhow::Result<PreparedRun> {
    let (file, text) = prepare::read(args.suite.as_deref().unwrap_or("versus"))?;
    let text = with_two(&file, &text, what, two)?;
    let (file, overrides) = (format!("{file} ({what})"), args.overrides()?);
    let mut prepared =
        prepare_text(&file, text, overrides, &args.bend.location, &args.keep.runs.runs, printer)?;
    args.budget.set_within(&mut prepared.plan)?;
    let trials = prepared.plan.cases.iter().map(|case| case.trial).max().unwrap_or(0) as usize;
    if trials < LEAST {
        let what = format!("expected at least {LEAST} trials, found {trials} in the suite");
        return Err(Complaint::usage(what)
            .hint("`--trials 4`, and `--budget 10m` for more as they are needed")
            .into());
    }
    Ok(prepared)
}

pub(crate) fn run(
    prepared: &PreparedRun,
    args: &PairArgs,
    printer: &Printer,
) -> anyhow::Result<Option<(RunFolder, Record)>> {
    let (folder, ended) = start::run_prepared(prepared, &args.keep, args.budget.time()?, printer)?;
    if ended == Ended::Interrupted {
        return Ok(None);
    }
    let record = runs::read_record(&folder)?;
    Ok(Some((folder, record)))
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
