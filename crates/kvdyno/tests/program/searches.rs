//! `size` and `capacity`: their results agree with their records. No test asserts a speed.

use super::limits::can_limit;
use super::locations::can_mount;
use super::phases::measured;
use super::scratch::{Done, Scratch, list, outcomes, record, records};
use super::suites::{GET, Suite, reads, suite};
use super::workers::{needs, needs_root};
use kvdyno_record::case::Outcome;
use kvdyno_record::files::RunDir;
use kvdyno_record::workload::{Activity, Phase};
use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeSet;

const MIB: u64 = 1 << 20;

/// An engine that needs 200 MiB: its need is known, however slow the machine is.
fn greedy() -> Suite {
    suite()
        .engine_as("greedy", "null", "memory_bytes = \"200MiB\"\nstore = \"memory\"")
        .load("batch = 500")
        .measure("duration = \"200ms\"")
        .role("readers", GET)
}

const GREEDY: [&str; 10] = [
    "s.toml",
    "--engine",
    "greedy",
    "--target",
    "reads > 1/s",
    "--between",
    "64MiB..512MiB",
    "--within",
    "20%",
    "--json",
];

fn points(answer: &Value) -> &Vec<Value> {
    answer["points"].as_array().unwrap()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// All trials met the target.
fn is_met(point: &Value) -> bool {
    point["met"] == point["trials"]
}

/// The result follows from its points, and each point from its records.
fn assert_consistent(run: &RunDir, answer: &Value, wants_least: bool) {
    let harder = |one: u64, other: u64| if wants_least { one < other } else { one > other };
    let records = records(run);
    for point in points(answer) {
        let cases = point["cases"].as_array().unwrap();
        assert_eq!(cases.len() as u64, number(&point["trials"]), "{point}");
        for (trial, id) in cases.iter().enumerate() {
            let record = &records[id.as_str().unwrap()];
            let value = number(&point["value"]);
            if wants_least {
                assert_eq!(record.ram_limit.requested_bytes, Some(value));
                assert!(record.ram_limit.enforced_by.is_some());
            } else {
                let offered = measured(record).roles[0].offered_per_s.unwrap();
                assert!((offered - value as f64).abs() < 1.0, "{offered}: {point}");
            }
            if record.outcome == Outcome::Done && answer["conditions"][0]["about"] == "reads" {
                let role = &measured(record).roles[0];
                let reads = role.per_second(role.ops["get"].items).unwrap();
                let output = point["figures"][0][trial].as_f64().unwrap();
                assert!((reads / output - 1.0).abs() < 1e-9, "{reads} {point}");
            } else if record.outcome != Outcome::Done {
                assert!(!is_met(point), "{point}");
            }
        }
    }
    let result = &answer["result"];
    match result["is"].as_str().unwrap() {
        "between" => {
            let (met, missed) = (number(&result["met"]), number(&result["missed"]));
            assert!(harder(missed, met), "{result}");
            for point in points(answer) {
                let value = number(&point["value"]);
                assert!(is_met(point) || harder(value, met), "{point} is easier than {result}");
                if let Some(clear) = result["surely_missed"].as_u64() {
                    let beyond = value == clear || harder(value, clear);
                    assert!(!beyond || number(&point["met"]) == 0, "{point}: {result}");
                }
            }
        }
        "never" => assert!(!points(answer).iter().any(is_met), "{answer}"),
        "always" => assert!(points(answer).iter().all(is_met), "{answer}"),
        other => panic!("the search did not end: {other}"),
    }
}

#[test]
fn the_least_ram_is_found_by_a_real_limit_and_with_one_load() {
    let scratch = Scratch::new();
    if !can_limit(&scratch, "the_least_ram_is_found_by_a_real_limit_and_with_one_load") {
        return;
    }
    scratch.write("s.toml", &greedy().text());
    let done = scratch.run(&[&["size", "--trials", "2"], &GREEDY[..]].concat());
    done.assert_ok().assert_says("searching 64 MiB to 512 MiB of RAM");
    let answer = done.json();
    let run = scratch.only_run();
    assert!(run.is_complete());
    assert_consistent(&run, &answer, true);
    let result = &answer["result"];
    let (met, missed) = (number(&result["met"]), number(&result["missed"]));
    assert!(met > 200 * MIB, "200 MiB do not fit into {met}");
    assert!(missed < 256 * MIB, "they fit into {missed}");
    assert!(met as f64 / missed as f64 <= 1.2 && result["close"] == true, "{result}");
    assert_eq!(result["surely_missed"], result["missed"], "what does not fit never does");
    let loads = outcomes(&run).keys().filter(|id| id.contains("load")).count();
    assert_eq!(loads, 1, "{:?}", outcomes(&run));
    // An engine that does not fit has not damaged a database that it only read.
    assert_eq!(record(&run, "load_r1").attempt, 1);
    for case in run.plan().unwrap().cases {
        assert_eq!(case.database.loaded_by, "0001_greedy_load_r1");
    }

    let sentence = answer["sentences"][0].as_str().unwrap();
    let words: Vec<&str> = sentence.split(' ').take(4).collect();
    scratch
        .run(&["show", "--full"])
        .assert_ok()
        .assert_says(&words.join(" "))
        .assert_says("does not fit");
    let shown = scratch.run(&["show", "--json"]).json();
    assert_eq!(shown["search"]["result"], *result, "show computes the same");
    scratch.run(&["check"]).assert_code(0);
    scratch.run(&["report", "-o", "page.html"]).assert_code(0);
    scratch.run(&["resume"]).assert_code(2).assert_says("kvdyno show");
    scratch.assert_nothing_left();
}

#[test]
fn a_load_that_does_not_fit_is_an_answer_and_a_full_disk_is_none() {
    let test = "a_load_that_does_not_fit_is_an_answer_and_a_full_disk_is_none";
    let scratch = Scratch::new();
    if !can_limit(&scratch, test) || !can_mount(test) {
        return;
    }
    scratch.write("s.toml", &greedy().text());
    let size = ["size", "s.toml", "--target", "reads > 1/s", "--between", "64MiB..100MiB"];
    let done = scratch.run(&[&size[..], &["--engine", "greedy"]].concat());
    done.assert_ok().assert_says("100 MiB");
    done.assert_says("--between 100MiB..400MiB");

    let suite = greedy().data("records = 8000\nvalue_bytes = 1000");
    scratch.write("s.toml", &suite.text().replace("200MiB", "1MiB"));
    std::fs::create_dir(scratch.path("volume")).unwrap();
    let mounting = "mount -t tmpfs -o size=4m none volume";
    let arguments =
        [&size[..], &["--engine", "greedy", "--data-dir", "volume/place", "--create-data-dir"]]
            .concat();
    let done = scratch.start(scratch.kvdyno_after(mounting, &arguments)).wait();
    done.assert_code(3).assert_says("disk full").assert_says("kvdyno resume");
    scratch.assert_nothing_left();
}

#[test]
fn lmdb_under_a_limit_is_judged_by_what_its_records_say() {
    let test = "lmdb_under_a_limit_is_judged_by_what_its_records_say";
    let scratch = Scratch::new();
    if !needs("lmdb", test) || !can_limit(&scratch, test) {
        return;
    }
    let suite = suite()
        .data("records = 30_000\nvalue_bytes = 1000")
        .run("threads = [1, 2]")
        .engine("lmdb")
        .load("batch = 500")
        .phase("evict", "")
        .measure("duration = \"300ms\"")
        .role("readers", &format!("threads = \"sweep\"\n{GET}"));
    scratch.write("s.toml", &suite.text());
    let size = ["size", "s.toml", "--engine", "lmdb", "--between", "8MiB..64MiB", "--json"];
    let target = ["--target", "reads > 20k/s and max < 10s", "--trials", "2", "--within", "50%"];
    let done = scratch.run(&[&size[..], &target].concat());
    done.assert_code(0);
    let (run, answer) = (scratch.only_run(), done.json());
    assert_consistent(&run, &answer, true);
    assert_eq!(answer["conditions"][1]["clocks"]["readers"], "service");
    let threads: BTreeSet<_> = run.plan().unwrap().cases.iter().map(|case| case.threads).collect();
    assert_eq!(threads, [None, Some(2)].into(), "the most threads of the sweep");
    scratch.run(&["check"]).assert_code(0);
    scratch.assert_nothing_left();
}

/// At least a millisecond per operation: more than a thousand per second must fail.
fn slow() -> Suite {
    suite()
        .engine_as("slow", "null", "latency_ns = 1_000_000\nstore = \"memory\"")
        .load("batch = 500")
        .measure("duration = \"500ms\"")
        .role("readers", GET)
        .role("others", "mix = [{ op = \"scan\" }]\nrate = { per_second = 5 }")
}

#[test]
fn the_highest_rate_is_below_what_the_engine_does_as_fast_as_it_goes() {
    let scratch = Scratch::new();
    scratch.write("s.toml", &slow().text());
    let capacity = ["capacity", "s.toml", "--engine", "slow", "--trials", "2", "--json"];
    let done = scratch.run(&[&capacity[..], &["--target", "readers.p50 < 200ms"]].concat());
    done.assert_ok();
    let (run, answer) = (scratch.only_run(), done.json());
    assert_consistent(&run, &answer, false);
    let high = number(&answer["between"]["high"]);
    for done in answer["fastest"]["done_per_s"].as_array().unwrap() {
        assert!(done.as_f64().unwrap() <= high as f64 * 1.01, "{answer}");
    }
    assert_eq!(answer["conditions"][0]["clocks"]["readers"], "response");

    // Twenty times its capacity: it falls behind, whatever the latency of the started operations.
    // So few at the lower end that no stall of the machine leaves several of them undone.
    let target = ["--target", "readers.mean < 1h", "--between", "5..20k/s"];
    let longer = ["--duration", "1s", "--within", "100%"];
    let done = scratch.run(&[&capacity[..], &target, &longer].concat());
    let runs = scratch.runs();
    let run = RunDir::open(runs.last().unwrap().clone()).unwrap();
    let answer = done.assert_ok().json();
    assert_consistent(&run, &answer, false);
    assert_eq!(answer["fastest"], Value::Null);
    let top = points(&answer).last().unwrap();
    assert_eq!(top["value"], 20_000, "{answer}");
    assert_eq!((&top["met"], &top["whys"][0]), (&0.into(), &"readers fell behind the rate".into()));
    // Only the searched role has another rate at each point.
    for case in run.plan().unwrap().cases {
        let Some(mix) = case.phases.iter().find_map(Phase::mix) else { continue };
        let rate = mix.roles[1].rate.as_ref().unwrap();
        assert!((rate.operations_per_s - 5.0).abs() < 0.1, "{rate:?}");
    }
    scratch.assert_nothing_left();
}

/// Starts a search and waits until its second point is measured.
fn at_its_second_point(scratch: &Scratch) -> super::scratch::Running {
    let suite = suite()
        .engine_as("slow", "null", "latency_ns = 1_000_000\nstore = \"memory\"")
        .run("slice = \"100ms\"")
        .load("batch = 500")
        .measure("duration = \"1s\"")
        .role("readers", &format!("{GET}\nrate = {{ per_second = 1, schedule = \"fixed\" }}"));
    scratch.write("s.toml", &suite.text());
    let search = ["capacity", "s.toml", "--engine", "slow", "--target", "mean < 1h"];
    let more = ["--trials", "2", "--between", "5..20k", "--within", "100%"];
    let running = scratch.start(scratch.kvdyno(&[&search[..], &more].concat()));
    scratch.wait_for_phase("slow_20k-s_t1_r1", "measure");
    running
}

/// The search continues, and completes.
fn assert_goes_on(scratch: &Scratch) {
    let run = scratch.only_run();
    assert!(!run.is_complete());
    let before = records(&run);
    let case = "0002_slow_5-s_t1_r1";
    assert_eq!(before[case].outcome, Outcome::Done);
    scratch.run(&["show", "--full"]).assert_says("kvdyno resume");
    let answer = scratch.run(&["resume", "--json"]).assert_ok().json();
    assert!(run.is_complete());
    assert_consistent(&run, &answer, false);
    assert!(points(&answer).len() > 2, "{answer}");
    let after = records(&run);
    assert_eq!(before[case], after[case], "what was done is not done again");
    assert_eq!(record(&run, "load_r1").attempt, 2, "the database was gone");
    scratch.run(&["check"]).assert_code(0);
    scratch.assert_nothing_left();
}

#[test]
fn ctrl_c_keeps_the_points_and_resume_searches_on() {
    let scratch = Scratch::new();
    let running = at_its_second_point(&scratch);
    running.signal(Signal::INT);
    let done = running.wait();
    done.assert_code(130).assert_says("kvdyno resume");
    assert_goes_on(&scratch);
}

#[test]
fn without_its_worker_a_resumed_search_loses_nothing() {
    let scratch = Scratch::new();
    let running = at_its_second_point(&scratch);
    running.signal(Signal::INT);
    running.wait().assert_code(130);
    let [worker, hidden] = ["engines/kvdyno-null", "hidden"].map(|name| scratch.path(name));
    std::fs::rename(&worker, &hidden).unwrap();
    scratch.run(&["resume"]).assert_says("kvdyno-null");
    let load = record(&scratch.only_run(), "load_r1");
    assert_eq!((load.outcome, load.attempt), (Outcome::Done, 1), "it cannot be loaded again");
    std::fs::rename(&hidden, &worker).unwrap();
    assert_goes_on(&scratch);
}

#[test]
fn a_killed_search_is_resumed_from_its_record() {
    let scratch = Scratch::new();
    let running = at_its_second_point(&scratch);
    running.signal(Signal::KILL);
    running.wait();
    assert_goes_on(&scratch);
}

#[test]
fn a_search_is_packed_and_repeated_like_any_run() {
    let scratch = Scratch::new();
    scratch.write("s.toml", &reads().engine("null").text());
    let search = ["capacity", "s.toml", "--engine", "null", "--target", "mean < 1h", "--trials"];
    let done = scratch.run(&[&search[..], &["1", "--between", "100..200", "--json"]].concat());
    let answer = done.assert_ok().json();
    scratch.run(&["bundle", "-o", "run.tar.zst"]).assert_code(0);
    let bundle = scratch.run(&["show", "run.tar.zst", "--json"]).json();
    assert_eq!(bundle["search"]["result"], answer["result"]);
    scratch.run(&["rerun", "run.tar.zst", "--full"]).assert_ok();
    assert_eq!(scratch.runs().len(), 2);
    scratch.assert_nothing_left();
}

#[test]
fn no_time_left_ends_the_search_with_what_it_knows() {
    let scratch = Scratch::new();
    scratch.write("s.toml", &reads().engine("null").text());
    let search = ["capacity", "s.toml", "--engine", "null", "--target", "mean < 1h", "--trials"];
    let done =
        scratch.run(&[&search[..], &["1", "--between", "100..2k", "--budget", "1ms"]].concat());
    // One point gives no result yet, and resume cannot help.
    done.assert_code(4).assert_says("--budget");
    assert!(scratch.only_run().is_complete());
    assert_eq!(records(&scratch.only_run()).len(), 2);
    scratch.assert_nothing_left();
}

#[test]
fn an_engine_that_fails_ends_the_search_and_the_rest_is_kept() {
    let scratch = Scratch::new();
    let failing = "fail_permille = 500\nstore = \"memory\"";
    let suite = reads().run("max_errors = 5").engine_as("bad", "null", failing);
    scratch.write("s.toml", &suite.text());
    let search = ["capacity", "s.toml", "--engine", "bad", "--target", "mean < 1h"];
    let done = scratch.run(&[&search[..], &["--between", "100..2k"]].concat());
    done.assert_code(3).assert_says("failed");
    scratch.run(&["show", "--full"]).assert_code(3);
    scratch.assert_nothing_left();
}

/// An impossible request is refused before anything is created.
#[track_caller]
fn refuse(scratch: &Scratch, arguments: &[&str]) -> Done {
    let before = list(&scratch.path("."));
    let done = scratch.run(arguments);
    done.assert_code(2);
    assert_eq!(list(&scratch.path(".")), before, "something was made");
    done
}

#[test]
fn what_cannot_be_searched_is_refused_with_the_place_and_the_remedy() {
    let scratch = Scratch::new();
    let suite = reads().engine("null").engine_as("other", "null", "");
    scratch.write("s.toml", &suite.text());
    let with = |more: &[&str]| {
        let arguments = [&["capacity", "s.toml"], more].concat();
        refuse(&scratch, &arguments)
    };
    let engine = ["--engine", "other"];
    let target = |text| [&engine[..], &["--target", text]].concat();
    let done = with(&target("p99 < 1ms and raeds > 5/s"));
    done.assert_says("`raeds`").assert_says("                ^^^^^");
    with(&target("p99 > 1ms")).assert_says("p99 > 1ms");
    with(&target("writes > 1/s")).assert_says("readers (get)");
    with(&target("p99 < 1ms and reads > 5k/s")).assert_says("--between 5000..80000");
    with(&target("reader.p99 < 1ms")).assert_says("readers (get)");
    let more = |more: &[&str]| with(&[&target("p99 < 1ms")[..], more].concat());
    more(&["--role", "nobody"]).assert_says("readers");
    more(&["--between", "2k..1k"]).assert_says("--between 2k..1k");
    more(&["--between", "2k"]).assert_says("--between 2k");
    more(&["--within", "tight"]).assert_says("--within");
    more(&["--budget", "5"]).assert_says("--budget");
    more(&["--duration", "5"]).assert_says("--duration");
    more(&["--set", "ram.limit=[\"64MiB\",\"128MiB\"]"]).assert_says("--set ram.limit=2GiB");
    with(&["--engine", "null", "--target", "p99 < 1ms"]).assert_says("null, other");
    with(&["--engine", "nil", "--target", "p99 < 1ms"]).assert_says("nil");
    with(&["--engine", "null"]).assert_says("--target");
    scratch.assert_nothing_left();
}

#[test]
fn of_phases_without_names_the_last_is_searched() {
    let scratch = Scratch::new();
    let suite = reads().engine("null").measure("warmup = \"50ms\"\nduration = \"200ms\"");
    scratch.write("s.toml", &suite.role("readers", GET).text());
    let search = ["capacity", "s.toml", "--engine", "null", "--target", "mean < 1h"];
    let more = ["--trials", "1", "--between", "100..200", "--duration", "150ms"];
    scratch.run(&[&search[..], &more].concat()).assert_ok();
    let lasts = |phase: &Phase| phase.mix().and_then(|mix| mix.ends.duration_ns);
    for case in scratch.only_run().plan().unwrap().cases.iter().filter(|c| c.threads.is_some()) {
        let rates: Vec<bool> = case
            .phases
            .iter()
            .filter_map(|phase| match &phase.work {
                Activity::Warmup(mix) | Activity::Measure(mix) => Some(mix.roles[0].rate.is_some()),
                _ => None,
            })
            .collect();
        assert_eq!(rates, [false, true, true], "{case:?}");
        assert_eq!(case.phases.iter().filter_map(lasts).next_back(), Some(150_000_000));
    }
    scratch.assert_nothing_left();
}

#[test]
fn a_plan_is_shown_and_nothing_is_done() {
    let scratch = Scratch::new();
    scratch.write("s.toml", &slow().text());
    let before = list(&scratch.path("."));
    let search = ["capacity", "s.toml", "--engine", "slow", "--target", "readers.p99 < 1s"];
    let done = scratch.run(&[&search[..], &["--plan"]].concat());
    done.assert_code(0).assert_says("3 trials");
    assert_eq!(list(&scratch.path(".")), before);
}

#[test]
fn without_the_right_to_limit_ram_a_size_is_refused_at_once() {
    let test = "without_the_right_to_limit_ram_a_size_is_refused_at_once";
    if !needs_root(test) {
        return;
    }
    let scratch = Scratch::of_nobody();
    scratch.write("s.toml", &greedy().text());
    let before = list(&scratch.path("."));
    let nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    let arguments = [&["size"], &GREEDY[..]].concat();
    let done = scratch.start(scratch.kvdyno_by(&nobody, &arguments)).wait();
    done.assert_code(2).assert_says("kvdyno doctor");
    assert_eq!(list(&scratch.path(".")), before, "something was made");
}
