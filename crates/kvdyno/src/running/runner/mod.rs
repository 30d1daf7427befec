//! Runs a plan: case after case, each in a worker process of its own, each recorded as it ends.
//!
//! The runner computes nothing: it starts, watches and records. A failed case affects only itself
//! and the cases that need its database; the run continues.

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
mod profile;
mod readings;
mod recording;
pub mod solo;
pub(crate) mod states;
mod supervisor;
mod talk;
mod tiers;
mod turns;
mod volume_failure;
mod volumes;
mod worker;

pub(crate) use count::VALGRIND;
pub(crate) use environment::{RunEnvironment, images};
pub(crate) use interrupt::Interrupt;
pub(crate) use load_generator::load_generator_ns_per_op;
pub(crate) use recording::files as recorded_files;
pub(crate) use tiers::{Tiers, check as check_tiers};
pub(crate) use volumes::{Volumes, check as check_volumes};

use super::pilot::has_same_setting;
use crate::exit::Complaint;
use crate::printer::Progress;
use crate::steps::pass_step;
use anyhow::Context as _;
use environment::CaseEnvironment;
use kvdyno_analysis::figures::lists::group_equal;
use kvdyno_host::{ConcurrentRuns, size};
use kvdyno_record::case::{CaseRecord, OpResult, Outcome};
use kvdyno_record::files::CaseDir;
use kvdyno_record::plan::{Case, Plan};
use kvdyno_record::units;
use kvdyno_record::workload::Phase;
use states::Maker;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use volumes::DatabaseLocation;

/// The end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// Every case has a final outcome.
    Complete,
    /// Some cases can be tried again (killed, not run), with `kvdyno resume`.
    Partial,
    Interrupted,
}

