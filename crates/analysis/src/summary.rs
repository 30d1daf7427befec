//! All figures of a run: what tables, pages, spreadsheets and comparisons are made of.

use super::block_io::{self, PhaseIo};
use super::catalogue as c;
use super::comparable;
use super::comparison;
use super::confidence::{self, Confidence};
use super::copies::{self, Copies};
use super::efficiency;
use super::evidence::{CaseEvidence, Evidence};
use super::explain::{self, Explained};
use super::group::{Group, together, unique};
use super::hiccups::HiccupRow;
use super::history::{self, History};
use crate::findings::{self, Finding, Severity};
use crate::search;
use kvdyno_record::engine::{Durability, OptionKind, Value};
use kvdyno_record::exit::Exit;
use kvdyno_record::files::{RecordError, RunFolder};
use kvdyno_record::host::Host;
use kvdyno_record::library::Library;
use kvdyno_record::tier::TierRecord;
use kvdyno_record::units;
use kvdyno_record::volume::VolumeRecord;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The version of how figures are computed from a record. It changes whenever an old record would
/// give another figure than before, and stands in every export.
pub const METHOD_VERSION: u32 = 1;

/// All figures of a run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Summary {
    /// [`METHOD_VERSION`].
    pub method_version: u32,
    /// The run.
    pub run: RunInfo,
    /// The machine before the run.
    pub host: Host,
    /// The machine after it.
    pub host_after: Option<Host>,
    /// What was tested, in the order of the suite.
    pub engines: Vec<EngineInfo>,
    /// The harness's own cost on this machine; null: not measured.
    pub harness: Option<Harness>,
    /// What the machine did to an idle thread before the run; null: not listened to.
    pub hiccups: Option<HiccupRow>,
    /// What its search found; null: it is none.
    pub search: Option<search::Answer>,
    /// Cases over their trials, in the order of the suite.
    pub groups: Vec<Group>,
    /// The volumes that the suite names, each as it was made first.
    pub volumes: Vec<VolumeRecord>,
    /// The memory tiers that the suite names, each as a case had it first.
    pub tiers: Vec<TierRecord>,
    /// Copies of databases that cases worked on.
    pub copies: Vec<Copies>,
    /// Block I/O by group and phase, where it was watched.
    pub block_io: Vec<PhaseIo>,
    /// Where the time of each load, and of each role of each measured phase, went.
    pub explained: Vec<Explained>,
    /// How far to trust the figures.
    pub confidence: Confidence,
    /// Engines over their versions, where the suite has several of one.
    pub history: Vec<History>,
    /// What could not be enforced or measured, each sentence once.
    pub not_measured: Vec<String>,
    /// What to bear in mind, the worst first.
    pub findings: Vec<Finding>,
    /// How a program that shows this ends.
    #[serde(skip)]
    pub(super) verdict: Exit,
}

/// The run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RunInfo {
    /// Its folder's name.
    pub id: String,
    /// The suite.
    pub suite: String,
    /// What its user calls it; null: nothing.
    pub name: Option<String>,
    /// What its user says of it; null: nothing.
    pub note: Option<String>,
    /// One line about the suite.
    pub title: String,
    /// Version of the program that ran it.
    pub program: String,
    /// The record's format.
    pub format: String,
    /// The command line.
    pub command: Vec<String>,
    /// When it began.
    pub started_unix_ns: u64,
    /// When it ended; null: it has not.
    pub ended_unix_ns: Option<u64>,
    /// Where the databases lay.
    pub place: String,
    /// Decisions taken from the host, in words.
    pub sized: Vec<String>,
    /// What was expected not to work out, before it began, in words.
    pub warnings: Vec<String>,
    /// Everything planned was done.
    pub complete: bool,
    /// Cases in the plan.
    pub cases_planned: usize,
    /// Cases that left a record.
    pub cases_recorded: usize,
    /// Cases that ran to their end, every check passed.
    pub cases_done: usize,
}

/// An engine under test.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct EngineInfo {
    /// What tables call it.
    pub label: String,
    /// The worker's engine.
    pub engine: String,
    /// What "done" meant for a write.
    pub durability: Durability,
    /// Options as resolved.
    pub options: BTreeMap<String, Value>,
    /// Options that differ from the engine's defaults.
    pub changed: Vec<String>,
    /// Who did the work; null where no worker was found.
    pub worker: Option<WorkerInfo>,
}

