//! The hot loop: works off a prepared block, one clock reading and one store an operation, nothing
//! shared.
//!
//! The end of one operation is the start of the next. Times are kept as raw ticks and filed when
//! the block is done, because filing is a chain of dependent instructions and a reading of the
//! counter waits for what stands before it: filed one by one they would cost 5 ns more an
//! operation. Preparing and filing lie outside of every latency, but for an open loop that is
//! behind (see `calls`), and inside the window: rates and `generator N ns/op`, which is
//! 1/throughput of the null engine, have them (docs/method.md, "Time").

#![expect(
    clippy::inline_always,
    reason = "each is a part of one loop, and shows in ns per operation"
)]

use crate::block::{Action, Step, View};
use crate::clock::Clock;
use crate::tally::{Tally, TimeLine};
use crate::values::{is_sound, touch};
use kvdyno_engine::{Direction, Error, Range as KeyRange, Result, Session};
use std::hint::black_box;
use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Why a loop came back.
#[derive(Debug)]
pub(crate) enum Ended {
    /// The block is worked off.
    Done,
    /// This step ended at or past the edge.
    Edge(usize),
    /// Time is up: this step was not begun.
    Over(usize),
    /// This step failed.
    Failed(usize, Error),
}

/// What a thread carries from block to block.
#[derive(Debug)]
pub(crate) struct Recorder {
    pub(crate) tallies: Vec<Tally>,
    pub(crate) time: TimeLine,
    /// The next moment to look up from the work.
    pub(crate) edge: u64,
    /// The end of the last operation.
    pub(crate) last_end: u64,
    /// A read-modify-write's new value.
    pub(crate) scratch: Vec<u8>,
    /// How long each step of the block took, in ticks.
    pub(crate) ticks: Vec<u64>,
    /// Open loop: how long after its scheduled time each step was begun, in nanoseconds.
    pub(crate) late_ns: Vec<u64>,
    /// Open loop: prepared, due before the end, and not begun.
    pub(crate) not_begun: u64,
    /// Open loop: what the harness itself took while an operation was due.
    pub(crate) own_ns: u64,
}

impl Recorder {
    /// A thread's at `start`.
    pub(crate) fn new(tallies: Vec<Tally>, time: TimeLine, start: u64) -> Self {
        Self {
            tallies,
            edge: time.edge(),
            time,
            last_end: start,
            scratch: Vec::new(),
            ticks: Vec::new(),
            late_ns: Vec::new(),
            not_begun: 0,
            own_ns: 0,
        }
    }
}

/// Works off `view` from step `from` as fast as it goes.
#[inline(never)]
pub(crate) fn closed_loop<S: Session, C: Clock>(
    session: &mut S,
    clock: C,
    view: View<'_>,
    from: usize,
    recorder: &mut Recorder,
) -> Ended {
    let steps = view.block.steps.as_slice();
    recorder.ticks.resize(steps.len(), 0);
    let edge = clock.ticks_at(recorder.edge);
    let (mut sink, mut ended) = (0, Ended::Done);
    let mut start = clock.ticks();
    for (index, (step, ticks)) in steps.iter().zip(&mut recorder.ticks).enumerate().skip(from) {
        let tally = &mut recorder.tallies[usize::from(step.slot)];
        let result = perform(session, step, &view, tally, &mut recorder.scratch, &mut sink);
        let end = clock.ticks();
        *ticks = end.wrapping_sub(start);
        start = end;
        if let Err(error) = result {
            ended = Ended::Failed(index, error);
            break;
        }
        if end >= edge {
            ended = Ended::Edge(index);
            break;
        }
    }
    recorder.last_end = clock.time(start);
    black_box(sink);
    ended
}

/// Works off `view` from step `from`, each step at its scheduled time or, if that has passed, at
/// once.
#[inline(never)]
pub(crate) fn open_loop<S: Session, C: Clock>(
    session: &mut S,
    clock: C,
    view: View<'_>,
    from: usize,
    recorder: &mut Recorder,
    over: &AtomicBool,
) -> Ended {
    let steps = view.block.steps.as_slice();
    recorder.ticks.resize(steps.len(), 0);
    recorder.late_ns.resize(steps.len(), 0);
    let edge = clock.ticks_at(recorder.edge);
    let (mut sink, mut ended) = (0, Ended::Done);
    let mut start = clock.ticks();
    if let Some(due) = view.block.due.get(from) {
        recorder.own_ns += clock.time(start).saturating_sub(recorder.last_end.max(*due));
    }
    for (index, step) in steps.iter().enumerate().skip(from) {
        let due = view.block.due[index];
        if clock.time(start) < due.min(recorder.time.deadline) {
            start = wait_until(clock, due.min(recorder.time.deadline), over);
        }
        let now = clock.time(start);
        if now < due || now >= recorder.time.deadline {
            // Idle to the end: the window is whole, though nothing ended at its end.
            recorder.last_end = recorder.last_end.max(now);
            ended = Ended::Over(index);
            break;
        }
        recorder.late_ns[index] = now - due;
        let tally = &mut recorder.tallies[usize::from(step.slot)];
        let result = perform(session, step, &view, tally, &mut recorder.scratch, &mut sink);
        let end = clock.ticks();
        recorder.ticks[index] = end.wrapping_sub(start);
        start = end;
        recorder.last_end = clock.time(end);
        if let Err(error) = result {
            ended = Ended::Failed(index, error);
            break;
        }
        if end >= edge {
            ended = Ended::Edge(index);
            break;
        }
    }
    black_box(sink);
    ended
}

