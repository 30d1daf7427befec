//! Losses of real engines at a power loss, on a real filesystem, on a loop device over a real FUSE
//! mount. Documented losses are found, false promises are detected, and nothing remains.

use super::scratch::{Scratch, list, wait_until};
use super::volumes::can_make;
use super::workers::{self, needs, report_skip};
use kvdyno_host::Looped;
use kvdyno_record::engine::Durability;
use kvdyno_record::torture::{ClassRecord, TortureRecord, Trial, TrialKind};
use kvdyno_record::volume::FilesystemKind;
use kvdyno_torture::Recorder;
use rustix::process::Signal;
use std::fs::{self, File};
use std::io::Write as _;
use std::process::Command;

/// Whether an engine can be tortured on this machine; otherwise prints a note.
fn can_torture(test: &str, mkfs: &str) -> bool {
    if let Err(error) = File::options().read(true).write(true).open("/dev/fuse") {
        report_skip("fuse", test, &error.to_string());
        return false;
    }
    can_make(test, &[mkfs])
}

/// The one record among the runs.
fn record(scratch: &Scratch) -> TortureRecord {
    let runs = scratch.runs();
    assert_eq!(runs.len(), 1, "{runs:?}");
    TortureRecord::read(&runs[0]).unwrap()
}

fn class(record: &TortureRecord, durability: Durability) -> &ClassRecord {
    record.classes.iter().find(|class| class.durability == durability).unwrap()
}

fn trial(class: &ClassRecord, kind: TrialKind) -> &Trial {
    class.trials.iter().find(|trial| trial.kind == kind).unwrap()
}

fn assert_nothing_left(scratch: &Scratch) {
    scratch.assert_nothing_left();
    wait_until("no loop device is left", || super::volumes::loops(scratch).is_empty());
}

#[test]
fn lmdb_keeps_what_it_has_committed_and_the_control_does_not() {
    let test = "lmdb_keeps_what_it_has_committed_and_the_control_does_not";
    if !can_torture(test, "mkfs.ext4") || !needs("lmdb", test) {
        return;
    }
    let scratch = Scratch::new();
    let arguments = [
        "torture",
        "--engine",
        "lmdb",
        "--durability",
        "commit",
        "--power-losses",
        "30",
        "--quick",
    ];
    let done = scratch.run(&arguments);
    done.assert_code(0).assert_says("lmdb commit: held");
    let dir = scratch.runs()[0].display().to_string();
    assert_eq!(scratch.run(&["show", &dir]).assert_code(0).out, done.out);
    let record = record(&scratch);
    let commit = class(&record, Durability::Commit);
    let power = trial(commit, TrialKind::Power);
    assert_eq!((power.tally.states, power.tally.sound), (30, 30), "{power:?}");
    // Two states are drawn before the first acknowledgement.
    let promised = power.tally.promised_states();
    assert!((20..=28).contains(&promised), "{power:?}");
    done.assert_says(&format!("lost 0 of {promised} (< "));
    assert!(trial(commit, TrialKind::Kill).tally.states >= 5);
    let control = &trial(commit, TrialKind::Control).tally;
    assert!(control.lost + control.corrupt > 5, "{control:?}");
    for fault in [TrialKind::FlushFails, TrialKind::Full, TrialKind::Pause] {
        assert!(trial(commit, fault).tally.states > 0, "{fault:?}");
    }
    assert!(commit.recording.is_none(), "nothing was found");
    assert_nothing_left(&scratch);
}

#[test]
fn lmdb_without_flushes_is_damaged_as_its_manual_says_and_that_can_be_repeated() {
    let test = "lmdb_without_flushes_is_damaged_as_its_manual_says_and_that_can_be_repeated";
    if !can_torture(test, "mkfs.ext4") || !needs("lmdb", test) {
        return;
    }
    let scratch = Scratch::new();
    let torture = ["torture", "--engine", "lmdb", "--durability", "async"];
    scratch.run(&[&torture[..], &["--power-losses", "60"]].concat()).assert_says("MDB_NOSYNC");
    let record = record(&scratch);
    let of_async = class(&record, Durability::Async);
    let kills = &trial(of_async, TrialKind::Kill).tally;
    assert_eq!((kills.lost, kills.corrupt), (0, 0), "the page cache survives: {kills:?}");
    let synced = &trial(of_async, TrialKind::Sync).tally;
    assert!(synced.states == 15 && synced.is_sound(), "{synced:?}");
    let power = trial(of_async, TrialKind::Power);
    assert!(power.tally.lost + power.tally.corrupt > 10, "{power:?}");
    let example = &power.examples[0];
    let (run, state) = (scratch.runs()[0].display().to_string(), example.state.to_string());
    let again = [&torture[..], &["--replay", &run, "--power-loss", &state]].concat();
    // Its manual allows such a loss; and it can be repeated once more.
    for _ in 0..2 {
        let done = scratch.run(&again);
        done.assert_says(&example.how).assert_says(&example.damage);
        assert!(power.tally.crashes > 0 || done.code == Some(0), "{}", done.err);
    }
    let other = [&again[..], &["--set", "readahead=true"]].concat();
    scratch.run(&other).assert_code(2).assert_says("the recording was made with its defaults");
    let image = format!("lmdb-async.recording.state-{state}.image");
    assert!(scratch.runs()[0].join(image).is_file());
    assert_nothing_left(&scratch);
}

