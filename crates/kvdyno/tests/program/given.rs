//! Block devices for a suite's volumes or swap, on real loop devices.

use super::devices::{Loop, mounting, output};
use super::locations::can_mount;
use super::scratch::{Scratch, records};
use super::suites::{GET, suite};
use super::workers::{find, needs, report_skip};
use std::fs;

/// Room for any filesystem; unwritten space is not allocated.
const LARGE_BYTES: u64 = 512 << 20;

/// A suite whose volume is this device, as `s.toml`.
fn write_suite(scratch: &Scratch, device: &Loop, engine: &str, lines: &str) {
    let volume = format!("kind = \"device\"\npath = \"{}\"\n{lines}", device.path);
    let suite = suite().trials(2).volume("given", &volume).engine(engine).load("batch = 500");
    let suite = suite.measure("operations = 1000").role("readers", GET);
    scratch.write("s.toml", &suite.text());
}

#[test]
fn a_device_as_volume_is_refused_as_a_place_would_be() {
    let scratch = Scratch::new();
    let test = "a_device_as_volume_is_refused_as_a_place_would_be";
    let Some(device) = Loop::new(&scratch, test) else { return };
    write_suite(&scratch, &device, "null", "filesystem = \"ext4\"\ndiscard = true");
    let (path, confirm) = (device.path.as_str(), device.confirm());
    let refused = |more: &[&str], words: &[&str]| {
        let arguments: Vec<&str> = ["run", "s.toml"].iter().chain(more).copied().collect();
        device.assert_untouched(&scratch, &arguments, words);
    };
    refused(&[], &["would be lost", &confirm]);
    refused(&["--destroy-data-on=/dev/null"], &["would be lost", &confirm]);
    if output("mkfs.ext4", &["-q", path]).is_none() {
        return report_skip("mkfs", test, "no mkfs.ext4");
    }
    refused(&[&confirm], &["ext4 filesystem (at byte 1080)", "nothing was changed"]);
    let point = scratch.path("point");
    let run = scratch.kvdyno_after(&mounting(path, &point), &["run", "s.toml", &confirm]);
    let says = format!("{path} is mounted at {}", point.display());
    device.assert_untouched_by(&scratch, run, &[&says]);
    assert!(!scratch.path("runs").join("volume").exists());
}

/// A new filesystem before each load, and no signature afterwards: the next run finds an empty
/// device.
#[test]
fn a_clean_device_as_volume_is_given_back_blank() {
    let scratch = Scratch::new();
    let test = "a_clean_device_as_volume_is_given_back_blank";
    let Some(device) = Loop::new(&scratch, test).filter(|_| needs("lmdb", test)) else { return };
    for lines in ["filesystem = \"ext4\"", "filesystem = \"ext4\"\ndiscard = true"] {
        write_suite(&scratch, &device, "lmdb", lines);
        scratch.run(&["run", "s.toml", &device.confirm()]).assert_ok();
        let cases = records(&scratch.only_run());
        assert_eq!(cases.len(), 4, "{:?}", cases.keys());
        for case in cases.values() {
            assert_eq!(case.outcome.as_str(), "done");
            let volume = case.volume.as_ref().unwrap();
            assert_eq!(volume.device.as_deref(), device.path.strip_prefix("/dev/"));
            assert_eq!(volume.filesystem.as_ref().unwrap().kind, "ext4");
            let discarded = volume.commands.iter().any(|line| line.starts_with("blkdiscard"));
            assert_eq!(discarded, lines.contains("discard"), "{:?}", volume.commands);
            let (before, after) = (&case.phases[0].before, &case.phases[0].after);
            assert_eq!(
                before.device.as_ref().unwrap().device,
                after.device.as_ref().unwrap().device
            );
        }
        assert!(device.content()[..1 << 20].iter().all(|byte| *byte == 0), "a signature is left");
        scratch.run(&["check"]).assert_code(0);
        scratch.assert_nothing_left();
        // A recorded path is not used: the user did not type it.
        let done = scratch.run(&["rerun"]);
        done.assert_code(2).assert_says(&device.path);
        fs::remove_dir_all(scratch.path("runs")).unwrap();
    }
}

