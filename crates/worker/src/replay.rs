//! Recorded requests, in place of operations that are drawn: one thread reads a trace ahead of the
//! role's own threads, which are given what is ready to be performed.
//!
//! Each key belongs to one thread, by its hash: so requests of a key keep their order. Batch after
//! batch goes to all threads, of which none is more than a few batches ahead of the slowest.

use crate::block::Step;
use crate::calls::BLOCK_NS;
use crate::clock::Clock;
use crate::keyed::{Action, Keyed, KeyedBlock, KeyedStep};
use crate::rng::{Rng, mix};
use crate::source::{KeySupply, action_of};
use crate::team::spawn_of_role;
use crate::usage;
use kvdyno_engine::{Error, ErrorClass, Result};
use kvdyno_record::replay::{Replay, place_in};
use kvdyno_record::usage::ThreadsUsage;
use kvdyno_record::workload::Role;
use kvdyno_trace::{Op, Request, TraceError, TraceReader};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};

/// Requests of the trace that are dealt out together.
const BATCH: usize = 4_096;

/// Batches that wait for a thread. As fast as it goes, all threads are at about the same place of
/// the trace; by its times they are anyway, and one that stands still must not hold up the others.
const AHEAD: usize = 3;
const AHEAD_BY_TIME: usize = 64;

/// A request as a thread performs it.
#[derive(Clone, Copy, Debug)]
struct Asked {
    /// Since the start of the phase, where there are times.
    due_ns: u64,
    number: u64,
    value_bytes: u32,
    /// Of the operation in the role's mix.
    slot: u8,
}

type Batch = Vec<Asked>;

/// Reads a trace, and deals its requests out.
pub(crate) struct Dealer {
    reader: TraceReader,
    /// Requests that are still to be read.
    left: u64,
    /// How many times faster than recorded; none: as fast as it goes.
    speed: Option<f64>,
    slots: [Option<u8>; Op::ALL.len()],
    hands: Vec<SyncSender<Batch>>,
    /// Batches that were worked off, to be filled again.
    used: Receiver<Batch>,
}

/// What one thread is dealt.
#[derive(Debug)]
pub(crate) struct Dealt {
    supply: KeySupply,
    rng: Rng,
    /// By slot: what is done, and whether it comes with a value.
    actions: Vec<(Action, bool)>,
    by_time: bool,
    version: u32,
    batches: Receiver<Batch>,
    used: Sender<Batch>,
    batch: Batch,
    /// The next one in the batch.
    next: usize,
    asked: bool,
}

/// The dealer of a role that replays, and its threads' hands. `requests`: no more than so many.
pub(crate) fn open(
    replay: &Replay,
    role: &Role,
    requests: u64,
    supply: &KeySupply,
    rngs: impl Iterator<Item = Rng>,
) -> Result<(Dealer, Vec<Dealt>)> {
    let open = || TraceReader::open(&replay.file).map_err(error);
    if open()?.digest().map_err(error)? != replay.digest {
        let file = replay.file.display();
        return Err(Error::invalid(format!("`{file}` is not the trace that was planned with")));
    }
    let ahead = if replay.speed.is_some() { AHEAD_BY_TIME } else { AHEAD };
    let (used, to_fill) = channel();
    let actions: Vec<(Action, bool)> =
        role.mix.iter().map(|entry| (action_of(&entry.op), has_value(&entry.op))).collect();
    let (hands, dealt) = rngs
        .map(|mut rng| {
            let (hand, batches) = sync_channel(ahead);
            let values = supply.values.for_thread(&mut rng);
            let dealt = Dealt {
                supply: KeySupply { values, ..supply.clone() },
                rng,
                actions: actions.clone(),
                by_time: replay.speed.is_some(),
                version: 0,
                batches,
                used: used.clone(),
                batch: Vec::new(),
                next: 0,
                asked: false,
            };
            (hand, dealt)
        })
        .unzip();
    let slot = |op: Op| place_in(&role.mix, op.name()).map(|place| place as u8);
    let (slots, speed) = (Op::ALL.map(slot), replay.speed);
    let dealer = Dealer { reader: open()?, left: requests, speed, slots, hands, used: to_fill };
    Ok((dealer, dealt))
}

fn has_value(op: &kvdyno_record::workload::Op) -> bool {
    op.writes() && *op != kvdyno_record::workload::Op::Delete
}

#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn error(error: TraceError) -> Error {
    Error::invalid(error.to_string())
}

/// Deals while `work` is done, in a thread that is accounted for as those of the first role are.
/// Tells what came of both.
pub(crate) fn beside<C: Clock, T>(
    dealer: Dealer,
    clock: C,
    work: impl FnOnce() -> Result<T>,
) -> Result<(T, Result<ThreadsUsage>)> {
    std::thread::scope(|scope| {
        let dealing = spawn_of_role(scope, 0, move || dealer.run(clock));
        let done = work()?;
        let panicked = || Error::new(ErrorClass::Other, "what reads the trace panicked");
        Ok((done, dealing.join().unwrap_or_else(|_| Err(panicked()))))
    })
}

