//! Phases that the clock ends, and that do not end: an operation that never returns, as of a server
//! that was stopped. It is told within seconds, and the phase has a limit of its own.

use super::Talk;
use crate::runner::outcome::Cut;
use crate::runner::worker::Worker;
use kvdyno_record::units;
use kvdyno_record::workload::Activity;
use std::time::{Duration, Instant};

/// An operation may take as long as that beyond the phase's end, and nobody is told.
const TELL_AFTER: Duration = Duration::from_secs(5);

/// A phase may take as long again as it was to take, and at least this: a stall of a minute is a
/// result.
const OVERTIME_MIN: Duration = Duration::from_secs(120);

/// What is known of a phase that the clock ends.
pub(super) struct Overtime {
    duration: Duration,
    /// When it was let go.
    begun: Instant,
    /// That have not ended, by the worker's last word; none: it has said none.
    pub(super) threads: Option<u32>,
    told: bool,
}

/// What is to be done about it now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Wait,
    Tell,
    /// It is cut off.
    Cut,
}

impl Overtime {
    /// Of a phase that begins now; none: something else than the clock ends it.
    pub(super) fn of_phase(work: &Activity) -> Option<Self> {
        let (Activity::Warmup(mix) | Activity::Measure(mix)) = work else { return None };
        let duration = Duration::from_nanos(mix.ends.duration_ns?);
        Some(Self { duration, begun: Instant::now(), threads: None, told: false })
    }

    /// Once it has gone on for so long.
    fn step(&self, elapsed: Duration) -> Step {
        let late = elapsed.saturating_sub(self.duration);
        match self.threads {
            // Its threads have ended: what they did is being put together.
            Some(0) => Step::Wait,
            _ if late > self.duration.max(OVERTIME_MIN) => Step::Cut,
            _ if late > TELL_AFTER && !self.told => Step::Tell,
            _ => Step::Wait,
        }
    }

    /// Who keeps it from its end.
    fn waiting(&self) -> String {
        match self.threads {
            None => "its worker says nothing".to_owned(),
            Some(1) => "1 thread waits for an answer".to_owned(),
            Some(threads) => format!("{threads} threads wait for an answer"),
        }
    }
}

impl Talk<'_> {
    /// Whether the phase that runs should have ended.
    pub(super) fn look_at_overtime(&mut self, worker: &Worker) {
        let phase = self.phase_name();
        let begun = self.current.as_mut().and_then(|begun| begun.overtime.as_mut());
        let Some(overtime) = begun.filter(|_| self.ending.cut.is_none()) else { return };
        let (elapsed, waiting) = (overtime.begun.elapsed(), overtime.waiting());
        let late =
            units::duration(1_000_000_000 * elapsed.saturating_sub(overtime.duration).as_secs());
        match overtime.step(elapsed) {
            Step::Wait => {}
            Step::Tell => {
                overtime.told = true;
                let id = &self.environment.case.id;
                let text = format!("{id}: `{phase}` should have ended {late} ago: {waiting}");
                self.environment.progress.warn(&text);
            }
            Step::Cut => {
                let message = format!("`{phase}` should have ended {late} ago: {waiting}");
                self.ending.cut = Some(Cut::Overtime(message));
                self.kill(worker);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overtime(seconds: u64, threads: Option<u32>, told: bool) -> Overtime {
        Overtime { duration: Duration::from_secs(seconds), begun: Instant::now(), threads, told }
    }

    #[test]
    fn what_should_have_ended_is_told_in_seconds_and_cut_off_in_minutes() {
        for (seconds, threads, told, elapsed, step) in [
            (5, Some(2), false, 9, Step::Wait),
            (5, Some(2), false, 11, Step::Tell),
            (5, None, false, 11, Step::Tell),
            (5, Some(2), true, 11, Step::Wait),
            (5, Some(2), true, 126, Step::Cut),
            // One that was long may be late for longer.
            (600, Some(2), true, 1190, Step::Wait),
            (600, Some(2), true, 1201, Step::Cut),
            // A trace that is being written.
            (5, Some(0), false, 3600, Step::Wait),
        ] {
            let overtime = overtime(seconds, threads, told);
            assert_eq!(overtime.step(Duration::from_secs(elapsed)), step, "{seconds} {elapsed}");
        }
        assert_eq!(overtime(5, Some(1), false).waiting(), "1 thread waits for an answer");
        assert_eq!(overtime(5, Some(4), false).waiting(), "4 threads wait for an answer");
    }
}
