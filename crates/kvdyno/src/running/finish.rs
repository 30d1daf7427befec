//! The common end of all commands that measure: the remaining cases, and the end of the record.

use super::decide;
use super::machine;
use super::pilot;
use super::resume;
use super::runner::{Ended, RunEnvironment};
use crate::printer::{Printer, Progress};
use crate::steps::pass_step;
use kvdyno_analysis::figures::evidence::Evidence;
use kvdyno_host::{ConcurrentRuns, Root, Storage, evidence, meter};
use kvdyno_record::files::RunDir;
use kvdyno_record::plan::Plan;
use kvdyno_record::units;
use std::path::Path;
use std::time::{Duration, Instant};

/// Runs the plan; within a budget, further trials too, until its figures are decided.
pub(crate) fn run(
    mut env: RunEnvironment,
    plan: &Plan,
    budget: Option<Duration>,
    printer: &Printer,
) -> anyhow::Result<(RunDir, Ended)> {
    begin(printer);
    let planned = Duration::from_nanos(resume::planned_ns(&plan.estimate));
    let progress = printer.progress(plan.cases.len(), planned);
    let ended = measure(&mut env, plan.clone(), budget, &progress, printer);
    drop(progress);
    close(env, ended, printer)
}

fn measure(
    env: &mut RunEnvironment,
    mut plan: Plan,
    budget: Option<Duration>,
    progress: &Progress<'_>,
    printer: &Printer,
) -> anyhow::Result<Ended> {
    let begun = Instant::now();
    if pilot::find_rates(env, &mut plan, progress, printer)? == Ended::Interrupted {
        return Ok(Ended::Interrupted);
    }
    match budget {
        Some(budget) => decide::run(env, plan, begun, budget, progress, printer),
        None => env.cases(&plan, progress),
    }
}

/// Warns of other runs on this machine.
pub(crate) fn begin(printer: &Printer) {
    for pid in ConcurrentRuns::look().take_other_pids() {
        printer.warning(&format!(
            "another run is in progress on this machine (process {pid}): the runs disturb each \
             other"
        ));
    }
}

/// Releases all resources, and ends the record as far as the run went.
pub(crate) fn close(
    env: RunEnvironment,
    ended: anyhow::Result<Ended>,
    printer: &Printer,
) -> anyhow::Result<(RunDir, Ended)> {
    let RunEnvironment { root, dir, lock, tiers, volumes, .. } = env;
    drop(tiers);
    let data_dir = volumes.data_dir().to_owned();
    // Keeps the figures even if databases cannot be removed.
    if let Err(error) = volumes.release() {
        printer.warning(&format!("cannot unlock the data directory: {error}"));
    }
    pass_step("released");
    let filed = end(&dir, &root, &data_dir, *ended.as_ref().unwrap_or(&Ended::Partial));
    drop(lock);
    let ended = ended?;
    filed?;
    print_end(&dir, ended, printer);
    Ok((dir, ended))
}

/// Records the machine after the run, and seals a complete run.
fn end(dir: &RunDir, root: &Root, data_dir: &Path, ended: Ended) -> anyhow::Result<()> {
    let volume = Storage::from_path(root, data_dir).ok();
    let after = dir.host().join(format!("after_{}", meter::unix_ns() / 1_000_000_000));
    evidence::save(root, volume.as_ref(), &after)?;
    let mut run = dir.run()?;
    run.ended_unix_ns = Some(meter::unix_ns());
    run.host_after = Some(machine::read(root, data_dir));
    dir.write_run(&run)?;
    pass_step("ended");
    if ended == Ended::Complete {
        dir.seal()?;
        pass_step("sealed");
    }
    Ok(())
}

/// Describes how many cases of a run are done; `None`: all are.
fn undone(evidence: &Evidence) -> Option<String> {
    let cases = evidence.cases.len();
    let done = evidence.cases.iter().filter(|case| case.is_done()).count();
    (done < cases).then(|| format!("{done} of {} done", units::pluralize(cases, "case")))
}

fn print_end(dir: &RunDir, ended: Ended, printer: &Printer) {
    let path = dir.path.display();
    match ended {
        Ended::Complete => match Evidence::read(dir).map(|evidence| undone(&evidence)) {
            Ok(Some(undone)) => printer.warning(&format!("ended: {path}, {undone}")),
            _ => printer.note(&format!("complete: {path}")),
        },
        Ended::Partial => {
            let undone =
                Evidence::read(dir).map_or(0, |evidence| evidence.unfinished_cases().len());
            let cases = units::pluralize(undone, "case");
            printer.warning(&format!("{cases} did not complete; the others are kept"));
            printer.hint(&format!("run `kvdyno resume {path}` to try {cases} again"));
        }
        Ended::Interrupted => {
            printer.warning("interrupted; completed cases are kept");
            printer.hint(&format!("run `kvdyno resume {path}` to continue"));
        }
    }
}
