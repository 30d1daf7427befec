//! A report that fio has written (`--output-format=json+`) becomes a run of its own: one case a
//! job, with the same tables as any.

use crate::cli::NamedArgs;
use crate::commands::run::{record, run_id};
use crate::exit::Complaint;
use crate::machine;
use crate::runner::case::blank;
use anyhow::Context as _;
use kvdyno_host::Root;
use kvdyno_record::case::{CaseRecord, Outcome, PhaseRecord, WorkerIdentity};
use kvdyno_record::engine::{
    Capabilities, DataShape, Description, Durability, Options, Planning, Value,
};
use kvdyno_record::files::{CaseFolder, RunFolder, sha256, write_atomic};
use kvdyno_record::fio::{Job, Report};
use kvdyno_record::hlog;
use kvdyno_record::plan::{Case, Database, Estimate, Plan};
use kvdyno_record::protocol::{NO_LOAD_GENERATOR, WorkerDescription};
use kvdyno_record::run::RunRecord;
use kvdyno_record::units;
use kvdyno_record::usage::{ProcessUsage, Snapshot};
use kvdyno_record::workload::{
    Activity, Choice, Data, Ends, Found, Key, KeyFormat, Mix, MixEntry, Op, Phase, Role, Size,
    ValueShape,
};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// What the report does not tell, for every case.
const UNKNOWN: [&str; 2] = [
    "imported from fio's report: the host described is the one that imported it, which need not be \
     the one that was measured",
    "device reads and writes: fio's report has no readings of the device around its job",
];

const MEASURE: &str = "measure";

/// Files the report below `runs`.
pub(super) fn import(file: &Path, runs: &Path, named: &NamedArgs) -> anyhow::Result<RunFolder> {
    let text = std::fs::read_to_string(file)
        .with_context(|| format!("failed to read fio's report {}", file.display()))?;
    let report = Report::parse(&text)
        .map_err(|error| Complaint::usage(format!("{} is {error}", file.display())))?;
    for job in &report.jobs {
        check(job).map_err(|what| {
            Complaint::usage(format!("job `{}` of {}: {what}", job.name, file.display()))
        })?;
    }
    let identity = identity(file, &report)?;
    let mut cases: Vec<Case> = Vec::new();
    for (at, job) in report.jobs.iter().enumerate() {
        let mut case = case(at, job);
        // Jobs of one name that differ, or work one after another, are no trials of one case.
        if cases.iter().any(|other| other.label == case.label) {
            case.label = format!("{}-{}", case.label, at + 1);
            case.key = format!("{}/{}", case.key, at + 1);
        }
        cases.push(case);
    }
    let plan = Plan {
        search: None,
        columns: Vec::new(),
        study: None,
        claims: Vec::new(),
        format: kvdyno_record::FORMAT.to_owned(),
        suite: "fio-import".to_owned(),
        title: format!("imported from {}, by {}", file.display(), report.version),
        sized: Vec::new(),
        warnings: Vec::new(),
        left_out: Vec::new(),
        cases,
        estimate: Estimate::default(),
    };
    std::fs::create_dir_all(runs)?;
    let id = run_id(&plan.suite);
    let folder = RunFolder::create(std::path::absolute(runs.join(&id))?)?;
    let note = format!("# Imported from {} by `kvdyno drive --import-fio`.\n", file.display());
    write_atomic(&folder.path.join("suite.toml"), note.as_bytes())?;
    folder.write_plan(&plan)?;
    for (job, case) in report.jobs.iter().zip(&plan.cases) {
        file_case(&folder, case, job, &report, identity.clone())?;
    }
    let ended = report.timestamp_ms * 1_000_000;
    let place = report.jobs.first().and_then(|job| job.option("filename")).unwrap_or("unknown");
    let host = machine::read(&Root::system(), runs);
    folder.write_run(&RunRecord {
        started_unix_ns: ended.saturating_sub(report.jobs.iter().map(Job::window_ns).sum()),
        ended_unix_ns: Some(ended),
        place: place.to_owned(),
        ..record(&plan.suite, &id, named, runs, host)
    })?;
    folder.seal()?;
    Ok(folder)
}

/// Only what is whole becomes figures.
fn check(job: &Job) -> Result<(), String> {
    if job.error != 0 {
        return Err(format!("it ended with error {}", job.error));
    }
    if job.read.total_ios + job.write.total_ios == 0 {
        return Err("it did nothing".to_owned());
    }
    if job.histograms(MEASURE, "reads").is_empty() {
        return Err("it has no bins of latency; --output-format=json+ writes them".to_owned());
    }
    Ok(())
}

