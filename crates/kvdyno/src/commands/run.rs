//! `kvdyno run`: a suite from its text to its tables.

use super::finish::{self, AtWork, Shown};
use super::prepare::{Prepared, check_space, check_threads, prepare, refused, tell};
use super::{plan, runs};
use crate::cli::{PlanArgs, RunArgs};
use crate::exit::Complaint;
use crate::machine;
use crate::printer::Printer;
use crate::runner::{
    Databases, Ended, Interrupt, TierError, Tiers, VolumeError, Volumes, check_tiers,
    check_volumes, harness_ns_per_op,
};
use crate::steps::passed;
use anyhow::Context as _;
use kvdyno_host::{Claim, Place, Root, Volume, evidence, hiccups, meter, raw};
use kvdyno_record::blockio::Watch;
use kvdyno_record::case::WorkerIdentity;
use kvdyno_record::exit::Exit;
use kvdyno_record::files::{RunFolder, write_atomic};
use kvdyno_record::plan::Plan;
use kvdyno_record::redact::{redact, without_secrets};
use kvdyno_record::run::RunRecord;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Runs a suite.
pub fn run(args: &RunArgs, printer: &Printer) -> anyhow::Result<Exit> {
    if args.plan {
        return plan::run(&PlanArgs { suite: args.suite.clone(), json: args.json }, printer);
    }
    let mut prepared = prepare(&args.suite, &args.runs.runs, &Root::system())?;
    prepared.given_up.clone_from(&args.destroy_data_on);
    prepared.named.clone_from(&args.named);
    let (folder, ended) = keep(&prepared, &args.runs.runs, args.io.watch(), printer)?;
    let shown = Shown { json: args.json, view: args.view.clone() };
    finish::show(&folder, ended, &shown, printer)
}

/// Runs what is prepared into a new folder below `runs`, as far as it comes.
pub(super) fn keep(
    prepared: &Prepared,
    runs: &Path,
    block_io: Watch,
    printer: &Printer,
) -> anyhow::Result<(RunFolder, Ended)> {
    check(prepared)?;
    tell(prepared, |text| printer.note(text), |text| printer.warning(text));
    let work = start(prepared, runs, block_io, printer)?;
    let folder = work.folder.clone();
    // The plan as it is: the filed one has its secrets struck out.
    let ended = work.run(&prepared.plan, printer)?;
    Ok((folder, ended))
}

/// Takes the place, makes the run's folder below `runs`, and files what is known beforehand.
pub(super) fn start(
    prepared: &Prepared,
    runs: &Path,
    block_io: Watch,
    printer: &Printer,
) -> anyhow::Result<AtWork> {
    let root = Root::system();
    check(prepared)?;
    let given_up = &prepared.given_up;
    let id = run_id(&prepared.plan.suite);
    let path = runs.join(&id);
    let place = prepared.place.clone().unwrap_or_else(|| path.join("volume"));
    let images = if raw::is_device(&place) { runs } else { &place };
    let tiers = Tiers::take(&root, &prepared.plan, images, given_up);
    let tiers = tiers.map_err(|error| no_tier(&error))?;
    let interrupt = Interrupt::listen()?;
    let first_record = record(prepared, &id, &place, &root, block_io);
    // A place that cannot be had is refused before a run is begun.
    let (folder, alone, claim) = if raw::is_device(&place) {
        let claim = Claim::device(&root, &place, &prepared.consent, None).map_err(|e| refused(&e))?;
        let (folder, alone) = create(&path, runs, prepared, &first_record)?;
        (folder, alone, claim)
    } else {
        let needed_bytes = prepared.plan.estimate.space_bytes;
        let place =
            Place::examine(&root, &place, needed_bytes, None).map_err(|error| refused(&error))?;
        let (folder, alone) = create(&path, runs, prepared, &first_record)?;
        let claim = place.claim(&id).map_err(|error| {
            give_up(&folder);
            refused(&error)
        })?;
        (folder, alone, claim)
    };
    let volumes = Volumes::take(&root, claim, &prepared.plan, &folder.path, &id, given_up)
        .map_err(|error| {
            give_up(&folder);
            no_volume(&error)
        })?;
    volumes.warnings().for_each(|warning| printer.warning(warning));
    passed("claimed");
    let mut run = RunRecord {
        place: volumes.place().display().to_string(),
        host_before: machine::read(&root, volumes.place()),
        ..first_record
    };
    folder.write_run(&run)?;
    look_first(&folder, &mut run, &prepared.plan, prepared.workers.plain("null"), &root, printer)?;
    printer.note(&format!("run {id} in {}", folder.path.display()));
    let (workers, databases) = (prepared.workers.clone(), Databases::default());
    Ok(AtWork { folder, tiers, volumes, workers, interrupt, alone, databases })
}

/// Refuses what cannot be done here, before anything is touched.
pub(super) fn check(prepared: &Prepared) -> anyhow::Result<()> {
    check_space(prepared)?;
    check_threads(&Root::system(), &prepared.plan)?;
    check_volumes(&prepared.plan).map_err(|error| no_volume(&error))?;
    check_tiers(&Root::system(), &prepared.plan).map_err(|error| no_tier(&error))?;
    Ok(())
}

