//! Key-value operations: the kind of work that a [`Session`] does.

#![expect(
    clippy::inline_always,
    reason = "each is a part of one loop, and shows in ns per operation"
)]

use crate::block::Step;
use crate::clock::Clock;
use crate::flight;
use crate::keyed::{Action, Keyed, KeyedBlock, KeyedStep, Thread, View};
use crate::kind::{BlockOf, Kind};
use crate::recorder::Recorder;
use crate::recording;
use crate::shared::{Task, ThreadContext};
use crate::source::Source;
use crate::tally::Tally;
use crate::values::{fetch, is_sound, touch};
use kvdyno_engine::{Direction, Engine, Range, Result, Session, Walk};
use kvdyno_trace::Spool;
use std::io;
use std::marker::PhantomData;
use std::ops::ControlFlow;

/// Key-value operations on an engine.
pub(crate) struct KeyValue<E>(PhantomData<E>);

impl<E: Engine> Kind for KeyValue<E> {
    type Engine = E;
    type Handle<'e> = Thread<E::Session<'e>>;
    type Action = KeyedStep;
    type Data = Keyed;
    type View<'b> = View<'b>;
    type Source<'p> = Source<'p>;

    fn open<'e>(engine: &'e E, _: &Source<'_>) -> Result<Thread<E::Session<'e>>> {
        engine.session().map(Thread::new)
    }

    fn view<'b>(source: &'b Source<'_>, block: &'b BlockOf<Self>, task: &Task) -> View<'b> {
        source.view(block, task)
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

    fn record(
        step: &Step<KeyedStep>,
        view: &View<'_>,
        began_ns: u64,
        requests: &mut Spool,
    ) -> io::Result<()> {
        recording::record_step(step, view, began_ns, requests)
    }

    fn run_in_flight<C: Clock>(
        context: ThreadContext<'_, Thread<E::Session<'_>>, C>,
        source: &mut Source<'_>,
        block: KeyedBlock,
        depth: u32,
    ) -> Recorder {
        flight::drive(context, source, block, depth)
    }
}

/// Performs one operation. Every value is read whole, or checked.
#[inline(always)]
pub(crate) fn perform<S: Session>(
    thread: &mut Thread<S>,
    step: &KeyedStep,
    view: &View<'_>,
    tally: &mut Tally,
    sink: &mut u64,
) -> Result<()> {
    let session = &mut thread.session;
    match step.action {
        Action::Get => {
            let mut lookups = LookupCounts::default();
            let key = view.key(step.first);
            let key_ref = (step.first, key.len());
            session.get(key, |value| lookups.value::<S>(view, key_ref, value, sink))?;
            lookups.add_to(tally);
            Ok(())
        }
        Action::Put => session.put(view.key(step.first), view.value(step.value)),
        Action::Batch => {
            session.write(&view.writes[step.value as usize..][..step.items as usize])?;
            tally.many_items += u64::from(step.items);
            Ok(())
        }
        _ => perform_rare_action(thread, step, view, tally, sink),
    }
}

/// Performs an operation whose own cost hides that of a call.
#[inline(never)]
fn perform_rare_action<S: Session>(
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
            let mut lookups = LookupCounts::default();
            session.multiget(keys, |index, value| {
                let key_ref = (step.first + index as u32, keys[index].len());
                lookups.value::<S>(view, key_ref, value, sink);
            })?;
            tally.many_items += u64::from(step.items);
            lookups.add_to(tally);
            Ok(())
        }
        Action::ReadModifyWrite => {
            let new = view.value(step.value);
            let mut lookups = LookupCounts::default();
            let key = view.key(step.first);
            let key_ref = (step.first, key.len());
            if let Some(ttl) = view.ttl(step.value) {
                session.get(key, |old| lookups.value::<S>(view, key_ref, old, sink))?;
                session.put_expiring(key, new, ttl)?;
            } else {
                session.read_modify_write(key, buffer, |old, buffer| {
                    lookups.value::<S>(view, key_ref, old, sink);
                    buffer.extend_from_slice(new);
                })?;
            }
            lookups.add_to(tally);
            Ok(())
        }
        Action::PutExpiring => {
            let Some(ttl) = view.ttl(step.value) else { unreachable!("it has a time to live") };
            session.put_expiring(view.key(step.first), view.value(step.value), ttl)
        }
        Action::ReadAt => {
            let (offset, bytes) = view.piece(step.first);
            let read = |piece: &[u8]| *sink ^= fetch::<S>(piece);
            session.read_at(offset, bytes as usize, read)?;
            tally.read_bytes += bytes;
            Ok(())
        }
        Action::WriteAt => session.write_at(view.piece(step.first).0, view.value(step.value)),
        Action::Discard => {
            let (offset, bytes) = view.piece(step.first);
            session.discard(offset, bytes)
        }
        Action::Flush => session.flush(),
        Action::Get | Action::Put | Action::Batch => unreachable!("handled in the loop"),
    }
}

/// Performs a scan. It must begin with the requested key if that exists. If keys are in order and
/// none is deleted, it must show as many records as there are from that key on. Records that it
/// leaves out count as missing.
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
        records.add_record(view, key, value, sink);
        ControlFlow::Continue(())
    })?;
    // The number of records after a hashed key is unknown; only the key itself is sure to exist.
    let existing = view.all_there_below.map_or(0, |records| match direction {
        _ if !view.keys.is_ordered() => u64::from(number < records),
        Direction::Forward => records.saturating_sub(number),
        Direction::Reverse => number + 1,
    });
    let expected = existing.min(u64::from(step.items));
    let missing = expected.saturating_sub(shown);
    let missing = missing.max(u64::from(expected > 0 && begins != Some(true)));
    records.add_to(tally, shown, missing);
    Ok(())
}

/// Walks over the next records; past the last, over the first again. If there are records, some
/// must be shown.
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
            records.add_record(view, key, value, sink);
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

/// Records that a scan or a walk returned.
#[derive(Default)]
struct Records {
    bytes: u64,
    wrong: u64,
}

impl Records {
    #[inline]
    fn add_record(&mut self, view: &View<'_>, key: &[u8], value: &[u8], sink: &mut u64) {
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

/// The lookups of one operation, counted once it has succeeded.
#[derive(Default)]
struct LookupCounts {
    missing: u64,
    wrong: u64,
    read_bytes: u64,
}

impl LookupCounts {
    /// Counts the answer to a lookup of the key with this index and length.
    #[inline(always)]
    fn value<S: Session>(
        &mut self,
        view: &View<'_>,
        (index, key_bytes): (u32, usize),
        value: Option<&[u8]>,
        sink: &mut u64,
    ) {
        let Some(value) = value else {
            self.missing += 1;
            return;
        };
        self.read_bytes += (key_bytes + value.len()) as u64;
        if view.verify {
            self.wrong += u64::from(!is_sound(value, view.data.numbers[index as usize]));
        } else {
            *sink ^= fetch::<S>(value);
        }
    }

    #[inline(always)]
    fn add_to(self, tally: &mut Tally) {
        tally.missing += self.missing;
        tally.wrong += self.wrong;
        tally.read_bytes += self.read_bytes;
    }
}
