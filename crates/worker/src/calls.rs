//! The loop of a role that waits for each of its operations: block after block is prepared,
//! performed by `hot`, and filed. The loop that keeps operations in flight is `flight`.

use crate::block::Block;
use crate::clock::Clock;
use crate::hot::{Ended, Prepared, closed_loop, file_times, open_loop, wait_until};
use crate::kind::{BlockOf, Kind, Supply};
use crate::pace::Pace;
use crate::recorder::Recorder;
use crate::recording;
use crate::shared::{Shared, Task, ThreadContext};
use crate::tally::{OVER, Tally};
use crate::usage;

/// The intended duration of a block: a thread looks up often enough to stop on time, and seldom
/// enough that looking up costs nothing.
pub(crate) const BLOCK_NS: u64 = 1_000_000;
const BLOCK_STEPS_MAX: usize = 512;

/// The steps of the first block, which is prepared before the time of an operation is known.
pub(crate) const FIRST_STEPS: usize = 16;

/// The most steps that an open loop prepares in one go when it is behind.
const BEHIND_STEPS_MAX: usize = 16;

/// Prepares the first block of a role's thread, before the clock starts; empty: there is nothing to
/// do.
pub(crate) fn prepare_first_block<K: Kind>(
    source: &mut K::Source<'_>,
    shared: &Shared,
    role: usize,
    paced_max: Option<usize>,
) -> BlockOf<K> {
    let steps_wanted = shared.reserve(role, steps_max::<K>(source, paced_max).min(FIRST_STEPS));
    let mut block = BlockOf::<K>::default();
    if steps_wanted > 0 {
        source.fill(&mut block, steps_wanted);
    }
    block
}

/// The most operations of one block. An open loop must not sleep through the end of a phase inside
/// a block.
fn steps_max<K: Kind>(source: &K::Source<'_>, paced_max: Option<usize>) -> usize {
    source.steps_max().min(BLOCK_STEPS_MAX).min(paced_max.unwrap_or(BLOCK_STEPS_MAX))
}

/// Prepares and performs block after block, until there is no more to do or no more time.
pub(crate) fn drive<K: Kind, C: Clock>(
    mut context: ThreadContext<'_, K::Handle<'_>, C>,
    source: &mut K::Source<'_>,
    mut block: BlockOf<K>,
    pace: &mut Option<Pace>,
) -> Recorder {
    let shared = context.shared;
    let paced_max = pace.as_ref().map(|pace| pace.count_steps(BLOCK_NS));
    // A thread thinks between blocks.
    let paced_max = paced_max.or(context.think_ns.map(|_| 1));
    let steps_max = steps_max::<K>(source, paced_max);
    let (mut steps, mut prepared) = (block.steps.len().max(1), !block.steps.is_empty());
    let mut ahead = StepForecast { step_ns: u64::MAX };
    while !shared.is_over() {
        let before = pace.as_ref().map_or(0, |pace| {
            let now = context.clock.now();
            if !prepared {
                steps = ahead.steps(pace, now).min(steps_max);
            }
            now
        });
        if !prepared {
            let reserved = shared.reserve(context.role, steps);
            if reserved == 0 {
                // All operations are taken: what the schedule has after them is no backlog.
                *pace = None;
                break;
            }
            if !source.fill(&mut block, reserved) {
                break;
            }
        }
        if let Some(pace) = pace {
            pace.schedule(&mut block.due, block.steps.len());
            if !prepared {
                ahead.step_ns = (context.clock.now() - before) / block.steps.len() as u64;
            }
        }
        prepared = false;
        if context.think_ns.is_some_and(|think_ns| wait_think_time(&mut context, think_ns)) {
            source.settle(&block, 0, &[]);
            break;
        }
        let began = context.clock.now();
        let (done, failed) = perform_block::<K, C>(&mut context, source, &block, pace.is_some());
        count_block(&block, done, &failed, &mut context.recorder.tallies);
        source.settle(&block, done, &failed);
        context.publish_progress();
        let recorder = &mut context.recorder;
        if done < block.steps.len() || recorder.edge == OVER {
            let end = recorder.time.deadline.min(recorder.last_end);
            let not_begun = block.due.iter().skip(done).filter(|due| **due < end);
            recorder.not_begun = not_begun.count() as u64;
            break;
        }
        let took = recorder.last_end.saturating_sub(began).max(1);
        let fitting = (steps as u64 * BLOCK_NS / took) as usize;
        steps = fitting.clamp(1, (steps * 2).min(steps_max));
    }
    if prepared {
        // The phase was over before the first block began.
        source.settle(&block, 0, &[]);
    }
    context.recorder
}

