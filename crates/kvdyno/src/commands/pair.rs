//! Two that stand beside each other in one run: what `versus` and `calibrate` make of a suite.

use super::prepare::{self, Prepared, prepare_text};
use super::{run, runs};
use crate::cli::PairArgs;
use crate::exit::Complaint;
use crate::printer::Printer;
use crate::runner::Ended;
use anyhow::Context as _;
use kvdyno_analysis::stats::MIN_TRIALS;
use kvdyno_analysis::versus::Record;
use kvdyno_record::files::RunFolder;
use toml::{Table, Value};

/// A suite of a command with two engines in place of its own, of which they are made. `what` says
/// what they are.
pub(super) fn prepared(
    args: &PairArgs,
    command: &str,
    what: &str,
    two: impl FnOnce(&[Table]) -> [Table; 2],
) -> anyhow::Result<Prepared> {
    let (file, text) = prepare::read(args.suite.as_deref().unwrap_or(command))?;
    let text = with_two(&file, &text, command, what, two)?;
    let (file, overrides) = (format!("{file} ({what})"), args.overrides()?);
    let prepared = prepare_text(&file, text, overrides, &args.bend.at, &args.keep.runs.runs)?;
    let trials = prepared.plan.cases.iter().map(|case| case.trial).max().unwrap_or(0) as usize;
    if trials < MIN_TRIALS {
        let what = format!("the suite has {trials} trials, and {MIN_TRIALS} are the least");
        return Err(Complaint::usage(what).hint("`--trials 10`").into());
    }
    Ok(prepared)
}

pub(super) fn run(
    prepared: &Prepared,
    args: &PairArgs,
    printer: &Printer,
) -> anyhow::Result<Option<(RunFolder, Record)>> {
    let (folder, ended) = run::kept(prepared, &args.keep, printer)?;
    if ended == Ended::Interrupted {
        return Ok(None);
    }
    let record = Record::read(&folder).with_context(runs::unread(&folder))?;
    Ok(Some((folder, record)))
}

pub(super) fn with_two(
    file: &str,
    text: &str,
    command: &str,
    what: &str,
    two: impl FnOnce(&[Table]) -> [Table; 2],
) -> Result<String, Complaint> {
    let mut suite: Table = text
        .parse()
        .map_err(|error: toml::de::Error| Complaint::usage(format!("{file}: {error}")))?;
    let own = suite.get("engine").and_then(Value::as_array);
    let own: Vec<Table> = own.into_iter().flatten().filter_map(Value::as_table).cloned().collect();
    let both = two(&own).map(Value::Table).to_vec();
    suite.insert("engine".to_owned(), Value::Array(both));
    // The drive has no twin, and what limits both alike tells nothing of either.
    suite.remove("drive");
    let name = suite.get_mut("suite").and_then(|table| table.get_mut("name"));
    if let Some(Value::String(name)) = name
        && name != command
        && !name.starts_with(&format!("{command}-"))
    {
        *name = format!("{command}-{name}");
    }
    Ok(format!("# Made of {file} by `kvdyno {command}`: {what}.\n{suite}"))
}
