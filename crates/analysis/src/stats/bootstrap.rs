//! The ratio of two medians, its interval, and its variation between equals.
//!
//! All draws are seeded with a constant: the same trials give the same interval.

use super::median::median;
use super::random::Random;
use schemars::JsonSchema;
use serde::Serialize;

/// The confidence of every interval here.
pub const CONFIDENCE: f64 = 0.95;

/// Draws behind each interval: the share below an end is then accurate to a quarter of a percent.
pub const RESAMPLES: usize = 4000;

/// With fewer trials on a side a bootstrap is overconfident: its intervals of four trials miss the
/// truth up to twice as often as they may.
const MIN_DRAWN: usize = 6;

const SEED: u64 = 0x6b76_6479_6e6f;

/// A ratio of medians and the interval around it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RatioInterval {
    /// The median of the new values over that of the base.
    pub ratio: f64,
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

/// The ratio of the medians (new over base) with the percentile bootstrap's interval of 95 %
/// (B. Efron, R. Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13). None where a
/// sample is empty, or where zeros are so many that a base's median comes out as one.
///
/// Below six values on a side the interval is instead the range of the ratios of any new value to
/// any of the base's. It misses the truth only where all values of one side lie beyond all of the
/// other, by chance in 2.9 % (4 and 4) or 0.8 % (5 and 5), pairs or not.
///
/// Unpaired, both samples are drawn separately. `paired`: `base[i]` and `new[i]` were taken side by
/// side, so pairs are drawn, and what affected both (a machine that drifts) affects the ratio less.
pub fn ratio_of_medians(base: &[f64], new: &[f64], paired: bool) -> Option<RatioInterval> {
    debug_assert!(!paired || base.len() == new.len());
    let ratio = ratio_of(base, new)?;
    if base.len().min(new.len()) < MIN_DRAWN {
        return span(ratio, base, new);
    }
    let mut random = Random::new(SEED);
    let (mut one, mut other) = (vec![0.0; base.len()], vec![0.0; new.len()]);
    let mut drawn = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        if paired {
            for index in 0..base.len() {
                let pair = random.below(base.len());
                (one[index], other[index]) = (base[pair], new[pair]);
            }
        } else {
            one.fill_with(|| base[random.below(base.len())]);
            other.fill_with(|| new[random.below(new.len())]);
        }
        drawn.push(ratio_in_place(&mut one, &mut other).unwrap_or(f64::INFINITY));
    }
    let (low, high) = middle(&mut drawn);
    high.is_finite().then_some(RatioInterval { ratio, low, high })
}

/// From the smallest new value over the largest of the base's to the reverse.
fn span(ratio: f64, base: &[f64], new: &[f64]) -> Option<RatioInterval> {
    let ends = |values: &[f64]| {
        let by = |order: fn(f64, f64) -> f64| values.iter().copied().reduce(order);
        Some((by(f64::min)?, by(f64::max)?))
    };
    let ((base_min, base_max), (new_min, new_max)) = (ends(base)?, ends(new)?);
    let interval = RatioInterval { ratio, low: new_min / base_max, high: new_max / base_min };
    (base_min > 0.0).then_some(interval)
}

/// How far apart the medians of two samples of the same thing lie: 95 % of all random halvings of
/// `first` and `second` together have a ratio within `1 ± chance`. At least the distance of the two
/// samples themselves.
pub fn chance_ratio(first: &[f64], second: &[f64]) -> Option<f64> {
    let measured = apart(ratio_of(first, second))?;
    let mut all: Vec<f64> = first.iter().chain(second).copied().collect();
    let mut random = Random::new(SEED);
    let mut drawn = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        for last in (1..all.len()).rev() {
            all.swap(last, random.below(last + 1));
        }
        // Sorting a half does not hurt: all are shuffled again.
        let (one, other) = all.split_at_mut(first.len());
        drawn.push(apart(ratio_in_place(one, other)).unwrap_or(f64::INFINITY));
    }
    drawn.sort_by(f64::total_cmp);
    let within = drawn[((RESAMPLES as f64 * CONFIDENCE) as usize).min(RESAMPLES - 1)];
    Some(within.max(measured)).filter(|chance| chance.is_finite())
}

/// The distance of two equals: it is the same whichever is the base.
fn apart(ratio: Option<f64>) -> Option<f64> {
    ratio.filter(|ratio| *ratio > 0.0).map(|ratio| ratio.max(1.0 / ratio) - 1.0)
}

fn ratio_of(base: &[f64], new: &[f64]) -> Option<f64> {
    let (base, new) = (median(base)?, median(new)?);
    (base > 0.0).then(|| new / base)
}

/// The same, for thousands of calls: sorts in place. Neither is empty.
fn ratio_in_place(base: &mut [f64], new: &mut [f64]) -> Option<f64> {
    let [base, new] = [base, new].map(|values| {
        values.sort_unstable_by(f64::total_cmp);
        f64::midpoint(values[(values.len() - 1) / 2], values[values.len() / 2])
    });
    (base > 0.0).then(|| new / base)
}

