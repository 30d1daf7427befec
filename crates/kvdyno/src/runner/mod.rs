//! Runs a plan: case after case, each in a worker process of its own, each filed as it ends.
//!
//! It is not where anything is computed: it spawns, watches and files. A case that fails costs
//! itself and those that needed its database; the run goes on.

mod blockio;
mod case;
mod databases;
pub mod harness;
mod interrupt;
mod memory;
mod outcome;
pub mod solo;
mod talk;
mod tiers;
mod volumes;
mod worker;

pub use databases::Databases;
pub use harness::harness_ns_per_op;
pub use interrupt::Interrupt;
pub use tiers::{TierError, Tiers, check as check_tiers};
pub use volumes::{VolumeError, Volumes, check as check_volumes};

use crate::printer::Progress;
use crate::steps::passed;
use crate::workers::Workers;
use kvdyno_host::{Beside, Root, raw, size};
use kvdyno_record::blockio::Watch;
use kvdyno_record::case::{CaseRecord, Outcome};
use kvdyno_record::files::{CaseFolder, RunFolder};
use kvdyno_record::plan::{Case, Plan};
use kvdyno_record::units;
use kvdyno_record::workload::{Phase, Work};
use std::collections::BTreeMap;
use std::path::PathBuf;
use volumes::Site;

/// The machine as a run uses it.
pub struct Bench<'r> {
    /// Where the host is read.
    pub root: &'r Root,
    /// Whether block I/O is watched in the kernel.
    pub block_io: Watch,
    /// What there is of memory beside the RAM limits.
    pub tiers: &'r Tiers,
}

/// A run at work.
pub struct Run<'r> {
    /// Where it is filed.
    pub folder: &'r RunFolder,
    /// What is to be done.
    pub plan: &'r Plan,
    /// Where the databases lie.
    pub volumes: &'r mut Volumes,
    /// On what machine.
    pub bench: &'r Bench<'r>,
    /// What is loaded there.
    pub databases: &'r mut Databases,
    /// Other runs on it.
    pub beside: &'r mut Beside,
    /// By whom.
    pub workers: &'r Workers,
    /// Whether the user wants an end.
    pub interrupt: &'r Interrupt,
    /// Told how it gets on.
    pub progress: &'r Progress<'r>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Every case came to an end of its own.
    Complete,
    /// Some cases should be tried again (killed, not run): `kvdyno resume` does.
    Partial,
    /// The user ended it.
    Interrupted,
}

