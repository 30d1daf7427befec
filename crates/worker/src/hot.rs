//! The hot loop: works off a prepared block, one clock reading and one histogram entry an
//! operation, nothing shared.
//!
//! The end of one operation is the start of the next, so the harness's own work between two
//! operations (a compare, an index, a few additions) is inside the measured time; `harness N ns/op`
//! says how much that is. Preparing blocks happens outside of it.

#![expect(
    clippy::inline_always,
    reason = "each is a part of one loop, and shows in ns per operation"
)]

use crate::block::{Action, Step, View};
use crate::clock::Clock;
use crate::tally::{OVER, Tally, TimeLine};
use crate::values::{is_sound, touch};
use kvdyno_engine::{Direction, Error, Result, Session};
use std::hint::black_box;
use std::time::Duration;

/// What is left of a block.
#[derive(Debug)]
pub(crate) enum Ended {
    /// All of it was worked off.
    Done,
    /// Time is up, after this many steps.
    Over(usize),
    /// An error that the caller has to judge, at this step; the step was not counted.
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
    let mut sink = 0;
    let mut start = clock.now();
    for (index, step) in view.block.steps.iter().enumerate().skip(from) {
        let tally = &mut lane.tallies[usize::from(step.slot)];
        let result = perform(session, step, &view, tally, &mut lane.scratch, &mut sink);
        let end = clock.now();
        if let Err(error) = result {
            lane.last_end = end;
            return Ended::Failed(index, error);
        }
        if end >= lane.edge {
            lane.edge = lane.time.cross(end, &mut lane.tallies);
        }
        let tally = &mut lane.tallies[usize::from(step.slot)];
        tally.service.record(end - start);
        start = end;
        if lane.edge == OVER {
            lane.last_end = end;
            return Ended::Over(index + 1);
        }
    }
    lane.last_end = start;
    black_box(sink);
    Ended::Done
}

/// Works off `view` from step `from`, each step at its scheduled time or, if that has passed, at
/// once. Service time runs from the start, response time from the schedule.
#[inline(never)]
pub(crate) fn open_loop<S: Session, C: Clock>(
    session: &mut S,
    clock: C,
    view: View<'_>,
    from: usize,
    lane: &mut Lane,
) -> Ended {
    let mut sink = 0;
    let mut start = clock.now();
    for (index, step) in view.block.steps.iter().enumerate().skip(from) {
        let due = view.block.due[index];
        if due >= lane.time.deadline {
            wait_until(clock, lane.time.deadline);
            return Ended::Over(index);
        }
        if start >= lane.time.deadline {
            return Ended::Over(index);
        }
        if start < due {
            start = wait_until(clock, due);
        }
        let tally = &mut lane.tallies[usize::from(step.slot)];
        let result = perform(session, step, &view, tally, &mut lane.scratch, &mut sink);
        let end = clock.now();
        if let Err(error) = result {
            lane.last_end = end;
            return Ended::Failed(index, error);
        }
        if end >= lane.edge {
            lane.edge = lane.time.cross(end, &mut lane.tallies);
        }
        let tally = &mut lane.tallies[usize::from(step.slot)];
        tally.service.record(end - start);
        if let Some(response) = &mut tally.response {
            response.record(end - due);
        }
        lane.last_end = end;
        if lane.edge == OVER {
            return Ended::Over(index + 1);
        }
        start = end;
    }
    black_box(sink);
    Ended::Done
}

/// Sleeps while there is time, then spins: a sleep alone comes back tens of microseconds late.
fn wait_until<C: Clock>(clock: C, due: u64) -> u64 {
    const SPIN_NS: u64 = 100_000;
    loop {
        let now = clock.now();
        if now >= due {
            return now;
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
