//! Times of operations in flight, and their order where there is one.

use super::{Flight, InFlight, RetryBuffers, drive};
use crate::keyed::{KeyedBlock, Thread};
use crate::recorder::Recorder;
use crate::replay::{Deal, Work, open};
use crate::rng::Rng;
use crate::scripted::{Costs, Play, Played, START, Script, Scripted, supply, task};
use crate::shared::{Shared, ThreadContext};
use crate::source::{KeySupply, Source};
use crate::tally::{Tally, TimeLine, Timing};
use crate::values::Values;
use kvdyno_engine::{Result, Session};
use kvdyno_record::hlog::Kind;
use kvdyno_record::replay::Replay;
use kvdyno_record::workload::{Choice, MixEntry, Op};
use kvdyno_trace::{Format, Header, Request, Times, TraceReader, TraceWriter};
use std::collections::HashMap;
use std::path::Path;
use std::sync::mpsc::channel;

#[test]
fn what_is_recorded_waits_for_what_is_to_the_same_bytes_and_writes() {
    let mut flight = Flight::new(3, RetryBuffers::new(&supply(), 0), 0);
    let piece = |reads, number, length| InFlight { reads, number, length, ..InFlight::default() };
    let meets = |flight: &Flight, reads| {
        [(0, 100), (99, 1), (100, 1), (149, 1), (150, 10), (0, 1_000), (u64::MAX, 5)]
            .map(|(number, length)| flight.must_wait(&piece(reads, number, length)))
    };
    assert_eq!(meets(&flight, false), [false; 7], "nothing is in flight");
    flight.slots[1] = InFlight { busy: true, ..piece(false, 100, 50) };
    let overlapping = [false, false, true, true, false, true, false];
    assert_eq!([meets(&flight, false), meets(&flight, true)], [overlapping; 2]);
    flight.slots[1].reads = true;
    assert_eq!(meets(&flight, true), [false; 7], "reads have no order");
    assert_eq!(meets(&flight, false), overlapping);
}

/// Regression test: keys of inserts that failed, or were prepared when the time was over, counted
/// as existing.
#[test]
fn only_what_was_answered_was_inserted() {
    let play = || Play { inserts: true, depth: Some(4), errors_max: 9, ..Play::default() };
    let script = || Script { answers: 1, ..Script::new(&[Ok(10), Err(10), Ok(10)], 1_000) };
    let all = Play { operations: Some(50), ..play() }.run(script());
    assert_eq!((all.count(), all.records.1), (49, 149));
    let timed = Play { duration_ns: Some(40_000), ..play() }.run(script());
    let count = timed.count();
    assert!((30..50).contains(&count), "{count}");
    assert_eq!(timed.records.1, 100 + count);
}

fn sums(played: &Played) -> [u64; 3] {
    [Kind::Service, Kind::Submit, Kind::Completion].map(|kind| played.times(kind).sum)
}

/// Regression test for fault 2: the filing of a round was inside the times of the next.
#[test]
fn filing_is_in_no_operations_time() {
    let costs = Costs { reading: 1, preparing: 300, filing: 500 };
    let play = Play { costs, depth: Some(2), operations: Some(6), ..Play::default() };
    let script = Script { submit_ns: 10, send_ns: 100, answers: 2, ..Script::new(&[], 1_000) };
    let played = play.run(script);
    let (submit, completion) = (2 * 10 + 100 + 1, 1_000 + 1);
    assert_eq!(played.count(), 6);
    assert_eq!(sums(&played), [submit + completion, submit, completion].map(|ns| ns * 6));
}

/// Regression test: the last of a block's 32 operations were accepted, and waited for the next
/// block.
#[test]
fn preparing_a_block_is_in_no_operations_handing_over() {
    let costs = Costs { reading: 1, preparing: 300, filing: 500 };
    let play = Play { costs, depth: Some(2), operations: Some(96), ..Play::default() };
    let script = Script { submit_ns: 10, send_ns: 100, answers: 2, ..Script::new(&[], 1_000) };
    let played = play.run(script);
    assert_eq!((played.count(), played.times(Kind::Submit).max), (96, 2 * 10 + 100 + 1));
}

