//! Volumes created for a run, on loop devices of this machine: the medium as an axis, and no
//! remains, however a run ends.

use super::locations::can_mount;
use super::scratch::{Running, Scratch, list, outcomes, records, wait_until};
use super::suites::{GET, UPDATE, suite};
use super::workers::{needs, report_skip};
use kvdyno_record::case::CaseRecord;
use kvdyno_record::files::RunDir;
use rustix::process::Signal;
use std::fs;
use std::path::Path;
use std::time::Duration;

pub(crate) const EXT4: &str = "kind = \"loop\"\nfilesystem = \"ext4\"";
pub(crate) const NO_JOURNAL: &str =
    "kind = \"loop\"\nfilesystem = \"ext4\"\nmkfs = [\"-O\", \"^has_journal\"]";
const XFS: &str = "kind = \"loop\"\nfilesystem = \"xfs\"";
const RAW: &str = "kind = \"loop\"\nfilesystem = \"raw\"";

/// Whether a test can create volumes with these tools; otherwise prints a note.
pub(crate) fn can_make(test: &str, tools: &[&str]) -> bool {
    let is_installed = |tool: &&&str| {
        ["/usr/sbin", "/sbin", "/usr/bin"].iter().any(|dir| Path::new(dir).join(tool).is_file())
    };
    if let Some(missing) = tools.iter().find(|tool| !is_installed(tool)) {
        report_skip("mkfs", test, &format!("{missing} is not installed"));
        return false;
    }
    can_mount(test)
}

/// Loop devices with images in this directory.
pub(crate) fn loops(scratch: &Scratch) -> Vec<String> {
    let dir = scratch.path(".").canonicalize().unwrap().display().to_string();
    let is_ours = |name: &String| {
        let file = fs::read_to_string(format!("/sys/block/{name}/loop/backing_file"));
        file.is_ok_and(|file| file.contains(&dir))
    };
    list(Path::new("/sys/block")).into_iter().filter(is_ours).collect()
}

/// Mounts below a directory, as seen from outside of the program.
pub(crate) fn mounts(scratch: &Scratch) -> Vec<String> {
    let dir = scratch.path(".").canonicalize().unwrap().display().to_string();
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    mounts.lines().filter(|line| line.contains(&dir)).map(str::to_owned).collect()
}

/// No loop device, mount, process, group, swap or file.
pub(crate) fn assert_nothing_left(scratch: &Scratch) {
    scratch.assert_nothing_left();
    wait_until("no loop device is left", || loops(scratch).is_empty());
    assert_eq!(mounts(scratch), Vec::<String>::new());
}

fn cases_on<'r>(
    records: impl Iterator<Item = &'r CaseRecord>,
    engine: &str,
    volume: &str,
) -> Vec<&'r CaseRecord> {
    let is_it = |record: &&CaseRecord| {
        record.case.engine == engine
            && record.volume.as_ref().is_some_and(|made| made.name == volume)
    };
    records.filter(is_it).collect()
}

/// Load and reads ran on the volume's own device, which was written to.
fn assert_measured(run: &RunDir, engine: &str, volume: &str, mounted: Option<&str>) {
    let all = records(run);
    let cases = cases_on(all.values(), engine, volume);
    assert_eq!(cases.len(), 2, "{engine} on {volume}");
    for record in &cases {
        let made = record.volume.as_ref().unwrap();
        let kind = made.filesystem.as_ref().map(|filesystem| filesystem.kind.as_str());
        assert_eq!(kind, mounted, "{made:?}");
        let device = made.device.as_ref().unwrap();
        assert!(device.starts_with("loop"), "{device}");
        assert_eq!(made.image.as_ref().map(|image| image.direct_io), Some(true));
        for phase in &record.phases {
            let counted = phase.after.device.as_ref().map(|usage| &usage.device);
            assert_eq!(counted, Some(device), "{engine} on {volume}: {}", phase.name);
        }
    }
    let load = cases.iter().find(|record| record.case.threads.is_none()).unwrap();
    let load = load.phases.iter().find(|phase| phase.kind == "load").unwrap();
    let written =
        |snapshot: &kvdyno_record::usage::Snapshot| snapshot.device.as_ref().unwrap().write_bytes;
    let synced = &load.synced.as_ref().unwrap().0;
    let user_bytes = load.roles[0].ops.values().map(|op| op.write_bytes).sum::<u64>();
    let written = written(synced) - written(&load.before);
    assert!(written >= user_bytes, "{engine} on {volume}: {written} of {user_bytes} bytes");
    assert_eq!(load.roles[0].ops.values().map(|op| op.items).sum::<u64>(), 10_000);
}

