//! An engine's standing at one question: its rank, the factor by which it is behind the best, and
//! whether that is significant.

use crate::figures::group::Group;
use crate::figures::lost::Lost;
use crate::figures::metric::{Direction, Metric};
use crate::figures::relative::Significance;
use crate::judge::relative::judge;
use crate::judge::versus::judge::Row;
use schemars::JsonSchema;
use serde::Serialize;

/// An engine's standing at one question.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Standing {
    /// The engine as people call it.
    pub engine: String,
    /// Index of the summary's group; null: it did not do this work.
    pub group: Option<usize>,
    /// From 1; engines tied with the first of them share its rank; null: no figure.
    pub rank: Option<usize>,
    /// Whether its rank is shared.
    pub tied: bool,
    /// The value, as in the tables; null: no figure.
    pub value: Option<f64>,
    /// Lower end of its range: of the median's interval, or below six trials of the trials' values;
    /// null: one trial.
    pub low: Option<f64>,
    /// Upper end of the same range.
    pub high: Option<f64>,
    /// Trials that have a value.
    pub n: usize,
    /// The factor by which it is worse than the best, which has 1; null: nothing to divide by.
    pub ratio_to_best: Option<f64>,
    /// Lower end of its 99 % interval; null: the best itself, or too few trials.
    pub ratio_to_best_low: Option<f64>,
    /// Upper end of the same interval.
    pub ratio_to_best_high: Option<f64>,
    /// Whether it differs significantly from the best; null: no figure.
    pub verdict: Option<Significance>,
    /// Whether it is decided that it differs from the best, or is equal to it within the margin;
    /// true for the best itself.
    pub decided: bool,
    /// What the engine loses in this class when the power goes; null: no torture record.
    pub lost: Option<Lost>,
    /// Why there is no figure, or not in all trials.
    pub missing: Option<String>,
}

impl Standing {
    pub(super) fn new(engine: &str, index: usize, group: &Group, metric: &Metric) -> Self {
        if let Some(void) = group.describe_void() {
            return Self { group: Some(index), ..Self::absent(engine, &void) };
        }
        let values: Vec<f64> = metric.per_trial.iter().flatten().copied().collect();
        let (low, high) = metric.range().filter(|_| values.len() > 1).unzip();
        let missing =
            || group.describe_missing_figures(Some(metric)).or_else(|| metric.missing.clone());
        let few = || "no single trial has enough samples".to_owned();
        Self {
            group: Some(index),
            // As in the tables; but without the value of any trial there is nothing to compare.
            value: metric.value.filter(|_| !values.is_empty()),
            low,
            high,
            n: values.len(),
            missing: match values.len() {
                0 if metric.value.is_some() => Some(few()),
                0 => Some(missing().unwrap_or_else(few)),
                n if n < metric.per_trial.len() => missing(),
                _ => None,
            },
            ..Self::absent(engine, "")
        }
    }

    /// The standing of an engine that did not do this work.
    pub(super) fn absent(engine: &str, why: &str) -> Self {
        Self {
            engine: engine.to_owned(),
            group: None,
            rank: None,
            tied: false,
            value: None,
            low: None,
            high: None,
            n: 0,
            ratio_to_best: None,
            ratio_to_best_low: None,
            ratio_to_best_high: None,
            verdict: None,
            decided: false,
            lost: None,
            missing: Some(why.to_owned()),
        }
    }

    /// `1`, `2=`, `3?`: the rank; shared; with too few trials to be sure.
    pub fn format_rank(&self) -> Option<String> {
        let rank = self.rank?;
        let unsure = self.verdict == Some(Significance::SpreadUnknown);
        Some(match (self.tied, unsure) {
            (true, _) => format!("{rank}="),
            (false, true) => format!("{rank}?"),
            (false, false) => rank.to_string(),
        })
    }
}

/// An engine before it has its rank.
pub(super) struct Runner<'m> {
    pub(super) standing: Standing,
    pub(super) metric: &'m Metric,
    pub(super) group: &'m Group,
}

