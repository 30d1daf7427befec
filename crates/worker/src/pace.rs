//! The schedule of an open loop: when its operations are due.
//!
//! The schedule runs on whether or not the engine keeps up. A late operation starts at once and is
//! charged from its scheduled time, none is skipped, and the next one keeps its own time. So a
//! warm-up cannot pile up a burst, and a stall cannot hide.

use crate::rng::Rng;
use kvdyno_record::workload::{Rate, Schedule, Step};

/// One thread's schedule.
#[derive(Debug)]
pub(crate) struct Pace {
    start: u64,
    gap_ns: f64,
    /// The time since the start at which the next operation would be due at the mean rate.
    even_ns: f64,
    /// The time since the start at which it is due.
    offset_ns: f64,
    issued: u64,
    poisson: Option<Rng>,
    course: Option<Course>,
    /// Whether the times are recorded: they are known when operations are prepared.
    recorded: bool,
}

/// The most recorded requests in a block: it is small, because the following gaps are unknown.
const RECORDED_STEPS: usize = 16;

/// A changing rate, as time that runs faster and slower. An operation that is due at some time
/// under the mean rate is due when the changing rate has produced as many operations. So gaps stay
/// equal, or exponential, in number of operations.
#[derive(Debug)]
struct Course {
    rate: Rate,
    /// The current step with its index, and the operations due before it.
    index: u64,
    step: Step,
    before: f64,
}

impl Course {
    fn from_rate(rate: &Rate) -> Option<Self> {
        let step = || rate.step(0);
        let changes = !rate.is_constant();
        changes.then(|| Self { rate: rate.clone(), index: 0, step: step(), before: 0.0 })
    }

    /// Returns the time that corresponds to `even_ns` under the mean rate. `even_ns` may only grow
    /// from call to call.
    fn due_ns(&mut self, even_ns: f64) -> f64 {
        let due = even_ns * self.rate.operations_per_s / 1e9;
        loop {
            let until = self.before + self.step.count_due(self.step.length_ns);
            if due < until {
                return self.step.start_ns + self.step.find_time(due - self.before);
            }
            if self.step.length_ns.is_infinite() {
                // The rate has come to zero: no more operations are due.
                return f64::INFINITY;
            }
            (self.index, self.before) = (self.index + 1, until);
            self.step = self.rate.step(self.index);
        }
    }
}

impl Pace {
    /// The share of thread `thread` of `threads` in `rate`, from `start` on. Threads of a fixed
    /// schedule take turns, so that the role as a whole is evenly spaced.
    pub(crate) fn new(rate: &Rate, (thread, threads): (u32, u32), start: u64, rng: Rng) -> Self {
        let gap_ns = Self::gap_ns(rate, (thread, threads));
        let mut pace = Self {
            start,
            gap_ns,
            even_ns: gap_ns * f64::from(thread) / f64::from(threads),
            offset_ns: 0.0,
            issued: 0,
            poisson: (rate.schedule == Schedule::Poisson).then_some(rng),
            course: Course::from_rate(rate),
            recorded: rate.schedule == Schedule::Recorded,
        };
        if pace.recorded {
            return pace;
        }
        if let Some(rng) = &mut pace.poisson {
            pace.even_ns = gap_ns * rng.exponential();
        }
        pace.offset_ns = pace.offset();
        pace
    }

    /// The mean gap in one thread's schedule.
    fn gap_ns(rate: &Rate, (_, threads): (u32, u32)) -> f64 {
        1e9 * f64::from(threads) / rate.operations_per_s
    }

    /// The number of operations of one thread that are due in a span of time, at least one. If the
    /// rate changes, its lowest value counts.
    pub(crate) fn count_thread_steps(rate: &Rate, thread: (u32, u32), span_ns: u64) -> usize {
        if rate.schedule == Schedule::Recorded {
            return RECORDED_STEPS;
        }
        ((span_ns as f64 / Self::gap_ns(rate, thread) * lowest_rate_share(rate)) as usize).max(1)
    }

    fn offset(&mut self) -> f64 {
        self.course.as_mut().map_or(self.even_ns, |course| course.due_ns(self.even_ns))
    }

    /// The time of the operation that [`Self::next`] gives out next.
    pub(crate) fn due(&self) -> u64 {
        self.start.saturating_add(self.offset_ns as u64)
    }

    /// Returns the time at which the next operation is due, and advances.
    pub(crate) fn next(&mut self) -> u64 {
        let due = self.due();
        self.issued += 1;
        self.even_ns += match &mut self.poisson {
            Some(rng) => self.gap_ns * rng.exponential(),
            None => self.gap_ns,
        };
        self.offset_ns = self.offset();
        due
    }