fn identity(file: &Path, report: &Report) -> anyhow::Result<WorkerIdentity> {
    let version = report.version.trim_start_matches("fio-").to_owned();
    let durability = [(Durability::Async, "as fio's options say")];
    let engine = Description {
        name: "fio".to_owned(),
        title: "fio (imported)".to_owned(),
        version,
        build: BTreeMap::new(),
        capabilities: Capabilities::of_bare_drive(durability),
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

/// A number as fio writes it: `4k` is 4096.
fn number(text: &str) -> Option<u64> {
    let text = text.trim().to_lowercase();
    let text = text.trim_end_matches('b').trim_end_matches('i');
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let power = ["", "k", "m", "g", "t"].iter().position(|unit| *unit == &text[digits.len()..])?;
    digits.parse::<u64>().ok()?.checked_mul(1 << (10 * power))
}

/// A job as the plan would have it.
fn case(at: usize, job: &Job) -> Case {
    let option = |name: &str| job.option(name).and_then(number);
    let ios = job.read.total_ios + job.write.total_ios;
    // Reads and writes of several sizes have a mean.
    let block = option("bs").unwrap_or((job.read.io_bytes + job.write.io_bytes) / ios.max(1));
    // One entry of several threads: fio was asked for groups.
    let threads = if job.entries > 1 { job.entries } else { option("numjobs").unwrap_or(1) as u32 };
    let depth = (!job.is_synchronous()).then(|| option("iodepth").unwrap_or(1) as u32);
    let in_flight = depth.map_or("sync".to_owned(), |depth| format!("d{depth}"));
    // How large its file was is not in the report where it was not said.
    let records = (option("size").unwrap_or(block) / block.max(1)).max(1);
    let label: String = job.name.to_lowercase().chars().map(letter).take(64).collect();
    let id = format!("{:04}_{label}_t{threads}_r1", at + 1);
    let values = job.options.iter().map(|(name, value)| (name.clone(), Value::Text(value.clone())));
    let size = Size::Fixed { bytes: block };
    Case {
        key: format!("fio-import/{label}/{block}/t{threads}/{in_flight}"),
        engine: "fio".to_owned(),
        label,
        part: None,
        library: None,
        server: None,
        crew: None,
        options: Options { durability: Durability::Async, values: values.collect() },
        trial: 1,
        listed: 0,
        ceiling: false,
        threads: Some(threads),
        database: Database { id: id.clone(), made_by: id.clone(), last_use: true, copy: None },
        volume: None,
        ram_limit_bytes: None,
        tier: None,
        data: Data {
            records,
            key: Key::ordered(8, KeyFormat::Binary),
            value: ValueShape { size, compress_to: 1.0 },
            seed: 0,
            verify: false,
            graph: None,
            packed: None,
        },
        shape: DataShape {
            records,
            records_max: records,
            key_bytes: 8,
            value_bytes_mean: block,
            value_bytes_max: block,
            sessions: threads,
            depth: depth.unwrap_or(1),
            requests: None,
        },
        phases: vec![phase(job, threads, depth)],
        budget_ns: 0,
        slice_ns: job.window_ns(),
        io_latency: false,
        count: None,
        errors_max: 0,
        id,
    }
}

/// What a name of a file may have.
fn letter(c: char) -> char {
    if c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' { c } else { '-' }
}

fn phase(job: &Job, threads: u32, depth: Option<u32>) -> Phase {
    let ordered = matches!(job.option("rw"), Some("read" | "write" | "rw" | "readwrite"));
    let keys = if ordered { Choice::Sequential { step: 1 } } else { Choice::Uniform };
    let sides = [(Op::Get, job.read.total_ios), (Op::Update, job.write.total_ios)];
    let done = sides.into_iter().filter(|(_, ios)| *ios > 0);
    let mix = done.map(|(op, ios)| MixEntry { op, weight: ios as f64, keys: keys.clone() });
    let role = Role {
        name: role_name(job).to_owned(),
        threads,
        mix: mix.collect(),
        rate: None,
        depth,
        os_threads: None,
        found: Found::All,
        replay: None,
    };
    let ends = Ends { duration_ns: Some(job.window_ns()), operations: None };
    let work = Activity::Measure(Mix { roles: vec![role], ends });
    Phase { name: MEASURE.to_owned(), work }
}

fn role_name(job: &Job) -> &'static str {
    match (job.read.total_ios > 0, job.write.total_ios > 0) {
        (true, true) => "mixed",
        (false, true) => "writes",
        _ => "reads",
    }
}

/// What is known of the job's one phase.
fn phase_of(job: &Job, case: &Case, started_unix_ns: u64, ended_unix_ns: u64) -> PhaseRecord {
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
        stopped: false,
        before: snapshot(ProcessUsage::default(), started_unix_ns),
        after: snapshot(job.usage(), ended_unix_ns),
        synced: None,
        roles: vec![job.role(role_name(job), case.threads.unwrap_or(1))],
        ranks: Vec::new(),
        instructions: None,
        verified: None,
        settled: None,
        evicted: None,
        resident_before: None,
        resident_after: None,
        database: None,
    }
}