/// Pauses until `think_ns` after the end of the last operation; the first operation begins at once.
/// Returns whether the phase is over.
fn wait_think_time<H, C: Clock>(context: &mut ThreadContext<'_, H, C>, think_ns: u64) -> bool {
    let ThreadContext { clock, recorder, task, shared, .. } = context;
    if recorder.last_end == recorder.time.start() {
        return false;
    }
    let until = recorder.last_end.saturating_add(think_ns).min(recorder.time.deadline);
    wait_until(*clock, until, shared);
    let now = clock.now();
    if now < recorder.time.deadline && !shared.is_over() {
        return false;
    }
    // The thread idled to the end: its window is whole, though no operation ended there.
    recorder.last_end = recorder.last_end.max(now);
    cross_edge(recorder, task);
    true
}

/// Plans the blocks that an open loop prepares while it waits: preparing a block takes at most half
/// the time until its first operation is due. Preparing and filing while operations are due counts
/// in their response times, as any other delay does. That share is counted and reported, not
/// subtracted: the rest would be a time that was never measured.
struct StepForecast {
    /// The last time to prepare one operation; unknown at first.
    step_ns: u64,
}

impl StepForecast {
    /// Returns the number of steps to prepare now.
    fn steps(&self, pace: &Pace, now: u64) -> usize {
        let due = pace.due();
        if due > now {
            let fitting = (due - now) / 2 / self.step_ns.max(1);
            return (fitting as usize).max(1);
        }
        // The loop is behind: prepares as many steps as are due about now.
        pace.count_steps(now - due).min(BEHIND_STEPS_MAX)
    }
}

/// Performs one block. Returns how many steps were begun, and the indices of those that failed.
fn perform_block<K: Kind, C: Clock>(
    context: &mut ThreadContext<'_, K::Handle<'_>, C>,
    source: &K::Source<'_>,
    block: &BlockOf<K>,
    open: bool,
) -> (usize, Vec<usize>) {
    let ThreadContext { handle, clock, recorder, task, shared, .. } = context;
    let prepared = Prepared::<K> { block, view: K::view(source, block, task) };
    let (mut from, mut failed) = (0, Vec::new());
    loop {
        let ended = if open {
            open_loop(handle, *clock, &prepared, from, recorder, shared)
        } else {
            closed_loop(handle, *clock, &prepared, from, recorder)
        };
        // An operation that ended before the edge belongs to the old slice; one that ended at it
        // does not.
        let (until, next) = match &ended {
            Ended::Done => (block.steps.len(), block.steps.len()),
            Ended::Over(index) => (*index, *index),
            Ended::Edge(index) | Ended::Failed(index, _) => (*index, index + 1),
        };
        file_times(*clock, &block.steps, from..until, recorder);
        let ends_turn = cross_edge(recorder, task);
        if let Err(error) = recording::note(*clock, &prepared, from..next, recorder) {
            shared.fail(error);
            return (next, failed);
        }
        match ended {
            Ended::Done | Ended::Over(_) => return (next, failed),
            Ended::Edge(_) => file_times(*clock, &block.steps, until..next, recorder),
            Ended::Failed(index, error) => {
                recorder.tallies[usize::from(block.steps[index].slot)].error(error.class);
                failed.push(index);
                if shared.judge(error, task.errors_max) {
                    return (next, failed);
                }
            }
        }
        if ends_turn {
            // Time waiting for a CPU between turns is in no window.
            let waited = usage::runqueue_ns();
            recorder.paused_ns += shared.pause.wait(clock, || recorder.time.wake_collector());
            let both = waited.zip(usage::runqueue_ns());
            recorder.paused_runqueue_ns += both.map_or(0, |(before, after)| after - before);
        }
        // A long block is cut when the phase is over.
        if recorder.edge == OVER || shared.is_over() {
            return (next, failed);
        }
        from = next;
    }
}

