//! Places that will not do, and places that will with a warning.

use super::scratch::{Done, Scratch, files_below, list, outcomes};
use super::suites::reads;
use super::workers::{needs_root, report_skip};
use std::fs;
use std::path::Path;

fn scratch() -> Scratch {
    let scratch = Scratch::new();
    scratch.write("s.toml", &reads().engine_as("null", "null", "store = \"memory\"").text());
    scratch
}

/// Refused with code 2, no run begun.
#[track_caller]
fn assert_refused(scratch: &Scratch, done: &Done, words: &str) {
    done.assert_code(2).assert_says(words);
    assert!(scratch.runs().is_empty(), "a run was begun: {:?}", scratch.runs());
    scratch.assert_nothing_left();
}

#[test]
fn a_place_that_is_a_file_is_refused() {
    let scratch = scratch();
    scratch.write("file", "precious");
    for place in ["file", "file/below"] {
        let done = scratch.run(&["run", "s.toml", "--data-dir", place]);
        assert_refused(&scratch, &done, "file");
    }
    assert_eq!(fs::read_to_string(scratch.path("file")).unwrap(), "precious");
}

/// Bug 10: what an earlier run, or anybody, left in the directory is not measured.
#[test]
fn a_place_that_is_not_empty_is_refused_and_left_alone() {
    let scratch = scratch();
    fs::create_dir(scratch.path("place")).unwrap();
    scratch.write("place/data.mdb", "precious");
    let done = scratch.run(&["run", "s.toml", "--data-dir", "place"]);
    assert_refused(&scratch, &done, "data.mdb");
    assert_eq!(list(&scratch.path("place")), ["data.mdb"]);
}

/// A drive that is not mounted: its directory would be made on another drive.
#[test]
fn a_place_that_does_not_exist_is_made_only_when_asked_for() {
    let scratch = scratch();
    for command in ["run", "plan"] {
        let done = scratch.run(&[command, "s.toml", "--data-dir", "gone/deeper"]);
        assert_refused(&scratch, &done, "gone/deeper");
        done.assert_says("--create-data-dir");
        assert!(!scratch.path("gone").exists());
    }
    let done = scratch.run(&["drive", "gone"]);
    assert_refused(&scratch, &done, "gone");
}

#[test]
fn a_place_is_given_back_as_it_was_found() {
    let scratch = scratch();
    fs::create_dir(scratch.path("place")).unwrap();
    scratch.run(&["run", "s.toml", "--data-dir", "place"]).assert_ok();
    assert!(list(&scratch.path("place")).is_empty());
    scratch.run(&["run", "s.toml", "--data-dir", "new/deeper", "--create-data-dir"]).assert_ok();
    assert!(!scratch.path("new").exists());
    scratch.assert_nothing_left();
}

#[test]
fn a_read_only_place_is_refused() {
    let test = "a_read_only_place_is_refused";
    if !can_mount(test) {
        return;
    }
    let scratch = scratch();
    fs::create_dir(scratch.path("volume")).unwrap();
    let mounting = "mount -t tmpfs -o size=1m none volume; mount -o remount,ro volume";
    let arguments = ["run", "s.toml", "--data-dir", "volume/place", "--create-data-dir"];
    let done = scratch.start(scratch.kvdyno_after(mounting, &arguments)).wait();
    assert_refused(&scratch, &done, "is on tmpfs mounted read-only");
}

#[test]
fn a_full_place_is_refused() {
    let test = "a_full_place_is_refused";
    if !can_mount(test) {
        return;
    }
    let scratch = scratch();
    fs::create_dir(scratch.path("volume")).unwrap();
    let mounting = "mount -t tmpfs -o size=1m none volume; mkdir volume/place; \
                    dd if=/dev/zero of=volume/filler bs=64k 2>/dev/null || true";
    let arguments = ["run", "s.toml", "--data-dir", "volume/place"];
    let done = scratch.start(scratch.kvdyno_after(mounting, &arguments)).wait();
    assert_refused(&scratch, &done, "volume/place");
}

#[test]
fn a_place_in_memory_is_used_with_a_warning() {
    let test = "a_place_in_memory_is_used_with_a_warning";
    let place = format!("/dev/shm/kvdyno-program-{}", std::process::id());
    if !fs::read_to_string("/proc/mounts").unwrap().contains(" /dev/shm tmpfs rw") {
        report_skip("shm", test, "/dev/shm is no writable tmpfs");
        return;
    }
    let scratch = scratch();
    let done = scratch.run(&["run", "s.toml", "--data-dir", &place, "--create-data-dir"]);
    done.assert_ok().assert_says("warning: ").assert_says("tmpfs at /dev/shm");
    assert!(!Path::new(&place).exists());
    let run = scratch.only_run();
    assert!(outcomes(&run).values().all(|word| *word == "done"));
    scratch.assert_nothing_left();
}

#[test]
fn a_place_on_an_overlay_is_used_with_a_warning() {
    let test = "a_place_on_an_overlay_is_used_with_a_warning";
    if !can_mount(test) {
        return;
    }
    let scratch = scratch();
    fs::create_dir(scratch.path("layers")).unwrap();
    let mounting = "mount -t tmpfs none layers; mkdir layers/lower layers/upper layers/work \
                    layers/all; mount -t overlay none -o \
                    lowerdir=layers/lower,upperdir=layers/upper,workdir=layers/work layers/all";
    let possible = scratch.start(scratch.kvdyno_after(mounting, &["suites"])).wait();
    if possible.code != Some(0) {
        report_skip("overlay", test, "no overlay can be mounted");
        return;
    }
    let arguments = ["run", "s.toml", "--data-dir", "layers/all/place", "--create-data-dir"];
    let done = scratch.start(scratch.kvdyno_after(mounting, &arguments)).wait();
    done.assert_ok().assert_says("warning: ").assert_says("overlay");
    assert!(files_below(&scratch.path("layers")).is_empty());
    scratch.assert_nothing_left();
}

/// Mounting takes root and a kernel that lets it.
pub(crate) fn can_mount(test: &str) -> bool {
    if !needs_root(test) {
        return false;
    }
    let scratch = Scratch::new();
    fs::create_dir(scratch.path("volume")).unwrap();
    let mounting = "mount -t tmpfs -o size=1m none volume";
    let can = scratch.start(scratch.kvdyno_after(mounting, &["suites"])).wait().code == Some(0);
    if !can {
        report_skip("mount", test, "nothing can be mounted here");
    }
    can
}

#[test]
fn what_the_kernel_makes_up_is_refused_as_a_place() {
    let scratch = Scratch::new();
    scratch.write("s.toml", &reads().engine("null").text());
    for command in ["plan", "run"] {
        let done = scratch.run(&[command, "s.toml", "--data-dir", "/proc/kvdyno"]);
        done.assert_code(2).assert_says("/proc/kvdyno");
    }
    scratch.assert_nothing_left();
}

#[test]
fn a_plan_says_where_the_data_would_lie() {
    let scratch = Scratch::new();
    scratch.write("s.toml", &reads().engine("null").text());
    let place = scratch.path("data").display().to_string();
    let done = scratch.run(&["plan", "s.toml", "--data-dir", &place, "--create-data-dir"]);
    done.assert_code(0).assert_says(&format!("data directory {place} on ")).assert_says(" free");
}
