//! The sources of a thread's operations: an operation mix, the order of a load, or a trace.

use crate::block::Step;
use crate::chooser::{Chooser, Keyspace};
use crate::keyed::{Action, Keyed, KeyedBlock, KeyedStep, View};
use crate::keys::{Digits, KeyWriter};
use crate::kind::Supply;
use crate::missing::MissingKeys;
use crate::population::{Inserter, Population};
use crate::replay::Dealt;
use crate::rng::Rng;
use crate::shared::Task;
use crate::values::{Values, draw};
use kvdyno_record::workload::{MixEntry, Op, Role, Size};

mod load;
#[cfg(test)]
mod tests;

pub(crate) use load::LoadRange;

/// The most keys, and bytes of values, that are prepared in one block: a block of large batches
/// must stay small beside the RAM limit. A block always has at least one operation.
const KEYS_MAX: usize = 4096;
const VALUE_BYTES_MAX: u64 = 16 << 20;

/// The part that all sources of a case share.
#[derive(Clone, Debug)]
pub(crate) struct KeySupply {
    pub(crate) keys: KeyWriter,
    pub(crate) values: Values,
    /// The base of ranks and of the random load order. It has the data's seed, so that every trial
    /// and every thread means the same keys.
    pub(crate) keyspace: Keyspace,
}

/// One thread's operations.
#[derive(Debug)]
pub(crate) enum Source<'p> {
    Mix(MixSource<'p>),
    Load(LoadRange),
    Trace(Dealt),
}

impl Supply<KeyedStep, Keyed> for Source<'_> {
    fn fill(&mut self, block: &mut KeyedBlock, steps: usize) -> bool {
        match self {
            Self::Mix(mix) => mix.fill(block, steps),
            Self::Load(load) => load.fill(block, steps),
            Self::Trace(dealt) => dealt.fill(block, steps),
        }
        #[cfg(test)]
        crate::scripted::spend_preparing_time(block.steps.len());
        !block.steps.is_empty()
    }

    fn settle(&mut self, block: &KeyedBlock, done: usize, failed: &[usize]) {
        if let Self::Mix(mix) = self {
            mix.settle(block, done, failed);
        }
    }

    fn count_unprepared(&mut self, until_ns: u64) -> u64 {
        match self {
            Self::Trace(dealt) => dealt.count_unprepared(until_ns),
            Self::Mix(_) | Self::Load(_) => 0,
        }
    }

    fn steps_max(&self) -> usize {
        let keys = match self {
            Self::Mix(mix) => mix.entries.iter().map(|entry| entry.keys.mean()).fold(0.0, f64::max),
            Self::Load(load) => f64::from(load.batch),
            Self::Trace(dealt) => dealt.requests_per_step() as f64,
        };
        // A walk has no keys at all.
        let keys = keys.ceil().max(1.0) as u64;
        let by_bytes = VALUE_BYTES_MAX / (self.supply().values.bytes_max().max(1) * keys);
        (KEYS_MAX as u64 / keys).min(by_bytes).max(1) as usize
    }
}

