//! The keys of `db_bench`'s mixgraph: hot and cold ranges of keys, and hot and cold keys in each.
//!
//! Z. Cao et al., "Characterizing, Modeling, and Benchmarking `RocksDB` Key-Value Workloads at
//! Facebook", FAST 2020; the formulas are those of `GenerateTwoTermExpKeys` in `RocksDB`'s
//! `tools/db_bench_tool.cc` (`InitiateExpDistribution`, `DistGetKeyID`), down to which range is
//! where and which keys are hot. There is one difference: in `db_bench` one random number decides
//! the range, the key, the operation and the value's length; here each is drawn by itself.

use crate::rng::Rng;
use crate::rng::others::Mersenne;
use kvdyno_record::workload::RangeDraw;

/// Ranges of equal length with their shares.
#[derive(Clone, Debug)]
pub(crate) struct Ranges {
    /// The upper end of each range's share, in key order.
    until: Vec<u64>,
    /// The number of keys in a range.
    keys: u64,
    within: RangeDraw,
}

/// The parameters of a e^(b i) + c e^(d i).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    pub(crate) a: f64,
    pub(crate) b: f64,
    pub(crate) c: f64,
    pub(crate) d: f64,
}

impl Ranges {
    /// The ranges of `records >= 1` keys. At least one range has a share: the plan has ensured it.
    pub(crate) fn new(ranges: u32, terms: Terms, within: RangeDraw, records: u64) -> Self {
        let ranges = u64::from(ranges).clamp(1, records);
        let mut shares = range_shares(ranges, terms);
        let total: u64 = shares.iter().sum();
        // Each range changes places with a drawn one. The order is not uniform, as in `db_bench`.
        let mut places = Mersenne::new(total);
        for i in 0..shares.len() {
            shares.swap(i, (places.next() % ranges) as usize);
        }
        let mut until = shares;
        let mut sum = 0;
        for share in &mut until {
            sum += *share;
            *share = sum;
        }
        Self { until, keys: records / ranges, within }
    }

    /// Draws the next key number.
    #[inline]
    pub(crate) fn next(&self, rng: &mut Rng) -> u64 {
        let total = self.until.last().copied().unwrap_or(1);
        let point = rng.below(total);
        let range = self.until.partition_point(|until| *until <= point) as u64;
        let number = rng.below(self.keys);
        let key = match self.within {
            RangeDraw::Uniform => number,
            RangeDraw::Power { a, b } => {
                let u = number as f64 / self.keys as f64;
                let hotness = (u / a).powf(1.0 / b).ceil() as i64;
                Mersenne::first_number(hotness as u64) % self.keys
            }
        };
        range * self.keys + key
    }
}

/// Computes whole numbers in proportion to the shares, from the last range to the first. They are
/// scaled so that the last range with a share above 0 has the number 1. At least one is not 0.
fn range_shares(ranges: u64, terms: Terms) -> Vec<u64> {
    let Terms { a, b, c, d } = terms;
    let mut amplify = 0.0;
    let share = |range: u64| {
        let range = range as f64;
        let share = a * (b * range).exp() + c * (d * range).exp();
        if share < 1e-16 {
            return 0;
        }
        if amplify == 0.0 {
            amplify = (1.0 / share).floor() + 1.0;
        }
        // The limit keeps their sum from overflowing.
        (amplify * share).floor().min(1e13) as u64
    };
    let mut shares: Vec<u64> = (1..=ranges).rev().map(share).collect();
    if shares.iter().all(|share| *share == 0) {
        shares.fill(1);
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIXGRAPH: Terms = Terms { a: 14.18, b: -2.917, c: 0.0164, d: -0.08082 };
    const POWER: RangeDraw = RangeDraw::Power { a: 0.002_312, b: 0.3467 };
    const DRAWS: u64 = 400_000;

    fn draw_keys(ranges: &Ranges, draws: u64) -> Vec<u64> {
        let mut rng = Rng::new(&[8]);
        (0..draws).map(|_| ranges.next(&mut rng)).collect()
    }

    /// `InitiateExpDistribution` with the published parameters, computed by another program.
    #[test]
    fn mixgraphs_ranges_have_db_benchs_shares() {
        let shares = range_shares(30, MIXGRAPH);
        let cold = [1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 5, 5, 5, 6, 6];
        assert_eq!(shares[..25], cold);
        assert_eq!(shares[25..], [7, 8, 10, 38, 538]);
        assert_eq!(shares.iter().sum::<u64>(), 667);
    }

    #[test]
    fn the_hottest_range_has_four_fifths_of_the_draws() {
        let ranges = Ranges::new(30, MIXGRAPH, POWER, 50_000_000);
        let mut draws_in = [0u64; 30];
        for key in draw_keys(&ranges, DRAWS) {
            draws_in[(key / (50_000_000 / 30)) as usize] += 1;
        }
        let mut before = 0;
        for (draws_in, until) in draws_in.iter().zip(&ranges.until) {
            let share = (until - std::mem::replace(&mut before, *until)) as f64 / 667.0;
            let sigma = (share * (1.0 - share) * DRAWS as f64).sqrt();
            assert!(
                (*draws_in as f64 - share * DRAWS as f64).abs() < 6.0 * sigma,
                "{draws_in}, {share}"
            );
        }
        let hottest = draws_in.into_iter().max().unwrap() as f64 / DRAWS as f64;
        assert!((hottest - 0.807).abs() < 6.0 * (0.807 * 0.193 / DRAWS as f64).sqrt(), "{hottest}");
    }

    /// Below u = a there is one key; the n hottest of all keys have a n^b of the draws.
    #[test]
    fn the_hottest_keys_of_a_range_have_the_share_of_the_power_law() {
        let ranges = Ranges::new(1, MIXGRAPH, POWER, 1_666_666);
        let keys = draw_keys(&ranges, DRAWS);
        for n in [1, 2, 5, 20, 100, 1_000] {
            let hot: std::collections::BTreeSet<u64> =
                (0..=n).map(|hotness| Mersenne::first_number(hotness) % ranges.keys).collect();
            let share = keys.iter().filter(|key| hot.contains(key)).count() as f64 / DRAWS as f64;
            let law = 0.002_312 * (n as f64).powf(0.3467);
            // Colder keys meet the hot ones by chance: n of 1.7 million places.
            let law = law + (1.0 - law) * n as f64 / ranges.keys as f64;
            let sigma = (law * (1.0 - law) / DRAWS as f64).sqrt();
            assert!((share - law).abs() < 6.0 * sigma, "{n}: {share} and {law}");
        }
    }

    #[test]
    fn few_records_and_strange_shares_are_drawn_too() {
        for records in [1, 2, 7, 31, 1_000] {
            for within in [RangeDraw::Uniform, POWER] {
                let ranges = Ranges::new(30, MIXGRAPH, within, records);
                assert!(draw_keys(&ranges, 2_000).iter().all(|key| *key < records));
            }
        }
        let nothing = Terms { a: 0.0, b: 0.0, c: -1.0, d: 0.0 };
        assert_eq!(range_shares(3, nothing), [1, 1, 1]);
        let endless = Terms { a: 1.0, b: 700.0, c: 0.0, d: 0.0 };
        assert!(range_shares(100, endless).iter().sum::<u64>() > 0);
    }
}
