//! Ranges by hand: the C calls that read one, on a database that the worker has loaded. What
//! `make bench` compares the worker with.
//!
//!     ranges DIRECTORY RECORDS LENGTH SECONDS
//!
//! Each range begins with a random key (16 hexadecimal digits), in a transaction of its own, and
//! each value is read on every cache line, as the worker reads it. Nothing is timed but the whole.

#![expect(clippy::print_stdout, reason = "a bench prints")]
#![expect(unsafe_code, reason = "C calls")]

use lmdb_master_sys as ffi;
use std::ffi::CString;
use std::hint::black_box;
use std::ptr::null_mut;
use std::time::{Duration, Instant};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [directory, numbers @ ..] = arguments.as_slice() else { panic!("no directory") };
    let numbers: Vec<u64> = numbers.iter().map(|word| word.parse().expect("a number")).collect();
    let [records, length, seconds] = numbers[..] else { panic!("three numbers") };
    let mut hand = Hand::open(directory);
    let mut state = 1;
    let mut ranges_in = |time: Duration| {
        let (started, mut ranges) = (Instant::now(), 0u64);
        while started.elapsed() < time {
            let number = next(&mut state) % records;
            let shown = hand.range(&format!("{number:016x}"), length);
            assert_eq!(shown, length.min(records - number), "records are missing");
            ranges += 1;
        }
        ranges as f64 / started.elapsed().as_secs_f64()
    };
    ranges_in(Duration::from_millis(500));
    let per_s = ranges_in(Duration::from_secs(seconds));
    println!("ranges : {per_s:.3} ops/sec");
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

struct Hand {
    txn: *mut ffi::MDB_txn,
    cursor: *mut ffi::MDB_cursor,
}

impl Hand {
    /// Left open until the process ends.
    fn open(directory: &str) -> Self {
        let path = CString::new(directory).expect("a plain path");
        let (mut env, mut dbi) = (null_mut(), 0);
        let mut hand = Self { txn: null_mut(), cursor: null_mut() };
        let flags = ffi::MDB_RDONLY | ffi::MDB_NOTLS;
        // SAFETY: out parameters and live handles, in the order that lmdb.h asks for.
        unsafe {
            assert_eq!(0, ffi::mdb_env_create(&raw mut env));
            assert_eq!(0, ffi::mdb_env_open(env, path.as_ptr(), flags, 0o644));
            assert_eq!(0, ffi::mdb_txn_begin(env, null_mut(), ffi::MDB_RDONLY, &raw mut hand.txn));
            assert_eq!(0, ffi::mdb_dbi_open(hand.txn, std::ptr::null(), 0, &raw mut dbi));
            assert_eq!(0, ffi::mdb_cursor_open(hand.txn, dbi, &raw mut hand.cursor));
            ffi::mdb_txn_reset(hand.txn);
        }
        hand
    }

    /// Reads `length` records from `first` on; gives how many there were.
    #[inline(never)]
    fn range(&mut self, first: &str, length: u64) -> u64 {
        let mut key =
            ffi::MDB_val { mv_size: first.len(), mv_data: first.as_ptr().cast_mut().cast() };
        let mut value = ffi::MDB_val { mv_size: 0, mv_data: null_mut() };
        let (mut shown, mut sum) = (0, 0);
        // SAFETY: the handles are live; keys and values are used before the cursor moves on.
        unsafe {
            assert_eq!(0, ffi::mdb_txn_renew(self.txn));
            assert_eq!(0, ffi::mdb_cursor_renew(self.txn, self.cursor));
            let (key, value) = (&raw mut key, &raw mut value);
            let mut rc = ffi::mdb_cursor_get(self.cursor, key, value, ffi::MDB_SET_RANGE);
            while rc == 0 {
                sum ^= touch(std::slice::from_raw_parts((*value).mv_data.cast(), (*value).mv_size));
                shown += 1;
                if shown == length {
                    break;
                }
                rc = ffi::mdb_cursor_get(self.cursor, key, value, ffi::MDB_NEXT);
            }
            ffi::mdb_txn_reset(self.txn);
        }
        black_box(sum);
        shown
    }
}
