//! A published study on a machine that lacks its second drive: what can be done is done, on loop
//! devices, and what cannot is on record.

use super::devices::Loop;
use super::scratch::{Scratch, list, outcomes, records};
use super::volumes::{can_make, loops};
use super::workers::needs;
use kvdyno_record::volume::Medium;
use std::fs;

/// 5000 records of 20 MB in 137 MB of RAM, a moment for each number of readers.
const SMALL: [&str; 12] = [
    "--scale",
    "1/16000",
    "--set",
    "ram.limit=2TiB",
    "--quick",
    "--threads",
    "1,2",
    "--set",
    "phase.readwhilewriting.duration=200ms",
    "--set",
    "phase.readwhilewriting.warmup=100ms",
    "--full",
];

#[test]
fn a_study_runs_as_far_as_this_machine_goes() {
    let test = "a_study_runs_as_far_as_this_machine_goes";
    if !can_make(test, &["mkfs.ext4"]) || !needs("lmdb", test) || !needs("lmdb1", test) {
        return;
    }
    let scratch = Scratch::new();
    let study = ["run", "symas-optane-2018", "--engine", "lmdb,lmdb1,null"];
    let done = scratch.run(&[&study[..], &SMALL].concat());
    done.assert_ok().assert_says("`optane-journal`, `optane-nojournal`");
    done.assert_says("medium flash: ");
    done.assert_says("--quick: settle: ");
    let run = scratch.only_run();
    assert!(outcomes(&run).values().all(|outcome| *outcome == "done"), "{:?}", outcomes(&run));
    let mut locations: Vec<String> = Vec::new();
    for record in records(&run).values().filter(|record| record.case.threads == Some(2)) {
        let made = record.volume.as_ref().unwrap();
        assert!(made.image.is_some(), "{made:?}");
        locations.push(format!("{} {}", record.case.engine, made.name));
    }
    locations.sort();
    let flash = ["lmdb flash-journal", "lmdb flash-nojournal", "lmdb1 flash-raw"];
    assert_eq!(locations, [&flash[..], &["null flash-nojournal"]].concat());
    assert_eq!(run.plan().unwrap().left_out.len(), 3);
    let empty = scratch.run(&["show", "--table", "not-here"]);
    empty.assert_ok().assert_says("optane-raw").assert_says("--medium optane=/dev/...");
    scratch.run(&["show"]).assert_ok().assert_says("SKIPPED: ");
    scratch.run(&["check"]).assert_code(0);
    scratch.assert_nothing_left();
    assert_eq!(loops(&scratch), Vec::<String>::new());
}

/// A second data directory for images stands for a second drive; nothing stays there.
#[test]
fn a_medium_can_be_another_directory() {
    let test = "a_medium_can_be_another_directory";
    if !can_make(test, &["mkfs.ext4"]) || !needs("lmdb", test) {
        return;
    }
    let scratch = Scratch::new();
    fs::create_dir(scratch.path("other")).unwrap();
    let refused = scratch.run(&["plan", "symas-imdt-2018", "--medium", "optane=other"]);
    refused.assert_code(2).assert_says("`imdt`");
    let study = ["run", "symas-optane-2018", "--engine", "lmdb", "--medium", "optane=other"];
    let done = scratch.run(&[&study[..], &SMALL].concat());
    done.assert_ok().assert_says("medium optane: ").assert_says("other");
    let run = scratch.only_run();
    let plan = run.plan().unwrap();
    let elsewhere = |name: &str| {
        let volumes = plan.cases.iter().filter_map(|case| case.volume.as_ref());
        let of_name = volumes.filter(|volume| volume.name.starts_with(name));
        let elsewhere = |medium: &Medium| matches!(medium, Medium::Loop { directory: Some(_), .. });
        of_name.map(|volume| elsewhere(&volume.medium)).collect::<Vec<_>>()
    };
    assert!(elsewhere("optane").iter().all(|is| *is) && !elsewhere("optane").is_empty());
    assert!(elsewhere("flash").iter().all(|is| !is) && !elsewhere("flash").is_empty());
    assert!(outcomes(&run).values().all(|outcome| *outcome == "done"), "{:?}", outcomes(&run));
    assert_eq!(list(&scratch.path("other")), Vec::<String>::new());
    scratch.run(&["check"]).assert_code(0);
    scratch.assert_nothing_left();
}

