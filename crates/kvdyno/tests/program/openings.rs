//! Openings after a close and after a kill: timed, counted, ranked, and nothing is lost.

use super::scratch::{Scratch, record};
use super::suites::suite;
use super::workers::needs;
use kvdyno_record::case::{CaseRecord, Outcome, PhaseRecord};

const ENGINES: [&str; 2] = ["lmdb", "rocksdb"];

/// Opens four times warm, twice cold, and twice after a kill.
fn openings() -> super::suites::Suite {
    let phase =
        |name: &str, operations: u32| format!("name = \"{name}\"\noperations = {operations}");
    suite()
        .data("records = 5000\nvalue_bytes = 100\nverify = true")
        .run("database = \"fresh\"")
        .load("batch = 100")
        .measure(&phase("open", 4))
        .role("opening", "mix = [{ op = \"open\" }]")
        .measure(&phase("open-cold", 2))
        .role("opening", "mix = [{ op = \"open\", cold = true }]")
        .measure(&phase("recover", 1))
        .role("opening", "mix = [{ op = \"recover\", writes = 2000 }]")
        .phase("verify", "samples = 500")
}

fn opened<'r>(record: &'r CaseRecord, phase: &str) -> &'r PhaseRecord {
    record.phases.iter().find(|one| one.name == phase).unwrap()
}

#[track_caller]
fn assert_opened(record: &CaseRecord) {
    assert_eq!(record.outcome, Outcome::Done, "{:?}", record.not_measured);
    // The first one, and one for each operation.
    assert_eq!(record.opens_ns.len(), 1 + 4 + 2 + 1);
    for (phase, op, count) in
        [("open", "open", 4), ("open-cold", "open", 2), ("recover", "recover", 1)]
    {
        let result = &opened(record, phase).roles[0].ops[op];
        assert_eq!((result.count, result.hits, result.wrong), (count, count, 0), "{phase}");
        assert!(result.service_ns > 0 && result.service_ns_max <= result.service_ns, "{phase}");
    }
    assert!(opened(record, "open-cold").evicted.is_some());
    assert!(opened(record, "open").evicted.is_none());
    // The process that is killed writes for a second.
    assert!(opened(record, "recover").wall_ns > 1_000_000_000);
    let verified = opened(record, "verify").verified.clone().unwrap();
    assert_eq!((verified.hits, verified.wrong), (500, 0));
}

#[test]
fn openings_are_timed_and_ranked() {
    let test = "openings_are_timed_and_ranked";
    let engines: Vec<&str> = ENGINES.into_iter().filter(|engine| needs(engine, test)).collect();
    let scratch = Scratch::new();
    let suite = engines.iter().fold(openings(), |suite, engine| suite.engine(engine));
    scratch.write("s.toml", &suite.text());
    scratch.run(&["run", "s.toml", "--no-ram-limit"]).assert_ok();
    let run = scratch.only_run();
    for engine in &engines {
        assert_opened(&record(&run, engine));
    }
    scratch.run(&["check"]).assert_code(0);
    if engines.len() > 1 {
        let ranking = scratch.run(&["show", "--table", "ranking", "--wide"]);
        ranking.assert_says("open us").assert_says("recover us");
    }
    scratch.assert_nothing_left();
}

/// A server is opened by its supervisor: the phase is skipped, with the reason.
#[test]
fn a_server_is_not_opened_by_its_client() {
    if !needs("redis", "a_server_is_not_opened_by_its_client") {
        return;
    }
    let scratch = Scratch::new();
    let reads = openings().measure("duration = \"200ms\"").role("readers", super::suites::GET);
    scratch.write("s.toml", &reads.engine("redis").text());
    let plan = scratch.run(&["plan", "s.toml"]);
    plan.assert_ok().assert_says("it has no opening by the worker");
}
