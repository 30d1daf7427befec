//! Whether other cases changed a database before it was measured, and whether its files are smaller
//! than its data: in memory, removed while open, or compressed.

use super::finding::{Finding, Measured};
use super::kinds::Id;
use crate::figures::evidence::{CaseEvidence, Evidence};
use kvdyno_record::case::CaseRecord;
use kvdyno_record::units::{bytes, pluralize};
use kvdyno_record::workload::{self, Mix, Phase};
use std::collections::BTreeMap;

pub(super) const RULES: [fn(&Evidence) -> Option<Finding>; 4] =
    [shared_database, younger_database, small_database, compressed_database];

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
    let shared = |measured: &Measured<'_>| {
        let before = earlier_writers(evidence, measured.record);
        (is_engine(measured) && !before.is_empty())
            .then(|| format!("its database had been written to by {}", before.join(", ")))
    };
    Finding::from_phases(Id::DatabaseShared, evidence, shared)
}

/// The cases that had written to the database of a case before. Writes of the load do not count:
/// they are there for all cases.
fn earlier_writers<'r>(evidence: &Evidence, record: &'r CaseRecord) -> Vec<&'r str> {
    let writes = |case: &CaseEvidence| {
        !case.case.makes_database()
            && case.case.phases.iter().filter_map(Phase::mix).any(Mix::writes)
    };
    let wrote = |id: &&str| evidence.cases.iter().any(|case| case.case.id == **id && writes(case));
    record.database_used_by.iter().map(String::as_str).filter(wrote).collect()
}

/// Compares the trials of each case. A database that was loaded again, in a resumed run or after a
/// failure, has not aged as in the other trials.
fn younger_database(evidence: &Evidence) -> Option<Finding> {
    // The trials of a search's point follow each other on one database.
    if evidence.plan.search.is_some() {
        return None;
    }
    let mut most = BTreeMap::new();
    let stores = |case: &CaseEvidence| !case.stores_nothing() && !case.is_bare_drive();
    for (case, record) in evidence.recorded_cases().filter(|(case, _)| stores(case)) {
        let writers = earlier_writers(evidence, record).len();
        let most: &mut usize = most.entry(&case.case.key).or_default();
        *most = writers.max(*most);
    }
    Finding::from_records(Id::DatabaseYounger, evidence, |case, record| {
        let writers = earlier_writers(evidence, record).len();
        let most = *most.get(&case.case.key)?;
        (case.is_done() && writers < most).then(|| {
            let writers = pluralize(writers, "case");
            format!("{writers} had written to its database before, but {most} in another trial")
        })
    })
}
