//! The rule of judgement, the only one: whether one of two things is larger, by how much, or how
//! many more repeats would tell.
//!
//! Repeats are **pairs**: two things measured next to each other, in a random order. The rule
//! judges the logarithm of each pair's ratio: what slows both of a pair cancels. At 4, 6, 8, 12,
//! 16, 24 and 32 pairs Student's interval of their mean is looked at, two-sided, at a nominal 1 %:
//!
//! - it excludes 0 (or a known bias around it): the two differ, by the mean, within the interval;
//! - else it lies within `within` of 0 on both sides: they are equal, as far as was asked;
//! - else it is undecided, and more pairs may tell.
//!
//! A run that stops as soon as it is decided looks seven times at most. It calls equals different
//! in about 5 of 100 cases with normal noise, and in 3 with heavy-tailed or spiky noise: the tests
//! here count it.
//!
//! Measurements of different times are no pairs: a **run** of each is then one repeat, whatever the
//! number of its trials, and the runs' own scatter makes the interval. A **bound** is judged as the
//! other of a pair that never varies. Several figures of one gate share its 1 % (Holm).

pub use crate::stats::LEAST;
use crate::stats::{mean, quantile_of_t, squares_from_mean, standard_deviation, tail_of_t};
use kvdyno_record::plan::WITHIN;
use std::sync::OnceLock;

/// The numbers of pairs at which a run looks whether it may stop.
pub const LOOKS: [usize; 7] = [LEAST, 6, 8, 12, 16, 24, 32];

/// The confidence of the interval at each look.
pub const CONFIDENCE: f64 = 0.99;

/// The largest number of further repeats that is reported: nobody waits for more.
const MORE_MAX: usize = 1000;

/// The decision that the repeats allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The two differ: the interval of their ratio excludes 1.
    Different,
    /// They are equal within the share that was asked for.
    Equal,
    /// Neither is certain.
    Undecided,
}

/// The judgement of two things.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judgement {
    /// The new over the base: the geometric mean of the ratios.
    pub ratio: f64,
    /// The lower end of its interval; none: too few repeats.
    pub low: Option<f64>,
    /// The upper end of it.
    pub high: Option<f64>,
    /// The decision.
    pub decision: Decision,
    /// About how many more pairs, or runs of each, would decide; none: it is decided, or more than
    /// 1,000.
    pub more: Option<usize>,
    /// The mean behind it; none: too few repeats.
    pub mean: Option<Mean>,
}

/// A mean with what is known of its error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    /// The mean: of logarithms of ratios, where two things are compared.
    pub value: f64,
    /// Its standard error.
    pub error: f64,
    /// The degrees of freedom of that error.
    pub freedom: usize,
}

/// The margins of a judgement, as shares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Margins {
    /// Two things that differ by less are equal.
    pub within: f64,
    /// A difference below this may be a bias that no number of pairs removes, such as the layout of
    /// a build in memory.
    pub bias: f64,
}

impl Default for Margins {
    fn default() -> Self {
        Self { within: WITHIN, bias: 0.0 }
    }
}

/// Judges pairs of a base and a new value, all above 0; none without a pair.
pub fn judge(pairs: &[(f64, f64)], margins: Margins) -> Option<Judgement> {
    let logs: Vec<f64> = pairs.iter().map(|(base, new)| (new / base).ln()).collect();
    if logs.is_empty() || logs.iter().any(|log| !log.is_finite()) {
        return None;
    }
    Some(judge_logs(&logs, margins))
}

/// Judges pairs by the logarithms of their ratios.
fn judge_logs(logs: &[f64], margins: Margins) -> Judgement {
    let n = logs.len();
    let Some(scatter) = standard_deviation(logs).filter(|_| n >= LEAST) else {
        return Judgement::too_few(mean(logs), LEAST - n);
    };
    Judgement::decide(margins, |more| Mean::from_scatter(mean(logs), scatter, n + more))
}

