//! Measures how long something takes, by looking at it many times per second.

use std::time::{Duration, Instant};

/// The most that one look adds: looks come many times per second.
const LOOK_MAX: Duration = Duration::from_secs(1);

/// A time that is running. If this program was stopped, that time counts little: the worker may
/// have ended meanwhile.
pub(super) struct Stopwatch {
    pub(super) elapsed: Duration,
    looked: Instant,
}

/// The next report comes when this many times as much time has passed.
const TELL_AGAIN: u32 = 10;

/// When the next report of something slow is due.
pub(in crate::running::runner) struct Reminder {
    next: Duration,
}

impl Reminder {
    /// The first report is due after this time.
    pub(in crate::running::runner) fn after(first: Duration) -> Self {
        Self { next: first }
    }

    pub(in crate::running::runner) fn step(&mut self, elapsed: Duration) -> Step {
        if elapsed <= self.next {
            return Step::Wait;
        }
        self.next = elapsed * TELL_AGAIN;
        Step::Tell
    }
}

/// What is done about something that takes long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::running::runner) enum Step {
    Wait,
    Tell,
    /// The case is ended.
    EarlyEnd,
}

impl Stopwatch {
    pub(super) fn start() -> Self {
        Self { elapsed: Duration::ZERO, looked: Instant::now() }
    }

    #[cfg(test)]
    pub(super) fn with_elapsed(elapsed: Duration) -> Self {
        Self { elapsed, ..Self::start() }
    }

    /// Adds the time since the last look.
    pub(super) fn look(&mut self, now: Instant) {
        self.elapsed += now.saturating_duration_since(self.looked).min(LOOK_MAX);
        self.looked = now;
    }

    /// Leaves out the time since the last look: the case's processes were stopped.
    pub(super) fn skip(&mut self, now: Instant) {
        self.looked = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn something_slow_is_reported_again_after_ten_times_as_long() {
        let mut reminder = Reminder::after(Duration::from_secs(3));
        let mut reports =
            |seconds: &u64| reminder.step(Duration::from_secs(*seconds)) == Step::Tell;
        let times: Vec<u64> = (0..3600).filter(&mut reports).collect();
        assert_eq!(times, [4, 41, 411]);
    }

    /// The program was stopped for an hour, but its worker was not.
    #[test]
    fn what_was_not_looked_at_does_not_count() {
        let mut time = Stopwatch::with_elapsed(Duration::from_secs(4));
        let later = time.looked + Duration::from_secs(3600);
        time.look(later);
        assert_eq!(time.elapsed.as_secs(), 5);
        time.look(later + Duration::from_millis(500));
        assert_eq!(time.elapsed.as_millis(), 5500);
        let much_later = later + Duration::from_secs(60);
        time.skip(much_later);
        time.look(much_later);
        assert_eq!(time.elapsed.as_millis(), 5500);
    }
}
