//! The hot loop: performs a prepared block with one clock reading and one store per operation, and
//! shares nothing.
//!
//! The end of one operation is the start of the next. Times are stored as raw ticks and filed when
//! the block is done. Filing is a chain of dependent instructions, and a reading of the counter
//! waits for the instructions before it: filed one by one, times would cost 5 ns more per
//! operation. Preparing and filing lie outside of every latency, except in an open loop that is
//! behind (see `calls`). They lie inside the window, so rates and `generator N ns/op`, which is
//! 1/throughput of the null engine, include them (docs/method.md, "Time").

use crate::block::Step;
use crate::clock::Clock;
use crate::kind::{BlockOf, Kind};
use crate::recorder::Recorder;
use crate::shared::Shared;
use crate::tally::Tally;
use kvdyno_engine::server::shared_threads;
use kvdyno_engine::{Error, ErrorClass, Result};
use std::hint::black_box;
use std::ops::Range;
use std::time::Duration;

/// How often an operation is performed again before its conflict is an error.
pub(crate) const RETRIES_MAX: u32 = 16;

/// Why a loop returned.
#[derive(Debug)]
pub(crate) enum Ended {
    /// All steps of the block were performed.
    Done,
    /// This step ended at or past the edge.
    Edge(usize),
    /// Time is up: this step was not begun.
    Over(usize),
    /// This step failed.
    Failed(usize, Error),
}

/// A block that is about to be performed.
pub(crate) struct Prepared<'b, K: Kind> {
    pub(crate) block: &'b BlockOf<K>,
    pub(crate) view: K::View<'b>,
}