/// Judges values of a base and of the new side that were measured at different times, one value per
/// run, all above 0; none where a side has none.
pub fn judge_runs(base: &[f64], new: &[f64], margins: Margins) -> Option<Judgement> {
    let [base, new] = [base, new].map(|runs| runs.iter().map(|v| v.ln()).collect::<Vec<f64>>());
    let (b, n) = (base.len(), new.len());
    if b.min(n) == 0 || base.iter().chain(&new).any(|log| !log.is_finite()) {
        return None;
    }
    let value = mean(&new) - mean(&base);
    if b + n < LEAST {
        return Some(Judgement::too_few(value, (LEAST - b - n).div_ceil(2)));
    }
    let freedom = b + n - 2;
    let scatter = ((squares_from_mean(&base) + squares_from_mean(&new)) / freedom as f64).sqrt();
    let with_more = |more: usize| {
        let [b, n] = [b, n].map(|runs| (runs + more) as f64);
        Mean { value, error: scatter * (1.0 / b + 1.0 / n).sqrt(), freedom: freedom + 2 * more }
    };
    Some(Judgement::decide(margins, with_more))
}

impl Judgement {
    fn too_few(log: f64, missing: usize) -> Self {
        let (low, high, mean) = (None, None, None);
        let decision = Decision::Undecided;
        Self { ratio: log.exp(), low, high, decision, more: Some(missing), mean }
    }

    /// Decides by the mean of the present repeats; where that is undecided, finds how many more
    /// would decide if mean and scatter stay as they are.
    fn decide(margins: Margins, with_more: impl Fn(usize) -> Mean) -> Self {
        let [within, bias] = [margins.within, margins.bias].map(f64::ln_1p);
        let decide = |mean: Mean| {
            let (low, high) = mean.interval();
            if low > bias || high < -bias {
                Decision::Different
            } else if -within <= low && high <= within {
                Decision::Equal
            } else {
                Decision::Undecided
            }
        };
        let mean = with_more(0);
        let (low, high) = mean.interval();
        Self {
            ratio: mean.value.exp(),
            low: Some(low.exp()),
            high: Some(high.exp()),
            decision: decide(mean),
            more: more_repeats(|n| decide(with_more(n)) != Decision::Undecided),
            mean: Some(mean),
        }
    }
}

/// About how many more repeats decide; none: none is needed, or too many are.
fn more_repeats(decides: impl Fn(usize) -> bool) -> Option<usize> {
    if decides(0) {
        return None;
    }
    // An approximate number will do: each guess is a tenth more.
    let guesses = std::iter::successors(Some(1), |n| Some(n + (n / 10).max(1)));
    guesses.take_while(|n| *n <= MORE_MAX).find(|n| decides(*n))
}

impl Mean {
    /// The mean of `n` values with this standard deviation.
    fn from_scatter(value: f64, scatter: f64, n: usize) -> Self {
        Self { value, error: scatter / (n as f64).sqrt(), freedom: n - 1 }
    }

    /// Student's interval.
    pub fn interval(&self) -> (f64, f64) {
        let reach = quantile(self.freedom) * self.error;
        (self.value - reach, self.value + reach)
    }

    /// The two-sided probability of a mean this far above a bound by chance; 1 below it.
    fn chance_above(&self, bound: f64) -> f64 {
        match self.value - bound {
            beyond if beyond <= 0.0 => 1.0,
            _ if self.error == 0.0 => 0.0,
            beyond => 2.0 * tail_of_t(self.freedom, beyond / self.error),
        }
    }
}

/// The number of standard errors on either side of the mean that make the interval. Each number is
/// computed once: a judgement that is open asks for dozens.
fn quantile(freedom: usize) -> f64 {
    static KNOWN: [OnceLock<f64>; 2 * MORE_MAX] = [const { OnceLock::new() }; 2 * MORE_MAX];
    let compute = || quantile_of_t(freedom, CONFIDENCE);
    KNOWN.get(freedom).map_or_else(compute, |known| *known.get_or_init(compute))
}

/// Tells which means are above the bound. If none is, it finds none in 99 of 100 cases.
pub fn means_above(means: &[Mean], bound: f64) -> Vec<bool> {
    holm_correction(&means.iter().map(|mean| mean.chance_above(bound)).collect::<Vec<_>>())
}

/// Tells which differences are not chance, by the probability of each. If all are chance, it finds
/// none in 99 of 100 cases (S. Holm, Scandinavian Journal of Statistics 6, 1979).
pub(crate) fn holm_correction(chances: &[f64]) -> Vec<bool> {
    let mut order: Vec<usize> = (0..chances.len()).collect();
    order.sort_by(|a, b| chances[*a].total_cmp(&chances[*b]));
    let mut differs = vec![false; chances.len()];
    for (tested, index) in order.into_iter().enumerate() {
        if chances[index] > (1.0 - CONFIDENCE) / (chances.len() - tested) as f64 {
            break;
        }
        differs[index] = true;
    }
    differs
}