/// The medium axis: every engine on every volume that supports its data.
#[test]
fn engines_on_filesystems_and_on_the_bare_device() {
    let test = "engines_on_filesystems_and_on_the_bare_device";
    if !can_make(test, &["mkfs.ext4", "mkfs.xfs"]) || !needs("lmdb", test) {
        return;
    }
    let others: Vec<_> = ["rocksdb", "lmdb1"].into_iter().filter(|it| needs(it, test)).collect();
    let scratch = Scratch::new();
    let mut suite = suite()
        .data("records = 10_000\nvalue_bytes = 1000")
        .volume("ext4", EXT4)
        .volume("nojournal", NO_JOURNAL)
        .volume("xfs", XFS)
        .volume("raw", RAW)
        .engine("lmdb");
    for engine in &others {
        suite = suite.engine(engine);
    }
    let suite = suite.load("batch = 100").phase("evict", "").measure("duration = \"200ms\"");
    scratch.write("s.toml", &suite.role("readers", GET).role("writer", UPDATE).text());
    let done = scratch.run(&["run", "s.toml"]);
    done.assert_ok().assert_says("not run on `raw`");
    done.assert_says("volume");
    let full = scratch.run(&["show", "--full"]);
    full.assert_ok().assert_says("nojournal: loop").assert_says("^has_journal");
    let run = scratch.only_run();
    for engine in ["lmdb"].into_iter().chain(others.iter().copied()) {
        for (volume, kind) in [("ext4", "ext4"), ("nojournal", "ext4"), ("xfs", "xfs")] {
            assert_measured(&run, engine, volume, Some(kind));
        }
    }
    if others.contains(&"lmdb1") {
        assert_measured(&run, "lmdb1", "raw", None);
    }
    let all = records(&run);
    assert!(cases_on(all.values(), "lmdb", "raw").is_empty(), "an empty cell");
    assert_medium_is_shown(&scratch, &others);
    scratch.run(&["check"]).assert_code(0);
    assert_nothing_left(&scratch);
}

/// A row for each engine on each volume in both tables, grouped by volume, and each engine relative
/// to itself on the first.
fn assert_medium_is_shown(scratch: &Scratch, others: &[&str]) {
    let shown = scratch.run(&["show", "--full"]);
    shown.assert_says("vs. vol").assert_says("load, LMDB by volume");
    let rows: Vec<(&str, &str)> = shown
        .out
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            Some((words.next()?, words.next()?))
        })
        .filter(|(_, volume)| ["ext4", "nojournal", "xfs", "raw"].contains(volume))
        .collect();
    for engine in ["lmdb"].iter().chain(others) {
        for volume in ["ext4", "nojournal", "xfs"] {
            let n = rows.iter().filter(|row| **row == (*engine, volume)).count();
            // The load, two roles, and their cost.
            assert!(n >= 4, "{engine} on {volume}: {n} rows in {}", shown.out);
        }
    }
    let on_raw = rows.iter().any(|(engine, volume)| (*engine, *volume) == ("lmdb1", "raw"));
    assert_eq!(on_raw, others.contains(&"lmdb1"));
    let summary = scratch.run(&["export", "--json"]).json();
    let groups = summary["groups"].as_array().unwrap();
    let volumes: Vec<&str> = groups.iter().map(|group| group["volume"].as_str().unwrap()).collect();
    let mut blocks = volumes.clone();
    blocks.dedup();
    let mut names = blocks.clone();
    names.sort_unstable();
    names.dedup();
    assert_eq!(blocks.len(), names.len(), "together: {volumes:?}");
    for group in groups {
        for role in group["runs"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|run| run["roles"].as_array().unwrap())
        {
            // For an engine that is not on the first volume, the next one is the base.
            let base = role["relative_volume"]["base"].as_str().unwrap();
            assert!(base == blocks[0] || blocks[0] == "raw", "{group}");
        }
    }
}

