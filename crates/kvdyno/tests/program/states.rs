//! States: databases that are loaded once, kept for later runs, and copied for each case.

use super::phases;
use super::scratch::{Done, Running, Scratch, list, outcomes, records, wait_until};
use super::suites::{GET, Suite, UPDATE, suite};
use super::volumes::can_make;
use super::workers::needs;
use kvdyno_record::case::{CaseRecord, Copying};
use kvdyno_record::files::RunDir;
use rustix::process::Signal;
use std::fs;
use std::path::{Path, PathBuf};

/// It adds to the database: no other case may find its records.
const GROWS: &str = "threads = \"sweep\"\nmix = [{ op = \"get\" }, { op = \"insert\" }]\n\
                     rate = { per_second = 2000, schedule = \"fixed\" }";

const RECORDS: u64 = 5000;

fn grows(database: &str) -> Suite {
    loads(database).role("users", GROWS)
}

fn reads(database: &str) -> Suite {
    loads(database).role("users", &format!("threads = \"sweep\"\n{GET}"))
}

fn loads(database: &str) -> Suite {
    suite()
        .data(&format!("records = {RECORDS}\nvalue_bytes = 1000"))
        .run(&format!("database = \"{database}\"\nthreads = [1, 2]"))
        .load("batch = 500")
        .phase("evict", "")
        .phase("verify", "count = true")
        .measure("duration = \"200ms\"")
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
        assert_eq!(case.outcome.as_str(), "done");
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
    scratch.write("s.toml", &grows("state").engine("lmdb").text());
    scratch.run(&["run", "s.toml", "--full"]).assert_ok().assert_says("copied");
    let all = records(&scratch.only_run());
    assert_eq!(all.len(), 3, "one load: {:?}", all.keys());
    let measured: Vec<_> = all.values().filter(|case| case.case.threads.is_some()).collect();
    assert_each_from_the_start(&measured, Copying::Copy);
    scratch.run(&["check"]).assert_code(0);
    scratch.assert_nothing_left();
    let shared = grows("shared").engine("lmdb").text();
    scratch.write("s.toml", &shared);
    scratch.run(&["run", "s.toml"]).assert_code(2).assert_says("\"state\" or \"fresh\"");
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
    let mut suite = reads("state").engine("lmdb").engine("lmdb1");
    for kind in ["ext4", "xfs", "btrfs", "raw"] {
        suite = suite
            .volume(kind, &format!("kind = \"loop\"\nfilesystem = \"{kind}\"\nsize = \"512MiB\""));
    }
    scratch.write("s.toml", &suite.text());
    let done = scratch.run(&["run", "s.toml"]);
    done.assert_ok().assert_says("lmdb1 on `raw`: ");
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
            // What is on a volume that was made for the run goes with it.
            assert!(cases[0].database_copy.as_ref().unwrap().state.is_none());
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

/// The records of a run's cases: of the load, and of those that measured.
fn load_and_measured(run: &Path) -> (CaseRecord, Vec<CaseRecord>) {
    let all = records(&RunDir::open(run.to_owned()).unwrap());
    let (loads, measured): (Vec<_>, Vec<_>) =
        all.into_values().partition(|case| case.case.makes_database());
    assert_eq!((loads.len(), measured.len()), (1, 2));
    (loads.into_iter().next().unwrap(), measured)
}

fn states(scratch: &Scratch, more: &[&str]) -> Vec<serde_json::Value> {
    let listed = scratch.run(&[&["state", "list", "--json"], more].concat()).json();
    listed.as_array().unwrap().clone()
}

/// The second run begins with the first one's state, and each of its cases with what was loaded.
#[test]
fn a_later_run_does_not_load_again() {
    let test = "a_later_run_does_not_load_again";
    if !needs("lmdb", test) {
        return;
    }
    let scratch = Scratch::new();
    scratch.write("s.toml", &grows("state").engine("lmdb").text());
    scratch.run(&["run", "s.toml"]).assert_ok();
    assert!(states(&scratch, &[]).is_empty(), "nobody asked to keep any");
    scratch.run(&["run", "s.toml", "--states", "1GiB"]).assert_ok();
    let kept = states(&scratch, &[]);
    assert_eq!(kept.len(), 1, "{kept:?}");
    let before = scratch.runs();
    let done = scratch.run(&["run", "s.toml", "--full"]);
    done.assert_ok().assert_says("so nothing was loaded").assert_says("not loaded: the state of");
    let run = scratch.runs().into_iter().find(|run| !before.contains(run)).unwrap();
    let (load, measured) = load_and_measured(&run);
    let origin = load.restored.unwrap();
    assert_eq!((origin.id.as_str(), load.phases.len()), (kept[0]["id"].as_str().unwrap(), 0));
    assert_eq!(Some(origin.run.as_str()), before[1].file_name().unwrap().to_str());
    assert_each_from_the_start(&measured.iter().collect::<Vec<_>>(), Copying::Copy);
    assert_eq!(measured[0].database_copy.as_ref().unwrap().state, Some(origin));
    scratch.run(&["check", run.to_str().unwrap()]).assert_code(0);
    // The two runs did equal work, but for the load.
    scratch.run(&["compare", before[1].to_str().unwrap(), run.to_str().unwrap()]).assert_ok();
    let set_aside = scratch.run(&["run", "s.toml", "--states", "0", "--full"]);
    set_aside.assert_ok().assert_says("of what was loaded");
    // Other data is another database.
    let other = ["run", "s.toml", "--set", "data.seed=77", "--states", "1GiB"];
    scratch.run(&other).assert_ok();
    assert_eq!(states(&scratch, &[]).len(), 2);
    scratch.assert_nothing_left();
}

/// A trial's cases work on one copy, one after the other; the state stays as it was sealed.
#[test]
fn cases_that_share_a_database_share_a_copy_of_its_state() {
    let test = "cases_that_share_a_database_share_a_copy_of_its_state";
    if !needs("lmdb", test) {
        return;
    }
    let scratch = Scratch::new();
    let updates = loads("shared").role("users", &format!("threads = \"sweep\"\n{UPDATE}"));
    scratch.write("s.toml", &updates.engine("lmdb").text());
    let run = |more: &[&str]| {
        let before = scratch.runs();
        let done = scratch.run(&[&["run", "s.toml", "--full"], more].concat());
        done.assert_ok();
        let run = scratch.runs().into_iter().find(|run| !before.contains(run)).unwrap();
        scratch.run(&["check", run.to_str().unwrap()]).assert_code(0);
        (done, load_and_measured(&run))
    };
    let (_, (load, measured)) = run(&["--states", "1GiB"]);
    assert!(load.restored.is_none() && !load.phases.is_empty());
    assert!(load.database_copy.is_some_and(|copy| copy.state.is_none()), "it was moved and copied");
    assert_eq!(measured[1].database_used_by.len(), 2);
    assert_eq!(states(&scratch, &[]).len(), 1);
    scratch.run(&["state", "make", "s.toml"]).assert_ok().assert_says("1 of 1 were there");
    let (done, (load, measured)) = run(&[]);
    done.assert_says("so nothing was loaded");
    let copy = load.database_copy.unwrap();
    assert!(load.phases.is_empty() && copy.state == load.restored && copy.state.is_some());
    assert_eq!((copy.method, measured[1].database_used_by.len()), (Copying::Copy, 2));
    scratch.run(&["state", "check"]).assert_ok();
    let (_, (load, _)) = run(&["--states", "0"]);
    assert!(load.restored.is_none() && load.database_copy.is_none());
    scratch.assert_nothing_left();
}

/// Loads of engines are compared in pairs, so a trial takes the states of all or of none.
#[test]
fn a_trial_that_must_load_one_engine_loads_all() {
    let test = "a_trial_that_must_load_one_engine_loads_all";
    if !needs("lmdb", test) || !needs("lmdb1", test) {
        return;
    }
    let scratch = Scratch::new();
    scratch.write("s.toml", &reads("state").engine("lmdb").engine("lmdb1").text());
    let run = |more: &[&str]| {
        let before = scratch.runs();
        scratch.run(&[&["run", "s.toml"], more].concat()).assert_ok();
        let run = scratch.runs().into_iter().find(|run| !before.contains(run)).unwrap();
        let cases = records(&RunDir::open(run).unwrap()).into_values();
        cases.filter(|case| case.restored.is_some()).count()
    };
    assert_eq!(run(&["--engine", "lmdb", "--states", "1GiB"]), 0);
    assert_eq!(run(&["--states", "1GiB", "--trials", "2"]), 0, "lmdb1 had none");
    // The first trial has all of its states, and so has the second.
    assert_eq!(run(&["--trials", "3"]), 4);
    scratch.assert_nothing_left();
}

/// A data directory that holds states is free for the next run.
#[test]
fn a_data_directory_holds_its_states() {
    let test = "a_data_directory_holds_its_states";
    if !needs("lmdb", test) {
        return;
    }
    let scratch = Scratch::new();
    fs::create_dir(scratch.path("data")).unwrap();
    scratch.write("s.toml", &reads("state").engine("lmdb").text());
    let make = ["state", "make", "s.toml", "--data-dir", "data"];
    scratch.run(&make).assert_ok().assert_says("1 states made");
    scratch.run(&make).assert_ok().assert_says("1 of 1 were there");
    let done = scratch.run(&["run", "s.toml", "--data-dir", "data", "--full"]);
    done.assert_ok().assert_says("so nothing was loaded");
    assert!(states(&scratch, &[]).is_empty());
    let kept = states(&scratch, &["--data-dir", "data"]);
    assert_eq!(kept.len(), 1);
    assert_eq!(list(&scratch.path("data")), ["kvdyno-states"]);
    // A run that finds it broken says how it is removed.
    let id = kept[0]["id"].as_str().unwrap();
    let file = scratch.path("data/kvdyno-states").join(id).join("database/data.mdb");
    fs::write(&file, "short").unwrap();
    let done = scratch.run(&["run", "s.toml", "--data-dir", "data", "--full"]);
    done.assert_ok().assert_says("--data-dir").assert_says("of what was loaded");
    scratch.run(&["state", "remove", id, "--data-dir", "data"]).assert_ok();
    scratch.assert_nothing_left();
}

#[test]
fn states_are_made_checked_and_removed_by_command() {
    let test = "states_are_made_checked_and_removed_by_command";
    if !needs("lmdb", test) {
        return;
    }
    let scratch = Scratch::new();
    scratch.write("s.toml", &reads("fresh").engine("lmdb").text());
    scratch.run(&["state", "make", "s.toml"]).assert_code(2).assert_says("run.database=state");
    let make = |more: &[&str]| {
        let arguments = ["state", "make", "s.toml", "--set", "run.database=state"];
        scratch.run(&[&arguments[..], more].concat())
    };
    make(&["--states", "0"]).assert_code(2).assert_says("--states");
    // Without room none is kept, and that is no success.
    make(&["--states", "64KiB"]).assert_code(4).assert_says("not kept for later runs");
    assert!(states(&scratch, &[]).is_empty());
    make(&[]).assert_ok();
    let id = states(&scratch, &[])[0]["id"].as_str().unwrap().to_owned();
    scratch.run(&["state", "list"]).assert_ok().assert_says("5.00 k").assert_says(&id);
    scratch.run(&["state", "check"]).assert_ok().assert_says(&id);

    let file = scratch.path("runs/states").join(&id).join("database/data.mdb");
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, [&bytes[..], b"x"].concat()).unwrap();
    scratch.run(&["state", "check"]).assert_code(4).assert_says("data.mdb");
    scratch.run(&["state", "remove", "0123456789abcdef"]).assert_code(2).assert_says("state list");
    scratch.run(&["state", "remove", "--all"]).assert_ok().assert_says(&id);
    assert!(states(&scratch, &[]).is_empty());
    scratch.assert_nothing_left();
}

