//! One case from nothing to its record: the worker is started inside its limit, told phase by
//! phase to go, accounted for around each, and judged at the end.

use super::memory::Memory;
use super::outcome;
use super::talk::Talk;
use super::volumes::Site;
use super::worker::Worker;
use super::{Bench, Interrupt};
use crate::libraries;
use crate::printer::Progress;
use kvdyno_host::child::Exit;
use kvdyno_host::{Beside, meter, raw};
use kvdyno_record::case::{CaseRecord, Outcome, RamLimit, WorkerIdentity};
use kvdyno_record::engine::Place;
use kvdyno_record::files::{CaseFolder, write_json};
use kvdyno_record::plan::Case;
use kvdyno_record::protocol::Job;
use kvdyno_record::redact::without_secrets;
use std::fs::File;
use std::path::PathBuf;
use std::time::Instant;

/// What a case is run with.
pub(super) struct Setting<'r> {
    pub(super) bench: &'r Bench<'r>,
    pub(super) case: &'r Case,
    pub(super) folder: &'r CaseFolder,
    pub(super) identity: &'r WorkerIdentity,
    pub(super) site: Site,
    /// A directory for what is made for this case alone.
    pub(super) images: PathBuf,
    pub(super) attempt: u32,
    pub(super) database_used_by: Vec<String>,
    pub(super) progress: &'r Progress<'r>,
    pub(super) interrupt: &'r Interrupt,
}

/// Runs a case. What goes wrong with the engine is in the record; `Err` is for what keeps the
/// record itself from being written.
pub(super) fn run(setting: &Setting<'_>, beside: &mut Beside) -> anyhow::Result<CaseRecord> {
    // Those that have ended since the last case did this one no harm.
    beside.others();
    let started = Instant::now();
    let started_unix_ns = meter::unix_ns();
    let log = File::create_new(setting.folder.path.join("log.txt"))?;
    let (memory, mut worker) = match begin(setting, log) {
        Ok(begun) => begun,
        Err(message) => {
            let identity = Some(setting.identity.clone());
            return not_run(setting.case, setting.folder, setting.attempt, identity, message);
        }
    };
    let job = job(setting);
    // A worker that dies before it has read its job is seen at its end.
    let _ = worker.give(&job);
    let mut talk = Talk::new(setting, &memory, started)?;
    talk.run(&mut worker);
    let ending = talk.ending();
    let exit = worker.wait()?;
    let wall_ns = started.elapsed().as_nanos() as u64;
    let mut learned = talk.learned;
    let ram_limit = memory.end(&mut learned.not_measured);
    let record = CaseRecord {
        format: kvdyno_record::FORMAT.to_owned(),
        case: setting.case.clone(),
        attempt: setting.attempt,
        outcome: outcome::judge(setting.case, &learned.phases, &ending, &exit, &ram_limit),
        worker: Some(setting.identity.clone()),
        ram_limit,
        volume: setting.site.volume.clone(),
        beside: beside.others(),
        started_unix_ns,
        wall_ns,
        process: Some(exit.usage),
        opens_ns: learned.opens_ns,
        close_ns: learned.close_ns,
        clock: learned.clock,
        phases: learned.phases,
        database_used_by: setting.database_used_by.clone(),
        database_copy: setting.site.copy.clone(),
        not_measured: learned.not_measured,
    };
    write_json(&setting.folder.path.join("counters.json"), &learned.counters)?;
    file(setting.folder, &record)
}

/// Its memory, and its worker in it; or why there is none.
fn begin<'r>(setting: &Setting<'r>, log: File) -> Result<(Memory<'r>, Worker), String> {
    let identity = setting.identity;
    if let Some(library) = &identity.library {
        libraries::check_unchanged(library).map_err(|changed| changed.to_string())?;
    }
    let memory = Memory::of(setting)?;
    let failed = |error| format!("failed to start {}: {error}", identity.path.display());
    let worker = memory.start(identity, log).map_err(failed)?;
    Ok((memory, worker))
}

fn job(setting: &Setting<'_>) -> Job {
    let case = setting.case;
    Job {
        protocol: kvdyno_record::PROTOCOL,
        case: case.id.clone(),
        place: if raw::is_device(&setting.site.path) {
            Place::Device(setting.site.path.clone())
        } else {
            Place::Directory(setting.site.path.clone())
        },
        options: case.options.clone(),
        shape: case.shape.clone(),
        data: case.data.clone(),
        phases: case.phases.clone(),
        slice_ns: case.slice_ns,
        errors_max: case.errors_max,
        folder: setting.folder.path.clone(),
        trial: case.trial,
    }
}

/// A case that could not be started at all.
pub(super) fn not_run(
    case: &Case,
    folder: &CaseFolder,
    attempt: u32,
    worker: Option<WorkerIdentity>,
    message: String,
) -> anyhow::Result<CaseRecord> {
    let record = CaseRecord {
        format: kvdyno_record::FORMAT.to_owned(),
        case: case.clone(),
        attempt,
        outcome: Outcome::NotRun { message },
        worker,
        ram_limit: RamLimit { requested_bytes: case.ram_limit_bytes, ..RamLimit::default() },
        volume: None,
        beside: Vec::new(),
        started_unix_ns: meter::unix_ns(),
        wall_ns: 0,
        process: None,
        opens_ns: Vec::new(),
        close_ns: None,
        clock: None,
        phases: Vec::new(),
        database_used_by: Vec::new(),
        database_copy: None,
        not_measured: Vec::new(),
    };
    file(folder, &record)
}

/// Writes a record down; what an engine says may hold the address that it was given.
fn file(folder: &CaseFolder, record: &CaseRecord) -> anyhow::Result<CaseRecord> {
    let record = without_secrets(record)?;
    folder.write_record(&record)?;
    Ok(record)
}

/// How a worker process ended, in words.
pub(super) fn exit_words(exit: &Exit) -> String {
    match (exit.code, exit.signal) {
        (_, Some(signal)) => format!("died of signal {signal}"),
        (Some(code), None) => format!("ended with code {code}"),
        (None, None) => "ended".to_owned(),
    }
}
