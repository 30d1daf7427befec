//! One load, and a copy of the database for each case that works on it.

use super::phases;
use super::scratch::{Done, Running, Scratch, list, outcomes, records, wait_until};
use super::suites::{Suite, UPDATE, suite};
use super::volumes::can_make;
use super::workers::needs;
use kvdyno_record::case::CaseRecord;
use kvdyno_record::plan::Copying;
use rustix::process::Signal;
use std::path::PathBuf;

/// It adds to the database: no other case may find its records.
const GROWS: &str = "threads = \"sweep\"\nmix = [{ op = \"get\" }, { op = \"insert\" }]\n\
                     rate = { per_second = 2000, schedule = \"fixed\" }";

const RECORDS: u64 = 5000;

fn grows(database: &str) -> Suite {
    suite()
        .data(&format!("records = {RECORDS}\nvalue_bytes = 1000"))
        .run(&format!("database = \"{database}\"\nthreads = [1, 2]"))
        .load("batch = 500")
        .phase("evict", "")
        .phase("verify", "count = true")
        .measure("duration = \"200ms\"")
        .role("users", GROWS)
}

/// The cases that measured on a volume, or in the data directory; each found exactly the loaded
/// records.
fn assert_each_from_the_start(cases: &[&CaseRecord], by: Copying) {
    assert_eq!(cases.len(), 2);
    for case in cases {
        let verified = phases::first(case, "verify").verified.as_ref().unwrap();
        assert_eq!((verified.counted, verified.expected), (Some(RECORDS), RECORDS));
        let copy = case.database_copy.as_ref().unwrap();
        assert_eq!(copy.method, by, "{}: {copy:?}", case.case.id);
        assert!(copy.files > 0 && copy.bytes > RECORDS * 1000, "{copy:?}");
        assert!(case.database_used_by.is_empty());
        assert_eq!(case.outcome.word(), "done");
    }
}

/// In the run's data directory, on any filesystem, by any user.
#[test]
fn cases_that_insert_each_begin_with_what_was_loaded() {
    let test = "cases_that_insert_each_begin_with_what_was_loaded";
    if !needs("lmdb", test) {
        return;
    }
    let scratch = Scratch::new();
    scratch.write("s.toml", &grows("copy").engine("lmdb").text());
    scratch.run(&["run", "s.toml", "--full"]).assert_ok().assert_says("copied");
    let all = records(&scratch.only_run());
    assert_eq!(all.len(), 3, "one load: {:?}", all.keys());
    let measured: Vec<_> = all.values().filter(|case| case.case.threads.is_some()).collect();
    assert_each_from_the_start(&measured, Copying::Copy);
    for case in &measured {
        assert_eq!(case.database_copy.as_ref().unwrap().instead, None);
    }
    scratch.run(&["check"]).assert_code(0);
    scratch.assert_nothing_left();
    let shared = grows("shared").engine("lmdb").text();
    scratch.write("s.toml", &shared);
    scratch.run(&["run", "s.toml"]).assert_code(2).assert_says("\"copy\" or \"fresh\"");
}