/// Performs a block from step `from` on, as fast as possible.
#[inline(never)]
pub(crate) fn closed_loop<K: Kind, C: Clock>(
    handle: &mut K::Handle<'_>,
    clock: C,
    Prepared { block, view }: &Prepared<'_, K>,
    from: usize,
    recorder: &mut Recorder,
) -> Ended {
    let steps = block.steps.as_slice();
    recorder.ticks.resize(steps.len(), 0);
    let edge = clock.ticks_at(recorder.edge);
    let (mut sink, mut ended) = (0, Ended::Done);
    let mut start = clock.ticks();
    for (index, (step, ticks)) in steps.iter().zip(&mut recorder.ticks).enumerate().skip(from) {
        let tally = &mut recorder.tallies[usize::from(step.slot)];
        let mut result = K::perform(handle, step, view, tally, &mut sink);
        if let Err(error) = result {
            result = retry_conflict::<K>(error, handle, step, view, tally);
        }
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

/// Performs a block from step `from` on, each step at its scheduled time or, if that has passed, at
/// once.
#[inline(never)]
pub(crate) fn open_loop<K: Kind, C: Clock>(
    handle: &mut K::Handle<'_>,
    clock: C,
    Prepared { block, view }: &Prepared<'_, K>,
    from: usize,
    recorder: &mut Recorder,
    shared: &Shared,
) -> Ended {
    let steps = block.steps.as_slice();
    recorder.ticks.resize(steps.len(), 0);
    recorder.late_ns.resize(steps.len(), 0);
    let edge = clock.ticks_at(recorder.edge);
    let (mut sink, mut ended) = (0, Ended::Done);
    let mut start = clock.ticks();
    if let Some(due) = block.due.get(from) {
        recorder.own_ns += clock.time(start).saturating_sub(recorder.last_end.max(*due));
    }
    for (index, step) in steps.iter().enumerate().skip(from) {
        let due = block.due[index];
        if clock.time(start) < due.min(recorder.time.deadline) {
            start = wait_until(clock, due.min(recorder.time.deadline), shared);
        }
        let now = clock.time(start);
        if now < due || now >= recorder.time.deadline {
            // The thread idled to the end: its window is whole, though no operation ended there.
            recorder.last_end = recorder.last_end.max(now);
            ended = Ended::Over(index);
            break;
        }
        recorder.late_ns[index] = now - due;
        let tally = &mut recorder.tallies[usize::from(step.slot)];
        let mut result = K::perform(handle, step, view, tally, &mut sink);
        if let Err(error) = result {
            result = retry_conflict::<K>(error, handle, step, view, tally);
        }
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

/// Performs an operation that met a conflict again, within its own time, as a program would.
/// `Err`: another error, or too many conflicts.
#[cold]
#[inline(never)]
fn retry_conflict<K: Kind>(
    mut error: Error,
    handle: &mut K::Handle<'_>,
    step: &Step<K::Action>,
    view: &K::View<'_>,
    tally: &mut Tally,
) -> Result<()> {
    // Not the loop's sink, which stays in a register.
    let mut sink = 0;
    for attempt in 0..RETRIES_MAX {
        if error.class != ErrorClass::Conflict {
            break;
        }
        wait_for_others(attempt);
        tally.retries += 1;
        match K::perform(handle, step, view, tally, &mut sink) {
            Ok(()) => {
                black_box(sink);
                return Ok(());
            }
            Err(next) => error = next,
        }
    }
    Err(error)
}

/// Waits before a retry, because the other transaction may wait for this processor or for the
/// drive. The first retries come at once, the last 25 ms apart.
fn wait_for_others(attempt: u32) {
    match attempt {
        0 => {}
        1..=3 => shared_threads::pause(Duration::ZERO),
        _ => shared_threads::pause(Duration::from_micros(25 << (attempt - 4).min(10))),
    }
}

/// Files the service times of some steps and, in an open loop, their response times from the
/// schedule.
pub(crate) fn file_times<A, C: Clock>(
    clock: C,
    steps: &[Step<A>],
    range: Range<usize>,
    recorder: &mut Recorder,
) {
    #[cfg(test)]
    crate::scripted::spend_filing_time(range.len());
    let times = nanoseconds(clock, &recorder.ticks[range.clone()]);
    if let [tally] = recorder.tallies.as_mut_slice() {
        tally.service.record_all(times);
    } else {
        let steps = &steps[range.clone()];
        times.enumerate().for_each(|(index, ns)| {
            recorder.tallies[usize::from(steps[index].slot)].service.record(ns);
        });
    }
    for index in range.filter(|index| *index < recorder.late_ns.len()) {
        let tally = &mut recorder.tallies[usize::from(steps[index].slot)];
        if let Some(response) = &mut tally.response {
            response.record(clock.ns(recorder.ticks[index]) + recorder.late_ns[index]);
        }
    }
}

/// Converts ticks to nanoseconds, four at a time: 1 ns per operation. One by one, each
/// multiplication would wait for the filing before it: 5 ns (measured on an AMD EPYC).
fn nanoseconds<C: Clock>(clock: C, ticks: &[u64]) -> impl Iterator<Item = u64> {
    let (fours, rest) = ticks.as_chunks::<4>();
    let of_four = move |four: &[u64; 4]| four.map(|ticks| clock.ns(ticks));
    fours.iter().flat_map(of_four).chain(rest.iter().map(move |ticks| clock.ns(*ticks)))
}

/// Sleeps while there is time, then spins: a sleep alone ends tens of microseconds late. If there
/// are more threads than processors, a spinning thread lets others run, as they may be due. So does
/// a client that shares its thread. Returns the reading that ended the wait: at `until`, or before
/// it if the phase is over.
pub(crate) fn wait_until<C: Clock>(clock: C, until: u64, shared: &Shared) -> u64 {
    const SPIN_NS: u64 = 60_000;
    const DEAF_NS: u64 = 20_000_000;
    let is_shared = shared_threads::is_shared();
    loop {
        let ticks = clock.ticks();
        let now = clock.time(ticks);
        if now >= until {
            return ticks;
        }
        if is_shared {
            if shared.is_over() {
                return ticks;
            }
            shared_threads::pause(Duration::from_nanos((until - now).min(DEAF_NS)));
        } else if until - now > SPIN_NS {
            if shared.is_over() {
                return ticks;
            }
            clock.sleep((until - now - SPIN_NS).min(DEAF_NS));
        } else if shared.crowded {
            std::thread::yield_now();
        } else {
            std::hint::spin_loop();
        }
    }
}
