//! Memory tiers of swap, switched on for real on this machine.

use crate::devices::{Loop, output};
use crate::given::large;
use crate::scratch::{Scratch, outcomes, record, records, wait_until};
use crate::suites::{GET, Suite, reads, suite};
use crate::tiers::{SLOW, SQUEEZED, can_swap};
use crate::volumes::loops;
use kvdyno_record::case::Outcome;
use rustix::process::Signal;
use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;

/// An engine that keeps 80 MiB for itself, under a limit of 64.
fn greedy() -> Suite {
    suite().engine_as("greedy", "null", "memory_bytes = \"80MiB\"")
}

#[test]
#[ignore = "calls swapon on this machine: `make soak`"]
fn what_does_not_fit_goes_below_where_there_is_something() {
    let test = "what_does_not_fit_goes_below_where_there_is_something";
    let Some(_alone) = can_swap(test) else { return };
    let scratch = Scratch::new();
    let suite = greedy()
        .ram("64MiB")
        .tier("alone", "kind = \"dram\"")
        .tier("slow", SLOW)
        .tier("squeezed", SQUEEZED)
        .load("")
        .measure("operations = 200")
        .role("readers", GET);
    scratch.write("s.toml", &suite.text());
    let done = scratch.run(&["run", "s.toml"]);
    done.assert_ok();
    let full = scratch.run(&["show", "--full"]);
    full.assert_says("64.0 MiB with squeezed");
    full.assert_says("alone: ").assert_says("swap out");
    let run = scratch.only_run();
    assert!(matches!(record(&run, "with-alone_load").outcome, Outcome::DoesNotFit { .. }));
    for (tier, device, swappiness) in [("slow", "loop", 60), ("squeezed", "zram", 100)] {
        for part in ["load", "t1"] {
            let record = record(&run, &format!("with-{tier}_{part}"));
            assert_eq!(record.outcome, Outcome::Done, "{:?}", outcomes(&run));
            assert!(record.ram_limit.enforced_by.is_some());
            let group = record.ram_limit.group.unwrap();
            assert!(group.memory_peak_bytes.is_none_or(|peak| peak <= 64 << 20), "{group:?}");
            assert_eq!(group.oom_kills, 0);
            let had = record.ram_limit.tier.as_ref().unwrap();
            let swap = had.swap.as_ref().unwrap();
            assert!(swap.device.starts_with(device), "{swap:?}");
            assert_eq!((swap.bytes, had.swappiness), (96 << 20, Some(swappiness)));
            assert_eq!(had.not_enforced, Vec::<String>::new());
            assert_eq!(swap.memory_peak_bytes.is_some(), device == "zram");
            let in_use = record.phases.iter().map(|phase| phase.before.group.unwrap().swap_bytes);
            assert!(in_use.flatten().all(|bytes| bytes >= 8 << 20), "{record:?}");
        }
    }
    scratch.run(&["check"]).assert_code(0);
    scratch.assert_nothing_left();
    wait_until("no loop device is left", || loops(&scratch).is_empty());
}

/// Then nobody is left who knows, but for the next run, which finds swap by its label and groups by
/// their names.
#[test]
#[ignore = "calls swapon on this machine: `make soak`"]
fn what_is_left_when_the_reaper_is_killed_too_the_next_run_takes_away() {
    let test = "what_is_left_when_the_reaper_is_killed_too_the_next_run_takes_away";
    let Some(_alone) = can_swap(test) else { return };
    let scratch = Scratch::new();
    let slow = "latency_ns = 1_000_000\nmemory_bytes = \"80MiB\"";
    let suite = suite().ram("64MiB").tier("squeezed", SQUEEZED).engine_as("slow", "null", slow);
    let suite = suite.load("batch = 500").measure("operations = 2000").role("readers", GET);
    scratch.write("s.toml", &suite.text());
    let running = scratch.start(scratch.kvdyno(&["run", "s.toml"]));
    scratch.wait_for_phase("slow_with-squeezed_t1", "measure");
    let reaper = i32::try_from(running.reaper().unwrap()).unwrap();
    let reaper = rustix::process::Pid::from_raw(reaper).unwrap();
    // What ends a run does not end the one that comes after it.
    rustix::process::kill_process(reaper, Signal::TERM).unwrap();
    assert_eq!(scratch.swaps().len(), 1);
    rustix::process::kill_process(reaper, Signal::KILL).unwrap();
    running.signal(Signal::KILL);
    running.wait();
    wait_until("the worker is gone", || scratch.processes().is_empty());
    assert_eq!((scratch.swaps().len(), scratch.groups().len()), (1, 1));
    scratch.run(&["resume"]).assert_ok();
    assert_eq!(scratch.swaps(), Vec::<PathBuf>::new());
    assert_eq!(scratch.groups(), Vec::<PathBuf>::new());
    scratch.assert_nothing_left();
}

