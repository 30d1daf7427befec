//! Phases that should end by time and do not: an operation never returns, for example from a
//! stopped server. This is reported within seconds, and the phase has a limit of its own.

use super::Talk;
use super::stopwatch::{Step, Stopwatch};
use crate::running::runner::outcome::EarlyEnd;
use crate::running::runner::worker::Worker;
use kvdyno_record::units;
use kvdyno_record::workload::Phase;
use std::time::{Duration, Instant};

/// An operation may take this long beyond the phase's end without a report.
const TELL_AFTER: Duration = Duration::from_secs(5);

/// A phase may take its planned duration again, and at least this: a stall of a minute is a result.
const OVERTIME_MIN: Duration = Duration::from_secs(120);

/// The state of a phase that ends by time.
pub(super) struct Overtime {
    duration: Duration,
    /// The time that it has run.
    pub(super) time: Stopwatch,
    /// Threads that still run, by the worker's last message; none: it counts none.
    pub(super) threads: Option<u32>,
    reported: bool,
}

impl Overtime {
    /// For a phase that starts now; none: it does not end by time.
    pub(super) fn of_phase(phase: &Phase) -> Option<Self> {
        let duration = Duration::from_nanos(phase.mix()?.ends.duration_ns?);
        Some(Self { duration, time: Stopwatch::start(), threads: None, reported: false })
    }

    fn late(&self) -> Duration {
        self.time.elapsed.saturating_sub(self.duration)
    }

    fn step(&self) -> Step {
        let late = self.late();
        match self.threads {
            // The threads have ended and their results are being merged, or nobody counts them.
            Some(0) | None => Step::Wait,
            _ if late > self.duration.max(OVERTIME_MIN) => Step::EarlyEnd,
            _ if late > TELL_AFTER && !self.reported => Step::Tell,
            _ => Step::Wait,
        }
    }

    /// The threads that keep it from its end.
    fn waiting(&self) -> String {
        match self.threads.unwrap_or_default() {
            1 => "1 thread waits for a reply".to_owned(),
            threads => format!("{threads} threads wait for a reply"),
        }
    }
}

impl Talk<'_> {
    /// Checks whether the current phase should have ended.
    pub(super) fn look_at_overtime(&mut self, worker: &Worker) {
        let phase = self.phase_name();
        let begun = self.current.as_mut().and_then(|begun| begun.overtime.as_mut());
        let Some(overtime) = begun.filter(|_| self.ending.cut.is_none()) else { return };
        overtime.time.look(Instant::now());
        let (late, waiting) = (overtime.late().as_secs(), overtime.waiting());
        let late = units::duration(late * 1_000_000_000);
        match overtime.step() {
            Step::Wait => {}
            Step::Tell => {
                overtime.reported = true;
                let id = &self.environment.case.id;
                let text = format!("{id}: `{phase}` should have ended {late} ago: {waiting}");
                self.environment.progress.warn(&text);
            }
            Step::EarlyEnd => {
                let message = format!("`{phase}` should have ended {late} ago: {waiting}");
                self.ending.cut = Some(EarlyEnd::Overtime(message));
                self.kill(worker);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overtime(seconds: u64, elapsed: u64, threads: Option<u32>, reported: bool) -> Overtime {
        let [duration, elapsed] = [seconds, elapsed].map(Duration::from_secs);
        let time = Stopwatch::at(elapsed);
        Overtime { duration, time, threads, reported }
    }

    #[test]
    fn what_should_have_ended_is_told_in_seconds_and_cut_off_in_minutes() {
        for (seconds, threads, reported, elapsed, step) in [
            (5, Some(2), false, 9, Step::Wait),
            (5, Some(2), false, 11, Step::Tell),
            (5, None, false, 3600, Step::Wait),
            (5, Some(2), true, 11, Step::Wait),
            (5, Some(2), true, 126, Step::EarlyEnd),
            // A long phase may be late for longer.
            (600, Some(2), true, 1190, Step::Wait),
            (600, Some(2), true, 1201, Step::EarlyEnd),
            // A trace is being written.
            (5, Some(0), false, 3600, Step::Wait),
        ] {
            let overtime = overtime(seconds, elapsed, threads, reported);
            assert_eq!(overtime.step(), step, "{seconds} {elapsed}");
        }
        assert_eq!(overtime(5, 0, Some(1), false).waiting(), "1 thread waits for a reply");
        assert_eq!(overtime(5, 0, Some(4), false).waiting(), "4 threads wait for a reply");
    }
}
