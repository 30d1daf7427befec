//! Recorded requests, in place of operations that are drawn: one thread reads a trace ahead of the
//! role's own threads, which are given what is ready to be performed (`dealt`).
//!
//! Each key belongs to one thread, by its hash: so requests of a key keep their order. Batch after
//! batch goes to all threads, of which none is more than a few batches ahead of the slowest. Of a
//! drive a key is a region, that of a request's first byte.

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

/// Requests of the trace that are dealt out together.
const BATCH: usize = 4_096;

/// Batches that wait for a thread. As fast as it goes, all threads are at about the same place of
/// the trace; by its times they are anyway, and one that stands still must not hold up the others.
const AHEAD: usize = 3;
const AHEAD_BY_TIME: usize = 64;

/// Regions of a drive are of 2^20 bytes.
const REGION_BITS: u32 = 20;

/// A request as a thread performs it.
#[derive(Clone, Copy, Debug)]
struct ReplayRequest {
    /// Since the start of the phase, where there are times.
    due_ns: u64,
    /// Of a drive, the offset.
    number: u64,
    /// Of the value; of a drive, of the request.
    bytes: u64,
    /// How long the record lives that is written; 0: until it is removed.
    ttl_ns: u64,
    /// Of the operation in the role's mix.
    slot: u8,
}

type Batch = Vec<ReplayRequest>;

/// The part of a trace that is performed.
#[derive(Clone, Copy)]
pub(crate) enum Work<'a> {
    /// All of it, as operations of this mix.
    Mix(&'a [MixEntry]),
    /// What it reads before it writes is written, so many records at a time.
    Load { batch: u32 },
}

/// A trace and the threads that share it.
pub(crate) struct Deal<'a> {
    pub(crate) replay: &'a Replay,
    pub(crate) work: Work<'a>,
    /// The first requests of the trace.
    pub(crate) requests: u64,
    /// Threads that are dealt to, and of how many: of a crew, those of its other ranks are counted
    /// as well.
    pub(crate) threads: Range<u32>,
    pub(crate) threads_total: u32,
    /// Of all records.
    pub(crate) data_bytes: u64,
}

/// Reads a trace and distributes its requests.
pub(crate) struct Dealer {
    reader: TraceReader,
    /// Requests that are still to be read.
    requests_left: u64,
    /// How many times faster than recorded; none: as fast as it goes.
    speed: Option<f64>,
    /// Records live as long as they were written for.
    recorded_ttl: bool,
    slots: [Option<u8>; Op::ALL.len()],
    /// Of a load: what was there already is not written again.
    first_reads: Option<FirstReads>,
    of_drive: bool,
    /// Of a drive: where offsets begin anew.
    fold: Option<u64>,
    /// The thread of the request before.
    before: usize,
    threads: Range<u32>,
    threads_total: u32,
    hands: Vec<SyncSender<Batch>>,
    /// Batches that were worked off, to be filled again.
    used: Receiver<Batch>,
}

/// The dealer of a role that replays, and its threads' hands, one for each of `rngs`.
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

/// What performing the operations of a mix is, and whether each comes with a value.
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

/// Deals while `work` runs, in a thread whose time counts as that of the first role. Returns both
/// results.
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
    /// time it took.
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

    /// False: some thread has left.
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
            // Of a crew, the other ranks have the others.
            if let Some(batch) = batches.get_mut(thread.wrapping_sub(self.threads.start as usize)) {
                batch.push(request_dealt);
            }
        }
        // Each gets a batch, if only an empty one: so all have the position in the trace.
        Ok(self.hands.iter().zip(batches).all(|(hand, batch)| hand.send(batch).is_ok()))
    }

    /// The number of its key, or where it begins, and its bytes.
    fn key_and_bytes(&self, Request { key, value_bytes, .. }: &Request) -> (u64, u64) {
        let Some(all) = self.fold else { return (*key, *value_bytes) };
        // Only a discard is longer than all there is.
        let bytes = *value_bytes.min(&all);
        ((key % all).min(all - bytes), bytes)
    }

    /// The time to live of its record, shorter where time goes faster.
    fn ttl_ns(&self, request: &Request) -> u64 {
        let ttl_ns = request.ttl_ns as f64 / self.speed.unwrap_or(1.0);
        ttl_ns.ceil() as u64
    }

    fn choose_thread(&mut self, op: Op, number: u64) -> usize {
        // A flush belongs to the writes before it.
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
