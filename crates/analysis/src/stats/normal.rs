//! The tail of the normal distribution, for tests with more trials than are counted out exactly.

/// P(|Z| >= z) of a standard normal Z: the complementary error function of z / sqrt(2), by
/// Chebyshev fitting with a fractional error below 1.2e-7 (Press and others, Numerical Recipes in
/// C, 2nd edition, section 6.2, `erfcc`).
pub(super) fn two_sided(z: f64) -> f64 {
    const COEFFICIENTS: [f64; 10] = [
        0.170_872_77,
        -0.822_152_23,
        1.488_515_87,
        -1.135_203_98,
        0.278_868_07,
        -0.186_288_06,
        0.096_784_18,
        0.374_091_96,
        1.000_023_68,
        -1.265_512_23,
    ];
    let x = z.abs() / std::f64::consts::SQRT_2;
    let t = 1.0 / (1.0 + 0.5 * x);
    let fitted = COEFFICIENTS.iter().fold(0.0, |sum, c| sum * t + c);
    (t * (-x * x + fitted).exp()).min(1.0)
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
