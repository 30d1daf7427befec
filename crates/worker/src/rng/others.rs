//! The random number generators of other programs, whose draws have to be repeated: the one of C++
//! that `db_bench` calls `Random64`, and the one of Java.

/// `std::mt19937_64` (M. Matsumoto and T. Nishimura, "Mersenne Twister", ACM TOMACS 8(1), 1998;
/// 64 bits: T. Nishimura, ACM TOMACS 10(4), 2000).
#[derive(Clone, Debug)]
pub(crate) struct Mersenne {
    state: [u64; WORDS],
    index: usize,
}

const WORDS: usize = 312;
const HALF: usize = 156;

impl Mersenne {
    pub(crate) fn new(seed: u64) -> Self {
        let mut state = [seed; WORDS];
        for i in 1..WORDS {
            state[i] = seed_word(state[i - 1], i);
        }
        Self { state, index: WORDS }
    }

    pub(crate) fn next(&mut self) -> u64 {
        if self.index == WORDS {
            for i in 0..WORDS {
                let next = self.state[(i + 1) % WORDS];
                self.state[i] = twist(self.state[i], next, self.state[(i + HALF) % WORDS]);
            }
            self.index = 0;
        }
        self.index += 1;
        temper(self.state[self.index - 1])
    }

    /// Returns the first number after `seed`, for which half of the state is enough.
    pub(crate) fn first_number(seed: u64) -> u64 {
        let second = seed_word(seed, 1);
        let far = (2..=HALF).fold(second, seed_word);
        temper(twist(seed, second, far))
    }
}

fn seed_word(before: u64, index: usize) -> u64 {
    (before ^ (before >> 62)).wrapping_mul(6_364_136_223_846_793_005).wrapping_add(index as u64)
}

fn twist(word: u64, next: u64, far: u64) -> u64 {
    let x = (word & 0xffff_ffff_8000_0000) | (next & 0x7fff_ffff);
    far ^ (x >> 1) ^ (if x & 1 == 1 { 0xb502_6f5a_a966_19e9 } else { 0 })
}

fn temper(mut x: u64) -> u64 {
    x ^= (x >> 29) & 0x5555_5555_5555_5555;
    x ^= (x << 17) & 0x71d6_7fff_eda6_0000;
    x ^= (x << 37) & 0xfff7_eee0_0000_0000;
    x ^ (x >> 43)
}

/// `java.util.Random`, as its documentation defines it.
#[derive(Clone, Debug)]
pub(crate) struct JavaRandom {
    state: u64,
}

impl JavaRandom {
    const FACTOR: u64 = 0x5_deec_e66d;
    const MASK: u64 = (1 << 48) - 1;

    pub(crate) fn new(seed: u64) -> Self {
        Self { state: (seed ^ Self::FACTOR) & Self::MASK }
    }

    /// 31 random bits.
    fn next(&mut self) -> u64 {
        self.state = (self.state.wrapping_mul(Self::FACTOR).wrapping_add(0xb)) & Self::MASK;
        self.state >> 17
    }

    /// `nextInt(n)`, for n from 1 to 2^31 - 1.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        if n.is_power_of_two() {
            return (n * self.next()) >> 31;
        }
        loop {
            let bits = self.next();
            let number = bits % n;
            // Bits beyond the last whole multiple of n are drawn again.
            if bits - number + (n - 1) < 1 << 31 {
                return number;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The standard's own test: the 10000th number of a generator with the default seed (5489).
    #[test]
    fn the_twister_is_cpps() {
        let mut twister = Mersenne::new(5489);
        assert_eq!(twister.next(), 14_514_284_786_278_117_030);
        let last = (0..9_999).map(|_| twister.next()).last();
        assert_eq!(last, Some(9_981_545_732_273_789_042));
        for seed in [0, 1, 668, 40_000_000, u64::MAX] {
            assert_eq!(Mersenne::first_number(seed), Mersenne::new(seed).next());
        }
    }

    /// The numbers that Java 17 prints.
    #[test]
    fn javas_numbers_are_javas() {
        let draw_five = |seed, n| {
            let mut random = JavaRandom::new(seed);
            [0; 5].map(|_| random.below(n))
        };
        assert_eq!(draw_five(42, 100), [30, 63, 48, 84, 70]);
        assert_eq!(draw_five(20_343_988_438_726_021, 9_765), [347, 5_629, 1_728, 6_331, 8_819]);
        assert_eq!(draw_five(53_238_253_823_453, 1_024), [909, 20, 21, 514, 298]);
        let redrawn = [1_371_249_164, 20_678_044, 747_989_380, 1_053_566_254, 1_222_239_534];
        assert_eq!(draw_five(7, 1_500_000_001), redrawn);
    }
}
