//! A random order of `0..n` that needs no memory: each number once, computed for any place and any
//! size.
//!
//! Rounds of multiply and xor-shift on exactly as many bits as `n` needs are a bijection of the
//! numbers of that many bits. A result outside `0..n` is sent through again until it falls inside
//! (cycle walking, fewer than two rounds on average). Drawing with replacement instead would leave
//! 36.8 % of the keys out: the oldest bug of random fills.

use crate::rng::mix;

/// A bijection of `0..n`.
#[derive(Clone, Debug)]
pub(crate) struct Bijection {
    n: u64,
    mask: u64,
    shift: u32,
    factors: [u64; 4],
    offsets: [u64; 4],
}

impl Bijection {
    /// The bijection of `0..n` that `seed` names. `n` is at least 1.
    pub(crate) fn new(n: u64, seed: u64) -> Self {
        assert!(n >= 1, "a bijection of nothing");
        // Below 4 bits the rounds have too few distinct factors to mix; cycle walking covers it.
        let bits = (64 - (n - 1).leading_zeros()).max(4);
        let key = |i: u64| mix(seed ^ mix(i));
        Self {
            n,
            mask: u64::MAX >> (64 - bits),
            shift: bits.div_ceil(2),
            factors: [key(1) | 1, key(2) | 1, key(3) | 1, key(4) | 1],
            offsets: [key(5), key(6), key(7), key(8)],
        }
    }

    /// Returns the number that `i` is mapped to.
    #[inline]
    pub(crate) fn permute(&self, i: u64) -> u64 {
        debug_assert!(i < self.n);
        let mut x = i;
        loop {
            for round in 0..4 {
                x = x.wrapping_mul(self.factors[round]).wrapping_add(self.offsets[round]);
                x &= self.mask;
                x ^= x >> self.shift;
            }
            if x < self.n {
                return x;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression test for bug 1: a random fill must write every key, each once.
    #[test]
    fn every_number_once() {
        for n in [1, 2, 3, 10, 16, 17, 1_000, 65_537, 1_000_003] {
            let bijection = Bijection::new(n, 42);
            let mut seen = vec![false; n as usize];
            for i in 0..n {
                let x = bijection.permute(i) as usize;
                assert!(!seen[x], "n = {n}: {x} twice");
                seen[x] = true;
            }
        }
    }

    #[test]
    fn seeds_differ() {
        let (a, b) = (Bijection::new(1_000_000, 1), Bijection::new(1_000_000, 2));
        let equal = (0..1_000).filter(|i| a.permute(*i) == b.permute(*i)).count();
        assert!(equal < 10, "{equal} of 1000 positions are equal");
    }

    /// Successive pairs, differences and low bits look random: chi-square per degree of freedom.
    #[test]
    fn the_order_is_random() {
        const DRAWS: u64 = 1 << 20;
        for n in [1_000_000_000, 137_000_000_000, (1 << 30) + 1] {
            let bijection = Bijection::new(n, 9);
            let sample = |i: u64| bijection.permute(i * (n / DRAWS / 2 + 1) % n);
            let cell = |x: u64| (u128::from(x) * 32 / u128::from(n)) as usize;
            let (mut pairs, mut gaps, mut low) = ([0u64; 1024], [0u64; 64], [0u64; 256]);
            for i in 0..DRAWS {
                let (a, b) = (bijection.permute(i), bijection.permute(i + 1));
                pairs[cell(a) * 32 + cell(b)] += 1;
                gaps[((u128::from((b + n - a) % n) * 64) / u128::from(n)) as usize] += 1;
                low[(sample(i) & 255) as usize] += 1;
            }
            for (name, counts) in [("pairs", &pairs[..]), ("gaps", &gaps), ("low bits", &low)] {
                let ratio = chi_square_per_df(counts);
                assert!((0.5..1.6).contains(&ratio), "n = {n}, {name}: {ratio:.2}");
            }
        }
    }

    fn chi_square_per_df(counts: &[u64]) -> f64 {
        let expected = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
        let sum: f64 =
            counts.iter().map(|count| (*count as f64 - expected).powi(2) / expected).sum();
        sum / (counts.len() - 1) as f64
    }
}