/// It promises `commit`, and behaves like `async`.
#[test]
fn an_engine_that_does_not_flush_what_it_says_is_caught() {
    let test = "an_engine_that_does_not_flush_what_it_says_is_caught";
    if !can_torture(test, "mkfs.ext4") || !needs("lmdb", test) {
        return;
    }
    let scratch = Scratch::new();
    let lmdb = workers::find("lmdb").unwrap();
    let lmdb = lmdb.display();
    let lie = r#"sed -u 's/"durability":"commit"/"durability":"async"/;q'"#;
    let script =
        format!("case $1 in\ndescribe) exec {lmdb} \"$@\" ;;\n*) {lie} | {lmdb} \"$@\" ;;\nesac\n");
    scratch.script("liar", &script);
    let arguments = [
        "torture",
        "--engine",
        "liar",
        "--durability",
        "commit",
        "--power-losses",
        "30",
        "--quick",
    ];
    let done = scratch.run(&arguments);
    done.assert_code(3).assert_says("liar commit: broken: power loss: ");
    let record = record(&scratch);
    let kills = &trial(class(&record, Durability::Commit), TrialKind::Kill).tally;
    assert_eq!((kills.lost, kills.corrupt), (0, 0), "what it lies about is the power: {kills:?}");
    assert_nothing_left(&scratch);
}

/// It reports completion before it has written anything.
#[test]
fn an_engine_that_keeps_all_in_memory_is_caught_by_a_kill() {
    let test = "an_engine_that_keeps_all_in_memory_is_caught_by_a_kill";
    if !can_torture(test, "mkfs.ext4") {
        return;
    }
    let scratch = Scratch::new();
    let torture = ["torture", "--engine", "null", "--set", "store=memory", "--power-losses", "20"];
    let done = scratch.run(&[&torture[..], &["--durability", "async"]].concat());
    done.assert_code(3).assert_says("null async: broken: kill -9: ");
    let record = record(&scratch);
    let kills = &trial(class(&record, Durability::Async), TrialKind::Kill).tally;
    assert!(kills.lost > 0 && kills.torn == 0, "{kills:?}");
    // Its sync does nothing.
    let synced = &trial(class(&record, Durability::Async), TrialKind::Sync).tally;
    assert_eq!((synced.states, synced.lost + synced.unmounted), (15, 15), "{synced:?}");
    done.assert_says("with acknowledged writes lost");
    assert_nothing_left(&scratch);
}

/// libmdbx compares boots: it keeps what a killed process has not flushed, and undoes it after a
/// reboot.
#[test]
fn a_process_is_killed_in_the_boot_in_which_it_wrote() {
    let test = "a_process_is_killed_in_the_boot_in_which_it_wrote";
    if !can_torture(test, "mkfs.ext4") || !needs("mdbx", test) {
        return;
    }
    let scratch = Scratch::new();
    scratch.link("mdbx", &workers::find("mdbx").unwrap());
    let torture = ["torture", "--engine", "mdbx", "--durability", "none,async"];
    scratch.run(&[&torture[..], &["--power-losses", "20", "--quick"]].concat()).assert_code(0);
    let record = record(&scratch);
    for durability in [Durability::None, Durability::Async] {
        let class = class(&record, durability);
        let kills = &trial(class, TrialKind::Kill).tally;
        assert!(kills.states > 0 && kills.is_sound(), "{durability:?}: {kills:?}");
        let power = &trial(class, TrialKind::Power).tally;
        assert!(power.lost + power.corrupt > 0, "{durability:?}: {power:?}");
    }
    assert_nothing_left(&scratch);
}

