//! `kvdyno history`: a suite's figures over its runs, in a file of their own.

use super::{compare, report};
use crate::cli::{AddArgs, HistoryAction, HistoryArgs, HistoryShowArgs};
use crate::exit::Complaint;
use crate::output;
use crate::printer::Printer;
use crate::records::runs;
use crate::running::prepare;
use anyhow::Context as _;
use kvdyno_analysis::answers::trend::entry::{Entry, FORMAT};
use kvdyno_analysis::answers::trend::{Question, Trend};
use kvdyno_analysis::judge::versus;
use kvdyno_record::exit::Exit;
use kvdyno_render::page::TrendData;
use kvdyno_render::trend as text;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::Path;

pub(crate) fn run(args: &HistoryArgs, printer: &Printer) -> anyhow::Result<Exit> {
    match &args.action {
        HistoryAction::Add(args) => add(args, printer),
        HistoryAction::Show(args) => show(args, printer),
    }
}

fn add(args: &AddArgs, printer: &Printer) -> anyhow::Result<Exit> {
    let summary = runs::read_summary(&*runs::find(&args.run, &args.runs.runs)?)?;
    runs::warn_if_altered(&summary, printer);
    let entry = match Entry::from_summary(&summary, args.label.clone()) {
        Ok(entry) => entry,
        Err(findings) => {
            let (id, findings) = (&summary.run.id, findings.join(", "));
            printer.warning(&format!(
                "cannot add run {id}: its figures are invalid ({findings}); `kvdyno show {id} \
                 --findings` shows the findings"
            ));
            return Ok(Exit::Invalid);
        }
    };
    let file = &args.file;
    let failed = || format!("failed to add to `{}`", file.display());
    let opened = OpenOptions::new().read(true).append(true).create(true).open(file);
    let mut opened = opened.with_context(failed)?;
    // The lock is for two jobs that end at the same time.
    opened.lock().with_context(failed)?;
    let entries = entries(&mut opened, file)?;
    if entries.iter().any(|other| other.run == entry.run) {
        let what = format!("run {} is already in `{}`", entry.run, file.display());
        return Err(Complaint::usage(what).hint("`kvdyno list` shows the runs").into());
    }
    if let Some(other) = entries.iter().find(|other| other.suite != entry.suite) {
        let what = format!(
            "`{}` is a history of the suite {}, but run {} is of {}",
            file.display(),
            other.suite,
            entry.run,
            entry.suite
        );
        return Err(Complaint::usage(what).hint("use one file per suite").into());
    }
    let line = serde_json::to_string(&entry)? + "\n";
    opened.write_all(line.as_bytes()).with_context(failed)?;
    opened.sync_all().with_context(failed)?;
    printer.note(&format!(
        "added run {} as {}: {} in `{}`",
        entry.run,
        entry.display_name(),
        entries.len() + 1,
        file.display()
    ));
    Ok(Exit::Ok)
}

fn show(args: &HistoryShowArgs, printer: &Printer) -> anyhow::Result<Exit> {
    let versus::Question { figures, gate, .. } = compare::question(&args.comparison)?;
    let file = &args.file;
    let mut opened = File::open(file).map_err(|error| {
        let what = format!("failed to open the history `{}`: {error}", file.display());
        match error.kind() {
            ErrorKind::NotFound => Complaint::usage(what).hint("`kvdyno history add` creates one"),
            _ => Complaint::usage(what),
        }
    })?;
    let entries = entries(&mut opened, file)?;
    let question = Question { figures, gate, any_machine: args.any_machine };
    let Some(trend) = Trend::from_entries(&entries, &question) else {
        let what = format!("the history `{}` has no run", file.display());
        return Err(Complaint::usage(what).hint("`kvdyno history add` adds one").into());
    };
    if args.comparison.json {
        printer.json(&trend)?;
    } else if let Some(path) = &args.comparison.html {
        report::write(&TrendData::new(trend.clone()), path, printer)?;
        if trend.gate.is_some() && !output::is_stdout(path) {
            compare::lines(text::footer(&trend), printer);
        }
    } else {
        let (header, footer) = (text::header(&trend), text::footer(&trend));
        compare::print(header, &text::table(&trend), &text::reading_aid(&trend), footer, printer);
    }
    Ok(compare::gate_exit(trend.gate.map(|gate| gate.result), args.comparison.strict))
}

/// Reads the runs of a history's file, in the file's order.
fn entries(file: &mut File, path: &Path) -> anyhow::Result<Vec<Entry>> {
    let mut bytes = Vec::new();
    let read = file.read_to_end(&mut bytes).and_then(|_| prepare::decode_utf8(bytes));
    let text = read.with_context(|| format!("failed to read `{}`", path.display()))?;
    let at = |line: usize| format!("`{}`, line {}", path.display(), line + 1);
    if !text.is_empty() && !text.ends_with('\n') {
        let what = format!("{} is truncated", at(text.lines().count() - 1));
        return Err(Complaint::usage(what).hint("remove that line, and add its run again").into());
    }
    let read = |(number, line): (usize, &str)| -> anyhow::Result<Entry> {
        let format: serde_json::Value = serde_json::from_str(line).with_context(|| at(number))?;
        let format = format["format"].as_u64().unwrap_or(0);
        if format != u64::from(FORMAT) {
            let what =
                format!("{} has format {format}, but this program reads {FORMAT}", at(number));
            let hint = if format > u64::from(FORMAT) {
                "use a newer kvdyno"
            } else {
                "it is no history of this version: start a new one with `kvdyno history add`"
            };
            return Err(Complaint::usage(what).hint(hint).into());
        }
        serde_json::from_str(line).with_context(|| at(number))
    };
    text.lines().enumerate().map(read).collect()
}