/// The answers of the second wait and of the two after it are conflicts. The first operation among
/// them is in flight for five waits, and counts once.
#[test]
fn a_conflict_is_handed_over_again_inside_the_operations_time() {
    let play = Play { depth: Some(2), operations: Some(4), ..Play::default() };
    let script = Script { answers: 1, conflicts: 3, ..Script::new(&[Ok(1_000)], 1_000) };
    let in_flight = script.in_flight.clone();
    let played = play.run(script);
    assert_eq!((played.count(), played.result.tallies[0].retries), (4, 3));
    assert!(played.packets[0].times[0].errors == 0 && played.failure.is_none());
    // No operation waits while another is retried.
    assert_eq!(*in_flight.lock().unwrap(), [2, 2, 2, 2, 2, 2, 1]);
    let window = played.window_ns();
    assert!((7_000..7_100).contains(&window), "{window}");
    let service = played.times(Kind::Service);
    assert_eq!(sums(&played)[0], sums(&played)[1] + sums(&played)[2]);
    // The retried operation took its turn behind the other one each time.
    assert!(service.max > 5_000 && service.sum > 4 * 2_000 + 3_000, "{service:?}");
}

#[test]
fn a_conflict_without_end_is_an_error() {
    let play = Play { depth: Some(1), operations: Some(3), errors_max: 1, ..Play::default() };
    let script = Script { answers: 1, conflicts: 17, ..Script::new(&[Ok(100)], 50) };
    let played = play.run(script);
    assert_eq!((played.count(), played.result.tallies[0].retries), (2, 16));
    assert_eq!(played.packets[0].times[0].errors, 1);
    assert!(played.failure.is_none());
}

#[test]
fn the_depth_is_kept_to_the_end() {
    let play = Play { depth: Some(3), operations: Some(5), ..Play::default() };
    let script = Script { answers: 1, ..Script::new(&[], 1_000) };
    let in_flight = script.in_flight.clone();
    let played = play.run(script);
    assert_eq!(*in_flight.lock().unwrap(), [3, 3, 3, 2, 1]);
    assert_eq!((played.count(), played.times(Kind::Completion).max), (5, 3 * 1_000 + 7));
}

#[test]
fn a_round_belongs_to_the_slice_it_ends_in() {
    let (slice_ns, duration_ns) = (1_000, Some(2_000));
    let play = Play { depth: Some(2), slice_ns, duration_ns, errors_max: 1, ..Play::default() };
    let calls = [Ok(500), Err(600)];
    let played = play.run(Script { answers: 2, ..Script::new(&calls, 1_000) });
    // The second round ends past the first edge, the third past the end.
    let slices: Vec<(u64, u64)> = played.slices().iter().map(|slice| (slice.0, slice.1)).collect();
    assert_eq!(slices, [(0, 2), (1, 1 + 2)]);
    assert_eq!(played.packets[1].times[0].errors, 1);
    assert!(played.failure.is_none() && played.window_ns() >= 2_000);
}

/// A store that performs the last accepted operation first, one operation per wait.
#[derive(Default)]
struct LifoServer {
    waiting: Vec<(u32, Vec<u8>, Option<usize>)>,
    /// The length of each value.
    lengths: HashMap<Vec<u8>, usize>,
    /// The values of lookups, by key, in the order of their answers.
    shown: HashMap<Vec<u8>, Vec<Option<usize>>>,
    most: usize,
}

impl Session for &mut LifoServer {
    fn get<R>(&mut self, _: &[u8], _: impl FnOnce(Option<&[u8]>) -> R) -> Result<R> {
        unreachable!("all is in flight")
    }

    fn put(&mut self, _: &[u8], _: &[u8]) -> Result<()> {
        unreachable!("all is in flight")
    }

    fn submit_get(&mut self, ticket: u32, key: &[u8]) -> Result<()> {
        self.waiting.push((ticket, key.to_vec(), None));
        Ok(())
    }

    fn submit_put(&mut self, ticket: u32, key: &[u8], value: &[u8]) -> Result<()> {
        self.waiting.push((ticket, key.to_vec(), Some(value.len())));
        Ok(())
    }

