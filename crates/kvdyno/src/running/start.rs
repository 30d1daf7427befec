//! The start of a run: locks its data directory, creates its record, measures the idle machine.

use super::finish;
use super::machine;
use super::prepare::{CheckedRun, PreparedRun, report_plan};
use super::runner::{
    Ended, Interrupt, RunEnvironment, Tiers, Volumes, images, load_generator_ns_per_op,
};
use crate::cli::{KeepArgs, NamedArgs};
use crate::exit::Complaint;
use crate::printer::Printer;
use crate::records::{begun, runs};
use crate::steps::pass_step;
use anyhow::Context as _;
use kvdyno_host::{DataDirLock, DataDirectory, Root, Storage, evidence, hiccups, meter, raw};
use kvdyno_record::case::WorkerIdentity;
use kvdyno_record::files::{RunDir, write_atomic};
use kvdyno_record::host::Host;
use kvdyno_record::plan::Plan;
use kvdyno_record::redact::{redact, without_secrets};
use kvdyno_record::run::RunRecord;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Runs a prepared suite into a new directory, as far as possible.
pub(crate) fn run_prepared(
    prepared: &PreparedRun,
    keep: &KeepArgs,
    budget: Option<Duration>,
    printer: &Printer,
) -> anyhow::Result<(RunDir, Ended)> {
    let checked = prepared.check()?;
    report_plan(prepared, |text| printer.note(text), printer);
    // The plan itself: the stored one has no secrets.
    finish::run(start(checked, keep, None, printer)?, &prepared.plan, budget, printer)
}

/// Locks the data directory, creates the run's directory, and records what is known in advance.
/// Requests are recorded to `trace`.
pub(crate) fn start(
    prepared: CheckedRun<'_>,
    keep: &KeepArgs,
    trace: Option<PathBuf>,
    printer: &Printer,
) -> anyhow::Result<RunEnvironment> {
    let PreparedRun { plan, destroy_allowed, .. } = &*prepared;
    let (root, runs) = (Root::system(), &keep.runs.runs);
    let id = run_id(&plan.suite);
    let path = runs.join(&id);
    let data_dir = prepared.data_dir.clone().unwrap_or_else(|| path.join("volume"));
    [&path, &data_dir].into_iter().chain(&trace).try_for_each(|path| check_utf_8(path))?;
    let tiers = Tiers::acquire(&root, plan, images(&data_dir, runs), destroy_allowed)?;
    let interrupt = Interrupt::listen()?;
    let mut run = record(&plan.suite, &id, &keep.named, &data_dir, prepared.host.clone());
    run.block_io = keep.io.watch();
    run.states_bytes = keep.states_bytes()?;
    run.trace = trace;
    // A run does not start without its data directory.
    let (dir, lock, claim) = if raw::is_device(&data_dir) {
        let claim = DataDirLock::device(&root, &data_dir, &prepared.consent, None)?;
        let (dir, lock) = create(&path, runs, &prepared, &run)?;
        (dir, lock, claim)
    } else {
        let data_dir = DataDirectory::examine(&root, &data_dir, plan.estimate.space_bytes, None)?;
        let (dir, lock) = create(&path, runs, &prepared, &run)?;
        let claim = DataDirLock::acquire(&data_dir, &id).inspect_err(|_| remove(&dir))?;
        (dir, lock, claim)
    };
    let volumes = Volumes::acquire(&root, claim, plan, &dir.path, &run, destroy_allowed)
        .inspect_err(|_| remove(&dir))?;
    volumes.warnings().for_each(|warning| printer.warning(warning));
    pass_step("claimed");
    run.data_dir = volumes.data_dir().display().to_string();
    run.host_before = machine::read(&root, volumes.data_dir());
    if let Err(error) = begun::add(&dir, &run) {
        printer.warning(&format!("`kvdyno resume` will refuse this run: {error:#}"));
    }
    dir.write_run(&run)?;
    record_idle_machine(
        &dir,
        &mut run,
        plan,
        prepared.workers.embedded_worker("null"),
        &root,
        printer,
    )?;
    printer.note(&format!("run {id} in {}", dir.path.display()));
    let workers = prepared.workers.clone();
    Ok(RunEnvironment::new(dir, lock, &run, tiers, volumes, workers, interrupt))
}

/// Refuses a path that a record, which is text, cannot contain.
fn check_utf_8(path: &Path) -> Result<(), Complaint> {
    match std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).to_str() {
        Some(_) => Ok(()),
        None => Err(Complaint::usage(format!("{}: its name is not UTF-8", path.display()))),
    }
}

/// Makes a run's id, such as `2026-11-20T10-15-02Z_quick_7f3a`: it sorts by time, and two in the
/// same second differ.
pub(crate) fn run_id(suite: &str) -> String {
    let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H-%M-%SZ");
    let salt = ((meter::unix_ns() / 1_000) ^ u64::from(std::process::id())) & 0xffff;
    format!("{now}_{suite}_{salt:04x}")
}