/// Mounted, then unmounted with its filesystem still on it, then clean: refused, refused, accepted.
#[test]
fn a_device_in_use_and_a_signed_one_are_refused_and_a_clean_one_is_taken() {
    let scratch = Scratch::new();
    let test = "a_device_in_use_and_a_signed_one_are_refused_and_a_clean_one_is_taken";
    let Some(device) = Loop::new(&scratch, test).filter(|_| needs("lmdb", test)) else { return };
    let path = device.path.as_str();
    write_suite(&scratch, &device, "lmdb", "filesystem = \"ext4\"");
    if !can_mount(test) || output("mkfs.ext4", &["-q", path]).is_none() {
        return report_skip("mount", test, "no ext4 can be mounted");
    }
    let (confirm, run) = (device.confirm(), ["run", "s.toml"]);
    let arguments = [run[0], run[1], &confirm];
    let mounted = scratch.kvdyno_after(&mounting(path, &scratch.path("point")), &arguments);
    device.assert_untouched_by(&scratch, mounted, &[&format!("{path} is mounted at")]);
    device.assert_untouched(&scratch, &arguments, &["ext4 filesystem", "wipefs -a"]);
    output("wipefs", &["-q", "-a", path]).unwrap();
    scratch.run(&arguments).assert_ok();
    let cases = records(&scratch.only_run());
    assert!(cases.values().all(|case| case.outcome.as_str() == "done"), "{cases:?}");
    assert!(device.is_blank());
}

/// The filesystems on a device, in turn.
const KINDS: [&str; 4] = ["ext4", "xfs", "btrfs", "raw"];

/// A device that supports all of them; lmdb1 and direct use files and bare devices.
pub(crate) fn large(scratch: &Scratch, test: &str) -> Option<Loop> {
    let tools = ["mkfs.ext4", "mkfs.xfs", "mkfs.btrfs"];
    let engines = needs("lmdb1", test) && needs("direct", test);
    let can = super::volumes::can_make(test, &tools) && engines;
    scratch.link("direct", &find("direct").filter(|_| can)?);
    Loop::with_name(scratch, test, "image", LARGE_BYTES)
}

/// One device as every volume of a suite, one after the other.
#[test]
fn one_device_is_all_volumes_of_a_suite_by_turns() {
    let scratch = Scratch::new();
    let test = "one_device_is_all_volumes_of_a_suite_by_turns";
    let Some(device) = large(&scratch, test) else { return };
    let mut all = suite().run("threads = [1, 2]").engine("lmdb1").engine("direct");
    all = all.load("batch = 500");
    for kind in KINDS {
        let lines =
            format!("kind = \"device\"\npath = \"{}\"\nfilesystem = \"{kind}\"", device.path);
        all = all.volume(kind, &lines);
    }
    let all = all.phase("evict", "").measure("operations = 1000");
    let all = all.role("readers", &format!("threads = \"sweep\"\n{GET}"));
    scratch.write("s.toml", &all.text());
    scratch.run(&["run", "s.toml", &device.confirm()]).assert_ok();
    let cases = records(&scratch.only_run());
    assert_eq!(cases.len(), 2 * KINDS.len() * 3);
    for case in cases.values() {
        assert_eq!(case.outcome.as_str(), "done", "{case:?}");
        let made = case.volume.as_ref().unwrap();
        let kind = made.filesystem.as_ref().map_or("raw", |mounted| &mounted.kind);
        assert_eq!(kind, made.name);
        assert_eq!(made.drive.as_ref().map(|drive| drive.bytes), Some(LARGE_BYTES));
        assert_eq!(made.device.as_deref(), device.path.strip_prefix("/dev/"));
    }
    assert!(device.is_blank());
    scratch.run(&["check"]).assert_code(0);
    scratch.assert_nothing_left();
}

