//! The recorder of the hot loop: a log-linear histogram of nanoseconds.
//!
//! Each power of two has 128 buckets, so a bucket is at most 1/128 = 0.78 % wide and its middle at
//! most 0.39 % away from any value in it; values below 256 ns are exact. Recording is a shift, an
//! index and three additions (0.7 ns here), with no branch on the value.

use hdrhistogram::Histogram as Hdr;
use kvdyno_record::hlog;

const BITS: u32 = 7;
const BUCKETS: usize = ((64 - BITS as usize) << BITS) + (1 << BITS);

/// Counts of times in nanoseconds, with their exact sum and maximum. The total count is the sum of
/// the buckets. This saves an addition per operation, and gives a second count to check the first.
#[derive(Clone, Debug)]
pub(crate) struct Histogram {
    /// The buckets; none before the first time: most slices of many threads and operations have
    /// few.
    buckets: Option<Box<[u64; BUCKETS]>>,
    pub(crate) sum: u64,
    pub(crate) max: u64,
}

impl Histogram {
    pub(crate) fn new() -> Self {
        Self { buckets: None, sum: 0, max: 0 }
    }

    /// The number of counted times.
    pub(crate) fn count(&self) -> u64 {
        self.buckets.iter().flat_map(|buckets| buckets.iter()).sum()
    }

    #[inline]
    fn buckets(&mut self) -> &mut [u64; BUCKETS] {
        self.buckets.get_or_insert_with(zeros)
    }

    /// Counts one time.
    #[inline]
    pub(crate) fn record(&mut self, ns: u64) {
        self.buckets()[index(ns)] += 1;
        self.sum += ns;
        self.max = self.max.max(ns);
    }

    /// Counts one time `count` times.
    #[inline]
    pub(crate) fn record_many(&mut self, ns: u64, count: u64) {
        self.buckets()[index(ns)] += count;
        self.sum += ns * count;
        self.max = self.max.max(ns);
    }

    /// Counts several times, with the sum and the maximum in registers.
    #[inline]
    pub(crate) fn record_all(&mut self, times: impl Iterator<Item = u64>) {
        let (mut sum, mut max) = (self.sum, self.max);
        let buckets = self.buckets();
        times.for_each(|ns| {
            buckets[index(ns)] += 1;
            sum += ns;
            max = max.max(ns);
        });
        (self.sum, self.max) = (sum, max);
    }

    /// Adds all counts of `other`.
    pub(crate) fn add(&mut self, other: &Self) {
        if let Some(added) = &other.buckets {
            for (count, added) in self.buckets().iter_mut().zip(added.iter()) {
                *count += added;
            }
        }
        self.sum += other.sum;
        self.max = self.max.max(other.max);
    }

    /// The same counts as an `HdrHistogram`: each bucket at its middle, the largest value exact.
    pub(crate) fn to_hdr(&self) -> Hdr<u64> {
        let mut hdr = hlog::histogram();
        let buckets = self.buckets.iter().flat_map(|buckets| buckets.iter()).enumerate();
        for (i, count) in buckets.filter(|(_, count)| **count > 0) {
            let (low, width) = bounds(i);
            let middle = (low + width / 2).min(self.max);
            let at_max = u64::from(index(self.max) == i);
            // Saturating: a time above the log's longest is recorded as the longest.
            hdr.saturating_record_n(middle.max(1), count - at_max);
            hdr.saturating_record_n(self.max.max(1), at_max);
        }
        hdr
    }
}

#[cold]
fn zeros() -> Box<[u64; BUCKETS]> {
    let buckets = vec![0u64; BUCKETS].into_boxed_slice();
    buckets.try_into().unwrap_or_else(|_| unreachable!("BUCKETS long"))
}

#[inline]
fn index(ns: u64) -> usize {
    let exponent = (ns | ((1 << (BITS + 1)) - 1)).ilog2();
    let shift = exponent - BITS;
    ((u64::from(shift) << BITS) + (ns >> shift)) as usize
}

/// A bucket's lowest value and its width.
fn bounds(index: usize) -> (u64, u64) {
    let shift = (index >> BITS).saturating_sub(1) as u32;
    let low = (index as u64 - (u64::from(shift) << BITS)) << shift;
    (low, 1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_each_other_and_are_narrow() {
        let mut end = 0;
        for i in 0..BUCKETS {
            let (low, width) = bounds(i);
            assert_eq!(low, end, "bucket {i}");
            assert_eq!(index(low), i);
            assert_eq!(index(low + (width - 1)), i);
            assert!(width == 1 || width as f64 / low as f64 <= 1.0 / 128.0);
            end = low.wrapping_add(width);
        }
        assert_eq!(end, 0, "the last bucket ends at 2^64");
    }

    #[test]
    fn the_log_keeps_count_maximum_and_percentiles() {
        let mut histogram = Histogram::new();
        for ns in 1..=100_000u64 {
            histogram.record(ns);
        }
        let hdr = histogram.to_hdr();
        assert_eq!((hdr.len(), histogram.count()), (100_000, 100_000));
        assert!(hdr.max().abs_diff(100_000) <= 64, "{}", hdr.max());
        for percentile in [50.0, 99.0, 99.9] {
            let exact = percentile * 1_000.0;
            let error = hdr.value_at_percentile(percentile) as f64 / exact - 1.0;
            assert!(error.abs() < 0.006, "p{percentile}: {error}");
        }
    }

    /// Regression test for bug 12: counts past 2^32 are kept.
    #[test]
    fn counts_are_64_bits() {
        let mut a = Histogram::new();
        a.record(300);
        a.buckets()[index(300)] = u64::from(u32::MAX) + 5;
        assert_eq!(a.to_hdr().len(), u64::from(u32::MAX) + 5);
    }
}
