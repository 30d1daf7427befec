//! Ranges whose end the engine is told (`iterate_upper_bound`), through the adapter, on a database
//! that the worker has loaded: what `make bench` compares with `db_bench`'s seekrandom.
//!
//!     bounds LIBRARY DIRECTORY RECORDS LENGTH SECONDS
//!
//! Keys are `db_bench`'s, of 16 bytes, so that both read one database. Each value is read on every
//! cache line, as the worker reads it. Nothing is timed but the whole.

#![expect(clippy::print_stdout, reason = "a bench prints")]

#[path = "../src/api.rs"]
mod api;
#[path = "../src/cache.rs"]
mod cache;
#[path = "../src/calls.rs"]
mod calls;
#[path = "../src/cursor.rs"]
mod cursor;
#[path = "../src/database.rs"]
mod database;
#[path = "../src/describe.rs"]
mod describe;
#[path = "../src/engine.rs"]
mod engine;
#[path = "../src/events.rs"]
mod events;
#[path = "../src/existing.rs"]
mod existing;
#[path = "../src/facts.rs"]
mod facts;
#[path = "../src/families.rs"]
mod families;
#[path = "../src/library.rs"]
mod library;
#[path = "../src/log.rs"]
mod log;
#[path = "../src/owned.rs"]
mod owned;
#[path = "../src/presets.rs"]
mod presets;
#[path = "../src/samples.rs"]
mod samples;
#[path = "../src/session.rs"]
mod session;
#[path = "../src/transactions.rs"]
mod transactions;

use engine::RocksDb;
use kvdyno_engine::{
    DataShape, Direction, Durability, Engine, Error, Location, Options, Range, Session, Value,
};
use std::hint::black_box;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

fn main() -> Result<(), Error> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [library, directory, numbers @ ..] = arguments.as_slice() else { panic!("two paths") };
    let numbers: Vec<u64> = numbers.iter().map(|word| word.parse().expect("a number")).collect();
    let [records, length, seconds] = numbers[..] else { panic!("three numbers") };
    RocksDb::use_library(Some(Path::new(library)))?;
    let engine = open(directory, records)?;
    let mut session = engine.session()?;
    ranges_in(&mut session, Duration::from_millis(500), (records, length))?;
    let per_s = ranges_in(&mut session, Duration::from_secs(seconds), (records, length))?;
    println!("bounds : {per_s:.3} ops/sec");
    drop(session);
    engine.close()
}

/// As `make bench` has `db_bench` open it.
fn open(directory: &str, records: u64) -> Result<RocksDb, Error> {
    let data = DataShape::uniform(records, 16, 100);
    let mut options = Options::defaults(&RocksDb::describe(), Durability::Async);
    options.values.insert("block_cache".to_owned(), Value::Integer(1 << 30));
    // As db_bench's threads.
    options.values.insert("perf_level".to_owned(), Value::Text("disable".to_owned()));
    options.values.insert("bloom_bits".to_owned(), Value::Integer(10));
    options.values.insert("compression".to_owned(), Value::Text("none".to_owned()));
    RocksDb::open(&Location::Directory(directory.into()), &options, &data)
}

/// Ranges a second.
fn ranges_in(
    session: &mut impl Session,
    time: Duration,
    (records, length): (u64, u64),
) -> Result<f64, Error> {
    let (started, mut state, mut sum, mut ranges) = (Instant::now(), 1, 0, 0u64);
    while started.elapsed() < time {
        let number = next(&mut state) % records;
        let (from, until) = (key(number), key(records.min(number + length)));
        let range = Range::all(Direction::Forward).from(&from).until(&until);
        let shown = session.scan(range, |_, value| {
            sum ^= touch(value);
            ControlFlow::Continue(())
        })?;
        assert_eq!(shown, length.min(records - number), "records are missing");
        ranges += 1;
    }
    black_box(sum);
    Ok(ranges as f64 / started.elapsed().as_secs_f64())
}

/// As `db_bench` writes it.
fn key(number: u64) -> [u8; 16] {
    let mut key = [b'0'; 16];
    key[..8].copy_from_slice(&number.to_be_bytes());
    key
}

/// `SplitMix64`.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// One word of each cache line, and the last byte.
fn touch(value: &[u8]) -> u64 {
    let words = value.chunks(64).filter_map(|line| line.first_chunk());
    words.fold(value.last().copied().unwrap_or_default().into(), |sum, word: &[u8; 8]| {
        sum ^ u64::from_le_bytes(*word)
    })
}
