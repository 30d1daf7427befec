//! Exact Zipf ranks for any exponent and any number of items, in constant memory.
//!
//! Rejection-inversion: W. Hörmann and G. Derflinger, "Rejection-inversion to generate variates
//! from monotone discrete distributions", ACM TOMACS 6(3), 1996. Unlike Gray's approximation
//! (YCSB, `LinkBench`), whose third rank is 20 % too hot, each rank has exactly its probability.

use crate::rng::Rng;

/// A Zipf distribution over the ranks `0..n`: P(rank r) is proportional to (r + 1)^-theta.
#[derive(Clone, Debug)]
pub(crate) struct Zipf {
    n: f64,
    theta: f64,
    h_first: f64,
    h_last: f64,
    squeeze: f64,
}

impl Zipf {
    /// The distribution over `n >= 1` ranks with `theta >= 0`.
    pub(crate) fn new(n: u64, theta: f64) -> Self {
        let n = n as f64;
        let h_first = h_integral(1.5, theta) - 1.0;
        let h_last = h_integral(n + 0.5, theta);
        let squeeze = 2.0 - h_integral_inverse(h_integral(2.5, theta) - h(2.0, theta), theta);
        Self { n, theta, h_first, h_last, squeeze }
    }

    /// Changes the number of ranks to `n`.
    pub(crate) fn grow(&mut self, n: u64) {
        self.n = n as f64;
        self.h_last = h_integral(self.n + 0.5, self.theta);
    }

    /// Draws a rank, from 0.
    #[inline]
    pub(crate) fn rank(&self, rng: &mut Rng) -> u64 {
        loop {
            let u = self.h_last + rng.unit() * (self.h_first - self.h_last);
            let x = h_integral_inverse(u, self.theta);
            let k = x.round().clamp(1.0, self.n);
            if k - x <= self.squeeze || u >= h_integral(k + 0.5, self.theta) - h(k, self.theta) {
                return k as u64 - 1;
            }
        }
    }
}

fn h(x: f64, theta: f64) -> f64 {
    (-theta * x.ln()).exp()
}

/// The integral of `h`, written so that it is right at theta = 1 too.
fn h_integral(x: f64, theta: f64) -> f64 {
    let log_x = x.ln();
    expm1_ratio((1.0 - theta) * log_x) * log_x
}

fn h_integral_inverse(x: f64, theta: f64) -> f64 {
    let t = (x * (1.0 - theta)).max(-1.0);
    (log1p_ratio(t) * x).exp()
}

/// (e^x - 1) / x.
fn expm1_ratio(x: f64) -> f64 {
    if x.abs() > 1e-8 { x.exp_m1() / x } else { 1.0 + x * 0.5 * (1.0 + x / 3.0) }
}

/// ln(1 + x) / x.
fn log1p_ratio(x: f64) -> f64 {
    if x.abs() > 1e-8 { x.ln_1p() / x } else { 1.0 - x * (0.5 - x / 3.0) }
}

/// Zipf by the approximation of Gray et al. ("Quickly Generating Billion-Record Synthetic
/// Databases", SIGMOD 1994), as YCSB's `ZipfianGenerator` and `LinkBench` compute it.
#[derive(Clone, Debug)]
pub(crate) struct GrayZipf {
    items: f64,
    /// The number of items at first: YCSB's `eta` keeps this number, however the items grow.
    items_at_start: f64,
    theta: f64,
    zeta: f64,
    /// The sums over more items; none: the items have not grown.
    sums: Option<ZetaSums>,
    /// The sum of the first two terms.
    two: f64,
    alpha: f64,
    eta: f64,
}

impl GrayZipf {
    /// The items that YCSB's scrambled zipfian draws ranks of.
    pub(crate) const YCSB_ITEMS: u64 = 10_000_000_000;
    pub(crate) const YCSB_THETA: f64 = 0.99;

    /// The distribution over `items >= 1` ranks, with `theta` above 0 and below 1.
    pub(crate) fn new(items: u64, theta: f64) -> Self {
        Self::with_zeta(items, theta, zeta(items, theta))
    }

    /// The distribution with another sum of r^-theta than the exact one.
    pub(crate) fn with_zeta(items: u64, theta: f64, zeta: f64) -> Self {
        let (items, alpha) = (items as f64, 1.0 / (1.0 - theta));
        let (items_at_start, sums, two) = (items, None, 1.0 + 0.5f64.powf(theta));
        let mut gray = Self { items, items_at_start, theta, zeta, sums, two, alpha, eta: 0.0 };
        gray.eta = gray.eta();
        gray
    }

    /// Raises the number of items. Called after every block of a mix that inserts.
    pub(crate) fn grow(&mut self, items: u64) {
        let sums = self.sums.get_or_insert_with(|| ZetaSums::new(self.theta));
        (self.items, self.zeta) = (items as f64, sums.partial_sum(items));
        self.eta = self.eta();
    }

    fn eta(&self) -> f64 {
        (1.0 - (2.0 / self.items_at_start).powf(1.0 - self.theta)) / (1.0 - self.two / self.zeta)
    }

