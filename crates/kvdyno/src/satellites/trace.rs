//! `kvdyno trace`: imports traces of other formats, records those of a run, and shows their
//! contents.

mod record;

use crate::cli::{ImportArgs, ShowTraceArgs, TraceAction, TraceArgs};
use crate::commands::report;
use crate::exit::Complaint;
use crate::printer::Printer;
use kvdyno_record::exit::Exit;
use kvdyno_record::units;
use kvdyno_render::page::TraceData;
use kvdyno_render::trace as text;
use kvdyno_trace::{Header, Import, Statistics, TraceError, TraceReader, import};
use std::path::Path;
use std::time::{Duration, Instant};

/// Interval of progress messages during a long import.
const TOLD_EVERY: Duration = Duration::from_secs(10);

pub(crate) fn run(args: &TraceArgs, printer: &Printer) -> anyhow::Result<Exit> {
    match &args.action {
        TraceAction::Import(args) => import_trace(args, printer),
        TraceAction::Record(args) => record::run(args, printer),
        TraceAction::Show(args) => show(args, printer),
    }
}

fn import_trace(args: &ImportArgs, printer: &Printer) -> anyhow::Result<Exit> {
    check_free(&args.output, args.force)?;
    let task = Import {
        format: args.format,
        from: args.file.clone(),
        to: args.output.clone(),
        limit: args.limit,
        scratch: args.scratch.clone(),
    };
    let mut reported = Instant::now();
    let report = |requests| {
        if reported.elapsed() > TOLD_EVERY {
            printer.note(&format!("{} requests read", units::group_digits(requests)));
            reported = Instant::now();
        }
    };
    let header = import(&task, report).map_err(complaint)?;
    warn(&header, printer);
    conclude(&header, &args.output, printer);
    Ok(Exit::Ok)
}

/// Prints a description of the new file.
fn conclude(header: &Header, file: &Path, printer: &Printer) {
    let bytes = std::fs::metadata(file).map_or(0, |file| file.len());
    printer.data(&text::trace_summary(header, file, bytes));
    printer.note(&format!("`kvdyno trace show {}` shows its contents", file.display()));
}

/// Refuses an existing file, unless --force is given.
fn check_free(file: &Path, force: bool) -> Result<(), Complaint> {
    if file.exists() && !force {
        let message = format!("`{}` exists already", file.display());
        return Err(Complaint::usage(message).hint("use --force to replace it"));
    }
    Ok(())
}

/// Returns a usage error for a malformed file, which the user can correct, unlike an I/O error.
fn complaint(error: TraceError) -> anyhow::Error {
    match error {
        TraceError::Malformed { .. } => Complaint::usage(error.to_string()).into(),
        TraceError::Io { .. } => error.into(),
    }
}

/// Prints warnings about differences between the trace and its source.
fn warn(header: &Header, printer: &Printer) {
    if let Some(cut) = &header.cut_short {
        printer
            .warning(&format!("the source ends early: {cut}; requests up to there were imported"));
    }
    if let Some(line) = &header.unended {
        printer.warning(&format!(
            "{line}, which was imported, has no line end: its last number may be incomplete"
        ));
    }
    for (what, count) in &header.left_out {
        printer.warning(&format!("left out: {what}, {} times", units::group_digits(*count)));
    }
    if header.out_of_order > 0 {
        let count = units::group_digits(header.out_of_order);
        printer.warning(&format!(
            "{count} requests have an earlier time than the one before them; they got its time"
        ));
    }
    if header.requests == 0 {
        printer.warning("the source has no requests");
    }
}

fn show(args: &ShowTraceArgs, printer: &Printer) -> anyhow::Result<Exit> {
    let reader = TraceReader::open(&args.file).map_err(complaint)?;
    let statistics = Statistics::read(reader).map_err(complaint)?;
    if args.json {
        printer.json(&statistics)?;
        return Ok(Exit::Ok);
    }
    let digest = TraceReader::open(&args.file).and_then(TraceReader::digest).map_err(complaint)?;
    if let Some(path) = &args.html {
        report::write(&TraceData::new(statistics, &digest), path, printer)?;
        return Ok(Exit::Ok);
    }
    printer.data(&text::lines(&statistics, &digest));
    for (title, table) in text::tables(&statistics) {
        printer.data("\n");
        printer.heading(title);
        printer.data(&table.text());
    }
    Ok(Exit::Ok)
}
