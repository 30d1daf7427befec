//! A small synthetic run for tests: two engines and the null engine, one and two readers with a
//! writer, two trials; one engine does not fit its RAM with two readers. Formulas give every
//! number, so that all machines have the same; all files agree with each other.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::missing_panics_doc,
    reason = "a test's helpers fail as it does"
)]

mod crew;
#[cfg(test)]
mod differs;
mod drive;
mod field;
mod mixed;
mod moments;
mod plan;
#[cfg(test)]
mod planned;
mod profiled;
mod surroundings;
mod usage;
mod versions;

use hdrhistogram::Histogram;
use kvdyno_record::FORMAT;
use kvdyno_record::blockio::BlockIoFile;
use kvdyno_record::case::{
    CaseRecord, CounterFile, CounterPair, OpResult, Outcome, PhaseRecord, RoleResult,
};
use kvdyno_record::engine::{Durability, PowerLoss, Value};
use kvdyno_record::files::{RunDir, write_atomic, write_json};
use kvdyno_record::hlog::{self, Kind};
use kvdyno_record::plan::{Estimate, Plan, WITHIN};
use kvdyno_record::profile::ProfileFile;
use kvdyno_record::run::RunRecord;
use kvdyno_record::series::{Slice, SliceCounts};
use kvdyno_record::workload::{Activity, Choice, Ends, Mix, MixEntry, Op, Phase, Role};
pub use moments::{hiccups, stall_event};
use plan::PlannedCase;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, SystemTime};
use surroundings::run;
use tempfile::TempDir;
use usage::{phase_record, read_at_device, settle_phase, spends};

pub const SECOND: u64 = 1_000_000_000;
const MIB: u64 = 1 << 20;
const RECORDS: u64 = 1_000_000;
const RECORD_BYTES: u64 = 116;
const RAM: u64 = 28 * MIB;
const BEGAN: u64 = 1_795_169_702 * SECOND;
const SLICES: u64 = 10;

pub struct Fixture {
    pub run: RunRecord,
    pub plan: Plan,
    pub cases: Vec<FixtureCase>,
}

#[derive(Clone)]
pub struct FixtureCase {
    pub record: CaseRecord,
    pub slices: Vec<Slice>,
    pub histograms: Vec<(u64, u64, String, Histogram<u64>)>,
    pub block_io: Option<BlockIoFile>,
    pub profile: Option<ProfileFile>,
}

/// An engine's behaviour.
#[derive(Clone, Copy)]
struct Pace {
    name: &'static str,
    title: &'static str,
    version: &'static str,
    durability: Durability,
    power_loss: PowerLoss,
    settings: &'static str,
    /// The times of a read and of a write.
    service_ns: [u64; 2],
    /// Device bytes per byte written, times 10.
    writes_x10: u64,
    null: bool,
    /// Makes the figures of each engine differ.
    variant: u64,
}

const ENGINES: [Pace; 3] = [
    Pace {
        name: "lmdb",
        title: "LMDB",
        version: "0.9.70",
        durability: Durability::Commit,
        power_loss: PowerLoss::Keeps,
        settings: "no flag: each commit flushes data, then the meta page",
        service_ns: [75_000, 610_000],
        writes_x10: 412,
        null: false,
        variant: 10,
    },
    Pace {
        name: "rocksdb",
        title: "RocksDB",
        version: "11.8.1",
        durability: Durability::Commit,
        power_loss: PowerLoss::Keeps,
        settings: "WriteOptions.sync = true",
        service_ns: [98_000, 420_000],
        writes_x10: 35,
        null: false,
        variant: 13,
    },
    Pace {
        name: "null",
        title: "null",
        version: "0.1.0",
        durability: Durability::None,
        power_loss: PowerLoss::LosesAll,
        settings: "stores nothing",
        service_ns: [18, 18],
        writes_x10: 0,
        null: true,
        variant: 12,
    },
];

impl Default for Fixture {
    fn default() -> Self {
        Self::with_trials(2)
    }
}

