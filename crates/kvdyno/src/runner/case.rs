//! One case from nothing to its record: the worker is started inside its limit, told phase by
//! phase to go, accounted for around each, and judged at the end.

use super::RunEnvironment;
use super::memory::Memory;
use super::outcome;
use super::talk::Talk;
use super::volumes::Site;
use super::worker::Worker;
use crate::libraries;
use crate::printer::Progress;
use kvdyno_host::{ConcurrentRuns, meter, raw};
use kvdyno_record::case::{CaseRecord, Outcome, RamLimit, WorkerIdentity};
use kvdyno_record::engine::Place;
use kvdyno_record::files::{CaseFolder, write_json};
use kvdyno_record::plan::Case;
use kvdyno_record::protocol::Job;
use kvdyno_record::redact::without_secrets;
use std::fs::File;
use std::time::Instant;

/// What a case is run with.
pub(super) struct Setting<'r> {
    pub(super) env: &'r RunEnvironment,
    pub(super) case: &'r Case,
    pub(super) folder: &'r CaseFolder,
    pub(super) site: Site,
    pub(super) database_used_by: Vec<String>,
    pub(super) progress: &'r Progress<'r>,
}

/// Runs a case, of which `record` says nothing yet. What goes wrong with the engine is in the
/// record; `Err` is for what keeps the record itself from being written.
pub(super) fn run(
    setting: &Setting<'_>,
    mut record: CaseRecord,
    beside: &mut ConcurrentRuns,
) -> anyhow::Result<CaseRecord> {
    // Those that have ended since the last case did this one no harm.
    beside.others();
    let started = Instant::now();
    record.started_unix_ns = meter::unix_ns();
    let log = File::create_new(setting.folder.path.join("log.txt"))?;
    let (memory, mut worker) = match begin(setting, record.worker.as_ref(), log) {
        Ok(begun) => begun,
        Err(message) => {
            return file(
                setting.folder,
                &CaseRecord { outcome: Outcome::NotRun { message }, ..record },
            );
        }
    };
    // A worker that dies before it has read its job is seen at its end.
    let _ = worker.say(&job(setting));
    let mut talk = Talk::new(setting, &memory, record, started)?;
    talk.run(&mut worker);
    let exit = worker.wait()?;
    let wall_ns = started.elapsed().as_nanos() as u64;
    let Talk { mut record, counters, ending, .. } = talk;
    record.ram_limit = memory.end(&mut record.not_measured);
    let (phases, ram_limit) = (&record.phases, &record.ram_limit);
    record.outcome = outcome::judge(setting.case, phases, &ending, &exit, ram_limit);
    let record = CaseRecord {
        volume: setting.site.volume.clone(),
        beside: beside.others(),
        wall_ns,
        process: Some(exit.usage),
        database_used_by: setting.database_used_by.clone(),
        database_copy: setting.site.copy.clone(),
        ..record
    };
    write_json(&setting.folder.path.join("counters.json"), &counters)?;
    file(setting.folder, &record)
}

/// Its memory, and its worker in it; or why there is none.
fn begin<'r>(
    setting: &Setting<'r>,
    worker: Option<&WorkerIdentity>,
    log: File,
) -> Result<(Memory<'r>, Worker), String> {
    let worker = worker.ok_or("it has no worker")?;
    if let Some(library) = &worker.library {
        libraries::check_unchanged(library).map_err(|changed| changed.message)?;
    }
    let memory = Memory::of(setting)?;
    let failed = |error| format!("failed to start {}: {error}", worker.path.display());
    let worker = memory.start(worker, log).map_err(failed)?;
    Ok((memory, worker))
}

fn job(setting: &Setting<'_>) -> Job {
    let (case, path) = (setting.case, setting.site.path.clone());
    Job {
        protocol: kvdyno_record::PROTOCOL,
        case: case.id.clone(),
        place: if raw::is_device(&path) { Place::Device(path) } else { Place::Directory(path) },
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

/// The record of a case of which nothing is known yet but who is to do it.
pub(crate) fn blank(case: &Case, attempt: u32, worker: Option<WorkerIdentity>) -> CaseRecord {
    CaseRecord {
        format: kvdyno_record::FORMAT.to_owned(),
        case: case.clone(),
        attempt,
        outcome: Outcome::NotRun { message: String::new() },
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
    }
}

/// Writes a record down; what an engine says may hold the address that it was given.
pub(super) fn file(folder: &CaseFolder, record: &CaseRecord) -> anyhow::Result<CaseRecord> {
    let record = without_secrets(record)?;
    folder.write_record(&record)?;
    Ok(record)
}
