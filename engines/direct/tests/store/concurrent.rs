//! Many operations in flight, in few blocks, from several sessions: none is lost.

use crate::bench_location::{Bench, assert_all, key, value};
use kvdyno_direct::Direct;
use kvdyno_engine::{Durability, Engine, Session, Value};

const RECORDS: u64 = 128;
const VERSIONS: u64 = 20;

/// Puts all versions of this thread's records in order, as many in flight as there are tickets.
fn write_own(engine: &Direct, thread: u64, threads: u64, depth: u32) {
    let mut session = engine.session().unwrap();
    let mut free: Vec<u32> = (0..depth).collect();
    for version in 1..=VERSIONS {
        for number in (thread..RECORDS).step_by(threads as usize) {
            while free.is_empty() {
                session.send().unwrap();
                session
                    .complete(|ticket, result| {
                        result.unwrap();
                        free.push(ticket);
                    })
                    .unwrap();
            }
            let ticket = free.pop().unwrap();
            session.submit_put(ticket, &key(number), &value(number, version)).unwrap();
        }
        while session
            .complete(|ticket, result| {
                assert_eq!(result, Ok(None));
                free.push(ticket);
            })
            .unwrap()
            > 0
        {}
        assert_eq!(free.len(), depth as usize);
    }
}

fn nothing_is_lost(durability: Durability, pack: u64, mirrored: bool) {
    const THREADS: u64 = 3;
    const DEPTH: u32 = 16;
    let mut bench = Bench::new(durability, pack, mirrored);
    bench.shape.records_max = RECORDS;
    bench.shape.depth = DEPTH;
    let engine = bench.open().unwrap();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let engine = &engine;
            scope.spawn(move || write_own(engine, thread, THREADS, DEPTH));
        }
    });
    assert_all(&engine, 0..RECORDS, VERSIONS);
    engine.close().unwrap();
    assert_all(&bench.open().unwrap(), 0..RECORDS, VERSIONS);
}

#[test]
fn neighbours_in_a_block() {
    nothing_is_lost(Durability::Async, 64, false);
}

#[test]
fn neighbours_in_a_block_in_class_commit() {
    nothing_is_lost(Durability::Commit, 64, false);
}

#[test]
fn neighbours_in_a_mirrored_block() {
    nothing_is_lost(Durability::Commit, 16, true);
}

#[test]
fn a_record_a_block() {
    nothing_is_lost(Durability::Async, 1, true);
}

/// Blocks so large that the journal holds fewer of them than there are commits in flight.
#[test]
fn more_commits_than_the_journal_holds() {
    const BYTES: usize = 200_000;
    const DEPTH: u32 = 30;
    let mut bench = Bench::new(Durability::Commit, 1, false);
    bench.shape.records_max = 60;
    bench.shape.value_bytes_max = BYTES as u64;
    bench.shape.depth = DEPTH;
    let engine = bench.open().unwrap();
    let mut session = engine.session().unwrap();
    for first in [0, u64::from(DEPTH)] {
        for ticket in 0..DEPTH {
            let number = first + u64::from(ticket);
            session.submit_put(ticket, &key(number), &vec![number as u8; BYTES]).unwrap();
        }
        let mut answered = 0;
        while answered < DEPTH as usize {
            answered += session.complete(|_, result| assert_eq!(result, Ok(None))).unwrap();
        }
    }
    for number in 0..60 {
        let equal = session.get(&key(number), |value| value == Some(&vec![number as u8; BYTES]));
        assert_eq!(equal, Ok(true), "record {number}");
    }
    drop(session);
    let waited = engine.counters()["journal_full"].clone();
    assert!(matches!(waited, Value::Integer(1..)), "{waited}");
}
