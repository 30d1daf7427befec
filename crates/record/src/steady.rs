//! Whether a rate has settled, and when a phase ends by that: the steady state of SNIA's Solid
//! State Storage Performance Test Specification (PTS 2.0.2, its definition of steady state).
//!
//! Over a window of five rounds, with `y` the figure of a round: the range of `y` is at most 20 %
//! of its mean, and the least-squares line through the five rises or falls by at most 10 % of the
//! mean from the first round to the last.

use crate::workload::Ends;

/// Rounds of a window.
pub const WINDOW: usize = 5;
/// After so many rounds a measurement counts as one that does not settle.
pub const ROUNDS_MAX: usize = 25;
/// The largest range, as a share of the mean.
const RANGE_MAX: f64 = 0.2;
/// The largest slope, as a share of the mean.
const SLOPE_MAX: f64 = 0.1;

/// The steadiness of a window of rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steadiness {
    /// The largest value minus the smallest, as a share of the mean.
    pub range: f64,
    /// How far the fitted line rises or falls over the window, as a share of the mean.
    pub slope: f64,
}

impl Steadiness {
    /// Whether both are within the specification's bounds.
    pub fn is_steady(&self) -> bool {
        self.range <= RANGE_MAX && self.slope <= SLOPE_MAX
    }
}

/// The steadiness of the rounds; none for fewer than two, or where nothing was done.
pub fn steadiness(rounds: &[f64]) -> Option<Steadiness> {
    let n = rounds.len() as f64;
    let mean = rounds.iter().sum::<f64>() / n;
    if rounds.len() < 2 || !mean.is_finite() || mean <= 0.0 {
        return None;
    }
    let middle = (n - 1.0) / 2.0;
    let (mut xy, mut xx) = (0.0, 0.0);
    for (index, y) in rounds.iter().enumerate() {
        let x = index as f64 - middle;
        xy += x * (y - mean);
        xx += x * x;
    }
    let most = rounds.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let least = rounds.iter().copied().fold(f64::INFINITY, f64::min);
    let slope = (xy / xx * (n - 1.0)).abs();
    Some(Steadiness { range: (most - least) / mean, slope: slope / mean })
}

/// When a phase ends by its own steadiness: after its least time, with the first slice that
/// completes a round, if the rate of each watched role is steady over the last five rounds. A round
/// is a fifth of the least time in whole slices, and at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndRule {
    least_slices: usize,
    round_slices: usize,
}

impl EndRule {
    /// The rule for a phase with slices of this length.
    pub fn new(least_ns: u64, slice_ns: u64) -> Self {
        let slice_ns = slice_ns.max(1);
        let round_slices = (least_ns / WINDOW as u64 / slice_ns).max(1);
        Self {
            least_slices: least_ns.div_ceil(slice_ns) as usize,
            round_slices: round_slices as usize,
        }
    }

    /// Slices of one round.
    pub fn round_slices(&self) -> usize {
        self.round_slices
    }

    /// The steadiness of the last five complete rounds; none before there are five. `counts` are
    /// the operations of each slice.
    pub fn last_rounds(&self, counts: &[u64]) -> Option<Steadiness> {
        let rounds = counts.chunks_exact(self.round_slices);
        let rounds: Vec<f64> = rounds.map(|slices| slices.iter().sum::<u64>() as f64).collect();
        steadiness(&rounds[rounds.len().checked_sub(WINDOW)?..])
    }

    /// Whether a phase ends after its first `slices`. Each of `roles` has its operations by slice.
    pub fn ends_after(&self, slices: usize, roles: &[impl AsRef<[u64]>]) -> bool {
        let is_steady = |role: &[u64]| {
            let last = role.get(..slices).and_then(|counts| self.last_rounds(counts));
            last.is_some_and(|last| last.is_steady())
        };
        slices >= self.least_slices
            && slices.is_multiple_of(self.round_slices)
            && !roles.is_empty()
            && roles.iter().all(|role| is_steady(role.as_ref()))
    }

    /// The number of slices after which a phase ends; none: its rates are steady in no window.
    pub fn end(&self, roles: &[impl AsRef<[u64]>]) -> Option<usize> {
        let slices = roles.iter().map(|role| role.as_ref().len()).min()?;
        (self.least_slices..=slices).find(|slices| self.ends_after(*slices, roles))
    }
}

/// The first window of five rounds in which every figure is steady: the index of its last round.
/// Each of `figures` has one value per round.
pub fn first_steady_round(figures: &[Vec<f64>]) -> Option<usize> {
    let rounds = figures.iter().map(Vec::len).min()?;
    (WINDOW..=rounds).find_map(|end| {
        let steady = figures.iter().all(|figure| {
            steadiness(&figure[end - WINDOW..end]).is_some_and(|window| window.is_steady())
        });
        steady.then_some(end - 1)
    })
}

