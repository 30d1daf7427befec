//! The record of a run on disk: every planned case with its record. The summary and the findings
//! are computed from this; nothing here computes.

use super::metric::Why;
use super::spent::Spent;
use super::turns;
use kvdyno_record::case::{CaseRecord, CounterFile, Outcome, PhaseRecord};
use kvdyno_record::engine::{Capabilities, EngineEvent, EventKind, PowerLoss};
use kvdyno_record::files::{CaseDir, RecordError, RunDir};
use kvdyno_record::functions::FunctionFile;
use kvdyno_record::hlog::Kind;
use kvdyno_record::plan::{Case, Plan};
use kvdyno_record::profile::ProfileFile;
use kvdyno_record::protocol::NO_LOAD_GENERATOR;
use kvdyno_record::run::RunRecord;
use kvdyno_record::samples::{PAGE_BYTES, Samples};
use kvdyno_record::series::Slice;
use kvdyno_record::torture::TortureRecord;
use kvdyno_record::workload::{Activity, Phase};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// A run's record.
#[derive(Clone, Debug)]
pub struct Evidence {
    /// `run.json`.
    pub run: RunRecord,
    /// `plan.json`.
    pub plan: Plan,
    /// Whether all planned cases are done.
    pub complete: bool,
    /// The planned cases, in the order of the plan.
    pub cases: Vec<CaseEvidence>,
    /// Records of `kvdyno torture` in the same directory, newest first.
    pub torture: Vec<TortureRecord>,
    /// The run's directory.
    dir: RunDir,
}

/// An attempt at a case that a later attempt replaced.
#[derive(Clone, Debug)]
pub struct Earlier {
    /// Its number, from 1.
    pub attempt: u32,
    /// How it ended.
    pub outcome: Outcome,
}

/// A planned case, and the record of its last attempt.
#[derive(Clone, Debug)]
pub struct CaseEvidence {
    /// The case as planned.
    pub case: Case,
    /// Its record; null: it has not ended, or its record is damaged.
    pub record: Option<CaseRecord>,
    /// Its directory; null together with the record.
    pub(crate) dir: Option<CaseDir>,
    /// Why its record cannot be read; null: it can, or there is none.
    pub damaged: Option<String>,
    /// The attempts before the last one, in order.
    pub earlier: Vec<Earlier>,
    /// Phases whose rates leave out waits for a CPU.
    pub(crate) without_waits: BTreeSet<String>,
}

/// All samples of a case by tag: phase, role, operation, kind.
pub type Latencies = BTreeMap<(String, String, String, Kind), Samples>;

/// Most pages of samples in memory at one time: a case with a hundred trials and forty kinds of
/// times takes half. Without the limit a damaged bundle could take any amount.
const SAMPLES_MAX: usize = (512 << 20) / PAGE_BYTES;

impl Evidence {
    /// Reads a run.
    pub fn read(dir: &RunDir) -> Result<Self, RecordError> {
        let (run, plan) = (dir.run()?, dir.plan()?);
        let mut cases: Vec<CaseEvidence> = plan.cases.iter().map(CaseEvidence::from_plan).collect();
        for attempt in dir.cases()? {
            if attempt.path.join("case.json").is_file() {
                file_attempt(&mut cases, attempt)?;
            }
        }
        turns::decide_waits(&mut cases);
        let torture = dir.path.parent().map_or_else(Vec::new, TortureRecord::read_all);
        let (complete, dir) = (dir.is_complete(), dir.clone());
        Ok(Self { run, plan, complete, cases, torture, dir })
    }