/// The device is swap while a case runs, and holds nothing before and after.
#[test]
#[ignore = "calls swapon on this machine: `make soak`"]
fn a_device_as_swap_is_refused_as_a_place_would_be_and_given_back_blank() {
    let scratch = Scratch::new();
    let test = "a_device_as_swap_is_refused_as_a_place_would_be_and_given_back_blank";
    let Some(_alone) = can_swap(test) else { return };
    let Some(device) = Loop::new(&scratch, test) else { return };
    let lines =
        |size: &str| format!("kind = \"swap\"\nsize = \"{size}\"\npath = \"{}\"", device.path);
    let write = |size: &str| {
        let suite = reads().ram("32MiB").tier("given", &lines(size));
        let suite = suite.engine_as("greedy", "null", "memory_bytes = \"40MiB\"");
        scratch.write("s.toml", &suite.text());
    };
    let (path, confirm) = (device.path.as_str(), device.confirm());
    let refused = |more: &[&str], words: &[&str]| {
        let arguments: Vec<&str> = ["run", "s.toml"].iter().chain(more).copied().collect();
        device.assert_untouched(&scratch, &arguments, words);
    };
    write("33MiB");
    refused(&[&confirm], &["memory tier `given`", "expected 34603008 bytes, found 33554432"]);
    write("32MiB");
    refused(&[], &["would be lost", &confirm]);
    if output("mkfs.ext4", &["-q", path]).is_some() {
        refused(&[&confirm], &["ext4 filesystem (at byte 1080)", "nothing was changed"]);
        File::options().write(true).open(path).unwrap().write_all_at(&[0; 8192], 0).unwrap();
    }
    for _ in 0..2 {
        scratch.run(&["run", "s.toml", &confirm]).assert_ok();
        for case in records(&scratch.only_run()).values() {
            assert_eq!(case.outcome.as_str(), "done");
            let swap = case.ram_limit.tier.as_ref().unwrap().swap.as_ref().unwrap();
            assert_eq!(Some(swap.device.as_str()), path.strip_prefix("/dev/"));
        }
        assert!(device.content()[..4096].iter().all(|byte| *byte == 0), "a signature is left");
        scratch.assert_nothing_left();
        fs::remove_dir_all(scratch.path("runs")).unwrap();
    }
}

/// As in a study whose second drive is a data directory for files in one part and memory in
/// another.
#[test]
#[ignore = "calls swapon on this machine: `make soak`"]
fn one_device_is_a_volume_of_one_part_and_swap_of_another() {
    let scratch = Scratch::new();
    let test = "one_device_is_a_volume_of_one_part_and_swap_of_another";
    let Some(_alone) = can_swap(test) else { return };
    let Some(device) = large(&scratch, test) else { return };
    fs::create_dir(scratch.path("other")).unwrap();
    let path = &device.path;
    let swap = format!("kind = \"swap\"\nsize = \"64MiB\"\npath = \"{path}\"");
    let files = format!("kind = \"device\"\npath = \"{path}\"\nfilesystem = \"ext4\"");
    let suite = reads().trials(2).ram("32MiB").tier("alone", "kind = \"dram\"");
    let suite = suite.tier("below", &swap).volume("files", &files);
    let suite = suite.volume("elsewhere", "kind = \"directory\"\npath = \"other\"");
    let parts = "[[part]]\nname = \"drive\"\nvolumes = [\"files\"]\ntiers = [\"alone\"]\n\
                 [[part]]\nname = \"memory\"\nvolumes = [\"elsewhere\"]\ntiers = [\"below\"]\n\
                 options.greedy = { memory_bytes = \"40MiB\" }\n";
    scratch.write("s.toml", &(suite.engine_as("greedy", "null", "").text() + parts));
    let unconfirmed = ["run", "s.toml"];
    device.assert_untouched(&scratch, &unconfirmed, &["would be lost", &device.confirm()]);
    scratch.run(&["run", "s.toml", &device.confirm()]).assert_ok();
    let cases = records(&scratch.only_run());
    let name = device.path.strip_prefix("/dev/");
    for case in cases.values() {
        assert_eq!(case.outcome.as_str(), "done", "{case:?}");
        let made = case.volume.as_ref().unwrap();
        let swap = case.ram_limit.tier.as_ref().and_then(|tier| tier.swap.as_ref());
        let on = (made.device.as_deref() == name, swap.map(|swap| swap.device.as_str()) == name);
        assert_eq!(on, (made.name == "files", made.name == "elsewhere"), "{case:?}");
    }
    assert_eq!(cases.len(), 8, "{:?}", cases.keys());
    assert!(device.content()[..4096].iter().all(|byte| *byte == 0), "a signature is left");
    scratch.run(&["check"]).assert_code(0);
    scratch.assert_nothing_left();
}
