//! `kvdyno drive` on a directory, and the drive beside engines in a suite, with the real worker.

use super::scratch::{Scratch, records};
use super::workers::needs;
use kvdyno_record::case::CaseRecord;

const SHORT: [&str; 9] = [
    "--create-data-dir",
    "--size",
    "64MiB",
    "--duration",
    "500ms",
    "--warmup",
    "100ms",
    "--trials",
    "2",
];

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
fn a_directory_drive_is_measured_and_left_as_it_was() {
    let test = "a_directory_drive_is_measured_and_left_as_it_was";
    if !needs("drive", test) {
        return;
    }
    let scratch = Scratch::new();
    let mix = ["place", "--rw", "randrw,read", "--read-share", "70%", "--depth", "8"];
    let shown = drive(&scratch, &mix);
    shown.assert_ok().assert_says("randrw-4k-qd8").assert_says("Steady state: ");
    let run = scratch.only_run();
    let cases = records(&run);
    assert_eq!(cases.len(), 1 + 2 * 2);
    assert!(cases.values().all(|case| case.outcome.as_str() == "done"), "{cases:?}");
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
fn two_drives_are_compared_in_one_run() {
    let test = "two_drives_are_compared_in_one_run";
    if !needs("drive", test) {
        return;
    }
    let scratch = Scratch::new();
    for dir in ["one", "two"] {
        std::fs::create_dir(scratch.path(dir)).unwrap();
    }
    let twice = scratch.run(&["drive", "one", "./one"]);
    twice.assert_code(2).assert_says("./one: this directory is named twice");
    let command = "drive one two --depth 8 --size 64MiB --duration 500ms --warmup 100ms --trials 1";
    let planned = scratch.run(&format!("{command} --plan").split(' ').collect::<Vec<_>>());
    planned.assert_ok().assert_says("Assumptions of the estimate").assert_says("phases: load, ");
    assert!(!scratch.path("runs").exists(), "a plan measures nothing");
    let shown = scratch.run(&command.split(' ').collect::<Vec<_>>());
    shown.assert_ok().assert_says("one and two are on one filesystem");
    let first = shown.out.lines().find(|line| line.contains("on one: ")).unwrap();
    assert!(first.contains("; on two: "), "{first}");
    scratch
        .run(&["drive", "one", "missing"])
        .assert_code(2)
        .assert_says("missing: expected a directory");
    scratch.run(&["check"]).assert_code(0);
}

#[test]
fn what_would_change_nothing_is_refused() {
    let refused: [(&[&str], &str); 4] = [
        (&["--read-share", "70%"], "--read-share"),
        (&["--io", "psync", "--sqpoll"], "--sqpoll"),
        (&["--rounds", "7"], "--preset snia-iops"),
        (&["--preset", "raidix", "--round", "9s"], "--preset snia-iops"),
    ];
    for (arguments, says) in refused {
        let scratch = Scratch::new();
        let all: Vec<&str> = ["drive", "place"].iter().chain(arguments).copied().collect();
        scratch.run(&all).assert_code(2).assert_says(says);
        scratch.assert_nothing_left();
    }
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
    assert_eq!(cases.len(), 1 + 5 * 2, "{:?}", cases.keys());
    assert!(cases.values().all(|case| case.case.ceiling));
}

#[test]
fn what_cannot_be_is_refused_before_anything_is_touched() {
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.path("p")).unwrap();
    let refused = |arguments: &[&str], words: &str| {
        scratch.run(arguments).assert_code(2).assert_says(words);
        assert!(scratch.runs().is_empty());
    };
    refused(&["drive"], "PATH");
    refused(&["drive", "p", "--preset", "raidix", "--rw", "read"], "--preset");
    refused(&["drive", "p", "--rounds", "4"], "5..=25");
    if needs("drive", "what_cannot_be_is_refused_before_anything_is_touched") {
        refused(&["drive", "p", "--block", "1000"], "1000");
        refused(&["drive", "p", "--read-only"], "`read_only`");
        refused(&["drive", "p", "--duration", "5"], "duration");
    }
}