/// The worker of an engine.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WorkerInfo {
    /// The engine's name as people use it.
    pub title: String,
    /// Its version.
    pub version: String,
    /// What else decides its speed.
    pub build: BTreeMap<String, String>,
    /// The settings behind the durability class, quoted.
    pub durability_means: Option<String>,
    /// The program.
    pub path: PathBuf,
    /// Its checksum.
    pub sha256: String,
    /// What it loaded the engine from; null: the engine is part of it.
    pub library: Option<Library>,
    /// Stores nothing: its figures are the harness's own.
    pub measures_the_harness: bool,
    /// A bare drive: its figures are the drive's.
    pub bare_drive: bool,
}

/// The harness's own cost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Harness {
    /// A thread's time per operation on an engine that does nothing.
    pub ns_per_op: f64,
    /// Threads it was measured with.
    pub threads: u32,
    /// Taken before the run, with nothing else at work; else from a case of the null engine, whose
    /// other roles were at work at the same time.
    pub alone: bool,
    /// The longest operation of the role it stands for, in the null engine's cases: what the
    /// machine alone does to a tail.
    pub max_ns: Option<f64>,
}

impl Summary {
    /// Reads a run and computes all its figures.
    pub fn read(folder: &RunFolder) -> Result<Self, RecordError> {
        Self::of(&Evidence::read(folder)?)
    }

    /// Computes all figures of a record.
    pub fn of(evidence: &Evidence) -> Result<Self, RecordError> {
        let host = &evidence.run.host_before;
        let mut groups = Vec::new();
        for cases in by_key(&evidence.cases) {
            groups.push(Group::read(&cases, host)?);
        }
        comparison::compare(&mut groups);
        comparable::mark(&mut groups);
        efficiency::judge(&mut groups);
        let harness = harness(evidence, &groups);
        let hiccups = evidence.run.hiccups.as_ref().and_then(HiccupRow::of);
        let block_io = block_io::read(evidence, &groups)?;
        let explained = explain::read(evidence, &groups, &block_io)?;
        efficiency::limit(&mut groups, &explained);
        let engines = engines(&evidence.cases);
        let findings = findings::judge(evidence, &groups, harness.as_ref(), &explained)?;
        let confidence = confidence::judge(&groups, &findings, &engines);
        let mut summary = Self {
            history: Vec::new(),
            method_version: METHOD_VERSION,
            run: run_info(evidence),
            host: host.clone(),
            host_after: evidence.run.host_after.clone(),
            engines,
            harness,
            volumes: volumes(evidence),
            tiers: tiers(evidence),
            copies: copies::of(evidence),
            block_io,
            explained,
            hiccups,
            search: search::answer(evidence)?,
            not_measured: not_measured(&groups),
            verdict: verdict_of(evidence, &findings),
            confidence,
            groups,
            findings,
        };
        summary.history = history::of(evidence, &summary);
        Ok(summary)
    }
}

/// As people call a group's engine, where the suite gave it no label of its own.
pub(super) fn title<'s>(engines: &'s [EngineInfo], group: &'s Group) -> &'s str {
    let own = |info: &&EngineInfo| info.engine == group.engine && info.worker.is_some();
    let info = engines.iter().find(own).filter(|_| group.label == group.engine);
    let title = info.and_then(|info| info.worker.as_ref()).map(|worker| worker.title.as_str());
    title.unwrap_or(&group.label)
}

/// How a program that shows `summary` ends: 4 where a finding makes figures invalid, else 3 where
/// an engine failed. One that does not fit its RAM limit or its time has not failed: that is a
/// result.
pub fn verdict(summary: &Summary) -> Exit {
    summary.verdict
}

fn verdict_of(evidence: &Evidence, findings: &[Finding]) -> Exit {
    if evidence.engine_failed() {
        Exit::EngineFailed
    } else if findings.iter().any(|finding| finding.severity == Severity::Invalid) {
        Exit::Invalid
    } else {
        Exit::Ok
    }
}

/// Each volume as it was made first; made again it is alike but for its device's number.
fn volumes(evidence: &Evidence) -> Vec<VolumeRecord> {
    let made = evidence.recorded().filter_map(|(_, record)| record.volume.as_ref());
    let volumes = together(made, |a, b| a.name == b.name);
    volumes.into_iter().map(|same| same[0].clone()).collect()
}

/// Each memory tier as it was first, and what of it was not in force in any case.
fn tiers(evidence: &Evidence) -> Vec<TierRecord> {
    let mut tiers: Vec<TierRecord> = Vec::new();
    for tier in evidence.recorded().filter_map(|(_, record)| record.ram_limit.tier.as_ref()) {
        match tiers.iter_mut().find(|known| known.name == tier.name) {
            Some(known) => {
                let more = tier.not_enforced.iter().filter(|w| !known.not_enforced.contains(w));
                let more: Vec<String> = more.cloned().collect();
                known.not_enforced.extend(more);
            }
            None => tiers.push(tier.clone()),
        }
    }
    tiers
}

