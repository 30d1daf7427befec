//! Where a series of figures changes its level: E-divisive (Matteson and James, "A Nonparametric
//! Approach for Multiple Change Point Analysis of Multivariate Data", 2014), with Student's t in
//! place of permutations and a second pass that removes weak points (Fleming and others, "Hunter:
//! Using Change Point Detection to Hunt for Performance Regressions", 2023). The same series
//! always gives the same answer.

use super::student::{mean, means_differ};
use std::ops::Range;

/// A point's probability by chance is below this: `WEAK` in the search, `STRONG` in the result.
const WEAK: f64 = 0.01;
const STRONG: f64 = 0.001;
/// Points are searched in windows of this many values, each half a window further: a large change
/// far away hides no small one.
const WINDOW: usize = 50;

/// The indices at which a new level starts, in order. Levels closer than the share `least` count as
/// one.
pub fn change_points(values: &[f64], least: f64) -> Vec<usize> {
    let mut points = Vec::new();
    let mut start = 0;
    while start < values.len() {
        let end = values.len().min(start + WINDOW);
        let window_points = find_points(&values[start..end]);
        let last = window_points.iter().max().map_or(0, |last| start + last);
        points.extend(window_points.into_iter().map(|point| start + point));
        start = last.max(start + WINDOW / 2);
    }
    points.sort_unstable();
    points.dedup();
    remove_weak_points(values, points, least)
}

/// Divides where the two sides differ most, and again inside them, until chance explains the rest.
fn find_points(values: &[f64]) -> Vec<usize> {
    let mut points: Vec<usize> = Vec::new();
    loop {
        let best = levels(&points, values.len())
            .filter_map(|level| find_best_split(values, level))
            .max_by(|(_, a), (_, b)| a.total_cmp(b));
        let Some((point, _)) = best else { return points };
        let index = points.partition_point(|other| *other < point);
        let (before, after) = points.split_at(index);
        let (left, right) = split_at_point(values, before, point, after);
        if means_differ(left, right).is_none_or(|p| p >= WEAK) {
            return points;
        }
        points.insert(index, point);
    }
}

/// Removes the weakest point while there is one that chance may have made, or that is too small to
/// matter.
fn remove_weak_points(values: &[f64], mut points: Vec<usize>, least: f64) -> Vec<usize> {
    loop {
        let judged = (0..points.len()).map(|index| {
            let (left, right) =
                split_at_point(values, &points[..index], points[index], &points[index + 1..]);
            (
                index,
                means_differ(left, right).unwrap_or(1.0),
                relative_difference(mean(left), mean(right)),
            )
        });
        let judged: Vec<(usize, f64, f64)> = judged.collect();
        let by_chance = judged.iter().max_by(|a, b| a.1.total_cmp(&b.1)).filter(|p| p.1 >= STRONG);
        let small = judged.iter().min_by(|a, b| a.2.total_cmp(&b.2)).filter(|p| p.2 <= least);
        let Some((index, ..)) = by_chance.or(small) else { return points };
        points.remove(*index);
    }
}

/// The difference of the two, as a share of the smaller.
fn relative_difference(left: f64, right: f64) -> f64 {
    let (small, large) = (left.abs().min(right.abs()), left.abs().max(right.abs()));
    if large == 0.0 { 0.0 } else { (right - left).abs() / small }
}

/// The values on both sides of `point`, up to the points before and after it.
fn split_at_point<'v>(
    values: &'v [f64],
    before: &[usize],
    point: usize,
    after: &[usize],
) -> (&'v [f64], &'v [f64]) {
    let from = before.last().copied().unwrap_or(0);
    let to = after.first().copied().unwrap_or(values.len());
    (&values[from..point], &values[point..to])
}

/// Returns the ranges between the points.
fn levels(points: &[usize], all: usize) -> impl Iterator<Item = Range<usize>> {
    let from = std::iter::once(0).chain(points.iter().copied());
    let to = points.iter().copied().chain(std::iter::once(all));
    from.zip(to).map(|(from, to)| from..to)
}

