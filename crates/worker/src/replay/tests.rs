//! The requests that are dealt, their threads and their order.

use super::*;

use crate::keyed::KeyedBlock;
use crate::kind::Supply as _;
use crate::scripted::{Scripted, supply};
use crate::source::Source;
use crate::values::Values;
use kvdyno_record::replay::OfDrive;
use kvdyno_record::workload::{Choice, Role};
use kvdyno_trace::{Format, Header, Kind, Times, TraceWriter};
use std::path::Path;

const MS: u64 = 1_000_000;

/// Writes a trace: request `n` is made at `n` ms, to `key(n)`, with `n + 1` bytes.
fn written(path: &Path, requests: u64, key: impl Fn(u64) -> u64) -> (Replay, Role) {
    let request = |n: u64| {
        let op = if n.is_multiple_of(3) { Op::Put } else { Op::Get };
        (op, key(n), n + 1)
    };
    written_as(path, Kind::Keys, (0..requests).map(request))
}

/// Writes a trace of requests with their keys and bytes.
fn written_as(
    path: &Path,
    kind: Kind,
    requests: impl Iterator<Item = (Op, u64, u64)>,
) -> (Replay, Role) {
    let header = Header::new(kind, Format::Twitter, "t", Times::Exact);
    let mut writer = TraceWriter::create(path, header).unwrap();
    for (n, (op, key, value_bytes)) in (0..).zip(requests) {
        let (at_ns, joined) = (n * MS, false);
        let (key_bytes, client, ttl_ns) = (8, 0, if op == Op::Put { 10 * MS } else { 0 });
        let request = Request { at_ns, op, joined, key, key_bytes, value_bytes, client, ttl_ns };
        writer.write(request).unwrap();
    }
    let header = writer.finish().unwrap();
    let drive = OfDrive { multiple_of: header.multiple_of, fold: false };
    let replay = Replay {
        file: path.to_owned(),
        digest: TraceReader::open(path).unwrap().digest().unwrap(),
        requests: header.requests,
        keys: header.keys,
        value_bytes_max: header.value_bytes_max,
        drive: (kind == Kind::Blocks).then_some(drive),
        recorded_ttl: false,
        speed: None,
    };
    let entry = |recorded: &Op| {
        let op = kvdyno_record::replay::operation(recorded.name()).unwrap();
        MixEntry::new(op, 1.0, Choice::Uniform)
    };
    (replay, Role::new("clients", 1, header.ops.keys().map(entry).collect()))
}

/// Returns everything that each of `threads` prepares: numbers, slots and times.
fn dealt(replay: &Replay, role: &Role, threads: u64, most: u64) -> Vec<Vec<(u64, u8, u64)>> {
    dealt_of(&Deal { requests: most, ..whole(replay, role, threads as u32) })
}

/// The deal of a whole trace to all threads.
fn whole<'d>(replay: &'d Replay, role: &'d Role, threads: u32) -> Deal<'d> {
    let (work, requests) = (Work::Mix(&role.mix), replay.requests);
    Deal { replay, work, requests, threads: 0..threads, threads_total: threads, data_bytes: 0 }
}

