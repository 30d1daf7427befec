//! A volume that fills up while an engine writes.

use super::locations::can_mount;
use super::scratch::{Scratch, outcomes, record, wait_until};
use super::suites::{GET, suite};
use super::workers::needs;
use kvdyno_record::case::Outcome;
use std::fs;

/// The null engine plans no space, and with `store` it uses some.
#[test]
fn an_engine_that_fills_the_disk_is_told_and_the_run_goes_on() {
    if !can_mount("an_engine_that_fills_the_disk_is_told_and_the_run_goes_on") {
        return;
    }
    let scratch = Scratch::new();
    let suite = suite()
        .data("records = 8000\nvalue_bytes = 1000")
        .engine_as("keeps", "null", "store = \"memory\"")
        .engine("null")
        .load("batch = 500")
        .measure("duration = \"200ms\"")
        .role("readers", GET);
    scratch.write("s.toml", &suite.text());
    fs::create_dir(scratch.path("volume")).unwrap();
    let mounting = "mount -t tmpfs -o size=4m none volume";
    let arguments = ["run", "s.toml", "--data-dir", "volume/place", "--create-data-dir"];
    let done = scratch.start(scratch.kvdyno_after(mounting, &arguments)).wait();
    done.assert_code(3).assert_says("disk full");
    assert_told(&scratch, "keeps");

    // As full as before, and then with room: only the cases without room run again.
    let run = scratch.only_run();
    let again = ["resume"];
    let full = scratch.start(scratch.kvdyno_after(mounting, &again)).wait();
    full.assert_code(3).assert_says("disk full");
    assert_eq!(record(&run, "keeps_load").attempt, 2, "once each time, not once for each case");
    let mounting = "mount -t tmpfs -o size=64m none volume";
    scratch.start(scratch.kvdyno_after(mounting, &again)).wait().assert_ok();
    assert!(run.is_complete());
    assert!(outcomes(&run).values().all(|word| *word == "done"), "{:?}", outcomes(&run));
    assert_eq!(record(&run, "null_load").attempt, 1);
    scratch.run(&["check"]).assert_code(0);
}

/// LMDB's estimate is right, so another process fills the disk after the plan.
#[test]
fn lmdb_on_a_disk_that_fills_up_is_told_and_the_run_goes_on() {
    fills_up("lmdb", 64, "lmdb_on_a_disk_that_fills_up_is_told_and_the_run_goes_on");
}

/// There is no room for a server's first files, so it does not start.
#[test]
fn a_server_that_finds_no_room_to_begin_is_told() {
    fills_up("postgres", 160, "a_server_that_finds_no_room_to_begin_is_told");
}

/// Leaves 4 MiB for the engine.
fn fills_up(engine: &str, mib: usize, test: &str) {
    if !needs(engine, test) || !can_mount(test) {
        return;
    }
    let scratch = Scratch::new();
    let suite = suite()
        .data("records = 10_000\nvalue_bytes = 1000")
        .engine(engine)
        .engine("null")
        .load("batch = 100")
        .measure("duration = \"200ms\"")
        .role("readers", GET);
    scratch.write("s.toml", &suite.text());
    fs::create_dir(scratch.path("volume")).unwrap();
    let mounting = format!("mount -t tmpfs -o size={mib}m none volume");
    let arguments = ["run", "s.toml", "--data-dir", "volume/place", "--create-data-dir"];
    let running = scratch.start(scratch.kvdyno_after(&mounting, &arguments));
    // A run with a directory has an accepted plan; next it measures the load generator.
    let place = format!("/proc/{}/root{}", running.pid(), scratch.path("volume").display());
    wait_until("the data directory is claimed", || {
        fs::exists(format!("{place}/place/.kvdyno-lock")).unwrap_or(false)
    });
    fs::write(format!("{place}/filler"), vec![1; (mib - 4) << 20]).unwrap();
    running.wait().assert_code(3).assert_says("disk full");
    assert_told(&scratch, engine);
}

#[track_caller]
fn assert_told(scratch: &Scratch, engine: &str) {
    let run = scratch.only_run();
    let load = record(&run, &format!("{engine}_load"));
    let Outcome::DiskFull { message } = load.outcome else { panic!("{:?}", outcomes(&run)) };
    assert!(!message.is_empty());
    assert!(matches!(record(&run, &format!("{engine}_t1")).outcome, Outcome::NotRun { .. }));
    assert_eq!(record(&run, "null_t1").outcome, Outcome::Done);
    assert!(!run.is_complete(), "there may be room another time");
    scratch.run(&["check"]).assert_code(0);
    scratch.run(&["show", "--full"]).assert_says("disk full");
    scratch.assert_nothing_left();
}
