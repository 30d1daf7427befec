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
    /// Over `n >= 1` ranks with `theta >= 0`.
    pub(crate) fn new(n: u64, theta: f64) -> Self {
        let n = n as f64;
        let h_first = h_integral(1.5, theta) - 1.0;
        let h_last = h_integral(n + 0.5, theta);
        let squeeze = 2.0 - h_integral_inverse(h_integral(2.5, theta) - h(2.0, theta), theta);
        Self { n, theta, h_first, h_last, squeeze }
    }

    /// A rank, from 0.
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

/// The zipfian that YCSB really runs: Gray's approximation, theta 0.99, over ten billion items with
/// YCSB's constant zeta, then FNV-1a hashed (see [`ycsb_number`]).
#[derive(Clone, Debug)]
pub(crate) struct YcsbZipfian {
    alpha: f64,
    eta: f64,
}

impl YcsbZipfian {
    const ITEMS: f64 = 1e10;
    const THETA: f64 = 0.99;
    const ZETA: f64 = 26.469_028_201_783_02;

    pub(crate) fn new() -> Self {
        let zeta_2 = 1.0 + 0.5f64.powf(Self::THETA);
        Self {
            alpha: 1.0 / (1.0 - Self::THETA),
            eta: (1.0 - (2.0 / Self::ITEMS).powf(1.0 - Self::THETA)) / (1.0 - zeta_2 / Self::ZETA),
        }
    }

    #[inline]
    pub(crate) fn rank(&self, rng: &mut Rng) -> u64 {
        let u = rng.unit();
        let uz = u * Self::ZETA;
        if uz < 1.0 {
            0
        } else if uz < 1.0 + 0.5f64.powf(Self::THETA) {
            1
        } else {
            (Self::ITEMS * (self.eta * u - self.eta + 1.0).powf(self.alpha)) as u64
        }
    }
}

/// Where YCSB puts a rank: |FNV-1a-64(rank)| mod `items`. Several ranks meet on one key, and a
/// third of the keys is never drawn; kept as it is, for standing beside published figures only.
#[inline]
pub(crate) fn ycsb_number(rank: u64, items: u64) -> u64 {
    let hash = rank.to_le_bytes().iter().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (hash as i64).unsigned_abs() % items
}

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
            let mut seen = vec![0u32; cells + 1];
            for _ in 0..DRAWS {
                seen[(zipf.rank(&mut rng) as usize).min(cells)] += 1;
            }
            let zeta: f64 = (1..=n).map(|r| (r as f64).powf(-theta)).sum();
            let mut chi = 0.0;
            let mut left = f64::from(DRAWS);
            for (rank, count) in seen[..cells].iter().enumerate() {
                let expected = f64::from(DRAWS) * (rank as f64 + 1.0).powf(-theta) / zeta;
                left -= expected;
                chi += (f64::from(*count) - expected).powi(2) / expected;
            }
            if left > 1.0 {
                chi += (f64::from(seen[cells]) - left).powi(2) / left;
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

    /// As drawn by the original generator, `site.ycsb:core:0.17.0`, over so many items.
    #[test]
    fn the_hottest_key_is_ycsbs() {
        assert_eq!([1_000_000, 1_000_001].map(|items| ycsb_number(0, items)), [377_211, 801_320]);
    }

    /// YCSB's own: 3.78 % for any number of records, and keys that are never drawn.
    #[test]
    fn ycsb_zipfian_is_as_it_runs() {
        let (zipf, mut rng) = (YcsbZipfian::new(), Rng::new(&[3]));
        let hottest = (0..400_000).filter(|_| zipf.rank(&mut rng) == 0).count() as f64 / 4_000.0;
        assert!((hottest - 3.78).abs() < 0.15, "{hottest}");
        let mut reachable = vec![false; 1_000];
        for rank in 0..1_000 {
            reachable[ycsb_number(rank, 1_000) as usize] = true;
        }
        let share = reachable.iter().filter(|hit| **hit).count();
        assert!((580..720).contains(&share), "hashing 1000 ranks mod 1000 hits {share}");
    }
}
