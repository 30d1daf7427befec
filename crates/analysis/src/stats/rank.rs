//! The rank test: whether two samples of trials differ at all, with no assumption about their
//! distribution.
//!
//! It is exact for as many trials as a benchmark has, ties included: it enumerates the statistic
//! over all labelings of the given ranks. (The crates with this test refuse ties in the exact one,
//! or have none; counters of bytes and database sizes tie all the time.) Only above [`EXACT_MAX`]
//! values it uses the normal approximation.

use super::normal::two_sided;
use schemars::JsonSchema;
use serde::Serialize;

/// With fewer trials on a side no rank test can come below 5 %: 3 and 3 reach 10 %, 4 and 4 reach
/// 2.9 %.
pub const MIN_TRIALS: usize = 4;

/// Up to this many values in all, the distribution is enumerated.
const EXACT_MAX: usize = 50;

/// A rank test's statistic, and its probability by chance alone.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RankTest {
    /// U of the first sample.
    pub statistic: f64,
    /// Two-sided.
    pub p: f64,
    /// Enumerated; else from the normal approximation.
    pub exact: bool,
}

/// The Mann-Whitney U test of two unpaired samples (H. B. Mann, D. R. Whitney, Annals of
/// Mathematical Statistics 18, 1947). None where one of them is empty.
pub fn mann_whitney(first: &[f64], second: &[f64]) -> Option<RankTest> {
    let (n, m) = (first.len(), second.len());
    if n == 0 || m == 0 {
        return None;
    }
    let pooled: Vec<f64> = first.iter().chain(second).copied().collect();
    let ranks = doubled_ranks(&pooled);
    let sum: usize = ranks[..n].iter().sum();
    let statistic = (sum - n * (n + 1)) as f64 / 2.0;
    if n + m <= EXACT_MAX {
        let p = tail(&sums_of_subsets(&ranks, n), sum);
        return Some(RankTest { statistic, p, exact: true });
    }
    let (a, b) = (n as f64, m as f64);
    let total = a + b;
    let ties = tie_term(&ranks);
    let variance = a * b / 12.0 * (total + 1.0 - ties / (total * (total - 1.0)));
    Some(RankTest { statistic, p: normal_p(statistic - a * b / 2.0, variance), exact: false })
}

/// Twice the rank of each value, equal values sharing the mean of theirs: whole numbers.
fn doubled_ranks(values: &[f64]) -> Vec<usize> {
    let below = |value: f64| values.iter().filter(|other| **other < value).count();
    let equal = |value: f64| values.iter().filter(|other| other.total_cmp(&value).is_eq()).count();
    values.iter().map(|value| 2 * below(*value) + equal(*value) + 1).collect()
}

/// How many subsets of `size` ranks have each sum.
fn sums_of_subsets(ranks: &[usize], size: usize) -> Vec<f64> {
    let most: usize = ranks.iter().sum();
    let mut ways = vec![vec![0.0; most + 1]; size + 1];
    ways[0][0] = 1.0;
    for &rank in ranks {
        // The larger subsets first, so that no rank counts twice.
        for count in (1..=size).rev() {
            for sum in rank..=most {
                let more = ways[count - 1][sum - rank];
                ways[count][sum] += more;
            }
        }
    }
    ways.swap_remove(size)
}

/// The share of all labelings whose sum lies as far from their mean as `sum` does.
fn tail(ways: &[f64], sum: usize) -> f64 {
    let all: f64 = ways.iter().sum();
    let weighted = ways.iter().enumerate().map(|(sum, count)| sum as f64 * count);
    let mean = weighted.sum::<f64>() / all;
    // Sums are whole numbers: a smaller difference is a rounding error.
    let distance = (sum as f64 - mean).abs() - 1e-6;
    let as_far = |(sum, _): &(usize, &f64)| (*sum as f64 - mean).abs() >= distance;
    ways.iter().enumerate().filter(as_far).map(|(_, count)| count).sum::<f64>() / all
}

/// The p-value of a deviation, with a correction of one half for its steps of one.
fn normal_p(deviation: f64, variance: f64) -> f64 {
    if variance <= 0.0 {
        return 1.0;
    }
    two_sided((deviation.abs() - 0.5).max(0.0) / variance.sqrt())
}