    /// Returns the evidence without pilots, which are no results, and loads of an earlier run.
    pub(crate) fn results(&self) -> Cow<'_, Self> {
        let is_result = |case: &CaseEvidence| !case.case.is_pilot() && !case.is_restored();
        if self.cases.iter().all(is_result) {
            return Cow::Borrowed(self);
        }
        let mut results = self.clone();
        results.cases.retain(is_result);
        Cow::Owned(results)
    }

    /// Files that changed after the run was sealed. It reads every byte of the record.
    pub fn altered_files(&self) -> Result<Vec<String>, RecordError> {
        self.dir.changed_since_sealed()
    }

    /// Whether an engine failed. An engine that does not fit its RAM has not failed: that is a
    /// result, and so are the cases that its load prevented. A case that ran out of time counts as
    /// failed, since it may have hung.
    pub fn has_failed_engine(&self) -> bool {
        let failed = |outcome: &Outcome| match outcome {
            Outcome::Done | Outcome::DoesNotFit { .. } | Outcome::Interrupted { .. } => false,
            Outcome::DiskFull { .. }
            | Outcome::OutOfTime { .. }
            | Outcome::Killed { .. }
            | Outcome::Failed { .. }
            | Outcome::NotRun { .. } => true,
        };
        let answered_by_load = |case: &CaseEvidence, outcome: &Outcome| {
            let load = self
                .recorded_cases()
                .find(|(load, _)| load.case.id == case.case.database.loaded_by);
            matches!(outcome, Outcome::NotRun { .. })
                && load.is_some_and(|(_, record)| !failed(&record.outcome))
                && load.is_some_and(|(load, _)| !load.is_done())
        };
        self.has_measured_nothing()
            || self.recorded_cases().filter(|(case, _)| !self.plan.is_beside(&case.case)).any(
                |(case, record)| {
                    failed(&record.outcome) && !answered_by_load(case, &record.outcome)
                },
            )
    }

    /// Whether every case that was to measure an engine has ended, and none is done. Cases of the
    /// load generator and the bare drive count only where there are no others, and so do loads.
    fn has_measured_nothing(&self) -> bool {
        // In a search it may be a result that nothing fits.
        if self.plan.search.is_some() {
            return false;
        }
        let measures = |case: &CaseEvidence| {
            case.case.phases.iter().any(|phase| matches!(phase.work, Activity::Measure(_)))
        };
        let has_engine = |case: &CaseEvidence| !case.stores_nothing() && !case.case.ceiling;
        let failed = |case: &&CaseEvidence| {
            let outcome = case.record.as_ref().map(|record| &record.outcome);
            outcome.is_some_and(|o| !matches!(o, Outcome::Done | Outcome::Interrupted { .. }))
        };
        let measuring: Vec<_> = self.cases.iter().filter(|case| measures(case)).collect();
        let engines = measuring.iter().copied().filter(|case| has_engine(case)).collect();
        let mut kinds = [engines, measuring, self.cases.iter().collect()].into_iter();
        let counted = kinds.find(|kind: &Vec<_>| !kind.is_empty()).unwrap_or_default();
        !counted.is_empty() && counted.iter().all(failed)
    }

    /// Whether it counted instructions in place of times, so that the machine does not matter.
    pub(crate) fn is_counted(&self) -> bool {
        self.plan.is_counted()
    }

    /// Whether another program measured it on an unknown machine: the host only imported it.
    pub fn is_imported(&self) -> bool {
        let mut workers =
            self.recorded_cases().filter_map(|(_, record)| record.worker.as_ref()).peekable();
        workers.peek().is_some()
            && workers.all(|worker| worker.description.load_generator == NO_LOAD_GENERATOR)
    }

    /// The cases that `kvdyno resume` would do or repeat, by the runner's own rule. A sealed run
    /// has none.
    pub fn unfinished_cases(&self) -> Vec<&CaseEvidence> {
        if self.complete {
            return Vec::new();
        }
        let outcomes = self.recorded_cases();
        let done = outcomes.map(|(case, record)| (case.case.id.clone(), record.outcome.clone()));
        let done = done.collect();
        self.cases.iter().filter(|case| !case.case.is_settled(&done)).collect()
    }

    /// The cases that left a record.
    pub fn recorded_cases(&self) -> impl Iterator<Item = (&CaseEvidence, &CaseRecord)> {
        self.cases.iter().filter_map(|case| Some((case, case.record.as_ref()?)))
    }
}

