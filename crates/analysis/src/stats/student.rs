//! Student's t: the mean of a few values, and whether two samples have different means.

use statrs::distribution::{ContinuousCDF as _, StudentsT};

/// The probability by chance alone that the means of two samples of one normal distribution are
/// this far apart (the pooled t-test, two-sided); none where there are too few values.
pub fn means_differ(left: &[f64], right: &[f64]) -> Option<f64> {
    let freedom = (left.len() + right.len()).checked_sub(2).filter(|freedom| *freedom > 0)? as f64;
    if left.is_empty() || right.is_empty() {
        return None;
    }
    let difference = (mean(left) - mean(right)).abs();
    let pooled = (squares_from_mean(left) + squares_from_mean(right)) / freedom;
    let error = (pooled * (1.0 / left.len() as f64 + 1.0 / right.len() as f64)).sqrt();
    if difference == 0.0 {
        return Some(1.0);
    }
    let beyond = StudentsT::new(0.0, 1.0, freedom).ok()?.sf(difference / error);
    Some((2.0 * beyond).min(1.0))
}

/// The number of standard errors on either side of the mean that hold the share `sure`, at
/// `freedom` degrees of freedom.
pub fn quantile_of_t(freedom: usize, sure: f64) -> f64 {
    let t = StudentsT::new(0.0, 1.0, freedom.max(1) as f64);
    t.map_or(f64::INFINITY, |t| t.inverse_cdf(0.5 + sure / 2.0))
}

/// The probability that a mean lies at least `errors` standard errors above the true one.
pub fn tail_of_t(freedom: usize, errors: f64) -> f64 {
    let t = StudentsT::new(0.0, 1.0, freedom.max(1) as f64);
    t.map_or(1.0, |t| t.sf(errors))
}

/// The standard deviation of a sample; none below two values.
pub fn standard_deviation(values: &[f64]) -> Option<f64> {
    let freedom = values.len().checked_sub(1).filter(|freedom| *freedom > 0)?;
    Some((squares_from_mean(values) / freedom as f64).sqrt())
}

/// The arithmetic mean.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The sum of the squared differences from the mean.
pub fn squares_from_mean(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `SciPy`: `ttest_ind([1, 2, 3, 4], [3, 4, 5, 6, 7])`; the tables: 2.776 for four degrees of
    /// freedom.
    #[test]
    fn as_scipy_and_the_tables_have_it() {
        let p = means_differ(&[1.0, 2.0, 3.0, 4.0], &[3.0, 4.0, 5.0, 6.0, 7.0]).unwrap();
        assert!((p - 0.038_333_728_836).abs() < 1e-9, "{p}");
        assert!((quantile_of_t(4, 0.95) - 2.776_445).abs() < 1e-5);
        assert!((tail_of_t(4, 2.776_445) - 0.025).abs() < 1e-6);
        assert!((standard_deviation(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap() - 2.5_f64.sqrt()) < 1e-12);
    }

    #[test]
    fn values_that_never_differ_leave_nothing_to_chance() {
        assert_eq!(means_differ(&[5.0, 5.0], &[5.0]), Some(1.0));
        assert_eq!(means_differ(&[5.0, 5.0], &[6.0]), Some(0.0));
        assert_eq!(means_differ(&[5.0], &[6.0]), None);
        assert_eq!(means_differ(&[5.0, 5.0], &[]), None);
        assert_eq!(standard_deviation(&[5.0]), None);
    }
}
