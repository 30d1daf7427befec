//! Pauses of a thread that only reads the clock: interrupts, other threads, a hypervisor that gives
//! the processor to others.
//!
//! The gaps between readings are consecutive, so they add up to the whole time. The reader of the
//! record judges what a gap means for an engine's tail.

use kvdyno_record::hlog;
use kvdyno_record::run::Hiccups;
use std::time::{Duration, Instant};

/// The measuring time where time does not matter.
pub const LENGTH: Duration = Duration::from_secs(2);

/// A short run is not made longer by more than a fiftieth, and a tenth of a second is needed for
/// p99.99 to have samples.
const SHARE: u32 = 50;
const LENGTH_MIN: Duration = Duration::from_millis(100);

/// Returns the measuring time before a run that will take about `wall_ns`.
pub fn measuring_time(wall_ns: u64) -> Duration {
    (Duration::from_nanos(wall_ns) / SHARE).clamp(LENGTH_MIN, LENGTH)
}

/// Reads the clock for this long on the calling thread, wherever the scheduler puts it: workers are
/// not pinned either.
pub fn listen(length: Duration) -> Result<Hiccups, String> {
    let mut histogram = hlog::histogram();
    let mut max_ns = 0;
    let began = Instant::now();
    let mut last = began;
    loop {
        let now = Instant::now();
        let gap_ns = nanoseconds(now - last);
        last = now;
        max_ns = max_ns.max(gap_ns);
        histogram.saturating_record(gap_ns);
        if now - began >= length {
            break;
        }
    }
    let histogram = hlog::to_text(&histogram)?;
    Ok(Hiccups { length_ns: nanoseconds(last - began), max_ns, histogram })
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_time_is_lost_between_the_gaps() {
        let hiccups = listen(Duration::from_millis(30)).unwrap();
        assert!(hiccups.length_ns >= 30_000_000);
        let histogram = hlog::from_text(&hiccups.histogram).unwrap();
        let sum: f64 = histogram
            .iter_recorded()
            .map(|bucket| {
                bucket.value_iterated_to() as f64 * bucket.count_since_last_iteration() as f64
            })
            .sum();
        let share = sum / hiccups.length_ns as f64;
        // A value of the histogram is at most a thousandth too high.
        assert!((0.999..1.002).contains(&share), "{share} of the time is in the gaps");
        assert!(histogram.max() >= hiccups.max_ns && hiccups.max_ns > 0);
    }

    #[test]
    fn short_runs_are_not_made_much_longer() {
        let second = 1_000_000_000;
        assert_eq!(measuring_time(0), LENGTH_MIN);
        assert_eq!(measuring_time(10 * second), Duration::from_millis(200));
        assert_eq!(measuring_time(100 * second), LENGTH);
        assert_eq!(measuring_time(u64::MAX), LENGTH);
    }
}
