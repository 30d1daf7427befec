//! Quantiles of a histogram, and how many samples each needs.

use hdrhistogram::Histogram;

/// A quantile needs this many samples beyond it: p99.9 needs 10,000 samples, p99.99 100,000. For a
/// quantile below the median, the samples below it count: p0.1 needs 10,000, too.
pub const SAMPLES_BEYOND: f64 = 10.0;

/// How many samples quantile `q` needs.
pub fn samples_needed(q: f64) -> u64 {
    // 1 - 0.999 is slightly less than 0.001: round to the intended value.
    (SAMPLES_BEYOND / (1.0 - q).min(q)).round() as u64
}

/// Quantile `q` of all samples of `histogram`; none with too few samples.
pub fn quantile(histogram: &Histogram<u64>, q: f64) -> Option<u64> {
    (histogram.len() >= samples_needed(q)).then(|| histogram.value_at_quantile(q))
}

/// Quantile `q` of ascending values with their counts, whose sum is `all`.
pub fn quantile_of_counts(
    counts: impl IntoIterator<Item = (u64, u64)>,
    all: u64,
    q: f64,
) -> Option<u64> {
    let rank = (all as f64 * q).ceil() as u64;
    let mut before = 0_u64;
    let reaches = |(_, count): &(u64, u64)| {
        before = before.saturating_add(*count);
        before >= rank
    };
    let value_at_rank = || counts.into_iter().find(reaches).map(|(value, _)| value);
    (all >= samples_needed(q)).then(value_at_rank).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enough_samples_or_none() {
        assert_eq!([0.5, 0.99, 0.999, 0.9999].map(samples_needed), [20, 1_000, 10_000, 100_000]);
        assert_eq!(
            [0.25, 0.01, 0.001, 0.00001].map(samples_needed),
            [40, 1_000, 10_000, 1_000_000]
        );
        let mut histogram = Histogram::<u64>::new(3).unwrap();
        (1..10_000).for_each(|value| histogram.record(value).unwrap());
        assert_eq!(quantile(&histogram, 0.999), None);
        histogram.record(10_000).unwrap();
        let p999 = quantile(&histogram, 0.999).unwrap();
        assert!((9_990..10_000).contains(&p999), "{p999}");
    }

    #[test]
    fn counts_give_the_same_quantiles() {
        let counts = [(1000, 980), (2000, 20)];
        let quantile_at = |q| quantile_of_counts(counts, 1000, q);
        assert_eq!([0.5, 0.99, 0.999].map(quantile_at), [Some(1000), Some(2000), None]);
        assert_eq!(quantile_of_counts([], 0, 0.5), None);
    }
}
