//! A figure over the one that it is compared with, and whether they differ significantly. Judged as
//! `kvdyno compare` judges two engines of a run, so that all tables, sentences and pages agree.

use super::versus::judge::{Row, Verdict, side_by_side};
use crate::figures::catalogue as c;
use crate::figures::comparable;
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
        let (row, verdict) = judge((base_group, base), (group, metric));
        let Row { ratio, ratio_low, ratio_high, more, verdict: decision, reason, .. } = row?;
        // Where a trial has no ratio, the ratio of the medians is shown, and nothing is judged.
        let medians = || Some(metric.value? / base.value.filter(|value| *value > 0.0)?);
        let ratio = ratio.or_else(medians);
        let reason = reason.filter(|_| decision == Verdict::NotComparable);
        Some(Self {
            base: base_name.to_owned(),
            ratio: ratio?,
            low: ratio_low,
            high: ratio_high,
            verdict,
            decided: decision.is_decided(),
            more_pairs: more,
            reason,
        })
    }

    /// The base compared with itself.
    pub(crate) fn for_base(name: &str, metric: &Metric) -> Option<Self> {
        metric.value.filter(|value| *value > 0.0)?;
        let base = name.to_owned();
        let (low, high, more_pairs, reason) = (None, None, None, None);
        let (verdict, decided) = (Significance::Base, true);
        Some(Self { base, ratio: 1.0, low, high, verdict, decided, more_pairs, reason })
    }
}

/// A figure of two groups of a run; no row where neither has a value.
pub(crate) fn judge(
    base: (&Group, &Metric),
    new: (&Group, &Metric),
) -> (Option<Row>, Significance) {
    let mut row = side_by_side(base, new);
    let other_work = comparable::describe_load_difference(base.0, new.0);
    let other_work = other_work.filter(|_| base.1.name == c::RECORDS_PER_S.name);
    let void = [base.0, new.0].into_iter().find_map(Group::describe_void);
    if let (Some(row), Some(why)) = (&mut row, void.or(other_work)) {
        row.part(&why);
    }
    let verdict = match row.as_ref().map(|row| row.verdict) {
        Some(Verdict::Improved | Verdict::Regressed | Verdict::Changed) => Significance::Different,
        Some(Verdict::Undecided | Verdict::Equal) => Significance::NotDistinguishable,
        // Ranges that do not overlap are no proof yet.
        Some(Verdict::TooFew | Verdict::NotComparable | Verdict::Described) | None => {
            let overlap = || {
                let ((low, high), (least, most)) = (base.1.range()?, new.1.range()?);
                Some(base.1.n.min(new.1.n) >= 2 && low <= most && least <= high)
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
    use crate::fixture::Fixture;
    use kvdyno_record::engine::BatchKind;

    /// A load in batches is other work for an engine that has no batches.
    #[test]
    fn a_load_that_commits_each_record_is_not_compared() {
        let is_compared = |batch: BatchKind| {
            let mut fixture = Fixture::with_trials(4);
            for case in fixture.cases.iter_mut().filter(|one| one.record.case.engine == "rocksdb") {
                let worker = case.record.worker.as_mut().unwrap();
                worker.description.engine.capabilities.batch = batch;
            }
            let groups = fixture.summary().figures.groups;
            let load = groups.iter().find(|one| one.engine == "rocksdb" && one.load.is_some());
            let relative = load.unwrap().load.as_ref().unwrap().relative.as_ref();
            relative.is_some_and(|relative| relative.verdict != Significance::Base)
        };
        assert!(is_compared(BatchKind::Atomic) && !is_compared(BatchKind::Loop));
    }

    #[test]
    fn two_trials_whose_ranges_touch_are_tied() {
        let metric = |values: [f64; 2]| Metric::new(&c::OPS_PER_S, values.map(Ok).to_vec());
        let group = Fixture::new().summary().figures.groups.remove(0);
        let verdict = |a, b| judge((&group, &metric(a)), (&group, &metric(b))).1;
        assert_eq!(verdict([1.0, 2.0], [2.0, 3.0]), Significance::NotDistinguishable);
        assert_eq!(verdict([1.0, 9.0], [2.0, 3.0]), Significance::NotDistinguishable);
        assert_eq!(verdict([1.0, 2.0], [2.1, 3.0]), Significance::SpreadUnknown);
    }

    #[test]
    fn what_a_finding_makes_invalid_is_neither_judged_nor_ranked() {
        let mut fixture = Fixture::with_trials(4);
        fixture.make_void("rocksdb_t1_r1");
        let summary = fixture.summary();
        let void = |group: &&Group| group.engine == "rocksdb" && group.threads == Some(1);
        let group = summary.groups.iter().find(void).unwrap();
        let relative = group.runs[0].roles[0].relative.as_ref().unwrap();
        assert!(!relative.decided && relative.reason.as_deref() == Some("void: debug-build"));
        let mut standings = summary.rankings.iter().flat_map(|ranking| &ranking.standings);
        let void =
            standings.find(|standing| standing.missing.as_deref() == Some("void: debug-build"));
        assert_eq!(void.map(|standing| standing.rank), Some(None));
    }
}
