//! Phases that should end by time and do not, and phases that do nothing: an operation never
//! returns, for example from a stopped server. Both are reported. A phase that ends by time has a
//! limit of its own.

use super::Talk;
use super::open_close::LIMIT;
use super::stopwatch::{Reminder, Step, Stopwatch};
use crate::running::runner::outcome::EarlyEnd;
use crate::running::runner::worker::Worker;
use kvdyno_record::units;
use kvdyno_record::workload::{Activity, Phase};
use std::time::{Duration, Instant};

/// Operations may take this long beyond the phase's end without a report.
const TELL_AFTER: Duration = Duration::from_secs(3);

/// A phase that ends by a count may do nothing for so long without a report: one operation may be a
/// scan of everything.
const TELL_IDLE_AFTER: Duration = Duration::from_secs(30);

/// A phase may take its planned duration again, and at least this: a stall of a minute is a result.
const OVERTIME_MIN: Duration = Duration::from_secs(120);

/// The state of a phase whose operations are counted.
pub(super) struct Overtime {
    /// The planned duration; `None`: the phase ends by a count.
    duration: Option<Duration>,
    /// Whether its operations open the engine: each opening has the limit of an opening.
    opens: bool,
    /// The time that it has run.
    pub(super) time: Stopwatch,
    /// The threads that still run, by the worker's last message; `None`: it does not count them.
    threads: Option<u32>,
    done: u64,
    /// When `done` last changed.
    changed: Duration,
    reminder: Reminder,
}

impl Overtime {
    /// Returns the state of a phase that starts now. `None`: it has no operations, and waits for
    /// the engine as long as that works.
    pub(super) fn from_phase(phase: &Phase) -> Option<Self> {
        if matches!(phase.work, Activity::Settle { .. } | Activity::Evict | Activity::Reopen { .. })
        {
            return None;
        }
        let duration = phase.mix().and_then(|mix| mix.ends.duration_ns).map(Duration::from_nanos);
        let first = if duration.is_some() { TELL_AFTER } else { TELL_IDLE_AFTER };
        let opens = phase.mix().is_some_and(|mix| mix.entries().any(|entry| entry.op.opens()));
        Some(Self {
            duration,
            opens,
            time: Stopwatch::start(),
            threads: None,
            done: 0,
            changed: Duration::ZERO,
            reminder: Reminder::after(first),
        })
    }

    /// Processes a message of progress from the worker.
    pub(super) fn progress(&mut self, done: u64, threads: Option<u32>) {
        self.threads = threads;
        if self.done != done {
            (self.done, self.changed) = (done, self.time.elapsed);
        }
    }

    /// The time since the planned end, or since the last operation.
    fn late(&self) -> Duration {
        self.time.elapsed.saturating_sub(self.duration.unwrap_or(self.changed))
    }

    fn step(&mut self) -> Step {
        let late = self.late();
        match (self.duration, self.threads) {
            // The worker does not count its threads, or the engine syncs a load.
            (Some(_), None) | (None, Some(0)) => Step::Wait,
            (Some(duration), _) if late > duration.max(OVERTIME_MIN) => Step::EarlyEnd,
            _ if self.opens && late > LIMIT => Step::EarlyEnd,
            _ => self.reminder.step(late),
        }
    }

    /// Describes what keeps `phase` from its end; `engine` is its engine.
    fn describe(&self, phase: &str, engine: &str) -> String {
        let late = units::duration(self.late().as_secs() * 1_000_000_000);
        let waiting = match self.threads {
            None => format!("it waits for a reply of {engine}"),
            Some(0) => format!("it waits for the counters of {engine}"),
            Some(1) => format!("1 thread waits for a reply of {engine}"),
            Some(threads) => format!("{threads} threads wait for a reply of {engine}"),
        };
        match self.duration {
            Some(_) => format!("`{phase}` should have ended {late} ago: {waiting}"),
            None => format!("`{phase}` has completed no operation for {late}: {waiting}"),
        }
    }
}

impl Talk<'_> {
    /// Checks whether the current phase should have ended, or does nothing.
    pub(super) fn check_overtime(&mut self, worker: &Worker) {
        let phase = self.phase_name();
        let begun = self.current.as_mut().and_then(|begun| begun.overtime.as_mut());
        let Some(overtime) = begun.filter(|_| self.ending.cut.is_none()) else { return };
        overtime.time.look(Instant::now());
        let step = overtime.step();
        if step == Step::Wait {
            return;
        }
        let message = overtime.describe(&phase, &self.environment.case.label);
        if step == Step::Tell {
            let id = &self.environment.case.id;
            self.environment.progress.warn(&format!("{id}: {message}"));
        } else {
            self.ending.cut = Some(EarlyEnd::Overtime(message));
            self.kill(worker);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kvdyno_record::workload::{Ends, Mix};

    fn overtime(duration: Option<u64>, elapsed: u64, threads: Option<u32>) -> Overtime {
        let duration_ns = duration.map(|seconds| seconds * 1_000_000_000);
        let ends = Ends { duration_ns, ..Ends::after_operations(100) };
        let work = Activity::Measure(Mix { roles: Vec::new(), ends });
        let mut overtime =
            Overtime::from_phase(&Phase { name: "reads".to_owned(), window: None, work }).unwrap();
        overtime.time = Stopwatch::with_elapsed(Duration::from_secs(1));
        overtime.progress(7, threads);
        overtime.time = Stopwatch::with_elapsed(Duration::from_secs(elapsed));
        overtime
    }

    #[test]
    fn what_should_have_ended_is_told_in_seconds_and_cut_off_in_minutes() {
        for (duration, threads, elapsed, step) in [
            (Some(5), Some(2), 7, Step::Wait),
            (Some(5), Some(2), 9, Step::Tell),
            (Some(5), None, 3600, Step::Wait),
            (Some(5), Some(2), 124, Step::Tell),
            (Some(5), Some(2), 126, Step::EarlyEnd),
            // A long phase may be late for longer.
            (Some(600), Some(2), 1190, Step::Tell),
            (Some(600), Some(2), 1201, Step::EarlyEnd),
            // A server that was stopped after its last reply.
            (Some(5), Some(0), 9, Step::Tell),
            (Some(5), Some(0), 126, Step::EarlyEnd),
            // Without a planned end, only its budget ends it.
            (None, Some(2), 30, Step::Wait),
            (None, Some(2), 32, Step::Tell),
            (None, Some(2), 3600, Step::Tell),
            (None, None, 32, Step::Tell),
            (None, Some(0), 3600, Step::Wait),
        ] {
            let mut overtime = overtime(duration, elapsed, threads);
            assert_eq!(overtime.step(), step, "{duration:?} {elapsed}");
        }
    }

    #[test]
    fn a_report_names_the_phase_the_time_and_what_is_awaited() {
        let (late, idle) =
            ("should have ended 7.00 s ago", "has completed no operation for 11.0 s");
        for (duration, threads, when, what) in [
            (Some(5), 1, late, "1 thread waits for a reply of redis"),
            (Some(5), 0, late, "it waits for the counters of redis"),
            (None, 4, idle, "4 threads wait for a reply of redis"),
        ] {
            let text = overtime(duration, 12, Some(threads)).describe("reads", "redis");
            assert_eq!(text, format!("`reads` {when}: {what}"));
        }
    }
}
