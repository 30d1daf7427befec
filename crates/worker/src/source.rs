//! Where a thread's operations come from: an operation mix, or the order of a load.

use crate::bijection::Bijection;
use crate::block::Step;
use crate::chooser::{Chooser, Keyspace};
use crate::keyed::{Action, Keyed, KeyedBlock, KeyedStep, View};
use crate::keys::{Digits, KeyWriter};
use crate::kind::Supply;
use crate::population::{Inserter, Population};
use crate::rng::Rng;
use crate::shared::Task;
use crate::values::{Values, draw};
use kvdyno_record::workload::{LoadOrder, Op, Role, Size};
use std::ops::Range;

#[cfg(test)]
mod tests;

/// Keys, and bytes of values, prepared in one block at most (one operation is always taken), so
/// that a block of large batches stays small beside the RAM limit.
const KEYS_MAX: usize = 4096;
const VALUE_BYTES_MAX: u64 = 16 << 20;

/// What all sources of a case share.
#[derive(Clone, Debug)]
pub(crate) struct KeySupply {
    pub(crate) keys: KeyWriter,
    pub(crate) values: Values,
    /// Where ranks and the random load order come from, by the data's seed, so that every trial and
    /// every thread means the same keys.
    pub(crate) keyspace: Keyspace,
}

/// One thread's operations.
#[derive(Debug)]
pub(crate) enum Source<'p> {
    Mix(MixSource<'p>),
    Load(LoadRange),
}

impl Supply<KeyedStep, Keyed> for Source<'_> {
    fn fill(&mut self, block: &mut KeyedBlock, steps: usize) -> bool {
        match self {
            Self::Mix(mix) => mix.fill(block, steps),
            Self::Load(load) => load.fill(block, steps),
        }
        #[cfg(test)]
        crate::scripted::prepared(block.steps.len());
        !block.steps.is_empty()
    }

    fn settle(&mut self, block: &KeyedBlock, done: usize, failed: &[usize]) {
        if let Self::Mix(mix) = self {
            mix.settle(block, done, failed);
        }
    }

    fn steps_max(&self) -> usize {
        let keys = match self {
            Self::Mix(mix) => mix.entries.iter().map(|entry| keys_of(&entry.op)).max().unwrap_or(0),
            Self::Load(load) => load.batch,
        };
        // A walk has no keys at all.
        let keys = keys.max(1);
        let value_bytes = self.supply().values.bytes_max().max(1) * u64::from(keys);
        let by_bytes = VALUE_BYTES_MAX / value_bytes;
        (KEYS_MAX / keys as usize).min(by_bytes as usize).max(1)
    }
}

impl Source<'_> {
    /// What performing `block` needs.
    pub(crate) fn view<'b>(&'b self, block: &'b KeyedBlock, task: &Task) -> View<'b> {
        let (data, supply) = (&block.data, self.supply());
        let mut view = View {
            data,
            key_bytes: supply.keys.fixed_len(),
            value_bytes: supply.values.bytes(&data.arena),
            refs: Vec::new(),
            writes: Vec::new(),
            verify: task.verify,
            keys: &supply.keys,
            all_there_below: (!task.gaps).then(|| self.records()),
        };
        if data.multigets {
            view.refs = (0..data.numbers.len() as u32).map(|index| view.key(index)).collect();
        }
        if data.batches {
            view.writes = view.batch_writes(&block.steps);
        }
        view
    }

    /// How many numbers exist without a gap, as of the last block.
    pub(crate) fn records(&self) -> u64 {
        match self {
            Self::Mix(mix) => mix.records,
            Self::Load(_) => 0,
        }
    }

    pub(crate) fn supply(&self) -> &KeySupply {
        match self {
            Self::Mix(mix) => &mix.supply,
            Self::Load(load) => &load.supply,
        }
    }
}

/// Operations drawn from a role's mix.
#[derive(Debug)]
pub(crate) struct MixSource<'p> {
    supply: KeySupply,
    rng: Rng,
    entries: Vec<Entry>,
    population: &'p Population,
    /// Records that exist, as of the last block; constant where nobody inserts.
    records: u64,
    grows: bool,
    inserter: Option<Inserter<'p>>,
    version: u32,
}

#[derive(Debug)]
struct Entry {
    /// Upper end of its share of `0..1`.
    until: f64,
    op: Op,
    chooser: Chooser,
}