/// The drive's ceiling is measured on each volume, and applies to that one, whatever the name of
/// its loop device.
#[test]
fn a_ceiling_holds_for_the_volume_that_it_was_taken_on() {
    let test = "a_ceiling_holds_for_the_volume_that_it_was_taken_on";
    if !can_make(test, &["mkfs.ext4", "mkfs.xfs"]) || !needs("lmdb", test) || !needs("drive", test)
    {
        return;
    }
    let scratch = Scratch::new();
    let suite = suite()
        .data("records = 20_000\nvalue_bytes = 4000")
        .run("threads = [1]")
        .volume("ext4", EXT4)
        .volume("xfs", XFS)
        .engine("lmdb")
        .load("batch = 100")
        .phase("evict", "")
        .measure("duration = \"500ms\"")
        .role("readers", &format!("threads = \"sweep\"\n{GET}"));
    let drive = "[drive]\npreset = \"ceiling\"\nduration = \"300ms\"";
    scratch.write("s.toml", &format!("{}{drive}\n", suite.text()));
    scratch.run(&["run", "s.toml"]).assert_ok();
    let summary = scratch.run(&["export", "--json"]).json();
    let engines =
        summary["groups"].as_array().unwrap().iter().filter(|group| {
            group["engine"] == "lmdb" && !group["runs"].as_array().unwrap().is_empty()
        });
    let mut labels = Vec::new();
    for group in engines {
        let standing = &group["runs"][0]["efficiency"];
        let most = &standing["drive"];
        assert_eq!(most["volume"], group["volume"], "{standing}");
        labels.push(group["volume"].as_str().unwrap().to_owned());
    }
    labels.sort();
    assert_eq!(labels, ["ext4", "xfs"]);
    // In the drive's tables the same job on two volumes can be told apart.
    let shown = scratch.run(&["show", "--full"]);
    for volume in ["ext4", "xfs"] {
        let row = |line: &&str| line.starts_with("drive-psync") && line.contains(volume);
        assert!(shown.out.lines().filter(row).count() >= 2, "{}", shown.out);
    }
    // The findings are those of the volumes' devices.
    let findings = summary["findings"].as_array().unwrap();
    let of_place = findings.iter().filter(|finding| finding["id"] == "discard-online");
    assert_eq!(of_place.count(), 0, "the volumes are mounted without: {findings:?}");
    assert_nothing_left(&scratch);
}

/// Kills the program and its worker after this time; false if it had already ended.
pub(crate) fn kill_after(running: Running, wait: Duration) -> bool {
    std::thread::sleep(wait);
    let worker = running.worker();
    running.signal(Signal::KILL);
    if let Some(worker) = worker.and_then(|pid| i32::try_from(pid).ok()) {
        let worker = rustix::process::Pid::from_raw(worker).unwrap();
        let _ = rustix::process::kill_process(worker, Signal::KILL);
    }
    running.wait().signal == Some(Signal::KILL.as_raw())
}

