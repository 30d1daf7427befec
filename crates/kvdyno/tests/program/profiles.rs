//! Profiles: the functions of real engines, by role, in loads and measured phases.

use super::scratch::{Scratch, records};
use super::suites::{GET, UPDATE, reads, suite};
use super::workers::{needs, needs_root, report_skip};
use kvdyno_record::profile::{PhaseProfile, ProfileFile, ThreadOwner, ThreadsProfile};

/// Seconds of LMDB: enough for samples on a busy machine.
fn lmdb() -> String {
    let text = suite().engine("lmdb").load("batch = 500");
    let text = text.phase("settle", "").measure("duration = \"2500ms\"").role("readers", GET);
    text.role("writer", UPDATE).text()
}

/// Whether this machine lets the program sample; a run tells.
fn was_sampled(scratch: &Scratch, test: &str) -> bool {
    let records = records(&scratch.only_run());
    let mut sentences = records.values().flat_map(|record| &record.not_measured);
    let refused = sentences.find(|sentence| {
        sentence.starts_with("profile: ") && !sentence.contains("functions of the kernel")
    });
    if let Some(refused) = refused {
        report_skip("perf", test, refused);
    }
    refused.is_none()
}

fn profile(scratch: &Scratch) -> ProfileFile {
    let run = scratch.only_run();
    let mut dirs = run.case_records().unwrap().into_iter();
    let measured = dirs.find(|(_, case)| case.phases.iter().any(|phase| phase.kind == "measure"));
    measured.unwrap().0.profile().unwrap().unwrap()
}

/// Samples below a function, in whatever path.
fn samples_in(file: &ProfileFile, threads: &ThreadsProfile, name: &str) -> u64 {
    let is_in = |path: u32| {
        let mut next = Some(path);
        while let Some(path) = next {
            let path = file.paths[path as usize];
            if file.functions[path.1 as usize].name == name {
                return true;
            }
            next = path.0;
        }
        false
    };
    threads.stacks.iter().filter(|(path, _)| is_in(*path)).map(|(_, count)| count).sum()
}

fn role<'p>(phase: &'p PhaseProfile, name: &str) -> &'p ThreadsProfile {
    let mut threads = phase.threads.iter();
    let is_role = |threads: &&ThreadsProfile| threads.owner == ThreadOwner::Role;
    threads.find(|threads| is_role(threads) && threads.name == name).unwrap()
}

#[test]
fn functions_of_an_engine_are_sampled_by_role_and_shown_everywhere() {
    let test = "functions_of_an_engine_are_sampled_by_role_and_shown_everywhere";
    if !needs("lmdb", test) {
        return;
    }
    let scratch = Scratch::new();
    scratch.write("s.toml", &lmdb());
    scratch.run(&["run", "s.toml", "-q", "--profile"]).assert_ok();
    if !was_sampled(&scratch, test) {
        return;
    }
    let file = profile(&scratch);
    let phases: Vec<&str> = file.phases.iter().map(|phase| &*phase.phase).collect();
    assert!(!phases.contains(&"settle") && phases.contains(&"measure"), "{phases:?}");
    let measured = file.phases.iter().find(|phase| phase.phase == "measure").unwrap();
    let (readers, writer) = (role(measured, "readers"), role(measured, "writer"));
    assert!(readers.samples > 5 && writer.samples > 5, "{measured:?}");
    let reads = samples_in(&file, readers, "mdb_get");
    assert!(reads * 2 > readers.samples, "{reads} of {}", readers.samples);
    assert_eq!(samples_in(&file, writer, "mdb_get"), 0);
    assert!(
        samples_in(&file, writer, "mdb_put") + samples_in(&file, writer, "_mdb_txn_commit") > 0
    );
    assert!(readers.cut * 10 <= readers.samples, "{} of {}", readers.cut, readers.samples);
    let table = scratch.run(&["show", "--table", "profile"]);
    table.assert_says("mdb_").assert_says("readers");
    let folded = scratch.run(&["export", "--folded", "-"]);
    let line =
        folded.out.lines().find(|line| line.contains(";readers;") && line.contains(";mdb_get;"));
    let count = line.and_then(|line| line.rsplit_once(' ')).map(|(_, count)| count);
    assert!(count.unwrap().parse::<u64>().unwrap() > 0, "{}", folded.out);
    let speedscope = scratch.run(&["export", "--speedscope", "-"]).json();
    assert!(!speedscope["profiles"].as_array().unwrap().is_empty());
    scratch.run(&["report", "-o", "page.html"]).assert_ok();
}

#[test]
fn a_run_without_a_profile_has_none_to_export() {
    let scratch = Scratch::new();
    scratch.write("s.toml", &reads().engine("null").text());
    scratch.run(&["run", "s.toml", "-q"]);
    for record in scratch.only_run().case_records().unwrap() {
        assert_eq!(record.0.profile().unwrap(), None);
    }
    let refused = scratch.run(&["export", "--folded", "-"]);
    refused.assert_code(2).assert_says("has no profile").assert_says("kvdyno run --profile");
    scratch.run(&["show", "--table", "profile"]).assert_code(2).assert_says("no rows");
}

#[test]
fn a_user_without_rights_has_functions_of_the_process_or_the_reason() {
    let test = "a_user_without_rights_has_functions_of_the_process_or_the_reason";
    if !needs_root(test) {
        return;
    }
    let scratch = Scratch::of_nobody();
    scratch.write("s.toml", &reads().engine("null").text());
    let nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    scratch.start(scratch.kvdyno_by(&nobody, &["run", "s.toml", "--profile"])).wait().assert_ok();
    let paranoid = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap();
    let paranoid: i64 = paranoid.trim().parse().unwrap();
    for record in records(&scratch.only_run()).values() {
        let reported = record.not_measured.iter().any(|words| words.starts_with("profile: "));
        assert_eq!(reported, paranoid > 1, "{:?}", record.not_measured);
    }
}
