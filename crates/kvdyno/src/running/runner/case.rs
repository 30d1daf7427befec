//! One case from start to record: starts the worker inside its limit, runs phase after phase with
//! accounting around each, and judges the outcome.

use super::count;
use super::environment::CaseEnvironment;
use super::launcher;
use super::memory::CaseMemory;
use super::outcome::{self, Ending};
use super::profile::{self, ProfileOfCase};
use super::recording;
use super::supervisor::{ServerFailure, Supervisor};
use super::talk::Talk;
use super::turns::{self, OneOfPair};
use super::volume_failure::{blame_volume, find_cause};
use super::worker::Worker;
use crate::running::libraries;
use kvdyno_host::child::ExitStatus;
use kvdyno_host::{ConcurrentRuns, meter};
use kvdyno_profile::Watched;
use kvdyno_record::case::{CaseRecord, CounterFile, Outcome, RamLimit, WorkerIdentity};
use kvdyno_record::engine::Location;
use kvdyno_record::files::{CaseDir, write_json};
use kvdyno_record::graph::Consistency;
use kvdyno_record::plan::Case;
use kvdyno_record::protocol::Job;
use kvdyno_record::redact::without_secrets;
use std::fs::File;
use std::time::Instant;

/// Runs a case without a record. The record contains failures of the engine; `Err` means that the
/// record itself cannot be written.
pub(super) fn run(
    environment: &CaseEnvironment<'_>,
    record: CaseRecord,
    concurrent: &mut ConcurrentRuns,
) -> anyhow::Result<CaseRecord> {
    // Runs that have ended since the last case did not disturb this one.
    concurrent.take_other_pids();
    let begun = begin(environment, record)?;
    run_alone(environment, begun, concurrent)
}

/// Runs two cases side by side, in turns.
pub(super) fn run_pair(
    environments: [&CaseEnvironment<'_>; 2],
    records: [CaseRecord; 2],
    concurrent: &mut ConcurrentRuns,
) -> anyhow::Result<[CaseRecord; 2]> {
    concurrent.take_other_pids();
    let [first, second] = environments;
    let [record, second_record] = records;
    match (begin(first, record)?, begin(second, second_record)?) {
        (Ok((memory, case)), Ok((second_memory, second_case))) => {
            let mut case = case.converse(first, &memory)?;
            let mut second_case = second_case.converse(second, &second_memory)?;
            turns::run([case.as_one_of_pair(second.case), second_case.as_one_of_pair(first.case)]);
            let others = concurrent.take_other_pids();
            let (case, second_case) = (case.end()?, second_case.end()?);
            Ok([
                file_end(first, case, memory, others.clone())?,
                file_end(second, second_case, second_memory, others)?,
            ])
        }
        (case, second_case) => {
            Ok([run_alone(first, case, concurrent)?, run_alone(second, second_case, concurrent)?])
        }
    }
}

fn run_alone<'r>(
    environment: &'r CaseEnvironment<'r>,
    begun: Begun<'r>,
    concurrent: &mut ConcurrentRuns,
) -> anyhow::Result<CaseRecord> {
    let (memory, case) = match begun {
        Ok(begun) => begun,
        Err(record) => return file(environment.dir, &record),
    };
    let mut case = case.converse(environment, &memory)?;
    // A worker that dies before it reads its job is handled at its end.
    let _ = case.worker.send(&case.job);
    case.talk.run(&mut case.worker);
    let ended = case.end()?;
    file_end(environment, ended, memory, concurrent.take_other_pids())
}

/// A case with its memory, or the record of one that could not begin.
type Begun<'r> = Result<(CaseMemory<'r>, BegunCase<'r>), CaseRecord>;

/// A case whose processes have been started.
struct BegunCase<'r> {
    record: CaseRecord,
    started: Instant,
    supervisor: Option<Supervisor<'r>>,
    worker: Worker,
}

/// A case in conversation with its worker.
struct Conversation<'r> {
    case: &'r Case,
    talk: Talk<'r>,
    worker: Worker,
    job: Job,
}

/// A case whose worker has ended.
struct EndedCase {
    record: CaseRecord,
    counters: CounterFile,
    ending: Ending,
    exit: ExitStatus,
}