/// Large enough that the copy takes a while.
fn to_be_cut_off() -> Suite {
    suite()
        .data("records = 300\nvalue_bytes = \"1MiB\"")
        .run("database = \"state\"")
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

/// Updates after the load belong to it: a state of a suite without them is another.
#[test]
fn an_overwritten_database_is_a_state_of_its_own() {
    let test = "an_overwritten_database_is_a_state_of_its_own";
    if !needs("lmdb", test) {
        return;
    }
    let scratch = Scratch::new();
    scratch.write("s.toml", &reads("state").engine("lmdb").text());
    let run = |more: &[&str]| {
        let last = ["run", "s.toml", "--states", "1GiB"];
        scratch.run(&[&last[..], more].concat()).assert_ok();
        let newest = scratch.runs().into_iter().max().unwrap();
        records(&RunDir::open(newest).unwrap())
    };
    let restored = |cases: &std::collections::BTreeMap<String, CaseRecord>| {
        cases.values().filter(|case| case.restored.is_some()).count()
    };
    assert_eq!(restored(&run(&[])), 0);
    let aged = ["--set", "data.overwritten=2"];
    let first = run(&aged);
    assert_eq!(restored(&first), 0);
    let loads = first.values().find(|case| case.case.makes_state()).unwrap();
    let overwrite = phases::first(loads, "warmup");
    assert_eq!(overwrite.name, "overwrite");
    assert_eq!(overwrite.roles[0].ops["update"].count, 2 * RECORDS);
    assert_eq!(restored(&run(&aged)), 1);
}
