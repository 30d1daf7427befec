//! The tail of the normal distribution, for tests with too many trials for an exact count.

use statrs::function::erf::erfc;

/// P(|Z| >= z) of a standard normal Z.
pub(super) fn two_sided(z: f64) -> f64 {
    erfc(z.abs() / std::f64::consts::SQRT_2)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two-sided critical values, as every table has them.
    #[test]
    fn critical_values_as_tabulated() {
        for (z, p) in [(0.0, 1.0), (1.0, 0.317_311), (1.959_964, 0.05), (2.575_829, 0.01)] {
            assert!((two_sided(z) - p).abs() < 1e-6, "{z}");
            assert!((two_sided(-z) - p).abs() < 1e-6, "-{z}");
        }
    }
}
