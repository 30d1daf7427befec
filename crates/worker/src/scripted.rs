//! Scripts for tests: a clock that moves only by the script, an engine whose calls take scripted
//! times, and a phase of one thread on both.
//!
//! Each thread has a time of its own. Readings, calls, preparing and filing move it, each by its
//! cost. So times come out exact, and a wait ends because waiting reads the clock.

use crate::calls::FIRST_STEPS;
use crate::chooser::Keyspace;
use crate::clock::Clock;
use crate::histogram::Histogram;
use crate::keys::KeyWriter;
use crate::keyvalue::KeyValue;
use crate::population::Population;
use crate::rng::Rng;
use crate::shared::{Shared, Task};
use crate::source::{KeySupply, MixSource, Source};
use crate::tally::Packet;
use crate::team::{Client, ThreadResult, ThreadSpec, work};
use crate::values::Values;
use kvdyno_engine::{
    DataShape, Description, Engine, Error, ErrorClass, Location, Options, Result, Session, Settled,
};
use kvdyno_record::crew::RankId;
use kvdyno_record::hlog::Kind;
use kvdyno_record::workload::{
    Choice, Key, KeyFormat, MixEntry, Op, Rate, Role, Schedule, Size, ValueShape,
};
use std::cell::Cell;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

thread_local! {
    static NOW: Cell<u64> = const { Cell::new(0) };
    static COSTS: Cell<Costs> = const { Cell::new(Costs { reading: 1, preparing: 0, filing: 0 }) };
}

/// The times of the load generator's own work, in nanoseconds. A reading is never free.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Costs {
    /// The time to read the clock.
    pub(crate) reading: u64,
    /// The time to prepare one operation.
    pub(crate) preparing: u64,
    /// The time to file the times of one operation.
    pub(crate) filing: u64,
}

/// The clock of the script; a tick is a nanosecond.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Scripted {
    skipped_ns: u64,
}

impl Clock for Scripted {
    fn ticks(&self) -> u64 {
        spend(COSTS.get().reading);
        NOW.get()
    }

    fn ns(&self, ticks: u64) -> u64 {
        ticks
    }

    fn ticks_at(&self, ns: u64) -> u64 {
        ns.saturating_add(self.skipped_ns)
    }

    fn time(&self, ticks: u64) -> u64 {
        ticks - self.skipped_ns
    }

    fn skip(&mut self, ns: u64) {
        self.skipped_ns += ns;
    }

    fn sleep(&self, ns: u64) {
        spend(ns);
    }
}

fn spend(ns: u64) {
    NOW.set(NOW.get() + ns);
}

/// Spends the time to prepare steps; called by the source.
pub(crate) fn spend_preparing_time(steps: usize) {
    spend(COSTS.get().preparing * steps as u64);
}

/// Spends the time to file times; called by the loops.
pub(crate) fn spend_filing_time(times: usize) {
    spend(COSTS.get().filing * times as u64);
}

/// The time that a call takes; `Err`: the call fails after that time.
pub(crate) type Call = std::result::Result<u64, u64>;

/// A session whose calls are scripted. With operations in flight, a call is one wait for answers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Script {
    /// The first calls; those after them take `then_ns`.
    pub(crate) calls: VecDeque<Call>,
    pub(crate) then_ns: u64,
    /// The number of calls after those that meet a conflict.
    pub(crate) conflicts: usize,
    /// The times to accept one operation and to send the accepted ones.
    pub(crate) submit_ns: u64,
    pub(crate) send_ns: u64,
    /// The number of answers that one wait brings.
    pub(crate) answers: usize,
    pub(crate) flying: VecDeque<u32>,
    /// The number of operations in flight at each wait.
    pub(crate) in_flight: Arc<Mutex<Vec<usize>>>,
}

impl Script {
    /// A script of these calls; each call after them takes `then_ns`.
    pub(crate) fn new(calls: &[Call], then_ns: u64) -> Self {
        Self { calls: calls.iter().copied().collect(), then_ns, ..Self::default() }
    }

    fn call(&mut self) -> Result<()> {
        if self.calls.is_empty() && self.conflicts > 0 {
            self.conflicts -= 1;
            spend(self.then_ns);
            return Err(Error::new(ErrorClass::Conflict, "scripted"));
        }
        let call = self.calls.pop_front().unwrap_or(Ok(self.then_ns));
        spend(call.unwrap_or_else(|ns| ns));
        call.map(|_| ()).map_err(|_| Error::new(ErrorClass::Other, "scripted"))
    }
}

