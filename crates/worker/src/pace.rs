//! When an open loop's operations are due.
//!
//! The schedule runs on whether or not the engine keeps up: an operation that comes late starts at
//! once and is charged from its scheduled time, none is skipped, and the one after it keeps its own
//! time. So a warm-up cannot pile up a burst, and a stall cannot hide.

use crate::rng::Rng;
use kvdyno_record::workload::{Rate, Schedule};

/// One thread's schedule.
#[derive(Debug)]
pub(crate) struct Pace {
    start: u64,
    gap_ns: f64,
    /// Of the next operation, since the start.
    offset_ns: f64,
    issued: u64,
    poisson: Option<Rng>,
}

impl Pace {
    /// The share of thread `thread` of `threads` in `rate`, from `start` on. Threads of a fixed
    /// schedule take turns, so that the role as a whole is evenly spaced.
    pub(crate) fn new(rate: &Rate, (thread, threads): (u32, u32), start: u64, rng: Rng) -> Self {
        let gap_ns = Self::gap_ns(rate, (thread, threads));
        let mut pace = Self {
            start,
            gap_ns,
            offset_ns: gap_ns * f64::from(thread) / f64::from(threads),
            issued: 0,
            poisson: (rate.schedule == Schedule::Poisson).then_some(rng),
        };
        if let Some(rng) = &mut pace.poisson {
            pace.offset_ns = gap_ns * rng.exponential();
        }
        pace
    }

    /// Of one thread's schedule, on average.
    pub(crate) fn gap_ns(rate: &Rate, (_, threads): (u32, u32)) -> f64 {
        1e9 * f64::from(threads) / rate.operations_per_s
    }

    /// When the operation is due that [`Self::next`] gives out next.
    pub(crate) fn due(&self) -> u64 {
        self.start + self.offset_ns as u64
    }

    /// When the next operation is due.
    pub(crate) fn next(&mut self) -> u64 {
        let due = self.due();
        self.issued += 1;
        self.offset_ns += match &mut self.poisson {
            Some(rng) => self.gap_ns * rng.exponential(),
            None => self.gap_ns,
        };
        due
    }

    /// Between two operations.
    pub(crate) fn mean_gap_ns(&self) -> f64 {
        self.gap_ns
    }

    /// How many operations are due in a span of time, at least one.
    pub(crate) fn steps_in(&self, span_ns: u64) -> usize {
        steps_in(span_ns, self.gap_ns)
    }

    /// Operations due before `deadline` that [`Self::next`] has not given out.
    pub(crate) fn count_until(mut self, deadline: u64) -> u64 {
        let before = self.issued;
        while self.next() < deadline {}
        self.issued - before - 1
    }
}

/// How many operations are due in a span of time, at least one.
pub(crate) fn steps_in(span_ns: u64, gap_ns: f64) -> usize {
    ((span_ns as f64 / gap_ns) as usize).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(rate: f64, schedule: Schedule, place: (u32, u32)) -> Vec<u64> {
        let rate = Rate { operations_per_s: rate, schedule };
        let mut pace = Pace::new(&rate, place, 1_000, Rng::new(&[u64::from(place.0)]));
        (0..100_000).map(|_| pace.next()).collect()
    }

    /// Regression test for bug 4: start times are exact, over any length of time.
    #[test]
    fn a_fixed_schedule_is_exact() {
        let times = times(3_000.0, Schedule::Fixed, (1, 3));
        assert_eq!(times[0], 1_000 + 333_333);
        for (i, time) in times.iter().enumerate() {
            let exact = 1_000.0 + 1e9 / 3_000.0 + i as f64 * 1e6;
            assert!((*time as f64 - exact).abs() < 1.5, "operation {i}");
        }
    }

    #[test]
    fn a_poisson_schedule_has_its_rate_and_its_variance() {
        let times = times(10_000.0, Schedule::Poisson, (0, 2));
        let gaps: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean / 200_000.0 - 1.0).abs() < 0.02, "{mean}");
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.02, "exponential: deviation = mean");
    }

    #[test]
    fn what_was_not_begun_is_counted() {
        let rate = Rate { operations_per_s: 1_000.0, schedule: Schedule::Fixed };
        let mut pace = Pace::new(&rate, (0, 1), 0, Rng::new(&[1]));
        for _ in 0..10 {
            pace.next();
        }
        assert_eq!(pace.count_until(1_000_000_000), 990);
    }
}
