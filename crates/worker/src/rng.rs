//! Random numbers: xoshiro256++ seeded by `SplitMix64` (Blackman and Vigna, 2018, public domain).
//!
//! The code is in the tree rather than from a crate, so that every later version draws the same
//! workload to the last key.

pub(crate) mod others;

/// One thread's generator.
#[derive(Clone, Debug)]
pub(crate) struct Rng {
    state: [u64; 4],
}

impl Rng {
    /// A generator whose stream depends on every part of `seed`.
    pub(crate) fn new(seed: &[u64]) -> Self {
        let mut mixed = seed.iter().fold(0x6b76_6479_6e6f, |sum, part| mix(sum ^ mix(*part)));
        let mut next = || {
            mixed = mixed.wrapping_add(0x9e37_79b9_7f4a_7c15);
            mix(mixed)
        };
        Self { state: [next(), next(), next(), next()] }
    }

    /// The generator of a thread. It differs for each trial, phase, role, thread and number of
    /// threads: a sweep on one database must not find the previous point's keys in some cache. It
    /// is the same when the same case is run again, by whatever engine.
    pub(crate) fn for_thread(
        seed: u64,
        trial: u32,
        phase: u32,
        role: u64,
        (thread, threads): (u32, u32),
    ) -> Self {
        Self::new(&[seed, trial.into(), phase.into(), role, thread.into(), threads.into()])
    }

    /// 64 random bits.
    #[inline]
    pub(crate) fn next(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// Uniform in `0..n`, by the high half of a product: off by less than n / 2^64.
    #[inline]
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }

    /// Uniform in `[0, 1)`, with 53 random bits.
    #[inline]
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Exponentially distributed with mean 1.
    #[inline]
    pub(crate) fn exponential(&mut self) -> f64 {
        -(1.0 - self.unit()).ln()
    }
}

/// The finalizer of `SplitMix64`: a bijection of 64-bit numbers that leaves no visible structure.
#[inline]
pub(crate) fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_the_published_one() {
        // Reference output of xoshiro256++ from the state 1, 2, 3, 4 (the authors' C program).
        let mut rng = Rng { state: [1, 2, 3, 4] };
        let numbers: Vec<u64> = (0..4).map(|_| rng.next()).collect();
        assert_eq!(numbers, [41_943_041, 58_720_359, 3_588_806_011_781_223, 3_591_011_842_654_386]);
    }

    #[test]
    fn every_part_of_a_seed_counts() {
        let first = |seed: &[u64]| Rng::new(seed).next();
        assert_ne!(first(&[1, 2]), first(&[2, 1]));
        assert_ne!(first(&[1, 2]), first(&[1, 3]));
        assert_ne!(first(&[1]), first(&[1, 0]));
    }

    #[test]
    fn no_two_threads_of_a_run_draw_the_same_and_a_run_again_does() {
        let first =
            |trial, phase, role, thread| Rng::for_thread(1, trial, phase, role, thread).next();
        let mut draws = Vec::new();
        for (trial, phase, role) in [(1, 0, 0), (2, 0, 0), (1, 1, 0), (1, 0, 1)] {
            // One thread, and two: the first of two differs from the only one.
            draws.extend([(0, 1), (0, 2), (1, 2)].map(|thread| first(trial, phase, role, thread)));
        }
        assert_eq!(draws[0], first(1, 0, 0, (0, 1)));
        draws.sort_unstable();
        draws.dedup();
        assert_eq!(draws.len(), 12);
    }

    #[test]
    fn below_is_uniform() {
        let (mut rng, mut counts) = (Rng::new(&[7]), [0u32; 10]);
        for _ in 0..100_000 {
            counts[rng.below(10) as usize] += 1;
        }
        assert!(counts.iter().all(|count| (9_600..10_400).contains(count)), "{counts:?}");
    }
}
