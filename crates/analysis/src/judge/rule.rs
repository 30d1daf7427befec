//! The rule of judgement, the only one: whether one of two things is larger, by how much, or how
//! many more pairs would tell.
//!
//! Two things are measured next to each other, in a drawn order, pair by pair. What judges is the
//! logarithm of each pair's ratio: what slows both of a pair cancels. At 4, 6, 8, 12, 16, 24 and 32
//! pairs Student's interval of their mean is looked at, two-sided, at a nominal 1 %:
//!
//! - it excludes 0 (or a known bias around it): the two differ, by the mean, within the interval;
//! - else it lies within `within` of 0 on both sides: they are equal, as far as was asked;
//! - else it is undecided, and more pairs may tell.
//!
//! Who stops as soon as it is decided looks seven times at most, and calls equals different in
//! about 5 of 100 cases with normal noise, and in 3 with heavy-tailed or spiky noise: the tests
//! here count it.

use crate::stats::{mean, mean_within, quantile_of_t, standard_deviation};

/// The numbers of pairs at which a run looks whether it may stop.
pub const LOOKS: [usize; 7] = [4, 6, 8, 12, 16, 24, 32];

/// The confidence of the interval at each look.
pub const CONFIDENCE: f64 = 0.99;

/// By default, two things that differ by less are equal.
pub const WITHIN: f64 = 0.03;

/// Beyond so many pairs nobody waits.
const PAIRS_MAX: usize = 1000;

/// What the pairs say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The two differ: the interval of their ratio excludes 1.
    Different,
    /// They are equal within the share that was asked for.
    Equal,
    /// Neither is certain.
    Undecided,
}

/// The judgement of pairs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judgement {
    /// Pairs that were judged.
    pub pairs: usize,
    /// The new over the base: the geometric mean of the pairs' ratios.
    pub ratio: f64,
    /// The lower end of its interval; none: too few pairs.
    pub low: Option<f64>,
    /// The upper end of it.
    pub high: Option<f64>,
    /// What they say.
    pub decision: Decision,
    /// About how many more pairs would decide; none: it is decided, or more than 1,000.
    pub more: Option<usize>,
}

/// What is asked of the pairs, as shares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Margins {
    /// Two that differ by less are equal.
    pub within: f64,
    /// A difference below this may be a bias that no number of pairs removes: of the layout of a
    /// build in memory.
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

/// The same from the logarithms of the ratios.
fn judge_logs(logs: &[f64], margins: Margins) -> Judgement {
    let pairs = logs.len();
    let undecided = Judgement {
        pairs,
        ratio: mean(logs).exp(),
        low: None,
        high: None,
        decision: Decision::Undecided,
        more: None,
    };
    let Some((low, high)) = mean_within(logs, CONFIDENCE).filter(|_| pairs >= LOOKS[0]) else {
        return Judgement { more: Some(LOOKS[0] - pairs), ..undecided };
    };
    let [within, bias] = [margins.within, margins.bias].map(f64::ln_1p);
    let decision = if low > bias || high < -bias {
        Decision::Different
    } else if -within <= low && high <= within {
        Decision::Equal
    } else {
        Decision::Undecided
    };
    let more =
        if decision == Decision::Undecided { more_pairs(logs, [within, bias]) } else { None };
    Judgement { low: Some(low.exp()), high: Some(high.exp()), decision, more, ..undecided }
}

/// About how many more pairs decide, if their mean and scatter stay as they are.
fn more_pairs(logs: &[f64], [within, bias]: [f64; 2]) -> Option<usize> {
    let (pairs, distance, scatter) = (logs.len(), mean(logs).abs(), standard_deviation(logs)?);
    let decides = |n: usize| {
        let reach = quantile_of_t(n - 1, CONFIDENCE) * scatter / (n as f64).sqrt();
        reach < distance - bias || reach + distance <= within
    };
    // It is about so many: each guess is a tenth more.
    let guesses = std::iter::successors(Some(pairs + 1), |n| Some(n + (n / 10).max(1)));
    guesses.take_while(|n| *n <= PAIRS_MAX).find(|n| decides(*n)).map(|n| n - pairs)
}

/// `about 14 more pairs`.
pub fn more_in_words(more: Option<usize>) -> String {
    match more {
        Some(1) => "about 1 more pair".to_owned(),
        Some(pairs) => format!("about {pairs} more pairs"),
        None => "over 1,000 more pairs".to_owned(),
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

    fn normal(random: &mut Random) -> f64 {
        let uniform = |random: &mut Random| (random.below(1 << 52) as f64 + 0.5) / 2_f64.powi(52);
        let (u, v) = (uniform(random), uniform(random));
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }

    /// Student's t with three degrees of freedom.
    fn heavy(random: &mut Random) -> f64 {
        let squares: f64 = (0..3).map(|_| normal(random).powi(2)).sum();
        normal(random) / (squares / 3.0).sqrt()
    }

    /// One in ten is six times as far out.
    fn spiky(random: &mut Random) -> f64 {
        normal(random) * if random.below(10) == 0 { 6.0 } else { 1.0 }
    }

    /// Pairs until it is decided, and how.
    fn run(random: &mut Random, noise: Noise, scatter: f64, effect: f64) -> Judgement {
        let mut logs = Vec::new();
        let mut last = None;
        for look in LOOKS {
            logs.resize_with(look, || (1.0 + effect).ln() + scatter * noise(random));
            let judgement = judge_logs(&logs, Margins::default());
            if judgement.decision != Decision::Undecided {
                return judgement;
            }
            last = Some(judgement);
        }
        last.unwrap()
    }

    /// The share of runs that end in `decision`, and the mean number of their pairs.
    fn share(decision: Decision, noise: Noise, scatter: f64, effect: f64) -> (f64, f64) {
        const RUNS: u32 = 2000;
        let mut random = Random::new(11);
        let ends: Vec<_> = (0..RUNS).map(|_| run(&mut random, noise, scatter, effect)).collect();
        let so = ends.iter().filter(|end| end.decision == decision).count();
        let pairs: usize = ends.iter().map(|end| end.pairs).sum();
        (so as f64 / f64::from(RUNS), pairs as f64 / f64::from(RUNS))
    }

    #[test]
    fn equals_are_called_different_in_less_than_one_of_twenty() {
        // A scatter at which equality within 3 % is not found first.
        for (name, noise) in [("normal", normal as Noise), ("heavy", heavy), ("spiky", spiky)] {
            let (alarms, _) = share(Decision::Different, noise, 0.2, 0.0);
            assert!(alarms <= 0.06, "{name}: {alarms}");
        }
    }

    #[test]
    fn a_difference_is_found_with_few_pairs_where_it_is_large() {
        for (scatter, effect, least, pairs_max) in
            [(0.03, 0.10, 0.99, 6.0), (0.05, 0.10, 0.99, 8.0), (0.10, 0.20, 0.99, 9.0)]
        {
            let (found, pairs) = share(Decision::Different, normal, scatter, effect);
            assert!(found >= least && pairs <= pairs_max, "{scatter} {effect}: {found} {pairs}");
        }
        let (equal, _) = share(Decision::Equal, normal, 0.02, 0.0);
        assert!(equal >= 0.95, "{equal}");
    }

    #[test]
    fn more_pairs_never_find_less() {
        let mut random = Random::new(3);
        let mut before = 0;
        for n in 4..=32 {
            let different = (0..500).filter(|_| {
                let logs: Vec<f64> = (0..n).map(|_| 0.05 + 0.06 * normal(&mut random)).collect();
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
}
