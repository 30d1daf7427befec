//! `make bench`: what the harness costs, and whether it slows an engine down. One line a figure;
//! against a peer that is on PATH, the median of the ratios of interleaved repeats. Never a test:
//! the machine decides, not the code alone.
//!
//! `make bench BENCH="lmdb rocksdb"` runs parts of it: `null`, `lmdb`, `rocksdb`, `plan`.
//!
//! Peers, with the same data (1 M records, 16-byte keys, 100-byte values, 1 thread, all in memory):
//! LMDB's own C benchmark (`t_lmdb`, of dbbench), which records no latency, and `RocksDB`'s
//! (`db_bench`). Neither checks or touches a value as a whole.

#![expect(clippy::print_stdout, reason = "a benchmark's business")]

use anyhow::{Context as _, ensure};
use kvdyno::runner::harness::{random_reads, small_records};
use kvdyno::runner::solo::{Outcome, Solo, items_per_s};
use kvdyno::workers;
use kvdyno_record::case::WorkerIdentity;
use kvdyno_record::engine::{Durability, Value};
use kvdyno_record::protocol::Event;
use kvdyno_record::workload::{Choice, Load, LoadOrder, Phase, Work};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

const PARTS: [&str; 4] = ["null", "lmdb", "rocksdb", "plan"];
const RECORDS: u64 = 1_000_000;
const REPEATS: usize = 5;
const SECOND: u64 = 1_000_000_000;

fn main() -> anyhow::Result<()> {
    let mut bench = Bench::default();
    let chosen: Vec<String> =
        std::env::args().skip(1).filter(|word| PARTS.contains(&&**word)).collect();
    for part in
        PARTS.iter().filter(|part| chosen.is_empty() || chosen.iter().any(|word| word == *part))
    {
        match *part {
            "null" => bench.harness()?,
            "lmdb" => bench.engine("lmdb", lmdb_peer)?,
            "rocksdb" => bench.engine("rocksdb", rocksdb_peer)?,
            _ => bench.plan()?,
        }
    }
    bench.write_json()
}

/// Figures so far.
#[derive(Default)]
struct Bench {
    figures: Vec<serde_json::Value>,
}

/// What a peer printed, or nothing where it is not installed.
struct PeerRates {
    load_per_s: f64,
    read_per_s: f64,
}

impl Bench {
    fn tell(&mut self, name: &str, value: f64, unit: &str, remark: &str) {
        let digits = if value < 100.0 { 2 } else { 0 };
        let remark = if remark.is_empty() { String::new() } else { format!("   ({remark})") };
        println!("{name}: {value:.digits$} {unit}{remark}");
        let remark = remark.trim();
        self.figures.push(
            serde_json::json!({ "name": name, "value": value, "unit": unit, "remark": remark }),
        );
    }

    fn harness(&mut self) -> anyhow::Result<()> {
        let null = identity("null")?;
        let (mut one, mut ratios, mut floors) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..REPEATS {
            floors.push(clock_ns());
            let single = reads(&null, 1)?;
            let double = reads(&null, 2)?;
            one.push(1e9 / single);
            ratios.push(double / single);
        }
        let floor = format!(
            "median of {REPEATS}; one reading of the clock alone: {:.1} ns",
            median(&mut floors)
        );
        self.tell("null 1 thread", median(&mut one), "ns/op", &floor);
        self.tell(
            "null 2 threads over 1",
            median(&mut ratios),
            "x",
            "median of interleaved repeats",
        );
        Ok(())
    }

    fn engine(
        &mut self,
        name: &str,
        peer: fn(&Path) -> anyhow::Result<Option<PeerRates>>,
    ) -> anyhow::Result<()> {
        let Ok(identity) = identity(name) else {
            println!("{name}: not built");
            return Ok(());
        };
        let (mut loads, mut read) = (Vec::new(), Vec::new());
        let (mut load_ratios, mut read_ratios) = (Vec::new(), Vec::new());
        for _ in 0..REPEATS {
            let ours = load_and_read(&identity)?;
            loads.push(ours.load_per_s);
            read.push(ours.read_per_s);
            let folder = scratch()?;
            if let Some(theirs) = peer(folder.path())? {
                load_ratios.push(ours.load_per_s / theirs.load_per_s);
                read_ratios.push(ours.read_per_s / theirs.read_per_s);
            }
        }
        let what = format!("{RECORDS} x 16/100 bytes, 1 thread, median of {REPEATS}");
        self.tell(&format!("{name} random reads"), median(&mut read), "ops/s", &what);
        self.tell(&format!("{name} sequential load"), median(&mut loads), "records/s", &what);
        if read_ratios.is_empty() {
            println!("{name} against its own benchmark: not on PATH");
            return Ok(());
        }
        let what = "median of the ratios of interleaved repeats";
        self.tell(
            &format!("{name} random reads over its own benchmark"),
            median(&mut read_ratios),
            "x",
            what,
        );
        self.tell(
            &format!("{name} sequential load over its own benchmark"),
            median(&mut load_ratios),
            "x",
            what,
        );
        Ok(())
    }

