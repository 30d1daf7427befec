//! The positions of `LinkBench`'s ranks: `InvertibleShuffler` of facebookarchive/linkbench.

use crate::rng::others::JavaRandom;

/// A bijection of `0..n`: numbers that are equal modulo the groups form a ring, and each ring is
/// turned by as many places as a random number says.
#[derive(Clone, Debug)]
pub(crate) struct Shuffler {
    n: u64,
    turns: Vec<u64>,
}

impl Shuffler {
    const GROUPS: u64 = 1_024;

    /// The shuffler of `n >= 1` numbers.
    pub(crate) fn new(seed: u64, n: u64) -> Self {
        let groups = Self::GROUPS.min(n);
        let mut random = JavaRandom::new(seed);
        // In the original the number is an `int`.
        let places = (n / groups).min(i32::MAX as u64);
        Self { n, turns: (0..groups).map(|_| random.below(places)).collect() }
    }

    /// The position of `rank`.
    #[inline]
    pub(crate) fn position(&self, rank: u64) -> u64 {
        let groups = self.turns.len() as u64;
        let group = rank % groups;
        let turned = rank + groups * self.turns[group as usize];
        if turned < self.n { turned } else { turned % self.ring_end(group) }
    }

    /// The rank at `position`.
    #[inline]
    pub(crate) fn rank_at(&self, position: u64) -> u64 {
        let groups = self.turns.len() as u64;
        let group = position % groups;
        let ring = self.ring_end(group);
        (position + ring - groups * self.turns[group as usize]) % ring
    }

    /// The end of a group's ring. If the numbers cannot be shared evenly, the first groups have one
    /// more than the others.
    #[inline]
    fn ring_end(&self, group: u64) -> u64 {
        let groups = self.turns.len() as u64;
        (self.n / groups + u64::from(group < self.n % groups)) * groups
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_once() {
        for n in [1, 2, 1_000, 1_024, 1_025, 10_007, 100_000] {
            let shuffler = Shuffler::new(20_343_988_438_726_021, n);
            let mut seen = vec![false; n as usize];
            for rank in 0..n {
                let position = shuffler.position(rank) as usize;
                assert!(!std::mem::replace(&mut seen[position], true), "n = {n}: {position} twice");
                assert_eq!(shuffler.rank_at(position as u64), rank, "n = {n}");
            }
        }
    }

    /// The positions by a Java port of the class, run with Java 17: the copy in OLTP-Bench.
    #[test]
    fn ranks_are_where_linkbench_puts_them() {
        let placed = |seed, n, ranks: [u64; 4]| {
            let shuffler = Shuffler::new(seed, n);
            ranks.map(|rank| shuffler.position(rank))
        };
        let ranks = [0, 1_023, 5_000_000, 9_999_999];
        let links = placed(20_343_988_438_726_021, 10_000_000, ranks);
        assert_eq!(links, [355_328, 7_871_487, 634_688, 3_297_919]);
        let nodes = placed(4_766_565_305_853_767_165, 10_000_000, ranks);
        assert_eq!(nodes, [6_192_128, 7_223_295, 5_362_496, 3_749_503]);
        let few = placed(20_343_988_438_726_021, 10_007, [0, 1_024, 5_003, 10_006]);
        assert_eq!(few, [5_120, 6_144, 6_027, 5_910]);
    }
}
