//! Turns a fio report (`--output-format=json+`) into a run: one case per job, with the same tables
//! as any run.

mod planned;
#[cfg(test)]
mod tests;

use crate::cli::NamedArgs;
use crate::exit::Complaint;
use crate::running::machine;
use crate::running::runner::case::blank;
use crate::running::start::{record, run_id};
use anyhow::Context as _;
use kvdyno_host::Root;
use kvdyno_record::case::{CaseRecord, Outcome, PhaseRecord, RoleResult, WorkerIdentity};
use kvdyno_record::engine::{Capabilities, Description, Durability, Planning, PowerLoss};
use kvdyno_record::files::{CaseDir, RunDir, sha256, write_atomic};
use kvdyno_record::fio::{self, Job, Report};
use kvdyno_record::hlog;
use kvdyno_record::left_out::LeftOut;
use kvdyno_record::plan::{Case, Estimate, Plan, WITHIN};
use kvdyno_record::protocol::{NO_LOAD_GENERATOR, WorkerDescription};
use kvdyno_record::run::RunRecord;
use kvdyno_record::units;
use kvdyno_record::usage::{ProcessUsage, Snapshot};
use planned::{MEASURE, role_name};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// Facts that the report lacks, for every case.
const UNKNOWN: [&str; 2] = [
    "imported from fio's report: the host is the one that imported it, not necessarily the \
     measured one",
    "device reads and writes: fio's report does not contain them",
];

/// Stores the report as a run below `runs`.
pub(super) fn import(file: &Path, runs: &Path, name_args: &NamedArgs) -> anyhow::Result<RunDir> {
    let mut report = read(file)?;
    let left_out = remove_unusable_jobs(file, &mut report)?;
    let identity = identity(file, &report)?;
    let mut cases: Vec<Case> = Vec::new();
    for (index, job) in report.jobs.iter().enumerate() {
        let mut case = planned::case(index, job);
        // Jobs of one name that differ, or run one after another, are not trials of one case.
        let (label, key) = (case.label.clone(), case.key.clone());
        let mut number = index;
        while cases.iter().any(|other| other.label == case.label) {
            number += 1;
            case.label = format!("{label}-{number}");
            case.key = format!("{key}/{number}");
        }
        cases.push(case);
    }
    let plan = Plan {
        search: None,
        columns: Vec::new(),
        study: None,
        within: WITHIN,
        gate: None,
        target: None,
        claims: Vec::new(),
        format: kvdyno_record::FORMAT.to_owned(),
        suite: "fio-import".to_owned(),
        title: format!("imported from {}, by {}", file.display(), report.version),
        sized: Vec::new(),
        warnings: Vec::new(),
        left_out,
        cases,
        estimate: Estimate::default(),
    };
    std::fs::create_dir_all(runs)?;
    let id = run_id(&plan.suite);
    let dir = RunDir::create(std::path::absolute(runs.join(&id))?)?;
    let note = format!("# Imported from {} by `kvdyno drive --import-fio`.\n", file.display());
    write_atomic(&dir.path.join("suite.toml"), note.as_bytes())?;
    dir.write_plan(&plan)?;
    for (job, case) in report.jobs.iter().zip(&plan.cases) {
        file_case(&dir, case, job, &report, identity.clone())?;
    }
    let ended = report.ended_unix_ns();
    let took = report.jobs.iter().map(Job::window_ns).fold(0, u64::saturating_add);
    let file_name = report.jobs.first().and_then(|job| job.option("filename")).unwrap_or("unknown");
    let host = machine::read(&Root::system(), runs);
    dir.write_run(&RunRecord {
        started_unix_ns: ended.saturating_sub(took),
        ended_unix_ns: Some(ended),
        data_dir: file_name.to_owned(),
        ..record(&plan.suite, &id, name_args, runs, host)
    })?;
    dir.seal()?;
    Ok(dir)
}

fn read(file: &Path) -> anyhow::Result<Report> {
    let bytes = std::fs::read(file)
        .with_context(|| format!("failed to read fio's report {}", file.display()))?;
    let report = Report::parse(&String::from_utf8_lossy(&bytes)).map_err(|content| {
        let file = file.display();
        Complaint::usage(format!("{file} is not a fio report: expected its JSON, found {content}"))
            .hint("create one with `fio --output-format=json+ --output=REPORT JOBFILE`")
    })?;
    Ok(report)
}

/// Removes jobs without figures; refuses a report that has only such jobs.
fn remove_unusable_jobs(file: &Path, report: &mut Report) -> Result<Vec<LeftOut>, Complaint> {
    let mut left_out = Vec::new();
    report.jobs.retain(|job| {
        let why = job.unusable();
        left_out.extend(why.clone().map(|why| LeftOut {
            engine: format!("job `{}`", job.name),
            reason: why,
            ..LeftOut::default()
        }));
        why.is_none()
    });
    if !report.jobs.is_empty() {
        return Ok(left_out);
    }
    let what = match left_out.first() {
        Some(LeftOut { engine, reason: why, .. }) => {
            format!("{engine} of {}: {why}", file.display())
        }
        None => format!("{} has no job", file.display()),
    };
    Err(Complaint::usage(what).hint("expected a job that read, wrote or trimmed"))
}

