//! Outliers.

use super::student::mean;
use statrs::distribution::{ContinuousCDF as _, StudentsT};

/// Returns the indices of values that lie too far from the others. For values of one normal
/// distribution, `chance` is the probability of any. At most a third of the values are tested.
///
/// The generalized extreme Studentized deviate (B. Rosner, Technometrics 25, 1983): removes the
/// value farthest from the mean, one after the other; the outliers are those up to the last that
/// was too far from the rest. Several outliers do not hide each other.
pub fn outliers(values: &[f64], chance: f64) -> Vec<usize> {
    let n = values.len();
    let mut remaining: Vec<(usize, f64)> = values.iter().copied().enumerate().collect();
    let (mut removed, mut outlier_count) = (Vec::new(), 0);
    for step in 1..=n.saturating_sub(1) / 3 {
        let values_left: Vec<f64> = remaining.iter().map(|(_, value)| *value).collect();
        let middle = mean(&values_left);
        let squares: f64 = values_left.iter().map(|value| (value - middle).powi(2)).sum();
        let deviation = (squares / (values_left.len() - 1) as f64).sqrt();
        let far = |(_, value): &(usize, f64)| (value - middle).abs();
        let by_distance =
            |a: &usize, b: &usize| far(&remaining[*a]).total_cmp(&far(&remaining[*b]));
        let Some(farthest) = (0..remaining.len()).max_by(by_distance) else { break };
        let studentized = far(&remaining[farthest]) / deviation;
        removed.push(remaining.remove(farthest).0);
        if critical(n, step, chance).is_some_and(|critical| studentized > critical) {
            outlier_count = step;
        }
    }
    removed.truncate(outlier_count);
    removed.sort_unstable();
    removed
}

/// Returns the critical value of a step's deviate at this chance; none if too few values remain.
fn critical(n: usize, step: usize, chance: f64) -> Option<f64> {
    let (remaining, freedom) = ((n - step) as f64, (n - step).checked_sub(1)? as f64);
    let sure = 1.0 - chance / (2.0 * (remaining + 1.0));
    let t = StudentsT::new(0.0, 1.0, freedom).ok()?.inverse_cdf(sure);
    Some(remaining * t / ((freedom + t * t) * (remaining + 1.0)).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rosner's values, and the outliers that he and the NIST/SEMATECH e-Handbook (1.3.5.17.3)
    /// find.
    #[test]
    fn as_rosner_found_them() {
        let values = [
            -0.25, 0.68, 0.94, 1.15, 1.20, 1.26, 1.26, 1.34, 1.38, 1.43, 1.49, 1.49, 1.55, 1.56,
            1.58, 1.65, 1.69, 1.70, 1.76, 1.77, 1.81, 1.91, 1.94, 1.96, 1.99, 2.06, 2.09, 2.10,
            2.14, 2.15, 2.23, 2.24, 2.26, 2.35, 2.37, 2.40, 2.47, 2.54, 2.62, 2.64, 2.90, 2.92,
            2.92, 2.93, 3.21, 3.26, 3.30, 3.59, 3.68, 4.30, 4.64, 5.34, 5.42, 6.01,
        ];
        assert_eq!(outliers(&values, 0.05), [51, 52, 53]);
        for (step, published) in [(1, 3.158), (2, 3.151), (3, 3.143)] {
            let critical = critical(values.len(), step, 0.05).unwrap();
            assert!((critical - published).abs() < 0.001, "{step}: {critical}");
        }
    }

    #[test]
    fn one_among_equals_is_an_outlier_and_equals_are_not() {
        assert_eq!(outliers(&[5.0, 5.0, 5.0, 7.0, 5.0], 0.01), [3]);
        let none: [usize; 0] = [];
        assert_eq!(outliers(&[5.0; 9], 0.01), none);
        assert_eq!(outliers(&[], 0.01), none);
        assert_eq!(outliers(&[1.0, 9.0, 1.0], 0.01), none, "three values are too few");
    }
}
