//! `kvdyno trace`: traces of other formats are read, and what is in one is shown.

mod about;
mod located;
mod replayed;

use crate::cli::{ImportArgs, ShowTraceArgs, TraceAction, TraceArgs};
use crate::exit::Complaint;
use crate::printer::Printer;
use kvdyno_record::exit::Exit;
use kvdyno_record::units;
use kvdyno_trace::{Header, Import, Statistics, TraceError, TraceReader, import};
use std::time::{Duration, Instant};

/// A long import says now and then how far it is.
const TOLD_EVERY: Duration = Duration::from_secs(10);

pub(crate) use located::{check, locate};
pub(crate) use replayed::look_at;

pub(crate) fn run(args: &TraceArgs, printer: &Printer) -> anyhow::Result<Exit> {
    match &args.action {
        TraceAction::Import(args) => bring_in(args, printer),
        TraceAction::Show(args) => show(args, printer),
    }
}

fn bring_in(args: &ImportArgs, printer: &Printer) -> anyhow::Result<Exit> {
    if args.output.exists() && !args.force {
        let message = format!("`{}` is there already", args.output.display());
        return Err(Complaint::usage(message).hint("--force writes over it").into());
    }
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
    printer.data(&about::imported(&header, &args.output));
    printer.note(&format!("`kvdyno trace show {}` says more", args.output.display()));
    Ok(Exit::Ok)
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
    printer.data(&about::facts(&statistics, &digest));
    for (title, table) in about::tables(&statistics) {
        printer.data("\n");
        printer.heading(title);
        printer.data(&table.text());
    }
    Ok(Exit::Ok)
}
