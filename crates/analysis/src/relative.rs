//! A figure over the one that it is compared with, and whether they differ significantly. Judged as
//! `kvdyno compare` judges two engines of a run, so that all tables, sentences and pages agree.

use super::group::Group;
use super::metric::Metric;
use super::versus::DEFAULT_NOISE;
use super::versus::judge::{Row, Verdict, side_by_side};
use schemars::JsonSchema;
use serde::Serialize;

/// A figure over the base's.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RelativeTo {
    /// The base: an engine's label, or a volume's name.
    pub base: String,
    /// The ratio of the medians over trials.
    pub ratio: f64,
    /// Lower end of the ratio's 95 % interval; null: the base itself, or too few trials.
    pub low: Option<f64>,
    /// Upper end of it.
    pub high: Option<f64>,
    /// Whether the two differ significantly.
    pub verdict: Significance,
}

/// Whether two figures differ significantly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Significance {
    /// It is the base itself.
    Base,
    /// They differ: the ratio's interval excludes 1, a rank test agrees, and the difference exceeds
    /// the noise.
    Different,
    /// Tied: undecided, or equal.
    NotDistinguishable,
    /// Too few trials to be sure: equal engines would often look like this.
    SpreadUnknown,
}

impl RelativeTo {
    /// A figure of a group over that of another; none where there is nothing to divide by.
    pub fn between(
        base_name: &str,
        (base_group, base): (&Group, &Metric),
        (group, metric): (&Group, &Metric),
    ) -> Option<Self> {
        let numbers = [base_group, group].map(Group::trial_numbers);
        let (row, verdict) = judge((base, &numbers[0]), (metric, &numbers[1]));
        let Row { ratio, ratio_low, ratio_high, .. } = row?;
        Some(Self {
            base: base_name.to_owned(),
            ratio: ratio?,
            low: ratio_low,
            high: ratio_high,
            verdict,
        })
    }

    /// The base compared with itself.
    pub(super) fn itself(name: &str, metric: &Metric) -> Option<Self> {
        metric.value.filter(|value| *value > 0.0)?;
        let base = name.to_owned();
        Some(Self { base, ratio: 1.0, low: None, high: None, verdict: Significance::Base })
    }

    /// In a table cell: `1.00`, `2.31`, `~1.02`, `1.4?`.
    pub fn cell(&self) -> String {
        match self.verdict {
            Significance::Base | Significance::Different => format!("{:.2}", self.ratio),
            Significance::NotDistinguishable => format!("~{:.2}", self.ratio),
            Significance::SpreadUnknown => format!("{:.2}?", self.ratio),
        }
    }
}

/// Two figures of a run, each with the numbers of its trials; no row where neither has a value.
pub(super) fn judge(
    base: (&Metric, &[u32]),
    new: (&Metric, &[u32]),
) -> (Option<Row>, Significance) {
    let row = side_by_side(base, new, DEFAULT_NOISE);
    let verdict = match row.as_ref().map(|row| row.verdict) {
        Some(Verdict::Improved | Verdict::Regressed | Verdict::Changed) => Significance::Different,
        Some(Verdict::Undecided | Verdict::Equal) => Significance::NotDistinguishable,
        // Ranges that do not overlap are no proof yet.
        Some(Verdict::TooFewTrials | Verdict::NotComparable) | None => {
            let overlap = || {
                let ((low, high), (least, most)) = (base.0.range()?, new.0.range()?);
                Some(base.0.n.min(new.0.n) >= 2 && low <= most && least <= high)
            };
            match overlap() {
                Some(true) => Significance::NotDistinguishable,
                _ => Significance::SpreadUnknown,
            }
        }
    };
    (row, verdict)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_show_their_certainty() {
        let cell = |verdict| {
            let base = "LMDB".to_owned();
            RelativeTo { base, ratio: 1.0234, low: None, high: None, verdict }.cell()
        };
        assert_eq!(cell(Significance::Base), "1.02");
        assert_eq!(cell(Significance::Different), "1.02");
        assert_eq!(cell(Significance::NotDistinguishable), "~1.02");
        assert_eq!(cell(Significance::SpreadUnknown), "1.02?");
    }

    #[test]
    fn two_trials_whose_ranges_touch_are_tied() {
        use crate::catalogue as c;
        let metric = |values: [f64; 2]| Metric::new(&c::OPS_PER_S, values.map(Ok).to_vec());
        let verdict = |a, b| judge((&metric(a), &[1, 2]), (&metric(b), &[1, 2])).1;
        assert_eq!(verdict([1.0, 2.0], [2.0, 3.0]), Significance::NotDistinguishable);
        assert_eq!(verdict([1.0, 9.0], [2.0, 3.0]), Significance::NotDistinguishable);
        assert_eq!(verdict([1.0, 2.0], [2.1, 3.0]), Significance::SpreadUnknown);
    }
}
