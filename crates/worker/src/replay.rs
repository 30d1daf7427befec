//! Recorded requests, in place of drawn operations: one thread reads a trace ahead of the role's
//! own threads, which get requests that are ready to be performed (`dealt`).
//!
//! Each key belongs to one thread, by its hash, so that requests of a key keep their order. Batch
//! after batch goes to all threads, and none of them is more than a few batches ahead of the
//! slowest. For a drive, the key is the region of a request's first byte.

use crate::clock::{Best, Clock};
use crate::keyed::Action;
use crate::rng::{Rng, mix};
use crate::source::{KeySupply, keyed_action};
use crate::team::spawn_of_role;
use crate::usage;
use kvdyno_engine::{Error, ErrorClass, Result};
use kvdyno_record::replay::{Replay, mix_entry_index};
use kvdyno_record::usage::ThreadsUsage;
use kvdyno_record::workload::{self, MixEntry};
use kvdyno_trace::{FirstReads, Op, Request, TraceError, TraceReader};
use std::ops::Range;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread::{Scope, ScopedJoinHandle};

mod dealt;

pub(crate) use dealt::Dealt;

/// The most requests of the trace that are dealt together.
const BATCH: usize = 4_096;

/// The most batches that wait for a thread. In a replay as fast as possible, the limit keeps all
/// threads at about the same place of the trace. In a replay by time they are there anyway, and a
/// thread that stalls must not delay the others.
const AHEAD: usize = 3;
const AHEAD_BY_TIME: usize = 64;

/// Regions of a drive have 2^20 bytes.
const REGION_BITS: u32 = 20;

/// A request as a thread performs it.
#[derive(Clone, Copy, Debug)]
struct ReplayRequest {
    /// The time at which it is due, since the start of the phase; 0: the trace is not replayed by
    /// its times.
    due_ns: u64,
    /// The number of its key; for a drive, the offset.
    number: u64,
    /// The bytes of its value; for a drive, of the request.
    bytes: u64,
    /// The time to live of the record that it writes; 0: the record lives until it is removed.
    ttl_ns: u64,
    /// The index of its operation in the role's mix.
    slot: u8,
}

type Batch = Vec<ReplayRequest>;

/// The part of a trace that is performed.
#[derive(Clone, Copy)]
pub(crate) enum Work<'a> {
    /// All requests, as operations of this mix.
    Mix(&'a [MixEntry]),
    /// A load of the records that the trace reads before it writes them, `batch` at a time.
    Load { batch: u32 },
}

/// A trace and the threads that share it.
pub(crate) struct Deal<'a> {
    pub(crate) replay: &'a Replay,
    pub(crate) work: Work<'a>,
    /// The number of requests that are dealt, from the first of the trace on.
    pub(crate) requests: u64,
    /// The threads that get requests, out of `threads_total`. In a crew, threads of other ranks are
    /// counted as well.
    pub(crate) threads: Range<u32>,
    pub(crate) threads_total: u32,
    /// The bytes of all records.
    pub(crate) data_bytes: u64,
}

/// Reads a trace and distributes its requests.
pub(crate) struct Dealer {
    reader: TraceReader,
    /// The number of requests that are still to be read.
    requests_left: u64,
    /// The speed in multiples of the recorded one; none: as fast as possible.
    speed: Option<f64>,
    /// Whether records have the recorded times to live.
    recorded_ttl: bool,
    slots: [Option<u8>; Op::ALL.len()],
    /// The filter of a load, by which each record is written once; none: this is not a load.
    first_reads: Option<FirstReads>,
    of_drive: bool,
    /// The size at which offsets of a drive begin anew; none: offsets stay as they are.
    fold: Option<u64>,
    /// The thread of the previous request.
    before: usize,
    threads: Range<u32>,
    threads_total: u32,
    hands: Vec<SyncSender<Batch>>,
    /// Batches that were performed, to be filled again.
    used: Receiver<Batch>,
}

/// Opens a trace for a role. Returns its dealer and the sources of its threads, one for each of
/// `rngs`.
pub(crate) fn open(
    deal: &Deal<'_>,
    supply: &KeySupply,
    rngs: impl Iterator<Item = Rng>,
) -> Result<(Dealer, Vec<Dealt>)> {
    let replay = deal.replay;
    let open = || TraceReader::open(&replay.file).map_err(error);
    if open()?.digest().map_err(error)? != replay.digest {
        let file = replay.file.display();
        return Err(Error::invalid(format!(
            "`{file}` has changed since the plan: expected the \
            trace that was planned with"
        )));
    }
    let ahead = if replay.speed.is_some() { AHEAD_BY_TIME } else { AHEAD };
    let (used, to_fill) = channel();
    let (hands, dealt) = rngs
        .map(|rng| {
            let (hand, batches) = sync_channel(ahead);
            (hand, Dealt::new(deal, supply, rng, batches, used.clone()))
        })
        .unzip();
    let slot = |op: Op| match deal.work {
        Work::Mix(mix) => mix_entry_index(mix, op.name()).map(|index| index as u8),
        Work::Load { .. } => Some(0),
    };
    let loads = matches!(deal.work, Work::Load { .. });
    let dealer = Dealer {
        reader: open()?,
        requests_left: deal.requests,
        speed: replay.speed,
        recorded_ttl: replay.recorded_ttl && !loads,
        slots: Op::ALL.map(slot),
        first_reads: loads.then(FirstReads::default),
        of_drive: replay.drive.is_some(),
        fold: replay.drive.filter(|drive| drive.fold).map(|_| deal.data_bytes.max(1)),
        before: 0,
        threads: deal.threads.clone(),
        threads_total: deal.threads_total,
        hands,
        used: to_fill,
    };
    Ok((dealer, dealt))
}