/// Cases with equal keys, in the order of the suite.
fn by_key(cases: &[CaseEvidence]) -> Vec<Vec<&CaseEvidence>> {
    let mut groups = together(cases, |a, b| a.case.key == b.case.key);
    groups.sort_by_key(|group| group[0].case.listed);
    groups
}

fn run_info(evidence: &Evidence) -> RunInfo {
    let (run, plan) = (&evidence.run, &evidence.plan);
    RunInfo {
        id: run.id.clone(),
        suite: run.suite.clone(),
        name: run.name.clone(),
        note: run.note.clone(),
        title: plan.title.clone(),
        program: run.program.clone(),
        format: run.format.clone(),
        command: run.command.clone(),
        started_unix_ns: run.started_unix_ns,
        ended_unix_ns: run.ended_unix_ns,
        place: run.place.clone(),
        sized: plan.sized.clone(),
        warnings: plan.warnings.clone(),
        complete: evidence.complete,
        cases_planned: evidence.cases.len(),
        cases_recorded: evidence.recorded().count(),
        cases_done: evidence.cases.iter().filter(|case| case.is_done()).count(),
    }
}

/// One entry for each label and durability class. A case that left a record speaks for the others.
fn engines(cases: &[CaseEvidence]) -> Vec<EngineInfo> {
    let mut engines: Vec<EngineInfo> = Vec::new();
    let mut cases: Vec<_> = cases.iter().collect();
    cases.sort_by_key(|case| case.case.listed);
    for case in cases {
        let info = engine(case);
        let same = |known: &&mut EngineInfo| {
            (&known.label, known.durability) == (&info.label, info.durability)
        };
        match engines.iter_mut().find(same) {
            Some(known) if known.worker.is_none() => *known = info,
            Some(_) => {}
            None => engines.push(info),
        }
    }
    engines
}

fn engine(case: &CaseEvidence) -> EngineInfo {
    let options = &case.case.options;
    let worker = case.record.as_ref().and_then(|record| record.worker.as_ref());
    let described = worker.map(|worker| &worker.description.engine);
    let spec = |name: &str| described?.options.iter().find(|option| option.name == name);
    let changed = options.values.iter().filter_map(|(name, value)| {
        let spec = spec(name).filter(|spec| spec.default != *value)?;
        Some(match (&spec.kind, value) {
            (OptionKind::Bytes, Value::Integer(bytes)) => {
                format!("{name} = {}", units::bytes_in_words(*bytes))
            }
            _ => format!("{name} = {value}"),
        })
    });
    EngineInfo {
        label: case.case.label.clone(),
        engine: case.case.engine.clone(),
        durability: options.durability,
        options: options.values.clone(),
        changed: changed.collect(),
        worker: worker.map(|worker| {
            let engine = &worker.description.engine;
            WorkerInfo {
                title: engine.title.clone(),
                version: engine.version.clone(),
                build: engine.build.clone(),
                durability_means: engine.capabilities.durability.get(&options.durability).cloned(),
                path: worker.path.clone(),
                sha256: worker.sha256.clone(),
                library: worker.library.clone(),
                measures_the_harness: engine.capabilities.measures_the_harness,
                bare_drive: engine.capabilities.bare_drive,
            }
        }),
    }
}

/// As the run took it beforehand, alone on the machine; else from the null engine's closed loop
/// with the fewest threads, which shares the machine with the case's other roles.
fn harness(evidence: &Evidence, groups: &[Group]) -> Option<Harness> {
    let roles = groups
        .iter()
        .filter(|group| group.measures_the_harness)
        .flat_map(|group| group.runs.iter().flat_map(|run| &run.roles))
        .filter(|role| !role.open_loop);
    let roles: Vec<_> = roles.collect();
    let max_ns =
        roles.iter().filter_map(|role| role.metrics.value(&c::SERVICE_MAX)).reduce(f64::max);
    let role = roles.iter().min_by_key(|role| role.threads);
    if let Some(ns_per_op) = evidence.run.load_generator_ns_per_op {
        return Some(Harness { ns_per_op, threads: 1, alone: true, max_ns });
    }
    let per_s = role?.metrics.value(&c::OPS_PER_S).filter(|per_s| *per_s > 0.0)?;
    let threads = role?.threads;
    let ns_per_op = f64::from(threads) * 1e9 / per_s;
    Some(Harness { ns_per_op, threads, alone: false, max_ns })
}

fn not_measured(groups: &[Group]) -> Vec<String> {
    let trials = groups.iter().flat_map(|group| &group.trials);
    unique(trials.flat_map(|trial| trial.not_measured.iter().cloned()))
}
