//! A volume that fills up, or turns read-only, while an engine writes.

use super::devices::{Loop, output};
use super::locations::can_mount;
use super::scratch::{Scratch, outcomes, record, wait_until};
use super::suites::{GET, UPDATE, suite};
use super::volumes::can_make;
use super::workers::{find, needs, report_skip};
use kvdyno_record::case::Outcome;
use std::fs;
use std::path::Path;

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
    scratch.run(&again).assert_code(2).assert_says("on which the run began, tmpfs at");
    assert!(!scratch.path("volume/place").exists(), "nothing is made below the mount point");
    let full = scratch.start(scratch.kvdyno_after(mounting, &again)).wait();
    full.assert_code(3).assert_says("disk full");
    assert_eq!(record(&run, "keeps_load").attempt, 2, "once each time, not once for each case");
    let mounting = "mount -t tmpfs -o size=64m none volume";
    let resumed = scratch.start(scratch.kvdyno_after(mounting, &again)).wait();
    // A case's id begins with its number.
    for case in ["keeps_load", "keeps_t1"] {
        let id = record(&run, case).case.id;
        resumed.assert_ok().assert_says(&format!("[{}/4] {id} done (again, try 3)", &id[3..4]));
    }
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

/// A drive that fails turns its ext4 read-only. The next try, on a repaired volume, succeeds.
#[test]
fn a_volume_that_turns_read_only_costs_a_try() {
    let test = "a_volume_that_turns_read_only_costs_a_try";
    if !can_make(test, &["mkfs.ext4", "e2fsck"]) {
        return;
    }
    for engine in ["lmdb", "redis"].into_iter().filter(|engine| needs(engine, test)) {
        turns_read_only(engine, test);
    }
}

fn turns_read_only(engine: &str, test: &str) {
    let scratch = Scratch::new();
    let Some(device) = Loop::with_name(&scratch, test, "image", 600 << 20) else { return };
    let switch = format!("/sys/fs/ext4/{}/trigger_fs_error", &device.path["/dev/".len()..]);
    output("mkfs.ext4", &["-q", &device.path]).unwrap();
    if engine == "wiredtiger" {
        scratch.link(engine, &find(engine).unwrap());
    }
    let suite = suite()
        .data("records = 10_000\nvalue_bytes = 400")
        .run("database = \"fresh\"")
        .engine(engine)
        .load("batch = 100")
        .measure("duration = \"3s\"")
        .role("writers", &format!("threads = 2\n{UPDATE}"));
    let suite = suite.with("[[engine]]", "[[engine]]\ndurability = \"commit\"");
    scratch.write("s.toml", &suite.text());
    fs::create_dir(scratch.path("volume")).unwrap();
    let mounting = format!("mount -o errors=remount-ro {} volume", device.path);
    let arguments = ["run", "s.toml", "--no-ram-limit", "--data-dir", "volume/p"];
    let arguments = [&arguments[..], &["--create-data-dir"]].concat();
    let running = scratch.start(scratch.kvdyno_after(&mounting, &arguments));
    scratch.wait_for_phase(engine, "measure");
    if !Path::new(&switch).exists() {
        drop(running);
        return report_skip("disk", test, "this kernel cannot make ext4 fail");
    }
    fs::write(switch, "1").unwrap();
    running.wait().assert_code(3).assert_says("kvdyno resume");
    let run = scratch.only_run();
    let outcome = record(&run, engine).outcome;
    assert!(outcome.is_volume_failure(), "{engine}: {outcome:?}");
    assert!(!run.is_complete(), "{engine}");
    scratch.run(&["check"]).assert_code(0);

    device.wait_until_free();
    let mounting = format!("e2fsck -fy {} >/dev/null || true\n{mounting}", device.path);
    scratch.start(scratch.kvdyno_after(&mounting, &["resume"])).wait().assert_ok();
    assert_eq!(record(&run, engine).outcome, Outcome::Done, "{engine}");
    scratch.assert_nothing_left();
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

mod soak {
    use super::*;

    #[test]
    fn a_volume_of_others_that_turns_read_only_costs_a_try() {
        let test = "a_volume_of_others_that_turns_read_only_costs_a_try";
        if !can_make(test, &["mkfs.ext4", "e2fsck"]) {
            return;
        }
        let engines = ["mariadb", "postgres", "wiredtiger"];
        for engine in engines.into_iter().filter(|engine| needs(engine, test)) {
            turns_read_only(engine, test);
        }
    }
}