/// Ends the slices that are over. Returns whether a turn is over with them, and the phase is not.
fn cross_edge(recorder: &mut Recorder, task: &Task) -> bool {
    let now = recorder.last_end;
    if now < recorder.edge {
        return false;
    }
    let ends_turn = task.turn_ns.is_some_and(|turn_ns| recorder.time.is_turn_over(now, turn_ns));
    recorder.edge = recorder.time.cross(now, &mut recorder.tallies);
    ends_turn && recorder.edge != OVER
}

/// Counts the operations of each kind in a block, and the bytes written. A block of one kind
/// without writes is counted as a whole.
fn count_block<A, D>(block: &Block<A, D>, done: usize, failed: &[usize], tallies: &mut [Tally]) {
    if let ([tally], false) = (&mut *tallies, block.writes) {
        tally.count += (done - failed.len()) as u64;
        return;
    }
    for step in &block.steps[..done] {
        let tally = &mut tallies[usize::from(step.slot)];
        tally.count += 1;
        tally.write_bytes += step.write_bytes;
    }
    for index in failed {
        let step = &block.steps[*index];
        let tally = &mut tallies[usize::from(step.slot)];
        tally.count -= 1;
        tally.write_bytes -= step.write_bytes;
    }
}

#[cfg(test)]
mod tests {
    use crate::scripted::{Costs, Play, Script};
    use kvdyno_record::hlog::Kind;

    const MS: u64 = 1_000_000;
    const COSTS: Costs = Costs { reading: 1, preparing: 500, filing: 20 };

    /// Each time includes a reading of the clock, and none includes preparing or filing. The first
    /// block is prepared before the clock starts; everything else is inside the window.
    #[test]
    fn a_closed_loop_times_its_calls_only() {
        let play = Play { costs: COSTS, operations: Some(3), ..Play::default() };
        let played = play.run(Script::new(&[Ok(100), Ok(200), Ok(300)], 0));
        let times = played.times(Kind::Service);
        assert_eq!((times.count(), times.sum, times.max), (3, 603, 301));
        assert_eq!((played.count(), played.window_ns()), (3, 2 + 603));
        assert!(played.failure.is_none());
    }

    /// The thread first reads the clock 0.1 ms after the start, and last after its last operation.
    #[test]
    fn a_thread_that_wakes_late_accounts_for_the_time_since_the_start() {
        let costs = Costs { reading: 200_000, ..COSTS };
        let play = Play { costs, operations: Some(3), ..Play::default() };
        let played = play.run(Script::new(&[], 100));
        let usage = played.result.usage.unwrap();
        assert!(usage.time_ns >= played.window_ns() + costs.reading, "{usage:?}");
    }

    /// Operations begin at 0, 10.4, 20.8 and 31.2 us; the next would begin after the end. A pause
    /// is inside the window, but in no latency.
    #[test]
    fn a_thread_pauses_between_operations_and_outside_of_their_times() {
        let play = Play {
            think_ns: Some(10_000),
            slice_ns: 10_000,
            duration_ns: Some(35_000),
            ..Play::default()
        };
        let played = play.run(Script::new(&[], 399));
        let times = played.times(Kind::Service);
        assert_eq!((times.count(), times.sum, times.max), (4, 4 * 400, 400));
        assert_eq!(played.count(), 4);
        assert!((35_000..35_100).contains(&played.window_ns()), "{}", played.window_ns());
        // A phase with a count ends with its last operation.
        let play = Play { operations: Some(3), duration_ns: None, ..play };
        let played = play.run(Script::new(&[], 399));
        assert_eq!(played.count(), 3);
        assert!((21_200..21_300).contains(&played.window_ns()), "{}", played.window_ns());
    }