impl Fixture {
    pub fn new() -> Self {
        Self::default()
    }

    /// The fixture with another number of trials.
    pub fn with_trials(trials: u32) -> Self {
        let plan = Plan {
            search: None,
            columns: Vec::new(),
            study: None,
            within: WITHIN,
            gate: None,
            target: None,
            claims: vec![],
            format: FORMAT.to_owned(),
            suite: "fixture".to_owned(),
            title: "a record made by hand, to be read forever".to_owned(),
            sized: vec!["RAM limit 28 MiB: a quarter of the data".to_owned()],
            warnings: Vec::new(),
            left_out: Vec::new(),
            cases: Vec::new(),
            estimate: Estimate { wall_ns: 900 * SECOND, ..Estimate::default() },
        };
        let mut fixture = Self { run: run(), plan, cases: Vec::new() };
        (1..=trials).for_each(|trial| fixture.add_engines(trial));
        fixture.with_plan()
    }

    /// A trial of the engines.
    fn add_engines(&mut self, trial: u32) {
        for engine in ENGINES {
            let loader = format!("{:04}_{}_load_r{trial}", self.cases.len() + 1, engine.name);
            self.cases.push(load_case(engine, trial, &loader));
            for threads in [1, 2] {
                let number = self.cases.len() + 1;
                let id = format!("{number:04}_{}_t{threads}_r{trial}", engine.name);
                self.cases.push(run_case(engine, trial, threads, &id, &loader));
            }
        }
    }

    /// Writes everything and seals it.
    pub fn write(&self, path: &Path) -> RunDir {
        let dir = self.write_partial(path);
        dir.seal().unwrap();
        dir
    }

    /// Writes everything and leaves it open.
    pub fn write_partial(&self, path: &Path) -> RunDir {
        let dir = RunDir::create(path.to_owned()).unwrap();
        dir.write_run(&self.run).unwrap();
        dir.write_plan(&self.plan).unwrap();
        write_atomic(&path.join("suite.toml"), b"name = \"fixture\"\n").unwrap();
        write_atomic(&path.join("host/uname.txt"), b"Linux 6.18.0\n").unwrap();
        for case in &self.cases {
            case.write(&dir);
        }
        dir
    }

    /// A case by the end of its id: `lmdb_t2_r1`.
    pub fn case(&mut self, name: &str) -> &mut FixtureCase {
        self.cases.iter_mut().find(|case| case.record.case.id.ends_with(name)).unwrap()
    }

    /// Makes the figures of a case void: its worker is a debug build.
    pub fn make_void(&mut self, name: &str) {
        self.case(name).record.worker.as_mut().unwrap().description.debug_build = true;
    }

    /// Writes the run into a temporary directory and reads its summary.
    pub fn summary(&self) -> crate::answers::summary::Summary {
        let dir = make_dir();
        crate::answers::summary::Summary::read(&self.write(&dir.path().join("run"))).unwrap()
    }
}

/// A temporary directory, in memory where that is possible: else syncing its files takes longer
/// than all else.
pub fn make_dir() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

impl FixtureCase {
    fn write(&self, dir: &RunDir) {
        let case = dir.case(&self.record.case, self.record.attempt);
        std::fs::create_dir(&case.path).unwrap();
        let lines: String =
            self.slices.iter().map(|s| serde_json::to_string(s).unwrap() + "\n").collect();
        write_atomic(&case.path.join("series.ndjson"), lines.as_bytes()).unwrap();
        let begun = SystemTime::UNIX_EPOCH + Duration::from_nanos(BEGAN);
        let mut log = hlog::Writer::create(&case.path.join("latency.hlog"), begun).unwrap();
        for (start, length, tag, histogram) in &self.histograms {
            let (start, length) = (Duration::from_nanos(*start), Duration::from_nanos(*length));
            log.write(start, length, [(tag.clone(), histogram)]).unwrap();
        }
        let pair = CounterPair {
            before: [("entries".to_owned(), Value::Integer(0))].into(),
            after: [("entries".to_owned(), Value::Integer(RECORDS))].into(),
        };
        let phases = self.record.phases.iter().map(|phase| (phase.name.clone(), pair.clone()));
        let counters = CounterFile { phases: phases.collect() };
        write_json(&case.path.join("counters.json"), &counters).unwrap();
        write_atomic(&case.path.join("log.txt"), b"").unwrap();
        if let Some(block_io) = &self.block_io {
            write_json(&case.path.join("blockio.json"), block_io).unwrap();
        }
        if let Some(profile) = &self.profile {
            case.write_profile(profile).unwrap();
        }
        case.write_record(&self.record).unwrap();
    }

