//! A run on volumes that is killed at many moments.

use crate::scratch::{Scratch, list, outcomes, wait_until};
use crate::suites::{GET, Suite, suite};
use crate::tiers::{SLOW, SQUEEZED, can_swap};
use crate::volumes::{EXT4, NO_JOURNAL, assert_nothing_left, can_make, kill_after, loops, mounts};
use crate::workers::needs;
use kvdyno_record::files::RunDir;
use std::fs;
use std::path::{Path, PathBuf};

/// Long enough to be killed anywhere: made, loaded, measured, made anew; by an engine that keeps
/// more than its RAM limit where there is swap for the rest, and by a real one where there is one.
fn to_be_killed(test: &str, can_swap: bool) -> Suite {
    let memory_mib = if can_swap { 64 } else { 16 };
    let keeps =
        format!("store = \"memory\"\nlatency_ns = 20_000\nmemory_bytes = \"{memory_mib}MiB\"");
    let mut suite = suite()
        .data("records = 3000\nvalue_bytes = 100")
        .run("database = \"fresh\"")
        .volume("ext4", EXT4)
        .ram("48MiB");
    if can_swap {
        suite = suite.tier("slow", SLOW).tier("squeezed", SQUEEZED);
    } else {
        suite = suite.volume("nojournal", NO_JOURNAL);
    }
    suite = suite.engine_as("keeps", "null", &keeps);
    if needs("lmdb", test) {
        suite = suite.engine("lmdb");
    }
    suite.load("batch = 100").measure("duration = \"100ms\"").role("readers", GET)
}

/// Twenty moments from before the first volume is made to after the last is gone. What stays is
/// the record, and an empty directory with the list of what was made there, for `resume`.
#[test]
#[ignore = "calls swapon on this machine where it can: `make soak`"]
fn killed_at_twenty_moments_nothing_is_left_and_the_run_goes_on() {
    let test = "killed_at_twenty_moments_nothing_is_left_and_the_run_goes_on";
    if !can_make(test, &["mkfs.ext4"]) {
        return;
    }
    let scratch = Scratch::new();
    let alone = can_swap(test);
    scratch.write("s.toml", &to_be_killed(test, alone.is_some()).text());
    let begun = std::time::Instant::now();
    scratch.run(&["run", "s.toml", "--runs", "whole"]).assert_ok();
    let mut whole = begun.elapsed();
    let (mut killed, mut too_late) = (0, 0);
    while killed < 20 {
        let moment = killed + 1;
        let wait = whole * moment / 21;
        let running = scratch.start(scratch.kvdyno(&["run", "s.toml"]));
        if kill_after(running, wait) {
            killed += 1;
        } else {
            // It took less than what was thought: the moment is looked for anew.
            too_late += 1;
            assert!(too_late < 40, "{killed} were killed, {too_late} ended before");
            whole = whole * 19 / 20;
        }
        // The last to go is the one that takes away groups and swap.
        wait_until("all processes are gone", || scratch.processes().is_empty());
        wait_until("no loop device is left", || loops(&scratch).is_empty());
        assert_eq!(scratch.groups(), Vec::<PathBuf>::new());
        assert_eq!(scratch.swaps(), Vec::<PathBuf>::new());
        assert_eq!(mounts(&scratch), Vec::<String>::new());
        for run in scratch.runs() {
            let dir = RunDir::open(run.clone()).ok();
            if dir.as_ref().is_none_or(RunDir::is_complete) {
                continue;
            }
            assert_only_empty_dirs(&run.join("volume"));
            if moment % 5 == 0 && run.join("run.json").exists() {
                let name = run.display().to_string();
                scratch.run(&["resume", &name]).assert_ok();
                let words = outcomes(&dir.unwrap());
                assert!(words.values().all(|word| *word == "done"), "{words:?}");
                assert!(!run.join("volume").exists(), "resume took it away");
            }
        }
        // The first moments are before there is any.
        let _ = fs::remove_dir_all(scratch.path("runs"));
        assert_eq!(scratch.runs(), Vec::<PathBuf>::new());
    }
    assert_nothing_left(&scratch);
}

/// What a kill leaves in a data directory: a list of what was made there, and directories without a
/// file.
fn assert_only_empty_dirs(place: &Path) {
    for name in list(place).into_iter().filter(|name| name != ".kvdyno-lock") {
        let files = crate::scratch::files_below(&place.join(&name));
        assert!(files.is_empty(), "{files:?}");
    }
}
