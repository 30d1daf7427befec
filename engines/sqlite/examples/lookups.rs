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
use kvdyno_testing::turns::{self, Key, RECORDS, ROUNDS, touch, warmed};
use libsqlite3_sys as ffi;
use std::ffi::CString;
use std::path::Path;
use std::ptr::null_mut;

const BATCH: u64 = 1000;
/// All of it.
const CACHE_KIB: u64 = 512 << 10;

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
        times_of[0].push(warmed(round, |key| by_trait(&mut session, key)));
        drop(session);
        engine.close()?;
        let mut hand = Hand::open(directory);
        times_of[1].push(warmed(round, |key| hand.by_statement(key)));
    }
    let medians = times_of.map(turns::median);
    let names = ["Session::get", "by hand, sqlite3_step"];
    for (name, median) in names.iter().zip(medians) {
        let per_get = turns::per_read(median);
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
    for first in (0..RECORDS).step_by(BATCH as usize) {
        let keys: Vec<Key> = (first..first + BATCH).map(turns::key).collect();
        let writes: Vec<_> = keys.iter().map(|key| Write::Put { key, value: &value }).collect();
        session.write(&writes)?;
    }
    Ok(())
}

fn by_trait(session: &mut impl Session, key: &Key) -> u64 {
    match session.get(key, |value| value.map(touch)) {
        Ok(Some(touched)) => touched,
        other => panic!("{other:?}"),
    }
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

    fn by_statement(&mut self, key: &Key) -> u64 {
        // SAFETY: the handles are live; key and value are used before the statement is reset.
        unsafe {
            let key = key.as_ptr().cast();
            assert_eq!(0, ffi::sqlite3_bind_blob(self.get, 1, key, 16, ffi::SQLITE_STATIC()));
            assert_eq!(ffi::SQLITE_ROW, ffi::sqlite3_step(self.get));
            let value = ffi::sqlite3_column_blob(self.get, 0).cast();
            let length = ffi::sqlite3_column_bytes(self.get, 0) as usize;
            let touched = touch(std::slice::from_raw_parts(value, length));
            ffi::sqlite3_reset(self.get);
            touched
        }
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