/// Adds an attempt's record to its case; a later attempt replaces an earlier one.
fn file_attempt(cases: &mut [CaseEvidence], dir: CaseDir) -> Result<(), RecordError> {
    match dir.record() {
        Ok(mut record) => {
            let damaged = [dir.profile().err(), dir.functions().err()];
            record.not_measured.extend(damaged.iter().flatten().map(ToString::to_string));
            let case = cases.iter_mut().find(|case| case.case.id == record.case.id);
            let earlier = |case: &CaseEvidence| {
                case.record.as_ref().is_none_or(|recorded| recorded.attempt <= record.attempt)
            };
            let Some(case) = case else { return Ok(()) };
            let other = if earlier(case) {
                case.dir = Some(dir);
                case.record.replace(record)
            } else {
                Some(record)
            };
            let other =
                other.map(|CaseRecord { attempt, outcome, .. }| Earlier { attempt, outcome });
            case.earlier.extend(other);
            case.earlier.sort_by_key(|earlier| earlier.attempt);
            Ok(())
        }
        Err(error @ RecordError::Newer { .. }) => Err(error),
        Err(error) => {
            let name = dir.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let case = cases.iter_mut().filter(|case| name.starts_with(&case.case.id));
            if let Some(case) = case.max_by_key(|case| case.case.id.len()) {
                case.damaged = Some(error.to_string());
            }
            Ok(())
        }
    }
}

/// `killed (9)`, `does not fit`.
pub(crate) fn outcome_words(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Killed { signal, .. } => format!("killed ({signal})"),
        outcome => outcome.as_str().to_owned(),
    }
}

impl CaseEvidence {
    fn from_plan(case: &Case) -> Self {
        Self {
            case: case.clone(),
            record: None,
            dir: None,
            damaged: None,
            earlier: Vec::new(),
            without_waits: BTreeSet::new(),
        }
    }

    /// The phases whose rates leave out waits for a CPU.
    pub(crate) fn phases_without_waits(&self) -> impl Iterator<Item = &str> {
        self.without_waits.iter().map(String::as_str)
    }

    /// Its directory; none without a record.
    pub fn dir(&self) -> Option<&CaseDir> {
        self.dir.as_ref()
    }

    /// Whether it was not run because an earlier run made its state.
    pub fn is_restored(&self) -> bool {
        self.record.as_ref().is_some_and(|record| record.restored.is_some())
    }

    /// Its outcome in tables: `killed (9)`, `does not fit`.
    pub fn outcome(&self) -> String {
        match (&self.record, &self.damaged) {
            (Some(record), _) => outcome_words(&record.outcome),
            (None, Some(_)) => "record damaged".to_owned(),
            (None, None) => "not done yet".to_owned(),
        }
    }

    /// Whether its engine stores nothing: its figures are then the load generator's own.
    pub fn stores_nothing(&self) -> bool {
        self.capabilities().is_some_and(|able| able.stores_nothing)
    }

    /// Whether each record of its load in batches commits by itself.
    pub(crate) fn commits_singly(&self) -> bool {
        let in_batches = |phase: &Phase| match &phase.work {
            Activity::Load(load) => load.batch > 1,
            _ => false,
        };
        let durability = self.case.options.durability;
        self.capabilities().is_some_and(|able| able.commits_singly(durability))
            && self.case.phases.iter().any(in_batches)
    }

    /// Whether a server keeps its data.
    pub(crate) fn is_server(&self) -> bool {
        self.capabilities().is_some_and(|able| able.external_processes)
    }

    pub(crate) fn capabilities(&self) -> Option<&Capabilities> {
        let worker = self.record.as_ref()?.worker.as_ref()?;
        Some(&worker.description.engine.capabilities)
    }

    /// What a power loss does to its completed writes.
    pub(crate) fn power_loss(&self) -> Option<PowerLoss> {
        let worker = self.record.as_ref()?.worker.as_ref()?;
        worker.description.engine.power_loss(&self.case.options)
    }

    /// Whether it is a bare drive: its figures are then the drive's.
    pub fn is_bare_drive(&self) -> bool {
        self.capabilities().is_some_and(|able| able.bare_drive)
    }

    /// Whether all phases ran and every check passed.
    pub fn is_done(&self) -> bool {
        self.record.as_ref().is_some_and(|record| record.outcome == Outcome::Done)
    }

    /// A phase whose figures are shown: a valid load or measured phase.
    pub fn shown_phase(&self, phase: &str) -> Option<&PhaseRecord> {
        self.phase(phase).ok().filter(|phase| ["load", "measure"].contains(&phase.kind.as_str()))
    }

