//! Random numbers that are the same for the same seed (`SplitMix64`; Steele, Lea and Flood, 2014).

/// A generator of random numbers.
#[derive(Clone, Debug)]
pub struct Draw(u64);

impl Draw {
    /// Returns a generator whose numbers depend on each part of the seed.
    pub fn new(seed: &[u64]) -> Self {
        let mut draw = Self(0);
        for part in seed {
            draw.0 = draw.bits() ^ part;
        }
        draw
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number in `0..n`; 0 if `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.bits()) * n as u128) >> 64) as usize
    }

    /// Returns true or false, each half of the time.
    pub fn coin(&mut self) -> bool {
        self.bits() >> 63 == 1
    }

    /// Puts the items into a random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_of_a_seed_counts_and_the_same_seed_is_the_same() {
        let first = |seed: &[u64]| Draw::new(seed).bits();
        let mut numbers = vec![first(&[1, 2]), first(&[2, 1]), first(&[1]), first(&[1, 2, 0])];
        assert_eq!(numbers[0], first(&[1, 2]));
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), 4);
    }

    #[test]
    fn all_of_a_range_is_drawn_and_nothing_else() {
        let mut draw = Draw::new(&[7]);
        let mut counts = [0; 5];
        (0..1000).for_each(|_| counts[draw.below(5)] += 1);
        assert!(counts.iter().all(|&times| times > 100), "{counts:?}");
        assert_eq!(draw.below(0), 0);
    }
}
