//! Whether a portable build of an engine is compared with one that was built for this processor,
//! where the processor is the limit.

use super::finding::Finding;
use super::kinds::Id;
use crate::figures::evidence::Evidence;
use crate::figures::explain::{Cause, Explained};
use crate::figures::group::Group;

/// The build fact of engines that are a library; other engines are built on the machine.
const FACT: &str = "build";
const PORTABLE: &str = "official";

pub(super) fn findings(
    evidence: &Evidence,
    groups: &[Group],
    explained: &[Explained],
) -> Option<Finding> {
    let native = groups.iter().find(|group| group.competes() && !is_portable(evidence, group))?;
    let bound = explained.iter().filter_map(|row| {
        let group = groups.get(row.group).filter(|group| group.competes())?;
        let cpu = row.cause.is_some_and(Cause::is_cpu);
        let words = row.sentence.as_ref().filter(|_| cpu && is_portable(evidence, group))?;
        let (label, other) = (&group.label, &native.label);
        let words =
            format!("{label} is an official build for any processor, {other} is not; {words}");
        Some((group.trials.first()?.case.clone(), words))
    });
    Finding::from_cases(Id::PortableBuild, bound)
}

fn is_portable(evidence: &Evidence, group: &Group) -> bool {
    let Some(trial) = group.trials.first() else { return false };
    let mut recorded = evidence.recorded_cases().filter(|(case, _)| case.case.id == trial.case);
    let worker = recorded.find_map(|(_, record)| record.worker.as_ref());
    worker.is_some_and(|worker| {
        worker.description.engine.build.get(FACT).is_some_and(|build| build == PORTABLE)
    })
}
