//! What several figures come to, and how far chance moves it.

use super::bootstrap::{CONFIDENCE, RESAMPLES};
use super::median::median;
use super::random::Random;
use super::rank::MIN_TRIALS;

/// With fewer trials a bootstrap is too sure of itself (`bootstrap`, `MIN_DRAWN`).
const MIN_DRAWN: usize = 6;

const SEED: u64 = 0x6b76_6479_6e6f;

/// A value, and the interval around it where there are enough trials.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Of the medians.
    pub value: f64,
    /// Its ends; none below [`MIN_TRIALS`].
    pub interval: Option<(f64, f64)>,
}

/// What `of` makes of the figures' medians. Each sample has the values of the same trials in the
/// same order. None where a sample is empty or there is nothing to divide by.
///
/// From six trials on the interval is the percentile bootstrap's of 95 %, trials drawn as wholes:
/// what moved all figures of one trial moves a ratio of them less. Of four and five trials it is
/// what the extremes of all figures come to, whichever of each: for a ratio that is what
/// `ratio_of_medians` says of so few.
pub fn estimate(samples: &[Vec<f64>], of: impl Fn(&[f64]) -> f64) -> Option<Estimate> {
    let medians: Vec<f64> = samples.iter().map(|one| median(one)).collect::<Option<_>>()?;
    let value = Some(of(&medians)).filter(|value| value.is_finite())?;
    let trials = samples.iter().map(Vec::len).min()?;
    let ends = match trials {
        0..MIN_TRIALS => return Some(Estimate { value, interval: None }),
        MIN_TRIALS..MIN_DRAWN => corners(samples, &of),
        _ => drawn(samples, trials, &of),
    };
    Some(Estimate { value, interval: Some(ends?) })
}

/// The least and the most that the extremes of each figure come to.
fn corners(samples: &[Vec<f64>], of: &impl Fn(&[f64]) -> f64) -> Option<(f64, f64)> {
    let end = |values: &[f64], by: fn(f64, f64) -> f64| values.iter().copied().reduce(by);
    let ends: Vec<(f64, f64)> = samples
        .iter()
        .map(|values| Some((end(values, f64::min)?, end(values, f64::max)?)))
        .collect::<Option<_>>()?;
    let all = (0..1_usize << ends.len()).map(|corner| {
        let pick = |(at, (low, high)): (usize, &(f64, f64))| {
            if corner >> at & 1 == 0 { *low } else { *high }
        };
        of(&ends.iter().enumerate().map(pick).collect::<Vec<_>>())
    });
    let all: Vec<f64> = all.collect();
    let ends = (end(&all, f64::min)?, end(&all, f64::max)?);
    all.iter().all(|value| value.is_finite()).then_some(ends)
}

fn drawn(samples: &[Vec<f64>], trials: usize, of: &impl Fn(&[f64]) -> f64) -> Option<(f64, f64)> {
    let mut random = Random::new(SEED);
    let mut values = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        let picked: Vec<usize> = (0..trials).map(|_| random.below(trials)).collect();
        let of_picked =
            |sample: &Vec<f64>| median(&picked.iter().map(|at| sample[*at]).collect::<Vec<_>>());
        let medians: Vec<f64> = samples.iter().map(of_picked).collect::<Option<_>>()?;
        values.push(of(&medians));
    }
    values.sort_by(f64::total_cmp);
    let beyond = (values.len() as f64 * (1.0 - CONFIDENCE) / 2.0).round() as usize;
    let ends = (values[beyond], values[values.len() - 1 - beyond]);
    (ends.0.is_finite() && ends.1.is_finite()).then_some(ends)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::ratio_of_medians;

    fn ratio(figures: &[f64]) -> f64 {
        figures[0] / figures[1]
    }

    #[test]
    fn a_ratio_has_the_interval_that_compare_gives_it() {
        let (new, base) = ([150.0, 160.0, 140.0, 151.0], [100.0, 104.0, 98.0, 102.0]);
        for more in [0_u32, 4] {
            let add = |values: &[f64]| {
                let more = (0..more).map(|at| values[0] + f64::from(at));
                values.iter().copied().chain(more).collect::<Vec<f64>>()
            };
            let (new, base) = (add(&new), add(&base));
            let found = estimate(&[new.clone(), base.clone()], ratio).unwrap();
            let known = ratio_of_medians(&base, &new, true).unwrap();
            assert!((found.value - known.ratio).abs() < 1e-12);
            assert_eq!(found.interval, Some((known.low, known.high)));
        }
    }

    #[test]
    fn few_trials_have_a_value_and_no_interval() {
        let found = estimate(&[vec![3.0], vec![2.0]], ratio).unwrap();
        assert_eq!(found, Estimate { value: 1.5, interval: None });
        assert_eq!(estimate(&[vec![3.0], vec![0.0]], ratio), None);
        assert_eq!(estimate(&[vec![], vec![1.0]], ratio), None);
    }
}