/// Returns the action of each operation of a mix, and whether it comes with a value.
fn actions(work: Work<'_>, of_drive: bool) -> Vec<(Action, bool)> {
    let mix = match work {
        Work::Mix(mix) => mix,
        Work::Load { batch: 1 } => return vec![(Action::Put, true)],
        Work::Load { .. } => return vec![(Action::Batch, true)],
    };
    let action = |entry: &MixEntry| match (&entry.op, of_drive) {
        (workload::Op::Get, true) => (Action::ReadAt, false),
        (workload::Op::Delete, true) => (Action::Discard, false),
        (workload::Op::Flush, _) => (Action::Flush, false),
        (_, true) => (Action::WriteAt, true),
        (op, false) => (keyed_action(op), op.writes() && *op != workload::Op::Delete),
    };
    mix.iter().map(action).collect()
}

#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn error(error: TraceError) -> Error {
    Error::invalid(error.to_string())
}

/// Deals while `work` runs, in a thread whose time counts for the first role. Returns both results.
pub(crate) fn run_with_dealer<T>(
    dealer: Dealer,
    clock: Best,
    work: impl FnOnce() -> Result<T>,
) -> Result<(T, Result<ThreadsUsage>)> {
    std::thread::scope(|scope| {
        let dealing = dealer.spawn(scope, clock);
        let done = work()?;
        let panicked = || Error::new(ErrorClass::Other, "the reader of the trace panicked");
        Ok((done, dealing.join().unwrap_or_else(|_| Err(panicked()))))
    })
}

impl Dealer {
    fn spawn<'s>(
        self,
        scope: &'s Scope<'s, '_>,
        clock: Best,
    ) -> ScopedJoinHandle<'s, Result<ThreadsUsage>> {
        spawn_of_role(scope, 0, move || self.run(clock))
    }

    /// Deals until the trace ends, or until a thread has left, as all do at the end. Returns the
    /// usage of this thread.
    pub(crate) fn run<C: Clock>(mut self, clock: C) -> Result<ThreadsUsage> {
        let before = usage::read_thread(clock.now());
        self.deal()?;
        Ok(usage::read_thread(clock.now()).since(&before))
    }

    fn deal(&mut self) -> Result<()> {
        let mut block = Vec::new();
        while self.requests_left > 0 && self.reader.next_block(&mut block).map_err(error)? {
            block.truncate(self.requests_left.min(block.len() as u64) as usize);
            self.requests_left -= block.len() as u64;
            if let Some(first_reads) = &mut self.first_reads {
                block.retain(|request| first_reads.is_one(request));
                if block.is_empty() && !self.deal_requests(&[])? {
                    return Ok(());
                }
            }
            for requests in block.chunks(BATCH) {
                if !self.deal_requests(requests)? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Deals one batch of requests. False: some thread has left.
    fn deal_requests(&mut self, requests: &[Request]) -> Result<bool> {
        let mut batches: Vec<Batch> =
            self.hands.iter().map(|_| self.used.try_recv().unwrap_or_default()).collect();
        batches.iter_mut().for_each(Vec::clear);
        for request in requests {
            let Some(slot) = self.slots[request.op as usize] else {
                let name = request.op.name();
                return Err(Error::unsupported(&format!("a recorded {name}")));
            };
            let (number, bytes) = self.key_and_bytes(request);
            let due_ns = self.speed.map_or(0, |speed| (request.at_ns as f64 / speed) as u64);
            let ttl_ns = if self.recorded_ttl { self.ttl_ns(request) } else { 0 };
            let request_dealt = ReplayRequest { due_ns, number, bytes, ttl_ns, slot };
            let thread = self.choose_thread(request.op, request_dealt.number);
            // In a crew, other requests belong to the other ranks.
            if let Some(batch) = batches.get_mut(thread.wrapping_sub(self.threads.start as usize)) {
                batch.push(request_dealt);
            }
        }
        // Each thread gets a batch, even an empty one: so all know the position in the trace.
        Ok(self.hands.iter().zip(batches).all(|(hand, batch)| hand.send(batch).is_ok()))
    }

    /// Returns the number of a request's key, or its offset, and its bytes.
    fn key_and_bytes(&self, Request { key, value_bytes, .. }: &Request) -> (u64, u64) {
        let Some(all) = self.fold else { return (*key, *value_bytes) };
        // Only a discard is longer than all data.
        let bytes = *value_bytes.min(&all);
        ((key % all).min(all - bytes), bytes)
    }

    /// Returns the time to live of a request's record, which is shorter in a faster replay.
    fn ttl_ns(&self, request: &Request) -> u64 {
        let ttl_ns = request.ttl_ns as f64 / self.speed.unwrap_or(1.0);
        ttl_ns.ceil() as u64
    }

    fn choose_thread(&mut self, op: Op, number: u64) -> usize {
        // A flush goes to the thread of the request before it.
        if op == Op::Flush {
            return self.before;
        }
        let key = if self.of_drive { number >> REGION_BITS } else { number };
        self.before = ((u128::from(mix(key)) * u128::from(self.threads_total)) >> 64) as usize;
        self.before
    }
}

#[cfg(test)]
mod tests;
