//! The value of an expression of several figures, and its interval.

use super::bootstrap::{CONFIDENCE, RESAMPLES};
use super::median::median;
use super::random::Random;
use super::rank::MIN_TRIALS;

/// With fewer trials a bootstrap is overconfident (`bootstrap`, `MIN_DRAWN`).
const MIN_DRAWN: usize = 6;

const SEED: u64 = 0x6b76_6479_6e6f;

/// A value, and the interval around it where there are enough trials.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The value for the medians.
    pub value: f64,
    /// Its ends; none below [`MIN_TRIALS`].
    pub interval: Option<(f64, f64)>,
}

/// Evaluates an expression on the figures' medians. Each sample has the values of the same trials
/// in the same order. None where a sample is empty or there is nothing to divide by.
///
/// From six trials on the interval is the percentile bootstrap's of 95 %, with whole trials drawn:
/// what affected all figures of one trial affects a ratio of them less. For four and five trials it
/// is the range over the extremes of all figures; for a ratio that equals `ratio_of_medians`.
pub fn estimate(samples: &[Vec<f64>], expression: impl Fn(&[f64]) -> f64) -> Option<Estimate> {
    let medians: Vec<f64> = samples.iter().map(|one| median(one)).collect::<Option<_>>()?;
    let value = Some(expression(&medians)).filter(|value| value.is_finite())?;
    let trials = samples.iter().map(Vec::len).min()?;
    let ends = match trials {
        0..MIN_TRIALS => return Some(Estimate { value, interval: None }),
        MIN_TRIALS..MIN_DRAWN => corners(samples, &expression),
        _ => drawn(samples, trials, &expression),
    };
    Some(Estimate { value, interval: Some(ends?) })
}

/// The least and the most over the extremes of each figure.
fn corners(samples: &[Vec<f64>], expression: &impl Fn(&[f64]) -> f64) -> Option<(f64, f64)> {
    let end = |values: &[f64], by: fn(f64, f64) -> f64| values.iter().copied().reduce(by);
    let ends: Vec<(f64, f64)> = samples
        .iter()
        .map(|values| Some((end(values, f64::min)?, end(values, f64::max)?)))
        .collect::<Option<_>>()?;
    let all = (0..1_usize << ends.len()).map(|corner| {
        let pick = |(index, (low, high)): (usize, &(f64, f64))| {
            if corner >> index & 1 == 0 { *low } else { *high }
        };
        expression(&ends.iter().enumerate().map(pick).collect::<Vec<_>>())
    });
    let all: Vec<f64> = all.collect();
    let ends = (end(&all, f64::min)?, end(&all, f64::max)?);
    all.iter().all(|value| value.is_finite()).then_some(ends)
}

fn drawn(
    samples: &[Vec<f64>],
    trials: usize,
    expression: &impl Fn(&[f64]) -> f64,
) -> Option<(f64, f64)> {
    let mut random = Random::new(SEED);
    let mut values = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        let picked: Vec<usize> = (0..trials).map(|_| random.below(trials)).collect();
        let median_of_picked = |sample: &Vec<f64>| {
            median(&picked.iter().map(|index| sample[*index]).collect::<Vec<_>>())
        };
        let medians: Vec<f64> = samples.iter().map(median_of_picked).collect::<Option<_>>()?;
        values.push(expression(&medians));
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
            let estimated = estimate(&[new.clone(), base.clone()], ratio).unwrap();
            let compared = ratio_of_medians(&base, &new, true).unwrap();
            assert!((estimated.value - compared.ratio).abs() < 1e-12);
            assert_eq!(estimated.interval, Some((compared.low, compared.high)));
        }
    }

    #[test]
    fn few_trials_have_a_value_and_no_interval() {
        let estimated = estimate(&[vec![3.0], vec![2.0]], ratio).unwrap();
        assert_eq!(estimated, Estimate { value: 1.5, interval: None });
        assert_eq!(estimate(&[vec![3.0], vec![0.0]], ratio), None);
        assert_eq!(estimate(&[vec![], vec![1.0]], ratio), None);
    }
}
