//! How cases end: what the run comes to by it, and what is tried again.

use crate::findings::Id;
use crate::fixture::Fixture;
use crate::summary::{Summary, verdict};
use kvdyno_record::case::Outcome;
use kvdyno_record::engine::ErrorClass;
use kvdyno_record::exit::Exit;

#[test]
fn a_case_that_failed_says_more_than_a_finding() {
    let fails = |class| {
        let mut fixture = Fixture::new();
        fixture.case("lmdb_t1_r1").record.outcome =
            Outcome::Failed { class, message: "as it says".to_owned() };
        verdict(&fixture.summary())
    };
    assert_eq!(fails(ErrorClass::Io), Exit::EngineFailed);
    assert_eq!(fails(ErrorClass::Corrupt), Exit::EngineFailed);
    assert_eq!(verdict(&Fixture::new().summary()), Exit::Ok, "not to fit is a result");
}

/// Not one case of an engine was done, whatever they came to; one that hung is a failure in any
/// case.
#[test]
fn nothing_done_and_out_of_time_are_no_success() {
    let verdict_of = |outcome: &dyn Fn(&str) -> Option<Outcome>| {
        let mut fixture = Fixture::new();
        for case in &mut fixture.cases {
            let id = case.record.case.id.clone();
            case.record.outcome = outcome(&id).unwrap_or(case.record.outcome.clone());
        }
        verdict(&fixture.summary())
    };
    let overrun = || Some(Outcome::OutOfTime { message: "in `opening`".to_owned() });
    let unfit = || Some(Outcome::DoesNotFit { message: "killed".to_owned() });
    let engines = |id: &str| !id.contains("null");
    assert_eq!(verdict_of(&|id| id.ends_with("lmdb_t1_r1").then(overrun)?), Exit::EngineFailed);
    assert_eq!(verdict_of(&|id| id.ends_with("lmdb_t1_r1").then(unfit)?), Exit::Ok);
    assert_eq!(verdict_of(&|id| engines(id).then(unfit)?), Exit::EngineFailed);
    let stopped = |id: &str| {
        let interrupted = Outcome::Interrupted { message: "in `measure`".to_owned() };
        if id.ends_with("lmdb_t1_r1") { Some(interrupted) } else { engines(id).then(unfit)? }
    };
    assert_eq!(verdict_of(&stopped), Exit::Ok, "there is something left to do");
}

/// A server that was killed while it started was not run, and done the second time.
#[test]
fn every_earlier_try_has_a_finding() {
    let fixture = Fixture::new();
    let folder = tempfile::tempdir().unwrap();
    let run = fixture.write_partial(&folder.path().join("run"));
    let first = run.case_records().unwrap().into_iter().map(|(_, record)| record);
    let mut again =
        first.into_iter().find(|record| record.case.id.ends_with("lmdb_t1_r1")).unwrap();
    let path = run.case(&again.case, 1);
    let mut before = again.clone();
    before.outcome = Outcome::NotRun { message: "the server's supervisor was killed".to_owned() };
    again.attempt = 2;
    let second = run.case(&again.case, 2);
    std::fs::rename(&path.path, &second.path).unwrap();
    std::fs::create_dir(&path.path).unwrap();
    path.write_record(&before).unwrap();
    std::fs::remove_file(second.path.join("case.json")).unwrap();
    second.write_record(&again).unwrap();
    let findings = Summary::read(&run).unwrap().findings;
    let tried = findings.iter().find(|finding| finding.id == Id::TriedAgain).unwrap();
    assert!(tried.evidence.contains("was tried twice: not run"), "{tried:?}");
}

#[test]
fn what_a_resume_tries_again_is_what_it_says() {
    let advice = |outcomes: &[(&str, Outcome)], sealed: bool| {
        let mut fixture = Fixture::new();
        for (case, outcome) in outcomes {
            fixture.case(case).record.outcome = outcome.clone();
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        let run = if sealed { fixture.write(&path) } else { fixture.write_partial(&path) };
        let findings = crate::summary::Summary::read(&run).unwrap().findings;
        let of = |id| findings.iter().find(|finding| finding.id == id).cloned();
        (of(Id::CasesNotDone).unwrap().advice, of(Id::RunPartial))
    };
    let killed = |signal| Outcome::Killed { signal, message: String::new() };
    let (words, partial) = advice(&[("lmdb_t1_r1", killed(9))], false);
    assert!(words.contains("`kvdyno resume` tries them again"), "{words}");
    assert!(partial.unwrap().advice.ends_with("does the 1 left"));
    let (words, partial) = advice(&[("lmdb_t1_r1", killed(11))], true);
    assert!(words.contains("they would end the same way again"), "{words}");
    assert_eq!(partial, None);
    // The volume may be mended: read-only, or with errors.
    let io = Outcome::Failed { class: ErrorClass::Io, message: "Read-only file system".into() };
    let (words, _) = advice(&[("lmdb_t1_r1", io)], false);
    assert!(words.contains("`kvdyno resume` tries them again"), "{words}");
    let both = [("lmdb_t1_r1", killed(9)), ("lmdb_t2_r1", killed(11))];
    let (words, _) = advice(&both, false);
    assert!(words.contains("tries 1 of them again; the others would end the same"), "{words}");
}