impl<'p> Source<'p> {
    /// The set of missing keys; none: no key is missing.
    pub(crate) fn missing(&self) -> Option<&'p MissingKeys> {
        match self {
            Self::Mix(mix) => mix.population.missing(),
            Self::Load(_) | Self::Trace(_) => None,
        }
    }

    /// Returns the data that performing `block` needs.
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

    /// Whether a block can be prepared without a wait.
    pub(crate) fn is_ready(&mut self) -> bool {
        match self {
            Self::Trace(dealt) => dealt.is_ready(),
            Self::Mix(_) | Self::Load(_) => true,
        }
    }

    /// Whether operations on a key are done in their order.
    pub(crate) fn is_ordered(&self) -> bool {
        matches!(self, Self::Trace(_))
    }

    /// The number of records without a gap, as of the last block.
    pub(crate) fn records(&self) -> u64 {
        match self {
            Self::Mix(mix) => mix.records,
            Self::Load(_) | Self::Trace(_) => 0,
        }
    }

    /// Whether an operation of this slot writes a new key.
    pub(crate) fn inserts(&self, slot: u8) -> bool {
        matches!(self, Self::Mix(mix) if mix.entries[usize::from(slot)].inserts)
    }

    /// Settles inserts: the keys of those `under_way` may or may not come to exist, `lost` ones do
    /// not exist, and all other keys before them exist.
    pub(crate) fn settle_in_flight(
        &mut self,
        under_way: impl Iterator<Item = u64>,
        lost: impl Iterator<Item = u64>,
    ) {
        if let Self::Mix(MixSource { inserter: Some(inserter), .. }) = self {
            inserter.settle_in_flight(under_way, lost);
        }
    }

    pub(crate) fn supply(&self) -> &KeySupply {
        match self {
            Self::Mix(mix) => &mix.supply,
            Self::Load(load) => &load.supply,
            Self::Trace(dealt) => dealt.supply(),
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
    /// The number of records that exist, as of the last block; constant without inserts.
    records: u64,
    grows: bool,
    /// Whether keys differ from the drawn numbers: other ranks of a crew insert as well.
    strides: bool,
    inserter: Option<Inserter<'p>>,
    version: u32,
    flushes: Option<Flushes>,
    /// Whether some records expire.
    expires: bool,
}

/// The flushes between a thread's operations, as in fio: one is due wherever the number of writes
/// so far is a multiple of `every`. So there is one after each read at that point, too.
#[derive(Debug)]
struct Flushes {
    /// The slot of a flush.
    slot: u8,
    /// The number of writes before each flush.
    every: u64,
    /// The number of writes so far.
    writes: u64,
    /// Whether the last operation was a flush.
    flushed: bool,
}

impl Flushes {
    fn new(role: &Role) -> Option<Self> {
        let slot = role.mix.iter().position(|entry| entry.op == Op::Flush)? as u8;
        Some(Self { slot, every: role.flush_every?.into(), writes: 0, flushed: false })
    }

    /// Counts an operation that is not a flush; `writes`: it writes.
    fn count(&mut self, writes: bool) {
        self.writes += u64::from(writes);
        self.flushed = false;
    }

    /// Returns the flush that is due, if one is.
    fn take_due(&mut self) -> Option<Step<KeyedStep>> {
        if self.flushed || self.writes == 0 || !self.writes.is_multiple_of(self.every) {
            return None;
        }
        self.flushed = true;
        let action = KeyedStep { action: Action::Flush, first: 0, items: 0, value: 0 };
        Some(Step { slot: self.slot, action, write_bytes: 0 })
    }
}

/// One operation of a mix, and how it is prepared. It is looked up once, not for each operation.
#[derive(Debug)]
struct Entry {
    /// The upper end of its share of `0..1`.
    until: f64,
    action: Action,
    /// Whether it writes new numbers.
    inserts: bool,
    /// Whether its keys come with values.
    values: bool,
    /// The time to live of its records, in nanoseconds; 0: they live until they are removed.
    ttl_ns: u64,
    /// Whether its keys count as bytes that the engine writes.
    counts: bool,
    /// The number of its keys.
    keys: Size,
    /// The number of records it requests; none: as many as keys.
    records: Option<Size>,
    chooser: Chooser,
}

impl Entry {
    fn new(MixEntry { op, ttl_ns, .. }: &MixEntry, until: f64, chooser: Chooser) -> Self {
        let single = Size::Fixed { bytes: 1 };
        let (keys, records) = match op.clone() {
            Op::Scan { length, .. } => (single, Some(length)),
            Op::Multiget { keys } => (keys, None),
            Op::Batch { writes } => (writes, None),
            Op::Walk { length, .. } => (Size::Fixed { bytes: 0 }, Some(length)),
            _ => (single, None),
        };
        Self {
            until,
            action: keyed_action(op).expiring(ttl_ns.is_some()),
            inserts: *op == Op::Insert,
            values: op.writes() && *op != Op::Delete,
            ttl_ns: ttl_ns.unwrap_or(0),
            counts: op.writes(),
            keys,
            records,
            chooser,
        }
    }
}

/// Returns the action that performs an operation on keys.
pub(crate) fn keyed_action(op: &Op) -> Action {
    match op {
        Op::Get => Action::Get,
        Op::Insert | Op::Update => Action::Put,
        Op::Delete => Action::Delete,
        Op::Scan { reverse: false, .. } => Action::ScanForward,
        Op::Scan { reverse: true, .. } => Action::ScanReverse,
        Op::Multiget { .. } => Action::Multiget,
        Op::ReadModifyWrite => Action::ReadModifyWrite,
        Op::Batch { .. } => Action::Batch,
        Op::Walk { reverse: false, .. } => Action::WalkForward,
        Op::Walk { reverse: true, .. } => Action::WalkReverse,
        Op::Flush => Action::Flush,
        op => unreachable!("{} is no operation on keys", op.name()),
    }
}

impl<'p> MixSource<'p> {
    /// The source of thread `thread`; `grows`: the phase inserts.
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
                Entry::new(entry, until, chooser)
            })
            .collect();
        let inserts = entries.iter().any(|entry| entry.inserts);
        Self {
            supply: KeySupply { values: supply.values.for_thread(&mut rng), ..supply.clone() },
            rng,
            entries,
            population,
            records,
            grows,
            strides: population.strides(grows),
            inserter: inserts.then(|| Inserter::new(population)),
            version: 0,
            flushes: Flushes::new(role),
            expires: role.mix.iter().any(|entry| entry.ttl_ns.is_some()),
        }
    }

    fn fill(&mut self, block: &mut KeyedBlock, steps: usize) {
        if self.grows {
            self.records = self.population.visible().max(1);
        }
        self.version = self.version.wrapping_add(1);
        // Decided once, not for each key.
        match self.supply.keys.equal_length_digits() {
            Some(digits) if self.gets_alone() && !self.strides => {
                self.fill_with_gets(block, steps, digits);
            }
            Some(digits) => self.draw(block, steps, |data, number| data.push(number, digits)),
            None => {
                let keys = self.supply.keys.clone();
                self.draw(block, steps, |data, number| data.push_of_its_length(number, &keys));
            }
        }
    }

    fn gets_alone(&self) -> bool {
        matches!(self.entries.as_slice(), [Entry { action: Action::Get, .. }])
    }

    /// Fills a block for the commonest mix of all, without a draw or a branch per step.
    fn fill_with_gets(&mut self, block: &mut KeyedBlock, steps: usize, digits: Digits) {
        let (records, rng) = (self.records, &mut self.rng);
        match &mut self.entries[0].chooser {
            Chooser::Uniform => fill_with_gets(digits, block, steps, || rng.below(records)),
            other => fill_with_gets(digits, block, steps, || other.next(records, rng)),
        }
    }

    /// Draws operations; `push` adds a number's key to the block, and returns the key's length.
    fn draw(
        &mut self,
        block: &mut KeyedBlock,
        steps: usize,
        push: impl Fn(&mut Keyed, u64) -> u64,
    ) {
        block.clear();
        while block.steps.len() < steps {
            if let Some(flush) = self.flushes.as_mut().and_then(Flushes::take_due) {
                block.steps.push(flush);
                continue;
            }
            let slot = self.slot();
            let Self { supply, rng, entries, records, inserter, version, .. } = self;
            let Self { population, strides, flushes, expires, .. } = self;
            let (entry, data) = (&mut entries[slot], &mut block.data);
            let (first, value) = (data.numbers.len() as u32, data.values.len() as u32);
            let keys = draw(&entry.keys, rng) as u32;
            let mut write_bytes = 0;
            for _ in 0..keys {
                let number = match inserter {
                    Some(inserter) if entry.inserts => inserter.next(),
                    _ => entry.chooser.next(*records, rng),
                };
                let number = if *strides { population.key(number) } else { number };
                let key_bytes = push(data, number);
                if entry.values {
                    let stored = supply.values.prepare(number, *version, rng, &mut data.arena);
                    data.values.push(stored);
                    data.ttl_ns.extend(expires.then_some(entry.ttl_ns));
                    write_bytes += stored.bytes as u64;
                }
                write_bytes += if entry.counts { key_bytes } else { 0 };
            }
            let items = entry.records.as_ref().map_or(keys, |length| scan_length(length, rng));
            data.multigets |= entry.action == Action::Multiget;
            data.batches |= entry.action == Action::Batch;
            block.writes |= write_bytes > 0;
            let action = KeyedStep { action: entry.action, first, items, value };
            block.steps.push(Step { slot: slot as u8, action, write_bytes });
            if let Some(flushes) = flushes {
                flushes.count(entry.counts);
            }
        }
    }

    /// Draws the next operation.
    #[inline]
    fn slot(&mut self) -> usize {
        if self.entries.len() == 1 {
            return 0;
        }
        let u = self.rng.unit();
        self.entries.iter().position(|entry| u < entry.until).unwrap_or(self.entries.len() - 1)
    }

    fn settle(&mut self, block: &KeyedBlock, done: usize, failed: &[usize]) {
        if let Some(missing) = self.population.missing().filter(|_| block.writes) {
            let steps = block.steps[..done].iter().enumerate();
            let succeeded = steps.filter(|(index, _)| !failed.contains(index));
            succeeded.for_each(|(_, step)| update_missing(missing, &block.data, step.action));
        }
        let Some(inserter) = &mut self.inserter else { return };
        let entries = &self.entries;
        let inserts = |step: &&Step<KeyedStep>| entries[step.slot as usize].inserts;
        let undone = block.steps[done..].iter();
        let failed = failed.iter().map(|index| &block.steps[*index]);
        let lost = undone.chain(failed).filter(inserts);
        inserter.settle(lost.map(|step| block.data.numbers[step.action.first as usize]));
    }
}

