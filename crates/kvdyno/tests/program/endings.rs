//! The possible ends of a case: its outcome, the exit code, the findings, and whether `resume`
//! tries it again, in one table. Full disks are in `disk_full`.

use super::scratch::{Running, Scratch, files_below, record};
use super::suites::{GET, Suite, suite};
use super::workers::needs;
use kvdyno_record::case::Outcome;
use std::fs::{self, File};
use std::path::PathBuf;

struct Ending {
    suite: fn() -> Suite,
    case: &'static str,
    phase: &'static str,
    happens: fn(&Scratch, &Running),
    outcome: &'static str,
    code: i32,
    finding: &'static str,
    resumable: bool,
}

/// An engine that takes a millisecond per operation.
fn slow() -> Suite {
    suite()
        .data("records = 1500\nvalue_bytes = 100")
        .engine_as("slow", "null", "latency_ns = 1_000_000")
        .load("")
        .measure("warmup = \"1s\"\noperations = 1500")
        .role("readers", GET)
}

/// An engine with a file of its own.
fn lmdb() -> Suite {
    suite()
        .data("records = 20_000\nvalue_bytes = 200")
        .engine("lmdb")
        .run("database = \"fresh\"")
        .load("batch = 1000")
        .measure("duration = \"3s\"")
        .role("readers", GET)
}

fn kill(_: &Scratch, running: &Running) {
    running.kill_worker();
}

fn database(scratch: &Scratch) -> PathBuf {
    let is_it = |path: &PathBuf| path.file_name().is_some_and(|name| name == "data.mdb");
    files_below(&scratch.path("place")).into_iter().find(is_it).unwrap()
}

/// The file is open: residency and drive figures do not apply to it.
fn remove(scratch: &Scratch, _: &Running) {
    fs::remove_file(database(scratch)).unwrap();
}

/// Access to truncated mapped pages causes SIGBUS.
fn shrink(scratch: &Scratch, _: &Running) {
    File::options().write(true).open(database(scratch)).unwrap().set_len(8192).unwrap();
}

#[test]
fn outcome_exit_code_finding_and_resume_agree() {
    let killed = |phase| Ending {
        suite: slow,
        case: "slow_t1",
        phase,
        happens: kill,
        outcome: "killed",
        code: 3,
        finding: "cases-not-done",
        resumable: true,
    };
    let mut endings = vec![
        // A load that other cases need is tried again at once.
        Ending {
            case: "slow_load",
            outcome: "done",
            code: 0,
            finding: "case-retried",
            resumable: false,
            ..killed("load")
        },
        killed("warmup"),
        killed("measure"),
    ];
    if needs("lmdb", "outcome_exit_code_finding_and_resume_agree") {
        let lost = Ending { suite: lmdb, case: "lmdb_t1", resumable: false, ..killed("measure") };
        endings.push(Ending { happens: shrink, ..lost });
        let finding = "database-too-small";
        endings.push(Ending { happens: remove, outcome: "done", code: 0, finding, ..lost });
    }
    for ending in endings {
        assert_ends(&ending);
    }
}

fn assert_ends(ending: &Ending) {
    let Ending { case, phase, .. } = ending;
    let scratch = Scratch::new();
    scratch.write("s.toml", &(ending.suite)().text());
    let run = ["run", "s.toml", "--data-dir", "place", "--create-data-dir"];
    let running = scratch.start(scratch.kvdyno(&run));
    scratch.wait_for_phase(case, phase);
    (ending.happens)(&scratch, &running);
    let done = running.wait();
    match ending.code {
        0 => done.assert_ok(),
        code => done.assert_code(code),
    };
    let run = scratch.only_run();
    assert_eq!(record(&run, case).outcome.as_str(), ending.outcome, "{case} {phase}");
    scratch.assert_finding(ending.finding);
    assert_eq!(!run.is_complete(), ending.resumable, "{case} {phase}");
    if ending.resumable {
        scratch.run(&["resume"]).assert_ok();
        assert_eq!(record(&run, case).outcome, Outcome::Done);
        scratch.assert_finding("case-retried");
    }
    scratch.run(&["check"]).assert_code(0);
    scratch.assert_nothing_left();
}
