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

/// Looks are many a second.
const LOOK_MAX: Duration = Duration::from_secs(1);

/// What is known of a phase that the clock ends.
pub(super) struct Overtime {
    duration: Duration,
    /// For so long it has run, and was looked at. Of a program that was stopped itself little
    /// counts: the worker may have ended meanwhile.
    elapsed: Duration,
    looked: Instant,
    /// That have not ended, by the worker's last word; none: it counts none.
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
        let (elapsed, looked) = (Duration::ZERO, Instant::now());
        Some(Self { duration, elapsed, looked, threads: None, told: false })
    }

    /// It has run until now.
    fn look(&mut self, now: Instant) {
        self.elapsed += now.saturating_duration_since(self.looked).min(LOOK_MAX);
        self.looked = now;
    }

    fn late(&self) -> Duration {
        self.elapsed.saturating_sub(self.duration)
    }

    fn step(&self) -> Step {
        let late = self.late();
        match self.threads {
            // They have ended, and what they did is being put together; or nobody counts them.
            Some(0) | None => Step::Wait,
            _ if late > self.duration.max(OVERTIME_MIN) => Step::Cut,
            _ if late > TELL_AFTER && !self.told => Step::Tell,
            _ => Step::Wait,
        }
    }

    /// Who keeps it from its end.
    fn waiting(&self) -> String {
        match self.threads.unwrap_or_default() {
            1 => "1 thread waits for an answer".to_owned(),
            threads => format!("{threads} threads wait for an answer"),
        }
    }
}

impl Talk<'_> {
    /// Whether the phase that runs should have ended.
    pub(super) fn look_at_overtime(&mut self, worker: &Worker) {
        let phase = self.phase_name();
        let begun = self.current.as_mut().and_then(|begun| begun.overtime.as_mut());
        let Some(overtime) = begun.filter(|_| self.ending.cut.is_none()) else { return };
        overtime.look(Instant::now());
        let (late, waiting) = (overtime.late().as_secs(), overtime.waiting());
        let late = units::duration(late * 1_000_000_000);
        match overtime.step() {
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

    fn overtime(seconds: u64, elapsed: u64, threads: Option<u32>, told: bool) -> Overtime {
        let [duration, elapsed] = [seconds, elapsed].map(Duration::from_secs);
        Overtime { duration, elapsed, looked: Instant::now(), threads, told }
    }

    #[test]
    fn what_should_have_ended_is_told_in_seconds_and_cut_off_in_minutes() {
        for (seconds, threads, told, elapsed, step) in [
            (5, Some(2), false, 9, Step::Wait),
            (5, Some(2), false, 11, Step::Tell),
            (5, None, false, 3600, Step::Wait),
            (5, Some(2), true, 11, Step::Wait),
            (5, Some(2), true, 126, Step::Cut),
            // One that was long may be late for longer.
            (600, Some(2), true, 1190, Step::Wait),
            (600, Some(2), true, 1201, Step::Cut),
            // A trace that is being written.
            (5, Some(0), false, 3600, Step::Wait),
        ] {
            let overtime = overtime(seconds, elapsed, threads, told);
            assert_eq!(overtime.step(), step, "{seconds} {elapsed}");
        }
        assert_eq!(overtime(5, 0, Some(1), false).waiting(), "1 thread waits for an answer");
        assert_eq!(overtime(5, 0, Some(4), false).waiting(), "4 threads wait for an answer");
    }

    /// The program was stopped for an hour, and its worker was not.
    #[test]
    fn what_was_not_looked_at_does_not_count() {
        let mut overtime = overtime(5, 4, Some(2), false);
        let later = overtime.looked + Duration::from_secs(3600);
        overtime.look(later);
        assert_eq!((overtime.step(), overtime.elapsed.as_secs()), (Step::Wait, 5));
        overtime.look(later + Duration::from_millis(500));
        assert_eq!(overtime.elapsed.as_millis(), 5500);
    }
}