fn file_case(
    folder: &RunFolder,
    case: &Case,
    job: &Job,
    report: &Report,
    identity: WorkerIdentity,
) -> anyhow::Result<()> {
    let at: CaseFolder = folder.case(case, 1);
    std::fs::create_dir(&at.path)?;
    let (role, wall_ns) = (role_name(job), job.window_ns());
    let ended_unix_ns = report.timestamp_ms * 1_000_000;
    let started_unix_ns = ended_unix_ns.saturating_sub(wall_ns);
    let base = SystemTime::UNIX_EPOCH + Duration::from_nanos(started_unix_ns);
    let mut latency = hlog::Writer::create(&at.path.join("latency.hlog"), base)?;
    let histograms = job.histograms(MEASURE, role);
    let histograms = histograms.iter().map(|(tag, histogram)| (tag.clone(), histogram));
    latency.write(Duration::ZERO, Duration::from_nanos(wall_ns), histograms)?;
    let series = serde_json::to_string(&job.slice(MEASURE, role))? + "\n";
    let files = [("series.ndjson", series.as_str()), ("machine.ndjson", ""), ("events.ndjson", "")];
    for (name, text) in files {
        write_atomic(&at.path.join(name), text.as_bytes())?;
    }
    let off = units::percent(1.0 / 128.0);
    let bound = format!("latencies: by the middles of fio's bins, at most {off} off");
    let unknown = UNKNOWN.iter().map(ToString::to_string);
    at.write_record(&CaseRecord {
        outcome: Outcome::Done,
        started_unix_ns,
        wall_ns,
        phases: vec![phase_of(job, case, started_unix_ns, ended_unix_ns)],
        not_measured: unknown.chain([bound]).collect(),
        ..blank(case, 1, Some(identity))
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fios_numbers_are_powers_of_1024() {
        let numbers = ["4k", "4KiB", "64m", "1g", "512", "2T"].map(number);
        let expected = [4096, 4096, 64 << 20, 1 << 30, 512, 2 << 40].map(Some);
        assert_eq!(numbers, expected);
        assert_eq!(["4q", "k", "", "-1"].map(number), [None; 4]);
    }

    #[test]
    fn a_report_becomes_a_sealed_run() {
        let folder = tempfile::tempdir().unwrap();
        let file =
            concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/fio/mix-3.33.json").as_ref();
        let run = import(file, folder.path(), &NamedArgs::default()).unwrap();
        assert!(run.is_complete());
        let (_, record) = run.case_records().unwrap().remove(0);
        assert_eq!(record.case.id, "0001_mix-70-30_t2_r1");
        assert_eq!((record.case.data.records, record.case.shape.depth), (16384, 4));
        let ops = &record.phases[0].roles[0].ops;
        assert!(ops["get"].count > 2 * ops["update"].count);
        let intervals = run.case(&record.case, 1).latency().unwrap();
        let samples: u64 = intervals
            .map(Result::unwrap)
            .filter(|interval| interval.kind == hlog::Kind::Service)
            .flat_map(|interval| interval.counts)
            .map(|(_, count)| count)
            .sum();
        assert_eq!(samples, ops["get"].count + ops["update"].count);
    }

    #[test]
    fn the_threads_of_a_job_are_one_case_and_no_two_have_one_key() {
        let folder = tempfile::tempdir().unwrap();
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/fio/two-jobs-3.33.json");
        let run = import(file.as_ref(), folder.path(), &NamedArgs::default()).unwrap();
        let records = run.case_records().unwrap();
        let [(_, record)] = records.as_slice() else { panic!("{} cases", records.len()) };
        assert_eq!(record.case.threads, Some(2));
        let Activity::Measure(mix) = &record.case.phases[0].work else { panic!("no measure") };
        assert_eq!((mix.roles[0].threads, mix.roles[0].depth), (2, None), "psync, iodepth=8");
        // The same jobs as fio reports them when one works after the other.
        let text = std::fs::read_to_string(file).unwrap();
        let again = folder.path().join("again.json");
        std::fs::write(&again, text.replacen("\"groupid\":0", "\"groupid\":1", 1)).unwrap();
        let plan = import(&again, &folder.path().join("again"), &NamedArgs::default())
            .unwrap()
            .plan()
            .unwrap();
        let keys: std::collections::BTreeSet<_> = plan.cases.iter().map(|case| &case.key).collect();
        assert_eq!((plan.cases.len(), keys.len()), (2, 2));
    }

    #[test]
    fn what_is_no_report_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("fio.json");
        std::fs::write(&file, "no JSON").unwrap();
        let error = import(&file, folder.path(), &NamedArgs::default()).unwrap_err();
        assert_eq!(crate::exit::of_error(&error), kvdyno_record::exit::Exit::Usage);
    }
}
