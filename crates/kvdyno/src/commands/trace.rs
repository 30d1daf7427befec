//! `kvdyno trace`: traces of other formats are read, those of our own runs are recorded, and
//! what is in one is shown.

mod record;

use super::report;
use crate::cli::{ImportArgs, ShowTraceArgs, TraceAction, TraceArgs};
use crate::exit::Complaint;
use crate::printer::Printer;
use kvdyno_record::exit::Exit;
use kvdyno_record::units;
use kvdyno_render::page::TraceData;
use kvdyno_render::trace as text;
use kvdyno_trace::{Header, Import, Statistics, TraceError, TraceReader, import};
use std::path::Path;
use std::time::{Duration, Instant};

/// A long import says now and then how far it is.
const TOLD_EVERY: Duration = Duration::from_secs(10);

pub(crate) fn run(args: &TraceArgs, printer: &Printer) -> anyhow::Result<Exit> {
    match &args.action {
        TraceAction::Import(args) => bring_in(args, printer),
        TraceAction::Record(args) => record::run(args, printer),
        TraceAction::Show(args) => show(args, printer),
    }
}

fn bring_in(args: &ImportArgs, printer: &Printer) -> anyhow::Result<Exit> {
    check_free(&args.output, args.force)?;
    let task = Import {
        format: args.format,
        from: args.file.clone(),
        to: args.output.clone(),
        limit: args.limit,
        scratch: args.scratch.clone(),
    };
    let mut told = Instant::now();
    let tell = |requests| {
        if told.elapsed() > TOLD_EVERY {
            printer.note(&format!("{} requests read", units::grouped(requests)));
            told = Instant::now();
        }
    };
    let header = import(&task, tell).map_err(complaint)?;
    warn(&header, printer);
    conclude(&header, &args.output, printer);
    Ok(Exit::Ok)
}

/// What there is now.
fn conclude(header: &Header, file: &Path, printer: &Printer) {
    let bytes = std::fs::metadata(file).map_or(0, |file| file.len());
    printer.data(&text::written(header, file, bytes));
    printer.note(&format!("`kvdyno trace show {}` says more", file.display()));
}

/// What is there already is kept, unless it is told otherwise.
fn check_free(file: &Path, force: bool) -> Result<(), Complaint> {
    if file.exists() && !force {
        let message = format!("`{}` is there already", file.display());
        return Err(Complaint::usage(message).hint("--force writes over it"));
    }
    Ok(())
}

/// What is in a file is the user's to put right; what the system refuses is not.
fn complaint(error: TraceError) -> anyhow::Error {
    match error {
        TraceError::Malformed { .. } => Complaint::usage(error.to_string()).into(),
        TraceError::Io { .. } => error.into(),
    }
}

/// What the trace does not have of its source.
fn warn(header: &Header, printer: &Printer) {
    if let Some(cut) = &header.cut_short {
        printer.warning(&format!("the source ends early: {cut}; what is before it was imported"));
    }
    for (what, count) in &header.left_out {
        printer.warning(&format!("left out: {what}, {} times", units::grouped(*count)));
    }
    if header.out_of_order > 0 {
        let count = units::grouped(header.out_of_order);
        printer.warning(&format!(
            "{count} requests have an earlier time than the one before them, and were given that"
        ));
    }
    if header.requests == 0 {
        printer.warning("there is no request in it");
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