    /// Whether it is a case of an engine with a measured phase.
    fn measures(&self, engine: &str) -> bool {
        let mut phases = self.record.phases.iter();
        self.record.case.engine == engine && phases.any(|phase| phase.kind == "measure")
    }

    pub fn phase(&mut self, name: &str) -> &mut PhaseRecord {
        self.record.phases.iter_mut().find(|phase| phase.name == name).unwrap()
    }

    pub fn op(&mut self, phase: &str, role: &str, op: &str) -> &mut OpResult {
        let roles = &mut self.phase(phase).roles;
        roles.iter_mut().find(|r| r.role == role).unwrap().ops.get_mut(op).unwrap()
    }
}

fn load_case(engine: Pace, trial: u32, id: &str) -> FixtureCase {
    let phases = surroundings::loading(true);
    let mut case = PlannedCase { engine, trial, threads: None, id, loader: id, phases }.blank();
    let pace = 4_000 + u64::from(trial) * 100 + engine.service_ns[0] / 10;
    let op = OpResult {
        items: RECORDS,
        write_bytes: RECORDS * RECORD_BYTES,
        ..samples("load", "load", "insert", RECORDS, pace, &mut case)
    };
    let wall = SLICES * SECOND / 2 + (u64::from(trial) + engine.variant - 10) * SECOND / 10;
    let writes = RECORDS * RECORD_BYTES * engine.writes_x10.min(11 + engine.variant) / 10;
    let mut load = phase_record("load", wall, writes, engine);
    load.roles = vec![role_result("load", 1, wall, "insert", op)];
    usage::threads(&mut load, &spends(engine)[..1]);
    case.record.phases = usage::load_phase_records(load, writes, engine, true);
    case
}

fn run_case(engine: Pace, trial: u32, threads: u32, id: &str, loader: &str) -> FixtureCase {
    let role = |name: &str, threads, op| {
        Role::new(name, threads, vec![MixEntry::new(op, 1.0, Choice::Uniform)])
    };
    let drive = Mix {
        roles: vec![role("readers", threads, Op::Get), role("writer", 1, Op::Update)],
        ends: Ends::after_ns(SLICES * SECOND),
    };
    let phases = vec![
        Phase::new("evict", Activity::Evict),
        Phase::new("measure", Activity::Measure(drive)),
        surroundings::settle_after("measure"),
    ];
    let swept = Some(threads);
    let mut case = PlannedCase { engine, trial, threads: swept, id, loader, phases }.blank();
    case.record.phases = vec![PhaseRecord {
        evicted: Some("fadvise".to_owned()),
        ..phase_record("evict", SECOND / 100, 0, engine)
    }];
    if engine.name == "rocksdb" && threads == 2 {
        case.record.outcome = Outcome::DoesNotFit {
            message: "killed for the RAM limit of 28 MiB in phase measure (oom_kill 1)".to_owned(),
        };
        return case;
    }
    let slower = 100 + u64::from(trial) * 3;
    let [read_ns, write_ns] = engine.service_ns.map(|ns| ns * slower / 100);
    let window = SLICES * SECOND;
    // The operations of a closed loop: the tail makes the mean a sixth longer than `ns`.
    let [reads, updates] = [read_ns, write_ns].map(|ns| window * 6 / 7 / ns);
    let reads = reads * u64::from(threads);
    let get = OpResult {
        hits: reads,
        items: reads,
        read_bytes: reads * RECORD_BYTES,
        ..samples("measure", "readers", "get", reads, read_ns, &mut case)
    };
    let update = OpResult {
        items: updates,
        write_bytes: updates * RECORD_BYTES,
        ..samples("measure", "writer", "update", updates, write_ns, &mut case)
    };
    let writes = updates * RECORD_BYTES * engine.writes_x10 / 10;
    let mut measure =
        phase_record("measure", window + (engine.variant - 10) * SECOND / 1000, writes, engine);
    if !engine.null {
        read_at_device(&mut measure, reads * 7 / 10, engine);
    }
    measure.roles = vec![
        role_result("readers", threads, window, "get", get),
        role_result("writer", 1, window, "update", update),
    ];
    usage::threads(&mut measure, &spends(engine)[1..]);
    let settle = settle_phase(&measure, engine);
    case.record.phases.extend([measure, settle]);
    case
}

