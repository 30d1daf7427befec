//! Ranges against those who read them with nothing around: LMDB's through the worker, over a loop
//! of C calls (`engines/lmdb/examples/ranges.rs`); `RocksDB`'s through its adapter with the end
//! told (`engines/rocksdb/examples/bounds.rs`), over `db_bench`'s seekrandom with as many `Next`
//! and an upper bound as far. Both sides read one database, which the worker has loaded (1 M
//! records, 16-byte keys, 100-byte values, all in memory), and take turns.

use super::engines::{output, rate};
use super::tools::{identity, median, scratch};
use super::{Bench, REPEATS, SECOND};
use anyhow::{Context as _, bail, ensure};
use kvdyno::running::runner::load_generator::{random_reads, small_records};
use kvdyno::running::runner::solo::{Outcome, Solo};
use kvdyno_record::case::WorkerIdentity;
use kvdyno_record::engine::{Durability, Location, Value};
use kvdyno_record::protocol::Event;
use kvdyno_record::workload::{
    Activity, Data, Key, KeyFormat, Load, LoadOrder, Mix, Op, Phase, Size,
};
use std::path::{Path, PathBuf};

const RECORDS: u64 = 1_000_000;
const LMDB_LENGTH: u64 = 10_000;
const ROCKSDB_LENGTHS: [u64; 2] = [10, 10_000];
const MEASURE_S: u64 = 2;

impl Bench {
    pub(crate) fn lmdb_ranges(&mut self) -> anyhow::Result<()> {
        let Ok(lmdb) = identity("lmdb") else {
            println!("lmdb ranges: not built");
            return Ok(());
        };
        let database = scratch()?;
        let data = small_records(RECORDS);
        let run = |phases| run(&lmdb, Vec::new(), &data, phases, database.path());
        run(loaded(1000))?;
        let ours = || {
            let outcomes = run(scans(LMDB_LENGTH))?;
            ranges_per_s(outcomes.last().context("no phase")?).map(Some)
        };
        let by_hand = || {
            let numbers = [RECORDS, LMDB_LENGTH, MEASURE_S].map(|number| number.to_string());
            example(&lmdb, "ranges", &[path_text(database.path()).as_str()], &numbers)
        };
        self.compare(&format!("lmdb ranges of {LMDB_LENGTH}"), "a C loop", ours, by_hand)
    }

    pub(crate) fn rocksdb_ranges(&mut self) -> anyhow::Result<()> {
        let Ok(rocksdb) = identity("rocksdb") else {
            println!("rocksdb ranges: not built");
            return Ok(());
        };
        let library = rocksdb.library.as_ref().context("no library")?.path.clone();
        let database = scratch()?;
        // `db_bench` finds its own keys.
        let key = Key::ordered(16, KeyFormat::DbBench);
        let data = Data { key, ..small_records(RECORDS) };
        run(&rocksdb, options(), &data, loaded(1), database.path())?;
        for length in ROCKSDB_LENGTHS {
            let ours = || {
                let numbers = [RECORDS, length, MEASURE_S].map(|number| number.to_string());
                let paths = [path_text(&library), path_text(database.path())];
                example(&rocksdb, "bounds", &paths.each_ref().map(String::as_str), &numbers)
            };
            let theirs = || db_bench(database.path(), length);
            let name = format!("rocksdb ranges of {length} with an end");
            self.compare(&name, "db_bench's seekrandom", ours, theirs)?;
        }
        Ok(())
    }

    /// Both in turn; ranges per second.
    fn compare(
        &mut self,
        name: &str,
        peer: &str,
        ours: impl Fn() -> anyhow::Result<Option<f64>>,
        theirs: impl Fn() -> anyhow::Result<Option<f64>>,
    ) -> anyhow::Result<()> {
        let (mut rates, mut ratios) = (Vec::new(), Vec::new());
        for repeat in 0..REPEATS {
            // The order alternates, because the machine changes.
            let (ours, theirs) = if repeat % 2 == 0 {
                let ours = ours()?;
                (ours, theirs()?)
            } else {
                let theirs = theirs()?;
                (ours()?, theirs)
            };
            let Some(ours) = ours else {
                println!("{name}: not built");
                return Ok(());
            };
            rates.push(ours);
            ratios.extend(theirs.map(|theirs| ours / theirs));
        }
        let what = format!("{RECORDS} x 16/100 bytes, 1 thread, median of {REPEATS}");
        self.report(name, median(&mut rates), "ranges/s", &what);
        if ratios.is_empty() {
            println!("{name} over {peer}: not there");
            return Ok(());
        }
        let what = "median of the ratios of interleaved repeats";
        self.report(&format!("{name} over {peer}"), median(&mut ratios), "x", what);
        Ok(())
    }
}