/// Volumes are named by the user, as places are.
pub(super) fn no_volume(error: &VolumeError) -> Complaint {
    Complaint::usage(error.to_string())
}

/// So are memory tiers.
pub(super) fn no_tier(error: &TierError) -> Complaint {
    Complaint::usage(error.to_string())
}

/// `2026-11-20T10-15-02Z_quick_7f3a`: sorts by time, and two at the same second differ.
pub(super) fn run_id(suite: &str) -> String {
    let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H-%M-%SZ");
    let salt = ((meter::unix_ns() / 1_000) ^ u64::from(std::process::id())) & 0xffff;
    format!("{now}_{suite}_{salt:04x}")
}

/// Makes a run's folder and locks it. It comes to be under its name with all that `resume` needs:
/// however early the program is killed, it leaves a run or nothing that anybody sees.
fn create(
    path: &Path,
    runs: &Path,
    prepared: &Prepared,
    record: &RunRecord,
) -> anyhow::Result<(RunFolder, File)> {
    std::fs::create_dir_all(runs)
        .with_context(|| format!("failed to make the folder of runs {}", runs.display()))?;
    sweep(runs);
    // Workers are given absolute paths, wherever they are started.
    let path: PathBuf = std::path::absolute(path)?;
    let hidden = path.with_file_name(format!(".{}", record.id));
    let folder = RunFolder::create(hidden).context("failed to make the run's folder")?;
    passed("folder");
    let filed = file(&folder, &path, prepared, record);
    filed.inspect_err(|_| give_up(&folder))
}

fn file(
    folder: &RunFolder,
    path: &Path,
    prepared: &Prepared,
    record: &RunRecord,
) -> anyhow::Result<(RunFolder, File)> {
    let alone = runs::take(folder)?;
    write_atomic(&folder.path.join("suite.toml"), redact(&prepared.text).as_bytes())?;
    folder.write_plan(&without_secrets(&prepared.plan)?)?;
    folder.write_run(record)?;
    passed("filed");
    std::fs::rename(&folder.path, path)
        .with_context(|| format!("failed to make the run's folder {}", path.display()))?;
    passed("named");
    Ok((RunFolder::open(path.to_owned())?, alone))
}

/// Takes away what a program that was killed while it made a run's folder left of it.
fn sweep(runs: &Path) {
    for entry in std::fs::read_dir(runs).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let ours = name.starts_with(".2") && name.contains("Z_");
        let folder = RunFolder { path: entry.path() };
        if ours && folder.host().is_dir() && !runs::is_at_work(&folder) {
            let _ = std::fs::remove_dir_all(&folder.path);
        }
    }
}

/// Takes back a folder that holds nothing but what [`create`] put into it.
fn give_up(folder: &RunFolder) {
    let _ = std::fs::remove_dir_all(&folder.path);
}

/// What is known of a run before it begins.
fn record(prepared: &Prepared, id: &str, place: &Path, root: &Root, block_io: Watch) -> RunRecord {
    RunRecord {
        format: kvdyno_record::FORMAT.to_owned(),
        id: id.to_owned(),
        suite: prepared.plan.suite.clone(),
        name: prepared.named.name.clone(),
        note: prepared.named.note.clone(),
        program: kvdyno_record::VERSION.to_owned(),
        command: std::env::args().map(|word| redact(&word)).collect(),
        started_unix_ns: meter::unix_ns(),
        ended_unix_ns: None,
        resumed_unix_ns: Vec::new(),
        place: std::path::absolute(place)
            .unwrap_or_else(|_| place.to_owned())
            .display()
            .to_string(),
        host_before: machine::read(root, place),
        host_after: None,
        harness_ns_per_op: None,
        block_io,
        hiccups: None,
    }
}

/// Files what the idle machine is like: host, harness, hiccups. Once, before the first case.
pub(super) fn look_first(
    folder: &RunFolder,
    run: &mut RunRecord,
    plan: &Plan,
    null: Option<&WorkerIdentity>,
    root: &Root,
    printer: &Printer,
) -> anyhow::Result<()> {
    let (before, harness) = (folder.host().join("before"), folder.host().join("harness"));
    // What a program that was killed here had begun.
    for begun in [&before, &harness] {
        let _ = std::fs::remove_dir_all(begun);
    }
    let volume = Volume::at(root, Path::new(&run.place)).ok();
    evidence::save(root, volume.as_ref(), &before)?;
    passed("evidence");
    let measured = null.map(|null| harness_ns_per_op(null, &harness)).transpose();
    run.harness_ns_per_op = measured.unwrap_or_else(|error| {
        printer.warning(&format!("failed to measure what the harness itself costs: {error:#}"));
        None
    });
    passed("harness");
    let length = hiccups::length(plan.estimate.wall_ns);
    let hiccups = hiccups::listen(length).map_err(|error| {
        printer.warning(&format!("failed to keep what an idle thread saw: {error}"));
    });
    run.hiccups = hiccups.ok();
    folder.write_run(run)?;
    passed("looked");
    Ok(())
}