/// Returns the point of a range with the largest energy distance between its two sides, and that
/// distance. The right side may end before the range does.
fn find_best_split(values: &[f64], level: Range<usize>) -> Option<(usize, f64)> {
    let values_in_level = &values[level.clone()];
    let mut best: Option<(usize, f64)> = None;
    for point in 1..values_in_level.len() {
        let (left, right) = values_in_level.split_at(point);
        let within_left = sum_distances(left);
        // Sums of distances between the two sides, and inside the right side, which grows.
        let (mut between, mut within_right) = (0.0, 0.0);
        for (index, value) in right.iter().enumerate() {
            between += left.iter().map(|other| (value - other).abs()).sum::<f64>();
            within_right += right[..index].iter().map(|other| (value - other).abs()).sum::<f64>();
            let energy = energy([left.len(), index + 1], between, [within_left, within_right]);
            if best.is_none_or(|(_, most)| energy > most) {
                best = Some((level.start + point, energy));
            }
        }
    }
    best
}

/// The sum of the distances of all pairs.
fn sum_distances(values: &[f64]) -> f64 {
    let distances = |(index, value): (usize, &f64)| {
        values[..index].iter().map(|other| (value - other).abs()).sum::<f64>()
    };
    values.iter().enumerate().map(distances).sum()
}

/// The scaled energy distance of two samples of `n` and `m` values, from the sums of the distances
/// between and within them.
fn energy([n, m]: [usize; 2], between: f64, within: [f64; 2]) -> f64 {
    let (n, m) = (n as f64, m as f64);
    // A single value has no pair inside.
    let inside = |sum: f64, count: f64, other: f64| match count {
        1.0 => 0.0,
        count => 2.0 * other / (count - 1.0) * sum,
    };
    (2.0 * between - inside(within[0], n, m) - inside(within[1], m, n)) / (n + m)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values about `level` that differ by up to 2 %, always the same ones.
    fn about(level: f64, count: usize) -> impl Iterator<Item = f64> {
        let noise = [0.3, -0.7, 1.0, -0.2, 0.6, -1.0, 0.1, -0.5, 0.8, -0.4];
        (0..count).map(move |at| level * (1.0 + noise[at % noise.len()] / 50.0))
    }

    #[test]
    fn a_step_is_found_where_it_is_and_a_level_has_none() {
        let level: Vec<f64> = about(100.0, 60).collect();
        assert_eq!(change_points(&level, 0.0), Vec::<usize>::new());
        for after in [3, 5, 20] {
            let stepped: Vec<f64> = about(100.0, 20).chain(about(90.0, after)).collect();
            assert_eq!(change_points(&stepped, 0.0), [20], "{after}");
        }
    }

    #[test]
    fn a_long_series_has_all_its_steps_and_a_small_one_is_not_hidden_by_a_large_one() {
        let levels = [(100.0, 80), (96.0, 60), (300.0, 40), (100.0, 90)];
        let series: Vec<f64> = levels.into_iter().flat_map(|(l, n)| about(l, n)).collect();
        assert_eq!(change_points(&series, 0.01), [80, 140, 180]);
        assert_eq!(change_points(&series, 0.1), [140, 180]);
    }

    #[test]
    fn a_single_outlier_is_no_level() {
        let mut series: Vec<f64> = about(100.0, 30).collect();
        series[15] = 103.0;
        assert_eq!(change_points(&series, 0.01), Vec::<usize>::new());
    }

    #[test]
    fn the_few_and_the_equal() {
        for few in [&[][..], &[1.0], &[1.0, 2.0], &[0.0, 0.0, 0.0], &[7.0; 60]] {
            assert_eq!(change_points(few, 0.0), Vec::<usize>::new(), "{few:?}");
        }
        assert_eq!(change_points(&[7.0, 7.0, 7.0, 8.0, 8.0], 0.0), [3]);
    }
}