impl Session for Script {
    fn get<R>(&mut self, _key: &[u8], visit: impl FnOnce(Option<&[u8]>) -> R) -> Result<R> {
        self.call()?;
        Ok(visit(Some(&[0; 20])))
    }

    fn put(&mut self, _key: &[u8], _value: &[u8]) -> Result<()> {
        self.call()
    }

    fn submit_get(&mut self, ticket: u32, _key: &[u8]) -> Result<()> {
        spend(self.submit_ns);
        self.flying.push_back(ticket);
        Ok(())
    }

    fn submit_put(&mut self, ticket: u32, key: &[u8], _value: &[u8]) -> Result<()> {
        self.submit_get(ticket, key)
    }

    fn send(&mut self) -> Result<()> {
        spend(self.send_ns);
        Ok(())
    }

    fn complete(&mut self, mut done: impl FnMut(u32, Result<Option<&[u8]>>)) -> Result<usize> {
        self.in_flight.lock().unwrap().push(self.flying.len());
        let mut answer = self.call();
        let answers = self.answers.min(self.flying.len());
        for ticket in self.flying.drain(..answers) {
            // If the call fails, the first answer is the error.
            done(ticket, std::mem::replace(&mut answer, Ok(())).map(|()| None));
        }
        Ok(answers)
    }
}

/// An engine of one session.
struct Stage(Mutex<Option<Script>>);

impl Engine for Stage {
    type Session<'e> = Script;

    fn describe() -> Description {
        unreachable!("it is never planned")
    }

    fn open(_: &Location, _: &Options, _: &DataShape) -> Result<Self> {
        unreachable!("it is made, not opened")
    }

    fn session(&self) -> Result<Script> {
        Ok(self.0.lock().unwrap().take().expect("one session"))
    }

    fn settle(&self, _: Duration) -> Result<Settled> {
        Ok(Settled::at_once())
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }

    fn close(self) -> Result<()> {
        Ok(())
    }
}

/// The time at which every phase begins.
pub(crate) const START: u64 = 1_000_000;

/// The time between the announcement of the start to the threads and the start.
const LEAD_NS: u64 = 100_000;

/// A phase of one thread that looks keys up, or inserts them.
pub(crate) struct Play {
    pub(crate) inserts: bool,
    pub(crate) costs: Costs,
    pub(crate) slice_ns: u64,
    pub(crate) duration_ns: Option<u64>,
    pub(crate) operations: Option<u64>,
    pub(crate) errors_max: u64,
    /// Operations per second, equally spaced.
    pub(crate) rate: Option<f64>,
    pub(crate) depth: Option<u32>,
    pub(crate) think_ns: Option<u64>,
    /// The length of a turn: after each, the thread pauses until the pause is seen.
    pub(crate) turn_ns: Option<u64>,
    /// The number of other threads, which have done all that is left before this one begins.
    pub(crate) others: usize,
    /// Whether the phase is over before this thread begins.
    pub(crate) over: bool,
    /// The directory of the file in which its requests are recorded; none: they are not recorded.
    pub(crate) spools: Option<PathBuf>,
}

impl Default for Play {
    fn default() -> Self {
        Self {
            inserts: false,
            costs: Costs { reading: 1, preparing: 0, filing: 0 },
            slice_ns: 1_000_000_000,
            duration_ns: None,
            operations: None,
            errors_max: 0,
            rate: None,
            depth: None,
            think_ns: None,
            turn_ns: None,
            others: 0,
            over: false,
            spools: None,
        }
    }
}

/// A task that never ends.
pub(crate) fn task() -> Task {
    Task {
        phase: 0,
        name: "measure".to_owned(),
        duration_ns: None,
        steady: None,
        operations: None,
        total: None,
        slice_ns: 1_000_000_000,
        turn_ns: None,
        errors_max: 0,
        verify: false,
        gaps: false,
        spools: None,
    }
}

/// The result of a [`Play`].
pub(crate) struct Played {
    pub(crate) result: ThreadResult,
    pub(crate) packets: Vec<Packet>,
    pub(crate) failure: Option<Error>,
    /// The numbers of keys without a gap and in all after the phase; 100 each before it.
    pub(crate) records: (u64, u64),
    /// The number of pauses.
    pub(crate) pauses: usize,
}

