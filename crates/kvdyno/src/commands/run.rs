//! `kvdyno run`: a suite from its text to its tables.

use super::finish::{self, Shown};
use super::prepare::{Prepared, check_space, prepare, refused, tell};
use super::runs;
use crate::cli::RunArgs;
use crate::exit::Exit;
use crate::host::{Claim, Place, Root, Volume, evidence, facts, meter};
use crate::printer::Printer;
use crate::redact::{redact, without_secrets};
use crate::runner::{Ended, Interrupt, harness_ns_per_op};
use anyhow::Context as _;
use kvdyno_record::files::{RunFolder, write_atomic};
use kvdyno_record::run::RunRecord;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Runs a suite.
pub fn run(args: &RunArgs, printer: &Printer) -> anyhow::Result<Exit> {
    let prepared = prepare(&args.suite, &args.runs.runs, &Root::system())?;
    let (folder, ended) = keep(&prepared, &args.runs.runs, printer)?;
    finish::show(&folder, ended, &Shown { json: args.json, wide: args.wide }, printer)
}

/// Runs what is prepared into a new folder below `runs`, as far as it comes.
pub(super) fn keep(
    prepared: &Prepared,
    runs: &Path,
    printer: &Printer,
) -> anyhow::Result<(RunFolder, Ended)> {
    let Started { folder, claim, interrupt, alone } = start(prepared, runs, printer)?;
    // The plan as it is: the filed one has its secrets struck out.
    let Prepared { plan, workers, .. } = prepared;
    let ended = finish::run(&folder, plan, claim, workers, &interrupt, printer)?;
    drop(alone);
    Ok((folder, ended))
}

/// A run that has begun and has done nothing yet.
pub(super) struct Started {
    pub(super) folder: RunFolder,
    pub(super) claim: Claim,
    pub(super) interrupt: Interrupt,
    /// Held while it is at work.
    pub(super) alone: File,
}

/// Takes the place and files all that is known beforehand.
pub(super) fn start(
    prepared: &Prepared,
    runs: &Path,
    printer: &Printer,
) -> anyhow::Result<Started> {
    let root = Root::system();
    check_space(prepared)?;
    tell(prepared, |text| printer.note(text), |text| printer.warning(text));
    let interrupt = Interrupt::listen()?;
    let id = run_id(&prepared.plan.suite);
    let path = runs.join(&id);
    let place = prepared.place.clone().unwrap_or_else(|| path.join("volume"));
    // A place that cannot be had is refused before a run is begun.
    let needed_bytes = prepared.plan.estimate.space_bytes;
    let place =
        Place::examine(&root, &place, needed_bytes, None).map_err(|error| refused(&error))?;
    let folder = create(&path, runs)?;
    let alone = runs::take(&folder)?;
    let claim = place.claim(&id).map_err(|error| {
        give_up(&folder);
        refused(&error)
    })?;
    for warning in claim.warnings() {
        printer.warning(warning);
    }
    begin(&folder, prepared, &id, claim.path(), &root, printer)?;
    printer.note(&format!("run {id} in {}", folder.path.display()));
    Ok(Started { folder, claim, interrupt, alone })
}

/// `2026-11-20T10-15-02Z_quick_7f3a`: sorts by time, and two at the same second differ.
fn run_id(suite: &str) -> String {
    let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H-%M-%SZ");
    let salt = ((meter::unix_ns() / 1_000) ^ u64::from(std::process::id())) & 0xffff;
    format!("{now}_{suite}_{salt:04x}")
}

fn create(path: &Path, runs: &Path) -> anyhow::Result<RunFolder> {
    std::fs::create_dir_all(runs)
        .with_context(|| format!("failed to make the folder of runs {}", runs.display()))?;
    // Workers are given absolute paths, wherever they are started.
    let path: PathBuf = std::path::absolute(path)?;
    RunFolder::create(path).context("failed to make the run's folder")
}

/// Takes back a folder that nothing has been put into.
fn give_up(folder: &RunFolder) {
    for path in [folder.path.join("cases"), folder.host(), folder.path.clone()] {
        let _ = std::fs::remove_dir(path);
    }
}

/// Files what is known before the first case: host, suite, plan, and the run itself.
fn begin(
    folder: &RunFolder,
    prepared: &Prepared,
    id: &str,
    place: &Path,
    root: &Root,
    printer: &Printer,
) -> anyhow::Result<()> {
    let volume = Volume::at(root, place).ok();
    evidence::save(root, volume.as_ref(), &folder.host().join("before"))?;
    write_atomic(&folder.path.join("suite.toml"), redact(&prepared.text).as_bytes())?;
    folder.write_plan(&without_secrets(&prepared.plan)?)?;
    let harness = prepared.workers.get("null");
    let harness = harness.map(|null| harness_ns_per_op(null, &folder.host().join("harness")));
    let harness = harness.transpose().unwrap_or_else(|error| {
        printer.warning(&format!("failed to measure what the harness itself costs: {error:#}"));
        None
    });
    folder.write_run(&RunRecord {
        format: kvdyno_record::FORMAT.to_owned(),
        id: id.to_owned(),
        suite: prepared.plan.suite.clone(),
        program: crate::cli::VERSION.to_owned(),
        command: std::env::args().map(|word| redact(&word)).collect(),
        started_unix_ns: meter::unix_ns(),
        ended_unix_ns: None,
        resumed_unix_ns: Vec::new(),
        place: place.display().to_string(),
        host_before: facts::read(root, place),
        host_after: None,
        harness_ns_per_op: harness,
    })?;
    Ok(())
}