    /// Draws a rank, from 0.
    #[inline]
    pub(crate) fn rank(&self, rng: &mut Rng) -> u64 {
        let u = rng.unit();
        let uz = u * self.zeta;
        if uz < 1.0 {
            0
        } else if uz < self.two {
            1
        } else {
            let rank = self.items * (self.eta * u - self.eta + 1.0).powf(self.alpha);
            rank.min(self.items - 1.0) as u64
        }
    }
}

/// Computes the sum of r^-theta for r from 1 to n: term by term at first, then by the formula of
/// Euler and Maclaurin, as exactly as a sum term by term.
pub(crate) fn zeta(n: u64, theta: f64) -> f64 {
    if n > ZetaSums::HEAD { ZetaSums::new(theta).partial_sum(n) } else { sum_of_terms(n, theta) }
}

fn sum_of_terms(n: u64, theta: f64) -> f64 {
    (1..=n).map(|r| (r as f64).powf(-theta)).sum()
}

/// The sums of r^-theta for one theta: the terms of the head are added up once.
#[derive(Clone, Copy, Debug)]
struct ZetaSums {
    theta: f64,
    /// The sum of the head, less the formula's value at the end of the head.
    constant: f64,
}

impl ZetaSums {
    const HEAD: u64 = 1_000;

    fn new(theta: f64) -> Self {
        let head = sum_of_terms(Self::HEAD, theta);
        Self { theta, constant: head - euler_maclaurin(Self::HEAD, theta) }
    }

    fn partial_sum(self, n: u64) -> f64 {
        if n <= Self::HEAD {
            return sum_of_terms(n, self.theta);
        }
        self.constant + euler_maclaurin(n, self.theta)
    }
}

/// Computes the sum up to n, except for a constant.
fn euler_maclaurin(n: u64, theta: f64) -> f64 {
    let x = n as f64;
    let term = x.powf(-theta);
    let slope = -theta * term / x;
    h_integral(x, theta) + 0.5 * term + slope / 12.0
}

/// Computes the same sum as `LinkBench` does: from 100,000 terms on by an integral and a constant.
pub(crate) fn linkbench_zeta(n: u64, theta: f64) -> f64 {
    if n < 100_000 {
        return zeta(n, theta);
    }
    ((n as f64).powf(1.0 - theta) - 1.0) / (1.0 - theta) + 0.58
}

/// Returns the key number that YCSB gives a rank: |FNV-1a-64(rank)| mod `items`. Several ranks
/// share one key, and a third of the keys is never drawn. It serves only for comparison with
/// published figures.
#[inline]
pub(crate) fn ycsb_number(rank: u64, items: u64) -> u64 {
    let hash = rank.to_le_bytes().iter().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (hash as i64).unsigned_abs() % items
}

