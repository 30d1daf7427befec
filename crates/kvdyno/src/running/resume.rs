//! Starts a run again that was interrupted, or whose workers were killed.

use super::libraries;
use super::machine;
use super::prepare::{add_null, check_load_allowed, check_machine, warn_of_limit};
use super::recorded_plan;
use super::runner::{Interrupt, RunEnvironment, Tiers, Volumes, images};
use super::start::record_idle_machine;
use super::workers::{self, Workers};
use crate::cli::ResumeArgs;
use crate::exit::Complaint;
use crate::printer::Printer;
use crate::records::{begun, runs};
use anyhow::Context as _;
use kvdyno_analysis::figures::evidence::{CaseEvidence, Evidence};
use kvdyno_host::data_directory::leftover_databases;
use kvdyno_host::{DataDirLock, Root, Storage, meter};
use kvdyno_record::files::RunDir;
use kvdyno_record::host::{Drive, Filesystem};
use kvdyno_record::plan::{Estimate, Plan};
use kvdyno_record::run::RunRecord;
use kvdyno_record::units;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Acquires what the rest of the run needs, and announces it.
pub(crate) fn start(
    args: &ResumeArgs,
    printer: &Printer,
) -> anyhow::Result<(RunEnvironment, Plan)> {
    let dir = runs::find(&args.name.run, &args.name.runs.runs)?;
    if dir.is_bundle() {
        let bundle = dir.display_path().display();
        let message = format!("{bundle} is a bundle, which cannot be changed");
        let hint = format!("`kvdyno rerun {bundle}` repeats its run");
        return Err(Complaint::usage(message).hint(hint).into());
    }
    let dir = RunDir::open(std::path::absolute(&dir.path)?)?;
    begun::check(&dir)?;
    let goes_on = args.budget.time()?.is_some();
    check_incomplete(&dir, goes_on)?;
    let altered = dir.changed_since_sealed()?;
    if let Some(file) = altered.first() {
        let run = dir.path.display();
        let message = format!("{run}: {file} has changed since the run ended");
        let hint = format!("`kvdyno check {run}` lists what differs");
        return Err(Complaint::usage(message).hint(hint).into());
    }
    let plan = dir.plan()?;
    recorded_plan::check(&plan)?;
    check_load_allowed(&plan, &args.yes_load)?;
    let root = Root::system();
    check_machine(&root, &plan)?;
    let run = dir.run()?;
    let interrupt = Interrupt::listen()?;
    let data_dir = Path::new(&run.data_dir);
    let storage = Storage::from_path(&root, data_dir)
        .with_context(|| format!("failed to examine the data directory {}", data_dir.display()))?;
    check_storage(&run, &storage.filesystem(), storage.drive(&root).as_ref())?;
    let databases = leftover_databases(data_dir, &run.id);
    let claim = DataDirLock::new(&root, data_dir, &run.id)?;
    let lock = runs::lock(&dir)?;
    // Another program may have ended it meanwhile, or added to it.
    check_incomplete(&dir, goes_on)?;
    let (mut plan, mut run) = (dir.plan()?, dir.run()?);
    args.budget.set_within(&mut plan)?;
    let destroy_allowed = &args.destroy_data_on;
    let tiers = Tiers::acquire(&root, &plan, images(data_dir, &dir.path), destroy_allowed)?;
    let volumes = Volumes::acquire(&root, claim, &plan, &dir.path, &run, destroy_allowed)?;
    let workers = find_workers(&dir, printer)?;
    if dir.is_complete() {
        dir.unseal()?;
    }
    let stopped = run.ended_unix_ns.map_or_else(|| last_reading(&dir, &run), Ok)?;
    run.stopped_unix_ns.push(stopped);
    run.resumed_unix_ns.push(meter::unix_ns());
    run.ended_unix_ns = None;
    args.named.rename(&mut run);
    dir.write_run(&run)?;
    begun::write_plan(&dir, &plan)?;
    if run.hiccups.is_none() && dir.cases()?.is_empty() {
        // The run was killed before it measured the idle machine.
        let mut null = Workers::default();
        add_null(&mut null)?;
        record_idle_machine(&dir, &mut run, &plan, null.embedded_worker("null"), &root, printer)?;
    }
    for line in resume_lines(&Evidence::read(&dir)?, &databases) {
        printer.note(&line);
    }
    warn_of_limit(&plan, &machine::read(&root, volumes.data_dir()), printer);
    Ok((RunEnvironment::new(dir, lock, &run, tiers, volumes, workers, interrupt), plan))
}

