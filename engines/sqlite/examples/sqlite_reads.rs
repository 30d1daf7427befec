//! What a push-style `get` costs: `Session::get` against the same C calls written by hand, on the
//! same `SQLite` database, in turns.
//!
//!     cargo run --release -p kvdyno-sqlite --example sqlite_reads -- DIRECTORY

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
#[path = "../src/table.rs"]
mod table;

use engine::Sqlite;
use kvdyno_engine::{Durability, Engine, Error};
use kvdyno_testing::turns::{self, Key, ROUNDS, Turns, time_adapter, time_warm_reads, touch};
use libsqlite3_sys as ffi;
use std::ffi::CString;
use std::path::Path;
use std::ptr::null_mut;

/// All of it.
const CACHE_KIB: u64 = 512 << 10;

fn main() -> Result<(), Error> {
    let argument = std::env::args().nth(1).unwrap_or_else(|| "/var/tmp".to_owned());
    let dir = Path::new(&argument).join("kvdyno-sqlite-reads");
    let engine = open(&dir)?;
    turns::load(&engine)?;
    engine.close()?;
    let mut turns = Turns::new(["sqlite3_step by hand"]);
    for round in 0..ROUNDS {
        // Opened in turn, so that neither has the other's shared memory.
        let adapter = time_adapter(open(&dir)?, round)?;
        let mut hand = Hand::open(&dir);
        turns.add(adapter, [time_warm_reads(round, |key| hand.by_statement(key))]);
    }
    println!("{turns}");
    Ok(std::fs::remove_dir_all(dir)?)
}

fn open(dir: &Path) -> Result<Sqlite, Error> {
    turns::open(dir, Durability::Async, &[("cache_size", (CACHE_KIB << 10).into())])
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
