//! LMDB and `RocksDB` against their own benchmarks, with the same data (1 M records, 16-byte keys,
//! 100-byte values, 1 thread, all in memory): LMDB's C benchmark (`t_lmdb`, of dbbench), which
//! records no latency, and `RocksDB`'s (`db_bench`). Neither checks or touches a value as a whole.

use super::tools::{identity, median, scratch};
use super::{Bench, REPEATS, SECOND};
use anyhow::{Context as _, ensure};
use kvdyno::running::runner::load_generator::{random_reads, small_records};
use kvdyno::running::runner::solo::{Outcome, Solo, items_per_s};
use kvdyno_record::case::WorkerIdentity;
use kvdyno_record::engine::{Durability, Location, Value};
use kvdyno_record::protocol::Event;
use kvdyno_record::workload::{Activity, Load, LoadOrder, Phase};
use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

const RECORDS: u64 = 1_000_000;

/// A peer's output, or nothing if it is not installed.
pub(crate) struct PeerRates {
    load_per_s: f64,
    read_per_s: f64,
}

impl Bench {
    pub(crate) fn engine(
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
            let dir = scratch()?;
            if let Some(theirs) = peer(dir.path())? {
                load_ratios.push(ours.load_per_s / theirs.load_per_s);
                read_ratios.push(ours.read_per_s / theirs.read_per_s);
            }
        }
        let what = format!("{RECORDS} x 16/100 bytes, 1 thread, median of {REPEATS}");
        self.report(&format!("{name} random reads"), median(&mut read), "ops/s", &what);
        self.report(&format!("{name} sequential load"), median(&mut loads), "records/s", &what);
        if read_ratios.is_empty() {
            println!("{name} against its own benchmark: not on PATH");
            return Ok(());
        }
        let what = "median of the ratios of interleaved repeats";
        self.report(
            &format!("{name} random reads over its own benchmark"),
            median(&mut read_ratios),
            "x",
            what,
        );
        self.report(
            &format!("{name} sequential load over its own benchmark"),
            median(&mut load_ratios),
            "x",
            what,
        );
        Ok(())
    }
}

/// Like the peers: ascending keys in batches of 1000 (`LMDB`) or one by one (`RocksDB`), then
/// reads.
fn load_and_read(identity: &WorkerIdentity) -> anyhow::Result<PeerRates> {
    let dir = scratch()?;
    let lmdb = identity.description.engine.name == "lmdb";
    let options = if lmdb {
        // Its benchmark leaves readahead on, which determines the size of the cache's pages.
        let on = || Value::Text("on".to_owned());
        vec![("writemap", on()), ("readahead", Value::Boolean(true))]
    } else {
        vec![
            ("block_cache", Value::Integer(1 << 30)),
            ("bloom_bits", Value::Integer(10)),
            ("compression", Value::Text("none".to_owned())),
            // Like db_bench's threads.
            ("perf_level", Value::Text("disable".to_owned())),
            ("settle", Value::Text("compact".to_owned())),
        ]
    };
    let batch = if lmdb { 1000 } else { 1 };
    let load = Load { order: LoadOrder::Sequential, batch, threads: 1, replay: None };
    let solo = Solo {
        worker: identity,
        options,
        durability: Durability::Async,
        data: small_records(RECORDS),
        phases: vec![
            Phase::new("load", Activity::Load(load)),
            Phase::new("settle", Activity::Settle { limit_ns: 60 * SECOND }),
            Phase::new("warmup", Activity::Warmup(random_reads(1, SECOND / 2))),
            Phase::new("measure", Activity::Measure(random_reads(1, 2 * SECOND))),
        ],
        location: Location::Directory(dir.path().to_owned()),
        dir: dir.path(),
    };
    let outcomes = solo.run()?;
    check_found(&outcomes)?;
    Ok(PeerRates { load_per_s: items_per_s(&outcomes[0]), read_per_s: items_per_s(&outcomes[3]) })
}

fn check_found(outcomes: &[Outcome]) -> anyhow::Result<()> {
    let Some(Outcome { finished: Event::Finished { roles, .. }, .. }) = outcomes.last() else {
        anyhow::bail!("no phase");
    };
    ensure!(roles[0].ops.values().all(|op| op.misses == 0 && op.hits > 0), "keys are missing");
    Ok(())
}

pub(crate) fn lmdb_peer(dir: &Path) -> anyhow::Result<Option<PeerRates>> {
    let arguments = [
        "--num=1000000",
        "--value_size=100",
        "--batch=1000",
        "--benchmarks=fillseqbatch,readrandom,readrandom",
    ];
    let Some(text) = peer("t_lmdb", &arguments, dir)? else { return Ok(None) };
    let load_per_s = rate(&text, "fillseqbatch", 0)?;
    Ok(Some(PeerRates { load_per_s, read_per_s: rate(&text, "readrandom", 1)? }))
}

pub(crate) fn rocksdb_peer(dir: &Path) -> anyhow::Result<Option<PeerRates>> {
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
    let Some(text) = peer("db_bench", &arguments, dir)? else { return Ok(None) };
    Ok(Some(PeerRates {
        load_per_s: rate(&text, "fillseq", 0)?,
        read_per_s: rate(&text, "readrandom", 1)?,
    }))
}

fn peer(program: &str, arguments: &[&str], dir: &Path) -> anyhow::Result<Option<String>> {
    let database = format!("--db={}", dir.join("peer").display());
    // `t_lmdb` starts a benchmark as soon as it reads its name: the database path comes first.
    let arguments = std::iter::once(database.as_str()).chain(arguments.iter().copied());
    output(Path::new(program), arguments)
}

/// The output of a program, or nothing if it is missing.
pub(crate) fn output(
    program: &Path,
    arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
) -> anyhow::Result<Option<String>> {
    match Command::new(program).args(arguments).output() {
        Ok(output) => {
            let text = [output.stdout, output.stderr].concat();
            Ok(Some(String::from_utf8_lossy(&text).into_owned()))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The operations per second in the `nth` line of a test: both peers print `N ops/sec`.
pub(crate) fn rate(text: &str, test: &str, nth: usize) -> anyhow::Result<f64> {
    let mut lines = text
        .lines()
        .filter(|line| line.split_whitespace().next() == Some(test) && line.contains("ops/sec"));
    let line = lines.nth(nth).with_context(|| format!("no line of {test} in:\n{text}"))?;
    let words: Vec<&str> = line.split_whitespace().collect();
    let at = words.iter().position(|word| word.starts_with("ops/sec")).context("no rate")?;
    Ok(words[at - 1].parse()?)
}
