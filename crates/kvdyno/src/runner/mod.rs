//! Runs a plan: case after case, each in a worker process of its own, each filed as it ends.
//!
//! It is not where anything is computed: it spawns, watches and files. A case that fails costs
//! itself and those that needed its database; the run goes on.

mod blockio;
pub(crate) mod case;
mod consent;
mod count;
mod environment;
mod interrupt;
mod launcher;
pub mod load_generator;
mod memory;
mod outcome;
mod readings;
mod recording;
pub mod solo;
mod supervisor;
mod talk;
mod tiers;
mod volumes;
mod worker;

pub(crate) use count::VALGRIND;
pub(crate) use environment::{RunEnvironment, images};
pub(crate) use interrupt::Interrupt;
pub(crate) use load_generator::load_generator_ns_per_op;
pub(crate) use recording::files as recorded_files;
pub(crate) use tiers::{Tiers, check as check_tiers};
pub(crate) use volumes::{Volumes, check as check_volumes};

use crate::exit::Complaint;
use crate::printer::Progress;
use crate::steps::passed;
use anyhow::Context as _;
use environment::CaseEnvironment;
use kvdyno_host::{ConcurrentRuns, size};
use kvdyno_record::case::{CaseRecord, OpResult, Outcome};
use kvdyno_record::files::CaseFolder;
use kvdyno_record::plan::{Case, Plan};
use kvdyno_record::units;
use kvdyno_record::workload::{Activity, Phase};
use std::collections::BTreeMap;
use std::time::Duration;
use volumes::DatabaseLocation;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// Every case came to an end of its own.
    Complete,
    /// Some cases should be tried again (killed, not run): `kvdyno resume` does.
    Partial,
    Interrupted,
}

impl RunEnvironment {
    /// Runs every case of a plan that has no final outcome yet, in its order. The plan may be given
    /// more of them afterwards.
    pub(crate) fn cases(&mut self, plan: &Plan, progress: &Progress<'_>) -> anyhow::Result<Ended> {
        let mut done = self.outcomes()?;
        // The volume may be mended by now; a case that it fails again is left alone from there on.
        done.retain(|_, outcome| !outcome.is_volume_failure());
        progress.skip(plan.cases.iter().filter(|case| case.is_settled(&done)).count());
        let mut pass = Pass { env: self, plan, progress, beside: ConcurrentRuns::look(), done };
        for (number, case) in plan.cases.iter().enumerate() {
            let pending = !case.is_settled(&pass.done);
            if pending && !pass.env.interrupt.is_requested() {
                progress.case_started(number + 1, &case.id);
                let later = plan.cases[number + 1..].iter();
                let later = later.filter(|later| !later.is_settled(&pass.done));
                progress.timed_after(later.map(|case| timed(&case.phases)).sum());
                pass.step(case)?;
            }
            let needed = |later: &Case| {
                later.database.id == case.database.id && !later.is_settled(&pass.done)
            };
            // A search may add points that read what it has loaded.
            let needed_later = plan.cases[number + 1..].iter().any(needed)
                || plan.search.is_some() && !case.database.last_use;
            if !needed_later || pass.env.interrupt.is_requested() {
                pass.env.databases.remove(&case.database.id);
                // What cannot be removed now is tried again, and told of, when the place is left.
                let _ = pass.env.volumes.remove(case);
            }
        }
        let all_settled = plan.cases.iter().all(|case| case.is_settled(&pass.done));
        Ok(match (all_settled, self.interrupt.is_requested()) {
            (true, _) => Ended::Complete,
            (false, true) => Ended::Interrupted,
            (false, false) => Ended::Partial,
        })
    }

    /// The outcome of every case that has a record; of several attempts, the last.
    fn outcomes(&self) -> anyhow::Result<BTreeMap<String, Outcome>> {
        let mut records = self.folder.case_records()?;
        records.sort_by_key(|(_, record)| record.attempt);
        Ok(records.into_iter().map(|(_, record)| (record.case.id, record.outcome)).collect())
    }
}

/// What phases that end by the clock take.
fn timed(phases: &[Phase]) -> Duration {
    let by_the_clock = phases.iter().filter_map(|phase| match &phase.work {
        Activity::Warmup(mix) | Activity::Measure(mix) => mix.ends.duration_ns,
        _ => None,
    });
    Duration::from_nanos(by_the_clock.fold(0, u64::saturating_add))
}

/// One way through the cases of a plan.
struct Pass<'r> {
    env: &'r mut RunEnvironment,
    plan: &'r Plan,
    progress: &'r Progress<'r>,
    beside: ConcurrentRuns,
    /// The outcome of each case's last try.
    done: BTreeMap<String, Outcome>,
}