fn begin<'r>(
    environment: &'r CaseEnvironment<'r>,
    mut record: CaseRecord,
) -> anyhow::Result<Begun<'r>> {
    let started = Instant::now();
    record.started_unix_ns = meter::unix_ns();
    let log = File::create_new(environment.dir.path.join("log.txt"))?;
    Ok(match start(environment, record.worker.as_ref(), log) {
        Ok((memory, supervisor, worker)) => {
            Ok((memory, BegunCase { record, started, supervisor, worker }))
        }
        Err(unstarted) => {
            let StartFailure { outcome, ram_limit, not_measured } = *unstarted;
            let wall_ns = started.elapsed().as_nanos() as u64;
            let volume = environment.site.volume.clone();
            Err(CaseRecord { outcome, ram_limit, not_measured, volume, wall_ns, ..record })
        }
    })
}

impl<'r> BegunCase<'r> {
    fn converse(
        self,
        environment: &'r CaseEnvironment<'r>,
        memory: &'r CaseMemory<'r>,
    ) -> anyhow::Result<Conversation<'r>> {
        let Self { mut record, started, mut supervisor, worker } = self;
        let processor = match &mut supervisor {
            Some(supervisor) => supervisor.processor.take(),
            None => count::count_by_processor(environment, &worker),
        };
        let server_watch = supervisor.as_mut().and_then(|supervisor| supervisor.watch.take());
        let worker_watch = profile::watch(environment, &worker, Watched::Worker);
        let watches = [server_watch, worker_watch];
        let profile = ProfileOfCase::new(environment, watches, &mut record.not_measured);
        let job = job(environment, supervisor.as_ref());
        let talk = Talk::new(environment, memory, supervisor, processor, profile, record, started)?;
        Ok(Conversation { case: environment.case, talk, worker, job })
    }
}

impl<'r> Conversation<'r> {
    /// Returns the case as one of a pair; `other` is the other case.
    fn as_one_of_pair(&mut self, other: &Case) -> OneOfPair<'_, 'r> {
        self.talk.take_turns(&other.id);
        let Self { case, talk, worker, job } = self;
        OneOfPair { case, talk, worker, job: Some(job), ended: false }
    }

    fn end(mut self) -> anyhow::Result<EndedCase> {
        let exit = self.worker.wait()?;
        self.talk.end_server();
        let (record, counters, ending) = self.talk.into_result();
        Ok(EndedCase { record, counters, ending, exit })
    }
}

/// Judges a case that has ended, and writes its record.
fn file_end(
    environment: &CaseEnvironment<'_>,
    ended: EndedCase,
    memory: CaseMemory<'_>,
    concurrent_runs: Vec<u32>,
) -> anyhow::Result<CaseRecord> {
    let EndedCase { mut record, counters, mut ending, exit } = ended;
    let log = environment.dir.path.join("log.txt");
    blame_volume(environment, &exit, &mut ending);
    ending.launcher = environment.case.crew.as_ref().and_then(|_| launcher::last_words(&log));
    if environment.case.is_counted() {
        count::move_counts(environment.dir, &mut record.phases)?;
    }
    record.ram_limit = memory.end(&mut record.not_measured);
    record.not_measured.extend(consistency_caveat(environment.case, record.worker.as_ref()));
    record.outcome = outcome::judge(
        environment.case,
        record.worker.as_ref(),
        &record.phases,
        &ending,
        &exit,
        &record.ram_limit,
    );
    let record = CaseRecord {
        volume: environment.site.volume.clone(),
        concurrent_runs,
        process: Some(exit.usage),
        database_used_by: environment.database_used_by.clone(),
        database_copy: environment.site.copy.clone(),
        ..record
    };
    write_json(&environment.dir.path.join("counters.json"), &counters)?;
    file(environment.dir, &record)
}

/// The outcome of a case without any measurement.
struct StartFailure {
    outcome: Outcome,
    ram_limit: RamLimit,
    not_measured: Vec<String>,
}

impl From<Outcome> for StartFailure {
    fn from(outcome: Outcome) -> Self {
        Self { outcome, ram_limit: RamLimit::default(), not_measured: Vec::new() }
    }
}

