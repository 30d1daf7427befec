//! A figure over the one that it is compared with, and whether they differ significantly. Judged as
//! `kvdyno compare` judges two engines of a run, so that all tables, sentences and pages agree.

use super::versus::judge::{Row, Verdict, side_by_side};
use crate::figures::group::Group;
use crate::figures::metric::Metric;
use crate::figures::relative::{RelativeTo, Significance};

impl RelativeTo {
    /// A figure of a group over that of another; none where there is nothing to divide by.
    pub fn between(
        base_name: &str,
        (base_group, base): (&Group, &Metric),
        (group, metric): (&Group, &Metric),
    ) -> Option<Self> {
        let numbers = [base_group, group].map(Group::trial_numbers);
        let (row, verdict) = judge((base, &numbers[0]), (metric, &numbers[1]), group.within);
        let Row { ratio, ratio_low, ratio_high, more, verdict: decision, .. } = row?;
        let open = [Verdict::Undecided, Verdict::TooFew, Verdict::NotComparable];
        Some(Self {
            base: base_name.to_owned(),
            ratio: ratio?,
            low: ratio_low,
            high: ratio_high,
            verdict,
            decided: !open.contains(&decision),
            more_pairs: more,
        })
    }

    /// The base compared with itself.
    pub(crate) fn itself(name: &str, metric: &Metric) -> Option<Self> {
        metric.value.filter(|value| *value > 0.0)?;
        let base = name.to_owned();
        let (low, high, more_pairs, verdict) = (None, None, None, Significance::Base);
        Some(Self { base, ratio: 1.0, low, high, verdict, decided: true, more_pairs })
    }
}

/// Two figures of a run, each with the numbers of its trials; no row where neither has a value.
pub(crate) fn judge(
    base: (&Metric, &[u32]),
    new: (&Metric, &[u32]),
    within: f64,
) -> (Option<Row>, Significance) {
    let row = side_by_side(base, new, within);
    let verdict = match row.as_ref().map(|row| row.verdict) {
        Some(Verdict::Improved | Verdict::Regressed | Verdict::Changed) => Significance::Different,
        Some(Verdict::Undecided | Verdict::Equal) => Significance::NotDistinguishable,
        // Ranges that do not overlap are no proof yet.
        Some(Verdict::TooFew | Verdict::NotComparable | Verdict::Described) | None => {
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
    fn two_trials_whose_ranges_touch_are_tied() {
        use crate::figures::catalogue as c;
        use kvdyno_record::plan::WITHIN;
        let metric = |values: [f64; 2]| Metric::new(&c::OPS_PER_S, values.map(Ok).to_vec());
        let verdict = |a, b| judge((&metric(a), &[1, 2]), (&metric(b), &[1, 2]), WITHIN).1;
        assert_eq!(verdict([1.0, 2.0], [2.0, 3.0]), Significance::NotDistinguishable);
        assert_eq!(verdict([1.0, 9.0], [2.0, 3.0]), Significance::NotDistinguishable);
        assert_eq!(verdict([1.0, 2.0], [2.1, 3.0]), Significance::SpreadUnknown);
    }
}