/// Ctrl-C during the load: a clean end, and a restart.
#[test]
fn an_interrupted_run_takes_its_volume_down_and_resume_makes_it_again() {
    let test = "an_interrupted_run_takes_its_volume_down_and_resume_makes_it_again";
    if !can_make(test, &["mkfs.ext4"]) {
        return;
    }
    let scratch = Scratch::new();
    let suite = suite()
        .data("records = 3000\nvalue_bytes = 100")
        .volume("ext4", EXT4)
        .engine_as("keeps", "null", "store = \"memory\"\nlatency_ns = 1_000_000")
        .load("batch = 100")
        .measure("operations = 2000")
        .role("readers", GET);
    scratch.write("s.toml", &suite.text());
    let running = scratch.start(scratch.kvdyno(&["run", "s.toml"]));
    scratch.wait_for_phase("t1", "measure");
    assert_eq!(loops(&scratch).len(), 1);
    assert_eq!(mounts(&scratch), Vec::<String>::new(), "others do not see it");
    running.signal(Signal::INT);
    running.wait().assert_code(130);
    assert_nothing_left(&scratch);
    scratch.run(&["resume"]).assert_ok();
    let run = scratch.only_run();
    assert!(outcomes(&run).values().all(|word| *word == "done"), "{:?}", outcomes(&run));
    // The load was repeated, because its volume was removed.
    let loads = run.case_records().unwrap();
    let loads = loads.iter().filter(|(_, record)| record.case.threads.is_none()).count();
    assert_eq!(loads, 2);
    scratch.run(&["check"]).assert_code(0);
    assert_nothing_left(&scratch);
}

#[test]
fn what_a_suite_may_not_say_of_a_volume_is_refused_before_anything_is_made() {
    let scratch = Scratch::new();
    let refused = |lines: &str, words: &str| {
        let suite = suite().volume("x", lines).engine("null").load("");
        scratch.write("s.toml", &suite.text());
        scratch.run(&["run", "s.toml"]).assert_code(2).assert_says(words);
        assert!(scratch.runs().is_empty());
    };
    refused("kind = \"loop\"\nfilesystem = \"ext4\"\nmkfs = [\"/dev/sda\"]", "/dev/sda");
    refused(
        "kind = \"loop\"\nfilesystem = \"xfs\"\nmount = [\"logdev=/dev/sda\"]",
        "logdev=/dev/sda",
    );
    if rustix::process::geteuid().is_root() {
        refused(
            "kind = \"device\"\npath = \"/dev/kvdyno-none\"\nfilesystem = \"ext4\"",
            "/dev/kvdyno-none",
        );
    }
    let scratch = Scratch::new();
    let directory = scratch.path("full");
    fs::create_dir(&directory).unwrap();
    fs::write(directory.join("precious"), "").unwrap();
    let lines = format!("kind = \"directory\"\npath = \"{}\"", directory.display());
    let suite = suite().volume("x", &lines).engine("null").load("");
    scratch.write("s.toml", &suite.text());
    scratch.run(&["run", "s.toml"]).assert_code(2).assert_says("precious");
    assert_nothing_left(&scratch);
}

/// Two directories as volumes: each is a place of its own, restored at the end.
#[test]
fn directories_are_volumes_too() {
    let scratch = Scratch::new();
    fs::create_dir(scratch.path("one")).unwrap();
    let volume =
        |name: &str| format!("kind = \"directory\"\npath = \"{}\"", scratch.path(name).display());
    let suite = suite()
        .volume("one", &volume("one"))
        .volume("two", &volume("two"))
        .engine_as("keeps", "null", "store = \"memory\"")
        .load("")
        .measure("operations = 100")
        .role("readers", GET);
    scratch.write("s.toml", &suite.text());
    // The drive of a missing directory may not be mounted.
    scratch.run(&["run", "s.toml"]).assert_code(2).assert_says("volume `two`: expected");
    assert!(!scratch.path("two").exists() && scratch.runs().is_empty());
    fs::create_dir(scratch.path("two")).unwrap();
    scratch.run(&["run", "s.toml"]).assert_ok();
    let all = records(&scratch.only_run());
    for name in ["one", "two"] {
        assert_eq!(cases_on(all.values(), "null", name).len(), 2);
        assert_eq!(list(&scratch.path(name)), Vec::<String>::new());
    }
    // A rerun may be of a stranger's record: its paths are not written to.
    let done = scratch.run(&["rerun"]);
    done.assert_code(2).assert_says("a rerun never uses a path").assert_says("kvdyno run");
    assert_eq!(scratch.runs().len(), 1);
    assert_nothing_left(&scratch);
}
