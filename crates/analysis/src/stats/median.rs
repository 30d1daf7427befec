//! The median, and the interval that two order statistics make around it.

use schemars::JsonSchema;
use serde::Serialize;

/// The least confidence of an interval.
const CONFIDENCE: f64 = 0.95;

/// Two order statistics that enclose the median, with their confidence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Interval {
    /// The lower order statistic.
    pub low: f64,
    /// The upper order statistic.
    pub high: f64,
    /// How often an interval made this way holds the true median, whatever the distribution.
    pub confidence: f64,
}

/// The middle value, or the mean of the two in the middle. Ignores values that are not numbers.
pub fn median(values: &[f64]) -> Option<f64> {
    let sorted = sorted(values);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[middle]),
        _ => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
    }
}

/// The narrowest pair of order statistics, equally far from both ends, that holds the median with
/// at least 95 % confidence. None below six values: not even the extremes reach it there.
///
/// The number of values below the median is binomial with p = 1/2, so the k-th smallest and k-th
/// largest of n enclose it with probability 1 - 2 P(B(n, 1/2) < k): distribution-free (W. J.
/// Conover, Practical Nonparametric Statistics, 3rd edition, section 3.2).
pub fn median_interval(values: &[f64]) -> Option<Interval> {
    let sorted = sorted(values);
    let n = sorted.len();
    let mut chosen = None;
    // P(B(n, 1/2) < rank), term by term; in logarithms, so that no n is too large.
    let mut below = 0.0;
    let mut ln_term = -(n as f64) * std::f64::consts::LN_2;
    for rank in 1..=n / 2 {
        below += ln_term.exp();
        ln_term += ((n - rank + 1) as f64).ln() - (rank as f64).ln();
        let confidence = 1.0 - 2.0 * below;
        if confidence < CONFIDENCE {
            break;
        }
        chosen = Some(Interval { low: sorted[rank - 1], high: sorted[n - rank], confidence });
    }
    chosen
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|value| !value.is_nan()).collect();
    sorted.sort_by(f64::total_cmp);
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn up_to(n: u32) -> Vec<f64> {
        (1..=n).rev().map(f64::from).collect()
    }

    #[test]
    fn the_median_of_odd_even_and_none() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[f64::NAN, 7.0]), Some(7.0));
        assert_eq!(median(&[]), None);
    }

    /// Ranks and confidences as tabulated: Dixon and Massey, Introduction to Statistical Analysis,
    /// table A-25 (confidence intervals for the median): n = 6: 1 (.969), 10: 2 (.979),
    /// 15: 4 (.965), 20: 6 (.959), 25: 8 (.957), 50: 18 (.967).
    #[test]
    fn order_statistics_as_tabulated() {
        let table = [
            (6, 1, 0.969),
            (10, 2, 0.979),
            (15, 4, 0.965),
            (20, 6, 0.959),
            (25, 8, 0.957),
            (50, 18, 0.967),
        ];
        for (n, rank, confidence) in table {
            let interval = median_interval(&up_to(n)).unwrap();
            assert_eq!((interval.low, interval.high), (f64::from(rank), f64::from(n + 1 - rank)));
            assert!((interval.confidence - confidence).abs() < 6e-4, "n = {n}: {interval:?}");
        }
    }

    #[test]
    fn fewer_than_six_have_no_interval() {
        assert_eq!(median_interval(&up_to(5)), None);
        assert_eq!(median_interval(&[]), None);
    }

    #[test]
    fn many_values_do_not_overflow() {
        let interval = median_interval(&up_to(100_000)).unwrap();
        assert!(interval.confidence >= 0.95 && interval.confidence < 0.951, "{interval:?}");
    }
}
