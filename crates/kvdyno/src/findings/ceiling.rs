//! Whether the bare drive really is the limit of the engines above it.

use super::{Finding, Id};
use crate::report::catalogue as c;
use crate::report::group::Group;
use crate::units::si;

/// Trials of a drive lie this far apart; past it, more than the drive can do was counted.
const ABOVE_PERCENT: f64 = 110.0;

pub(super) fn findings(groups: &[Group]) -> Vec<Finding> {
    above_ceiling(groups).into_iter().collect()
}

fn above_ceiling(groups: &[Group]) -> Option<Finding> {
    let above = groups.iter().flat_map(|group| group.runs.iter().map(move |run| (group, run)));
    let above = above.filter_map(|(group, run)| {
        let share = run.metrics.value(&c::CEILING_SHARE).filter(|share| *share > ABOVE_PERCENT)?;
        let standing = run.efficiency.as_ref().filter(|standing| !standing.cached)?;
        let ceiling = standing.ceiling.as_ref()?;
        let words = format!(
            "{} made {} I/Os a second at the device, {:.2} times what the bare drive gave {} in \
             flight ({}, {})",
            group.label,
            si(share / 100.0 * ceiling.ios_per_s),
            share / 100.0,
            ceiling.in_flight,
            ceiling.job,
            si(ceiling.ios_per_s)
        );
        Some((group.trials.first()?.case.clone(), words))
    });
    Finding::of_cases(
        Id::AboveCeiling,
        above.collect::<Vec<_>>(),
        "the ceiling or the count is not what it seems: readahead or background threads keep more \
         in flight than the operations do, somebody else was at the drive (its counters count \
         everybody's), or the drive was slower while the ceiling was taken: compare KB/op with \
         reads/op, and take more trials",
    )
}
