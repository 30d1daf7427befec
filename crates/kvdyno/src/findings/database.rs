//! What the databases had been through before they were measured: other cases, or a reflink.

use super::{Finding, Id, Measured, below, measured};
use crate::report::evidence::Evidence;
use kvdyno_record::plan::Copying;
use kvdyno_record::workload::{Drive, Work};

pub(super) fn findings(evidence: &Evidence) -> Vec<Finding> {
    [shared(evidence), reflinked(evidence)].into_iter().flatten().collect()
}

fn writes(drive: &Drive) -> bool {
    drive.roles.iter().flat_map(|role| &role.mix).any(|entry| entry.op.writes())
}

/// A bare drive's blocks are overwritten in place: its state is told by the steady state's rule.
fn engines(evidence: &Evidence) -> impl Iterator<Item = Measured<'_>> {
    measured(evidence).filter(|at| !at.of_harness() && !at.case.is_bare_drive())
}

fn shared(evidence: &Evidence) -> Option<Finding> {
    let wrote = |id: &str| {
        let case = evidence.cases.iter().find(|case| case.case.id == id);
        case.is_some_and(|case| {
            case.case.phases.iter().any(|phase| match &phase.work {
                Work::Warmup(drive) | Work::Measure(drive) => writes(drive),
                _ => false,
            })
        })
    };
    let shared = engines(evidence).filter_map(|at| {
        let before = at.record.database_used_by.iter();
        let before: Vec<&str> = before.map(String::as_str).filter(|id| wrote(id)).collect();
        (!before.is_empty()).then(|| {
            (at.id(), format!("its database had been written to by {}", before.join(", ")))
        })
    });
    Finding::of_cases(
        Id::DatabaseShared,
        shared.collect::<Vec<_>>(),
        "thread counts took turns on one database that aged: an effect of threads may be one of \
         age; `database = \"copy\"` in [run] gives each case a copy of what was loaded, \"fresh\" \
         its own load",
    )
}

/// btrfs writes every block anew, shared or not; other filesystems only shared ones.
fn reflinked(evidence: &Evidence) -> Option<Finding> {
    let slowed = engines(evidence).filter(|at| writes(at.drive)).filter_map(|at| {
        let copy = at.record.database_copy.as_ref()?;
        let below = below::of(evidence, at.record)?;
        (copy.by == Copying::Reflink && below.kind() != "btrfs").then(|| {
            let words = "it wrote to a reflink: the first write to each block shared with the \
                         original moves it";
            (at.id(), format!("{words} ({})", below.kind()))
        })
    });
    Finding::of_cases(
        Id::DatabaseReflinked,
        slowed.collect::<Vec<_>>(),
        "its writes may be several times slower than on files of its own (docs/host.md): \
         `database = \"copy\"` in [run] copies byte by byte",
    )
}