/// Two block devices as two drives: each volume lies on its own, with the filesystem that it is to
/// have or none, and both are blank again.
#[test]
fn media_can_be_block_devices() {
    const BYTES: u64 = 512 << 20;
    let test = "media_can_be_block_devices";
    let tools = ["mkfs.ext4", "mkfs.xfs"];
    if !can_make(test, &tools) || !needs("lmdb", test) || !needs("lmdb1", test) {
        return;
    }
    let scratch = Scratch::new();
    let Some(flash) = Loop::with_name(&scratch, test, "flash", BYTES) else { return };
    let Some(optane) = Loop::with_name(&scratch, test, "optane", BYTES) else { return };
    let media = [("flash", &flash), ("optane", &optane)];
    let media_arguments = media.map(|(name, device)| format!("{name}={}", device.path));
    let study =
        ["run", "symas-optane-2018", "--engine", "lmdb,lmdb1", "--medium", &media_arguments[0]];
    let xfs = ["--medium", &media_arguments[1], "--set", "volume.optane-journal.filesystem=xfs"];
    let study = [&study[..], &xfs, &SMALL].concat();
    // Naming a medium is no consent.
    optane.assert_untouched(
        &scratch,
        &[&study[..], &[&flash.confirm()]].concat(),
        &[&optane.path, "--destroy-data-on"],
    );
    let both = [flash.confirm(), optane.confirm()];
    let both = both.each_ref().map(String::as_str);
    let large = [&study[..], &both, &["--set", "data.records=40G"]].concat();
    flash.assert_untouched(&scratch, &large, &["512 MiB", "larger device"]);
    let done = scratch.run(&[&study[..], &both].concat());
    done.assert_ok().assert_says(&format!("medium optane: {}", optane.path));
    let run = scratch.only_run();
    assert!(outcomes(&run).values().all(|outcome| *outcome == "done"), "{:?}", outcomes(&run));
    assert_eq!(run.plan().unwrap().left_out, []);
    let cases = records(&run);
    let mut locations: Vec<String> = Vec::new();
    for record in cases.values().filter(|record| record.case.threads == Some(2)) {
        let made = record.volume.as_ref().unwrap();
        let (_, device) = media.iter().find(|(name, _)| made.name.starts_with(name)).unwrap();
        assert_eq!(made.device.as_deref(), device.path.strip_prefix("/dev/"), "{made:?}");
        let kind = made.filesystem.as_ref().map_or("raw", |mounted| &mounted.kind);
        locations.push(format!("{} {} {kind}", record.case.engine, made.name));
    }
    locations.sort();
    let files = ["flash-journal ext4", "flash-nojournal ext4", "optane-journal xfs"];
    let files =
        files.iter().chain(&["optane-nojournal ext4"]).map(|locations| format!("lmdb {locations}"));
    let raw = ["flash-raw raw", "optane-raw raw"].map(|locations| format!("lmdb1 {locations}"));
    assert_eq!(locations, files.chain(raw).collect::<Vec<_>>());
    assert!(flash.is_blank() && optane.is_blank());
    scratch.run(&["check"]).assert_code(0);
    scratch.assert_nothing_left();
}

#[test]
fn short_and_long_exclude_each_other_and_what_is_typed_wins() {
    let scratch = Scratch::new();
    let both = scratch.run(&["plan", "quick", "--quick", "--hours", "2"]);
    both.assert_code(2).assert_says("--quick").assert_says("--hours");
    let shorter = ["plan", "quick", "--quick", "--engine", "null", "--duration", "3s", "--json"];
    let plan = scratch.run(&shorter).json();
    let cases = plan["cases"].as_array().unwrap().iter();
    let phases = cases.flat_map(|case| case["phases"].as_array().unwrap());
    let measured = phases.filter(|phase| phase["kind"] == "measure");
    let measured = measured.map(|phase| phase["ends"]["duration_ns"].as_u64().unwrap());
    let measured: Vec<u64> = measured.collect();
    assert!(!measured.is_empty() && measured.iter().all(|ns| *ns == 3_000_000_000), "{measured:?}");
    let hours = scratch.run(&["plan", "quick", "--engine", "null", "--hours", "3"]);
    hours.assert_says("measure-w1 to w3");
    let part = scratch.run(&["plan", "quick", "--engine", "null", "--hours", "0.5"]);
    part.assert_code(2).assert_says("--duration 30m");
}
