//! What all commands that measure end with: the cases that are still to be done, the end of the
//! record, and the tables.

use super::show;
use crate::cli::ViewArgs;
use crate::machine;
use crate::printer::Printer;
use crate::runner::{Ended, RunEnvironment};
use crate::steps::passed;
use kvdyno_analysis::evidence::Evidence;
use kvdyno_host::{ConcurrentRuns, Root, Storage, evidence, meter};
use kvdyno_record::exit::Exit;
use kvdyno_record::files::RunFolder;
use kvdyno_record::plan::Plan;
use kvdyno_record::units;
use std::path::Path;
use std::time::Duration;

pub(crate) fn run(
    mut env: RunEnvironment,
    plan: &Plan,
    printer: &Printer,
) -> anyhow::Result<(RunFolder, Ended)> {
    begin(printer);
    let estimate = Duration::from_nanos(plan.estimate.wall_ns);
    let progress = printer.progress(plan.cases.len(), estimate);
    let ended = env.cases(plan, &progress);
    drop(progress);
    close(env, ended, printer)
}

/// Looks who else is at work here.
pub(crate) fn begin(printer: &Printer) {
    for pid in ConcurrentRuns::look().others() {
        printer.warning(&format!(
            "another run is at work on this machine (process {pid}): each is measured beside the \
             other"
        ));
    }
}

/// Gives everything back, and ends the record as far as the run went.
pub(crate) fn close(
    env: RunEnvironment,
    ended: anyhow::Result<Ended>,
    printer: &Printer,
) -> anyhow::Result<(RunFolder, Ended)> {
    let RunEnvironment { root, folder, lock, tiers, volumes, .. } = env;
    drop(tiers);
    let place = volumes.place().to_owned();
    // Databases that cannot be removed are no reason to lose what was measured.
    if let Err(error) = volumes.release() {
        printer.warning(&format!("the place was not given back: {error}"));
    }
    passed("released");
    let filed = end(&folder, &root, &place, *ended.as_ref().unwrap_or(&Ended::Partial));
    drop(lock);
    let ended = ended?;
    filed?;
    print_end(&folder, ended, printer);
    Ok((folder, ended))
}

/// Shows a run that was just done, and says how the program ends.
pub(crate) fn show(
    folder: RunFolder,
    ended: Ended,
    view: &ViewArgs,
    printer: &Printer,
) -> anyhow::Result<Exit> {
    let verdict = show::show(&folder.into(), view, printer)?;
    Ok(if ended == Ended::Interrupted { Exit::Interrupted } else { verdict })
}

/// The machine after, and, where nothing is left to do, the seal.
fn end(folder: &RunFolder, root: &Root, place: &Path, ended: Ended) -> anyhow::Result<()> {
    let volume = Storage::at(root, place).ok();
    let after = folder.host().join(format!("after_{}", meter::unix_ns() / 1_000_000_000));
    evidence::save(root, volume.as_ref(), &after)?;
    let mut run = folder.run()?;
    run.ended_unix_ns = Some(meter::unix_ns());
    run.host_after = Some(machine::read(root, place));
    folder.write_run(&run)?;
    passed("ended");
    if ended == Ended::Complete {
        folder.seal()?;
        passed("sealed");
    }
    Ok(())
}

/// How many of its cases came to nothing; none: all are done.
fn undone(evidence: &Evidence) -> Option<String> {
    let cases = evidence.cases.len();
    let done = evidence.cases.iter().filter(|case| case.is_done()).count();
    (done < cases).then(|| format!("{done} of {} done", units::cases(cases)))
}

fn print_end(folder: &RunFolder, ended: Ended, printer: &Printer) {
    let path = folder.path.display();
    match ended {
        Ended::Complete => match Evidence::read(folder).map(|evidence| undone(&evidence)) {
            Ok(Some(undone)) => printer.warning(&format!("ended: {path}, {undone}")),
            _ => printer.note(&format!("complete: {path}")),
        },
        Ended::Partial => {
            let left = Evidence::read(folder).map_or(0, |evidence| evidence.left().len());
            let cases = units::cases(left);
            printer.warning(&format!("{cases} did not run to the end; the others are kept"));
            printer.hint(&format!("`kvdyno resume {path}` tries {cases} again"));
        }
        Ended::Interrupted => {
            printer.warning("interrupted; what was done is kept");
            printer.hint(&format!("`kvdyno resume {path}` goes on"));
        }
    }
}
