//! Two programs at once: in one data directory, on one run.

use super::scratch::{Scratch, outcomes};
use super::suites::{GET, Suite, reads, suite};
use rustix::process::Signal;

/// Longer than any test: Ctrl-C ends it.
fn long() -> Suite {
    suite().engine("null").load("batch = 500").measure("duration = \"5m\"").role("readers", GET)
}

#[test]
fn a_second_run_in_the_same_place_is_told_who_is_there() {
    let scratch = Scratch::new();
    scratch.write("long.toml", &long().text());
    scratch.write("short.toml", &reads().engine("null").text());
    let first = scratch.start(scratch.kvdyno(&[
        "run",
        "long.toml",
        "--data-dir",
        "place",
        "--create-data-dir",
    ]));
    scratch.wait_for_phase("t1", "measure");
    let id = scratch.runs()[0].file_name().unwrap().to_string_lossy().into_owned();
    let second = scratch.run(&["run", "short.toml", "--data-dir", "place"]);
    second.assert_code(2);
    second.assert_says(&id).assert_says(&format!("process {}", first.pid()));
    assert_eq!(scratch.runs().len(), 1, "the second made nothing");
    // Elsewhere it may.
    scratch
        .run(&["run", "short.toml", "--data-dir", "other", "--create-data-dir", "--runs", "others"])
        .assert_ok();
    first.signal(Signal::INT);
    first.wait().assert_code(130);
    assert!(outcomes(&scratch.only_run()).values().any(|word| *word == "done"));
    scratch.run(&["check"]).assert_code(0);
    assert!(!scratch.path("place").exists());
    scratch.assert_nothing_left();
}

/// Two runs in different places still disturb each other: both warn, in their records too.
#[test]
fn two_runs_at_once_know_of_each_other() {
    let scratch = Scratch::new();
    scratch.write("long.toml", &long().text());
    scratch.write("short.toml", &reads().engine("null").text());
    let first = scratch.start(scratch.kvdyno(&["run", "long.toml"]));
    scratch.wait_for_phase("t1", "measure");
    let second = scratch.start(scratch.kvdyno(&["run", "short.toml", "--runs", "others"]));
    let pids = [first.pid(), second.pid()];
    second.wait().assert_ok().assert_says(&format!("process {}", pids[0]));
    let id = second_run(&scratch);
    first.signal(Signal::INT);
    first.wait().assert_code(130);
    scratch.assert_finding("concurrent-run");
    // Runs of other tests are there, too.
    let knows = |run: &kvdyno_record::files::RunDir, pid: u32| {
        let records = super::scratch::records(run);
        records.values().any(|record| record.concurrent_runs.contains(&pid))
    };
    let other = kvdyno_record::files::RunDir::open(id).unwrap();
    assert!(knows(&other, pids[0]) && knows(&scratch.only_run(), pids[1]));
    scratch.assert_nothing_left();
}

/// The directory of the only run in `others`.
fn second_run(scratch: &Scratch) -> std::path::PathBuf {
    let others = scratch.path("others");
    let names = super::scratch::list(&others);
    assert_eq!(names.len(), 1, "{names:?}");
    others.join(&names[0])
}

#[test]
fn a_run_that_is_running_is_not_resumed() {
    let scratch = Scratch::new();
    scratch.write("s.toml", &long().text());
    let first = scratch.start(scratch.kvdyno(&["run", "s.toml"]));
    scratch.wait_for_phase("t1", "measure");
    scratch.run(&["resume"]).assert_code(2).assert_says(&format!("process {}", first.pid()));
    first.signal(Signal::INT);
    first.wait().assert_code(130);
    let run = scratch.only_run();
    assert_eq!(run.cases().unwrap().len(), 2, "nothing was done twice");
    scratch.run(&["check"]).assert_code(0);
    scratch.assert_nothing_left();
}
