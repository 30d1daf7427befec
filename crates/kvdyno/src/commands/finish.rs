//! What `run` and `resume` share: the cases that are still to be done, the end of the record, and
//! the tables.

use crate::cli::{RunName, RunsArgs, ShowArgs, ViewArgs};
use crate::machine;
use crate::printer::{Printer, Progress};
use crate::runner::{Bench, Databases, Ended, Interrupt, Run, Tiers, Volumes};
use crate::steps::passed;
use crate::workers::Workers;
use kvdyno_analysis::evidence::Evidence;
use kvdyno_host::{Beside, Root, Volume, evidence, meter};
use kvdyno_record::exit::Exit;
use kvdyno_record::files::RunFolder;
use kvdyno_record::plan::Plan;
use kvdyno_record::units;
use std::fs::File;
use std::path::Path;
use std::time::Duration;

/// How a run is to be shown.
pub struct Shown {
    /// The summary as JSON in place of the screen.
    pub json: bool,
    /// What is shown in place of the screen.
    pub view: ViewArgs,
}

/// A run at work: all that it holds until it is closed.
pub struct AtWork {
    /// Where it is filed.
    pub folder: RunFolder,
    /// What it has of memory beside its RAM limits.
    pub tiers: Tiers,
    /// Where its databases lie.
    pub volumes: Volumes,
    /// Who does its work.
    pub workers: Workers,
    /// Whether the user wants an end.
    pub interrupt: Interrupt,
    /// Its folder's lock.
    pub alone: File,
    /// What is loaded.
    pub databases: Databases,
}

impl AtWork {
    /// Does all of a plan, ends its record as far as it goes, and says how far.
    pub fn run(mut self, plan: &Plan, printer: &Printer) -> anyhow::Result<Ended> {
        self.begin(printer);
        let estimate = Duration::from_nanos(plan.estimate.wall_ns);
        let progress = printer.progress(plan.cases.len(), estimate);
        let ended = self.cases(plan, &progress);
        progress.finish();
        self.close(ended, printer)
    }

    /// Looks who else is at work here.
    pub fn begin(&self, printer: &Printer) {
        for pid in Beside::look().others() {
            printer.warning(&format!(
                "another run is at work on this machine (process {pid}): each is measured beside \
                 the other"
            ));
        }
    }

    /// Does the pending cases of a plan, which may be given more of them afterwards.
    pub fn cases(&mut self, plan: &Plan, progress: &Progress<'_>) -> anyhow::Result<Ended> {
        let root = Root::system();
        let block_io = self.folder.run()?.block_io;
        let bench = Bench { root: &root, block_io, tiers: &self.tiers };
        Run {
            folder: &self.folder,
            plan,
            volumes: &mut self.volumes,
            bench: &bench,
            databases: &mut self.databases,
            beside: &mut Beside::look(),
            workers: &self.workers,
            interrupt: &self.interrupt,
            progress,
        }
        .run()
    }

    /// Gives everything back, and ends the record as far as the run went.
    pub fn close(self, ended: anyhow::Result<Ended>, printer: &Printer) -> anyhow::Result<Ended> {
        let Self { folder, tiers, volumes, alone, .. } = self;
        drop(tiers);
        let root = Root::system();
        let place = volumes.place().to_owned();
        // Databases that cannot be removed are no reason to lose what was measured.
        if let Err(error) = volumes.release() {
            printer.warning(&format!("the place was not given back: {error}"));
        }
        passed("released");
        let filed = end(&folder, &root, &place, *ended.as_ref().unwrap_or(&Ended::Partial));
        drop(alone);
        let ended = ended?;
        filed?;
        tell(&folder, ended, printer);
        Ok(ended)
    }
}

/// Shows a run that was just done, and says how the program ends.
pub fn show(
    folder: &RunFolder,
    ended: Ended,
    shown: &Shown,
    printer: &Printer,
) -> anyhow::Result<Exit> {
    let name = RunName { run: folder.path.display().to_string(), runs: RunsArgs::default() };
    let shown = ShowArgs { name, json: shown.json, view: shown.view.clone() };
    let verdict = super::show::run(&shown, printer)?;
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
    run.host_after = Some(machine::read(root, place));
    folder.write_run(&run)?;
    passed("ended");
    if ended == Ended::Complete {
        folder.seal()?;
        passed("sealed");
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
            printer.warning(&format!("{cases} did not run to the end; the others are kept"));
            printer.hint(&format!("`kvdyno resume {path}` tries {cases} again"));
        }
        Ended::Interrupted => {
            printer.warning("interrupted; what was done is kept");
            printer.hint(&format!("`kvdyno resume {path}` goes on"));
        }
    }
}