/// An operation of `count` samples around `ns`, spread over the slices of its phase. Adds them to
/// the case's slices and histograms.
fn samples(
    phase: &str,
    role: &str,
    name: &str,
    count: u64,
    ns: u64,
    case: &mut FixtureCase,
) -> OpResult {
    let mut op = OpResult { count, ..OpResult::default() };
    let length = SECOND / if phase == "load" { 2 } else { 1 };
    // Two intervals in the log, so that there is something to merge.
    let mut halves = [hlog::histogram(), hlog::histogram()];
    for index in 0..SLICES {
        let histogram = &mut halves[usize::from(index >= SLICES / 2)];
        let mut counts = SliceCounts::default();
        let first = count * index / SLICES;
        for (value, times) in values(ns, count * (index + 1) / SLICES - first) {
            histogram.record_n(value, times).unwrap();
            counts.count += times;
            counts.service_ns += value * times;
            counts.service_ns_max = counts.service_ns_max.max(value);
        }
        op.service_ns += counts.service_ns;
        op.service_ns_max = op.service_ns_max.max(counts.service_ns_max);
        add_slice(case, phase, index, length, role, name, counts);
    }
    let half = length * SLICES / 2;
    for (index, histogram) in (0..).zip(halves) {
        let tag = hlog::tag(phase, role, name, Kind::Service);
        case.histograms.push((index * half, half, tag, histogram));
    }
    op
}

/// `count` times around `ns`: most near it, one in 128 ten times as long, one in 1024 a hundred
/// times.
fn values(ns: u64, count: u64) -> Vec<(u64, u64)> {
    let (rare, slow) = (count / 1024, count / 128);
    let near = count - rare - slow;
    let mut values = vec![(ns * 100, rare), (ns * 10, slow)];
    let each = near / 21;
    values.extend((0..20).map(|step| (ns * (90 + step) / 100, each)));
    values.push((ns * 110 / 100, near - 20 * each));
    values.retain(|(_, times)| *times > 0);
    values
}

fn add_slice(
    case: &mut FixtureCase,
    phase: &str,
    number: u64,
    length: u64,
    role: &str,
    op: &str,
    counts: SliceCounts,
) {
    let existing =
        case.slices.iter().position(|slice| slice.phase == phase && slice.slice == number);
    let index = existing.unwrap_or_else(|| {
        case.slices.push(Slice {
            phase: phase.to_owned(),
            slice: number,
            start_ns: number * length,
            length_ns: length,
            roles: BTreeMap::new(),
        });
        case.slices.len() - 1
    });
    let ops = case.slices[index].roles.entry(role.to_owned()).or_default();
    ops.insert(op.to_owned(), counts);
}

fn role_result(role: &str, threads: u32, window_ns: u64, name: &str, op: OpResult) -> RoleResult {
    RoleResult {
        role: role.to_owned(),
        threads,
        window_ns,
        offered_per_s: None,
        windows: Vec::new(),
        backlog: 0,
        own_ns: 0,
        usage: None,
        ops: [(name.to_owned(), op)].into(),
    }
}
