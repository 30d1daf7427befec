//! What a push-style `get` costs: `Session::get` against the same C calls written by hand, on the
//! same environment of libmdbx, interleaved. Prints medians and their ratio.
//!
//!     cargo run --release -p kvdyno-mdbx --example gets -- DIRECTORY

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
use kvdyno_engine::{DataShape, Durability, Engine, Error, Options, Place, Session, Write};
use kvdyno_testing::turns::{self, Key, RECORDS, ROUNDS, touch, warmed};
use library::ffi;
use std::ffi::CString;
use std::path::Path;
use std::ptr::null_mut;

const BATCH: u64 = 1000;
fn main() -> Result<(), Error> {
    let argument = std::env::args().nth(1).unwrap_or_else(|| "/tmp/kvdyno-push-get".to_owned());
    let directory = Path::new(&argument);
    std::fs::create_dir_all(directory)?;
    let mut times_of = [const { Vec::new() }; 3];
    let engine = open(directory)?;
    load(&engine)?;
    engine.close()?;
    for round in 0..ROUNDS {
        // Opened in turn: libmdbx must not be open twice in one process.
        let engine = open(directory)?;
        let mut session = engine.session()?;
        times_of[0].push(warmed(round, |key| by_trait(&mut session, key)));
        drop(session);
        engine.close()?;
        let mut hand = Hand::open(directory);
        times_of[1].push(warmed(round, |key| hand.by_mdbx_get(key)));
        times_of[2].push(warmed(round, |key| hand.by_cursor(key)));
    }
    let medians = times_of.map(turns::median);
    let names = ["Session::get", "by hand, mdbx_get", "by hand, cursor MDBX_SET"];
    for (name, median) in names.iter().zip(medians) {
        let per_get = turns::per_read(median);
        let ratio = medians[0].as_secs_f64() / median.as_secs_f64();
        println!("{per_get:8.1} ns  Session::get takes {ratio:.3} of it  {name}");
    }
    Ok(())
}

fn open(directory: &Path) -> Result<Mdbx, Error> {
    let data = DataShape {
        records: RECORDS,
        records_max: RECORDS,
        key_bytes: 16,
        value_bytes_mean: 100,
        value_bytes_max: 100,
        sessions: 1,
        depth: 1,
    };
    let options = Options::defaults(&Mdbx::describe(), Durability::Async);
    Mdbx::open(&Place::Directory(directory.to_owned()), &options, &data)
}

fn load(engine: &Mdbx) -> Result<(), Error> {
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
            let (name, found) = (&raw mut name, &raw mut value);
            assert_eq!(0, ffi::mdbx_cursor_get(self.cursor, name, found, ffi::MDBX_SET));
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
