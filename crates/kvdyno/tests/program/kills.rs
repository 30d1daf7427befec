//! Killed workers and programs, and hanging workers: only one case is lost.

use super::scratch::{Scratch, list, outcomes, record, records, wait_until};
use super::suites::{GET, Suite, reads, suite};
use kvdyno_record::case::Outcome;
use rustix::process::Signal;

/// Busy for a millisecond in each operation: a busy machine makes it longer, never shorter.
const SLOW: &str = "latency_ns = 1_000_000";

/// A load of three seconds by the slow engine, of almost nothing by the other.
fn slow_load() -> Suite {
    suite()
        .data("records = 3000\nvalue_bytes = 100")
        .engine_as("slow", "null", SLOW)
        .engine("null")
        .load("")
        .measure("operations = 200")
        .role("readers", GET)
}

/// Loads of almost nothing, and reads of three seconds by the slow engine.
fn slow_reads() -> Suite {
    suite()
        .engine_as("slow", "null", SLOW)
        .engine("null")
        .load("batch = 500")
        .measure("operations = 3000")
        .role("readers", GET)
}

/// `resume` tries a killed case again, and seals the run.
fn assert_resumable(scratch: &Scratch, killed: &str) {
    let run = scratch.only_run();
    assert!(!run.is_complete());
    scratch.run(&["show", "--full"]).assert_says("killed").assert_says("kvdyno resume");
    scratch.run(&["list"]).assert_says("kvdyno resume");
    scratch.run(&["check"]).assert_code(0);
    let attempts = record(&run, killed).attempt;
    let resumed = scratch.run(&["resume"]);
    resumed.assert_ok().assert_says(&format!("done (again, try {})", attempts + 1));
    assert!(run.is_complete());
    assert_eq!(record(&run, killed).attempt, attempts + 1);
    assert!(outcomes(&run).values().all(|word| *word == "done"), "{:?}", outcomes(&run));
    scratch.run(&["check"]).assert_code(0);
    scratch.run(&["resume"]).assert_code(2).assert_says("kvdyno show");
    scratch.assert_nothing_left();
}

#[test]
fn a_worker_killed_while_it_loads_costs_its_case() {
    let scratch = Scratch::new();
    scratch.write("s.toml", &slow_load().run("database = \"fresh\"").text());
    let running = scratch.start(scratch.kvdyno(&["run", "s.toml"]));
    scratch.wait_for_phase("slow_t1", "load");
    running.kill_worker();
    running.wait().assert_code(3).assert_says("killed").assert_says("kvdyno resume");
    let run = scratch.only_run();
    let killed = Outcome::Killed { signal: 9, message: "in `load`".to_owned() };
    assert_eq!(record(&run, "slow_t1").outcome, killed);
    assert_eq!(record(&run, "null_t1").outcome, Outcome::Done);
    scratch.assert_nothing_left();
    assert_resumable(&scratch, "slow_t1");
}

/// A load that other cases need is tried again at once.
#[test]
fn a_shared_load_whose_worker_was_killed_is_done_again_for_the_next_case() {
    let scratch = Scratch::new();
    scratch.write("s.toml", &slow_load().text());
    let running = scratch.start(scratch.kvdyno(&["run", "s.toml"]));
    scratch.wait_for_phase("slow_load", "load");
    running.kill_worker();
    running.wait().assert_ok();
    let run = scratch.only_run();
    let attempts: Vec<_> =
        run.case_records().unwrap().into_iter().map(|(_, record)| record).collect();
    let first = attempts.iter().find(|r| r.case.id.contains("slow_load") && r.attempt == 1);
    assert_eq!(first.unwrap().outcome.as_str(), "killed");
    assert_eq!(record(&run, "slow_load").attempt, 2);
    scratch.assert_finding("case-retried");
    assert!(outcomes(&run).values().all(|word| *word == "done"), "{:?}", outcomes(&run));
    assert!(run.is_complete());
    scratch.run(&["check"]).assert_code(0);
    scratch.assert_nothing_left();
}

#[test]
fn a_worker_killed_while_it_measures_costs_its_case() {
    let scratch = Scratch::new();
    scratch.write("s.toml", &slow_reads().text());
    let running = scratch.start(scratch.kvdyno(&["run", "s.toml"]));
    scratch.wait_for_phase("slow_t1", "measure");
    running.kill_worker();
    running.wait().assert_code(3).assert_says("killed").assert_says("kvdyno resume");
    let run = scratch.only_run();
    let killed = Outcome::Killed { signal: 9, message: "in `measure`".to_owned() };
    assert_eq!(record(&run, "slow_t1").outcome, killed);
    assert_eq!(record(&run, "null_t1").outcome, Outcome::Done);
    scratch.assert_nothing_left();
    assert_resumable(&scratch, "slow_t1");
}