    /// Fills `due` with the times of the next `steps` operations. For recorded operations, `due`
    /// has times since the start already: they become times of the clock.
    pub(crate) fn schedule(&mut self, due: &mut Vec<u64>, steps: usize) {
        if !self.recorded {
            due.extend((0..steps).map(|_| self.next()));
            return;
        }
        for due in due.iter_mut() {
            *due += self.start;
        }
        self.offset_ns = due.last().map_or(self.offset_ns, |last| (last - self.start) as f64);
    }

    /// The number of operations that are due in a span of time, at least one. If the rate changes,
    /// its lowest value counts.
    pub(crate) fn count_steps(&self, span_ns: u64) -> usize {
        if self.recorded {
            return RECORDED_STEPS;
        }
        let slowest = self.course.as_ref().map_or(1.0, |course| lowest_rate_share(&course.rate));
        ((span_ns as f64 / self.gap_ns * slowest) as usize).max(1)
    }

    /// Counts the operations due before `deadline` that [`Self::next`] has not given out; 0 for
    /// recorded ones, which are not known here.
    pub(crate) fn count_until(mut self, deadline: u64) -> u64 {
        if self.recorded {
            return 0;
        }
        let before = self.issued;
        while self.next() < deadline {}
        self.issued - before - 1
    }
}