/// Creates the case's memory, and starts its server and its worker. The memory contains the server,
/// or else the worker. `Err`: the outcome of a case that did not start.
fn start<'r>(
    environment: &'r CaseEnvironment<'r>,
    worker: Option<&WorkerIdentity>,
    log: File,
) -> Result<(CaseMemory<'r>, Option<Supervisor<'r>>, Worker), Box<StartFailure>> {
    let not_run = |message| Box::new(StartFailure::from(Outcome::NotRun { message }));
    let worker = worker.ok_or_else(|| not_run("it has no worker".to_owned()))?;
    if let Some(library) = &worker.library {
        libraries::check_unchanged(library).map_err(|changed| not_run(changed.message))?;
    }
    let memory = CaseMemory::create(environment).map_err(not_run)?;
    let failed = |error| not_run(format!("failed to start {}: {error}", worker.path.display()));
    let supervisor = match Supervisor::start(environment, &memory, worker) {
        Ok(supervisor) => supervisor,
        Err(mut failure) => {
            let ServerFailure { class, message, .. } = &failure;
            if let Some((class, message)) = find_cause(environment, *class, message) {
                failure = ServerFailure { class, message, ..failure };
            }
            let mut not_measured = Vec::new();
            let ram_limit = memory.end(&mut not_measured);
            let outcome =
                outcome::from_start_failure(environment.case, worker, failure, &ram_limit);
            return Err(Box::new(StartFailure { outcome, ram_limit, not_measured }));
        }
    };
    // The client of a server must not use the server's RAM.
    let group = memory.group().filter(|_| supervisor.is_none());
    let worker = match (&environment.case.crew, &supervisor) {
        (Some(crew), _) => Worker::start_crew(crew, worker, &environment.dir.path, group, log),
        _ if environment.case.is_counted() => {
            Worker::start_counted(worker, &environment.dir.path, group, log)
        }
        (None, Some(_)) => Worker::start(worker, "run", None, log),
        (None, None) => memory.start(worker, "run", log),
    };
    Ok((memory, supervisor, worker.map_err(failed)?))
}

fn job(environment: &CaseEnvironment<'_>, supervisor: Option<&Supervisor<'_>>) -> Job {
    let case = environment.case;
    let location = match supervisor {
        Some(supervisor) => Location::Server(supervisor.address()),
        None => environment.site.location(),
    };
    Job {
        protocol: kvdyno_record::PROTOCOL,
        case: case.id.clone(),
        location,
        options: case.options.clone(),
        shape: case.shape.clone(),
        data: case.data.clone(),
        phases: case.phases.clone(),
        phases_before: environment.phases_before.clone(),
        slice_ns: case.slice_ns,
        errors_max: case.errors_max,
        dir: environment.dir.path.clone(),
        trial: case.trial,
        crew: None,
        recordings: recording::list_recordings(environment),
    }
}

/// The record of a case before any result.
pub(crate) fn blank(case: &Case, attempt: u32, worker: Option<WorkerIdentity>) -> CaseRecord {
    CaseRecord {
        format: kvdyno_record::FORMAT.to_owned(),
        case: case.clone(),
        attempt,
        outcome: Outcome::NotRun { message: String::new() },
        worker,
        server: None,
        ram_limit: RamLimit { requested_bytes: case.ram_limit_bytes, ..RamLimit::default() },
        volume: None,
        concurrent_runs: Vec::new(),
        started_unix_ns: meter::unix_ns(),
        wall_ns: 0,
        process: None,
        opens_ns: Vec::new(),
        close_ns: None,
        clock: None,
        phases: Vec::new(),
        database_used_by: Vec::new(),
        database_copy: None,
        restored: None,
        not_measured: Vec::new(),
    }
}

/// Describes how a link and its count stay consistent, if no transaction ensures it.
fn consistency_caveat(case: &Case, worker: Option<&WorkerIdentity>) -> Option<String> {
    let consistency = case.data.graph.as_ref()?.consistency;
    let engine = &worker?.description.engine;
    match consistency {
        Consistency::None => Some(format!(
            "{}: nothing keeps a link and its count together (consistency = \"none\")",
            case.label
        )),
        Consistency::TwoPhase => Some(format!(
            "{}: a link is written before its count, with a record of both until that is done \
             (consistency = \"two_phase\")",
            case.label
        )),
        Consistency::Transaction if !engine.has_atomic_link_counts(&case.options) => Some(format!(
            "{}: no transactions: a link and its count are one batch under a latch of the load \
             generator",
            case.label
        )),
        Consistency::Transaction => None,
    }
}

/// Writes a record without secrets: text from an engine may contain the URL that it was given.
pub(super) fn file(dir: &CaseDir, record: &CaseRecord) -> anyhow::Result<CaseRecord> {
    let record = without_secrets(record)?;
    dir.write_record(&record)?;
    Ok(record)
}
