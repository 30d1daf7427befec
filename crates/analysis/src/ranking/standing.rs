//! Where an engine stands at one question: its place, how many times behind the best it is, and
//! whether that can be told from chance.

use crate::group::Group;
use crate::lost::Lost;
use crate::metric::{Direction, Metric};
use crate::relative::{Significance, judge};
use crate::stats::median;
use crate::versus::judge::Row;
use schemars::JsonSchema;
use serde::Serialize;

/// An engine at one question.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Standing {
    /// The engine as people call it.
    pub engine: String,
    /// Which of the summary's groups; null: it did not do this work.
    pub group: Option<usize>,
    /// From 1, and shared by engines that cannot be told from the first of them; null: no figure.
    pub place: Option<usize>,
    /// It shares its place.
    pub tied: bool,
    /// The median over trials: of percentiles, too, each trial's own.
    pub value: Option<f64>,
    /// Lower end of its range: of the median's interval, below six trials of the trials.
    pub low: Option<f64>,
    /// Upper end of it.
    pub high: Option<f64>,
    /// Trials that have a value.
    pub n: usize,
    /// How many times worse than the best: the best has 1. Null: nothing to divide by.
    pub behind: Option<f64>,
    /// Lower end of its 95 % interval; null: the best itself, or too few trials.
    pub behind_low: Option<f64>,
    /// Upper end of it.
    pub behind_high: Option<f64>,
    /// Whether it can be told apart from the best; null: no figure.
    pub verdict: Option<Significance>,
    /// What the engine loses in this class when the power goes; null: not tested beside this run.
    pub lost: Option<Lost>,
    /// Why there is no figure, or not of all trials.
    pub missing: Option<String>,
}

impl Standing {
    pub(super) fn new(engine: &str, at: usize, group: &Group, metric: &Metric) -> Self {
        let values: Vec<f64> = metric.per_trial.iter().flatten().copied().collect();
        let (low, high) = metric.range().unzip();
        let missing = || group.fate(values.len()).or_else(|| metric.missing.clone());
        let few = "no trial by itself has samples enough".to_owned();
        Self {
            group: Some(at),
            value: median(&values),
            low,
            high,
            n: values.len(),
            missing: match values.len() {
                0 => Some(missing().unwrap_or(few)),
                n if n < metric.per_trial.len() => missing(),
                _ => None,
            },
            ..Self::absent(engine, "")
        }
    }

    /// One that did not do this work.
    pub(super) fn absent(engine: &str, why: &str) -> Self {
        Self {
            engine: engine.to_owned(),
            group: None,
            place: None,
            tied: false,
            value: None,
            low: None,
            high: None,
            n: 0,
            behind: None,
            behind_low: None,
            behind_high: None,
            verdict: None,
            lost: None,
            missing: Some(why.to_owned()),
        }
    }

    /// `1`, `2=`, `3?`: the place; shared; of too few trials to be sure.
    pub fn place_words(&self) -> Option<String> {
        let place = self.place?;
        let unsure = self.verdict == Some(Significance::SpreadUnknown);
        Some(match (self.tied, unsure) {
            (true, _) => format!("{place}="),
            (false, true) => format!("{place}?"),
            (false, false) => place.to_string(),
        })
    }
}

/// An engine before it has its place.
pub(super) struct Runner<'m> {
    pub(super) standing: Standing,
    pub(super) metric: &'m Metric,
    /// The number of each trial.
    pub(super) trials: Vec<u32>,
}

/// In order, with places; none where nobody has a figure.
pub(super) fn ranked(mut all: Vec<Runner<'_>>, direction: Direction) -> Option<Vec<Standing>> {
    let better = |a: f64, b: f64| match direction {
        Direction::Higher => b.total_cmp(&a),
        Direction::Lower | Direction::Neither => a.total_cmp(&b),
    };
    all.sort_by(|a, b| match (a.standing.value, b.standing.value) {
        (Some(a), Some(b)) => better(a, b),
        (a, b) => b.is_some().cmp(&a.is_some()),
    });
    let with_figures = all.iter().take_while(|runner| runner.standing.value.is_some()).count();
    // The first of those that share a place.
    let mut leader = 0;
    for at in 0..with_figures {
        let against = |other: usize| Gap::compare(&all[other], &all[at], direction);
        let best = if at == 0 { Gap::NOTHING } else { against(0) };
        let tied = at > 0 && against(leader).verdict == Significance::NotDistinguishable;
        if tied {
            all[leader].standing.tied = true;
        } else {
            leader = at;
        }
        let own = &mut all[at].standing;
        (own.place, own.tied) = (Some(leader + 1), tied);
        (own.behind, own.verdict) = (best.ratio, Some(best.verdict));
        (own.behind_low, own.behind_high) = best.interval.unzip();
    }
    (with_figures > 0).then(|| all.into_iter().map(|runner| runner.standing).collect())
}

/// How far one engine is behind another.
struct Gap {
    ratio: Option<f64>,
    interval: Option<(f64, f64)>,
    verdict: Significance,
}

impl Gap {
    /// Of the best.
    const NOTHING: Self = Self { ratio: Some(1.0), interval: None, verdict: Significance::Base };

    fn compare(ahead: &Runner<'_>, behind: &Runner<'_>, direction: Direction) -> Self {
        // The ratio says how many times worse, whichever way is better.
        let (base, new) =
            if direction == Direction::Higher { (behind, ahead) } else { (ahead, behind) };
        let (row, verdict) = judge((base.metric, &base.trials), (new.metric, &new.trials));
        let interval = |row: &Row| Some((row.ratio_low?, row.ratio_high?));
        let interval = row.as_ref().and_then(interval);
        Self { ratio: row.and_then(|row| row.ratio), interval, verdict }
    }
}
