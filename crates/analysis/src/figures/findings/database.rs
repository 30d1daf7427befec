//! Whether other cases changed a database before it was measured, and whether its files are smaller
//! than its data: in memory, removed while open, or compressed.

use super::finding::{Finding, Measured};
use super::kinds::Id;
use crate::figures::evidence::Evidence;
use kvdyno_record::units::bytes;
use kvdyno_record::workload::{self, Mix, Phase};

pub(super) const RULES: [fn(&Evidence) -> Option<Finding>; 3] =
    [shared_database, small_database, compressed_database];

/// A store may compress better than its values are made for, but not by more than this factor.
const PACKS_AT_MOST: u64 = 2;
/// A smaller database may be in a log or in memory.
const SMALL_DATA: u64 = 1 << 20;

/// Finds files that were removed while an engine had them open: reads of them bypass limit and
/// eviction.
fn small_database(evidence: &Evidence) -> Option<Finding> {
    let small = |measured: &Measured<'_>| {
        let (database, case) =
            (measured.phase.database.filter(|_| is_engine(measured))?, &measured.case.case);
        let (user_bytes, packed) = (case.user_bytes(), case.data.value.compress_to);
        let least = (user_bytes as f64 * packed.min(1.0)) as u64 / PACKS_AT_MOST;
        let on_disk = database.used_bytes.max(database.apparent_bytes);
        let shrinks = workload::allows_misses(&case.phases);
        (user_bytes >= SMALL_DATA && !shrinks && on_disk < least).then(|| {
            format!(
                "expected {} in its database, found {} in files at the end of phase {}",
                bytes(user_bytes),
                bytes(on_disk),
                measured.phase.name
            )
        })
    };
    Finding::from_phases(Id::DatabaseTooSmall, evidence, small)
}

/// Files below this share of the data in them are compressed.
const COMPRESSED: f64 = 0.8;

fn compressed_database(evidence: &Evidence) -> Option<Finding> {
    let smaller = |measured: &Measured<'_>| {
        let database = measured.phase.database.filter(|_| is_engine(measured))?;
        let case = &measured.case.case;
        let (data, used) = (case.user_bytes(), database.used_bytes);
        let is_small = (used as f64) < data as f64 * COMPRESSED;
        let shrinks = workload::allows_misses(&case.phases);
        (data >= SMALL_DATA && !shrinks && is_small)
            .then(|| format!("{} of data in {} of files", bytes(data), bytes(used)))
    };
    Finding::from_phases(Id::DatabaseCompressed, evidence, smaller)
}

/// Whether it is an engine. A bare drive overwrites its blocks in place, and the rule of steadiness
/// covers it.
fn is_engine(measured: &Measured<'_>) -> bool {
    !measured.case.is_bare_drive()
}

fn shared_database(evidence: &Evidence) -> Option<Finding> {
    let wrote = |id: &&String| {
        // Writes of the load do not count: they are there for all cases.
        let users = evidence.cases.iter().filter(|case| !case.case.makes_database());
        let mut writers = users.filter(|case| case.case.id == **id);
        writers.any(|case| case.case.phases.iter().filter_map(Phase::mix).any(Mix::writes))
    };
    let shared = |measured: &Measured<'_>| {
        let before = measured.record.database_used_by.iter().filter(wrote);
        let before: Vec<&str> =
            before.filter(|_| is_engine(measured)).map(String::as_str).collect();
        (!before.is_empty())
            .then(|| format!("its database had been written to by {}", before.join(", ")))
    };
    Finding::from_phases(Id::DatabaseShared, evidence, shared)
}
