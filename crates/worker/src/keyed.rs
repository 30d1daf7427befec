//! Key-value operations: the kind of work that a [`Session`] does.

#![expect(
    clippy::inline_always,
    reason = "each is a part of one loop, and shows in ns per operation"
)]

use crate::block::{Block, Step};
use crate::clock::Clock;
use crate::flight;
use crate::hot::Recorder;
use crate::keys::KeyWriter;
use crate::kind::{BlockOf, Kind};
use crate::shared::{Task, ThreadContext};
use crate::source::Source;
use crate::tally::Tally;
use crate::values::{ValueAt, is_sound, touch};
use kvdyno_engine::{Direction, Engine, Range, Result, Session, Walk, Write};
use std::marker::PhantomData;
use std::ops::ControlFlow;

/// Key-value operations on an engine.
pub(crate) struct KeyValue<E>(PhantomData<E>);

/// What a step does. `Put` is both insert and update: to an engine they are the same call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Get,
    Put,
    Delete,
    ScanForward,
    ScanReverse,
    Multiget,
    ReadModifyWrite,
    Batch,
    WalkForward,
    WalkReverse,
}

/// What, on which prepared keys and values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyedStep {
    pub(crate) action: Action,
    /// Its first key in the block.
    pub(crate) first: u32,
    /// Keys; for a scan, records asked for.
    pub(crate) items: u32,
    /// Its first value in the block.
    pub(crate) value: u32,
}

/// The keys and values of a block.
#[derive(Debug, Default)]
pub(crate) struct Keyed {
    /// The number behind each key.
    pub(crate) numbers: Vec<u64>,
    pub(crate) keys: Vec<u8>,
    /// Where each key ends, where not all have one length.
    pub(crate) key_ends: Vec<u32>,
    pub(crate) values: Vec<ValueAt>,
    /// Values that carry a header.
    pub(crate) arena: Vec<u8>,
    /// Some step is a multiget: keys are needed as slices.
    pub(crate) multigets: bool,
    /// Some step is a batch: writes are needed as a list.
    pub(crate) batches: bool,
}

/// A block of key-value operations.
pub(crate) type KeyedBlock = Block<KeyedStep, Keyed>;

impl KeyedBlock {
    pub(crate) fn clear(&mut self) {
        self.steps.clear();
        self.due.clear();
        self.writes = false;
        let data = &mut self.data;
        data.numbers.clear();
        data.keys.clear();
        data.key_ends.clear();
        data.values.clear();
        data.arena.clear();
        (data.multigets, data.batches) = (false, false);
    }
}

/// A block as it is performed.
pub(crate) struct View<'b> {
    pub(crate) data: &'b Keyed,
    /// Of each key; 0: they have lengths of their own.
    pub(crate) key_bytes: usize,
    /// What [`ValueAt`] points into.
    pub(crate) value_bytes: &'b [u8],
    /// The keys as slices, where a multiget needs them.
    pub(crate) refs: Vec<&'b [u8]>,
    /// The writes, where a batch needs them; as many as values, in their order.
    pub(crate) writes: Vec<Write<'b>>,
    /// Check every value read.
    pub(crate) verify: bool,
    /// Reads keys back; for scans.
    pub(crate) keys: &'b KeyWriter,
    /// Numbers below this are there, and a scan must show them; none where keys are deleted.
    pub(crate) all_there_below: Option<u64>,
}

impl<'b> View<'b> {
    #[inline(always)]
    pub(crate) fn key(&self, index: u32) -> &'b [u8] {
        if self.key_bytes == 0 {
            return self.key_of_its_own_length(index);
        }
        &self.data.keys[index as usize * self.key_bytes..][..self.key_bytes]
    }

    #[inline(always)]
    pub(crate) fn key_len(&self, index: u32) -> usize {
        match self.key_bytes {
            0 => self.key_of_its_own_length(index).len(),
            bytes => bytes,
        }
    }

    #[inline(never)]
    fn key_of_its_own_length(&self, index: u32) -> &'b [u8] {
        let (index, ends) = (index as usize, &self.data.key_ends);
        let start = index.checked_sub(1).map_or(0, |before| ends[before]);
        &self.data.keys[start as usize..ends[index] as usize]
    }

    #[inline]
    pub(crate) fn value(&self, index: u32) -> &'b [u8] {
        let at = self.data.values[index as usize];
        &self.value_bytes[at.start..][..at.bytes]
    }

    /// All writes of a block in the order of its values: steps that write are prepared key by key.
    fn batch_writes(&self, steps: &[Step<KeyedStep>]) -> Vec<Write<'b>> {
        let mut writes = Vec::with_capacity(self.data.values.len());
        for step in steps.iter().map(|step| step.action) {
            if matches!(step.action, Action::Batch | Action::Put | Action::ReadModifyWrite) {
                writes.extend((0..step.items).map(|item| Write::Put {
                    key: self.key(step.first + item),
                    value: self.value(step.value + item),
                }));
            }
        }
        writes
    }
}

