//! Limits for opening and closing an engine, and for preparing a phase. Each is reported if it
//! takes seconds. An open or a close is ended after minutes.

use super::Talk;
use super::stopwatch::{Reminder, Step, Stopwatch};
use crate::running::runner::outcome::EarlyEnd;
use crate::running::runner::worker::Worker;
use kvdyno_record::units;
use std::time::{Duration, Instant};

/// Opening, closing or preparing may take this long without a report.
const TELL_AFTER: Duration = Duration::from_secs(5);

/// The limit of an open or a close. Recovery of a large log takes minutes, and so does the last
/// flush.
pub(super) const LIMIT: Duration = Duration::from_secs(600);

/// The limit after a failure: nothing depends on a clean close then.
const LIMIT_FAILED: Duration = Duration::from_secs(30);

/// An engine that is being opened or closed, or a phase that is being prepared.
pub(super) struct OpenClose {
    /// The time that this has taken.
    pub(super) time: Stopwatch,
    reminder: Reminder,
}

impl OpenClose {
    pub(super) fn begin() -> Self {
        Self { time: Stopwatch::start(), reminder: Reminder::after(TELL_AFTER) }
    }

    /// Returns the next step. `limit`: `None` for a phase that is being prepared, for example by
    /// writing a trace.
    fn step(&mut self, limit: Option<Duration>) -> Step {
        let elapsed = self.time.elapsed;
        match limit {
            Some(limit) if elapsed > limit => Step::EarlyEnd,
            _ => self.reminder.step(elapsed),
        }
    }
}

impl Talk<'_> {
    /// Checks how long the engine is being opened, closed after its last phase, or prepared for the
    /// next one.
    pub(super) fn check_open_close(&mut self, worker: &Worker) {
        if self.ending.cut.is_some() || self.current.is_some() {
            self.open_close = OpenClose::begin();
            return;
        }
        self.open_close.time.look(Instant::now());
        let what = match self.next_phase() {
            Some(phase) => format!("preparing `{phase}`"),
            None => self.phase_name(),
        };
        let limit = match self.ending.failure {
            _ if self.next_phase().is_some() => None,
            Some(_) => Some(LIMIT_FAILED),
            None => Some(LIMIT),
        };
        let elapsed = units::duration(self.open_close.time.elapsed.as_nanos() as u64);
        let text = format!("{what} takes {elapsed} so far");
        match self.open_close.step(limit) {
            Step::Wait => {}
            Step::Tell => {
                let id = &self.environment.case.id;
                self.environment.progress.warn(&format!("{id}: {text}"));
            }
            Step::EarlyEnd => {
                self.ending.cut = Some(EarlyEnd::Overtime(text));
                self.kill(worker);
            }
        }
    }

    /// Returns the phase that is being prepared; `None`: the engine is being opened or closed.
    fn next_phase(&self) -> Option<&str> {
        let record = &self.record;
        let opening = record.opens_ns.is_empty() && record.phases.is_empty();
        let ends = opening || self.ending.failure.is_some() || self.stopping.is_some();
        let next = self.environment.case.phases.get(record.phases.len()).filter(|_| !ends)?;
        Some(&next.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_return_is_told_in_seconds_and_cut_off_in_minutes() {
        for (seconds, limit, step) in [
            (4, Some(LIMIT), Step::Wait),
            (6, Some(LIMIT), Step::Tell),
            (599, Some(LIMIT), Step::Tell),
            (601, Some(LIMIT), Step::EarlyEnd),
            (29, Some(LIMIT_FAILED), Step::Tell),
            (31, Some(LIMIT_FAILED), Step::EarlyEnd),
            (3600, None, Step::Tell),
        ] {
            let time = Stopwatch::with_elapsed(Duration::from_secs(seconds));
            let mut open_close = OpenClose { time, ..OpenClose::begin() };
            assert_eq!(open_close.step(limit), step, "{seconds} {limit:?}");
        }
    }
}