    fn send(&mut self) -> Result<()> {
        Ok(())
    }

    fn complete(&mut self, mut done: impl FnMut(u32, Result<Option<&[u8]>>)) -> Result<usize> {
        self.most = self.most.max(self.waiting.len());
        let Some((ticket, key, put)) = self.waiting.pop() else { return Ok(0) };
        let Some(bytes) = put else {
            let length = self.lengths.get(&key).copied();
            self.shown.entry(key).or_default().push(length);
            let value = length.map(|bytes| vec![0; bytes]);
            done(ticket, Ok(value.as_deref()));
            return Ok(1);
        };
        self.lengths.insert(key, bytes);
        done(ticket, Ok(None));
        Ok(1)
    }
}

/// Records gets and puts of a few keys; no two values have the same length.
fn recorded(path: &Path, requests: u64) -> Replay {
    let header = Header::new(kvdyno_trace::Kind::Keys, Format::Twitter, "t", Times::None);
    let mut writer = TraceWriter::create(path, header).unwrap();
    for n in 0..requests {
        let op = if n % 3 == 0 { kvdyno_trace::Op::Put } else { kvdyno_trace::Op::Get };
        let (at_ns, joined, key, value_bytes) = (0, false, n * n % 37, n + 1);
        let request =
            Request { at_ns, op, joined, key, key_bytes: 8, value_bytes, client: 0, ttl_ns: 0 };
        writer.write(request).unwrap();
    }
    let header = writer.finish().unwrap();
    Replay {
        file: path.to_owned(),
        digest: TraceReader::open(path).unwrap().digest().unwrap(),
        requests,
        keys: header.keys,
        value_bytes_max: header.value_bytes_max,
        drive: None,
        recorded_ttl: false,
        speed: None,
    }
}

/// Replays a trace on a session with `depth` operations in flight. Returns the session.
fn replayed(replay: &Replay, depth: u32) -> LifoServer {
    let entry = |op| MixEntry::new(op, 1.0, Choice::Uniform);
    let mix = [entry(Op::Get), entry(Op::Update)];
    let (work, requests) = (Work::Mix(&mix), replay.requests);
    let deal = Deal { replay, work, requests, threads: 0..1, threads_total: 1, data_bytes: 0 };
    let supply = KeySupply { values: Values::without_headers(replay.value_bytes_max), ..supply() };
    let (dealer, mut dealt) = open(&deal, &supply, std::iter::once(Rng::new(&[1]))).unwrap();
    let mut source = Source::Trace(dealt.remove(0));
    let (sender, _packets) = channel();
    let time = TimeLine::new((0, 0), START, u64::MAX / 2, u64::MAX, sender);
    let tallies = mix.map(|entry| Tally::new(entry.op.info(), Timing::InFlight)).into();
    let (shared, task, mut session) =
        (Shared::new((1, 1), 0, Some(u64::MAX)), task(), LifoServer::default());
    let recorder = std::thread::scope(|scope| {
        scope.spawn(move || dealer.run(Scripted::default()).unwrap());
        let context = ThreadContext {
            role: 0,
            thread: 0,
            handle: Thread::new(&mut session),
            clock: Scripted::default(),
            recorder: Recorder::new(tallies, time, START),
            think_ns: None,
            task: &task,
            shared: &shared,
        };
        drive(context, &mut source, KeyedBlock::default(), depth)
    });
    assert_eq!(recorder.tallies.iter().map(|tally| tally.count).sum::<u64>(), requests);
    assert!(shared.failure.lock().unwrap().is_none());
    session
}

/// In whatever order an engine performs concurrent operations, each key's requests keep their
/// order.
#[test]
fn the_order_of_a_key_holds_with_several_in_flight() {
    let dir = tempfile::tempdir().unwrap();
    let replay = recorded(&dir.path().join("t"), 20_000);
    let (alone, many) = (replayed(&replay, 1), replayed(&replay, 16));
    assert!(alone.most == 1 && many.most > 8, "{} in flight", many.most);
    assert_eq!(alone.lengths, many.lengths);
    assert_eq!(alone.shown, many.shown);
}
