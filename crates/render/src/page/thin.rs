//! Fewer points where there are many: a page is looked at, and 240 points are as wide as a figure.

use kvdyno_analysis::answers::summary::Summary;

/// All cells of all heat maps together.
const CELLS: usize = 50_000;
/// Cells of a column of a heat map, about.
const CELLS_PER_COLUMN: usize = 14;
/// All numbers of all time lines together.
const NUMBERS: usize = 120_000;
/// Numbers of a slice of a time line, about.
const NUMBERS_PER_SLICE: usize = 10;

/// The resolution of the page's figures, so that a large run's page is no larger than it has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Budget {
    pub(super) heat_columns: usize,
    pub(super) slices: usize,
}

impl Budget {
    pub(super) fn from_summary(summary: &Summary) -> Self {
        let roles = |group: &kvdyno_analysis::figures::group::Group| {
            let runs: usize = group.runs.iter().map(|run| run.roles.len()).sum();
            runs + usize::from(group.load.is_some())
        };
        let heats: usize = summary.groups.iter().map(roles).sum();
        let cases: usize = summary.groups.iter().map(|group| group.trials.len()).sum();
        Self::new(heats, cases)
    }

    fn new(heats: usize, cases: usize) -> Self {
        Self {
            heat_columns: (CELLS / CELLS_PER_COLUMN / heats.max(1)).clamp(8, 60),
            slices: (NUMBERS / NUMBERS_PER_SLICE / cases.max(1)).clamp(12, 240),
        }
    }
}

/// How many neighbours become one, so that at most `most` are left of `length`.
pub(super) fn stride(length: usize, most: usize) -> usize {
    length.div_ceil(most.max(1)).max(1)
}

/// Rounds a number to `digits` significant digits: more cannot be seen in a figure.
pub(super) fn round_digits(value: f64, digits: i32) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    // Powers of ten above 1 are exact: dividing by one gives the nearest decimal.
    let decimals = digits - 1 - value.abs().log10().floor() as i32;
    let power = 10_f64.powi(decimals.abs());
    if decimals >= 0 { (value * power).round() / power } else { (value / power).round() * power }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_that_can_be_seen() {
        assert_eq!(round_digits(123_456.0, 3).to_string(), "123000");
        assert_eq!(round_digits(0.012_345, 3).to_string(), "0.0123");
        assert_eq!(round_digits(-98.76, 2).to_string(), "-99");
        assert_eq!(round_digits(0.0, 3).to_string(), "0");
    }

    /// Eight engines, seven numbers of threads and a load, two roles, three trials: with these a
    /// page of such a run is 1.1 MB. A small run is shown in full.
    #[test]
    fn a_large_run_is_thinned() {
        assert_eq!(Budget::new(4, 6), Budget { heat_columns: 60, slices: 240 });
        assert_eq!(Budget::new(120, 192), Budget { heat_columns: 29, slices: 62 });
        assert_eq!(Budget::new(5000, 9000), Budget { heat_columns: 8, slices: 12 });
    }

    #[test]
    fn at_most_as_many_as_asked_for() {
        for (length, most) in [(0_usize, 10_usize), (10, 10), (11, 10), (1000, 240), (5, 0)] {
            let remaining = length.div_ceil(stride(length, most));
            assert!(remaining <= most.max(1), "{length} {most}: {remaining}");
        }
    }
}
