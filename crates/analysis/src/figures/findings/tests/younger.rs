//! Databases that fewer cases had written to than in other trials.

use super::{finding_after, findings};
use crate::figures::findings::{Finding, Id};
use crate::fixture::Fixture;

/// The cases of both trials on two threads, whose databases others had used before.
fn use_before(fixture: &mut Fixture, first: &[&str], second: &[&str]) {
    for (case, ids) in [("lmdb_t2_r1", first), ("lmdb_t2_r2", second)] {
        let ids = ids.iter().map(|name| fixture.case(name).record.case.id.clone()).collect();
        fixture.case(case).record.database_used_by = ids;
    }
}

#[test]
fn a_database_that_was_loaded_again_is_younger() {
    let finding = finding_after(Id::DatabaseYounger, |fixture| {
        let before = ["lmdb_load_r1", "lmdb_t1_r1"];
        use_before(fixture, &before, &["lmdb_load_r2"]);
    });
    let expected = "lmdb_t2_r2: 0 cases had written to its database before, but 1 in another trial";
    assert!(finding.evidence.ends_with(expected), "{finding:?}");
    assert_eq!(finding.cases.len(), 1);
}

#[test]
fn databases_of_one_age_are_no_finding() {
    let findings = findings(|fixture| {
        use_before(fixture, &["lmdb_load_r1", "lmdb_t1_r1"], &["lmdb_load_r2", "lmdb_t1_r2"]);
    });
    let is_younger = |finding: &Finding| finding.id == Id::DatabaseYounger;
    assert!(!findings.iter().any(is_younger), "{findings:?}");
}
