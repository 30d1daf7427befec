//! Ratios in words.

use kvdyno_record::units;

/// Formats a ratio with `decimals` decimals, or with more until two digits show: `1.31`, `0.0071`.
pub fn format_ratio(ratio: f64, decimals: usize) -> String {
    let needed = if ratio > 0.0 { 1.0 - ratio.log10().floor() } else { 0.0 };
    // `as` saturates.
    format!("{ratio:.*}", decimals.max(needed.min(9.0) as usize))
}

/// A factor with the digits that `scale` needs: two, or three where it is close to 1.
pub fn format_factor(factor: f64, scale: f64) -> String {
    match scale {
        ..1.995 => format_ratio(factor, 2),
        ..9.95 => format!("{factor:.1}"),
        // `as` saturates.
        _ => units::group_digits(factor.round() as u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_ratios_keep_two_digits() {
        let texts = [1.314, 0.5, 0.07, 0.007_12, 0.000_44, 0.0].map(|value| format_ratio(value, 2));
        assert_eq!(texts, ["1.31", "0.50", "0.070", "0.0071", "0.00044", "0.00"]);
        let ends = (format_ratio(0.97, 3), format_ratio(1e-12, 2));
        assert_eq!(ends, ("0.970".to_owned(), "0.000000000".to_owned()));
    }
}