/// Files the times of some steps. In an open loop also the response times, from the schedule.
pub(crate) fn file<C: Clock>(
    clock: C,
    steps: &[Step],
    range: Range<usize>,
    recorder: &mut Recorder,
) {
    #[cfg(test)]
    crate::scripted::filed(range.len());
    let ticks = &recorder.ticks[range.clone()];
    if let [tally] = recorder.tallies.as_mut_slice() {
        tally.service.record_all(ticks.iter().map(|ticks| clock.ns(*ticks)));
    } else {
        for (step, ticks) in steps[range.clone()].iter().zip(ticks) {
            recorder.tallies[usize::from(step.slot)].service.record(clock.ns(*ticks));
        }
    }
    for index in range.filter(|index| *index < recorder.late_ns.len()) {
        let tally = &mut recorder.tallies[usize::from(steps[index].slot)];
        if let Some(response) = &mut tally.response {
            response.record(clock.ns(recorder.ticks[index]) + recorder.late_ns[index]);
        }
    }
}

/// Sleeps while there is time, then spins: a sleep alone comes back tens of microseconds late.
/// Returns the reading that ended the wait: at `until`, or before it if the phase is over.
fn wait_until<C: Clock>(clock: C, until: u64, over: &AtomicBool) -> u64 {
    const SPIN_NS: u64 = 60_000;
    const DEAF_NS: u64 = 20_000_000;
    loop {
        let ticks = clock.ticks();
        let now = clock.time(ticks);
        if now >= until {
            return ticks;
        }
        if until - now > SPIN_NS {
            if over.load(Relaxed) {
                return ticks;
            }
            clock.sleep((until - now - SPIN_NS).min(DEAF_NS));
        } else {
            std::hint::spin_loop();
        }
    }
}

/// One operation. Every value read is touched whole, or checked.
#[inline(always)]
fn perform<S: Session>(
    session: &mut S,
    step: &Step,
    view: &View<'_>,
    tally: &mut Tally,
    scratch: &mut Vec<u8>,
    sink: &mut u64,
) -> Result<()> {
    let key = view.key(step.first);
    match step.action {
        Action::Get => {
            let mut seen = Seen::default();
            session.get(key, |value| seen.value(view, step.first, value, sink))?;
            seen.add_to(tally);
            Ok(())
        }
        Action::Put => session.put(key, view.value(step.value)),
        Action::Batch => {
            session.write(&view.writes[step.value as usize..][..step.items as usize])?;
            tally.many_items += u64::from(step.items);
            Ok(())
        }
        _ => perform_rare(session, step, view, tally, scratch, sink),
    }
}

/// The operations whose own cost hides a call.
#[inline(never)]
fn perform_rare<S: Session>(
    session: &mut S,
    step: &Step,
    view: &View<'_>,
    tally: &mut Tally,
    scratch: &mut Vec<u8>,
    sink: &mut u64,
) -> Result<()> {
    let key = view.key(step.first);
    match step.action {
        Action::Delete => session.delete(key),
        Action::ScanForward => scan(session, Direction::Forward, step, view, tally, sink),
        Action::ScanReverse => scan(session, Direction::Reverse, step, view, tally, sink),
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
            session.read_modify_write(key, scratch, |old, buffer| {
                seen.value(view, step.first, old, sink);
                buffer.extend_from_slice(new);
            })?;
            seen.add_to(tally);
            Ok(())
        }
        Action::Get | Action::Put | Action::Batch => unreachable!("handled in the loop"),
    }
}

/// A scan must begin with the key it was asked for and show as many records as there are from there
/// on, where nobody deletes. One that shows less counts what it left out as missing.
fn scan<S: Session>(
    session: &mut S,
    direction: Direction,
    step: &Step,
    view: &View<'_>,
    tally: &mut Tally,
    sink: &mut u64,
) -> Result<()> {
    let (from, number) = (view.key(step.first), view.block.numbers[step.first as usize]);
    let (mut bytes, mut wrong, mut begins) = (0, 0, None);
    let range = KeyRange::all(direction).from(from).limit(u64::from(step.items));
    let shown = session.scan(range, |key, value| {
        begins.get_or_insert_with(|| key == from);
        bytes += (key.len() + value.len()) as u64;
        if view.verify {
            let sound = view.keys.read(key).is_some_and(|number| is_sound(value, number));
            wrong += u64::from(!sound);
        } else {
            *sink ^= touch(value);
        }
        ControlFlow::Continue(())
    })?;
    let there = view.all_there_below.map_or(0, |records| match direction {
        Direction::Forward => records.saturating_sub(number),
        Direction::Reverse => number + 1,
    });
    let expected = there.min(u64::from(step.items));
    let missing = expected.saturating_sub(shown);
    let missing = missing.max(u64::from(expected > 0 && begins != Some(true)));
    tally.many_items += shown + missing;
    tally.missing += missing;
    tally.wrong += wrong;
    tally.read_bytes += bytes;
    Ok(())
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
        self.read_bytes += (view.key_bytes + value.len()) as u64;
        if view.verify {
            self.wrong += u64::from(!is_sound(value, view.block.numbers[index as usize]));
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
