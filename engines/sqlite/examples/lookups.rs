//! What a push-style `get` costs: `Session::get` against the same C calls written by hand, on the
//! same `SQLite` database, interleaved. Prints medians and their ratio.
//!
//!     cargo run --release -p kvdyno-sqlite --example lookups -- DIRECTORY

#![expect(clippy::print_stdout, reason = "a bench prints")]
#![expect(unsafe_code, reason = "the loop by hand is C calls")]

#[path = "../src/checkpoints.rs"]
mod checkpoints;
#[path = "../src/connection.rs"]
mod connection;
#[path = "../src/describe.rs"]
mod describe;
#[path = "../src/engine.rs"]
mod engine;
#[path = "../src/session.rs"]
mod session;
#[path = "../src/statement.rs"]
mod statement;

use engine::Sqlite;
use kvdyno_engine::{DataShape, Durability, Engine, Error, Options, Place, Session, Write};
use libsqlite3_sys as ffi;
use std::ffi::CString;
use std::hint::black_box;
use std::path::Path;
use std::ptr::null_mut;
use std::time::{Duration, Instant};

const RECORDS: u64 = 1_000_000;
const BLOCK: usize = 1000;
const BLOCKS_PER_ROUND: u64 = 100;
const ROUNDS: usize = 21;
/// All of it.
const CACHE_KIB: u64 = 512 << 10;

type Key = [u8; 16];

fn main() -> Result<(), Error> {
    let argument = std::env::args().nth(1).unwrap_or_else(|| "/tmp/kvdyno-push-get".to_owned());
    let directory = Path::new(&argument);
    std::fs::create_dir_all(directory)?;
    let mut times_of = [const { Vec::new() }; 2];
    let engine = open(directory)?;
    load(&engine)?;
    engine.close()?;
    for round in 0..ROUNDS {
        // Opened in turn, so that neither has the other's shared memory.
        let engine = open(directory)?;
        let mut session = engine.session()?;
        times_of[0].push(timed(round, |keys| by_trait(&mut session, keys)));
        drop(session);
        engine.close()?;
        let mut hand = Hand::open(directory);
        times_of[1].push(timed(round, |keys| hand.by_statement(keys)));
    }
    let medians = times_of.map(|mut times| {
        times.sort_unstable();
        times[times.len() / 2]
    });
    let names = ["Session::get", "by hand, sqlite3_step"];
    for (name, median) in names.iter().zip(medians) {
        let per_get = median.as_nanos() as f64 / (BLOCKS_PER_ROUND as f64 * BLOCK as f64);
        let ratio = medians[0].as_secs_f64() / median.as_secs_f64();
        println!("{per_get:8.1} ns  Session::get takes {ratio:.3} of it  {name}");
    }
    Ok(())
}

fn open(directory: &Path) -> Result<Sqlite, Error> {
    let data = DataShape {
        records: RECORDS,
        records_max: RECORDS,
        key_bytes: 16,
        value_bytes_mean: 100,
        value_bytes_max: 100,
        sessions: 1,
        depth: 1,
    };
    let mut options = Options::defaults(&Sqlite::describe(), Durability::Async);
    options.values.insert("cache_size".to_owned(), (CACHE_KIB << 10).into());
    Sqlite::open(&Place::Directory(directory.to_owned()), &options, &data)
}

fn load(engine: &Sqlite) -> Result<(), Error> {
    let mut session = engine.session()?;
    let value = [b'v'; 100];
    for first in (0..RECORDS).step_by(BLOCK) {
        let keys: Vec<Key> = (first..first + BLOCK as u64).map(key).collect();
        let writes: Vec<_> = keys.iter().map(|key| Write::Put { key, value: &value }).collect();
        session.write(&writes)?;
    }
    Ok(())
}

fn key(number: u64) -> Key {
    let mut key = [0; 16];
    key[8..].copy_from_slice(&number.to_be_bytes());
    key
}

/// Random keys, the same for each contender of a round, prepared before the clock starts. A first
/// pass, not counted, warms the caches.
fn timed(round: usize, mut get_all: impl FnMut(&[Key])) -> Duration {
    pass(round, &mut get_all);
    pass(round, &mut get_all)
}

fn pass(round: usize, get_all: &mut impl FnMut(&[Key])) -> Duration {
    let mut state = round as u64;
    let mut took = Duration::ZERO;
    for _ in 0..BLOCKS_PER_ROUND {
        let keys: Vec<Key> = (0..BLOCK).map(|_| key(next(&mut state) % RECORDS)).collect();
        let start = Instant::now();
        get_all(&keys);
        took += start.elapsed();
    }
    took
}

/// `SplitMix64`.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn touch(value: &[u8]) -> u64 {
    value.iter().map(|&byte| u64::from(byte)).sum()
}

#[inline(never)]
fn by_trait(session: &mut impl Session, keys: &[Key]) {
    let mut sum = 0;
    for key in keys {
        match session.get(key, |value| value.map(touch)) {
            Ok(Some(touched)) => sum += touched,
            other => panic!("{other:?}"),
        }
    }
    black_box(sum);
}

/// The same calls without the trait, the closure, or the types of the adapter.
struct Hand {
    db: *mut ffi::sqlite3,
    get: *mut ffi::sqlite3_stmt,
}

impl Hand {
    fn open(directory: &Path) -> Self {
        let path = directory.join("kv.sqlite");
        let path = CString::new(path.as_os_str().as_encoded_bytes()).expect("a plain path");
        let mut hand = Self { db: null_mut(), get: null_mut() };
        let flags = ffi::SQLITE_OPEN_READWRITE | ffi::SQLITE_OPEN_NOMUTEX;
        let set = CString::new(format!("PRAGMA cache_size = -{CACHE_KIB}")).expect("plain");
        let sql = c"SELECT v FROM kv WHERE k = ?1";
        let (null, none) = (std::ptr::null(), null_mut());
        // SAFETY: out parameters, C strings that outlive their calls, and live handles.
        unsafe {
            assert_eq!(0, ffi::sqlite3_open_v2(path.as_ptr(), &raw mut hand.db, flags, null));
            assert_eq!(0, ffi::sqlite3_exec(hand.db, set.as_ptr(), None, none, null_mut()));
            let get = &raw mut hand.get;
            let persistent = ffi::SQLITE_PREPARE_PERSISTENT;
            let prepare = ffi::sqlite3_prepare_v3;
            assert_eq!(0, prepare(hand.db, sql.as_ptr(), -1, persistent, get, null_mut()));
        }
        hand
    }

    #[inline(never)]
    fn by_statement(&mut self, keys: &[Key]) {
        let mut sum = 0;
        for key in keys {
            // SAFETY: the handles are live; key and value are used before the statement is reset.
            unsafe {
                let key = key.as_ptr().cast();
                assert_eq!(0, ffi::sqlite3_bind_blob(self.get, 1, key, 16, ffi::SQLITE_STATIC()));
                assert_eq!(ffi::SQLITE_ROW, ffi::sqlite3_step(self.get));
                let value = ffi::sqlite3_column_blob(self.get, 0).cast();
                let length = ffi::sqlite3_column_bytes(self.get, 0) as usize;
                sum += touch(std::slice::from_raw_parts(value, length));
                ffi::sqlite3_reset(self.get);
            }
        }
        black_box(sum);
    }
}

impl Drop for Hand {
    fn drop(&mut self) {
        // SAFETY: each handle is live and closed once, the connection after its statement.
        unsafe {
            ffi::sqlite3_finalize(self.get);
            ffi::sqlite3_close(self.db);
        }
    }
}
