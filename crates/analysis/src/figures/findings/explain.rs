//! Where the time went, for cases in which one part took most of it. Similar cases of an engine
//! form one finding, which quotes the first.

use super::finding::Finding;
use super::kinds::Id;
use crate::figures::catalogue as c;
use crate::figures::explain::{Cause, Explained};
use crate::figures::group::Group;
use crate::figures::lists::group_equal;

/// Threads that wait a tenth of their time for a CPU have rates that are a tenth too low.
const RUNQUEUE_PERCENT: f64 = 10.0;

pub(super) fn findings(groups: &[Group], explained: &[Explained]) -> Vec<Finding> {
    use Cause::{CpuSystem, CpuUser, Device, DriveFull, Flushes, Lock, Reads, Syncs, Writes};
    let kinds: [(Id, &[Cause]); 5] = [
        (Id::BoundByFlushes, &[Flushes]),
        (Id::BoundByLatency, &[Reads, Writes, Syncs, Device]),
        (Id::BoundByDrive, &[DriveFull]),
        (Id::BoundByCpu, &[CpuUser, CpuSystem]),
        (Id::BoundByLock, &[Lock]),
    ];
    let mut findings = Vec::new();
    for (id, causes) in kinds {
        let has_cause = |one: &&Explained| one.cause.is_some_and(|cause| causes.contains(&cause));
        findings.extend(findings_by_engine(id, groups, explained.iter().filter(has_cause)));
    }
    let wanting = explained.iter().filter(|row| {
        row.metrics.value(&c::TIME_RUNQUEUE).is_some_and(|percent| percent >= RUNQUEUE_PERCENT)
    });
    findings.extend(findings_by_engine(Id::CpuWanting, groups, wanting));
    findings
}

/// Makes one finding of a kind per engine.
fn findings_by_engine<'e>(
    id: Id,
    groups: &[Group],
    explained: impl Iterator<Item = &'e Explained>,
) -> Vec<Finding> {
    let cases = explained.filter_map(|row| {
        let group = groups.get(row.group).filter(|group| group.competes())?;
        Some((&group.label, (group.trials.first()?.case.clone(), format_evidence(id, row))))
    });
    let engines = group_equal(cases, |(a, _), (b, _)| a == b).into_iter();
    let cases = engines.map(|cases| cases.into_iter().map(|(_, case)| case));
    cases.filter_map(|cases| Finding::from_cases(id, cases)).collect()
}

fn format_evidence(id: Id, explained: &Explained) -> String {
    match (id, &explained.sentence) {
        (Id::CpuWanting, _) | (_, None) => {
            let percent = explained.metrics.value(&c::TIME_RUNQUEUE).unwrap_or(0.0);
            let who = explained.role.as_deref().unwrap_or("the load");
            format!("{who} was ready but without a CPU {percent:.0} % of the time")
        }
        (_, Some(sentence)) => sentence.clone(),
    }
}