    /// A plan of a billion records, and the way to its first operation.
    fn plan(&mut self) -> anyhow::Result<()> {
        let null = identity("null")?;
        let (mut seconds, mut peaks) = (Vec::new(), Vec::new());
        for _ in 0..REPEATS {
            let folder = scratch()?;
            let started = Instant::now();
            let mut drive = random_reads(1, SECOND / 1000);
            drive.roles[0].mix[0].keys = Choice::Zipf { theta: 0.99 };
            let solo = Solo {
                worker: &null,
                options: Vec::new(),
                durability: Durability::None,
                data: small_records(1_000_000_000),
                phases: vec![Phase { name: "measure".to_owned(), work: Work::Measure(drive) }],
                folder: folder.path(),
            };
            let outcomes = solo.run()?;
            seconds.push(started.elapsed().as_secs_f64());
            peaks.push(outcomes[0].before.rss_peak_bytes as f64 / f64::from(1 << 20));
        }
        let what =
            format!("worker start, 1 ms of Zipf reads over 10^9 records, end; median of {REPEATS}");
        self.tell("a billion records, start to end", median(&mut seconds), "s", &what);
        self.tell(
            "a billion records, memory before the first operation",
            median(&mut peaks),
            "MiB",
            "",
        );
        let program = env!("CARGO_BIN_EXE_kvdyno");
        let mut seconds = Vec::new();
        for _ in 0..REPEATS {
            let started = Instant::now();
            let plan = ["plan", "quick", "--engine", "null", "--set", "data.records=1G", "--json"];
            let output = Command::new(program).args(plan).output()?;
            let text = String::from_utf8_lossy(&output.stdout);
            ensure!(
                text.contains("1000000000"),
                "the plan failed: {}",
                String::from_utf8_lossy(&output.stderr)
            );
            seconds.push(started.elapsed().as_secs_f64());
        }
        self.tell("a billion records, kvdyno plan", median(&mut seconds), "s", "");
        Ok(())
    }

    fn write_json(&self) -> anyhow::Result<()> {
        let mut arguments = std::env::args().skip_while(|word| word != "--json").skip(1);
        if let Some(path) = arguments.next() {
            std::fs::write(&path, serde_json::to_string_pretty(&self.figures)?)?;
            println!("written to {path}");
        }
        Ok(())
    }
}

fn reads(null: &WorkerIdentity, threads: u32) -> anyhow::Result<f64> {
    let folder = scratch()?;
    let solo = Solo {
        worker: null,
        options: Vec::new(),
        durability: Durability::None,
        data: small_records(RECORDS),
        phases: vec![Phase {
            name: "measure".to_owned(),
            work: Work::Measure(random_reads(threads, SECOND)),
        }],
        folder: folder.path(),
    };
    Ok(items_per_s(solo.run()?.last().context("no phase")?))
}

/// As the peers: ascending keys in batches of 1000 (`LMDB`) or one by one (`RocksDB`), then reads.
fn load_and_read(identity: &WorkerIdentity) -> anyhow::Result<PeerRates> {
    let folder = scratch()?;
    let lmdb = identity.description.engine.name == "lmdb";
    let options = if lmdb {
        // Its benchmark leaves readahead on, and that decides how large the pages in the cache are.
        let on = || Value::Text("on".to_owned());
        vec![("writemap", on()), ("readahead", Value::Boolean(true))]
    } else {
        vec![
            ("block_cache", Value::Integer(1 << 30)),
            ("bloom_bits", Value::Integer(10)),
            ("compression", Value::Text("none".to_owned())),
            ("settle", Value::Text("compact".to_owned())),
        ]
    };
    let batch = if lmdb { 1000 } else { 1 };
    let phase = |name: &str, work| Phase { name: name.to_owned(), work };
    let load = Load { order: LoadOrder::Sequential, batch, threads: 1 };
    let solo = Solo {
        worker: identity,
        options,
        durability: Durability::Async,
        data: small_records(RECORDS),
        phases: vec![
            phase("load", Work::Load(load)),
            phase("settle", Work::Settle { limit_ns: 60 * SECOND }),
            phase("warmup", Work::Warmup(random_reads(1, SECOND / 2))),
            phase("measure", Work::Measure(random_reads(1, 2 * SECOND))),
        ],
        folder: folder.path(),
    };
    let outcomes = solo.run()?;
    check_found(&outcomes)?;
    Ok(PeerRates { load_per_s: items_per_s(&outcomes[0]), read_per_s: items_per_s(&outcomes[3]) })
}

