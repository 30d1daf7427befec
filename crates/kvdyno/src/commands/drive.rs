//! `kvdyno drive`: the bare drive below a place. It writes a suite and runs it as `kvdyno run` would.

mod steady;
mod text;

use super::finish::{self, Shown};
use super::prepare::prepare_text;
use super::run;
use crate::cli::{DriveArgs, DrivePreset, SuiteArgs};
use crate::exit::Exit;
use crate::host::Root;
use crate::printer::Printer;
use std::thread::available_parallelism;

/// Measures a drive.
pub fn run(args: &DriveArgs, printer: &Printer) -> anyhow::Result<Exit> {
    let cpus = available_parallelism().map_or(1, |cpus| cpus.get() as u32);
    let text = text::suite(args, cpus);
    if args.print_suite {
        printer.verbatim(text.as_bytes());
        return Ok(Exit::Ok);
    }
    let suite = SuiteArgs { place: args.place.clone(), ..SuiteArgs::default() };
    let file = "drive.toml (written by kvdyno drive)";
    let prepared = prepare_text(file, text, &suite, &args.runs.runs, &Root::system())?;
    let (folder, ended) = run::keep(&prepared, &args.runs.runs, printer)?;
    let exit = finish::show(&folder, ended, &Shown { json: args.json, wide: args.wide }, printer)?;
    if !args.json {
        steady::tell(&folder, args.preset == Some(DrivePreset::SniaIops), printer)?;
    }
    Ok(exit)
}
