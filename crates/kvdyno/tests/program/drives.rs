//! `kvdyno drive` on a folder, and the drive beside engines in a suite, with the real worker.

use super::scratch::{Scratch, records};
use super::workers::needs;
use kvdyno_record::case::CaseRecord;

const SHORT: [&str; 8] =
    ["--size", "64MiB", "--duration", "500ms", "--warmup", "100ms", "--trials", "2"];

fn drive(scratch: &Scratch, arguments: &[&str]) -> super::scratch::Done {
    let all: Vec<&str> = ["drive"].iter().chain(arguments).chain(&SHORT).copied().collect();
    scratch.run(&all)
}

/// Operations of the measured phase, all kinds together.
fn done(case: &CaseRecord) -> u64 {
    let measured = case.phases.iter().filter(|phase| phase.kind == "measure");
    measured
        .flat_map(|phase| &phase.roles)
        .flat_map(|role| role.ops.values())
        .map(|op| op.count)
        .sum()
}

#[test]
fn a_folders_drive_is_measured_and_left_as_it_was() {
    let test = "a_folders_drive_is_measured_and_left_as_it_was";
    if !needs("drive", test) {
        return;
    }
    let scratch = Scratch::new();
    let mix = ["place", "--rw", "randrw,read", "--read-share", "70%", "--depth", "8"];
    let shown = drive(&scratch, &mix);
    shown.assert_ok().assert_says("randrw-4k-qd8").assert_says("Steady state: fifths");
    let run = scratch.only_run();
    let cases = records(&run);
    assert_eq!(cases.len(), 1 + 2 * 2);
    assert!(cases.values().all(|case| case.outcome.word() == "done"), "{cases:?}");
    for case in cases.values().filter(|case| case.case.threads.is_some()) {
        assert!(done(case) > 0, "{}", case.case.id);
        assert_eq!((case.case.shape.depth, case.case.ceiling), (8, false));
    }
    let text = std::fs::read_to_string(run.path.join("suite.toml")).unwrap();
    assert!(text.contains("read_share = \"70%\""), "{text}");
    assert!(!scratch.path("place").exists());
    scratch.run(&["check"]).assert_code(0);
    scratch.assert_nothing_left();
}

#[test]
fn the_suite_that_is_printed_is_the_suite_that_is_run() {
    let test = "the_suite_that_is_printed_is_the_suite_that_is_run";
    if !needs("drive", test) {
        return;
    }
    let scratch = Scratch::new();
    let printed = drive(&scratch, &["--print-suite", "--preset", "ceiling", "--threads", "1,2"]);
    printed.assert_code(0);
    scratch.write("s.toml", &printed.out);
    scratch.run(&["run", "s.toml", "--trials", "1"]).assert_ok();
    let run = scratch.only_run();
    let cases = records(&run);
    assert_eq!(cases.len(), 1 + 3 * 2, "{:?}", cases.keys());
    assert!(cases.values().all(|case| case.case.ceiling));
}

#[test]
fn what_cannot_be_is_refused_before_anything_is_touched() {
    let scratch = Scratch::new();
    let refused = |arguments: &[&str], words: &str| {
        scratch.run(arguments).assert_code(2).assert_says(words);
        assert!(scratch.runs().is_empty());
    };
    refused(&["drive"], "PLACE");
    refused(&["drive", "p", "--preset", "raidix", "--rw", "read"], "cannot be used with");
    refused(&["drive", "p", "--rounds", "4"], "5..=25");
    if needs("drive", "what_cannot_be_is_refused_before_anything_is_touched") {
        refused(&["drive", "p", "--block", "1000"], "a block cannot have");
        refused(&["drive", "p", "--read-only"], "in a directory there is nothing to read");
        refused(&["drive", "p", "--duration", "5"], "expected a time with its unit");
    }
}