/// Returns the last moment that the cases of a killed run recorded since the run last began or went
/// on.
fn last_reading(dir: &RunDir, run: &RunRecord) -> anyhow::Result<u64> {
    let cases = dir.case_records()?;
    let phases = cases.iter().flat_map(|(_, record)| &record.phases);
    let began = run.resumed_unix_ns.last().copied().unwrap_or(run.started_unix_ns);
    Ok(phases.map(|phase| phase.after.at_unix_ns).fold(began, u64::max))
}

/// Refuses another drive than the one on which the run began. Where that drive is not mounted, the
/// data directory would be made on the filesystem above. Names of drives change with a reboot, and
/// a full filesystem may have grown.
fn check_storage(
    run: &RunRecord,
    filesystem: &Filesystem,
    drive: Option<&Drive>,
) -> Result<(), Complaint> {
    let Some(first) = &run.host_before.filesystem else { return Ok(()) };
    let first_drive = run.host_before.drive.as_ref();
    let same_drive = first_drive.zip(drive).is_none_or(|(first, now)| first.model == now.model);
    let same_mount = first.kind == filesystem.kind && first.mount_point == filesystem.mount_point;
    if same_drive && same_mount {
        return Ok(());
    }
    let describe = |filesystem: &Filesystem, drive: Option<&Drive>| {
        let model = drive.and_then(|drive| drive.model.as_ref());
        let model = model.map_or_else(String::new, |model| format!(" ({model})"));
        format!("{} at {}{model}", filesystem.kind, filesystem.mount_point)
    };
    let what = format!(
        "{}: expected the storage on which the run began, {}, found {}",
        run.data_dir,
        describe(first, first_drive),
        describe(filesystem, drive)
    );
    Err(Complaint::usage(what).hint(format!(
        "mount it there (`findmnt` shows what is mounted), or repeat the run here: \
         `kvdyno rerun {}`",
        run.id
    )))
}

/// Refuses a complete run, unless it is to go on within a budget.
fn check_incomplete(dir: &RunDir, goes_on: bool) -> Result<(), Complaint> {
    if !dir.is_complete() || goes_on {
        return Ok(());
    }
    let run = dir.path.display();
    let what = format!("{run} is complete");
    let hint =
        format!("`kvdyno show {run}` shows it; `--budget 10m` adds trials until it is decided");
    Err(Complaint::usage(what).hint(hint))
}

/// The plan of a resumed run, in lines.
fn resume_lines(evidence: &Evidence, left_behind: &[PathBuf]) -> Vec<String> {
    let (pending, planned) = (evidence.unfinished_cases(), evidence.cases.len());
    let retried = pending.iter().filter(|case| case.record.is_some()).count();
    let retried = if retried > 0 { format!(", {retried} of them again") } else { String::new() };
    let mut lines = vec![format!(
        "resuming {}: {} left of {planned}{retried}, about {}",
        evidence.run.id,
        units::pluralize(pending.len(), "case"),
        units::duration(expected_ns(evidence, &pending))
    )];
    lines.extend(pending.iter().filter_map(|case| windows_kept(case)));
    if !left_behind.is_empty() {
        let data_dir = &evidence.run.data_dir;
        let n = left_behind.len();
        let databases = if n == 1 { "1 database".to_owned() } else { format!("{n} databases") };
        lines.push(format!("removed from {data_dir}: {databases} that the killed run left"));
    }
    lines
}

/// Describes the windows of a killed attempt. They stay in the record, but a case is one process:
/// it starts again.
fn windows_kept(case: &CaseEvidence) -> Option<String> {
    let record = case.record.as_ref()?;
    let planned = case.case.phases.iter().filter(|phase| phase.window.is_some());
    let names = planned.map(|phase| phase.name.as_str());
    let is_kept = |name: &&str| record.phases.iter().any(|phase| phase.name == *name);
    let windows: Vec<&str> = names.filter(is_kept).collect();
    let (first, last) = (windows.first()?, windows.last()?);
    let windows = if first == last { (*first).to_owned() } else { format!("{first} to {last}") };
    Some(format!(
        "{} starts again with empty engine caches: windows {windows} of attempt {} stay in the \
         record, and tables show the new attempt",
        record.case.id, record.attempt
    ))
}