fn fio_is_here(test: &str) -> bool {
    let installed = std::process::Command::new("fio").arg("--version").output().is_ok();
    if !installed {
        super::workers::report_skip("fio", test, "no fio (apt install fio)");
    }
    installed && needs("drive", test) && needs("fio", test)
}

/// The same work by both: what was planned, and about as much as it says of itself.
#[test]
fn fio_does_the_same_job_interleaved() {
    let test = "fio_does_the_same_job_interleaved";
    if !fio_is_here(test) {
        return;
    }
    let scratch = Scratch::new();
    let ways = ["place", "--with-fio", "--io", "io_uring,psync,mmap", "--depth", "4"];
    drive(&scratch, &ways).assert_ok().assert_says(" itself: ");
    let cases = records(&scratch.only_run());
    assert_eq!(cases.len(), 1 + 3 * 2 * 2, "{:?}", cases.keys());
    assert!(cases.values().all(|case| case.outcome.as_str() == "done"), "{cases:?}");
    let by_fio: Vec<_> = cases.values().filter(|case| case.case.engine == "fio").collect();
    assert_eq!(by_fio.len(), 6);
    for case in by_fio {
        let measured = case.phases.iter().find(|phase| phase.kind == "measure").unwrap();
        assert!(done(case) > 0);
        // Both of the job's CPU times are fio's own, and fio has worked for as long as it was told.
        let cpu = |usage: &kvdyno_record::usage::ProcessUsage| usage.user_ns + usage.system_ns;
        let [before, after] = [&measured.before, &measured.after]
            .map(|snapshot| snapshot.process.as_ref().map(cpu).unwrap());
        assert!(after > before, "{}", case.case.id);
        assert!(measured.roles[0].window_ns > 400_000_000);
        // Its reads went past the page cache to the device, and were of our file.
        let device = |snapshot: &kvdyno_record::usage::Snapshot| {
            snapshot.device.as_ref().map(|device| device.read_bytes)
        };
        if case.case.label == "randread-4k-qd4-fio"
            && let Some((before, after)) = device(&measured.before).zip(device(&measured.after))
        {
            assert!(after - before >= done(case) * 4096, "{}", case.case.id);
        }
    }
    scratch.run(&["check"]).assert_code(0);
    scratch.assert_nothing_left();
}

#[test]
fn without_fio_it_is_said_how_to_get_it() {
    let scratch = Scratch::new();
    let mut command = scratch.kvdyno(&["drive", "p", "--with-fio"]);
    command.env("PATH", scratch.path("engines"));
    let done = scratch.start(command).wait();
    done.assert_code(2).assert_says("apt install fio");
}