    #[test]
    fn what_ends_at_an_edge_belongs_to_the_slice_that_begins_there() {
        let play = Play { slice_ns: 1_000, duration_ns: Some(3_000), ..Play::default() };
        let played = play.run(Script::new(&[], 399));
        // Ends at 402, 802, 1202 and so on; after each edge one more reading.
        assert_eq!(played.slices(), [(0, 2, 800), (1, 2, 800), (2, 4, 1_600)]);
        assert_eq!((played.count(), played.window_ns()), (8, 3_204));
    }

    /// Turns cut the time between two operations, and nothing else: the same operations are done at
    /// the same times. After the last turn there is no pause.
    #[test]
    fn turns_leave_out_the_time_between_them_and_nothing_else() {
        let play = || Play {
            costs: COSTS,
            slice_ns: 50_000,
            duration_ns: Some(300_000),
            ..Play::default()
        };
        let whole = play().run(Script::new(&[Ok(100), Ok(120_000)], 399));
        for (turn_ns, pauses) in [(50_000, 4), (100_000, 2), (150_000, 1), (300_000, 0)] {
            let turns = Play { turn_ns: Some(turn_ns), ..play() };
            let turns = turns.run(Script::new(&[Ok(100), Ok(120_000)], 399));
            // The second operation takes longer than two turns of 50 us.
            assert_eq!(turns.pauses, pauses, "turns of {turn_ns} ns");
            assert_eq!(turns.slices(), whole.slices(), "turns of {turn_ns} ns");
            assert_eq!(turns.result.paused_ns > 0, pauses > 0);
            // One more reading of the clock each.
            let readings = pauses as u64;
            assert_eq!(turns.window_ns(), whole.window_ns() + readings);
            let [paused, usage] = [&turns, &whole].map(|played| played.result.usage.unwrap());
            assert_eq!(paused.time_ns, usage.time_ns + readings);
        }
    }

    /// One of two threads does all remaining operations before the other has begun.
    #[test]
    fn what_was_counted_out_for_a_thread_is_done_though_the_others_have_ended() {
        for (depth, rate) in [(None, None), (Some(4), None), (None, Some(1_000.0))] {
            let play = Play { operations: Some(16), others: 1, depth, rate, ..Play::default() };
            let played = play.run(Script { answers: 1, ..Script::new(&[], 100) });
            assert_eq!(played.count(), 16, "{depth:?} {rate:?}");
        }
    }

    #[test]
    fn what_fails_is_counted_and_has_no_time() {
        let calls = [Ok(100), Err(50), Ok(100), Ok(100)];
        let play = Play { operations: Some(4), errors_max: 1, ..Play::default() };
        let played = play.run(Script::new(&calls, 0));
        assert_eq!((played.count(), played.times(Kind::Service).sum), (3, 303));
        assert_eq!(played.packets[0].times[0].errors, 1);
        assert!(played.failure.is_none());

        let play = Play { operations: Some(4), ..Play::default() };
        let played = play.run(Script::new(&calls, 0));
        assert_eq!((played.count(), played.times(Kind::Service).sum), (1, 101));
        assert!(played.failure.is_some(), "no error was allowed");
    }

    /// The second of three operations is performed four times, all within its one latency.
    #[test]
    fn a_conflict_is_tried_again_inside_the_operations_time() {
        let play = Play { operations: Some(3), ..Play::default() };
        let played = play.run(Script { conflicts: 3, ..Script::new(&[Ok(100)], 50) });
        let times = played.times(Kind::Service);
        assert_eq!((times.count(), times.sum, times.max), (3, 101 + 201 + 51, 201));
        assert_eq!((played.count(), played.result.tallies[0].retries), (3, 3));
        assert!(played.packets[0].times[0].errors == 0 && played.failure.is_none());

        // Seventeen conflicts are too many: an error, and the next operation meets none.
        let play = Play { operations: Some(3), errors_max: 1, ..Play::default() };
        let played = play.run(Script { conflicts: 17, ..Script::new(&[Ok(100)], 50) });
        assert_eq!((played.count(), played.result.tallies[0].retries), (2, 16));
        assert_eq!(played.packets[0].times[0].errors, 1);
    }