/// The time of a plan before any of it is done: the geometric mean of its least and its most.
pub(crate) fn planned_ns(estimate: &Estimate) -> u64 {
    let most = estimate.wall_ns as f64;
    let least = estimate.wall_least_ns.map_or(most, |least| least as f64);
    (least * most).sqrt().round() as u64
}

/// The expected time of pending cases. Each takes the longest time of completed cases with the same
/// key or, without any, its share of the planned time.
pub(crate) fn expected_ns(evidence: &Evidence, pending: &[&CaseEvidence]) -> u64 {
    let share = planned_ns(&evidence.plan.estimate) / evidence.cases.len().max(1) as u64;
    let took = |case: &CaseEvidence| {
        let same_key = |other: &&CaseEvidence| other.is_done() && other.case.key == case.case.key;
        let done = evidence.cases.iter().filter(same_key);
        let took = done.filter_map(|other| Some(other.record.as_ref()?.wall_ns)).max();
        took.unwrap_or(share)
    };
    pending.iter().map(|case| took(case)).fold(0, u64::saturating_add)
}

/// Finds a worker for each engine of the plan. A changed worker is used, with a warning: each case
/// records its own.
fn find_workers(dir: &RunDir, printer: &Printer) -> anyhow::Result<Workers> {
    let mut workers = Workers::default();
    for case in dir.plan()?.cases {
        let find = match case.library {
            Some(_) => workers::find_for_library,
            None => workers::find,
        };
        if workers.identity(&case).is_none()
            && let Ok(worker) = find(&case.engine)
        {
            workers.add(&case.engine, libraries::with_recorded_library(worker.path, &case)?);
        }
    }
    let mut reported = BTreeSet::new();
    for (_, record) in dir.case_records()? {
        let Some(before) = record.worker else { continue };
        let current = workers.identity(&record.case);
        let differs = current.is_some_and(|current| current.sha256 != before.sha256);
        if differs && reported.insert(record.case.engine.clone()) {
            printer.warning(&format!(
                "kvdyno-{} has changed since {}",
                record.case.engine, record.case.id
            ));
        }
    }
    Ok(workers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kvdyno_analysis::fixture::{Fixture, SECOND};

    #[test]
    fn a_run_goes_on_only_on_the_storage_on_which_it_began() {
        let mut run = Fixture::new().run;
        let filesystem = |mount_point: &str| Filesystem {
            kind: "ext4".to_owned(),
            mount_point: mount_point.to_owned(),
            ..Filesystem::default()
        };
        let drive = |model: &str| Some(Drive { model: Some(model.to_owned()), ..Drive::default() });
        let (first, first_drive) = (filesystem("/mnt/nvme"), drive("fast"));
        run.host_before.filesystem = Some(first.clone());
        run.host_before.drive.clone_from(&first_drive);
        let grown = Filesystem { total_bytes: 7, source: "/dev/other".to_owned(), ..first };
        check_storage(&run, &grown, first_drive.as_ref()).unwrap();
        check_storage(&run, &grown, None).unwrap();
        let unmounted = check_storage(&run, &filesystem("/"), drive("slow").as_ref()).unwrap_err();
        let text = unmounted.to_string();
        assert!(text.contains("ext4 at /mnt/nvme (fast), found ext4 at / (slow)"), "{text}");
        check_storage(&run, &grown, drive("slow").as_ref()).unwrap_err();
        run.host_before.filesystem = None;
        check_storage(&run, &grown, drive("slow").as_ref()).unwrap();
    }

    #[test]
    fn what_is_left_is_told_with_the_time_that_its_like_took() {
        let mut fixture = Fixture::new();
        // The second trial is left: 9 cases, one of which did not fit in the first trial.
        fixture.cases.truncate(9);
        let dir = tempfile::tempdir().unwrap();
        let run = fixture.write_partial(&dir.path().join("run"));
        let evidence = Evidence::read(&run).unwrap();
        let expected = 8 * 20 * SECOND + 900 * SECOND / 18;
        assert_eq!(expected_ns(&evidence, &evidence.unfinished_cases()), expected);
        let lines = resume_lines(&evidence, &[PathBuf::from("/mnt/data/x")]);
        assert!(lines[0].contains("9 cases left of 18"), "{lines:?}");
        assert!(lines[0].ends_with("3m30s"), "{lines:?}");
        assert!(lines[1].contains("1 database "), "{lines:?}");
        assert_eq!(resume_lines(&evidence, &[]).len(), 1);
    }
}
