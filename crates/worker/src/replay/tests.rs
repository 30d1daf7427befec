//! What is dealt, to whom and in which order.

use super::*;

use crate::kind::Supply as _;
use crate::scripted::{Scripted, supply};
use crate::source::Source;
use kvdyno_record::workload::{Choice, MixEntry};
use kvdyno_trace::{Format, Header, Kind, Times, TraceWriter};
use std::path::Path;

const MS: u64 = 1_000_000;

/// Request `n` is made at `n` ms, to `key(n)`, with `n + 1` bytes.
fn written(path: &Path, requests: u64, key: impl Fn(u64) -> u64) -> (Replay, Role) {
    let header = Header::new(Kind::Keys, Format::Twitter, "t", Times::Exact);
    let mut writer = TraceWriter::create(path, header).unwrap();
    for n in 0..requests {
        let op = if n.is_multiple_of(3) { Op::Put } else { Op::Get };
        let (at_ns, key, value_bytes) = (n * MS, key(n), n + 1);
        let request =
            Request { at_ns, op, joined: false, key, key_bytes: 8, value_bytes, client: 0 };
        writer.write(request).unwrap();
    }
    let header = writer.finish().unwrap();
    let replay = Replay {
        file: path.to_owned(),
        digest: TraceReader::open(path).unwrap().digest().unwrap(),
        requests,
        keys: header.keys,
        value_bytes_max: header.value_bytes_max,
        speed: None,
    };
    let entry = |recorded: Op| {
        let op = kvdyno_record::replay::operation(recorded.name()).unwrap();
        MixEntry { op, weight: 1.0, keys: Choice::Uniform }
    };
    (replay, Role::new("clients", 1, vec![entry(Op::Get), entry(Op::Put)]))
}

/// All that each of `threads` prepares: numbers, slots and times.
fn dealt(replay: &Replay, role: &Role, threads: u64, most: u64) -> Vec<Vec<(u64, u8, u64)>> {
    let rngs = (0..threads).map(|thread| Rng::new(&[thread]));
    let (dealer, hands) = open(replay, role, most, &supply(), rngs).unwrap();
    std::thread::scope(|scope| {
        let dealing = scope.spawn(move || dealer.run(Scripted));
        let prepare = |dealt: Dealt| {
            let (mut source, mut block) = (Source::Trace(dealt), KeyedBlock::default());
            let mut all = Vec::new();
            // The first time there may be nothing yet.
            source.fill(&mut block, 16);
            loop {
                for (at, step) in block.steps.iter().enumerate() {
                    let number = block.data.numbers[step.action.first as usize];
                    all.push((number, step.slot, block.due.get(at).copied().unwrap_or(0)));
                    assert_eq!(step.write_bytes > 0, step.slot == 1);
                }
                if !source.fill(&mut block, 100) {
                    return all;
                }
            }
        };
        let hands: Vec<_> = hands.into_iter().map(|d| scope.spawn(move || prepare(d))).collect();
        let all = hands.into_iter().map(|hand| hand.join().unwrap()).collect();
        dealing.join().unwrap().unwrap();
        all
    })
}

#[test]
fn each_key_has_one_thread_and_its_order() {
    let folder = tempfile::tempdir().unwrap();
    let key = |n: u64| n * n % 101;
    let (replay, role) = written(&folder.path().join("t"), 150_000, key);
    let alone = dealt(&replay, &role, 1, 150_000).remove(0);
    assert_eq!(alone.len(), 150_000);
    assert!(alone.iter().zip(0..).all(|((number, slot, _), n)| {
        *number == key(n) && *slot == u8::from(n.is_multiple_of(3))
    }));
    let apart = dealt(&replay, &role, 4, 150_000);
    assert!(apart.iter().all(|one| one.len() > 10_000), "all have some");
    for number in 0..101 {
        let of = |all: &[(u64, u8, u64)]| -> Vec<u8> {
            all.iter().filter(|asked| asked.0 == number).map(|asked| asked.1).collect()
        };
        let those: Vec<_> = apart.iter().map(|one| of(one)).filter(|o| !o.is_empty()).collect();
        assert!(those.len() <= 1);
        assert_eq!(those.concat(), of(&alone));
    }
    assert_eq!(dealt(&replay, &role, 2, 1_234).concat().len(), 1_234);
}

/// A key that all ask for is one thread's: the others have nothing, and hold up nobody.
#[test]
fn threads_without_a_key_wait_for_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let (replay, role) = written(&folder.path().join("t"), 300_000, |_| 7);
    let all = dealt(&replay, &role, 3, 300_000);
    assert_eq!(all.concat().len(), 300_000);
    assert_eq!(all.iter().filter(|one| one.is_empty()).count(), 2);
}

#[test]
fn by_its_times_a_request_is_due_and_what_is_left_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let (replay, role) = written(&folder.path().join("t"), 1_000, |n| n);
    let replay = Replay { speed: Some(2.0), ..replay };
    let all = dealt(&replay, &role, 1, 1_000).remove(0);
    assert!(all.iter().zip(0..).all(|((_, _, due), n)| *due == n * MS / 2));

    let rngs = std::iter::once(Rng::new(&[1]));
    let (dealer, mut hands) = open(&replay, &role, 1_000, &supply(), rngs).unwrap();
    let dealing = std::thread::spawn(move || dealer.run(Scripted));
    let (mut hand, mut block) = (hands.remove(0), KeyedBlock::default());
    hand.fill(&mut block, 16);
    // Half a millisecond apart: those of one.
    assert_eq!(block.steps.len(), 3);
    assert_eq!(hand.left_until(100 * MS), 200 - 3);
    drop(hand);
    dealing.join().unwrap().unwrap();
}

#[test]
fn a_trace_that_is_another_now_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (replay, role) = written(&folder.path().join("t"), 10, |n| n);
    written(&folder.path().join("t"), 10, |n| n + 1);
    let refused = open(&replay, &role, 10, &supply(), std::iter::empty()).map(|_| ()).unwrap_err();
    assert!(refused.to_string().contains("not the trace that was planned with"), "{refused}");
}
