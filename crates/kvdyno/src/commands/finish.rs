//! What `run` and `resume` share: the cases that are still to be done, the end of the record, and
//! the tables.

use crate::cli::{RunName, RunsArgs, ShowArgs};
use crate::exit::Exit;
use crate::host::{Claim, Root, Volume, evidence, facts, group, meter};
use crate::printer::Printer;
use crate::report::evidence::Evidence;
use crate::runner::{Bench, Ended, Interrupt, Run};
use crate::units;
use kvdyno_record::case::WorkerIdentity;
use kvdyno_record::files::RunFolder;
use kvdyno_record::plan::Plan;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// How a run is to be shown.
pub struct Shown {
    /// The summary as JSON in place of tables.
    pub json: bool,
    /// More columns.
    pub wide: bool,
}

/// Does the pending cases of a run, ends its record as far as it goes, and says how far.
pub fn run(
    folder: &RunFolder,
    plan: &Plan,
    mut claim: Claim,
    workers: &BTreeMap<String, WorkerIdentity>,
    interrupt: &Interrupt,
    printer: &Printer,
) -> anyhow::Result<Ended> {
    let ended = cases(folder, plan, &mut claim, workers, interrupt, printer);
    close(folder, claim, ended, printer)
}

/// Does the pending cases of a run, which may be given more of them afterwards.
pub fn cases(
    folder: &RunFolder,
    plan: &Plan,
    claim: &mut Claim,
    workers: &BTreeMap<String, WorkerIdentity>,
    interrupt: &Interrupt,
    printer: &Printer,
) -> anyhow::Result<Ended> {
    let root = Root::system();
    // What a killed run could not take away itself.
    group::sweep(&root);
    let volume = Volume::at(&root, claim.path())?;
    let mut not_measured = Vec::new();
    if let Err(reason) = &volume.device {
        not_measured.push(format!("device reads and writes: {reason}"));
    }
    let bench = Bench { root: &root, device: volume.device.as_ref().ok(), not_measured };
    let estimate = Duration::from_nanos(plan.estimate.wall_ns);
    let progress = printer.progress(plan.cases.len(), estimate);
    let ended =
        Run { folder, plan, claim, bench: &bench, workers, interrupt, progress: &progress }.run();
    progress.finish();
    ended
}

/// Gives the place back and ends the record as far as the run went.
pub fn close(
    folder: &RunFolder,
    claim: Claim,
    ended: anyhow::Result<Ended>,
    printer: &Printer,
) -> anyhow::Result<Ended> {
    let root = Root::system();
    let place = claim.path().to_owned();
    // Databases that cannot be removed are no reason to lose what was measured.
    if let Err(error) = claim.release() {
        printer.warning(&format!("the place was not given back: {error}"));
    }
    let filed = end(folder, &root, &place, *ended.as_ref().unwrap_or(&Ended::Partial));
    let ended = ended?;
    filed?;
    tell(folder, ended, printer);
    Ok(ended)
}

/// Shows a run that was just done, and says how the program ends.
pub fn show(
    folder: &RunFolder,
    ended: Ended,
    shown: &Shown,
    printer: &Printer,
) -> anyhow::Result<Exit> {
    let name = RunName { run: folder.path.display().to_string(), runs: RunsArgs::default() };
    let verdict =
        super::show::run(&ShowArgs { name, json: shown.json, wide: shown.wide }, printer)?;
    // A case that does not fit its RAM or its time is an answer, not a failure: the verdict knows.
    Ok(if ended == Ended::Interrupted { Exit::Interrupted } else { verdict })
}

/// The machine after, and, where nothing is left to do, the seal.
fn end(folder: &RunFolder, root: &Root, place: &Path, ended: Ended) -> anyhow::Result<()> {
    let volume = Volume::at(root, place).ok();
    let after = folder.host().join(format!("after_{}", meter::unix_ns() / 1_000_000_000));
    evidence::save(root, volume.as_ref(), &after)?;
    let mut run = folder.run()?;
    run.ended_unix_ns = Some(meter::unix_ns());
    run.host_after = Some(facts::read(root, place));
    folder.write_run(&run)?;
    if ended == Ended::Complete {
        folder.seal()?;
    }
    Ok(())
}

fn tell(folder: &RunFolder, ended: Ended, printer: &Printer) {
    let path = folder.path.display();
    match ended {
        Ended::Complete => printer.note(&format!("complete: {path}")),
        Ended::Partial => {
            let left = Evidence::read(folder).map_or(0, |evidence| evidence.left().len());
            let cases = units::cases(left);
            printer.warning(&format!(
                "{cases} did not come to an end of {} own; the others are kept",
                if left == 1 { "its" } else { "their" }
            ));
            printer.hint(&format!("`kvdyno resume {path}` tries {cases} again"));
        }
        Ended::Interrupted => {
            printer.warning("interrupted; what was done is kept");
            printer.hint(&format!("`kvdyno resume {path}` goes on"));
        }
    }
}
