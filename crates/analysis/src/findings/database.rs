//! What the databases had been through before they were measured: other cases, or a reflink.

use super::finding::{Finding, Measured};
use super::kinds::Id;
use super::storage;
use crate::evidence::Evidence;
use kvdyno_record::plan::Copying;
use kvdyno_record::units::bytes;
use kvdyno_record::workload::{self, Mix, Phase};

pub(super) const RULES: [fn(&Evidence) -> Option<Finding>; 3] = [shared, reflinked, too_small];

/// A store may pack better than what its values are made to compress to, but not twice.
const PACKS_AT_MOST: u64 = 2;
/// Less may well be in a log or in memory.
const SMALL_DATA: u64 = 1 << 20;

/// Files that somebody removed under an engine that has them open: what is read of them no limit
/// and no eviction concerns.
fn too_small(evidence: &Evidence) -> Option<Finding> {
    let small = |at: &Measured<'_>| {
        let (database, case) = (at.phase.database.filter(|_| is_engine(at))?, &at.case.case);
        let (put_in, packed) = (case.user_bytes(), case.data.value.compress_to);
        let least = (put_in as f64 * packed.min(1.0)) as u64 / PACKS_AT_MOST;
        let there = database.allocated_bytes.max(database.apparent_bytes);
        let deletes = workload::deletes(&case.phases);
        (put_in >= SMALL_DATA && !deletes && there < least).then(|| {
            format!(
                "{} were put into its database, of which {} are files at the end of phase {}",
                bytes(put_in),
                bytes(there),
                at.phase.name
            )
        })
    };
    Finding::of_phases(Id::DatabaseTooSmall, evidence, small)
}

/// A bare drive's blocks are overwritten in place: its state is told by the steady state's rule.
fn is_engine(at: &Measured<'_>) -> bool {
    !at.case.is_bare_drive()
}

fn shared(evidence: &Evidence) -> Option<Finding> {
    let wrote = |id: &&String| {
        let mut of = evidence.cases.iter().filter(|case| case.case.id == **id);
        of.any(|case| case.case.phases.iter().filter_map(Phase::mix).any(Mix::writes))
    };
    let shared = |at: &Measured<'_>| {
        let before = at.record.database_used_by.iter().filter(wrote);
        let before: Vec<&str> = before.filter(|_| is_engine(at)).map(String::as_str).collect();
        (!before.is_empty())
            .then(|| format!("its database had been written to by {}", before.join(", ")))
    };
    Finding::of_phases(Id::DatabaseShared, evidence, shared)
}

/// btrfs writes every block anew, shared or not; other filesystems only shared ones.
fn reflinked(evidence: &Evidence) -> Option<Finding> {
    let slowed = |at: &Measured<'_>| {
        let copy = at.record.database_copy.as_ref()?;
        let below = storage::case_storage(evidence, at.record).filter(|_| is_engine(at))?;
        let moves = copy.by == Copying::Reflink && below.kind() != "btrfs" && at.mix.writes();
        moves.then(|| {
            let words = "it wrote to a reflink: the first write to each block shared with the \
                         original moves it";
            format!("{words} ({})", below.kind())
        })
    };
    Finding::of_phases(Id::DatabaseReflinked, evidence, slowed)
}