/// The sum of t^3 - t over groups of t equal ranks.
fn tie_term(ranks: &[usize]) -> f64 {
    let mut sorted = ranks.to_vec();
    sorted.sort_unstable();
    let groups = sorted.chunk_by(|a, b| a == b);
    groups.map(|group| (group.len() as f64).powi(3) - group.len() as f64).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(computed: f64, published: f64) {
        assert!((computed - published).abs() < 6e-5, "{computed} is not {published}");
    }

    /// The example in the documentation of `scipy.stats.mannwhitneyu` (ages at which diabetes was
    /// diagnosed; Barr and others 2008): U = 17, p = 0.1111 exact.
    #[test]
    fn mann_whitney_as_scipy_has_it() {
        let males = [19.0, 22.0, 16.0, 29.0, 24.0];
        let females = [20.0, 11.0, 17.0, 12.0];
        let test = mann_whitney(&males, &females).unwrap();
        assert_eq!((test.statistic, test.exact), (17.0, true));
        close(test.p, 0.111_111);
        close(mann_whitney(&females, &males).unwrap().statistic, 3.0);
        close(mann_whitney(&females, &males).unwrap().p, 0.111_111);
    }

    /// R, `?wilcox.test` (Hollander and Wolfe 1973, page 69): W = 35, p = 0.1272 one-sided.
    #[test]
    fn mann_whitney_as_r_has_it() {
        let at_term = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46];
        let earlier = [1.15, 0.88, 0.90, 0.74, 1.21];
        let test = mann_whitney(&at_term, &earlier).unwrap();
        close(test.statistic, 35.0);
        assert!((test.p / 2.0 - 0.1272).abs() < 5e-5, "{test:?}");
    }

    /// What the smallest samples can reach: 2 / C(2n, n).
    #[test]
    fn few_trials_cannot_reach_five_percent() {
        let p_values = |n: u32| {
            let base: Vec<f64> = (0..n).map(f64::from).collect();
            let new: Vec<f64> = (0..n).map(|v| f64::from(v) + 100.0).collect();
            mann_whitney(&base, &new).unwrap().p
        };
        close(p_values(3), 0.1);
        close(p_values(4), 2.0 / 70.0);
        close(p_values(5), 2.0 / 252.0);
    }

    /// With ties, against all 70 labelings of eight values, one by one.
    #[test]
    fn ties_are_counted_out() {
        let (first, second) = ([1.0, 2.0, 2.0, 3.0], [2.0, 3.0, 3.0, 4.0]);
        let all: Vec<f64> = first.iter().chain(&second).copied().collect();
        let ranks = doubled_ranks(&all);
        assert_eq!(ranks, [2, 6, 6, 12, 6, 12, 12, 16]);
        let mean = 36;
        let sum_of = |mask: u32| {
            (0..8).filter(|index| mask >> index & 1 == 1).map(|index| ranks[index]).sum()
        };
        let far = |sum: usize| sum.abs_diff(mean);
        let labelings = (0..256_u32).filter(|mask| mask.count_ones() == 4);
        let (mut as_far, mut count) = (0, 0);
        for mask in labelings {
            count += 1;
            as_far += u32::from(far(sum_of(mask)) >= far(sum_of(0b1111)));
        }
        assert_eq!(count, 70);
        close(mann_whitney(&first, &second).unwrap().p, f64::from(as_far) / f64::from(count));
    }

    #[test]
    fn equal_values_give_no_evidence() {
        close(mann_whitney(&[5.0; 4], &[5.0; 4]).unwrap().p, 1.0);
        close(mann_whitney(&[5.0; 40], &[5.0; 40]).unwrap().p, 1.0);
        assert_eq!(mann_whitney(&[], &[1.0]), None);
    }

    /// The approximation is used where it is as good as the enumeration.
    #[test]
    fn many_trials_are_approximated() {
        let first: Vec<f64> = (0..25_u32).map(|v| f64::from(v * 37 % 101)).collect();
        let second: Vec<f64> = (0..25_u32).map(|v| f64::from(v * 53 % 101) + 12.5).collect();
        let exact = mann_whitney(&first, &second).unwrap();
        let longer: Vec<f64> = second.iter().copied().chain([49.7]).collect();
        let approximate = mann_whitney(&first, &longer).unwrap();
        assert!(exact.exact && !approximate.exact);
        assert!((exact.p - approximate.p).abs() < 0.03, "{exact:?} {approximate:?}");
    }
}