/// Ranks the engines and sets their ranks; none without any figure.
pub(super) fn rank_runners(
    mut all: Vec<Runner<'_>>,
    direction: Direction,
) -> Option<Vec<Standing>> {
    let better = |a: f64, b: f64| match direction {
        Direction::Higher => b.total_cmp(&a),
        Direction::Lower | Direction::Neither => a.total_cmp(&b),
    };
    all.sort_by(|a, b| match (a.standing.value, b.standing.value) {
        (Some(a), Some(b)) => better(a, b),
        (a, b) => b.is_some().cmp(&a.is_some()),
    });
    let with_figures = all.iter().take_while(|runner| runner.standing.value.is_some()).count();
    put_decided_pairs_in_order(&mut all[..with_figures], direction);
    // The first of those that share a rank.
    let mut leader = 0;
    for index in 0..with_figures {
        let against = |other: usize| Gap::compare(&all[other], &all[index], direction);
        let best = if index == 0 { Gap::NOTHING } else { against(0) };
        let tied = index > 0 && against(leader).verdict == Significance::NotDistinguishable;
        if tied {
            all[leader].standing.tied = true;
        } else {
            leader = index;
        }
        let standing = &mut all[index].standing;
        (standing.rank, standing.tied) = (Some(leader + 1), tied);
        (standing.ratio_to_best, standing.verdict) = (best.ratio, Some(best.verdict));
        standing.decided = best.decided;
        (standing.ratio_to_best_low, standing.ratio_to_best_high) = best.interval.unzip();
    }
    (with_figures > 0).then(|| all.into_iter().map(|runner| runner.standing).collect())
}

/// Swaps neighbours whose common trials decide against their order. Medians are also of trials that
/// only one of them has.
fn put_decided_pairs_in_order(all: &mut [Runner<'_>], direction: Direction) {
    for end in (1..all.len()).rev() {
        for at in 0..end {
            let gap = Gap::compare(&all[at], &all[at + 1], direction);
            let is_ahead = gap.ratio.is_some_and(|ratio| ratio < 1.0);
            if is_ahead && gap.verdict == Significance::Different {
                all.swap(at, at + 1);
            }
        }
    }
}

/// How far one engine is behind another.
struct Gap {
    ratio: Option<f64>,
    interval: Option<(f64, f64)>,
    verdict: Significance,
    decided: bool,
}

impl Gap {
    /// The gap of the best engine to itself.
    const NOTHING: Self =
        Self { ratio: Some(1.0), interval: None, verdict: Significance::Base, decided: true };

    fn compare(ahead: &Runner<'_>, behind: &Runner<'_>, direction: Direction) -> Self {
        // The ratio says how many times worse, in either direction.
        let (base, new) =
            if direction == Direction::Higher { (behind, ahead) } else { (ahead, behind) };
        let (row, verdict) = judge((base.group, base.metric), (new.group, new.metric));
        let interval = |row: &Row| Some((row.ratio_low?, row.ratio_high?));
        let interval = row.as_ref().and_then(interval);
        let decided = row.as_ref().is_some_and(|row| row.verdict.is_decided());
        Self { ratio: row.and_then(|row| row.ratio), interval, verdict, decided }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::catalogue as c;
    use crate::fixture::Fixture;

    /// One ran faster in trials that the other does not have.
    #[test]
    fn what_common_trials_decide_is_the_order() {
        let group = Fixture::with_trials(8).summary().figures.groups.remove(0);
        let metric = |values: &[f64]| {
            let missing = (values.len()..8).map(|_| Err("not run".into()));
            let readings = values.iter().map(|value| Ok(*value)).chain(missing);
            Metric::new(&c::OPS_PER_S, readings.collect())
        };
        let more = metric(&[100.0, 101.0, 99.0, 100.0, 120.0, 120.0, 120.0, 120.0]);
        let fewer = metric(&[105.0, 106.0, 104.0, 105.0]);
        let runner = |engine: &str, metric| Runner {
            standing: Standing::new(engine, 0, &group, metric),
            metric,
            group: &group,
        };
        let runners = vec![runner("more", &more), runner("fewer", &fewer)];
        let ranked = rank_runners(runners, Direction::Higher).unwrap();
        assert_eq!(ranked[0].engine, "fewer");
        assert!(ranked[1].ratio_to_best.unwrap() > 1.04, "{ranked:?}");
    }
}