impl Pass<'_> {
    /// One pending case, with the load it needs if that has to be done again.
    fn step(&mut self, case: &Case) -> anyhow::Result<()> {
        // Without a worker nothing is loaded again: what the load was measured at is kept.
        let has_worker = self.env.workers.identity(case).is_some();
        let needs_load =
            !case.makes_database() && !self.env.databases.contains_key(&case.database.id);
        if has_worker && needs_load {
            let mut cases = self.plan.cases.iter();
            let Some(loader) = cases.find(|other| other.id == case.database.made_by) else {
                return self.file_not_run(case, "the plan has no case that loads it");
            };
            let failed = self.done.get(&loader.id).is_some_and(Outcome::is_volume_failure);
            if !failed && !self.done.get(&loader.id).is_some_and(Outcome::is_hopeless) {
                self.execute(loader)?;
            }
            if !self.env.databases.contains_key(&case.database.id) {
                let word = self.done.get(&loader.id).map_or("not run", Outcome::word);
                let message = format!("its database could not be loaded: {} {word}", loader.id);
                return self.file_not_run(case, &message);
            }
        }
        self.execute(case)
    }

    fn execute(&mut self, case: &Case) -> anyhow::Result<()> {
        let (folder, attempt) = self.new_folder(case)?;
        passed(&format!("begun {}", case.id));
        let blank = case::blank(case, attempt, self.env.workers.identity(case).cloned());
        let record = match self.site(case) {
            Ok(site) => self.measure(case, &folder, site, blank)?,
            Err(error) => {
                let outcome = Outcome::NotRun { message: error.message };
                case::file(&folder, &CaseRecord { outcome, ..blank })?
            }
        };
        self.record_case(record);
        Ok(())
    }

    fn measure(
        &mut self,
        case: &Case,
        folder: &CaseFolder,
        site: DatabaseLocation,
        record: CaseRecord,
    ) -> anyhow::Result<CaseRecord> {
        let copies = case.database.copy.is_some();
        let used_by = self.env.databases.get(&case.database.id).cloned().unwrap_or_default();
        let environment = CaseEnvironment {
            run: self.env,
            case,
            folder,
            site,
            database_used_by: if copies { Vec::new() } else { used_by },
            progress: self.progress,
        };
        let record = case::run(&environment, record, &mut self.beside)?;
        if copies {
            // What cannot be removed now is tried again before the next copy.
            let _ = self.env.volumes.remove_copy(case);
        } else if leaves_a_database(case, &record.outcome) {
            let used_by = self.env.databases.entry(case.database.id.clone()).or_default();
            used_by.push(case.id.clone());
        } else {
            self.env.databases.remove(&case.database.id);
        }
        Ok(record)
    }

    /// Where a case's database lies, or its copy of one. A load begins with an empty one.
    fn site(&mut self, case: &Case) -> Result<DatabaseLocation, Complaint> {
        if self.env.workers.identity(case).is_none() {
            let message = format!("no worker `kvdyno-{}` was found", case.engine);
            return Err(Complaint::usage(message));
        }
        if case.makes_database() {
            self.env.databases.remove(&case.database.id);
        }
        let site = self.env.volumes.site(case)?;
        let Some(by) = case.database.copy else { return Ok(site) };
        let total = size::measure(&site.path).ok().map(|size| size.allocated_bytes);
        let (progress, interrupt) = (self.progress, &self.env.interrupt);
        let mut go_on = |bytes| {
            progress.phase("copy", bytes, total, None);
            !interrupt.is_requested()
        };
        self.env.volumes.copy(case, by, site, &mut go_on)
    }

    /// An attempt that was cut off left a folder without a record: it stays as evidence, and the
    /// next attempt gets a folder of its own.
    fn new_folder(&self, case: &Case) -> anyhow::Result<(CaseFolder, u32)> {
        let mut attempt = 1;
        loop {
            let folder = self.env.folder.case(case, attempt);
            match std::fs::create_dir(&folder.path) {
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => attempt += 1,
                made => {
                    made.with_context(|| format!("failed to make {}", folder.path.display()))?;
                    return Ok((folder, attempt));
                }
            }
        }
    }

    fn file_not_run(&mut self, case: &Case, message: &str) -> anyhow::Result<()> {
        let (folder, attempt) = self.new_folder(case)?;
        let blank = case::blank(case, attempt, self.env.workers.identity(case).cloned());
        let outcome = Outcome::NotRun { message: message.to_owned() };
        let record = case::file(&folder, &CaseRecord { outcome, ..blank })?;
        self.record_case(record);
        Ok(())
    }

    fn record_case(&mut self, record: CaseRecord) {
        let headline = record.outcome.message().map_or_else(|| headline(&record), str::to_owned);
        self.progress.case_finished(&record.case.id, record.outcome.word(), &headline);
        passed(&format!("filed {}", record.case.id));
        self.done.insert(record.case.id, record.outcome);
    }
}

/// Others may start from what the case worked on: it came to its end, or it only read and was ended
/// for its RAM or its time. (Files outlive a process that is killed.)
fn leaves_a_database(case: &Case, outcome: &Outcome) -> bool {
    let writes = |phase: &Phase| match &phase.work {
        Activity::Load(_) => true,
        Activity::Warmup(mix) | Activity::Measure(mix) => {
            mix.roles.iter().any(|role| role.mix.iter().any(|entry| entry.op.writes()))
        }
        Activity::Settle { .. }
        | Activity::Verify { .. }
        | Activity::Evict
        | Activity::Reopen { .. } => false,
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
        // Of a load its records, of work its operations, as tables have them.
        let of = |op: &OpResult| if phase.kind == "load" { op.items } else { op.count };
        let done: u64 = role.ops.values().map(of).sum();
        format!("{} {}", role.role, units::rate(role.per_second(done).unwrap_or(0.0)))
    });
    roles.collect::<Vec<_>>().join(", ")
}
