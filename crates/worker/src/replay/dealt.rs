//! The requests of a trace that one thread gets, and the preparation of its blocks from them.

use super::{Batch, Deal, ReplayRequest, Work, actions};
use crate::block::Step;
use crate::calls::BLOCK_NS;
use crate::keyed::{Action, Keyed, KeyedBlock, KeyedStep};
use crate::rng::Rng;
use crate::source::KeySupply;
use crate::values::ValueAt;
use std::sync::mpsc::{Receiver, Sender, TryRecvError};

/// The requests of one thread.
#[derive(Debug)]
pub(crate) struct Dealt {
    supply: KeySupply,
    rng: Rng,
    /// The action of each slot, and whether it comes with a value.
    actions: Vec<(Action, bool)>,
    by_time: bool,
    /// Whether requests are for a drive.
    of_drive: bool,
    /// The number of requests of one step.
    each: usize,
    version: u32,
    /// The difference between the versions of two blocks; 0 in a load, which writes one version.
    newer: u32,
    batches: Receiver<Batch>,
    used: Sender<Batch>,
    batch: Batch,
    /// The index of the next request in the batch.
    next: usize,
    requested: bool,
}

impl Dealt {
    pub(super) fn new(
        deal: &Deal<'_>,
        supply: &KeySupply,
        mut rng: Rng,
        batches: Receiver<Batch>,
        used: Sender<Batch>,
    ) -> Self {
        let values = supply.values.for_thread(&mut rng);
        let of_drive = deal.replay.drive.is_some();
        Self {
            supply: KeySupply { values, ..supply.clone() },
            rng,
            actions: actions(deal.work, of_drive),
            by_time: deal.replay.speed.is_some(),
            of_drive,
            each: match deal.work {
                Work::Load { batch } => batch.max(1) as usize,
                Work::Mix(_) => 1,
            },
            version: 0,
            newer: u32::from(matches!(deal.work, Work::Mix(_))),
            batches,
            used,
            batch: Vec::new(),
            next: 0,
            requested: false,
        }
    }

    /// Prepares the requests at hand, up to `steps` operations. If there are none, it waits for a
    /// batch, except the first time: then other threads do not run yet, and take nothing from the
    /// dealer.
    pub(crate) fn fill(&mut self, block: &mut KeyedBlock, steps: usize) {
        block.clear();
        let first_time = !std::mem::replace(&mut self.requested, true);
        while self.next == self.batch.len() {
            if !self.next_batch() || first_time && self.batch.is_empty() {
                return;
            }
        }
        self.version = self.version.wrapping_add(self.newer);
        if self.of_drive {
            return self.prepare(block, steps, |data, request| {
                data.numbers.extend([request.number, request.bytes]);
                0
            });
        }
        match self.supply.keys.equal_length_digits() {
            Some(digits) => {
                self.prepare(block, steps, |data, request| data.push(request.number, digits));
            }
            None => {
                let keys = self.supply.keys.clone();
                self.prepare(block, steps, |data, request| {
                    data.push_of_its_length(request.number, &keys)
                });
            }
        }
    }

    /// Whether [`Self::fill`] would not wait: a request is at hand, or there are no more.
    pub(crate) fn is_ready(&mut self) -> bool {
        while self.next == self.batch.len() {
            match self.batches.try_recv() {
                Ok(batch) => self.replace(batch),
                Err(TryRecvError::Empty) => return false,
                Err(TryRecvError::Disconnected) => return true,
            }
        }
        true
    }

    /// Waits for the next batch. False: there is none.
    fn next_batch(&mut self) -> bool {
        let Ok(batch) = self.batches.recv() else { return false };
        self.replace(batch);
        true
    }

    fn replace(&mut self, batch: Batch) {
        // Sending fails once the trace has been read to its end and the dealer is gone.
        let _ = self.used.send(std::mem::replace(&mut self.batch, batch));
        self.next = 0;
    }

    fn prepare(
        &mut self,
        block: &mut KeyedBlock,
        steps: usize,
        push: impl Fn(&mut Keyed, &ReplayRequest) -> u64,
    ) {
        let Self { supply, rng, actions, batch, version, each, .. } = self;
        let ready = &batch[self.next..];
        let ready = &ready[..steps.saturating_mul(*each).min(ready.len())];
        // A thread that waits for a block's last request does not report its progress.
        let until = ready[0].due_ns.saturating_add(BLOCK_NS);
        let ready = ready.iter().take_while(|request| !self.by_time || request.due_ns <= until);
        let mut prepared = 0;
        for request in ready {
            let (action, has_value) = actions[usize::from(request.slot)];
            let action = action.expiring(request.ttl_ns > 0);
            let data = &mut block.data;
            let (first, value) = (data.numbers.len() as u32, data.values.len() as u32);
            let mut write_bytes = push(data, request);
            if has_value {
                let (number, bytes, arena) = (request.number, request.bytes, &mut data.arena);
                let stored = match bytes {
                    // No bytes: for a drive, nothing to write; for a key, a value of unknown
                    // length.
                    0 if self.of_drive => ValueAt::default(),
                    _ => supply.values.prepare_long(number, *version, bytes, rng, arena),
                };
                data.values.push(stored);
                data.ttl_ns.push(request.ttl_ns);
                write_bytes += stored.bytes as u64;
            }
            let writes = has_value || action == Action::Delete;
            let write_bytes = if writes { write_bytes } else { 0 };
            block.writes |= writes;
            if self.by_time {
                block.due.push(request.due_ns);
            }
            prepared += 1;
            if let Some(step) = block.steps.last_mut().filter(|_| (prepared - 1) % *each > 0) {
                step.action.items += 1;
                step.write_bytes += write_bytes;
                continue;
            }
            data.batches |= action == Action::Batch;
            let action = KeyedStep { action, first, items: 1, value };
            block.steps.push(Step { slot: request.slot, action, write_bytes });
        }
        self.next += prepared;
    }

    /// Counts the requests that are due before `until_ns` and were never prepared.
    pub(crate) fn count_unprepared(&mut self, until_ns: u64) -> u64 {
        let mut due_count = 0;
        loop {
            let rest = &self.batch[self.next..];
            let due = rest.partition_point(|request| request.due_ns < until_ns);
            due_count += due as u64;
            if due < rest.len() || !self.next_batch() {
                return due_count;
            }
        }
    }

    pub(crate) fn supply(&self) -> &KeySupply {
        &self.supply
    }

    /// The number of requests of one step.
    pub(crate) fn requests_per_step(&self) -> usize {
        self.each
    }
}