/// Creates a run's directory and locks it. The directory gets its name after everything that
/// `resume` needs is in it: a killed program leaves a complete directory or none.
fn create(
    path: &Path,
    runs: &Path,
    prepared: &PreparedRun,
    record: &RunRecord,
) -> anyhow::Result<(RunDir, File)> {
    std::fs::create_dir_all(runs)
        .with_context(|| format!("failed to create the directory of runs {}", runs.display()))?;
    sweep(runs);
    begun::remove_old();
    // Workers get absolute paths, whatever their own directory.
    let path: PathBuf = std::path::absolute(path)?;
    let hidden = path.with_file_name(format!(".{}", record.id));
    let failed = "failed to create the run's directory";
    let dir = RunDir::create_empty(hidden).context(failed)?;
    let filed = || -> anyhow::Result<(RunDir, File)> {
        // Another program removes directories that have parts and are not locked.
        let lock = runs::lock(&dir)?;
        dir.create_parts().context(failed)?;
        pass_step("directory");
        write_atomic(&dir.path.join("suite.toml"), redact(&prepared.text).as_bytes())?;
        dir.write_run(record)?;
        begun::write_plan(&dir, &without_secrets(&prepared.plan)?)?;
        pass_step("filed");
        std::fs::rename(&dir.path, &path)
            .with_context(|| format!("failed to create the run's directory {}", path.display()))?;
        pass_step("named");
        Ok((RunDir::open(path)?, lock))
    };
    filed().inspect_err(|_| remove(&dir))
}

/// Removes what killed programs left while they created a run's directory: one that has its parts
/// was locked before.
fn sweep(runs: &Path) {
    for entry in std::fs::read_dir(runs).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_hidden_run = name.starts_with(".2") && name.contains("Z_");
        let dir = RunDir { path: entry.path() };
        if is_hidden_run && dir.host().is_dir() && runs::is_unlocked(&dir) {
            remove(&dir);
        }
    }
}

/// Removes a directory that contains only what [`create`] put into it.
fn remove(dir: &RunDir) {
    let _ = std::fs::remove_dir_all(&dir.path);
}

/// The facts about a run that are known in advance.
pub(crate) fn record(
    suite: &str,
    id: &str,
    named: &NamedArgs,
    data_dir: &Path,
    host_before: Host,
) -> RunRecord {
    let data_dir = std::path::absolute(data_dir).unwrap_or_else(|_| data_dir.to_owned());
    RunRecord {
        format: kvdyno_record::FORMAT.to_owned(),
        id: id.to_owned(),
        suite: suite.to_owned(),
        name: named.name.clone(),
        note: named.note.clone(),
        program: kvdyno_record::VERSION.to_owned(),
        command: std::env::args_os().map(|word| redact(&word.to_string_lossy())).collect(),
        started_unix_ns: meter::unix_ns(),
        ended_unix_ns: None,
        resumed_unix_ns: Vec::new(),
        stopped_unix_ns: Vec::new(),
        data_dir: data_dir.display().to_string(),
        host_before,
        host_after: None,
        load_generator_ns_per_op: None,
        block_io: kvdyno_record::blockio::Watch::Off,
        states_bytes: None,
        trace: None,
        hiccups: None,
    }
}

/// Records the idle machine: host, load generator, hiccups. Once, before the first case.
pub(crate) fn record_idle_machine(
    dir: &RunDir,
    run: &mut RunRecord,
    plan: &Plan,
    null: Option<&WorkerIdentity>,
    root: &Root,
    printer: &Printer,
) -> anyhow::Result<()> {
    let (before, alone) = (dir.host().join("before"), dir.host().join("load_generator"));
    // Removes what a program that was killed here left.
    for path in [&before, &alone] {
        let _ = std::fs::remove_dir_all(path);
    }
    let volume = Storage::from_path(root, Path::new(&run.data_dir)).ok();
    evidence::save(root, volume.as_ref(), &before)?;
    pass_step("evidence");
    let measured = null.map(|null| load_generator_ns_per_op(null, &alone)).transpose();
    run.load_generator_ns_per_op = measured.unwrap_or_else(|error| {
        printer
            .warning(&format!("failed to measure the overhead of the load generator: {error:#}"));
        None
    });
    pass_step("load generator");
    let length = hiccups::measuring_time(plan.estimate.wall_ns);
    let hiccups = hiccups::listen(length).map_err(|error| {
        printer.warning(&format!("failed to store the idle thread's interruptions: {error}"));
    });
    run.hiccups = hiccups.ok();
    dir.write_run(run)?;
    pass_step("looked");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_directories_of_killed_programs_are_swept() {
        let runs = tempfile::tempdir().unwrap();
        let hidden = runs.path().join(format!(".{}", run_id("quick")));
        let dir = RunDir::create_empty(hidden).unwrap();
        sweep(runs.path());
        assert!(dir.path.exists(), "its program has not locked it yet");
        let lock = runs::lock(&dir).unwrap();
        dir.create_parts().unwrap();
        sweep(runs.path());
        assert!(dir.path.exists(), "its program is at work");
        lock.unlock().unwrap();
        sweep(runs.path());
        assert!(!dir.path.exists(), "its program was killed");
    }
}