/// Reflinks if the filesystem has them, copies if it has none, a separate load on the bare device:
/// all in one run, each with a note.
#[test]
fn a_reflink_where_the_filesystem_can() {
    let test = "a_reflink_where_the_filesystem_can";
    let tools = ["mkfs.ext4", "mkfs.xfs", "mkfs.btrfs"];
    if !can_make(test, &tools) || !needs("lmdb", test) || !needs("lmdb1", test) {
        return;
    }
    let scratch = Scratch::new();
    let mut suite = grows("reflink").engine("lmdb").engine("lmdb1");
    for kind in ["ext4", "xfs", "btrfs", "raw"] {
        suite = suite
            .volume(kind, &format!("kind = \"loop\"\nfilesystem = \"{kind}\"\nsize = \"512MiB\""));
    }
    scratch.write("s.toml", &suite.text());
    let done = scratch.run(&["run", "s.toml"]);
    done.assert_ok().assert_says("lmdb on `ext4`: ").assert_says("lmdb1 on `raw`: ");
    let all = records(&scratch.only_run());
    let on = |engine: &str, volume: &str| -> Vec<&CaseRecord> {
        let is_it = |case: &&CaseRecord| {
            let made = case.volume.as_ref().is_some_and(|made| made.name == volume);
            made && case.case.engine == engine && case.case.threads.is_some()
        };
        all.values().filter(is_it).collect()
    };
    for engine in ["lmdb", "lmdb1"] {
        for (kind, by) in
            [("ext4", Copying::Copy), ("xfs", Copying::Reflink), ("btrfs", Copying::Reflink)]
        {
            let cases = on(engine, kind);
            assert_each_from_the_start(&cases, by);
            let instead = cases[0].database_copy.as_ref().unwrap().instead.clone();
            assert_eq!(instead.is_some(), kind == "ext4", "{instead:?}");
        }
    }
    let raw = on("lmdb1", "raw");
    assert_eq!(raw.len(), 2);
    for case in raw {
        assert!(case.database_copy.is_none() && case.case.makes_database());
        let verified = case.phases.iter().find_map(|phase| phase.verified.as_ref()).unwrap();
        assert_eq!(verified.counted, Some(RECORDS));
    }
    scratch.run(&["check"]).assert_code(0);
    scratch.assert_nothing_left();
}

/// Large enough that the copy takes a while.
fn to_be_cut_off() -> Suite {
    suite()
        .data("records = 300\nvalue_bytes = \"1MiB\"")
        .run("database = \"copy\"")
        .engine("lmdb")
        .load("batch = 100")
        .measure("operations = 200")
        .role("writer", UPDATE)
}

/// Waits until the copy for the measured case is in progress.
fn wait_for_copy(scratch: &Scratch) -> PathBuf {
    let mut copy = PathBuf::new();
    wait_until("a database is copied", || {
        let copies = scratch.runs().into_iter().flat_map(|run| {
            let place = run.join("volume");
            list(&place).into_iter().map(move |name| place.join(name))
        });
        let mut copies = copies.filter(|path| path.display().to_string().contains("_t1_"));
        copies.next().inspect(|path| copy.clone_from(path)).is_some()
    });
    copy
}

fn cut_off(scratch: &Scratch, signal: Signal) -> Done {
    scratch.write("s.toml", &to_be_cut_off().text());
    let running: Running = scratch.start(scratch.kvdyno(&["run", "s.toml"]));
    wait_for_copy(scratch);
    running.signal(signal);
    running.wait()
}

/// Both are loaded and copied again; partial copies are removed.
fn assert_goes_on(scratch: &Scratch) {
    scratch.run(&["resume"]).assert_ok();
    let run = scratch.only_run();
    let words = outcomes(&run);
    assert!(words.values().all(|word| *word == "done"), "{words:?}");
    let all = records(&run);
    let copied = all.values().find_map(|case| case.database_copy.as_ref()).unwrap();
    assert!(copied.bytes > 300 << 20, "{copied:?}");
    scratch.run(&["check"]).assert_code(0);
    scratch.assert_nothing_left();
}

#[test]
fn killed_while_it_copies_a_run_goes_on_with_a_whole_copy() {
    let test = "killed_while_it_copies_a_run_goes_on_with_a_whole_copy";
    if !needs("lmdb", test) {
        return;
    }
    let scratch = Scratch::new();
    let killed = cut_off(&scratch, Signal::KILL);
    assert_eq!(killed.signal, Some(Signal::KILL.as_raw()), "it was still at work");
    assert!(scratch.only_run().path.join("volume").exists());
    assert_goes_on(&scratch);
}

#[test]
fn interrupted_while_it_copies_nothing_is_left() {
    let test = "interrupted_while_it_copies_nothing_is_left";
    if !needs("lmdb", test) {
        return;
    }
    let scratch = Scratch::new();
    cut_off(&scratch, Signal::INT).assert_code(130);
    scratch.assert_nothing_left();
    assert_goes_on(&scratch);
}
