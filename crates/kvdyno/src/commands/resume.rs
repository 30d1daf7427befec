//! `kvdyno resume`: finishes a run that was interrupted or whose workers were killed.

use super::finish::{self, Shown};
use super::prepare::identify;
use super::run::refused;
use super::runs;
use crate::cli::ResumeArgs;
use crate::exit::{Complaint, Exit};
use crate::host::{Place, Root, meter};
use crate::printer::Printer;
use crate::redact::is_struck_out;
use crate::runner::Interrupt;
use crate::workers;
use kvdyno_record::case::WorkerIdentity;
use kvdyno_record::engine::Value;
use kvdyno_record::files::RunFolder;
use kvdyno_record::plan::Plan;
use std::collections::BTreeMap;
use std::path::Path;

/// Goes on with a run.
pub fn run(args: &ResumeArgs, printer: &Printer) -> anyhow::Result<Exit> {
    let folder = runs::find(&args.name)?;
    if folder.is_bundle() {
        let message = format!("{} is a bundle, and stays as it is", folder.named().display());
        return Err(Complaint::usage(message).hint("`kvdyno rerun` repeats its run here").into());
    }
    let folder = RunFolder::open(std::path::absolute(&folder.path)?)?;
    if folder.is_complete() {
        let message = format!("{} is complete: there is nothing to resume", folder.path.display());
        return Err(Complaint::usage(message).hint("`kvdyno show` shows it").into());
    }
    let plan = folder.plan()?;
    check_secrets(&plan)?;
    let root = Root::system();
    let mut run = folder.run()?;
    let interrupt = Interrupt::listen()?;
    let place = Place::examine(&root, Path::new(&run.place), 0, Some(&run.id))
        .map_err(|error| refused(&error))?;
    let claim = place.claim(&run.id).map_err(|error| refused(&error))?;
    let _alone = runs::take(&folder)?;
    let workers = workers_of(&folder, printer)?;
    run.resumed_unix_ns.push(meter::unix_ns());
    run.ended_unix_ns = None;
    folder.write_run(&run)?;
    let shown = Shown { json: args.json, wide: args.wide };
    let ended = finish::run(&folder, &plan, claim, &workers, &interrupt, printer)?;
    finish::show(&folder, ended, &shown, printer)
}

/// A record keeps no passwords, and a case that needs one cannot be done without.
pub(super) fn check_secrets(plan: &Plan) -> Result<(), Complaint> {
    for case in &plan.cases {
        for (name, value) in &case.options.values {
            if matches!(value, Value::Text(text) if is_struck_out(text)) {
                let engine = &case.engine;
                let what = format!("option `{name}` of {engine} held a password");
                return Err(Complaint::usage(format!("{what}, and a record does not keep those"))
                    .hint("run the suite again with `kvdyno run`"));
            }
        }
    }
    Ok(())
}

/// A worker for each engine of the plan. One that differs from the one the run began with is used,
/// and said: each case records which it was.
fn workers_of(
    folder: &RunFolder,
    printer: &Printer,
) -> anyhow::Result<BTreeMap<String, WorkerIdentity>> {
    let mut found = BTreeMap::new();
    for case in folder.plan()?.cases {
        if !found.contains_key(&case.engine)
            && let Ok(path) = workers::find(&case.engine)
        {
            found.insert(case.engine, identify(path)?);
        }
    }
    for (_, record) in folder.case_records()? {
        let Some(before) = record.worker else { continue };
        let now = found.get(&record.case.engine);
        if now.is_some_and(|now| now.sha256 != before.sha256) {
            printer.warning(&format!(
                "kvdyno-{} is not the one that {} was run with",
                record.case.engine, record.case.id
            ));
        }
    }
    Ok(found)
}