    /// A phase with valid figures, or why they are not valid. A case that was killed or did not fit
    /// has valid phases before that. A case that failed (an engine that lost data) has none. A load
    /// is valid only where it loaded and verified everything.
    pub fn phase(&self, name: &str) -> Result<&PhaseRecord, Why> {
        let outcome = || Why::from(self.outcome());
        let record = self.record.as_ref().ok_or_else(outcome)?;
        if matches!(record.outcome, Outcome::Failed { .. }) {
            return Err(outcome());
        }
        let phase = record.phases.iter().find(|phase| phase.name == name).ok_or_else(outcome)?;
        if phase.stopped {
            let why = format!("{}: phase {name} was ended early", self.outcome());
            return Err(why.into());
        }
        let (loaded, planned) = (Spent::from_phase(phase).items(), self.case.loaded_items(name));
        if phase.kind == "load" && loaded != planned {
            let outcome = self.outcome();
            return Err(format!("{outcome}: {loaded} of {planned} records were loaded").into());
        }
        if phase.kind == "load" && !self.load_is_kept(name) {
            let why = format!("{}: the load was not verified", self.outcome());
            return Err(why.into());
        }
        Ok(phase)
    }

    /// Whether the load settled and was verified, as planned: the case is done, or ended only after
    /// the phases that belong to the load.
    fn load_is_kept(&self, load: &str) -> bool {
        let Some(record) = self.record.as_ref().filter(|_| !self.is_done()) else { return true };
        let was_recorded = |name: &str| record.phases.iter().any(|phase| phase.name == name);
        let mut after = self.case.phases.iter().skip_while(|phase| phase.name != load).skip(1);
        let next = after.find(|phase| {
            !matches!(phase.work, Activity::Settle { .. } | Activity::Verify { .. })
                || !was_recorded(&phase.name)
        });
        next.is_some_and(|phase| {
            !matches!(phase.work, Activity::Settle { .. } | Activity::Verify { .. })
        })
    }

    /// All samples, merged over slices.
    pub fn latencies(&self) -> Result<Latencies, RecordError> {
        let mut merged = Latencies::new();
        let Some(dir) = &self.dir else { return Ok(merged) };
        let mut pages = 0;
        for interval in dir.latency()? {
            let interval = interval?;
            let tag = (interval.phase, interval.role, interval.op, interval.kind);
            let all: &mut Samples = merged.entry(tag).or_default();
            let before = all.pages();
            all.add_all(interval.counts);
            pages += all.pages() - before;
            self.refuse_too_many(pages)?;
        }
        Ok(merged)
    }

    /// Refuses a record whose samples take too much memory.
    pub fn refuse_too_many(&self, pages: usize) -> Result<(), RecordError> {
        let Some(dir) = self.dir.as_ref().filter(|_| pages > SAMPLES_MAX) else {
            return Ok(());
        };
        Err(RecordError::Malformed {
            path: dir.path.join("latency.hlog"),
            message: "expected at most 512 MiB of times for this case's trials, found more: \
                      it has more kinds of times than any run of kvdyno"
                .to_owned(),
        })
    }

    /// How many slices each phase has.
    pub fn slices(&self) -> Result<BTreeMap<String, u64>, RecordError> {
        let mut slices = BTreeMap::new();
        for slice in self.series()? {
            *slices.entry(slice?.phase).or_insert(0) += 1;
        }
        Ok(slices)
    }

    /// The slices of all phases, in order, one at a time.
    pub fn series(&self) -> Result<impl Iterator<Item = Result<Slice, RecordError>>, RecordError> {
        Ok(self.dir.as_ref().map(CaseDir::series).transpose()?.into_iter().flatten())
    }

    /// The engine's reports of write stalls, in order, without its jobs.
    pub fn stalls(&self) -> Result<Vec<EngineEvent>, RecordError> {
        let events = self.dir.as_ref().map(CaseDir::events).transpose()?;
        let stall = |event: &Result<EngineEvent, _>| {
            event.as_ref().map_or(true, |event| event.kind == EventKind::Stall)
        };
        events.into_iter().flatten().filter(stall).collect()
    }

    /// The engine's own counters around each phase; none without a file of them.
    pub fn counters(&self) -> Result<CounterFile, RecordError> {
        self.dir.as_ref().map_or_else(|| Ok(CounterFile::default()), CaseDir::counters)
    }

    /// The functions in which it was sampled; none without a readable file. A damaged file is
    /// listed among what was not measured.
    pub(crate) fn profile(&self) -> Option<ProfileFile> {
        self.dir()?.profile().ok().flatten()
    }

    /// Its instructions by function; none without a readable file.
    pub(crate) fn functions(&self) -> Option<FunctionFile> {
        self.dir()?.functions().ok().flatten()
    }
}