fn options() -> Vec<(&'static str, Value)> {
    vec![
        ("block_cache", Value::Integer(1 << 30)),
        ("bloom_bits", Value::Integer(10)),
        ("compression", Value::Text("none".to_owned())),
        ("settle", Value::Text("compact".to_owned())),
    ]
}

fn loaded(batch: u32) -> Vec<Phase> {
    let load = Load { order: LoadOrder::Sequential, batch, threads: 1, replay: None };
    vec![
        Phase::new("load", Activity::Load(load)),
        Phase::new("settle", Activity::Settle { limit_ns: 60 * SECOND }),
    ]
}

fn scans(length: u64) -> Vec<Phase> {
    let mix = |duration_ns| {
        let mut mix: Mix = random_reads(1, duration_ns);
        let length = Size::Fixed { bytes: length };
        mix.roles[0].mix[0].op = Op::Scan { reverse: false, length };
        mix
    };
    vec![
        Phase::new("warmup", Activity::Warmup(mix(SECOND / 2))),
        Phase::new("measure", Activity::Measure(mix(MEASURE_S * SECOND))),
    ]
}

fn run(
    worker: &WorkerIdentity,
    options: Vec<(&str, Value)>,
    data: &Data,
    phases: Vec<Phase>,
    database: &Path,
) -> anyhow::Result<Vec<Outcome>> {
    let dir = scratch()?;
    let solo = Solo {
        worker,
        options,
        durability: Durability::Async,
        data: data.clone(),
        phases,
        location: Location::Directory(database.to_owned()),
        dir: dir.path(),
    };
    solo.run()
}

/// For a phase that found all keys.
fn ranges_per_s(outcome: &Outcome) -> anyhow::Result<f64> {
    let Event::Finished { roles, .. } = &outcome.finished else { bail!("no figures") };
    let role = roles.first().context("no role")?;
    ensure!(role.ops.values().all(|op| op.misses == 0 && op.hits > 0), "records are missing");
    role.per_second(role.ops.values().map(|op| op.count).sum()).context("no time")
}

/// The result of an engine's example next to its worker, or nothing if it is not built.
fn example(
    worker: &WorkerIdentity,
    name: &str,
    paths: &[&str],
    numbers: &[String],
) -> anyhow::Result<Option<f64>> {
    let program: PathBuf = worker.path.with_file_name("examples").join(name);
    let arguments = paths.iter().copied().chain(numbers.iter().map(String::as_str));
    let Some(text) = output(&program, arguments)? else { return Ok(None) };
    rate(&text, name, 0).map(Some)
}

fn db_bench(database: &Path, length: u64) -> anyhow::Result<Option<f64>> {
    let arguments = [
        format!("--db={}", database.display()),
        "--benchmarks=seekrandom,seekrandom".to_owned(),
        "--use_existing_db=1".to_owned(),
        format!("--num={RECORDS}"),
        "--key_size=16".to_owned(),
        "--value_size=100".to_owned(),
        "--compression_type=none".to_owned(),
        "--bloom_bits=10".to_owned(),
        "--cache_size=1073741824".to_owned(),
        "--cache_type=lru_cache".to_owned(),
        format!("--duration={MEASURE_S}"),
        format!("--seek_nexts={length}"),
        format!("--max_scan_distance={length}"),
    ];
    let arguments = arguments.iter().map(String::as_str);
    let Some(text) = output(Path::new("db_bench"), arguments)? else { return Ok(None) };
    rate(&text, "seekrandom", 1).map(Some)
}

fn path_text(path: &Path) -> String {
    path.display().to_string()
}
