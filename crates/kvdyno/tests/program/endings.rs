//! How a case may end: its outcome, what the program ends with, what is found, and whether `resume`
//! tries it again, in one table.

use super::scratch::{Scratch, record};
use super::suites::{GET, suite};
use super::workers::needs;
use kvdyno_record::case::Outcome;
use std::fs;

/// Busy for a millisecond in each operation.
const SLOW: &str = "latency_ns = 1_000_000";

struct Ending {
    /// The case whose worker is killed, and the phase.
    killed: (&'static str, &'static str),
    outcome: &'static str,
    code: i32,
    finding: &'static str,
    resumable: bool,
}

#[test]
fn a_worker_killed_while_it_works_is_told_and_tried_again() {
    let endings = [
        // A load that others wait for is tried again at once.
        Ending {
            killed: ("slow_load", "load"),
            outcome: "done",
            code: 0,
            finding: "tried-again",
            resumable: false,
        },
        Ending {
            killed: ("slow_t1", "measure"),
            outcome: "killed",
            code: 3,
            finding: "cases-not-done",
            resumable: true,
        },
    ];
    for ending in endings {
        let (case, phase) = ending.killed;
        let scratch = Scratch::new();
        let suite = suite()
            .data("records = 1500\nvalue_bytes = 100")
            .engine_as("slow", "null", SLOW)
            .load("")
            .measure("operations = 1500")
            .role("readers", GET);
        scratch.write("s.toml", &suite.text());
        let running = scratch.start(scratch.kvdyno(&["run", "s.toml"]));
        scratch.wait_for_phase(case, phase);
        running.kill_worker();
        let done = running.wait();
        match ending.code {
            0 => done.assert_ok(),
            code => done.assert_code(code),
        };
        let run = scratch.only_run();
        assert_eq!(record(&run, case).outcome.word(), ending.outcome, "{case} {phase}");
        scratch.run(&["export", "--json"]).assert_says(ending.finding);
        assert_eq!(!run.is_complete(), ending.resumable, "{case} {phase}");
        if ending.resumable {
            scratch.run(&["resume"]).assert_ok();
            assert_eq!(record(&run, case).outcome, Outcome::Done);
            scratch.run(&["export", "--json"]).assert_says("was tried twice: killed (9)");
        }
        scratch.run(&["check"]).assert_code(0);
        scratch.assert_nothing_left();
    }
}

/// A database whose files somebody removed while the engine had them open: what is said of its
/// residency and of the drive is of nothing.
#[test]
fn a_database_whose_files_are_gone_is_found() {
    let test = "a_database_whose_files_are_gone_is_found";
    if !needs("lmdb", test) {
        return;
    }
    let scratch = Scratch::new();
    let suite = suite()
        .data("records = 20_000\nvalue_bytes = 200")
        .engine("lmdb")
        .run("database = \"fresh\"")
        .load("batch = 1000")
        .measure("duration = \"3s\"")
        .role("readers", GET);
    scratch.write("s.toml", &suite.text());
    let running = scratch.start(scratch.kvdyno(&["run", "s.toml", "--place", "place"]));
    scratch.wait_for_phase("lmdb_t1", "measure");
    for path in super::scratch::files_below(&scratch.path("place")) {
        if path.file_name().is_some_and(|name| name == "data.mdb") {
            fs::remove_file(path).unwrap();
        }
    }
    running.wait();
    scratch.run(&["export", "--json"]).assert_says("database-too-small");
    let run = scratch.only_run();
    assert_eq!(record(&run, "lmdb_t1").outcome, Outcome::Done);
}
