//! Where the scatter of a ratio comes from: from trial to trial, or within the trials (Kalibera and
//! Jones, Rigorous Benchmarking in Reasonable Time, ISMM 2013), and which repeats are the cheapest
//! next.
//!
//! A trial has a new process and its own database, so what differs from trial to trial is their
//! layout, the shape of the tree, and the machine's slow moods. Within a trial, the ratios of its
//! turns are compared, or of an eighth of the phase each.

use crate::figures::scatter::Scatter;
use crate::figures::windows::TrialWindows;
use crate::stats::{mean, squares_from_mean};

/// The least and the largest factor by which a longer phase is advised.
const LONGER_LEAST: f64 = 1.5;
const LONGER_MOST: f64 = 8.0;

/// Fewer trials say nothing about their scatter.
const TRIALS_MIN: usize = 4;

/// The components of a variance.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Components {
    /// The variance of a trial's mean.
    total: f64,
    /// The variance of one window.
    window: f64,
    /// The part of `total` that is not from windows; below 0 by chance where there is none.
    trial: f64,
}

/// The components by the values of each trial's windows; none below four trials, or two windows.
fn components(trials: &[Vec<f64>]) -> Option<Components> {
    let windows = trials.iter().map(Vec::len).min().filter(|windows| *windows >= 2)?;
    if trials.len() < TRIALS_MIN {
        return None;
    }
    let means: Vec<f64> = trials.iter().map(|values| mean(&values[..windows])).collect();
    let total = squares_from_mean(&means) / (means.len() - 1) as f64;
    let squares: f64 = trials.iter().map(|values| squares_from_mean(&values[..windows])).sum();
    let window = squares / (trials.len() * (windows - 1)) as f64;
    Some(Components { total, window, trial: total - window / windows as f64 })
}

impl Scatter {
    /// The scatter of a role's ratio to the base's, trial by trial; none where too little is known.
    pub(crate) fn between(base: &[TrialWindows], new: &[TrialWindows]) -> Option<Self> {
        let partner = |one: &TrialWindows| base.iter().find(|other| other.trial == one.trial);
        let pairs: Vec<_> = new.iter().filter_map(|one| Some((partner(one)?, one))).collect();
        let ratios = |&(base, new): &(&TrialWindows, &TrialWindows)| -> Option<Vec<f64>> {
            let both = base.rates.iter().zip(&new.rates);
            let logs = both.map(|(base, new)| (new / base).ln());
            let logs: Vec<f64> = logs.collect();
            logs.iter().all(|log| log.is_finite()).then_some(logs)
        };
        let logs: Vec<Vec<f64>> = pairs.iter().filter_map(ratios).collect();
        let Components { total, window, trial } =
            components(&logs).filter(|found| found.total > 0.0)?;
        let windows = logs.iter().map(Vec::len).min()?;
        let sum = |time: fn(&TrialWindows) -> u64| -> f64 {
            let times = pairs.iter().map(|(base, new)| time(base) + time(new));
            times.sum::<u64>() as f64 / pairs.len() as f64
        };
        let (wall_ns, phase_ns) = (sum(|trial| trial.wall_ns), sum(|trial| trial.phase_ns));
        let others_ns = (wall_ns - phase_ns).max(0.0);
        let window_ns = phase_ns / windows as f64;
        // The number of windows that gives the least variance in a given time.
        let best = (others_ns / window_ns * window / trial.max(f64::MIN_POSITIVE)).sqrt();
        let longer = (best / windows as f64).min(LONGER_MOST);
        Some(Self {
            trials: logs.len(),
            windows,
            deviation: total.sqrt(),
            within_share: (window / windows as f64 / total).clamp(0.0, 1.0),
            longer: if longer < LONGER_LEAST { 1.0 } else { longer },
            phase_ns: (phase_ns / 2.0) as u64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Random;

    fn simulate(noise: &mut Random, [trial, window]: [f64; 2]) -> Components {
        let all: Vec<Vec<f64>> = (0..8)
            .map(|_| {
                let common = trial * noise.normal();
                (0..10).map(|_| common + window * noise.normal()).collect()
            })
            .collect();
        components(&all).unwrap()
    }

    /// Over many runs each component is recovered within 5 %.
    #[test]
    fn the_components_of_a_variance_are_recovered() {
        let mut noise = Random::new(1);
        for parts @ [trial, window] in [[0.02, 0.01], [0.01, 0.05], [0.0, 0.03]] {
            let runs: Vec<Components> = (0..4_000).map(|_| simulate(&mut noise, parts)).collect();
            let mean_of =
                |part: fn(&Components) -> f64| mean(&runs.iter().map(part).collect::<Vec<_>>());
            let (recovered_trial, recovered_window) =
                (mean_of(|run| run.trial), mean_of(|run| run.window));
            assert!((recovered_window / (window * window) - 1.0).abs() < 0.05, "{parts:?}");
            // In proportion to the variance of a trial's mean.
            let allowed = 0.05 * (trial * trial + window * window / 10.0);
            assert!(
                (recovered_trial - trial * trial).abs() < allowed,
                "{parts:?}: {recovered_trial}"
            );
        }
    }

    fn trials(counts: impl Fn(u32, u64) -> u64, wall_ns: u64) -> Vec<TrialWindows> {
        let trial = |trial| TrialWindows {
            trial,
            rates: (0..8).map(|window| counts(trial, window) as f64).collect(),
            phase_ns: 4_000_000_000,
            wall_ns,
        };
        (1..=6).map(trial).collect()
    }

    #[test]
    fn scatter_within_trials_asks_for_longer_phases_and_between_them_for_trials() {
        let even = trials(|_, _| 1_000, 20_000_000_000);
        let windows = |_, window| if window % 2 == 0 { 900 } else { 1_100 };
        let within = Scatter::between(&even, &trials(windows, 20_000_000_000));
        // All trials are alike: there is nothing to explain.
        assert!(within.is_none_or(|scatter| scatter.deviation == 0.0 || scatter.longer > 1.0));
        let mixed = |trial: u32, window: u64| 900 + (u64::from(trial) * 7 + window * 13) % 29 * 7;
        let within = Scatter::between(&even, &trials(mixed, 20_000_000_000)).unwrap();
        assert!(within.within_share > 0.5 && within.longer > 1.0, "{within:?}");
        assert!(within.advice().ends_with("s of it"), "{}", within.advice());
        let trial = |trial: u32, window: u64| 900 + u64::from(trial) * 40 + window % 2;
        let between = Scatter::between(&even, &trials(trial, 20_000_000_000)).unwrap();
        assert!(between.within_share < 0.01 && between.longer <= 1.0, "{between:?}");
        assert_eq!(between.advice(), "more trials");
    }
}