impl RunEnvironment {
    /// Runs every case of a plan without a final outcome, in order. The plan may grow afterwards.
    pub(crate) fn cases(&mut self, plan: &Plan, progress: &Progress<'_>) -> anyhow::Result<Ended> {
        let mut done = self.outcomes()?;
        // The volume may work again; after another failure of this case it is left alone.
        done.retain(|_, outcome| !outcome.is_volume_failure());
        progress.skip(plan.cases.iter().filter(|case| case.is_settled(&done)).count());
        let (concurrent, tried) = (ConcurrentRuns::look(), BTreeSet::new());
        let mut pass = Pass { env: self, plan, progress, concurrent, done, tried };
        pass.take_states();
        for (number, case) in plan.cases.iter().enumerate() {
            let pending = pass.is_pending(case);
            if pending && !pass.env.interrupt.is_requested() {
                progress.case_started(number + 1, &case.id);
                let later = plan.cases[number + 1..].iter();
                let later = later.filter(|later| !later.is_settled(&pass.done));
                progress.set_timed_after(later.map(|case| timed_duration(&case.phases)).sum());
                match pass.paired_case(case, plan) {
                    Some(other) => pass.execute_pair(case, other)?,
                    None => pass.step(case)?,
                }
            }
            let needs_database = |later: &Case| {
                later.database.id == case.database.id && !later.is_settled(&pass.done)
            };
            // A search may add points that use the loaded database.
            let needed_later = plan.cases[number + 1..].iter().any(needs_database)
                || plan.search.is_some() && !case.database.last_use;
            if !needed_later || pass.env.interrupt.is_requested() {
                pass.env.databases.remove(&case.database.id);
                // Databases that cannot be removed now are tried again, and reported, at the end of
                // the run.
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

    /// The outcome of every case with a record; with several attempts, the last.
    fn outcomes(&self) -> anyhow::Result<BTreeMap<String, Outcome>> {
        let mut records = self.dir.case_records()?;
        records.sort_by_key(|(_, record)| record.attempt);
        Ok(records.into_iter().map(|(_, record)| (record.case.id, record.outcome)).collect())
    }
}

/// The duration of phases that end by time.
fn timed_duration(phases: &[Phase]) -> Duration {
    let by_the_clock = phases.iter().filter_map(|phase| phase.mix()?.ends.duration_ns);
    Duration::from_nanos(by_the_clock.fold(0, u64::saturating_add))
}

/// One pass through the cases of a plan.
struct Pass<'r> {
    env: &'r mut RunEnvironment,
    plan: &'r Plan,
    progress: &'r Progress<'r>,
    concurrent: ConcurrentRuns,
    /// The outcome of each case's last attempt.
    done: BTreeMap<String, Outcome>,
    /// The cases that were begun in this pass.
    tried: BTreeSet<String>,
}

impl Pass<'_> {
    fn is_pending(&self, case: &Case) -> bool {
        !case.is_settled(&self.done) && !self.tried.contains(&case.id)
    }

    /// Runs one pending case, after its load if that must be repeated.
    fn step(&mut self, case: &Case) -> anyhow::Result<()> {
        if case.lacks_rate() {
            return self.file_without_rate(case);
        }
        // Without a worker the load is not repeated: its figures are kept.
        let has_worker = self.env.workers.identity(case).is_some();
        let needs_load =
            !case.makes_database() && !self.env.databases.contains_key(&case.database.id);
        if has_worker && needs_load {
            let mut cases = self.plan.cases.iter();
            let Some(loader) = cases.find(|other| other.id == case.database.loaded_by) else {
                return self.file_not_run(case, "the plan has no case that loads it");
            };
            let failed = self.done.get(&loader.id).is_some_and(Outcome::is_volume_failure);
            if !failed && !self.done.get(&loader.id).is_some_and(Outcome::is_hopeless) {
                self.announce(loader);
                self.load(loader)?;
                if self.env.interrupt.is_requested() {
                    // The case has not begun.
                    return Ok(());
                }
                self.announce(case);
            }
            if !self.env.databases.contains_key(&case.database.id) {
                let word = self.done.get(&loader.id).map_or("not run", Outcome::as_str);
                let message = format!("cannot load its database: {} {word}", loader.id);
                return self.file_not_run(case, &message);
            }
        }
        if case.makes_database() { self.load(case) } else { self.execute(case).map(drop) }
    }

    /// Makes a case's database, or takes the state that an earlier run made.
    fn load(&mut self, case: &Case) -> anyhow::Result<()> {
        if self.env.states.database(case).is_some() && self.restore(case)? {
            return Ok(());
        }
        if let Some(from) = &case.data.from {
            let what = format!("no copy of {} was found", from.path.display());
            return self.file_not_run(case, &what);
        }
        let record = self.execute(case)?;
        if case.makes_state() && record.outcome == Outcome::Done {
            self.keep_database(case, &record);
            if self.env.states.database(case).is_some() {
                self.share_database(case, record)?;
            }
        }
        Ok(())
    }

    /// Copies the state that a case has loaded and moved into the store, for the cases that share
    /// it.
    fn share_database(&mut self, case: &Case, mut record: CaseRecord) -> anyhow::Result<()> {
        match self.copy_for_sharers(case) {
            Ok(Some(site)) => {
                note_copy(&mut record, site);
                case::file(&self.env.dir.case(case, record.attempt), &record)?;
            }
            Ok(None) => {}
            // Cases that need the database load it anew.
            Err(error) => {
                self.env.databases.remove(&case.database.id);
                self.progress.warn(&error.message);
            }
        }
        Ok(())
    }

    /// Copies the state that a case loads, if pending cases share one copy and change it.
    fn copy_for_sharers(&mut self, case: &Case) -> Result<Option<DatabaseLocation>, Complaint> {
        let shares = |other: &Case| {
            other.database.id == case.database.id && other.id != case.id && self.is_pending(other)
        };
        let is_shared = self.plan.search.is_some() || self.plan.cases.iter().any(shares);
        if case.database.is_state || !is_shared {
            return Ok(None);
        }
        self.site_of_copy(case).map(Some)
    }

    /// Takes the states that earlier runs made, trial by trial.
    fn take_states(&mut self) {
        let makers = self.plan.cases.iter().filter(|case| case.makes_state());
        let trials = group_equal(makers, |a, b| (a.trial, &a.part) == (b.trial, &b.part));
        for trial in trials {
            let makers: Vec<_> = trial.iter().map(|case| self.maker(case)).collect();
            // A case without a worker is not loaded either.
            let makers: Vec<Maker<'_>> = makers.into_iter().flatten().collect();
            if let Err(error) = self.env.states.take_all(&makers) {
                self.progress.warn(&error.message);
                error.hint.iter().for_each(|hint| self.progress.warn(hint));
            }
        }
    }

    fn maker<'c>(&mut self, case: &'c Case) -> Option<Maker<'c>> {
        let worker = self.env.workers.identity(case)?.clone();
        let data_dir = self.env.volumes.database_directory(case)?;
        let is_settled = case.is_settled(&self.done);
        Some(Maker { case, worker, data_dir, is_settled })
    }

    /// Uses a state instead of a load; the load's figures belong to the run that made the state.
    /// Returns false if the state cannot be copied; it is then released.
    fn restore(&mut self, case: &Case) -> anyhow::Result<bool> {
        self.env.databases.remove(&case.database.id);
        let site = match self.copy_for_sharers(case) {
            Ok(site) => site,
            Err(_) if self.env.interrupt.is_requested() => return Ok(true),
            Err(error) => {
                self.progress.warn(&format!("{} loads anew: {}", case.id, error.message));
                self.env.states.release(case);
                return Ok(false);
            }
        };
        self.env.databases.insert(case.database.id.clone(), vec![case.id.clone()]);
        let origin = self.env.states.origin(case);
        if origin.is_none() || self.done.get(&case.id) == Some(&Outcome::Done) {
            return Ok(true);
        }
        let (dir, attempt) = self.new_dir(case)?;
        let blank = case::blank(case, attempt, self.env.workers.identity(case).cloned());
        let mut restored = CaseRecord { outcome: Outcome::Done, restored: origin, ..blank };
        if let Some(site) = site {
            note_copy(&mut restored, site);
        }
        let record = case::file(&dir, &restored)?;
        self.record_case(&record);
        Ok(true)
    }

    /// Moves the database of a case into the store, for later runs. A database that is not kept
    /// stays where it is.
    fn keep_database(&mut self, case: &Case, record: &CaseRecord) {
        let Some(maker) = self.maker(case) else { return };
        let (progress, interrupt) = (self.progress, &self.env.interrupt);
        let mut go_on = |bytes| {
            progress.phase("keep", bytes, None, None);
            !interrupt.is_requested()
        };
        let needed_bytes = self.plan.estimate.space_bytes;
        let result = self.env.volumes.locate(case).and_then(|site| {
            self.env.states.keep_database(&maker, record, &site.path, needed_bytes, &mut go_on)
        });
        match result {
            Ok(Some(note)) => self.progress.warn(&note),
            Ok(None) => {}
            Err(error) => self.progress.warn(&format!("not kept for later runs: {error}")),
        }
    }

    fn execute(&mut self, case: &Case) -> anyhow::Result<CaseRecord> {
        let (dir, blank) = self.begin(case)?;
        let record = match self.site(case) {
            Ok(site) => {
                let Self { env, plan, progress, concurrent, .. } = self;
                let environment = environment(env, plan, progress, case, &dir, site);
                let record = case::run(&environment, blank, concurrent)?;
                self.note_database(&record);
                record
            }
            Err(error) => {
                let outcome = Outcome::NotRun { message: error.message };
                case::file(&dir, &CaseRecord { outcome, ..blank })?
            }
        };
        self.record_case(&record);
        Ok(record)
    }

    /// A case's directory, and its record before any result.
    fn begin(&mut self, case: &Case) -> anyhow::Result<(CaseDir, CaseRecord)> {
        let (dir, attempt) = self.new_dir(case)?;
        pass_step(&format!("begun {}", case.id));
        self.tried.insert(case.id.clone());
        let blank = case::blank(case, attempt, self.env.workers.identity(case).cloned());
        Ok((dir, blank))
    }

    /// Notes whether later cases can use the database of a case that has ended.
    fn note_database(&mut self, record: &CaseRecord) {
        let case = &record.case;
        if case.copies_state() {
            // A copy that cannot be removed now is tried again before the next one.
            let _ = self.env.volumes.remove_copy(case);
        } else if leaves_a_database(case, &record.outcome) {
            let used_by = self.env.databases.entry(case.database.id.clone()).or_default();
            used_by.push(case.id.clone());
        } else {
            self.env.databases.remove(&case.database.id);
        }
    }

    /// The location of a case's database, or of its copy. A load starts with an empty one.
    fn site(&mut self, case: &Case) -> Result<DatabaseLocation, Complaint> {
        if self.env.workers.identity(case).is_none() {
            let message = format!("cannot find the worker `kvdyno-{}`", case.engine);
            return Err(Complaint::usage(message));
        }
        if case.makes_database() {
            self.env.databases.remove(&case.database.id);
        }
        if case.copies_state() { self.site_of_copy(case) } else { self.env.volumes.site(case) }
    }

    /// Copies the state of a case, or the database that its run loaded; returns the copy's
    /// location.
    fn site_of_copy(&mut self, case: &Case) -> Result<DatabaseLocation, Complaint> {
        let site = match self.env.states.database(case) {
            Some(path) => self.env.volumes.locate_in_directory(case, path.to_owned())?,
            None => self.env.volumes.site(case)?,
        };
        let state = self.env.states.origin(case);
        let total = size::measure(&site.path).ok().map(|size| size.used_bytes);
        let (progress, interrupt) = (self.progress, &self.env.interrupt);
        let mut go_on = |bytes| {
            progress.phase("copy", bytes, total, None);
            !interrupt.is_requested()
        };
        self.env.volumes.copy(case, site, state, &mut go_on)
    }

    /// Creates the directory of a case's next attempt. An interrupted attempt left a directory
    /// without a record, which stays as evidence.
    fn new_dir(&self, case: &Case) -> anyhow::Result<(CaseDir, u32)> {
        let mut attempt = 1;
        loop {
            let dir = self.env.dir.case(case, attempt);
            match std::fs::create_dir(&dir.path) {
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => attempt += 1,
                result => {
                    result.with_context(|| format!("failed to create {}", dir.path.display()))?;
                    return Ok((dir, attempt));
                }
            }
        }
    }

    fn file_not_run(&mut self, case: &Case, message: &str) -> anyhow::Result<()> {
        self.file_outcome(case, Outcome::NotRun { message: message.to_owned() })
    }

    /// Files a case without a rate, because no pilot found one: it ends as the pilot of its engine
    /// did.
    fn file_without_rate(&mut self, case: &Case) -> anyhow::Result<()> {
        let is_pilot = |pilot: &&Case| {
            pilot.is_pilot() && pilot.label == case.label && has_same_setting(pilot, case)
        };
        let pilot = self.plan.cases.iter().find(is_pilot);
        let outcome = pilot.and_then(|pilot| self.done.get(&pilot.id)).cloned();
        match outcome.filter(|outcome| *outcome != Outcome::Done) {
            Some(outcome) => self.file_outcome(case, outcome),
            None => self.file_not_run(case, "no pilot found the rate of its clients"),
        }
    }

    fn file_outcome(&mut self, case: &Case, outcome: Outcome) -> anyhow::Result<()> {
        let (dir, attempt) = self.new_dir(case)?;
        let blank = case::blank(case, attempt, self.env.workers.identity(case).cloned());
        let record = case::file(&dir, &CaseRecord { outcome, ..blank })?;
        self.record_case(&record);
        Ok(())
    }

    /// A case's number in the plan, from 1.
    fn number(&self, case: &Case) -> usize {
        self.plan.cases.iter().take_while(|other| other.id != case.id).count() + 1
    }

    fn announce(&self, case: &Case) {
        self.progress.case_started(self.number(case), &case.id);
    }

    fn record_case(&mut self, record: &CaseRecord) {
        let headline = record.outcome.message().map_or_else(|| headline(record), str::to_owned);
        let word = match (record.outcome.as_str(), record.attempt) {
            (word, 1) => word.to_owned(),
            (word, attempt) => format!("{word} (again, try {attempt})"),
        };
        self.progress.case_finished(self.number(&record.case), &record.case.id, &word, &headline);
        pass_step(&format!("filed {}", record.case.id));
        self.done.insert(record.case.id.clone(), record.outcome.clone());
    }
}