impl Ends {
    /// Whether time ended a phase whose first role worked this long, and not a count.
    pub fn ended_by_time(&self, window_ns: u64) -> bool {
        let earliest_ns = self.least_ns.or(self.duration_ns);
        earliest_ns.is_some_and(|earliest_ns| window_ns >= earliest_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    /// By hand: mean 100, range 30; the line through them rises by 7.5 per round, 30 over four
    /// steps.
    #[test]
    fn a_line_has_its_slope_and_its_range() {
        let line = steadiness(&[85.0, 92.5, 100.0, 107.5, 115.0]).unwrap();
        assert!(close(line.range, 0.3) && close(line.slope, 0.3), "{line:?}");
        assert!(!line.is_steady());
    }

    /// The bounds themselves are within: range 20 % of the mean with no slope, slope 10 % exactly.
    #[test]
    fn the_bounds_are_steady_and_what_is_past_them_is_not() {
        assert!(steadiness(&[90.0, 110.0, 100.0, 110.0, 90.0]).unwrap().is_steady());
        assert!(!steadiness(&[89.0, 111.0, 100.0, 111.0, 89.0]).unwrap().is_steady());
        let gentle = [95.0, 97.5, 100.0, 102.5, 105.0];
        assert!(close(steadiness(&gentle).unwrap().slope, 0.1));
        let steep = [94.0, 97.0, 100.0, 103.0, 106.0];
        assert!(
            steadiness(&steep).unwrap().range < 0.2 && !steadiness(&steep).unwrap().is_steady()
        );
    }

    #[test]
    fn falling_is_as_bad_as_rising() {
        let rising = steadiness(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        assert_eq!(rising, steadiness(&[5.0, 4.0, 3.0, 2.0, 1.0]).unwrap());
    }

    #[test]
    fn all_figures_must_be_steady_in_the_same_window() {
        let settles = vec![400.0, 300.0, 200.0, 101.0, 100.0, 99.0, 100.0, 100.0];
        let later = vec![50.0, 50.0, 50.0, 50.0, 90.0, 50.0, 50.0, 50.0];
        assert_eq!(first_steady_round(std::slice::from_ref(&settles)), Some(7));
        assert_eq!(first_steady_round(&[settles, later]), None);
        assert_eq!(first_steady_round(&[vec![1.0; 4]]), None);
        assert_eq!(first_steady_round(&[vec![1.0; 5]]), Some(4));
        assert_eq!(first_steady_round(&[]), None);
    }

    #[test]
    fn nothing_done_is_not_steady() {
        assert_eq!(steadiness(&[0.0; 5]), None);
        assert_eq!(steadiness(&[1.0]), None);
        assert_eq!(steadiness(&[]), None);
    }

    const SECOND: u64 = 1_000_000_000;

    /// Five rounds of two slices, at the earliest after ten.
    fn rule() -> EndRule {
        EndRule::new(10 * SECOND, SECOND)
    }

    #[test]
    fn a_constant_rate_ends_at_the_least_time() {
        assert_eq!(rule().end(&[vec![100; 9]]), None, "it is not over yet");
        assert_eq!(rule().end(&[vec![100; 30]]), Some(10));
        assert_eq!(rule().end(&Vec::<Vec<u64>>::new()), None, "nothing is watched");
        assert_eq!(rule().end(&[vec![0; 30]]), None, "nothing was done");
    }

    /// The rate falls for 8 s: the first window without those seconds ends after 18 s.
    #[test]
    fn a_rate_that_settles_ends_when_five_rounds_agree() {
        let mut counts = vec![900, 850, 700, 650, 500, 450, 300, 250];
        counts.extend([100; 30]);
        assert_eq!(rule().end(std::slice::from_ref(&counts)), Some(18));
        // The slices within a round may differ: their sum counts.
        let uneven: Vec<u64> = (0..30).map(|slice| if slice % 2 == 0 { 20 } else { 180 }).collect();
        assert_eq!(rule().end(std::slice::from_ref(&uneven)), Some(10));
        assert_eq!(rule().end(&[uneven, counts]), Some(18), "all must be steady together");
    }

    #[test]
    fn a_rate_that_goes_on_moving_never_ends() {
        let rises: Vec<u64> = (0..60).map(|slice| 100 << (slice / 4)).collect();
        assert_eq!(rule().end(std::slice::from_ref(&rises)), None);
        let last = rule().last_rounds(&rises).unwrap();
        assert!(last.range > 0.2 && last.slope > 0.1, "{last:?}");
    }

    /// Rounds are whole slices, at least one each, and never longer than a fifth.
    #[test]
    fn rounds_are_whole_slices() {
        let rounds = |least: u64, slice: u64| EndRule::new(least, slice).round_slices();
        assert_eq!([rounds(10, 1), rounds(14, 1), rounds(5, 1), rounds(3, 1)], [2, 2, 1, 1]);
        // 14 s: rounds end at even seconds, and the first window ends at the least time.
        assert_eq!(EndRule::new(14 * SECOND, SECOND).end(&[vec![100; 30]]), Some(14));
        assert_eq!(EndRule::new(13 * SECOND, SECOND).end(&[vec![100; 30]]), Some(14));
    }
}
