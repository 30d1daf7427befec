//! What the databases had been through before they were measured: other cases, or a reflink.

use super::{Finding, Id, Measured, below, measured};
use crate::evidence::Evidence;
use kvdyno_record::plan::Copying;
use kvdyno_record::units::bytes;
use kvdyno_record::workload::{self, Drive, Work};

pub(super) fn findings(evidence: &Evidence) -> Vec<Finding> {
    let all = [shared(evidence), reflinked(evidence), too_small(evidence)];
    all.into_iter().flatten().collect()
}

/// A store may pack better than what its values are made to compress to, but not twice.
const PACKS_AT_MOST: u64 = 2;
/// Less may well be in a log or in memory.
const SMALL_DATA: u64 = 1 << 20;

/// Files that somebody removed under an engine that has them open: what is read of them no limit
/// and no eviction concerns.
fn too_small(evidence: &Evidence) -> Option<Finding> {
    let small = engines(evidence).filter_map(|at| {
        let database = at.phase.database?;
        let case = &at.case.case;
        let (put_in, packed) = (case.shape.user_bytes(), case.data.value.compress_to);
        let least = (put_in as f64 * packed.min(1.0)) as u64 / PACKS_AT_MOST;
        let there = database.allocated_bytes.max(database.apparent_bytes);
        let deletes = workload::deletes(&case.phases);
        (put_in >= SMALL_DATA && !deletes && there < least).then(|| {
            let words = format!(
                "{} were put into its database, of which {} are files at the end of phase {}",
                bytes(put_in),
                bytes(there),
                at.phase.name
            );
            (at.id(), words)
        })
    });
    Finding::of_cases(
        Id::DatabaseTooSmall,
        small.collect::<Vec<_>>(),
        "the rest is in memory, or in files that were removed while the engine had them open: \
         residency, eviction, space and reads from the drive are not those of its data",
    )
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
