//! `compare` and `calibrate` on real runs of the null engine. Slowness comes from its own option,
//! and only ratios are asserted.

use super::scratch::{Done, Scratch};
use super::suites::{GET, Suite, suite};
use serde_json::Value;

/// Two engines that differ in the time of an operation, run side by side.
fn two(trials: u32, latencies_ns: [u32; 2]) -> Suite {
    let mut suite = suite().data("records = 500\nvalue_bytes = 100").trials(trials);
    // One process per trial, not two.
    suite = suite.run("database = \"fresh\"");
    for (label, latency_ns) in ["one", "other"].iter().zip(latencies_ns) {
        suite = suite.engine_as(label, "null", &format!("latency_ns = {latency_ns}"));
    }
    suite.load("batch = 500").measure("duration = \"120ms\"").role("readers", GET)
}

fn run(scratch: &Scratch, suite: &Suite) {
    scratch.write("s.toml", &suite.text());
    scratch.run(&["run", "s.toml"]).assert_ok();
}

/// A busy machine changes the median of a wait of 20 us least.
const P50: [&str; 2] = ["--figures", "service_ns_p50"];

fn compare(scratch: &Scratch, arguments: &[&str]) -> Done {
    scratch.run(&[&["compare"], arguments].concat())
}

fn verdicts(done: &Done) -> Vec<String> {
    let json = done.json();
    let pairs = json["pairs"].as_array().unwrap().iter();
    let rows = pairs.flat_map(|pair| pair["rows"].as_array().unwrap());
    rows.map(|row| row["verdict"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn identical_engines_are_never_told_apart() {
    let scratch = Scratch::new();
    run(&scratch, &two(8, [20_000, 20_000]));
    let engines = ["latest", "--engines", "one,other", P50[0], P50[1]];
    compare(&scratch, &[&engines[..], &["--gate", "5%"]].concat())
        .assert_ok()
        .assert_says("2.00 %")
        .assert_says("gate      passed");
    let json = compare(&scratch, &[&engines[..], &["--json"]].concat());
    let [verdict] = &verdicts(&json)[..] else { panic!("one figure was asked for") };
    assert!(["equal", "undecided"].contains(&verdict.as_str()), "{verdict}");
    assert_eq!(json.json()["pairs"][0]["rows"][0]["paired"], true);
}

#[test]
fn a_planted_slowdown_is_found_and_the_gate_ends_with_5() {
    let scratch = Scratch::new();
    run(&scratch, &two(8, [20_000, 22_000]));
    let slower = ["latest", "--engines", "one,other", P50[0], P50[1]];
    compare(&scratch, &[&slower[..], &["--gate", "5%"]].concat())
        .assert_code(5)
        .assert_says("one better")
        .assert_says("latency_ns: 20000 in BASE, 22000 in NEW")
        .assert_says("FAILED: ")
        .assert_says("t1, readers");
    // A gate that allows a fifth, and the opposite direction.
    compare(&scratch, &[&slower[..], &["--gate", "20%"]].concat()).assert_ok();
    let faster = ["latest", "--engines", "other,one", P50[0], P50[1], "--gate", "5%"];
    compare(&scratch, &faster).assert_ok().assert_says("one better");
}

/// Two runs can be compared, too: the same suite with another option, and unpaired trials.
#[test]
fn runs_are_compared_case_by_case() {
    let scratch = Scratch::new();
    let one = |latency_ns: u32| {
        let suite = suite().data("records = 500\nvalue_bytes = 100").trials(5);
        let option = format!("latency_ns = {latency_ns}");
        let suite = suite.run("database = \"fresh\"").engine_as("null", "null", &option);
        let suite = suite.load("batch = 500");
        suite.measure("duration = \"100ms\"").role("readers", GET)
    };
    run(&scratch, &one(20_000));
    run(&scratch, &one(26_000));
    let [base, new] = &scratch.runs()[..] else { panic!("two runs") };
    let (base, new) = (base.to_str().unwrap(), new.to_str().unwrap());
    compare(&scratch, &[base, new, P50[0], P50[1], "--gate", "5%"])
        .assert_code(5)
        .assert_says("latency_ns: 20000 in BASE, 26000 in NEW");
    let json = compare(&scratch, &[base, new, "--json"]);
    assert_eq!(json.json()["pairs"][0]["rows"][0]["paired"], false);
    compare(&scratch, &[base, base]).assert_code(2).assert_says("kvdyno list");
    compare(&scratch, &[base]).assert_code(2);
    compare(&scratch, &[base, "--engines", "null"]).assert_code(2).assert_says("has: null");
    compare(&scratch, &[base, "--engines", "null,x"]).assert_code(2).assert_says("`x`");
    compare(&scratch, &[base, new, "--figures", "ops"]).assert_code(2).assert_says("ops_per_s");
    compare(&scratch, &[base, new, "--gate", "much"]).assert_code(2).assert_says("--gate");
}

#[test]
fn unequal_workloads_are_refused_and_the_field_is_named() {
    let scratch = Scratch::new();
    let of = |records: u32| {
        let suite = suite().data(&format!("records = {records}\nvalue_bytes = 100"));
        suite.engine("null").load("batch = 500").measure("operations = 500").role("readers", GET)
    };
    run(&scratch, &of(500));
    run(&scratch, &of(600));
    let [base, new] = &scratch.runs()[..] else { panic!("two runs") };
    let done = compare(&scratch, &[base.to_str().unwrap(), new.to_str().unwrap()]);
    done.assert_code(2).assert_says("data.records: 500 in BASE, 600 in NEW").assert_says("hint: ");
    assert_eq!(done.out, "");
}

#[test]
fn one_trial_is_too_few() {
    let scratch = Scratch::new();
    run(&scratch, &two(1, [20_000, 40_000]));
    let engines = ["latest", "--engines", "one,other"];
    let done = compare(&scratch, &engines);
    done.assert_ok();
    compare(&scratch, &[&engines[..], &["--gate", "5%"]].concat())
        .assert_code(4)
        .assert_says("CANNOT JUDGE");
    let judged = compare(&scratch, &[&engines[..], &["--json"]].concat()).json();
    assert_eq!(judged["counts"]["judged"], 0);
}

/// A calibration is an ordinary run, and a comparison finds it.
#[test]
fn a_calibration_is_kept_and_found() {
    let scratch = Scratch::new();
    run(&scratch, &two(4, [20_000, 20_000]));
    let suite = ["--set", "phase.measure.duration=50ms", "--set", "phase.measure.warmup=10ms"];
    let calibrate = ["calibrate", "--engine", "null", "--trials", "4", "--set", "data.records=1k"];
    let done = scratch.run(&[&calibrate[..], &suite].concat());
    done.assert_says("ops/s");
    let runs = scratch.runs();
    assert_eq!(runs.len(), 2);
    let id = runs[1].file_name().unwrap().to_str().unwrap();
    assert!(id.contains("calibrate"), "{id}");
    let base = runs[0].to_str().unwrap();
    let compared = compare(&scratch, &[base, "--engines", "one,other", "--json"]).json();
    let calibration = &compared["noise"]["calibration"];
    assert_eq!(calibration["run"], id);
    assert_eq!(calibration["trials"], serde_json::json!([4, 4]));
    let noise = |figure: &str| {
        let resolves = calibration["resolves"].as_array().unwrap().iter();
        let shares = resolves.filter(|entry| entry["figure"] == figure);
        shares.map(|entry| entry["share"].as_f64().unwrap()).fold(0.01, f64::max)
    };
    let row = |figure: &str| -> Value {
        let pairs = compared["pairs"].as_array().unwrap().iter();
        let mut rows = pairs.flat_map(|pair| pair["rows"].as_array().unwrap());
        rows.find(|row| row["figure"] == figure).unwrap().clone()
    };
    // Of two runs each figure has its calibrated noise; what stood side by side needs none, but a
    // build's layout may be worth one percent.
    for figure in ["ops_per_s", "service_ns_p50"] {
        assert!(noise(figure) >= 0.01, "{figure}");
        assert_eq!(row(figure)["noise"].as_f64(), Some(0.01), "{figure}");
    }
    scratch.assert_nothing_left();
}
