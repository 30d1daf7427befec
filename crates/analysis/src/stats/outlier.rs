//! Values that stand apart from the others.

use super::student::mean;
use statrs::distribution::{ContinuousCDF as _, StudentsT};

/// The places of values that lie too far from the others: among equal, normal ones there is any
/// with this chance. At most a third of them are looked for.
///
/// The generalized extreme Studentized deviate (B. Rosner, Technometrics 25, 1983): the value
/// farthest from the mean is taken away, one after the other; those up to the last that was too far
/// for what was left stand apart. Several do not hide each other.
pub fn outliers(values: &[f64], chance: f64) -> Vec<usize> {
    let n = values.len();
    let mut left: Vec<(usize, f64)> = values.iter().copied().enumerate().collect();
    let (mut taken, mut apart) = (Vec::new(), 0);
    for step in 1..=n.saturating_sub(1) / 3 {
        let known: Vec<f64> = left.iter().map(|(_, value)| *value).collect();
        let middle = mean(&known);
        let squares: f64 = known.iter().map(|value| (value - middle).powi(2)).sum();
        let deviation = (squares / (known.len() - 1) as f64).sqrt();
        let far = |(_, value): &(usize, f64)| (value - middle).abs();
        let by_distance = |a: &usize, b: &usize| far(&left[*a]).total_cmp(&far(&left[*b]));
        let Some(farthest) = (0..left.len()).max_by(by_distance) else { break };
        let studentized = far(&left[farthest]) / deviation;
        taken.push(left.remove(farthest).0);
        if critical(n, step, chance).is_some_and(|critical| studentized > critical) {
            apart = step;
        }
    }
    taken.truncate(apart);
    taken.sort_unstable();
    taken
}

/// What the step's deviate reaches with this chance, if nothing stands apart.
fn critical(n: usize, step: usize, chance: f64) -> Option<f64> {
    let (left, freedom) = ((n - step) as f64, (n - step).checked_sub(1)? as f64);
    let sure = 1.0 - chance / (2.0 * (left + 1.0));
    let t = StudentsT::new(0.0, 1.0, freedom).ok()?.inverse_cdf(sure);
    Some(left * t / ((freedom + t * t) * (left + 1.0)).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rosner's own values, and what he and the NIST/SEMATECH e-Handbook (1.3.5.17.3) find.
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
    fn one_among_equals_stands_apart_and_equals_do_not() {
        assert_eq!(outliers(&[5.0, 5.0, 5.0, 7.0, 5.0], 0.01), [3]);
        let none: [usize; 0] = [];
        assert_eq!(outliers(&[5.0; 9], 0.01), none);
        assert_eq!(outliers(&[], 0.01), none);
        assert_eq!(outliers(&[1.0, 9.0, 1.0], 0.01), none, "of three none can be told");
    }
}