/// The ends of the middle 95 %.
fn middle(drawn: &mut [f64]) -> (f64, f64) {
    drawn.sort_by(f64::total_cmp);
    let beyond = (drawn.len() as f64 * (1.0 - CONFIDENCE) / 2.0).round() as usize;
    (drawn[beyond], drawn[drawn.len() - 1 - beyond])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(interval: RatioInterval, ratio: f64) -> bool {
        interval.low <= ratio && ratio <= interval.high
    }

    #[test]
    fn equal_samples_have_a_ratio_of_one_inside_the_interval() {
        let base: Vec<f64> = (1..=9_u32).map(|v| 100.0 + f64::from(v)).collect();
        for paired in [false, true] {
            let interval = ratio_of_medians(&base, &base, paired).unwrap();
            assert!(holds(interval, 1.0) && holds(interval, interval.ratio), "{interval:?}");
            assert_eq!(ratio_of_medians(&base, &base, paired), Some(interval), "not deterministic");
        }
    }

    /// A machine that slows down by half from trial to trial: pairs cancel it out.
    #[test]
    fn pairs_cancel_a_drift() {
        let base: Vec<f64> = (1..=8_u32).map(|v| 100.0 * f64::from(v)).collect();
        let new: Vec<f64> = base.iter().map(|v| v * 1.1).collect();
        let paired = ratio_of_medians(&base, &new, true).unwrap();
        let unpaired = ratio_of_medians(&base, &new, false).unwrap();
        assert!((paired.low - 1.1).abs() < 1e-9 && (paired.high - 1.1).abs() < 1e-9, "{paired:?}");
        assert!(holds(unpaired, 1.0) && !holds(paired, 1.0), "{unpaired:?}");
    }

    /// The mouse data of Efron and Tibshirani 1993, tables 2.1 and 2.2: survival in days, 7 treated
    /// and 9 control. Bootstrap standard errors of the medians are 37.83 and 13.02 there, so that
    /// the medians (94 and 46) cannot be told apart at 95 %.
    #[test]
    fn the_mice_of_efron_and_tibshirani() {
        let treated = [94.0, 197.0, 16.0, 38.0, 99.0, 141.0, 23.0];
        let control = [52.0, 104.0, 146.0, 10.0, 51.0, 30.0, 40.0, 27.0, 46.0];
        let interval = ratio_of_medians(&control, &treated, false).unwrap();
        assert!((interval.ratio - 94.0 / 46.0).abs() < 1e-12);
        assert!(holds(interval, 1.0) && interval.high > 3.0, "{interval:?}");
    }

    /// How many of 400 intervals of `n` and `n` equals miss the truth.
    fn missed(n: usize, paired: bool) -> usize {
        let mut random = Random::new(7);
        // Twelve uniform draws added up are normal enough.
        let mut normal = || {
            let sum: f64 = (0..12).map(|_| random.below(1 << 30) as f64 / f64::from(1 << 30)).sum();
            1000.0 + 30.0 * (sum - 6.0)
        };
        let misses = (0..400).filter(|_| {
            let base: Vec<f64> = (0..n).map(|_| normal()).collect();
            let new: Vec<f64> = (0..n).map(|_| normal()).collect();
            !holds(ratio_of_medians(&base, &new, paired).unwrap(), 1.0)
        });
        misses.count()
    }

    /// One in twenty may, and a little more of six.
    #[test]
    fn about_one_interval_in_twenty_misses() {
        let few = [(4, false, 20), (4, true, 20), (5, true, 20)];
        let enough = [(6, false, 28), (6, true, 28), (10, false, 28)];
        for (n, paired, most) in few.into_iter().chain(enough) {
            let missed = missed(n, paired);
            assert!((1..=most).contains(&missed), "{n}, paired {paired}: {missed} of 400");
        }
    }

    #[test]
    fn few_trials_span_all_their_ratios() {
        let (base, new) = ([100.0, 104.0, 98.0, 102.0], [150.0, 160.0, 140.0, 151.0]);
        for paired in [false, true] {
            let interval = ratio_of_medians(&base, &new, paired).unwrap();
            assert!((interval.low - 140.0 / 104.0).abs() < 1e-12, "{interval:?}");
            assert!((interval.high - 160.0 / 98.0).abs() < 1e-12, "{interval:?}");
        }
        assert_eq!(ratio_of_medians(&[0.0, 3.0, 3.0, 3.0], &[3.0; 4], false), None);
    }

    #[test]
    fn chance_is_what_random_halves_differ_by() {
        let quiet: Vec<f64> = (0..20_u32).map(|v| 1000.0 + f64::from(v % 3)).collect();
        let loud: Vec<f64> = (0..20_u32).map(|v| 1000.0 + 200.0 * f64::from(v * 7 % 10)).collect();
        let chance = |all: &[f64]| chance_ratio(&all[..10], &all[10..]).unwrap();
        assert!(chance(&quiet) < 0.003, "{}", chance(&quiet));
        assert!((0.2..1.5).contains(&chance(&loud)), "{}", chance(&loud));
        // An unlucky pair counts with its own distance.
        assert!((chance_ratio(&[100.0; 4], &[150.0; 4]).unwrap() - 0.5).abs() < 1e-12);
        assert_eq!(chance_ratio(&[5.0; 4], &[5.0; 4]), Some(0.0));
        assert_eq!(chance_ratio(&[0.0; 4], &[5.0; 4]), None);
    }

    #[test]
    fn nothing_to_divide_by_is_no_ratio() {
        assert_eq!(ratio_of_medians(&[], &[1.0], false), None);
        assert_eq!(ratio_of_medians(&[0.0, 0.0], &[1.0, 1.0], true), None);
        assert_eq!(ratio_of_medians(&[0.0, 0.0, 1.0, 1.0, 1.0], &[1.0; 5], false), None);
    }
}