/// How values of a condition are averaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// By their logarithms; as they are where one is 0 or below.
    Ratios,
    /// As they are: they may lie on either side of 0.
    Differences,
}

/// Whether a value lies between two bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounded {
    /// The mean over trials: geometric for ratios.
    pub value: f64,
    /// The interval; none: too few trials.
    pub interval: Option<(f64, f64)>,
    /// Whether the value is certainly between them, or certainly not; none: undecided.
    pub inside: Option<bool>,
    /// Whether it equals a bound within the margin; then it is not inside.
    pub equal: bool,
    /// About how many more trials would decide; none: it is decided, or more than 1,000.
    pub more: Option<usize>,
}

/// Judges the values of all trials against two bounds, the lower one first; none without values, or
/// where a value is not finite. A ratio that differs from a bound by less than the share `within`
/// is equal to it.
pub fn judge_bounds(
    values: &[f64],
    (low, high): (f64, f64),
    scale: Scale,
    within: Option<f64>,
) -> Option<Bounded> {
    if values.is_empty() || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let ratios = scale == Scale::Ratios && values.iter().all(|value| *value > 0.0);
    let scale = |value: f64| if ratios { value.max(0.0).ln() } else { value };
    let back = |value: f64| if ratios { value.exp() } else { value };
    let scaled: Vec<f64> = values.iter().map(|value| scale(*value)).collect();
    let (n, bounds) = (scaled.len(), (scale(low), scale(high)));
    let value = back(mean(&scaled));
    let Some(scatter) = standard_deviation(&scaled).filter(|_| n >= LEAST) else {
        let (interval, inside, equal) = (None, None, false);
        return Some(Bounded { value, interval, inside, equal, more: Some(LEAST - n) });
    };
    let with_more = |more| Mean::from_scatter(mean(&scaled), scatter, n + more).interval();
    let reach = within.filter(|_| ratios).map(f64::ln_1p);
    let equals = |(least, most): (f64, f64)| {
        let is_at = |bound: f64| least <= bound && bound <= most;
        let is_near = |bound: f64, reach| bound - reach <= least && most <= bound + reach;
        let is_equal = |bound| is_at(bound) && reach.is_some_and(|reach| is_near(bound, reach));
        is_equal(bounds.0) || is_equal(bounds.1)
    };
    let inside = |(least, most): (f64, f64)| {
        let outside = most < bounds.0 || least > bounds.1 || equals((least, most));
        (outside || (least >= bounds.0 && most <= bounds.1)).then_some(!outside)
    };
    let (least, most) = with_more(0);
    Some(Bounded {
        value,
        interval: Some((back(least), back(most))),
        inside: inside((least, most)),
        equal: equals((least, most)),
        more: more_repeats(|n| inside(with_more(n)).is_some()),
    })
}

/// `about 14 more pairs`.
pub fn more_in_words(more: Option<usize>, what: &str) -> String {
    match more {
        Some(1) => format!("about 1 more {what}"),
        Some(n) => format!("about {n} more {what}s"),
        None => format!("over 1,000 more {what}s"),
    }
}

