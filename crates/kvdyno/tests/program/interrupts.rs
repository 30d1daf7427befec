//! Ctrl-C: the first ends the case in flight and keeps its figures, the second ends at once.

use super::scratch::{Scratch, outcomes, record, records, wait_until};
use super::suites::{GET, suite};
use kvdyno_record::case::Outcome;
use rustix::process::Signal;

#[test]
fn once_keeps_what_was_done_and_resume_does_the_rest() {
    let scratch = Scratch::new();
    let suite = suite()
        .trials(2)
        .ram("256MiB")
        .run("slice = \"100ms\"")
        .engine_as("null", "null", "latency_ns = 1_000_000\nstore = \"memory\"")
        .load("batch = 500")
        .measure("operations = 2000")
        .role("readers", GET);
    scratch.write("s.toml", &suite.text());
    let running = scratch.start(scratch.kvdyno(&["run", "s.toml"]));
    scratch.wait_for_phase("t1_r2", "measure");
    let series = scratch.runs()[0].join("cases/0004_null_t1_r2/series.ndjson");
    wait_until("a slice of it is on disk", || {
        std::fs::read_to_string(&series).is_ok_and(|text| text.contains("measure"))
    });
    running.signal(Signal::INT);
    let done = running.wait();
    done.assert_code(130).assert_says("kvdyno resume");

    let run = scratch.only_run();
    let before = records(&run);
    let interrupted = record(&run, "t1_r2");
    assert!(matches!(interrupted.outcome, Outcome::Interrupted { .. }), "{:?}", outcomes(&run));
    let measured = interrupted.phases.iter().find(|phase| phase.name == "measure").unwrap();
    assert!(measured.stopped);
    assert!(measured.roles[0].ops["get"].count > 0, "what it measured is kept");
    for earlier in ["load_r1", "t1_r1", "load_r2"] {
        assert_eq!(record(&run, earlier).outcome, Outcome::Done);
    }
    scratch.run(&["check"]).assert_code(0);
    scratch.run(&["show", "--full"]).assert_says("interrupted");
    scratch.assert_nothing_left();

    scratch.run(&["resume"]).assert_ok();
    assert!(run.is_complete());
    assert!(outcomes(&run).values().all(|word| *word == "done"), "{:?}", outcomes(&run));
    let partial = records(&run).into_iter().find(|(id, _)| id.contains("t1_r1")).unwrap();
    assert_eq!(before[&partial.0], partial.1, "what was done is not done again");
    scratch.run(&["check"]).assert_code(0);
    scratch.assert_nothing_left();
}

#[test]
fn twice_ends_a_worker_that_does_not_listen() {
    let scratch = Scratch::new();
    let suite = suite()
        .engine_as("null", "null", "hang_at_op = 1000\nstore = \"memory\"")
        .ram("256MiB")
        .load("batch = 500")
        .measure("operations = 100_000")
        .role("readers", GET);
    scratch.write("s.toml", &suite.text());
    let mut running = scratch.start(scratch.kvdyno(&["run", "s.toml"]));
    scratch.wait_for_phase("null_t1", "measure");
    // It has come to the operation that hangs.
    std::thread::sleep(std::time::Duration::from_secs(1));
    running.signal(Signal::INT);
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert!(running.is_running(), "it waits for its worker to write down what it has");
    running.signal(Signal::INT);
    // It waits 30 s for a worker; after the second Ctrl-C it does not wait.
    let begun = std::time::Instant::now();
    wait_until("it ends", || !running.is_running());
    assert!(begun.elapsed().as_secs() < 20, "it waited for a worker that hangs");
    running.wait().assert_code(130);
    let run = scratch.only_run();
    assert!(matches!(record(&run, "null_t1").outcome, Outcome::Interrupted { .. }));
    assert_eq!(record(&run, "null_load").outcome, Outcome::Done);
    scratch.run(&["check"]).assert_code(0);
    scratch.assert_nothing_left();
}