fn identity(file: &Path, report: &Report) -> anyhow::Result<WorkerIdentity> {
    let version = report.version.trim_start_matches("fio-").to_owned();
    let durability =
        [(Durability::Async, PowerLoss::LosesLast), (Durability::Commit, PowerLoss::Keeps)]
            .map(|(class, power_loss)| (class, power_loss, "from fio's options"));
    let engine = Description {
        name: "fio".to_owned(),
        title: "fio (imported)".to_owned(),
        version,
        build: BTreeMap::new(),
        capabilities: Capabilities::bare_drive(durability),
        options: Vec::new(),
        planning: Planning { space_factor: 1.0, write_factor: 1.0, ram_bytes_min: 0 },
    };
    let description = WorkerDescription {
        protocol: kvdyno_record::PROTOCOL,
        load_generator: NO_LOAD_GENERATOR.to_owned(),
        debug_build: false,
        server: None,
        engine,
    };
    let (path, sha256) = (std::path::absolute(file)?, sha256(file)?);
    Ok(WorkerIdentity { path, sha256, description, library: None })
}

/// The job's figures, as those of a role.
fn role(job: &Job, case: &Case) -> RoleResult {
    job.role(role_name(job), case.threads.unwrap_or(1))
}

/// Facts about the case that the report lacks; special ones first.
fn unmeasured_values(job: &Job) -> Vec<String> {
    let grouped = job.grouped_threads().map(|threads| {
        format!(
            "several jobs under group_reporting are one entry here, with the name and the options \
             of some of them: {threads} threads by their running times"
        )
    });
    let mut all: Vec<String> = grouped.into_iter().collect();
    let without_times = job.without_times();
    let timed = without_times.is_none();
    all.extend(without_times);
    if job.lacks_flush_times() {
        all.push("latencies of flushes: fio's report has no bins for them".to_owned());
    }
    all.extend(UNKNOWN.map(str::to_owned));
    if timed {
        let off = units::percent(1.0 / 128.0);
        all.push(format!("latencies: from the middles of fio's bins, at most {off} off"));
    }
    all
}

/// The record of the job's one phase.
fn phase_record(job: &Job, case: &Case, started_unix_ns: u64, ended_unix_ns: u64) -> PhaseRecord {
    let snapshot = |process, at_unix_ns| Snapshot {
        at_unix_ns,
        process: Some(process),
        ..Snapshot::default()
    };
    PhaseRecord {
        name: MEASURE.to_owned(),
        kind: MEASURE.to_owned(),
        started_unix_ns,
        wall_ns: job.window_ns(),
        before: snapshot(ProcessUsage::default(), started_unix_ns),
        after: snapshot(job.usage(), ended_unix_ns),
        roles: vec![role(job, case)],
        ..PhaseRecord::default()
    }
}

fn file_case(
    dir: &RunDir,
    case: &Case,
    job: &Job,
    report: &Report,
    identity: WorkerIdentity,
) -> anyhow::Result<()> {
    let case_dir: CaseDir = dir.case(case, 1);
    std::fs::create_dir(&case_dir.path)?;
    let wall_ns = job.window_ns();
    let ended_unix_ns = report.ended_unix_ns();
    let started_unix_ns = ended_unix_ns.saturating_sub(wall_ns);
    let base = SystemTime::UNIX_EPOCH + Duration::from_nanos(started_unix_ns);
    let mut latency = hlog::Writer::create(&case_dir.path.join("latency.hlog"), base)?;
    let histograms = job.histograms(MEASURE, role_name(job));
    let histograms = histograms.iter().map(|(tag, histogram)| (tag.clone(), histogram));
    latency.write(Duration::ZERO, Duration::from_nanos(wall_ns), histograms)?;
    let series = serde_json::to_string(&fio::slice(MEASURE, &[role(job, case)]))? + "\n";
    let files = [("series.ndjson", series.as_str()), ("machine.ndjson", ""), ("events.ndjson", "")];
    for (name, text) in files {
        write_atomic(&case_dir.path.join(name), text.as_bytes())?;
    }
    case_dir.write_record(&CaseRecord {
        outcome: Outcome::Done,
        started_unix_ns,
        wall_ns,
        phases: vec![phase_record(job, case, started_unix_ns, ended_unix_ns)],
        not_measured: unmeasured_values(job),
        ..blank(case, 1, Some(identity))
    })?;
    Ok(())
}
