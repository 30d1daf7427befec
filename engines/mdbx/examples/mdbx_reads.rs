//! What a push-style `get` costs: `Session::get` against the same C calls written by hand, on the
//! same environment of libmdbx, in turns.
//!
//!     cargo run --release -p kvdyno-mdbx --example mdbx_reads -- DIRECTORY

#![expect(clippy::print_stdout, reason = "a bench prints")]
#![expect(unsafe_code, reason = "the loop by hand is C calls")]

#[path = "../../lmdb/src/cursor.rs"]
mod cursor;
#[path = "../src/describe.rs"]
mod describe;
#[path = "../src/engine.rs"]
mod engine;
#[path = "../src/library.rs"]
mod library;
#[path = "../src/raw.rs"]
mod raw;
#[path = "../../lmdb/src/session.rs"]
mod session;
#[path = "../../lmdb/src/size.rs"]
mod size;
#[path = "../src/value.rs"]
mod value;

use engine::Mdbx;
use kvdyno_engine::{Durability, Engine, Error};
use kvdyno_testing::turns::{self, Key, ROUNDS, Turns, time_adapter, time_warm_reads, touch};
use library::ffi;
use std::ffi::CString;
use std::path::Path;
use std::ptr::null_mut;

fn main() -> Result<(), Error> {
    let argument = std::env::args().nth(1).unwrap_or_else(|| "/var/tmp".to_owned());
    let dir = Path::new(&argument).join("kvdyno-mdbx-reads");
    let engine = open(&dir)?;
    turns::load(&engine)?;
    engine.close()?;
    let mut turns = Turns::new(["mdbx_get by hand", "cursor MDBX_SET by hand"]);
    for round in 0..ROUNDS {
        // Opened in turn: libmdbx must not be open twice in one process.
        let adapter = time_adapter(open(&dir)?, round)?;
        let mut hand = Hand::open(&dir);
        let by_get = time_warm_reads(round, |key| hand.by_mdbx_get(key));
        turns.add(adapter, [by_get, time_warm_reads(round, |key| hand.by_cursor(key))]);
    }
    println!("{turns}");
    Ok(std::fs::remove_dir_all(dir)?)
}

fn open(dir: &Path) -> Result<Mdbx, Error> {
    turns::open(dir, Durability::Async, &[])
}

/// The same calls without the trait, the closure, or the types of the adapter.
struct Hand {
    env: *mut ffi::MDBX_env,
    txn: *mut ffi::MDBX_txn,
    cursor: *mut ffi::MDBX_cursor,
    dbi: ffi::MDBX_dbi,
}

impl Hand {
    fn open(directory: &Path) -> Self {
        let path = CString::new(directory.as_os_str().as_encoded_bytes()).expect("a plain path");
        let mut hand = Self { env: null_mut(), txn: null_mut(), cursor: null_mut(), dbi: 0 };
        let flags = ffi::MDBX_SAFE_NOSYNC | ffi::MDBX_NORDAHEAD | ffi::MDBX_NOSTICKYTHREADS;
        let rdonly = ffi::MDBX_TXN_RDONLY as ffi::MDBX_txn_flags_t;
        // SAFETY: out parameters and live handles, in the order that mdbx.h asks for.
        unsafe {
            assert_eq!(0, ffi::mdbx_env_create(&raw mut hand.env));
            assert_eq!(0, ffi::mdbx_env_set_geometry(hand.env, -1, -1, 2 << 30, -1, -1, -1));
            assert_eq!(0, ffi::mdbx_env_open(hand.env, path.as_ptr(), flags, 0o644));
            let txn = &raw mut hand.txn;
            assert_eq!(0, ffi::mdbx_txn_begin_ex(hand.env, null_mut(), rdonly, txn, null_mut()));
            assert_eq!(0, ffi::mdbx_dbi_open(hand.txn, std::ptr::null(), 0, &raw mut hand.dbi));
            assert_eq!(0, ffi::mdbx_cursor_open(hand.txn, hand.dbi, &raw mut hand.cursor));
            ffi::mdbx_txn_reset(hand.txn);
        }
        hand
    }

    fn by_mdbx_get(&mut self, key: &Key) -> u64 {
        // SAFETY: the handles are live; the value is used before the transaction is reset.
        unsafe {
            let name = ffi::MDBX_val { iov_len: 16, iov_base: key.as_ptr().cast_mut().cast() };
            let mut value = ffi::MDBX_val { iov_len: 0, iov_base: null_mut() };
            assert_eq!(0, ffi::mdbx_txn_renew(self.txn));
            assert_eq!(0, ffi::mdbx_get(self.txn, self.dbi, &raw const name, &raw mut value));
            let touched = touch(std::slice::from_raw_parts(value.iov_base.cast(), value.iov_len));
            ffi::mdbx_txn_reset(self.txn);
            touched
        }
    }

    fn by_cursor(&mut self, key: &Key) -> u64 {
        // SAFETY: as above.
        unsafe {
            let mut name = ffi::MDBX_val { iov_len: 16, iov_base: key.as_ptr().cast_mut().cast() };
            let mut value = ffi::MDBX_val { iov_len: 0, iov_base: null_mut() };
            assert_eq!(0, ffi::mdbx_txn_renew(self.txn));
            assert_eq!(0, ffi::mdbx_cursor_bind(self.txn, self.cursor, self.dbi));
            let (name, value_out) = (&raw mut name, &raw mut value);
            assert_eq!(0, ffi::mdbx_cursor_get(self.cursor, name, value_out, ffi::MDBX_SET));
            let touched = touch(std::slice::from_raw_parts(value.iov_base.cast(), value.iov_len));
            ffi::mdbx_txn_reset(self.txn);
            touched
        }
    }
}

impl Drop for Hand {
    fn drop(&mut self) {
        // SAFETY: each handle is live and closed once, the environment after what lives in it.
        unsafe {
            ffi::mdbx_cursor_close(self.cursor);
            ffi::mdbx_txn_abort(self.txn);
            ffi::mdbx_env_close_ex(self.env, false);
        }
    }
}