impl<'p> MixSource<'p> {
    /// For the thread of this number; `grows`: somebody in its phase inserts.
    pub(crate) fn new(
        role: &Role,
        thread: u32,
        grows: bool,
        supply: &KeySupply,
        mut rng: Rng,
        population: &'p Population,
    ) -> Self {
        let records = population.visible().max(1);
        let total: f64 = role.mix.iter().map(|entry| entry.weight).sum();
        let mut until = 0.0;
        let entries: Vec<Entry> = role
            .mix
            .iter()
            .map(|entry| {
                until += entry.weight / total;
                let chooser =
                    Chooser::new(&entry.keys, &supply.keyspace, records, (thread, role.threads));
                Entry { until, op: entry.op.clone(), chooser }
            })
            .collect();
        let inserts = entries.iter().any(|entry| matches!(entry.op, Op::Insert));
        Self {
            supply: KeySupply { values: supply.values.for_thread(&mut rng), ..supply.clone() },
            rng,
            entries,
            population,
            records,
            grows,
            inserter: inserts.then(|| Inserter::new(population)),
            version: 0,
        }
    }

    fn fill(&mut self, block: &mut KeyedBlock, steps: usize) {
        if self.grows {
            self.records = self.population.visible().max(1);
        }
        self.version = self.version.wrapping_add(1);
        let fixed = self.supply.keys.fixed_len() > 0;
        if let ([Entry { op: Op::Get, chooser, .. }], true) = (self.entries.as_mut_slice(), fixed) {
            let (records, rng) = (self.records, &mut self.rng);
            match chooser {
                Chooser::Uniform => {
                    fill_with_gets(self.supply.keys.digits(), block, steps, || rng.below(records));
                }
                other => {
                    fill_with_gets(self.supply.keys.digits(), block, steps, || {
                        other.next(records, rng)
                    });
                }
            }
            return;
        }
        block.clear();
        while block.steps.len() < steps {
            self.push_drawn(block);
        }
    }

    fn push_drawn(&mut self, block: &mut KeyedBlock) {
        let slot = if self.entries.len() == 1 {
            0
        } else {
            let u = self.rng.unit();
            self.entries.iter().position(|entry| u < entry.until).unwrap_or(self.entries.len() - 1)
        };
        let (first, value) = (block.data.numbers.len() as u32, block.data.values.len() as u32);
        let op = self.entries[slot].op.clone();
        let (action, writes) = match &op {
            Op::Get => (Action::Get, false),
            Op::Insert | Op::Update => (Action::Put, true),
            Op::Delete => (Action::Delete, false),
            Op::Scan { reverse: false, .. } => (Action::ScanForward, false),
            Op::Scan { reverse: true, .. } => (Action::ScanReverse, false),
            Op::Multiget { .. } => (Action::Multiget, false),
            Op::ReadModifyWrite => (Action::ReadModifyWrite, true),
            Op::Batch { .. } => (Action::Batch, true),
            Op::Walk { reverse: false, .. } => (Action::WalkForward, false),
            Op::Walk { reverse: true, .. } => (Action::WalkReverse, false),
        };
        let keys = keys_of(&op);
        let mut write_bytes = 0;
        for _ in 0..keys {
            let number = self.number(slot, &op);
            write_bytes += self.push_key(block, number, writes || op == Op::Delete, writes);
        }
        let items = match &op {
            Op::Scan { length, .. } | Op::Walk { length, .. } => scan_length(length, &mut self.rng),
            _ => keys,
        };
        block.data.multigets |= action == Action::Multiget;
        block.data.batches |= action == Action::Batch;
        block.writes |= write_bytes > 0;
        let action = KeyedStep { action, first, items, value };
        block.steps.push(Step { slot: slot as u8, action, write_bytes });
    }

    fn number(&mut self, slot: usize, op: &Op) -> u64 {
        match (op, &mut self.inserter) {
            (Op::Insert, Some(inserter)) => inserter.take(),
            _ => self.entries[slot].chooser.next(self.records, &mut self.rng),
        }
    }

    /// Prepares a key, and a value where one is written; returns the bytes the engine is given.
    fn push_key(
        &mut self,
        block: &mut KeyedBlock,
        number: u64,
        counts: bool,
        with_value: bool,
    ) -> u64 {
        let bytes = push_key(&self.supply.keys, block, number);
        if with_value {
            let values = &mut self.supply.values;
            let at = values.prepare(number, self.version, &mut self.rng, &mut block.data.arena);
            block.data.values.push(at);
            return bytes + at.bytes as u64;
        }
        if counts { bytes } else { 0 }
    }

    fn settle(&mut self, block: &KeyedBlock, done: usize, failed: &[usize]) {
        let Some(inserter) = &mut self.inserter else { return };
        let entries = &self.entries;
        let inserts = |step: &&Step<KeyedStep>| entries[step.slot as usize].op == Op::Insert;
        let undone = block.steps[done..].iter();
        let failed = failed.iter().map(|index| &block.steps[*index]);
        let lost = undone.chain(failed).filter(inserts);
        inserter.settle(lost.map(|step| block.data.numbers[step.action.first as usize]));
    }
}