impl Dealer {
    /// Deals until there is no more, or until a thread has left, who does so when all are to. Tells
    /// what that took.
    fn run<C: Clock>(mut self, clock: C) -> Result<ThreadsUsage> {
        let before = usage::of_this_thread(clock.now());
        self.deal()?;
        Ok(usage::of_this_thread(clock.now()).since(&before))
    }

    fn deal(&mut self) -> Result<()> {
        let mut block = Vec::new();
        while self.left > 0 && self.reader.next_block(&mut block).map_err(error)? {
            block.truncate(self.left.min(block.len() as u64) as usize);
            self.left -= block.len() as u64;
            for requests in block.chunks(BATCH) {
                if !self.deal_out(requests)? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// False: some thread has left.
    fn deal_out(&mut self, requests: &[Request]) -> Result<bool> {
        let mut batches: Vec<Batch> =
            self.hands.iter().map(|_| self.used.try_recv().unwrap_or_default()).collect();
        batches.iter_mut().for_each(Vec::clear);
        let threads = self.hands.len() as u64;
        for request in requests {
            let Some(slot) = self.slots[request.op as usize] else {
                let name = request.op.name();
                return Err(Error::unsupported(&format!("a recorded {name}")));
            };
            let asked = Asked {
                due_ns: self.speed.map_or(0, |speed| (request.at_ns as f64 / speed) as u64),
                number: request.key,
                value_bytes: u32::try_from(request.value_bytes).unwrap_or(u32::MAX),
                slot,
            };
            let hand = ((u128::from(mix(request.key)) * u128::from(threads)) >> 64) as usize;
            batches[hand].push(asked);
        }
        // Each is dealt something, if only nothing: so all know how far the trace has come.
        Ok(self.hands.iter().zip(batches).all(|(hand, batch)| hand.send(batch).is_ok()))
    }
}

impl Dealt {
    /// Prepares what is at hand, up to `steps` requests; waits where that is nothing, but for the
    /// first time: then other threads are not at work yet, and take nothing from the dealer.
    pub(crate) fn fill(&mut self, block: &mut KeyedBlock, steps: usize) {
        block.clear();
        self.version = self.version.wrapping_add(1);
        let first_time = !std::mem::replace(&mut self.asked, true);
        while self.next == self.batch.len() {
            if !self.take() || first_time && self.batch.is_empty() {
                return;
            }
        }
        match self.supply.keys.of_one_length() {
            Some(digits) => self.prepare(block, steps, |data, number| data.push(number, digits)),
            None => {
                let keys = self.supply.keys.clone();
                self.prepare(block, steps, |data, number| data.push_of_its_length(number, &keys));
            }
        }
    }

    /// The next batch. False: there is none.
    fn take(&mut self) -> bool {
        let Ok(batch) = self.batches.recv() else { return false };
        // Nobody takes it where all is read.
        let _ = self.used.send(std::mem::replace(&mut self.batch, batch));
        self.next = 0;
        true
    }

    fn prepare(
        &mut self,
        block: &mut KeyedBlock,
        steps: usize,
        push: impl Fn(&mut Keyed, u64) -> u64,
    ) {
        let Self { supply, rng, actions, batch, version, .. } = self;
        let ready = &batch[self.next..];
        let ready = &ready[..steps.min(ready.len())];
        // A thread that waits for a block's last request tells nobody how far it is.
        let until = ready[0].due_ns.saturating_add(BLOCK_NS);
        let ready = ready.iter().take_while(|asked| !self.by_time || asked.due_ns <= until);
        for asked in ready {
            let (action, has_value) = actions[usize::from(asked.slot)];
            let data = &mut block.data;
            let (first, value) = (data.numbers.len() as u32, data.values.len() as u32);
            let mut write_bytes = push(data, asked.number);
            if has_value {
                let bytes = u64::from(asked.value_bytes);
                let arena = &mut data.arena;
                let at = supply.values.prepare_long(asked.number, *version, bytes, rng, arena);
                data.values.push(at);
                write_bytes += at.bytes as u64;
            }
            let writes = has_value || action == Action::Delete;
            let write_bytes = if writes { write_bytes } else { 0 };
            block.writes |= writes;
            let action = KeyedStep { action, first, items: 1, value };
            block.steps.push(Step { slot: asked.slot, action, write_bytes });
            if self.by_time {
                block.due.push(asked.due_ns);
            }
        }
        self.next += block.steps.len();
    }

    /// How many requests are due before `until_ns` that were never prepared.
    pub(crate) fn left_until(&mut self, until_ns: u64) -> u64 {
        let mut left = 0;
        loop {
            let rest = &self.batch[self.next..];
            let due = rest.partition_point(|asked| asked.due_ns < until_ns);
            left += due as u64;
            if due < rest.len() || !self.take() {
                return left;
            }
        }
    }

    pub(crate) fn supply(&self) -> &KeySupply {
        &self.supply
    }
}

#[cfg(test)]
mod tests;
