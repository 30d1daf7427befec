//! `kvdyno trace record`: what is recorded is what was done, and what is replayed is what was
//! recorded.

use super::scratch::{Scratch, list, record, wait_until};
use super::suites::{GET, Suite, suite};
use super::workers::needs;
use kvdyno_record::case::{CaseRecord, Outcome};
use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeMap;

/// What the trace of a file has of each operation.
fn recorded(scratch: &Scratch, file: &str) -> Value {
    scratch.run(&["trace", "show", file, "--json"]).json()
}

fn ops(trace: &Value) -> BTreeMap<String, u64> {
    serde_json::from_value(trace["header"]["ops"].clone()).unwrap()
}

/// What a phase of a case did, in the words of traces: keys are asked for one by one.
fn done(case: &CaseRecord, phase: &str) -> BTreeMap<String, u64> {
    let phase = case.phases.iter().find(|other| other.name == phase).unwrap();
    let mut all = BTreeMap::new();
    for (name, op) in phase.roles.iter().flat_map(|role| &role.ops) {
        let (word, count) = match name.as_str() {
            "insert" | "update" | "put" => ("put", op.count),
            "batch" => ("put", op.items),
            "multiget" => ("get", op.items),
            other => (other, op.count),
        };
        *all.entry(word.to_owned()).or_default() += count;
    }
    all
}