impl Play {
    pub(crate) fn run(&self, script: Script) -> Played {
        COSTS.set(self.costs);
        // The first block is prepared before its start is known.
        NOW.set(START - LEAD_NS - FIRST_STEPS as u64 * self.costs.preparing);
        let shared = Shared::new((1, 1 + self.others), 1, self.operations);
        shared.start.store(START, Relaxed);
        let task = Task {
            duration_ns: self.duration_ns,
            operations: self.operations,
            slice_ns: self.slice_ns,
            turn_ns: self.turn_ns,
            errors_max: self.errors_max,
            spools: self.spools.clone(),
            ..task()
        };
        let rate = self.rate.map(|operations_per_s| Rate::new(operations_per_s, Schedule::Fixed));
        let spec = ThreadSpec {
            role: 0,
            thread: 0,
            ops: vec![self.op().info()],
            depth: self.depth,
            think_ns: self.think_ns,
            pace: rate.map(|rate| (rate, (0, 1), Rng::new(&[1]))),
        };
        let (sender, packets) = channel();
        let population = Population::new(100, RankId::ALONE);
        let source = single_op_source(self.op(), &population);
        let stage = Stage(Mutex::new(Some(script)));
        (0..self.others).for_each(|_| shared.leave(0));
        if self.over {
            shared.end();
        }
        let client = Client { spec, source, packets: sender };
        let over = AtomicBool::new(false);
        let (mut results, pauses) = std::thread::scope(|scope| {
            let pauses = scope.spawn(|| end_pauses(&shared, &over));
            let results = work::<KeyValue<Stage>, _>(
                &stage,
                Scripted::default(),
                vec![client],
                &task,
                &shared,
            );
            over.store(true, Relaxed);
            (results, pauses.join().unwrap())
        });
        let result = results.remove(0);
        let failure = shared.failure.lock().unwrap().take();
        let records = (population.visible(), population.live_records());
        Played { result, packets: packets.iter().collect(), failure, records, pauses }
    }

    fn op(&self) -> Op {
        if self.inserts { Op::Insert } else { Op::Get }
    }
}

/// Ends each pause of the only thread; returns how many there were.
fn end_pauses(shared: &Shared, over: &AtomicBool) -> usize {
    let mut pauses = 0;
    while !over.load(Relaxed) {
        if shared.pause.has_all(1) {
            pauses += 1;
            shared.pause.end();
        }
        std::thread::yield_now();
    }
    pauses
}

impl Played {
    /// All times of a kind.
    pub(crate) fn times(&self, kind: Kind) -> Histogram {
        let mut all = Histogram::new();
        for times in self.packets.iter().flat_map(|packet| &packet.times) {
            for (_, histogram) in times.histograms().filter(|(op, _)| *op == kind) {
                all.add(histogram);
            }
        }
        all
    }

    /// The number of operations that ended in each slice, with the sum of their times.
    pub(crate) fn slices(&self) -> Vec<(u64, u64, u64)> {
        let times = |packet: &Packet| packet.times.first().map(|times| times.service.clone());
        let figures = |packet: &Packet| {
            let service = times(packet).unwrap_or_else(Histogram::new);
            (packet.slice, service.count(), service.sum)
        };
        // A packet that only wakes the collector has no times.
        self.packets.iter().filter(|packet| !packet.times.is_empty()).map(figures).collect()
    }

    /// The time from the start to the end of the last operation.
    pub(crate) fn window_ns(&self) -> u64 {
        self.result.last_end - START
    }

    pub(crate) fn count(&self) -> u64 {
        self.result.tallies[0].count
    }
}

/// Keys of 16 digits, values of 20 bytes.
pub(crate) fn supply() -> KeySupply {
    let shape = ValueShape { size: Size::Fixed { bytes: 20 }, compress_to: 1.0 };
    KeySupply {
        keys: KeyWriter::new(&Key::ordered(16, KeyFormat::Hex)),
        values: Values::new(&shape, false, 1),
        keyspace: Keyspace { records: 100, ycsb_items: 101, absent: 200, seed: 1 },
    }
}

fn single_op_source(op: Op, population: &Population) -> Source<'_> {
    let grows = op == Op::Insert;
    let mix = vec![MixEntry::new(op, 1.0, Choice::Uniform)];
    let role = Role::new("clients", 1, mix);
    Source::Mix(MixSource::new(&role, 0, grows, &supply(), Rng::new(&[1]), population))
}