/// The commonest mix of all, without a draw or a branch per step. The steps are the same in every
/// block, so they are written once.
fn fill_with_gets(
    keys: Digits,
    block: &mut KeyedBlock,
    steps: usize,
    mut next: impl FnMut() -> u64,
) {
    let steps = steps.min(KEYS_MAX);
    block.due.clear();
    let bytes = keys.len();
    block.data.keys.resize(steps * bytes, 0);
    block.data.numbers.resize(steps, 0);
    let places = block.data.keys.chunks_exact_mut(bytes).zip(&mut block.data.numbers);
    // Looked at once and not for each key.
    if keys.is_ordered() {
        for (key, place) in places {
            *place = next();
            keys.write_scattered(*place, key);
        }
    } else {
        for (key, place) in places {
            *place = next();
            keys.write(*place, key);
        }
    }
    block.steps.truncate(steps);
    for first in block.steps.len()..steps {
        let action = KeyedStep { action: Action::Get, first: first as u32, items: 1, value: 0 };
        block.steps.push(Step { slot: 0, action, write_bytes: 0 });
    }
}

/// Keys that one operation is prepared with.
fn keys_of(op: &Op) -> u32 {
    match op {
        Op::Multiget { keys } => *keys,
        Op::Batch { writes } => *writes,
        Op::Walk { .. } => 0,
        _ => 1,
    }
}

fn scan_length(length: &Size, rng: &mut Rng) -> u32 {
    draw(length, rng).clamp(1, u64::from(u32::MAX)) as u32
}

#[inline]
fn push_key(keys: &KeyWriter, block: &mut KeyedBlock, number: u64) -> u64 {
    let data = &mut block.data;
    data.numbers.push(number);
    let fixed = keys.fixed_len();
    if fixed == 0 {
        let bytes = keys.push(number, &mut data.keys);
        data.key_ends.push(data.keys.len() as u32);
        return bytes as u64;
    }
    let at = data.keys.len();
    data.keys.resize(at + fixed, 0);
    keys.digits().write(number, &mut data.keys[at..]);
    fixed as u64
}

/// One thread's share of a load: a contiguous range of the order.
#[derive(Debug)]
pub(crate) struct LoadRange {
    supply: KeySupply,
    rng: Rng,
    left: Range<u64>,
    order: Order,
    batch: u32,
}

/// Names the draws of a load.
const DRAWN: u64 = 0x6472_6177;

/// Which number a place of a load's order has.
#[derive(Debug)]
enum Order {
    Sequential,
    Random(Bijection),
    /// One of so many, each time anew; by draws of its own, or a reader would draw the same keys.
    Drawn(u64, Rng),
}

impl LoadRange {
    /// The share of thread `thread` of `threads` in a load of `records`.
    pub(crate) fn new(
        order: LoadOrder,
        batch: u32,
        records: u64,
        (thread, threads): (u32, u32),
        supply: &KeySupply,
        mut rng: Rng,
    ) -> Self {
        let bound = |t: u32| (u128::from(records) * u128::from(t) / u128::from(threads)) as u64;
        let values = supply.values.for_thread(&mut rng);
        let draws = Rng::new(&[rng.clone().next(), DRAWN]);
        Self {
            supply: KeySupply { values, ..supply.clone() },
            rng,
            left: bound(thread)..bound(thread + 1),
            order: match order {
                LoadOrder::Sequential => Order::Sequential,
                LoadOrder::Random => Order::Random(Bijection::new(records, supply.keyspace.seed)),
                LoadOrder::Drawn => Order::Drawn(records, draws),
            },
            batch: batch.max(1),
        }
    }

    fn fill(&mut self, block: &mut KeyedBlock, steps: usize) {
        block.clear();
        (block.data.batches, block.writes) = (self.batch > 1, true);
        while block.steps.len() < steps && !self.left.is_empty() {
            let (first, value) = (block.data.numbers.len() as u32, block.data.values.len() as u32);
            let (mut items, mut write_bytes) = (0, 0);
            for place in self.left.by_ref().take(self.batch as usize) {
                let number = match &mut self.order {
                    Order::Sequential => place,
                    Order::Random(order) => order.at(place),
                    Order::Drawn(records, rng) => rng.below(*records),
                };
                write_bytes += push_key(&self.supply.keys, block, number);
                let at =
                    self.supply.values.prepare(number, 0, &mut self.rng, &mut block.data.arena);
                write_bytes += at.bytes as u64;
                block.data.values.push(at);
                items += 1;
            }
            let action = if self.batch == 1 { Action::Put } else { Action::Batch };
            let action = KeyedStep { action, first, items, value };
            block.steps.push(Step { slot: 0, action, write_bytes });
        }
    }
}
