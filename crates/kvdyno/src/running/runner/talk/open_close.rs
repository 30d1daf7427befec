//! Opening and closing an engine. A call that does not return is reported after seconds and ended
//! after minutes.

use super::Talk;
use super::stopwatch::{Step, Stopwatch};
use crate::running::runner::outcome::EarlyEnd;
use crate::running::runner::worker::Worker;
use kvdyno_record::units;
use std::time::{Duration, Instant};

/// It may take this long without a report.
const TELL_AFTER: Duration = Duration::from_secs(5);

/// Recovery of a large log takes minutes, and so does the last flush.
const LIMIT: Duration = Duration::from_secs(600);

/// After a failure nothing depends on a clean close.
const LIMIT_FAILED: Duration = Duration::from_secs(30);

/// An engine that is being opened or closed.
pub(super) struct OpenClose {
    /// How long that has taken.
    pub(super) time: Stopwatch,
    reported: bool,
}

impl OpenClose {
    pub(super) fn begin() -> Self {
        Self { time: Stopwatch::start(), reported: false }
    }

    fn step(&self, failed: bool) -> Step {
        match self.time.elapsed {
            elapsed if elapsed > if failed { LIMIT_FAILED } else { LIMIT } => Step::EarlyEnd,
            elapsed if elapsed > TELL_AFTER && !self.reported => Step::Tell,
            _ => Step::Wait,
        }
    }
}

impl Talk<'_> {
    /// Checks how long the engine is being opened, or closed after its last phase.
    pub(super) fn look_at_open_close(&mut self, worker: &Worker) {
        if self.ending.cut.is_some() || !self.is_open_close() {
            self.open_close = OpenClose::begin();
            return;
        }
        let failed = self.ending.failure.is_some();
        self.open_close.time.look(Instant::now());
        let what = self.phase_name();
        let text = format!(
            "{what} takes {} so far",
            units::duration(self.open_close.time.elapsed.as_nanos() as u64)
        );
        match self.open_close.step(failed) {
            Step::Wait => {}
            Step::Tell => {
                self.open_close.reported = true;
                let id = &self.environment.case.id;
                self.environment.progress.warn(&format!("{id}: {text}"));
            }
            Step::EarlyEnd => {
                self.ending.cut = Some(EarlyEnd::Overtime(text));
                self.kill(worker);
            }
        }
    }

    /// No phase runs, and none will be prepared: the engine is being opened or closed.
    fn is_open_close(&self) -> bool {
        let record = &self.record;
        let opening = record.opens_ns.is_empty() && record.phases.is_empty();
        let all_done = record.phases.len() == self.environment.case.phases.len();
        let closing = all_done || self.ending.failure.is_some() || self.stopping.is_some();
        self.current.is_none() && (opening || closing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_return_is_told_in_seconds_and_cut_off_in_minutes() {
        for (seconds, reported, failed, step) in [
            (4, false, false, Step::Wait),
            (6, false, false, Step::Tell),
            (6, true, false, Step::Wait),
            (599, true, false, Step::Wait),
            (601, true, false, Step::EarlyEnd),
            (29, true, true, Step::Wait),
            (31, true, true, Step::EarlyEnd),
        ] {
            let elapsed = Duration::from_secs(seconds);
            let time = Stopwatch::at(elapsed);
            assert_eq!(OpenClose { time, reported }.step(failed), step, "{seconds} {failed}");
        }
    }
}