#[cfg(test)]
mod soak;

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression test for bug 2: chi-square against the exact probabilities.
    #[test]
    fn ranks_have_their_exact_probabilities() {
        const DRAWS: u32 = 1_000_000;
        for (n, theta) in
            [(1_000, 0.99), (1_000_000, 0.99), (1_000, 1.0), (1_000, 0.0), (1_000, 2.5), (3, 0.8)]
        {
            let (zipf, mut rng) = (Zipf::new(n, theta), Rng::new(&[n, 5]));
            // The 50 hottest ranks apart, the rest in one cell.
            let cells = 50.min(n as usize);
            let mut counts = vec![0u32; cells + 1];
            for _ in 0..DRAWS {
                counts[(zipf.rank(&mut rng) as usize).min(cells)] += 1;
            }
            let zeta: f64 = (1..=n).map(|r| (r as f64).powf(-theta)).sum();
            let mut chi = 0.0;
            let mut rest = f64::from(DRAWS);
            for (rank, count) in counts[..cells].iter().enumerate() {
                let expected = f64::from(DRAWS) * (rank as f64 + 1.0).powf(-theta) / zeta;
                rest -= expected;
                chi += (f64::from(*count) - expected).powi(2) / expected;
            }
            if rest > 1.0 {
                chi += (f64::from(counts[cells]) - rest).powi(2) / rest;
            }
            let ratio = chi / cells as f64;
            assert!(ratio < 1.8, "n = {n}, theta = {theta}: chi2/df = {ratio:.2}");
        }
    }

    /// The hottest key's share, as computed from the definition in the workload notes.
    #[test]
    fn the_hottest_key_has_its_share() {
        let share = |n| {
            let (zipf, mut rng) = (Zipf::new(n, 0.99), Rng::new(&[3]));
            (0..400_000).filter(|_| zipf.rank(&mut rng) == 0).count() as f64 / 4_000.0
        };
        assert!((share(1_000) - 12.9).abs() < 0.3);
        assert!((share(1_000_000) - 6.5).abs() < 0.2);
        assert!((share(100_000_000) - 4.8).abs() < 0.2);
    }

    /// The hottest key of the original generator, `site.ycsb:core:0.17.0`, over as many items.
    #[test]
    fn the_hottest_key_is_ycsbs() {
        assert_eq!([1_000_000, 1_000_001].map(|items| ycsb_number(0, items)), [377_211, 801_320]);
    }

    /// YCSB's own distribution: the hottest key has 3.78 % for any number of records, and some keys
    /// are never drawn.
    #[test]
    fn ycsb_zipfian_is_as_it_runs() {
        let zipf = GrayZipf::new(GrayZipf::YCSB_ITEMS, GrayZipf::YCSB_THETA);
        let mut rng = Rng::new(&[3]);
        let hottest = (0..400_000).filter(|_| zipf.rank(&mut rng) == 0).count() as f64 / 4_000.0;
        assert!((hottest - 3.78).abs() < 0.15, "{hottest}");
        let mut reachable = vec![false; 1_000];
        for rank in 0..1_000 {
            reachable[ycsb_number(rank, 1_000) as usize] = true;
        }
        let share = reachable.iter().filter(|hit| **hit).count();
        assert!((580..720).contains(&share), "hashing 1000 ranks mod 1000 hits {share}");
    }

    #[test]
    fn sums_are_those_term_by_term_and_ycsbs_constant() {
        for theta in [0.2, 0.625, 0.8, 0.99] {
            for n in [1, 2, 1_000, 1_001, 200_000] {
                let exact: f64 = (1..=n).map(|r| (r as f64).powf(-theta)).sum();
                assert!((zeta(n, theta) / exact - 1.0).abs() < 1e-12, "{n}, {theta}");
                // A constant for all exponents cannot be right to more than a few percent.
                assert!((linkbench_zeta(n, theta) / exact - 1.0).abs() < 0.03, "{n}, {theta}");
            }
        }
        // `ScrambledZipfianGenerator.ZETAN`, summed term by term over ten billion.
        let ycsbs = zeta(GrayZipf::YCSB_ITEMS, GrayZipf::YCSB_THETA);
        assert!((ycsbs - 26.469_028_201_783_02).abs() < 1e-6, "{ycsbs}");
    }

    /// A grown distribution equals a new one.
    #[test]
    fn growing_changes_nothing_but_the_number() {
        for items in [7, 999, 1_000, 1_001, 50_000, 3_000_000] {
            let (mut gray, mut zipf) = (GrayZipf::new(5, 0.99), Zipf::new(5, 0.99));
            gray.grow(items);
            zipf.grow(items);
            let exact = sum_of_terms(items, 0.99);
            assert!((gray.zeta / exact - 1.0).abs() < 1e-12, "{items}");
            let fresh = Zipf::new(items, 0.99);
            let mut draws = [Rng::new(&[8]), Rng::new(&[8])];
            let same = (0..1_000).all(|_| zipf.rank(&mut draws[0]) == fresh.rank(&mut draws[1]));
            assert!(same, "{items}");
        }
    }

    /// Regression test: growing added 1,000 powers up. A block of 512 operations takes 10 us of a
    /// fast engine's time, and growing after each block must not add to that.
    #[test]
    fn growing_adds_no_head_up() {
        let mut zipf = GrayZipf::new(1_000_000, 0.99);
        zipf.grow(1_000_001);
        let sums = zipf.sums.expect("kept from the first time");
        zipf.grow(1_000_002);
        assert_eq!(zipf.sums.map(|sums| sums.constant.to_bits()), Some(sums.constant.to_bits()));
    }

    /// P(rank < r) is the u that the formula sends to r: ((r / n)^(1 - theta) - 1 + eta) / eta.
    #[test]
    fn gray_ranks_have_the_probabilities_of_their_formula() {
        const DRAWS: f64 = 1e6;
        for (n, theta) in [(1_000, 0.99), (1_000_000, 0.99), (10_000_000, 0.8), (50, 0.6)] {
            let (zipf, mut rng) = (GrayZipf::new(n, theta), Rng::new(&[n, 6]));
            let mut ranks: Vec<u64> = (0..DRAWS as usize).map(|_| zipf.rank(&mut rng)).collect();
            ranks.sort_unstable();
            assert!(ranks.last().is_some_and(|rank| *rank < n));
            let below = |r: u64| match r {
                1 => 1.0 / zipf.zeta,
                2 => (1.0 + 0.5f64.powf(theta)) / zipf.zeta,
                r => ((r as f64 / n as f64).powf(1.0 - theta) - 1.0 + zipf.eta) / zipf.eta,
            };
            for r in [1, 2, 3, 4, 10, 30, n / 10, n / 2].into_iter().filter(|r| *r < n) {
                let exact = below(r);
                let share = ranks.partition_point(|rank| *rank < r) as f64 / DRAWS;
                let sigma = (exact * (1.0 - exact) / DRAWS).sqrt();
                let apart = (share - exact).abs() / sigma;
                assert!(apart < 6.0, "n {n}, theta {theta}, rank {r}: {share} and {exact}");
            }
        }
    }

    #[test]
    fn one_and_two_items_are_drawn() {
        let mut rng = Rng::new(&[1]);
        for items in [1, 2, 3] {
            let zipf = GrayZipf::new(items, 0.99);
            assert!((0..10_000).all(|_| zipf.rank(&mut rng) < items));
        }
    }
}