fn check_found(outcomes: &[Outcome]) -> anyhow::Result<()> {
    let Some(Outcome { finished: Event::Finished { roles, .. }, .. }) = outcomes.last() else {
        anyhow::bail!("no phase");
    };
    ensure!(roles[0].ops.values().all(|op| op.missing == 0 && op.found > 0), "keys are missing");
    Ok(())
}

fn lmdb_peer(folder: &Path) -> anyhow::Result<Option<PeerRates>> {
    let arguments = [
        "--num=1000000",
        "--value_size=100",
        "--batch=1000",
        "--benchmarks=fillseqbatch,readrandom,readrandom",
    ];
    let Some(text) = output("t_lmdb", &arguments, folder)? else { return Ok(None) };
    let load_per_s = rate(&text, "fillseqbatch", 0)?;
    Ok(Some(PeerRates { load_per_s, read_per_s: rate(&text, "readrandom", 1)? }))
}

fn rocksdb_peer(folder: &Path) -> anyhow::Result<Option<PeerRates>> {
    let arguments = [
        "--benchmarks=fillseq,compact,readrandom,readrandom",
        "--num=1000000",
        "--key_size=16",
        "--value_size=100",
        "--compression_type=none",
        "--bloom_bits=10",
        "--cache_size=1073741824",
        "--cache_type=lru_cache",
    ];
    let Some(text) = output("db_bench", &arguments, folder)? else { return Ok(None) };
    Ok(Some(PeerRates {
        load_per_s: rate(&text, "fillseq", 0)?,
        read_per_s: rate(&text, "readrandom", 1)?,
    }))
}

fn output(program: &str, arguments: &[&str], folder: &Path) -> anyhow::Result<Option<String>> {
    let database = format!("--db={}", folder.join("peer").display());
    // `t_lmdb` begins a benchmark as soon as it has read its name: the database comes first.
    match Command::new(program).arg(database).args(arguments).output() {
        Ok(output) => {
            let text = [output.stdout, output.stderr].concat();
            Ok(Some(String::from_utf8_lossy(&text).into_owned()))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The operations per second in the `nth` line of a test: both peers print `N ops/sec`.
fn rate(text: &str, test: &str, nth: usize) -> anyhow::Result<f64> {
    let mut lines = text
        .lines()
        .filter(|line| line.split_whitespace().next() == Some(test) && line.contains("ops/sec"));
    let line = lines.nth(nth).with_context(|| format!("no line of {test} in:\n{text}"))?;
    let words: Vec<&str> = line.split_whitespace().collect();
    let at = words.iter().position(|word| word.starts_with("ops/sec")).context("no rate")?;
    Ok(words[at - 1].parse()?)
}

fn identity(name: &str) -> anyhow::Result<WorkerIdentity> {
    let path = workers::find(name)?;
    let description = workers::describe(&path)?;
    ensure!(!description.debug_build, "{} is a debug build", path.display());
    Ok(WorkerIdentity { path, sha256: String::new(), description })
}

fn scratch() -> anyhow::Result<tempfile::TempDir> {
    // Not /tmp, which may lie in memory.
    Ok(tempfile::Builder::new().prefix("kvdyno-bench-").tempdir_in("/var/tmp")?)
}

/// One reading of the clock that the hot loop uses on this architecture.
fn clock_ns() -> f64 {
    const READINGS: u32 = 5_000_000;
    let started = Instant::now();
    for _ in 0..READINGS {
        #[cfg(target_arch = "x86_64")]
        #[expect(unsafe_code, reason = "the counter's only door")]
        // SAFETY: RDTSC reads a register; it has no precondition on x86-64.
        std::hint::black_box(unsafe { core::arch::x86_64::_rdtsc() });
        #[cfg(not(target_arch = "x86_64"))]
        std::hint::black_box(Instant::now());
    }
    started.elapsed().as_nanos() as f64 / f64::from(READINGS)
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