/// Returns a case's settings. Its database has been through the phases of the cases that used it.
fn environment<'e>(
    env: &'e RunEnvironment,
    plan: &Plan,
    progress: &'e Progress<'_>,
    case: &'e Case,
    dir: &'e CaseDir,
    site: DatabaseLocation,
) -> CaseEnvironment<'e> {
    let used_by = env.databases.get(&case.database.id).cloned().unwrap_or_default();
    let find_case = |id: &String| plan.cases.iter().find(|case| case.id == *id);
    let phases_before = used_by.iter().filter_map(find_case).flat_map(|case| case.phases.clone());
    CaseEnvironment {
        run: env,
        case,
        dir,
        site,
        phases_before: phases_before.collect(),
        database_used_by: if case.copies_state() { Vec::new() } else { used_by },
        progress,
    }
}

/// Notes that a case's database was copied.
fn note_copy(record: &mut CaseRecord, site: DatabaseLocation) {
    record.database_copy = site.copy;
    record.not_measured.extend(site.not_measured);
}

/// Whether other cases may start from this database: the case completed, or it only read and was
/// ended for its RAM or its time. (Files survive a killed process.)
fn leaves_a_database(case: &Case, outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Done => true,
        Outcome::DoesNotFit { .. } | Outcome::OutOfTime { .. } => !case.writes(),
        _ => false,
    }
}

/// The figures of a case that fit into a progress line.
fn headline(record: &CaseRecord) -> String {
    if let Some(origin) = &record.restored {
        return format!("not loaded: the state of {}", origin.run);
    }
    let mut phases = record.phases.iter().rev().filter(|phase| !phase.roles.is_empty());
    let Some(phase) = phases.next() else { return String::new() };
    let is_one_of_many = phase.kind == "measure" && phases.any(|other| other.kind == "measure");
    let of_phase = if is_one_of_many { format!("{} ", phase.name) } else { String::new() };
    let roles = phase.roles.iter().map(|role| {
        // Records for a load, otherwise operations, as in tables.
        let count = |op: &OpResult| if phase.kind == "load" { op.items } else { op.count };
        let done: u64 = role.summed_ops().map(count).sum();
        format!("{of_phase}{} {}", role.role, units::rate(role.per_second(done).unwrap_or(0.0)))
    });
    roles.collect::<Vec<_>>().join(", ")
}