    #[test]
    fn an_open_loop_begins_each_operation_at_its_time() {
        let play = Play { rate: Some(1_000.0), duration_ns: Some(5 * MS), ..Play::default() };
        let played = Play { costs: COSTS, ..play }.run(Script::new(&[], 100));
        for kind in [Kind::Service, Kind::Response] {
            let times = played.times(kind);
            assert_eq!((times.count(), times.sum, times.max), (5, 505, 101), "{kind:?}");
        }
        assert_eq!((played.window_ns(), played.result.backlog), (5 * MS, 0));
    }

    #[test]
    fn an_open_loop_charges_a_stall_to_all_that_were_due_in_it() {
        let play = Play { rate: Some(1_000.0), duration_ns: Some(5 * MS), ..Play::default() };
        let played = play.run(Script::new(&[Ok(100), Ok(2_500_000)], 100));
        let (service, response) = (played.times(Kind::Service), played.times(Kind::Response));
        assert_eq!((service.count(), service.sum), (5, 4 * 101 + 2_500_001));
        // Due at 2 and 3 ms, begun at 3.5 ms.
        let waited = response.sum - service.sum;
        assert!((1_500_000 + 500_000..=1_500_000 + 500_000 + 200).contains(&waited), "{waited}");
    }

    #[test]
    fn what_an_open_loop_did_not_begin_is_its_backlog() {
        let play = Play { rate: Some(1_000.0), duration_ns: Some(5 * MS), ..Play::default() };
        let played = play.run(Script::new(&[Ok(10 * MS)], 100));
        assert_eq!((played.count(), played.result.backlog), (1, 4));
        assert!(played.window_ns() >= 10 * MS, "{}", played.window_ns());
    }

    /// Regression test: operations that were due while the last one stalled counted as backlog,
    /// although the phase had no more of them.
    #[test]
    fn a_count_that_is_done_leaves_no_backlog() {
        let play = Play { rate: Some(1_000.0), operations: Some(10), ..Play::default() };
        let mut calls = vec![Ok(100); 9];
        calls.push(Ok(20 * MS));
        let played = play.run(Script::new(&calls, 0));
        assert_eq!((played.count(), played.result.backlog), (10, 0));
        assert!(played.window_ns() > 29 * MS, "{}", played.window_ns());
    }

    /// Regression test: keys of a first block that was never begun counted as existing.
    #[test]
    fn a_phase_that_is_over_before_it_begins_inserts_nothing() {
        for (depth, rate) in [(None, None), (Some(4), None), (None, Some(1_000.0))] {
            let play = Play { inserts: true, over: true, depth, rate, ..Play::default() };
            let played = play.run(Script { answers: 1, ..Script::new(&[], 100) });
            assert_eq!((played.count(), played.records), (0, (100, 100)), "{depth:?} {rate:?}");
        }
    }

    /// Regression test for fault 3: blocks of 100 operations were prepared while the next of them
    /// were due.
    #[test]
    fn an_open_loop_prepares_while_it_waits() {
        let play = Play { rate: Some(100_000.0), duration_ns: Some(10 * MS), ..Play::default() };
        let played = Play { costs: COSTS, ..play }.run(Script::new(&[], 1_000));
        let times = played.times(Kind::Response);
        assert_eq!((times.count(), times.max, times.sum), (1_000, 1_001, 1_001_000));
        assert_eq!(played.result.own_ns, 0);
    }

    /// Preparing takes longer than the time between two operations: it cannot be hidden.
    #[test]
    fn what_an_open_loop_takes_itself_is_counted() {
        let costs = Costs { reading: 1, preparing: 15_000, filing: 20 };
        let play = Play { rate: Some(100_000.0), duration_ns: Some(MS), ..Play::default() };
        let played = Play { costs, ..play }.run(Script::new(&[], 1_000));
        let (service, response) = (played.times(Kind::Service), played.times(Kind::Response));
        // The loop waits for the operations of its first block and the next, and never again: all
        // time outside of the calls is its own.
        let expected = played.window_ns() - service.sum - 16 * 9_000;
        let counted = played.result.own_ns;
        assert!(expected.abs_diff(counted) < 5_000, "{expected} and {counted}");
        assert!(response.max > 300_000 && played.result.backlog > 20, "nothing is taken off");
    }
}