/// Returns everything that each thread prepares of a deal.
fn dealt_of(deal: &Deal<'_>) -> Vec<Vec<(u64, u8, u64)>> {
    let rngs = deal.threads.clone().map(|thread| Rng::new(&[thread.into()]));
    let (dealer, hands) = open(deal, &supply(), rngs).unwrap();
    std::thread::scope(|scope| {
        let dealing = scope.spawn(move || dealer.run(Scripted::default()));
        let prepare = |dealt: Dealt| {
            let (mut source, mut block) = (Source::Trace(dealt), KeyedBlock::default());
            let mut all = Vec::new();
            // The first time there may be nothing yet.
            source.fill(&mut block, 16);
            loop {
                for (index, step) in block.steps.iter().enumerate() {
                    let number = block.data.numbers[step.action.first as usize];
                    all.push((number, step.slot, block.due.get(index).copied().unwrap_or(0)));
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
    let dir = tempfile::tempdir().unwrap();
    let key = |n: u64| n * n % 101;
    let (replay, role) = written(&dir.path().join("t"), 150_000, key);
    let alone = dealt(&replay, &role, 1, 150_000).remove(0);
    assert_eq!(alone.len(), 150_000);
    assert!(alone.iter().zip(0..).all(|((number, slot, _), n)| {
        *number == key(n) && *slot == u8::from(n.is_multiple_of(3))
    }));
    let apart = dealt(&replay, &role, 4, 150_000);
    assert!(apart.iter().all(|one| one.len() > 10_000), "all have some");
    for number in 0..101 {
        let ops_of = |all: &[(u64, u8, u64)]| -> Vec<u8> {
            all.iter().filter(|request| request.0 == number).map(|request| request.1).collect()
        };
        let lists: Vec<_> = apart.iter().map(|one| ops_of(one)).filter(|o| !o.is_empty()).collect();
        assert!(lists.len() <= 1);
        assert_eq!(lists.concat(), ops_of(&alone));
    }
    assert_eq!(dealt(&replay, &role, 2, 1_234).concat().len(), 1_234);
}

/// If all requests are for one key, one thread has them all. The others have none, and delay
/// nothing.
#[test]
fn threads_without_a_key_wait_for_the_end() {
    let dir = tempfile::tempdir().unwrap();
    let (replay, role) = written(&dir.path().join("t"), 300_000, |_| 7);
    let all = dealt(&replay, &role, 3, 300_000);
    assert_eq!(all.concat().len(), 300_000);
    assert_eq!(all.iter().filter(|one| one.is_empty()).count(), 2);
}

#[test]
fn by_its_times_a_request_is_due_and_what_is_left_is_counted() {
    let dir = tempfile::tempdir().unwrap();
    let (replay, role) = written(&dir.path().join("t"), 1_000, |n| n);
    let replay = Replay { speed: Some(2.0), ..replay };
    let all = dealt(&replay, &role, 1, 1_000).remove(0);
    assert!(all.iter().zip(0..).all(|((_, _, due), n)| *due == n * MS / 2));

    let rngs = std::iter::once(Rng::new(&[1]));
    let (dealer, mut hands) = open(&whole(&replay, &role, 1), &supply(), rngs).unwrap();
    let dealing = std::thread::spawn(move || dealer.run(Scripted::default()));
    let (mut hand, mut block) = (hands.remove(0), KeyedBlock::default());
    hand.fill(&mut block, 16);
    // Requests are half a millisecond apart: a block has those of one millisecond.
    assert_eq!(block.steps.len(), 3);
    assert_eq!(hand.count_unprepared(100 * MS), 200 - 3);
    drop(hand);
    dealing.join().unwrap().unwrap();
}

#[test]
fn a_trace_that_is_another_now_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (replay, role) = written(&dir.path().join("t"), 10, |n| n);
    written(&dir.path().join("t"), 10, |n| n + 1);
    let refused =
        open(&whole(&replay, &role, 1), &supply(), std::iter::empty()).map(|_| ()).unwrap_err();
    assert!(refused.to_string().contains("has changed since the plan"), "{refused}");
}

/// Each rank of a crew reads all of the trace, and has the keys of its own threads.
#[test]
fn ranks_share_a_trace_by_its_keys() {
    let dir = tempfile::tempdir().unwrap();
    let (replay, role) = written(&dir.path().join("t"), 50_000, |n| n * n % 997);
    let rank = |threads: Range<u32>| dealt_of(&Deal { threads, ..whole(&replay, &role, 5) });
    let apart = [rank(0..2), rank(2..5)].concat();
    assert_eq!(apart, dealt_of(&whole(&replay, &role, 5)));
    assert!(apart.iter().all(|one| one.len() > 5_000));
}

/// Returns the requests of a drive as they are performed: action, offset and bytes.
fn of_drive(deal: &Deal<'_>) -> Vec<Vec<(Action, u64, u64)>> {
    let rngs = deal.threads.clone().map(|thread| Rng::new(&[thread.into()]));
    let supply = KeySupply { values: Values::without_headers(1 << 20), ..supply() };
    let (dealer, hands) = open(deal, &supply, rngs).unwrap();
    dealer.run(Scripted::default()).unwrap();
    let prepare = |dealt: Dealt| {
        let (mut source, mut block, mut all) =
            (Source::Trace(dealt), KeyedBlock::default(), Vec::new());
        while source.fill(&mut block, 100) {
            let task = crate::scripted::task();
            let view = source.view(&block, &task);
            for step in block.steps.iter().map(|step| step.action) {
                let (offset, bytes) = view.piece(step.first);
                if step.action == Action::WriteAt {
                    assert_eq!(view.value(step.value).len() as u64, bytes);
                }
                all.push((step.action, offset, bytes));
            }
        }
        all
    };
    hands.into_iter().map(prepare).collect()
}

#[test]
fn requests_of_a_drive_keep_their_places_and_lengths() {
    const MIB: u64 = 1 << 20;
    let dir = tempfile::tempdir().unwrap();
    let requests = [
        (Op::Read, 5 * 512, 512),
        (Op::Write, 3 * MIB, 4_096),
        (Op::Flush, 0, 0),
        (Op::Discard, MIB, 9 * MIB),
        (Op::Write, 8 * MIB - 512, MIB),
        (Op::Write, 0, 0),
    ];
    let path = dir.path().join("t");
    let (mut replay, role) = written_as(&path, Kind::Blocks, requests.into_iter());
    assert_eq!((replay.keys, replay.value_bytes_max), (10 * MIB, MIB));
    assert_eq!(replay.drive.unwrap().multiple_of, 512);
    let as_recorded = [Action::ReadAt, Action::WriteAt, Action::Flush, Action::Discard]
        .into_iter()
        .chain([Action::WriteAt; 2])
        .zip(requests)
        .map(|(action, (_, offset, bytes))| (action, offset, bytes))
        .collect::<Vec<_>>();
    assert_eq!(of_drive(&whole(&replay, &role, 1)), [as_recorded]);

    // A flush goes to the thread of its write, and requests that begin in one region to one thread.
    let apart = of_drive(&whole(&replay, &role, 3));
    let with = |action| apart.iter().position(|one| one.iter().any(|(a, ..)| *a == action));
    let flushes = apart.iter().find(|one| one.iter().any(|(a, ..)| *a == Action::Flush)).unwrap();
    assert!(flushes.contains(&(Action::WriteAt, 3 * MIB, 4_096)), "{flushes:?}");
    let first = &apart[with(Action::ReadAt).unwrap()];
    assert!(first.contains(&(Action::WriteAt, 0, 0)), "{first:?}");

    replay.drive = Some(OfDrive { multiple_of: 512, fold: true });
    let folded = of_drive(&Deal { data_bytes: 2 * MIB, ..whole(&replay, &role, 1) }).remove(0);
    let places: Vec<_> = folded.iter().map(|(_, offset, _)| *offset).collect();
    // The discard is longer than all data.
    assert_eq!(places, [5 * 512, MIB, 0, 0, MIB, 0]);
    assert!(folded.iter().all(|(_, offset, bytes)| offset + bytes <= 2 * MIB), "{folded:?}");
}

#[test]
fn a_load_writes_what_is_read_before_it_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let requests = [
        (Op::Get, 9, 70),
        (Op::Put, 4, 5),
        (Op::Get, 4, 5),
        (Op::Get, 9, 99),
        (Op::Scan, 1, 0),
        (Op::Delete, 2, 0),
        (Op::Rmw, 3, 8),
        (Op::Get, 2, 6),
        (Op::Get, 0, 12),
    ];
    let path = dir.path().join("t");
    let (replay, role) = written_as(&path, Kind::Keys, requests.into_iter());
    assert_eq!(FirstReads::count(TraceReader::open(&path).unwrap()).unwrap(), 4);
    for (batch, steps) in [(1, vec![1; 4]), (3, vec![3, 1]), (100, vec![4])] {
        let work = Work::Load { batch };
        let deal = Deal { work, requests: u64::MAX, ..whole(&replay, &role, 1) };
        let supply = KeySupply { values: Values::without_headers(100), ..supply() };
        let (dealer, mut hands) = open(&deal, &supply, std::iter::once(Rng::new(&[1]))).unwrap();
        dealer.run(Scripted::default()).unwrap();
        let (mut source, mut block) = (Source::Trace(hands.remove(0)), KeyedBlock::default());
        assert!(source.fill(&mut block, 10));
        assert_eq!(block.data.numbers, [9, 1, 3, 0]);
        let lengths: Vec<_> = block.data.values.iter().map(|value| value.bytes).collect();
        // The scan's value length is unknown, so it is drawn.
        assert_eq!(lengths, [70, 20, 8, 12]);
        assert_eq!(block.steps.iter().map(|s| s.action.items).collect::<Vec<_>>(), steps);
        let bytes: u64 = block.steps.iter().map(|step| step.write_bytes).sum();
        assert_eq!(bytes, 4 * 16 + 70 + 20 + 8 + 12);
        assert_eq!((block.data.batches, block.writes), (batch > 1, true));
        assert!(!source.fill(&mut block, 10));
    }
}

/// The undamaged blocks are performed, the threads come to their end, and the damage is reported.
#[test]
fn a_damaged_trace_ends_those_who_wait_for_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t");
    let (replay, role) = written(&path, 200_000, |n| n);
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() * 3 / 4;
    bytes[middle..middle + 64].fill(0xaa);
    std::fs::write(&path, bytes).unwrap();
    let rngs = (0..2).map(|thread| Rng::new(&[thread]));
    // The checksums of blocks are unchanged: only reading the block shows the damage.
    let (dealer, hands) = open(&whole(&replay, &role, 2), &supply(), rngs).unwrap();
    std::thread::scope(|scope| {
        let dealing = scope.spawn(move || dealer.run(Scripted::default()));
        let count = |mut dealt: Dealt| {
            let (mut block, mut done) = (KeyedBlock::default(), 0);
            dealt.fill(&mut block, 100);
            while !block.steps.is_empty() {
                done += block.steps.len();
                dealt.fill(&mut block, 100);
            }
            done
        };
        let hands: Vec<_> = hands.into_iter().map(|d| scope.spawn(move || count(d))).collect();
        let done: usize = hands.into_iter().map(|hand| hand.join().unwrap()).sum();
        assert!((65_536..200_000).contains(&done) && done.is_multiple_of(65_536), "{done}");
        let error = dealing.join().unwrap().unwrap_err();
        assert!(error.message.contains("a block with its checksum"), "{error}");
    });
}

/// At twice the speed records live half as long; without `recorded_ttl` they stay.
#[test]
fn records_live_as_long_as_the_trace_says_at_its_speed() {
    let dir = tempfile::tempdir().unwrap();
    let (replay, role) = written(&dir.path().join("t"), 3_000, |n| n);
    let ttl = |recorded_ttl: bool, speed: Option<f64>| {
        let replay = Replay { recorded_ttl, speed, ..replay.clone() };
        let deal = whole(&replay, &role, 1);
        let (dealer, mut hands) = open(&deal, &supply(), [Rng::new(&[1])].into_iter()).unwrap();
        let mut dealt = hands.remove(0);
        std::thread::scope(|scope| {
            let dealing = scope.spawn(move || dealer.run(Scripted::default()));
            let (mut block, mut all) = (KeyedBlock::default(), Vec::new());
            dealt.fill(&mut block, 1);
            loop {
                dealt.fill(&mut block, 100);
                if block.steps.is_empty() {
                    break;
                }
                for step in block.steps.iter().filter(|step| step.slot == 1) {
                    let ttl_ns = block.data.ttl_ns.get(step.action.value as usize).copied();
                    all.push((step.action.action, ttl_ns));
                }
            }
            drop(dealt);
            dealing.join().unwrap().unwrap();
            all.dedup();
            all
        })
    };
    assert_eq!(ttl(true, None), [(Action::PutExpiring, Some(10 * MS))]);
    assert_eq!(ttl(true, Some(2.0)), [(Action::PutExpiring, Some(5 * MS))]);
    assert_eq!(ttl(false, None), [(Action::Put, Some(0))]);
}