const ALL: &str = "\
threads = \"sweep\"
mix = [
  { op = \"get\", weight = 4 }, { op = \"update\", weight = 4 }, { op = \"insert\", weight = 2 },
  { op = \"delete\" }, { op = \"rmw\" }, { op = \"scan\", length = 5 },
  { op = \"multiget\", count = 3 }, { op = \"batch\", count = { uniform = { min = 1, max = 5 } } },
]";

/// A load, what is recorded or replayed, and a look at all that is there then.
fn looked_at(engine: &str, options: &str, measure: Suite) -> Suite {
    let look = "threads = 1\nmix = [{ op = \"walk\", length = 5000 }]";
    measure
        .data("records = 1000\nvalue_bytes = { uniform = { min = 20, max = 300 } }\nverify = true")
        .engine_as(engine, engine, options)
        .measure("name = \"look\"\noperations = 1")
        .role("looks", look)
}

/// Records and bytes of keys and values.
fn totals(case: &CaseRecord) -> (u64, u64) {
    let look = case.phases.iter().find(|phase| phase.name == "look").unwrap();
    let walk = &look.roles[0].ops["walk"];
    assert!(walk.items > 0 && walk.items < 5_000 && walk.wrong == 0, "{walk:?}");
    (walk.items, walk.read_bytes)
}

fn there_and_back(engine: &str, options: &str, threads: &str) -> [CaseRecord; 2] {
    let scratch = Scratch::new();
    let threads = format!("threads = [{threads}]");
    let load = || suite().run(&threads).run("database = \"fresh\"").load("batch = 100");
    let text = looked_at(engine, options, load().measure("operations = 6000").role("all", ALL));
    scratch.write("s.toml", &text.text());
    let command = ["trace", "record", "s.toml", "-o", "t.kvtrace"];
    let output = scratch.run(&command);
    output.assert_ok().assert_says("walk, 1 times");
    assert!(output.out.contains("t.measure.kvtrace: "), "{}", output.out);
    scratch.run(&command).assert_code(2).assert_says("t.measure.kvtrace");
    let first = record(&scratch.only_run(), engine);
    let trace = recorded(&scratch, "t.measure.kvtrace");
    assert_eq!(ops(&trace), done(&first, "measure"));
    assert_eq!(trace["header"]["source"]["records"], 1_000);
    assert!(trace["header"]["joined"].as_u64().unwrap() > 0);
    assert_eq!(trace["header"]["key_bytes_max"], 16);
    scratch.assert_finding("requests-recorded");
    scratch.run(&["check"]).assert_code(0);
    std::fs::remove_dir_all(scratch.path("runs")).unwrap();

    let replay = "threads = \"sweep\"\ntrace = \"t.measure.kvtrace\"";
    let text = looked_at(engine, options, load().measure("").role("all", replay));
    scratch.write("r.toml", &text.text());
    let plan = scratch.run(&["plan", "r.toml"]);
    plan.assert_ok();
    assert!(!plan.err.contains("misses"), "all records are loaded: {}", plan.err);
    scratch.run(&["run", "r.toml"]).assert_ok();
    let again = record(&scratch.only_run(), engine);
    assert_eq!(done(&again, "measure"), ops(&trace));
    scratch.assert_nothing_left();
    [first, again]
}

#[test]
fn what_is_recorded_and_replayed_leaves_the_same() {
    let [first, again] = there_and_back("null", "store = \"memory\"", "1");
    assert_eq!(totals(&first), totals(&again));
    if needs("lmdb", "what_is_recorded_and_replayed_leaves_the_same") {
        let [first, again] = there_and_back("lmdb", "", "1");
        assert_eq!(totals(&first), totals(&again));
        there_and_back("lmdb", "", "3");
    }
}

/// Requests of several threads by when each began: at a rate that is the rate.
#[test]
fn requests_have_their_times_and_who_made_them() {
    let scratch = Scratch::new();
    let role = format!("threads = 2\n{GET}\nrate = 2000");
    let text = suite().engine("null").load("batch = 500").measure("duration = \"500ms\"");
    scratch.write("s.toml", &text.role("readers", &role).text());
    scratch.run(&["trace", "record", "s.toml", "-o", "made/t.kvtrace"]).assert_code(2);
    std::fs::create_dir(scratch.path("made")).unwrap();
    scratch.run(&["trace", "record", "s.toml", "-o", "made/t.kvtrace"]).assert_ok();
    let trace = recorded(&scratch, "made/t.kvtrace");
    let span = trace["header"]["span_ns"].as_u64().unwrap();
    let case = record(&scratch.only_run(), "null_t2");
    let window = case.phases.last().unwrap().roles[0].window_ns;
    assert!((400_000_000..=window).contains(&span), "{span} of {window}");
    let count = done(&case, "measure")["get"];
    assert_eq!(ops(&trace)["get"], count);
    assert_eq!(list(&scratch.path("made")), ["t.kvtrace"]);
    scratch.run(&["trace", "show", "made/t.kvtrace"]).assert_says("measure");
}

#[test]
fn one_case_is_recorded_and_others_are_named() {
    let scratch = Scratch::new();
    let text = suite().run("threads = [1, 2]").engine("null").load("batch = 500");
    let role = format!("threads = \"sweep\"\n{GET}");
    let text = text.measure("operations = 100").role("readers", &role);
    scratch.write("s.toml", &text.text());
    let refused = scratch.run(&["trace", "record", "s.toml", "-o", "t.kvtrace"]);
    refused.assert_code(2).assert_says("null_t1_r1").assert_says("null_t2_r1");
    assert!(scratch.runs().is_empty());
    let one = ["trace", "record", "s.toml", "-o", "t.kvtrace", "--threads", "2"];
    scratch.run(&one).assert_ok();
    assert_eq!(recorded(&scratch, "t.kvtrace")["header"]["requests"], 100);
    scratch.assert_nothing_left();
}

/// Whoever is killed, and however: no file is there, hidden or not; and `resume` makes the trace.
#[test]
fn a_recording_that_is_killed_leaves_nothing_behind() {
    let scratch = Scratch::new();
    let text = suite().engine_as("slow", "null", "latency_ns = 1_000_000").load("batch = 500");
    let text = text.measure("operations = 2000").role("readers", GET);
    scratch.write("s.toml", &text.text());
    std::fs::create_dir(scratch.path("made")).unwrap();
    let none = || assert_eq!(list(&scratch.path("made")), Vec::<String>::new());
    let start = || {
        let command = ["trace", "record", "s.toml", "-o", "made/t.kvtrace"];
        let running = scratch.start(scratch.kvdyno(&command));
        scratch.wait_for_phase("slow_t1", "measure");
        none();
        running
    };
    let running = start();
    running.kill_worker();
    running.wait().assert_code(3).assert_says("kvdyno show");
    none();
    std::fs::remove_dir_all(scratch.path("runs")).unwrap();

    let running = start();
    running.signal(Signal::KILL);
    running.wait();
    wait_until("all processes are gone", || scratch.processes().is_empty());
    none();
    scratch.run(&["resume"]).assert_ok();
    assert_eq!(record(&scratch.only_run(), "slow_t1").outcome, Outcome::Done);
    assert_eq!(list(&scratch.path("made")), ["t.kvtrace"]);
    assert_eq!(recorded(&scratch, "made/t.kvtrace")["header"]["requests"], 2_000);
    scratch.assert_nothing_left();
}