/// The lowest rate as a share of the mean; at least a tenth, because it does not last long.
fn lowest_rate_share(rate: &Rate) -> f64 {
    (rate.least_rate() / rate.operations_per_s).clamp(0.1, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kvdyno_record::workload::{Sine, Stage};

    fn times(rate: f64, schedule: Schedule, thread: (u32, u32)) -> Vec<u64> {
        let rate = Rate::new(rate, schedule);
        let mut pace = Pace::new(&rate, thread, 1_000, Rng::new(&[u64::from(thread.0)]));
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
        let rate = Rate::new(1_000.0, Schedule::Fixed);
        let mut pace = Pace::new(&rate, (0, 1), 0, Rng::new(&[1]));
        for _ in 0..10 {
            pace.next();
        }
        assert_eq!(pace.count_until(1_000_000_000), 990);
    }

    const SECOND: u64 = 1_000_000_000;

    fn waving(mean: f64, schedule: Schedule, (amplitude, period, step): (f64, u64, u64)) -> Rate {
        let sine = Sine { amplitude, period_ns: period * SECOND, step_ns: step * SECOND };
        Rate { sine: Some(sine), ..Rate::new(mean, schedule) }
    }

    fn pace(rate: &Rate, thread: (u32, u32)) -> Pace {
        Pace::new(rate, thread, 1_000, Rng::new(&[3, u64::from(thread.0)]))
    }

    /// Mixgraph's own wave is not a whole number of its steps long.
    #[test]
    fn a_period_of_a_wave_has_as_many_operations_as_without() {
        let waves = [(450.0, (100.0, 86_071, 5)), (1_000.0, (1_000.0, 60, 1)), (10.0, (7.0, 7, 2))];
        for (mean, wave) in waves {
            let rate = waving(mean, Schedule::Fixed, wave);
            for threads in [1, 3] {
                // Two periods; of several threads each has its share.
                let due = |periods: u64| {
                    let until = 1_000 + periods * wave.1 * SECOND;
                    (0..threads).map(|t| pace(&rate, (t, threads)).count_until(until)).sum::<u64>()
                };
                for periods in [1, 2].into_iter().filter(|n| n * wave.1 < 100_000) {
                    let even = mean * (periods * wave.1) as f64;
                    assert!(
                        (due(periods) as f64 - even).abs() <= 1.0,
                        "{wave:?}: {}",
                        due(periods)
                    );
                    assert!(
                        (rate.mean_over((periods * wave.1) as f64 * 1e9) / mean - 1.0).abs() < 1e-3
                    );
                }
            }
        }
    }

    /// Each step has the operations of its own rate, and the sum over steps is the mean that was
    /// promised for their time.
    #[test]
    fn every_step_of_a_wave_has_its_rate() {
        let rate = waving(1_000.0, Schedule::Fixed, (900.0, 60, 5));
        let mut before = 0;
        for step in 0..12 {
            let until = 1_000 + (step + 1) * 5 * SECOND;
            let due = pace(&rate, (0, 1)).count_until(until);
            // The wave's own integral.
            let turned = |s: u64| (std::f64::consts::TAU * s as f64 / 60.0).cos();
            let swing = 900.0 * 60.0 / std::f64::consts::TAU;
            let exact = 5_000.0 + swing * (turned(5 * step) - turned(5 * step + 5));
            assert!(((due - before) as f64 - exact).abs() <= 1.0, "step {step}: {}", due - before);
            let promised = rate.mean_over((step + 1) as f64 * 5e9) * (step + 1) as f64 * 5.0;
            assert!((promised - due as f64).abs() <= 1.0, "step {step}: {promised} and {due}");
            before = due;
        }
    }

    #[test]
    fn what_is_counted_of_a_wave_is_what_is_given_out() {
        for schedule in [Schedule::Fixed, Schedule::Poisson] {
            let rate = waving(500.0, schedule, (500.0, 10, 1));
            let (mut paced, until) = (pace(&rate, (1, 2)), 1_000 + 13 * SECOND);
            let mut times = Vec::new();
            while paced.due() < until {
                assert_eq!(paced.due(), paced.due());
                times.push(paced.next());
            }
            assert!(times.is_sorted());
            assert_eq!(times.len() as u64, pace(&rate, (1, 2)).count_until(until));
            let mut part = pace(&rate, (1, 2));
            let common = times.iter().take(700).filter(|time| **time == part.next()).count();
            assert_eq!(part.count_until(until), (times.len() - common) as u64);
        }
    }

    /// Independent arrivals at a changing rate: each step has a Poisson count.
    #[test]
    fn a_waving_poisson_schedule_has_its_rate_and_its_variance() {
        let rate = waving(10_000.0, Schedule::Poisson, (8_000.0, 100, 1));
        let mut pace = pace(&rate, (0, 1));
        let (mut chi, mut all) = (0.0, 0.0);
        for step in 0..100 {
            let mut count = 0.0;
            while pace.due() < 1_000 + (step + 1) * SECOND {
                pace.next();
                count += 1.0;
            }
            let angle = std::f64::consts::TAU * (step as f64 + 0.5) / 100.0;
            let exact = 10_000.0 + 8_000.0 * angle.sin();
            chi += (count - exact) * (count - exact) / exact;
            all += count;
        }
        assert!((all - 1e6).abs() < 6.0 * 1e3, "{all}");
        // Chi-square of 100 counts: mean 100, deviation sqrt(200).
        assert!((chi - 100.0).abs() < 6.0 * 200f64.sqrt(), "{chi}");
    }

    fn stages(list: &[(f64, f64, u64)], schedule: Schedule) -> Rate {
        let stage = |&(from, to, seconds): &_| Stage { from, to, length_ns: seconds * SECOND };
        Rate::from_stages(list.iter().map(stage).collect(), schedule)
    }

    /// Each stage has the area below its rate, and the last one goes on.
    #[test]
    fn stages_have_exactly_their_operations() {
        let list = [(0.0, 1_000.0, 10), (1_000.0, 1_000.0, 5), (4_000.0, 100.0, 20), (0.0, 0.0, 3)];
        let list = [&list[..], &[(50.0, 50.0, 2)]].concat();
        let rate = stages(&list, Schedule::Fixed);
        for threads in [1, 3] {
            let (mut end, mut due) = (0, 0.0);
            for (from, to, seconds) in list.iter().chain(&[(50.0, 50.0, 7)]) {
                (end, due) = (end + seconds, due + f64::midpoint(*from, *to) * *seconds as f64);
                let until = 1_000 + end * SECOND;
                let counted = |t| pace(&rate, (t, threads)).count_until(until);
                let counted = (0..threads).map(counted).sum::<u64>() as f64;
                assert!((counted - due).abs() <= 1.0, "{end} s: {counted} and {due}");
                let mean = rate.mean_over((end * SECOND) as f64);
                assert!((mean * end as f64 - due).abs() < 1e-6, "{end} s: {mean}");
            }
        }
    }

    /// From 0 to 2 a second within 4 s: the n-th is due after 2 sqrt(n) seconds.
    #[test]
    fn a_ramp_is_linear() {
        let mut pace = pace(&stages(&[(0.0, 2.0, 4)], Schedule::Fixed), (0, 1));
        let times: Vec<u64> = (0..7).map(|_| pace.next() - 1_000).collect();
        let exact = (0..4).map(|n| 2.0 * f64::from(n).sqrt()).chain([4.0, 4.5, 5.0]);
        for (time, exact) in times.iter().zip(exact) {
            assert!((*time as f64 - exact * 1e9).abs() < 1.5, "{times:?}");
        }
    }

    #[test]
    fn after_a_ramp_to_zero_nothing_is_due() {
        let mut pace = pace(&stages(&[(2.0, 0.0, 4)], Schedule::Fixed), (0, 1));
        let times: Vec<u64> = (0..6).map(|_| pace.next()).collect();
        assert!(times[3] < 1_000 + 4 * SECOND, "{times:?}");
        assert_eq!(times[4..], [u64::MAX; 2]);
    }

    /// One operation every two seconds, by two threads in turn.
    #[test]
    fn a_rate_may_be_below_one_a_second() {
        let rate = Rate::new(0.5, Schedule::Fixed);
        let times = |thread| {
            let mut pace = pace(&rate, (thread, 2));
            [0; 3].map(|_| (pace.next() - 1_000) / SECOND)
        };
        assert_eq!([times(0), times(1)], [[0, 4, 8], [2, 6, 10]]);
        assert_eq!(Pace::count_thread_steps(&rate, (0, 2), SECOND), 1);
    }
}