/// Marks the keys that a step wrote or deleted.
fn update_missing(missing: &MissingKeys, data: &Keyed, step: KeyedStep) {
    let mark: fn(&MissingKeys, u64) = match step.action {
        Action::Delete => MissingKeys::add,
        action if action.writes_values() => MissingKeys::remove,
        _ => return,
    };
    for number in &data.numbers[step.first as usize..][..step.items as usize] {
        mark(missing, *number);
    }
}

/// Fills a block with lookups. The steps are the same in every block, so they are written once. It
/// is a function of its own, so that its loop has the registers to itself.
#[inline(never)]
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
    block.data.numbers.fill_with(&mut next);
    let places = block.data.keys.chunks_exact_mut(bytes).zip(&block.data.numbers);
    // Decided once, not for each key.
    if keys.is_ordered() {
        places.for_each(|(key, number)| keys.write_scattered(*number, key));
    } else {
        places.for_each(|(key, number)| keys.write(*number, key));
    }
    block.steps.truncate(steps);
    for first in block.steps.len()..steps {
        let action = KeyedStep { action: Action::Get, first: first as u32, items: 1, value: 0 };
        block.steps.push(Step { slot: 0, action, write_bytes: 0 });
    }
}

fn scan_length(length: &Size, rng: &mut Rng) -> u32 {
    draw(length, rng).clamp(1, u64::from(u32::MAX)) as u32
}