/// What a thread has of its own.
pub(crate) struct Thread<S> {
    pub(crate) session: S,
    /// A read-modify-write's new value.
    buffer: Vec<u8>,
    forward: Walk,
    reverse: Walk,
}

impl<E: Engine> Kind for KeyValue<E> {
    type Engine = E;
    type Handle<'e> = Thread<E::Session<'e>>;
    type Action = KeyedStep;
    type Data = Keyed;
    type View<'b> = View<'b>;
    type Source<'p> = Source<'p>;

    fn open(engine: &E) -> Result<Thread<E::Session<'_>>> {
        Ok(Thread {
            session: engine.session()?,
            buffer: Vec::new(),
            forward: Walk::new(Direction::Forward),
            reverse: Walk::new(Direction::Reverse),
        })
    }

    fn view<'b>(source: &'b Source<'_>, block: &'b BlockOf<Self>, task: &Task) -> View<'b> {
        view(source, block, task)
    }

    #[inline(always)]
    fn perform(
        thread: &mut Thread<E::Session<'_>>,
        step: &Step<KeyedStep>,
        view: &View<'_>,
        tally: &mut Tally,
        sink: &mut u64,
    ) -> Result<()> {
        perform(thread, &step.action, view, tally, sink)
    }

    fn in_flight<C: Clock>(
        context: ThreadContext<'_, Thread<E::Session<'_>>, C>,
        source: &mut Source<'_>,
        block: KeyedBlock,
        depth: u32,
    ) -> Recorder {
        flight::drive(context, source, block, depth)
    }
}

/// What performing `block` needs.
pub(crate) fn view<'b>(source: &'b Source<'_>, block: &'b KeyedBlock, task: &Task) -> View<'b> {
    let (data, supply) = (&block.data, source.supply());
    let mut view = View {
        data,
        key_bytes: supply.keys.fixed_len(),
        value_bytes: supply.values.bytes(&data.arena),
        refs: Vec::new(),
        writes: Vec::new(),
        verify: task.verify,
        keys: &supply.keys,
        all_there_below: (!task.gaps).then(|| source.records()),
    };
    if data.multigets {
        view.refs = (0..data.numbers.len() as u32).map(|index| view.key(index)).collect();
    }
    if data.batches {
        view.writes = view.batch_writes(&block.steps);
    }
    view
}

/// One operation. Every value read is touched whole, or checked.
#[inline(always)]
fn perform<S: Session>(
    thread: &mut Thread<S>,
    step: &KeyedStep,
    view: &View<'_>,
    tally: &mut Tally,
    sink: &mut u64,
) -> Result<()> {
    let session = &mut thread.session;
    match step.action {
        Action::Get => {
            let mut seen = Seen::default();
            session.get(view.key(step.first), |value| seen.value(view, step.first, value, sink))?;
            seen.add_to(tally);
            Ok(())
        }
        Action::Put => session.put(view.key(step.first), view.value(step.value)),
        Action::Batch => {
            session.write(&view.writes[step.value as usize..][..step.items as usize])?;
            tally.many_items += u64::from(step.items);
            Ok(())
        }
        _ => perform_rare(thread, step, view, tally, sink),
    }
}

/// The operations whose own cost hides a call.
#[inline(never)]
fn perform_rare<S: Session>(
    thread: &mut Thread<S>,
    step: &KeyedStep,
    view: &View<'_>,
    tally: &mut Tally,
    sink: &mut u64,
) -> Result<()> {
    let Thread { session, buffer, forward, reverse } = thread;
    match step.action {
        Action::Delete => session.delete(view.key(step.first)),
        Action::ScanForward => scan(session, Direction::Forward, step, view, tally, sink),
        Action::ScanReverse => scan(session, Direction::Reverse, step, view, tally, sink),
        Action::WalkForward => walk(session, forward, step, view, tally, sink),
        Action::WalkReverse => walk(session, reverse, step, view, tally, sink),
        Action::Multiget => {
            let keys = &view.refs[step.first as usize..][..step.items as usize];
            let mut seen = Seen::default();
            session.multiget(keys, |index, value| {
                seen.value(view, step.first + index as u32, value, sink);
            })?;
            tally.many_items += u64::from(step.items);
            seen.add_to(tally);
            Ok(())
        }
        Action::ReadModifyWrite => {
            let new = view.value(step.value);
            let mut seen = Seen::default();
            session.read_modify_write(view.key(step.first), buffer, |old, buffer| {
                seen.value(view, step.first, old, sink);
                buffer.extend_from_slice(new);
            })?;
            seen.add_to(tally);
            Ok(())
        }
        Action::Get | Action::Put | Action::Batch => unreachable!("handled in the loop"),
    }
}

