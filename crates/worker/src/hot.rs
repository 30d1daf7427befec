//! The hot loop: works off a prepared block, one clock reading and one store an operation, nothing
//! shared.
//!
//! The end of one operation is the start of the next. Times are kept as raw ticks and filed when
//! the block is done, because filing is a chain of dependent instructions and a reading of the
//! counter waits for what stands before it: filed one by one they would cost 5 ns more an
//! operation. Preparing and filing lie outside of the measured times, and inside `harness N ns/op`.

#![expect(
    clippy::inline_always,
    reason = "each is a part of one loop, and shows in ns per operation"
)]

use crate::block::{Action, Step, View};
use crate::clock::Clock;
use crate::tally::{Tally, TimeLine};
use crate::values::{is_sound, touch};
use kvdyno_engine::{Direction, Error, Result, Session};
use std::hint::black_box;
use std::ops::Range;
use std::time::Duration;

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
pub(crate) struct Lane {
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
}

/// Works off `view` from step `from` as fast as it goes.
#[inline(never)]
pub(crate) fn closed_loop<S: Session, C: Clock>(
    session: &mut S,
    clock: C,
    view: View<'_>,
    from: usize,
    lane: &mut Lane,
) -> Ended {
    let steps = view.block.steps.as_slice();
    lane.ticks.resize(steps.len(), 0);
    let edge = clock.ticks_at(lane.edge);
    let (mut sink, mut ended) = (0, Ended::Done);
    let mut start = clock.ticks();
    for (index, (step, ticks)) in steps.iter().zip(&mut lane.ticks).enumerate().skip(from) {
        let tally = &mut lane.tallies[usize::from(step.slot)];
        let result = perform(session, step, &view, tally, &mut lane.scratch, &mut sink);
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
    lane.last_end = clock.time(start);
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
    lane: &mut Lane,
) -> Ended {
    let steps = view.block.steps.as_slice();
    lane.ticks.resize(steps.len(), 0);
    lane.late_ns.resize(steps.len(), 0);
    let edge = clock.ticks_at(lane.edge);
    let (mut sink, mut ended) = (0, Ended::Done);
    let mut start = clock.ticks();
    for (index, step) in steps.iter().enumerate().skip(from) {
        let due = view.block.due[index];
        if due >= lane.time.deadline || clock.time(start) >= lane.time.deadline {
            wait_until(clock, due.min(lane.time.deadline));
            ended = Ended::Over(index);
            break;
        }
        if clock.time(start) < due {
            start = wait_until(clock, due);
        }
        lane.late_ns[index] = clock.time(start).saturating_sub(due);
        let tally = &mut lane.tallies[usize::from(step.slot)];
        let result = perform(session, step, &view, tally, &mut lane.scratch, &mut sink);
        let end = clock.ticks();
        lane.ticks[index] = end.wrapping_sub(start);
        start = end;
        lane.last_end = clock.time(end);
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
pub(crate) fn file<C: Clock>(clock: C, steps: &[Step], range: Range<usize>, lane: &mut Lane) {
    let ticks = &lane.ticks[range.clone()];
    if let [tally] = lane.tallies.as_mut_slice() {
        tally.service.record_all(ticks.iter().map(|ticks| clock.ns(*ticks)));
    } else {
        for (step, ticks) in steps[range.clone()].iter().zip(ticks) {
            lane.tallies[usize::from(step.slot)].service.record(clock.ns(*ticks));
        }
    }
    for index in range.filter(|index| *index < lane.late_ns.len()) {
        let tally = &mut lane.tallies[usize::from(steps[index].slot)];
        if let Some(response) = &mut tally.response {
            response.record(clock.ns(lane.ticks[index]) + lane.late_ns[index]);
        }
    }
}

/// Sleeps while there is time, then spins: a sleep alone comes back tens of microseconds late.
/// Returns the reading that ended the wait.
fn wait_until<C: Clock>(clock: C, due: u64) -> u64 {
    const SPIN_NS: u64 = 100_000;
    loop {
        let ticks = clock.ticks();
        let now = clock.time(ticks);
        if now >= due {
            return ticks;
        }
        if due - now > SPIN_NS {
            std::thread::sleep(Duration::from_nanos(due - now - SPIN_NS));
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
        Action::Get => session.get(key, |value| saw(tally, view, step.first, value, sink)),
        Action::Put => session.put(key, view.value(step.value)),
        Action::Batch => {
            tally.many_items += u64::from(step.items);
            session.write(&view.writes[step.value as usize..][..step.items as usize])
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
        Action::ScanForward => scan(session, key, Direction::Forward, step, tally, sink),
        Action::ScanReverse => scan(session, key, Direction::Reverse, step, tally, sink),
        Action::Multiget => {
            tally.many_items += u64::from(step.items);
            let keys = &view.refs[step.first as usize..][..step.items as usize];
            session.multiget(keys, |index, value| {
                saw(tally, view, step.first + index as u32, value, sink);
            })
        }
        Action::ReadModifyWrite => {
            let new = view.value(step.value);
            session
                .read_modify_write(key, scratch, |old, buffer| {
                    saw(tally, view, step.first, old, sink);
                    buffer.extend_from_slice(new);
                })
                .map(drop)
        }
        Action::Get | Action::Put | Action::Batch => unreachable!("handled in the loop"),
    }
}

fn scan<S: Session>(
    session: &mut S,
    from: &[u8],
    direction: Direction,
    step: &Step,
    tally: &mut Tally,
    sink: &mut u64,
) -> Result<()> {
    let mut bytes = 0;
    let shown = session.scan(from, direction, u64::from(step.items), |key, value| {
        bytes += (key.len() + value.len()) as u64;
        *sink ^= touch(value);
    })?;
    tally.many_items += shown;
    tally.read_bytes += bytes;
    Ok(())
}

/// A value came back, or did not.
#[inline(always)]
fn saw(tally: &mut Tally, view: &View<'_>, index: u32, value: Option<&[u8]>, sink: &mut u64) {
    let Some(value) = value else {
        tally.missing += 1;
        return;
    };
    tally.read_bytes += (view.key_bytes + value.len()) as u64;
    if view.verify {
        tally.wrong += u64::from(!is_sound(value, view.block.numbers[index as usize]));
    } else {
        *sink ^= touch(value);
    }
}
