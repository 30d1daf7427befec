//! Seeded noise for tests: the same on every machine.

/// `SplitMix64` (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// An index below `n`, each equally likely to within n / 2^64, which a few trials cannot show.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let draw = u128::from(mixed ^ (mixed >> 31)) * n as u128;
        (draw >> 64) as usize
    }

    /// A normally distributed value with a standard deviation of 1 (Box and Muller).
    pub(crate) fn normal(&mut self) -> f64 {
        let [u, v] = [(); 2].map(|()| (self.below(1 << 52) as f64 + 0.5) / 2_f64.powi(52));
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }

    /// A value of Student's t with three degrees of freedom.
    pub(crate) fn heavy_tailed(&mut self) -> f64 {
        let squares: f64 = (0..3).map(|_| self.normal().powi(2)).sum();
        self.normal() / (squares / 3.0).sqrt()
    }

    /// A normally distributed value; one in ten is six times as far out.
    pub(crate) fn spiky(&mut self) -> f64 {
        let spike = if self.below(10) == 0 { 6.0 } else { 1.0 };
        spike * self.normal()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_index_is_drawn_about_equally_often() {
        let mut random = Random::new(1);
        let mut counts = [0_u32; 7];
        (0..70_000).for_each(|_| counts[random.below(7)] += 1);
        assert!(counts.iter().all(|count| (9_600..10_400).contains(count)), "{counts:?}");
    }
}