/// A scan must begin with the key it was asked for, and, where keys are in order, show as many records as there are from there
/// on, where nobody deletes. One that shows less counts what it left out as missing.
fn scan<S: Session>(
    session: &mut S,
    direction: Direction,
    step: &KeyedStep,
    view: &View<'_>,
    tally: &mut Tally,
    sink: &mut u64,
) -> Result<()> {
    let (from, number) = (view.key(step.first), view.data.numbers[step.first as usize]);
    let range = Range::all(direction).from(from).limit(u64::from(step.items));
    let (mut records, mut begins) = (Records::default(), None);
    let shown = session.scan(range, |key, value| {
        begins.get_or_insert_with(|| key == from);
        records.saw(view, key, value, sink);
        ControlFlow::Continue(())
    })?;
    // Of hashed keys nobody knows how many lie behind one: the one itself does.
    let there = view.all_there_below.map_or(0, |records| match direction {
        _ if !view.keys.is_ordered() => u64::from(number < records),
        Direction::Forward => records.saturating_sub(number),
        Direction::Reverse => number + 1,
    });
    let expected = there.min(u64::from(step.items));
    let missing = expected.saturating_sub(shown);
    let missing = missing.max(u64::from(expected > 0 && begins != Some(true)));
    records.add_to(tally, shown, missing);
    Ok(())
}

/// The next records; past the last, the first again. Where there are records something is shown.
fn walk<S: Session>(
    session: &mut S,
    walk: &mut Walk,
    step: &KeyedStep,
    view: &View<'_>,
    tally: &mut Tally,
    sink: &mut u64,
) -> Result<()> {
    let (limit, mut records) = (u64::from(step.items), Records::default());
    let mut next = || {
        session.walk(walk, limit, |key, value| {
            records.saw(view, key, value, sink);
            ControlFlow::Continue(())
        })
    };
    let mut shown = next()?;
    if shown == 0 {
        shown = next()?;
    }
    let expected = view.all_there_below.is_some_and(|records| records > 0);
    records.add_to(tally, shown, u64::from(expected && shown == 0));
    Ok(())
}

/// What a scan or a walk saw.
#[derive(Default)]
struct Records {
    bytes: u64,
    wrong: u64,
}

impl Records {
    #[inline]
    fn saw(&mut self, view: &View<'_>, key: &[u8], value: &[u8], sink: &mut u64) {
        self.bytes += (key.len() + value.len()) as u64;
        if view.verify {
            let sound = view.keys.read(key).is_some_and(|number| is_sound(value, number));
            self.wrong += u64::from(!sound);
        } else {
            *sink ^= touch(value);
        }
    }

    fn add_to(self, tally: &mut Tally, shown: u64, missing: u64) {
        tally.many_items += shown + missing;
        tally.missing += missing;
        tally.wrong += self.wrong;
        tally.read_bytes += self.bytes;
    }
}

/// What one operation saw: counted once it has succeeded.
#[derive(Default)]
struct Seen {
    missing: u64,
    wrong: u64,
    read_bytes: u64,
}

impl Seen {
    /// A value came back, or did not.
    #[inline(always)]
    fn value(&mut self, view: &View<'_>, index: u32, value: Option<&[u8]>, sink: &mut u64) {
        let Some(value) = value else {
            self.missing += 1;
            return;
        };
        self.read_bytes += (view.key_len(index) + value.len()) as u64;
        if view.verify {
            self.wrong += u64::from(!is_sound(value, view.data.numbers[index as usize]));
        } else {
            *sink ^= touch(value);
        }
    }

    #[inline(always)]
    fn add_to(self, tally: &mut Tally) {
        tally.missing += self.missing;
        tally.wrong += self.wrong;
        tally.read_bytes += self.read_bytes;
    }
}
