//! `kvdyno run`: a suite from its text to its tables: prepare, check, start, run, finish, show.

use super::{judge, plan, show};
use crate::cli::{KeepArgs, RunArgs, ViewArgs};
use crate::printer::Printer;
use crate::running::prepare::{PreparedRun, prepare};
use crate::running::start;
use kvdyno_record::exit::Exit;
use std::time::Duration;

pub(crate) fn run(args: &RunArgs, printer: &Printer) -> anyhow::Result<Exit> {
    let mut prepared = prepare(&args.suite, &args.keep.runs.runs, printer)?;
    args.budget.set_within(&mut prepared.plan)?;
    if args.plan {
        return plan::show_plan(&prepared, args.view.json, printer);
    }
    prepared.destroy_allowed.clone_from(&args.destroy_data_on);
    prepared.load_allowed.clone_from(&args.yes_load);
    to_tables(&mut prepared, &args.keep, args.budget.time()?, &args.view, printer)
}

/// Runs a prepared suite and shows it.
pub(super) fn to_tables(
    prepared: &mut PreparedRun,
    keep: &KeepArgs,
    budget: Option<Duration>,
    view: &ViewArgs,
    printer: &Printer,
) -> anyhow::Result<Exit> {
    judge::set_target(&mut prepared.plan, view.target.as_ref())?;
    let (dir, ended) = start::run_prepared(prepared, keep, budget, printer)?;
    show::show_ended(dir, ended, view, printer)
}
