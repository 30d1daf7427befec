//! The outcomes of cases: their exit code, and which are repeated.

use crate::answers::summary::Summary;
use crate::figures::findings::Id;
use crate::fixture::Fixture;
use kvdyno_record::case::Outcome;
use kvdyno_record::engine::ErrorClass;
use kvdyno_record::exit::Exit;

#[test]
fn a_failed_case_decides_the_exit_code() {
    let fails = |class| {
        let mut fixture = Fixture::new();
        fixture.case("lmdb_t1_r1").record.outcome =
            Outcome::Failed { class, message: "a message".to_owned() };
        fixture.summary().verdict
    };
    assert_eq!(fails(ErrorClass::Io), Exit::EngineFailed);
    assert_eq!(fails(ErrorClass::Corrupt), Exit::EngineFailed);
    assert_eq!(Fixture::new().summary().verdict, Exit::Ok, "not to fit is a result");
}

/// No case of an engine is done, with any outcomes; a case that ran out of time always counts as a
/// failure.
#[test]
fn nothing_done_and_out_of_time_are_no_success() {
    let verdict_of = |outcome: &dyn Fn(&str) -> Option<Outcome>| {
        let mut fixture = Fixture::new();
        for case in &mut fixture.cases {
            let id = case.record.case.id.clone();
            case.record.outcome = outcome(&id).unwrap_or(case.record.outcome.clone());
        }
        fixture.summary().verdict
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
    assert_eq!(verdict_of(&stopped), Exit::Ok, "an interrupted case is left to do");
}

/// A case that was not run at the first attempt (its server was killed), and done at the second.
#[test]
fn every_earlier_attempt_has_a_finding() {
    let fixture = Fixture::new();
    let dir = crate::fixture::make_dir();
    let run = fixture.write_partial(&dir.path().join("run"));
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
    let findings = Summary::read(&run).unwrap().figures.findings;
    let tried = findings.iter().find(|finding| finding.id == Id::CaseRetried).unwrap();
    assert!(tried.evidence.contains("was tried twice: not run"), "{tried:?}");
}

#[test]
fn the_advice_names_what_a_resume_repeats() {
    let advice = |outcomes: &[(&str, Outcome)], sealed: bool| {
        let mut fixture = Fixture::new();
        for (case, outcome) in outcomes {
            fixture.case(case).record.outcome = outcome.clone();
        }
        let dir = crate::fixture::make_dir();
        let path = dir.path().join("run");
        let run = if sealed { fixture.write(&path) } else { fixture.write_partial(&path) };
        let findings = crate::answers::summary::Summary::read(&run).unwrap().figures.findings;
        let finding = |id| findings.iter().find(|finding| finding.id == id).cloned();
        (finding(Id::CasesNotDone).unwrap().advice, finding(Id::RunPartial))
    };
    let killed = |signal| Outcome::Killed { signal, message: String::new() };
    let (words, partial) = advice(&[("lmdb_t1_r1", killed(9))], false);
    assert!(words.contains("`kvdyno resume` tries them again"), "{words}");
    assert!(partial.unwrap().advice.ends_with("runs the remaining 1"));
    let (words, partial) = advice(&[("lmdb_t1_r1", killed(11))], true);
    assert!(words.contains("retrying would fail the same way; not retried"), "{words}");
    assert_eq!(partial, None);
    // The volume may be repaired: read-only, or with errors.
    let io = Outcome::Failed { class: ErrorClass::Io, message: "Read-only file system".into() };
    let (words, _) = advice(&[("lmdb_t1_r1", io)], false);
    assert!(words.contains("`kvdyno resume` tries them again"), "{words}");
    let both = [("lmdb_t1_r1", killed(9)), ("lmdb_t2_r1", killed(11))];
    let (words, _) = advice(&both, false);
    assert!(words.contains("tries 1 of them again; retrying the others"), "{words}");
}