impl Run<'_> {
    /// Runs every case that has no final outcome yet, in the plan's order.
    pub fn run(&mut self) -> anyhow::Result<Ended> {
        let mut done = self.outcomes()?;
        // There may be room by now; one that finds none again is left alone from there on.
        done.retain(|_, outcome| !matches!(outcome, Outcome::DiskFull { .. }));
        let plan = self.plan;
        for (number, case) in plan.cases.iter().enumerate() {
            let pending = !case.is_settled(&done);
            if pending && !self.interrupt.asked() {
                self.progress.case_started(number + 1, &case.id);
                self.step(case, &mut done)?;
            }
            let needed_later = plan.cases[number + 1..]
                .iter()
                .any(|later| later.database.id == case.database.id && !later.is_settled(&done));
            // A search may add points that read what it has loaded.
            let needed_later = needed_later || plan.search.is_some() && !case.database.last_use;
            if !needed_later || self.interrupt.asked() {
                // What cannot be removed now is tried again, and told of, when the place is left.
                let _ = self.drop_database(case);
            }
        }
        let all_settled = plan.cases.iter().all(|case| case.is_settled(&done));
        Ok(match (all_settled, self.interrupt.asked()) {
            (true, _) => Ended::Complete,
            (false, true) => Ended::Interrupted,
            (false, false) => Ended::Partial,
        })
    }

    /// The outcome of every case that has a record; of several attempts, the last.
    fn outcomes(&self) -> anyhow::Result<BTreeMap<String, Outcome>> {
        let records = self.folder.case_records()?;
        let latest =
            records.into_iter().map(|(_, record)| (record.case.id, record.attempt, record.outcome));
        let mut outcomes: BTreeMap<String, (u32, Outcome)> = BTreeMap::new();
        for (id, attempt, outcome) in latest {
            let newest = outcomes.get(&id).is_none_or(|(known, _)| attempt > *known);
            if newest {
                outcomes.insert(id, (attempt, outcome));
            }
        }
        Ok(outcomes.into_iter().map(|(id, (_, outcome))| (id, outcome)).collect())
    }

    /// One pending case, with the load it needs if that has to be done again.
    fn step(&mut self, case: &Case, done: &mut BTreeMap<String, Outcome>) -> anyhow::Result<()> {
        // Without a worker nothing is loaded again: what the load was measured at is kept.
        let has_worker = self.workers.of(case).is_some();
        let needs_load = !case.makes_database() && !self.databases.is_loaded(&case.database.id);
        if has_worker && needs_load {
            let Some(loader) =
                self.plan.cases.iter().find(|other| other.id == case.database.made_by)
            else {
                return self.file_not_run(case, "the plan has no case that loads it", done);
            };
            let full = matches!(done.get(&loader.id), Some(Outcome::DiskFull { .. }));
            if !full && !done.get(&loader.id).is_some_and(Outcome::is_hopeless) {
                self.execute(loader, done)?;
            }
            if !self.databases.is_loaded(&case.database.id) {
                let word = done.get(&loader.id).map_or("not run", Outcome::word);
                let message = format!("its database could not be loaded: {} {word}", loader.id);
                return self.file_not_run(case, &message, done);
            }
        }
        self.execute(case, done)
    }

    fn execute(&mut self, case: &Case, done: &mut BTreeMap<String, Outcome>) -> anyhow::Result<()> {
        let (folder, attempt) = self.new_folder(case)?;
        passed(&format!("begun {}", case.id));
        let Some(identity) = self.workers.of(case) else {
            let message = format!("no worker `kvdyno-{}` was found", case.engine);
            self.file(case::not_run(case, &folder, attempt, None, message)?, done);
            return Ok(());
        };
        let site = match self.site(case) {
            Ok(site) => site,
            Err(error) => {
                let identity = Some(identity.clone());
                let record = case::not_run(case, &folder, attempt, identity, error.to_string())?;
                self.file(record, done);
                return Ok(());
            }
        };
        let copies = case.database.copy.is_some();
        let used_by = self.databases.used_by(&case.database.id);
        let setting = case::Setting {
            bench: self.bench,
            case,
            folder: &folder,
            identity,
            site,
            images: self.images(),
            attempt,
            database_used_by: if copies { Vec::new() } else { used_by },
            progress: self.progress,
            interrupt: self.interrupt,
        };
        let record = case::run(&setting, self.beside)?;
        if copies {
            // What cannot be removed now is tried again before the next copy.
            let _ = self.volumes.remove_copy(case);
        } else {
            self.databases.used(case, leaves_a_database(case, &record.outcome));
        }
        self.file(record, done);
        Ok(())
    }

    /// Where images of swap lie: in the place, or beside the records where that is a device.
    fn images(&self) -> PathBuf {
        let place = self.volumes.place();
        if raw::is_device(place) { self.folder.path.clone() } else { place.to_owned() }
    }

    /// Where a case's database lies, or its copy of one. A load begins with an empty one.
    fn site(&mut self, case: &Case) -> Result<Site, VolumeError> {
        if case.makes_database() {
            self.databases.forget(&case.database.id);
        }
        let site = self.volumes.site(case)?;
        let Some(by) = case.database.copy else { return Ok(site) };
        let total = size::measure(&site.path).ok().map(|size| size.allocated_bytes);
        let (progress, interrupt) = (self.progress, self.interrupt);
        let mut go_on = |bytes| {
            progress.phase("copy", bytes, total, None);
            !interrupt.asked()
        };
        self.volumes.copy(case, by, site, &mut go_on)
    }

    /// An attempt that was cut off left a folder without a record: it stays as evidence, and the
    /// next attempt gets a folder of its own.
    fn new_folder(&self, case: &Case) -> anyhow::Result<(CaseFolder, u32)> {
        let mut attempt = 1;
        loop {
            let folder = self.folder.case(case, attempt);
            match std::fs::create_dir(&folder.path) {
                Ok(()) => return Ok((folder, attempt)),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => attempt += 1,
                Err(error) => {
                    let doing = format!("failed to make {}", folder.path.display());
                    return Err(anyhow::Error::new(error).context(doing));
                }
            }
        }
    }

    fn file_not_run(
        &mut self,
        case: &Case,
        message: &str,
        done: &mut BTreeMap<String, Outcome>,
    ) -> anyhow::Result<()> {
        let (folder, attempt) = self.new_folder(case)?;
        let identity = self.workers.of(case).cloned();
        let record = case::not_run(case, &folder, attempt, identity, message.to_owned())?;
        self.file(record, done);
        Ok(())
    }

    fn file(&self, record: CaseRecord, done: &mut BTreeMap<String, Outcome>) {
        let headline = record.outcome.message().map_or_else(|| headline(&record), str::to_owned);
        self.progress.case_finished(&record.case.id, record.outcome.word(), &headline);
        passed(&format!("filed {}", record.case.id));
        done.insert(record.case.id, record.outcome);
    }

    fn drop_database(&mut self, case: &Case) -> Result<(), VolumeError> {
        self.databases.forget(&case.database.id);
        self.volumes.remove(case)
    }
}

/// Others may start from what the case worked on: it came to its end, or it only read and was ended
/// for its RAM or its time. (Files outlive a process that is killed.)
fn leaves_a_database(case: &Case, outcome: &Outcome) -> bool {
    let writes = |phase: &Phase| match &phase.work {
        Work::Load(_) => true,
        Work::Warmup(drive) | Work::Measure(drive) => {
            drive.roles.iter().any(|role| role.mix.iter().any(|entry| entry.op.writes()))
        }
        Work::Settle { .. } | Work::Verify { .. } | Work::Evict => false,
    };
    match outcome {
        Outcome::Done => true,
        Outcome::DoesNotFit { .. } | Outcome::OutOfTime { .. } => !case.phases.iter().any(writes),
        _ => false,
    }
}

/// The figures of a case that fit into a progress line.
fn headline(record: &CaseRecord) -> String {
    let last = record.phases.iter().rev().find(|phase| !phase.roles.is_empty());
    let Some(phase) = last else { return String::new() };
    let roles = phase.roles.iter().map(|role| {
        let items: u64 = role.ops.values().map(|op| op.items).sum();
        format!("{} {}", role.role, units::rate(role.per_second(items).unwrap_or(0.0)))
    });
    roles.collect::<Vec<_>>().join(", ")
}
