//! What distinguishes one run from another in a list: its engines and its amount of data. Both come
//! from the plan, so that they are there while a run is still at work.

use super::evidence::{CaseEvidence, Evidence};
use super::lists::unique;

/// Labels of the engines under test, in the order of the plan: bare drives and the engine that
/// measures the load generator are left out where there are others.
pub fn engines(evidence: &Evidence) -> Vec<String> {
    let mut labels = labels(evidence.cases.iter().filter(|case| is_about_an_engine(case)));
    if labels.is_empty() {
        labels = self::labels(evidence.cases.iter());
    }
    labels
}

/// Bytes of keys and values in the largest data set that an engine under test has; none where only
/// drives are measured.
pub fn user_bytes(evidence: &Evidence) -> Option<u64> {
    let cases = evidence.cases.iter().filter(|case| !is_drive(case));
    cases.map(|case| case.case.user_bytes()).max()
}

fn is_about_an_engine(case: &CaseEvidence) -> bool {
    // A case without a record yet has only its engine's name.
    !is_drive(case) && !case.stores_nothing() && case.case.engine != "null"
}

fn is_drive(case: &CaseEvidence) -> bool {
    case.case.ceiling || case.is_bare_drive() || case.case.engine == "drive"
}

fn labels<'a>(cases: impl Iterator<Item = &'a CaseEvidence>) -> Vec<String> {
    let mut cases: Vec<_> = cases.collect();
    cases.sort_by_key(|case| case.case.listed);
    unique(cases.into_iter().map(|case| case.case.label.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    #[test]
    fn drives_and_the_load_generator_are_not_what_a_run_is_about() {
        let fixture = Fixture::new();
        let dir = crate::fixture::make_dir();
        let mut evidence = Evidence::read(&fixture.write(&dir.path().join("run"))).unwrap();
        let before = engines(&evidence);
        assert!(!before.iter().any(|label| label == "null"), "{before:?}");
        evidence.cases[0].case.ceiling = true;
        evidence.cases[0].case.label = "drive-mmap".to_owned();
        assert!(!engines(&evidence).contains(&"drive-mmap".to_owned()));
        for case in &mut evidence.cases {
            case.case.ceiling = true;
        }
        assert!(engines(&evidence).contains(&"drive-mmap".to_owned()), "nothing else is there");
        assert_eq!(user_bytes(&evidence), None);
    }
}