#[test]
fn what_fio_reported_is_a_run_as_any() {
    let scratch = Scratch::new();
    let report = concat!(env!("KVDYNO_SOURCE"), "/fixtures/fio/mix-3.33.json");
    let shown = scratch.run(&["drive", "--import-fio", report, "--config", "--drive"]);
    shown.assert_code(0).assert_says("mix-70-30").assert_says("fio (imported) 3.33");
    scratch.run(&["check"]).assert_code(0);
    let exported = scratch.run(&["export", "--json"]);
    exported.assert_code(0).assert_says("mix-70-30");
    let summary: serde_json::Value = serde_json::from_str(&exported.out).unwrap();
    let findings = summary["findings"].as_array().unwrap();
    // Nothing of this machine is held against figures of another: only how short it was.
    let ids: Vec<_> = findings.iter().map(|finding| finding["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["short-measure", "few-slices", "few-trials"]);
    scratch.write("none.json", "fio: bad option");
    scratch.run(&["drive", "--import-fio", "none.json"]).assert_code(2).assert_says("json+");
}

const FIXTURES: &str = concat!(env!("KVDYNO_SOURCE"), "/fixtures/fio");

/// fio 3.33 with `fdatasync=1`: what is waited for is the sync, and it is not denied.
#[test]
fn the_syncs_that_fio_reported_are_flushes() {
    let scratch = Scratch::new();
    let report = format!("{FIXTURES}/fdatasync-3.33.json");
    let shown = scratch.run(&["drive", "--import-fio", &report, "--full"]);
    shown.assert_code(0).assert_says("flush");
    assert!(!shown.out.contains("not synced"), "{}", shown.out);
    let exported = scratch.run(&["export", "--json"]);
    let summary: serde_json::Value = serde_json::from_str(&exported.out).unwrap();
    let roles = &summary["groups"][0]["runs"][0]["roles"];
    assert_eq!((&roles[0]["role"], &roles[0]["mix"]), (&"writes".into(), &"update+flush".into()));
    // 911 flushes are too few for a p99.
    let answer = summary["answer"][0].as_str().unwrap();
    assert!(answer.contains(" writes/s"), "{answer}");
    assert_eq!(roles[0]["ops"][1]["op"], "flush");
    scratch.run(&["check"]).assert_code(0);
}

/// What fio was not asked for is not held against it, and no time is zero.
#[test]
fn what_fio_did_not_report_is_not_checked() {
    let text = std::fs::read_to_string(format!("{FIXTURES}/mix-3.33.json")).unwrap();
    let reports: [(&[&str], &str); 2] =
        [(&["slat_ns"], "p99"), (&["lat_ns", "slat_ns", "clat_ns"], "no times")];
    for (missing, says) in reports {
        let scratch = Scratch::new();
        let mut report: serde_json::Value = serde_json::from_str(&text).unwrap();
        for side in ["read", "write"] {
            for times in missing {
                report["jobs"][0][side][times] = serde_json::json!({ "N": 0 });
            }
        }
        scratch.write("report.json", &report.to_string());
        scratch.run(&["drive", "--import-fio", "report.json"]).assert_code(0);
        scratch.run(&["export", "--json"]).assert_says(says);
        scratch.run(&["check"]).assert_code(0);
    }
}

/// After each fourth write of a thread, alone or with others in flight; by fio as well.
#[test]
fn flushes_are_an_operation_of_their_own() {
    let test = "flushes_are_an_operation_of_their_own";
    if !needs("drive", test) || !fio_is_here(test) {
        return;
    }
    let scratch = Scratch::new();
    let ways = ["place", "--rw", "randwrite", "--sync", "4", "--io", "io_uring,psync"];
    drive(&scratch, &[&ways[..], &["--depth", "3", "--with-fio"]].concat()).assert_ok();
    let cases = records(&scratch.only_run());
    let jobs: Vec<_> = cases.values().filter(|case| case.case.threads.is_some()).collect();
    assert_eq!(jobs.len(), 2 * 2 * 2, "{:?}", cases.keys());
    for case in jobs {
        let measured = case.phases.iter().find(|phase| phase.kind == "measure").unwrap();
        let [writes] = measured.roles.as_slice() else { panic!("{:?}", measured.roles) };
        let (writes, flushes) = (writes.ops["update"].count, &writes.ops["flush"]);
        assert!(flushes.count > 0 && flushes.service_ns > 0, "{}", case.case.id);
        let by_fio = case.case.engine == "fio";
        let off = flushes.count.abs_diff(writes / 4);
        assert!(by_fio || off <= 1, "{}: {writes} {flushes:?}", case.case.id);
    }
    let shown = scratch.run(&["show", "--table", "drive-times"]);
    shown.assert_ok().assert_says("flush");
    drive(&scratch, &["place", "--rw", "randread", "--sync"]).assert_code(2);
    drive(&scratch, &["place", "--rw", "randwrite", "--io", "mmap", "--sync"]).assert_code(2);
}

#[test]
fn etcds_test_ends_in_a_claim() {
    let test = "etcds_test_ends_in_a_claim";
    if !needs("drive", test) {
        return;
    }
    let scratch = Scratch::new();
    let short = ["--duration", "1s", "--warmup", "100ms", "--create-data-dir"];
    let done = scratch.run(&[&["drive", "place", "--preset", "etcd"], &short[..]].concat());
    done.assert_ok();
    let first = done.out.lines().next().unwrap_or_default();
    // A p99 needs 1,000 flushes.
    let flushes: Vec<u64> = records(&scratch.only_run())
        .values()
        .flat_map(|record| &record.phases)
        .flat_map(|phase| &phase.roles)
        .filter_map(|role| Some(role.ops.get("flush")?.count))
        .collect();
    if flushes.iter().sum::<u64>() >= 1_000 {
        assert!(first.contains("fsync p99 ") && first.contains("threshold 10.0 ms: "), "{first}");
    }
    scratch.run(&["show", "--table", "claims"]).assert_ok().assert_says("etcd can keep its log");
    if flushes.iter().all(|count| *count >= 20) {
        let target = scratch.run(&["judge", "--target", "flush.p50<100s"]);
        target.assert_code(0).assert_says("meets it");
    }
}

/// A file of two sections becomes two jobs; one that kvdyno cannot run is refused at its line.
#[test]
fn jobs_of_a_fio_file_are_run() {
    let test = "jobs_of_a_fio_file_are_run";
    if !needs("drive", test) {
        return;
    }
    let scratch = Scratch::new();
    let text = "[global]\nioengine=psync\nsize=8m\nruntime=1\ntime_based\n[Reads]\nrw=randread\n\
                [log]\nstonewall\nrw=write\nbs=1000\nfdatasync=1\n";
    scratch.write("jobs.fio", text);
    let run = ["drive", "place", "--create-data-dir", "--trials", "1", "--fio-job", "jobs.fio"];
    scratch.run(&run).assert_ok().assert_says("norandommap=1");
    let cases = records(&scratch.only_run());
    let labels: Vec<&str> = cases.values().map(|case| case.case.label.as_str()).collect();
    assert!(labels.contains(&"reads") && labels.contains(&"log"), "{labels:?}");
    let log = cases.values().find(|case| case.case.label == "log").unwrap();
    assert_eq!((log.outcome.as_str(), log.case.shape.value_bytes_mean), ("done", 1000));
    scratch.write("jobs.fio", &text.replace("bs=1000", "bs=1000,2000"));
    let refused = scratch.run(&run);
    refused.assert_code(2).assert_says("jobs.fio, line 11").assert_says("one size");
    scratch.assert_nothing_left();
}

/// The job that trims has its own file: the one after it reads blocks that are written. All of its
/// blocks are discarded once.
#[test]
fn a_fio_job_that_trims_takes_nothing_from_the_next() {
    let test = "a_fio_job_that_trims_takes_nothing_from_the_next";
    if !needs("drive", test) {
        return;
    }
    let scratch = Scratch::new();
    let text = "[global]\nioengine=libaio\ndirect=1\nsize=8m\nruntime=1\nstonewall\nbs=64k\n\
                [discard]\nrw=trim\niodepth=8\n[reads]\nrw=randread\n";
    scratch.write("jobs.fio", text);
    let run = ["drive", "place", "--create-data-dir", "--trials", "2", "--fio-job", "jobs.fio"];
    scratch.run(&run).assert_ok().assert_says("file of its own");
    let cases = records(&scratch.only_run());
    assert!(cases.values().all(|case| case.outcome.as_str() == "done"), "{cases:?}");
    let labelled = |label: &'static str| {
        let cases = cases.values().filter(move |case| case.case.label == label);
        cases.map(|case| (case.case.database.id == case.case.id, done(case)))
    };
    assert!(labelled("discard").eq([(true, 128), (true, 128)]), "128 blocks of 64 KiB");
    assert!(labelled("reads").all(|(owns, reads)| !owns && reads > 0));
    let discard = cases.values().find(|case| case.case.label == "discard").unwrap();
    let used = |kind: &str| {
        let phase = discard.phases.iter().find(|phase| phase.kind == kind).unwrap();
        phase.database.as_ref().unwrap().used_bytes
    };
    assert!(used("load") >= 8 << 20 && used("measure") < 1 << 20, "holes in its file");
    scratch.run(&["check"]).assert_code(0);
    scratch.assert_nothing_left();
}