#[test]
fn a_worker_that_hangs_is_ended_by_its_budget_and_the_run_goes_on() {
    let scratch = Scratch::new();
    let suite = reads()
        .run("budget = \"5s\"")
        .engine_as("hangs", "null", "hang_at_op = 1000")
        .engine("null");
    scratch.write("s.toml", &suite.text());
    let done = scratch.run(&["run", "s.toml"]);
    // It may have hung: that is a failure, for scripts too.
    done.assert_code(3).assert_says("3 of 4");
    scratch.run(&["show"]).assert_code(3);
    let run = scratch.only_run();
    let message = "over its time limit of 5.00 s (`budget` in [run]) in `measure`".to_owned();
    assert_eq!(record(&run, "hangs_t1").outcome, Outcome::OutOfTime { message });
    assert_eq!(record(&run, "null_t1").outcome, Outcome::Done);
    assert!(run.is_complete(), "it would hang again");
    scratch.run(&["check"]).assert_code(0);
    scratch.assert_nothing_left();
}

#[test]
fn a_close_that_takes_long_is_told() {
    let scratch = Scratch::new();
    let suite = reads().engine_as("slow", "null", "close_ms = 6000");
    scratch.write("s.toml", &suite.run("database = \"fresh\"").text());
    let done = scratch.run(&["run", "s.toml"]);
    done.assert_ok().assert_says("closing takes 5.");
    assert_eq!(done.err.matches("closing takes").count(), 1, "once: {}", done.err);
    scratch.assert_nothing_left();
}

/// The program itself is killed: its worker dies with it, and its group is removed. Its place is
/// free only for its own resume, which removes the remains.
#[test]
fn a_killed_program_leaves_what_its_resume_takes_away() {
    let scratch = Scratch::new();
    let options = format!("{SLOW}\nstore = \"memory\"");
    let suite = suite()
        .ram("256MiB")
        .engine("null")
        .engine_as("keeps", "null", &options)
        .load("batch = 500")
        .measure("operations = 3000")
        .role("readers", GET);
    scratch.write("s.toml", &suite.text());
    let running = scratch.start(scratch.kvdyno(&[
        "run",
        "s.toml",
        "--data-dir",
        "place",
        "--create-data-dir",
    ]));
    scratch.wait_for_phase("keeps_t1", "measure");
    let worker = running.worker().unwrap();
    running.signal(Signal::KILL);
    assert_eq!(running.wait().signal, Some(9));
    wait_until("worker and reaper are gone", || scratch.processes().is_empty());
    assert_eq!(scratch.groups(), Vec::<std::path::PathBuf>::new());
    assert!(!std::path::Path::new(&format!("/proc/{worker}/exe")).exists());
    assert_eq!(list(&scratch.path("place")).len(), 2, "a database and the lock are left");
    let listed = scratch.run(&["list"]);
    listed.assert_code(0).assert_says("partial").assert_says("1 remaining database");
    let id = scratch.runs()[0].file_name().unwrap().to_string_lossy().into_owned();
    let shown = scratch.run(&["show", "--full"]);
    shown.assert_says(" of 4 cases").assert_says(&format!("kvdyno resume {id}"));
    scratch.run(&["check"]).assert_code(0);
    let refused = scratch.run(&["run", "s.toml", "--data-dir", "place"]);
    refused.assert_code(2).assert_says(&id);

    let before = records(&scratch.only_run());
    let resumed = scratch.run(&["resume"]);
    resumed.assert_ok().assert_says(" left of 4").assert_says("1 database");
    let run = scratch.only_run();
    assert!(run.is_complete());
    scratch.run(&["list"]).assert_says("complete");
    assert!(outcomes(&run).values().all(|word| *word == "done"), "{:?}", outcomes(&run));
    for (id, record) in before {
        if id.contains("_t1") {
            assert_eq!(records(&run)[&id], record, "{id} was done and is kept");
        }
    }
    assert!(!scratch.path("place").exists(), "it was made by the run");
    scratch.run(&["check"]).assert_code(0);
    scratch.assert_nothing_left();
}