/// The number of pairs at the look after `pairs`; none: it was the last.
pub fn next_look(pairs: usize) -> Option<usize> {
    LOOKS.into_iter().find(|look| *look > pairs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Random;

    /// A generator of one pair's noise.
    type Noise = fn(&mut Random) -> f64;

    /// The number of pairs until a decision, and the decision.
    fn run(random: &mut Random, noise: Noise, scatter: f64, effect: f64) -> (usize, Decision) {
        let mut logs = Vec::new();
        for look in LOOKS {
            logs.resize_with(look, || (1.0 + effect).ln() + scatter * noise(random));
            let judgement = judge_logs(&logs, Margins::default());
            if judgement.decision != Decision::Undecided {
                return (look, judgement.decision);
            }
        }
        (logs.len(), Decision::Undecided)
    }

    /// The share of runs that end in `decision`, and the mean number of their pairs.
    fn share(decision: Decision, noise: Noise, scatter: f64, effect: f64) -> (f64, f64) {
        const RUNS: u32 = 2000;
        let mut random = Random::new(11);
        let ends: Vec<_> = (0..RUNS).map(|_| run(&mut random, noise, scatter, effect)).collect();
        let matching = ends.iter().filter(|(_, end)| *end == decision).count();
        let pairs: usize = ends.iter().map(|(pairs, _)| pairs).sum();
        (matching as f64 / f64::from(RUNS), pairs as f64 / f64::from(RUNS))
    }

    #[test]
    fn equals_are_called_different_in_less_than_one_of_twenty() {
        // A scatter at which equality within 3 % is not found first.
        for (name, noise) in [
            ("normal", Random::normal as Noise),
            ("heavy-tailed", Random::heavy_tailed),
            ("spiky", Random::spiky),
        ] {
            let (alarms, _) = share(Decision::Different, noise, 0.2, 0.0);
            assert!(alarms <= 0.06, "{name}: {alarms}");
        }
    }

    #[test]
    fn a_difference_is_found_with_few_pairs_where_it_is_large() {
        for (scatter, effect, least, pairs_max) in
            [(0.03, 0.10, 0.99, 6.0), (0.05, 0.10, 0.99, 8.0), (0.10, 0.20, 0.99, 9.0)]
        {
            let (power, pairs) = share(Decision::Different, Random::normal, scatter, effect);
            assert!(power >= least && pairs <= pairs_max, "{scatter} {effect}: {power} {pairs}");
        }
        let (equal, _) = share(Decision::Equal, Random::normal, 0.02, 0.0);
        assert!(equal >= 0.95, "{equal}");
    }

    #[test]
    fn more_pairs_never_find_less() {
        let mut random = Random::new(3);
        let mut before = 0;
        for n in 4..=32 {
            let different = (0..500).filter(|_| {
                let logs: Vec<f64> = (0..n).map(|_| 0.05 + 0.06 * random.normal()).collect();
                judge_logs(&logs, Margins::default()).decision == Decision::Different
            });
            let different = different.count();
            assert!(different + 40 >= before, "{n}: {different} after {before}");
            before = before.max(different);
        }
    }

    #[test]
    fn what_slows_both_of_a_pair_does_not_matter() {
        let pairs: Vec<(f64, f64)> =
            (1..=6_u32).map(f64::from).map(|slow| (100.0 * slow, 120.0 * slow)).collect();
        let judgement = judge(&pairs, Margins::default()).unwrap();
        assert_eq!((judgement.decision, judgement.more), (Decision::Different, None));
        assert!((judgement.ratio - 1.2).abs() < 1e-9);
    }

    #[test]
    fn what_is_undecided_says_how_many_more_pairs_it_takes() {
        let three = judge(&[(1.0, 2.0), (1.0, 2.1), (1.0, 1.9)], Margins::default()).unwrap();
        assert_eq!((three.decision, three.low, three.more), (Decision::Undecided, None, Some(1)));
        let pairs = [(1.0, 1.1), (1.0, 0.98), (1.0, 1.15), (1.0, 1.02)];
        let wide = judge(&pairs, Margins::default()).unwrap();
        assert_eq!(wide.decision, Decision::Undecided);
        let more = wide.more.unwrap();
        assert!((4..60).contains(&more), "{wide:?}");
        assert_eq!(judge(&[], Margins::default()), None);
        assert_eq!(judge(&[(0.0, 1.0)], Margins::default()), None);
        assert_eq!((next_look(4), next_look(32)), (Some(6), None));
    }

    /// With 3 % within a run and 10 % between runs, equals are called different as often as at any
    /// one look, and a real difference is found by a few runs of each.
    #[test]
    fn runs_are_judged_by_their_own_scatter() {
        let mut random = Random::new(5);
        let mut share = |runs: [usize; 2], effect: f64| {
            let different = (0..2000).filter(|_| {
                let mut side = |n: usize, effect: f64| {
                    (0..n).map(|_| (effect + 0.1 * random.normal()).exp()).collect::<Vec<_>>()
                };
                let (base, new) = (side(runs[0], 0.0), side(runs[1], effect));
                let judgement = judge_runs(&base, &new, Margins::default()).unwrap();
                judgement.decision == Decision::Different
            });
            different.count() as f64 / 2000.0
        };
        for runs in [[4, 1], [2, 2], [3, 5], [8, 8]] {
            assert!(share(runs, 0.0) <= 0.02, "{runs:?}");
        }
        assert!(share([8, 8], 0.3) > 0.95);
        let few = judge_runs(&[1.0], &[2.0], Margins::default()).unwrap();
        assert_eq!((few.decision, few.low, few.more), (Decision::Undecided, None, Some(1)));
        assert_eq!(judge_runs(&[1.0], &[], Margins::default()), None);
        assert_eq!(judge_runs(&[1.0; 4], &[0.0], Margins::default()), None);
    }

    #[test]
    fn a_bound_is_judged_by_trials() {
        let inside = |values: &[f64], bounds| {
            judge_bounds(values, bounds, Scale::Ratios, None).unwrap().inside
        };
        let about_two = [2.0, 2.1, 1.9, 2.05];
        assert_eq!(inside(&about_two, (1.0, f64::INFINITY)), Some(true));
        assert_eq!(inside(&about_two, (0.0, 1.5)), Some(false));
        assert_eq!(inside(&about_two, (1.99, 2.5)), None);
        assert_eq!(inside(&about_two[..3], (0.1, f64::INFINITY)), None);
        // A difference may be below 0, and four above it do not prove that it is not.
        let difference = |values: &[f64], bounds| {
            judge_bounds(values, bounds, Scale::Differences, None).unwrap().inside
        };
        let below = [-1.0, -1.2, -0.9, -1.1];
        assert_eq!(difference(&below, (f64::NEG_INFINITY, 0.0)), Some(true));
        assert_eq!(difference(&[5.0, 0.1, 9.0, 0.2], (0.0, f64::INFINITY)), None);
        let open = judge_bounds(&about_two, (1.95, 2.5), Scale::Ratios, None).unwrap();
        assert!(open.inside.is_none() && open.more.is_some_and(|n| n > 0), "{open:?}");
        assert_eq!(judge_bounds(&[], (0.0, 1.0), Scale::Ratios, None), None);
        assert_eq!(judge_bounds(&[f64::NAN; 4], (0.0, 1.0), Scale::Ratios, None), None);
    }

    #[test]
    fn what_equals_a_bound_is_not_beyond_it() {
        let judged = |values: &[f64], within| {
            let bounds = (1.0, f64::INFINITY);
            let judged = judge_bounds(values, bounds, Scale::Ratios, within).unwrap();
            (judged.inside, judged.equal)
        };
        let about_one = [1.001, 0.999, 1.002, 0.998];
        assert_eq!(judged(&about_one, None), (None, false));
        assert_eq!(judged(&about_one, Some(0.03)), (Some(false), true));
        assert_eq!(judged(&[1.0; 4], Some(0.03)), (Some(false), true));
        // A small difference that is certain is a difference.
        assert_eq!(judged(&[1.010, 1.011, 1.009, 1.010], Some(0.03)), (Some(true), false));
        assert_eq!(judged(&[1.0, 1.1, 0.9, 1.05], Some(0.03)), (None, false));
    }

    #[test]
    fn several_figures_of_a_gate_share_its_chance() {
        let mean = |value: f64| Mean { value, error: 0.01, freedom: 10 };
        // Alone it is past the bound; among ten it may be chance.
        let near = mean(0.05 + 0.034);
        assert_eq!(means_above(&[near], 0.05), [true]);
        let mut ten = vec![mean(0.0); 9];
        ten.push(near);
        assert!(means_above(&ten, 0.05).iter().all(|above| !above));
        ten.push(mean(0.2));
        assert_eq!(means_above(&ten, 0.05).iter().filter(|above| **above).count(), 1);
        let mut random = Random::new(9);
        let alarms = (0..2000).filter(|_| {
            let means: Vec<Mean> = (0..10)
                .map(|_| {
                    let logs: Vec<f64> = (0..6).map(|_| 0.05 * random.normal()).collect();
                    judge_logs(&logs, Margins::default()).mean.unwrap()
                })
                .collect();
            means_above(&means, 0.0).contains(&true)
        });
        assert!(alarms.count() <= 30, "more than 1.5 %");
    }
}