/// Killed with its worker during a measurement: its filesystem stays on the device, other runs do
/// not treat it as blank, and the run itself continues.
#[test]
fn killed_on_a_given_device_the_run_itself_goes_on_and_no_other_does() {
    let scratch = Scratch::new();
    let test = "killed_on_a_given_device_the_run_itself_goes_on_and_no_other_does";
    let Some(device) = large(&scratch, test) else { return };
    let (path, confirm) = (device.path.as_str(), device.confirm());
    for kind in KINDS {
        let volume = format!("kind = \"device\"\npath = \"{path}\"\nfilesystem = \"{kind}\"");
        let suite = suite().volume("given", &volume).engine("lmdb1").load("batch = 500");
        let suite = suite.measure("duration = \"2s\"").role("readers", GET);
        scratch.write("s.toml", &suite.text());
        let running = scratch.start(scratch.kvdyno(&["run", "s.toml", &confirm]));
        scratch.wait_for_phase("t1", "measure");
        assert!(super::volumes::kill_after(running, std::time::Duration::ZERO), "{kind}");
        super::scratch::wait_until("all processes are gone", || scratch.processes().is_empty());
        device.wait_until_free();
        assert!(!device.is_blank(), "{kind}: nobody was there to take it off");
        scratch.run(&["resume"]).assert_code(2).assert_says(&confirm);
        if kind != "raw" {
            let other = scratch.run(&["run", "s.toml", &confirm, "--runs", "others"]);
            other.assert_code(2).assert_says("kvdyno-").assert_says("`kvdyno resume`");
        }
        scratch.run(&["resume", &confirm]).assert_ok();
        let run = scratch.only_run();
        let words = super::scratch::outcomes(&run);
        assert!(words.values().all(|word| *word == "done"), "{kind}: {words:?}");
        assert!(device.is_blank(), "{kind}");
        scratch.run(&["check"]).assert_code(0);
        scratch.assert_nothing_left();
        fs::remove_dir_all(scratch.path("runs")).unwrap();
    }
}

/// If another filesystem appeared meanwhile, the device does not belong to the run.
#[test]
fn a_strangers_filesystem_stays_when_a_killed_run_goes_on() {
    let scratch = Scratch::new();
    let test = "a_strangers_filesystem_stays_when_a_killed_run_goes_on";
    let Some(device) = large(&scratch, test) else { return };
    let (path, confirm) = (device.path.as_str(), device.confirm());
    let volume = format!("kind = \"device\"\npath = \"{path}\"\nfilesystem = \"ext4\"");
    let suite = suite().volume("given", &volume).engine("lmdb1").load("batch = 500");
    let suite = suite.measure("duration = \"2s\"").role("readers", GET);
    scratch.write("s.toml", &suite.text());
    let running = scratch.start(scratch.kvdyno(&["run", "s.toml", &confirm]));
    scratch.wait_for_phase("t1", "measure");
    assert!(super::volumes::kill_after(running, std::time::Duration::ZERO));
    super::scratch::wait_until("all processes are gone", || scratch.processes().is_empty());
    device.wait_until_free();
    for make in [&["mkfs.ext4", "-q", "-F", "-L", "home"][..], &["mkfs.xfs", "-q", "-f"][..]] {
        output(make[0], &[&make[1..], &[path]].concat()).unwrap();
        let before = device.content();
        scratch.run(&["resume", &confirm]).assert_code(2).assert_says(path);
        assert!(device.content() == before, "{make:?}: {path} was written to");
    }
    output("wipefs", &["-q", "-a", path]).unwrap();
    scratch.run(&["resume", &confirm]).assert_ok();
    scratch.assert_nothing_left();
}