#[test]
fn a_program_that_is_killed_leaves_no_drive_and_no_mount() {
    let test = "a_program_that_is_killed_leaves_no_drive_and_no_mount";
    if !can_torture(test, "mkfs.ext4") || !needs("lmdb", test) {
        return;
    }
    let scratch = Scratch::new();
    let torture = ["torture", "--engine", "lmdb", "--durability", "commit"];
    let running = scratch.start(scratch.kvdyno(&torture));
    // During the writes, and while states are read.
    wait_until("its drive is there", || list(&scratch.path("tmp")).len() == 1);
    wait_until("it is at work", || running.worker().is_some());
    running.signal(Signal::KILL);
    running.wait();
    wait_until("its mount points are gone", || list(&scratch.path("tmp")).is_empty());
    assert_nothing_left(&scratch);
}

#[test]
fn what_is_missing_is_said_before_anything_is_touched() {
    let test = "what_is_missing_is_said_before_anything_is_touched";
    let scratch = Scratch::new();
    scratch.run(&["torture", "--engine", "nul"]).assert_code(2).assert_says("`null`");
    let options = ["torture", "--engine", "null", "--set", "no=1"];
    scratch.run(&options).assert_code(2).assert_says("--set no=1").assert_says("`no`");
    let replay = ["torture", "--engine", "null", "--power-loss", "1"];
    scratch.run(&replay).assert_code(2).assert_says("--replay");
    assert!(scratch.runs().is_empty());
    if workers::needs_root(test) {
        let scratch = Scratch::of_nobody();
        let nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
        let command = scratch.kvdyno_by(&nobody, &["torture", "--engine", "null"]);
        let done = scratch.start(command).wait();
        done.assert_code(2);
        assert!(scratch.runs().is_empty() && list(&scratch.path("tmp")).is_empty());
    }
}

/// The assumption of the recording: a flush of the filesystem, and its writes with FUA, are a flush
/// of the file below the loop device, after the written data.
#[test]
fn a_loop_device_turns_flushes_into_flushes() {
    let test = "a_loop_device_turns_flushes_into_flushes";
    if !can_torture(test, "mkfs.ext4") {
        return;
    }
    let scratch = Scratch::new();
    kvdyno_host::fresh::namespace::enter(&[]).unwrap();
    let [at, on] = ["drives", "on"].map(|name| scratch.path(name));
    fs::create_dir(&at).unwrap();
    fs::create_dir(&on).unwrap();
    let mut server = Command::new(workers::program());
    server.arg("recorder");
    let recorder = Recorder::mount(server, &at, &[64 << 20]).unwrap();
    let drive = File::options().read(true).write(true).open(recorder.drive(0)).unwrap();
    let looped = Looped::make(FilesystemKind::Ext4, &[], &drive, &on).unwrap();
    let queue = |name: &str| {
        let path = format!("/sys/block/{}/queue/{name}", looped.device());
        fs::read_to_string(path).unwrap().trim().to_owned()
    };
    assert_eq!(queue("write_cache"), "write back", "flushes are asked for");
    assert_eq!(queue("fua"), "0", "FUA is a write and a flush");
    recorder.begin().unwrap();
    let mut file = File::create(looped.data().join("file")).unwrap();
    let mut flushes = 0;
    for round in 0..5 {
        file.write_all(&[round; 5000]).unwrap();
        file.sync_all().unwrap();
        let log = recorder.look().unwrap();
        assert!(log.flushes > flushes && log.bytes >= 4096 * (u64::from(round) + 1), "{log:?}");
        flushes = log.flushes;
    }
    drop(file);
    looped.remove().unwrap();
}

mod soak {
    use super::*;

    #[test]
    fn rocksdb_keeps_what_it_has_committed_on_xfs() {
        let test = "rocksdb_keeps_what_it_has_committed_on_xfs";
        if !can_torture(test, "mkfs.xfs") || !needs("rocksdb", test) {
            return;
        }
        let scratch = Scratch::new();
        let torture =
            ["torture", "--engine", "rocksdb", "--durability", "commit", "--quick", "--json"];
        let done =
            scratch.run(&[&torture[..], &["--power-losses", "20", "--filesystem", "xfs"]].concat());
        done.assert_code(0);
        let record: TortureRecord = serde_json::from_value(done.json()).unwrap();
        let power = trial(class(&record, Durability::Commit), TrialKind::Power);
        assert_eq!(power.tally.lost + power.tally.corrupt + power.tally.unmounted, 0, "{power:?}");
        assert_nothing_left(&scratch);
    }
}
