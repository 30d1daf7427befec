//! What a push-style `get` costs: `Session::get` against the same C calls written by hand, on the
//! same LMDB environment, in turns.
//!
//!     cargo run --release -p kvdyno-lmdb --example lmdb_reads -- DIRECTORY

#![expect(clippy::print_stdout, reason = "a bench prints")]
#![expect(unsafe_code, reason = "the loop by hand is C calls")]

#[path = "../src/cursor.rs"]
mod cursor;
#[path = "../src/database.rs"]
mod database;
#[path = "../src/describe.rs"]
mod describe;
#[path = "../src/device.rs"]
mod device;
#[path = "../src/engine.rs"]
mod engine;
#[path = "../src/library.rs"]
mod library;
#[path = "../src/raw.rs"]
mod raw;
#[path = "../src/session.rs"]
mod session;
#[path = "../src/size.rs"]
mod size;
#[path = "../src/value.rs"]
mod value;

use engine::Lmdb;
use kvdyno_engine::{Durability, Engine, Error};
use kvdyno_testing::turns::{self, Key, ROUNDS, Turns, time_adapter, time_warm_reads, touch};
use library::ffi;
use std::ffi::CString;
use std::path::Path;
use std::ptr::null_mut;

fn main() -> Result<(), Error> {
    let argument = std::env::args().nth(1).unwrap_or_else(|| "/var/tmp".to_owned());
    let dir = Path::new(&argument).join("kvdyno-lmdb-reads");
    let engine = open(&dir)?;
    turns::load(&engine)?;
    engine.close()?;
    let mut turns = Turns::new(["mdb_get by hand", "cursor MDB_SET by hand, as dbbench"]);
    for round in 0..ROUNDS {
        // Opened in turn: LMDB must not be open twice in one process.
        let adapter = time_adapter(open(&dir)?, round)?;
        let mut hand = Hand::open(&dir);
        let by_get = time_warm_reads(round, |key| hand.by_mdb_get(key));
        turns.add(adapter, [by_get, time_warm_reads(round, |key| hand.by_cursor(key))]);
    }
    println!("{turns}");
    Ok(std::fs::remove_dir_all(dir)?)
}

fn open(dir: &Path) -> Result<Lmdb, Error> {
    turns::open(dir, Durability::Async, &[])
}

/// The same calls without the trait, the closure, or the types of the adapter.
struct Hand {
    env: *mut ffi::MDB_env,
    txn: *mut ffi::MDB_txn,
    cursor: *mut ffi::MDB_cursor,
    dbi: ffi::MDB_dbi,
}

impl Hand {
    fn open(directory: &Path) -> Self {
        let path = CString::new(directory.as_os_str().as_encoded_bytes()).expect("a plain path");
        let mut hand = Self { env: null_mut(), txn: null_mut(), cursor: null_mut(), dbi: 0 };
        let flags = ffi::MDB_NOSYNC | ffi::MDB_NORDAHEAD | ffi::MDB_NOTLS;
        // SAFETY: out parameters and live handles, in the order that lmdb.h asks for.
        unsafe {
            assert_eq!(0, ffi::mdb_env_create(&raw mut hand.env));
            assert_eq!(0, ffi::mdb_env_set_mapsize(hand.env, 2 << 30));
            assert_eq!(0, ffi::mdb_env_open(hand.env, path.as_ptr(), flags, 0o644));
            let rdonly = ffi::MDB_RDONLY;
            assert_eq!(0, ffi::mdb_txn_begin(hand.env, null_mut(), rdonly, &raw mut hand.txn));
            assert_eq!(0, ffi::mdb_dbi_open(hand.txn, std::ptr::null(), 0, &raw mut hand.dbi));
            assert_eq!(0, ffi::mdb_cursor_open(hand.txn, hand.dbi, &raw mut hand.cursor));
            ffi::mdb_txn_reset(hand.txn);
        }
        hand
    }

    fn by_mdb_get(&mut self, key: &Key) -> u64 {
        // SAFETY: the handles are live; the value is used before the transaction is reset.
        unsafe {
            let mut name = ffi::MDB_val { mv_size: 16, mv_data: key.as_ptr().cast_mut().cast() };
            let mut value = ffi::MDB_val { mv_size: 0, mv_data: null_mut() };
            assert_eq!(0, ffi::mdb_txn_renew(self.txn));
            assert_eq!(0, ffi::mdb_get(self.txn, self.dbi, &raw mut name, &raw mut value));
            let touched = touch(std::slice::from_raw_parts(value.mv_data.cast(), value.mv_size));
            ffi::mdb_txn_reset(self.txn);
            touched
        }
    }

    fn by_cursor(&mut self, key: &Key) -> u64 {
        // SAFETY: as above.
        unsafe {
            let mut name = ffi::MDB_val { mv_size: 16, mv_data: key.as_ptr().cast_mut().cast() };
            let mut value = ffi::MDB_val { mv_size: 0, mv_data: null_mut() };
            assert_eq!(0, ffi::mdb_txn_renew(self.txn));
            assert_eq!(0, ffi::mdb_cursor_renew(self.txn, self.cursor));
            let (name, value_out) = (&raw mut name, &raw mut value);
            assert_eq!(0, ffi::mdb_cursor_get(self.cursor, name, value_out, ffi::MDB_SET));
            let touched = touch(std::slice::from_raw_parts(value.mv_data.cast(), value.mv_size));
            ffi::mdb_txn_reset(self.txn);
            touched
        }
    }
}

impl Drop for Hand {
    fn drop(&mut self) {
        // SAFETY: each handle is live and closed once, the environment after what lives in it.
        unsafe {
            ffi::mdb_cursor_close(self.cursor);
            ffi::mdb_txn_abort(self.txn);
            ffi::mdb_env_close(self.env);
        }
    }
}
