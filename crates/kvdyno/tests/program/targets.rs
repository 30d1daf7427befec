//! Targets: `kvdyno judge`, and `--target` of the commands that measure.

use super::scratch::Scratch;
use super::suites::{UPDATE, reads, suite};
use super::workers::needs;

/// By the load generator alone, which stores nothing.
#[test]
fn a_target_is_met_missed_or_undecided() {
    let scratch = Scratch::new();
    scratch.write("s.toml", &reads().trials(4).engine("null").text());
    let run = scratch.run(&["run", "s.toml", "--target", "ops>1G/s"]);
    run.assert_code(5).assert_says("misses it");
    let judge =
        |target: &str, more: &[&str]| scratch.run(&[&["judge", "--target", target], more].concat());
    judge("readers.p99<10s and ops>10/s", &[]).assert_code(0).assert_says("meets it");
    judge("get.p50<10s and ops>1G/s", &[]).assert_code(5).assert_says("misses it");
    let rows = judge("get.mean<10s", &["--json"]).assert_code(0).out.clone();
    let rows: serde_json::Value = serde_json::from_str(&rows).unwrap();
    assert_eq!(rows[0]["meets"], "yes");
    let condition = &rows[0]["conditions"][0];
    let [low, value, high] = ["low", "value", "high"].map(|key| condition[key].as_f64().unwrap());
    assert!(low <= value && value <= high, "{condition}");
    judge("scan.p99<1s", &[]).assert_code(2).assert_says("its roles: readers (get)");
    judge("p99<1", &[]).assert_code(2).assert_says("add a unit");
}

/// One engine has nothing to be compared with: its target alone asks for more trials.
#[test]
fn a_budget_adds_trials_until_a_target_is_decided() {
    let scratch = Scratch::new();
    scratch.write("s.toml", &reads().trials(1).engine("null").text());
    let args = ["run", "s.toml", "--budget", "10m"];
    scratch.run(&args).assert_ok();
    let trials = |run: &super::scratch::Done| {
        let rows: serde_json::Value = serde_json::from_str(&run.out).unwrap();
        rows[0]["trials"].as_u64().unwrap()
    };
    let judge = ["judge", "--target", "ops>1/s", "--json"];
    assert_eq!(trials(scratch.run(&judge).assert_code(4)), 1);
    let run = scratch.run(&[&args[..], &["--target", "ops>1/s"]].concat());
    run.assert_ok().assert_says("may meet its target or miss it");
    assert_eq!(trials(scratch.run(&judge).assert_code(0)), 4);
}

/// A load has no figures that a target is about.
#[test]
fn a_run_without_a_measured_phase_meets_nothing() {
    let scratch = Scratch::new();
    scratch.write("s.toml", &suite().engine("null").load("batch = 500").text());
    let run = scratch.run(&["run", "s.toml", "--target", "ops>1/s"]);
    run.assert_code(2).assert_says("expected a measured phase");
    scratch.run(&["run", "s.toml"]).assert_ok();
    let judged = scratch.run(&["judge", "--target", "ops>1/s"]);
    judged.assert_code(2).assert_says("expected a measured phase");
}

/// The rates are those of the tables, which count the work that a write leaves behind.
#[test]
fn rates_are_those_of_the_tables() {
    let test = "rates_are_those_of_the_tables";
    if !needs("rocksdb", test) {
        return;
    }
    let scratch = Scratch::new();
    let writes = suite().trials(4).engine("rocksdb").load("batch = 500");
    let writes = writes.measure("duration = \"200ms\"").role("writers", UPDATE);
    scratch.write("s.toml", &writes.text());
    scratch.run(&["run", "s.toml"]).assert_ok();
    let judged = scratch.run(&["judge", "--target", "writes>1/s and ops>1/s", "--json"]);
    let rows: serde_json::Value = serde_json::from_str(&judged.assert_code(0).out).unwrap();
    let summary = scratch.run(&["show", "--json"]);
    let summary: serde_json::Value = serde_json::from_str(&summary.out).unwrap();
    let groups = summary["groups"].as_array().unwrap();
    let measured = |group: &&serde_json::Value| {
        group["engine"] == "rocksdb" && !group["runs"].as_array().unwrap().is_empty()
    };
    let group = groups.iter().find(measured).unwrap();
    let metrics = group["runs"][0]["roles"][0]["metrics"].as_array().unwrap();
    let rate = metrics.iter().find(|metric| metric["name"] == "ops_per_s").unwrap();
    let median = rate["value"].as_f64().unwrap();
    for condition in rows[0]["conditions"].as_array().unwrap() {
        let value = condition["value"].as_f64().unwrap();
        assert!((value / median - 1.0).abs() < 1e-6, "{condition}: {rate}");
    }
}

#[test]
fn fewer_than_four_trials_decide_nothing() {
    let scratch = Scratch::new();
    scratch.write("s.toml", &reads().trials(2).engine("null").text());
    scratch.run(&["run", "s.toml"]).assert_ok();
    let judged = scratch.run(&["judge", "--target", "p99<10s"]);
    judged.assert_code(4).assert_says("expected 4 trials, found 2");
}

/// What no phase of the plan has the figures for costs no run.
#[test]
fn a_target_is_checked_before_the_run() {
    let scratch = Scratch::new();
    scratch.write("s.toml", &reads().engine("null").text());
    let refused = scratch.run(&["run", "s.toml", "--target", "update.p99<1ms"]);
    refused.assert_code(2).assert_says("its roles: readers (get)");
    assert!(scratch.runs().is_empty());
}

/// Hits are what the drive's reads for each operation leave.
#[test]
fn hits_are_those_of_the_tables() {
    let test = "hits_are_those_of_the_tables";
    if !needs("lmdb", test) {
        return;
    }
    let scratch = Scratch::new();
    scratch.write("s.toml", &reads().trials(4).engine("lmdb").text());
    scratch.run(&["run", "s.toml"]).assert_ok();
    let judged = scratch.run(&["judge", "--target", "hits>1%", "--json"]);
    let rows: serde_json::Value = serde_json::from_str(&judged.out).unwrap();
    let summary = scratch.run(&["show", "--json"]);
    let summary: serde_json::Value = serde_json::from_str(&summary.out).unwrap();
    let groups = summary["groups"].as_array().unwrap();
    let runs = groups.iter().flat_map(|group| group["runs"].as_array().unwrap());
    let metrics: Vec<_> = runs.flat_map(|run| run["metrics"].as_array().unwrap()).collect();
    let figure = metrics.iter().find(|metric| metric["name"] == "device_reads_per_op").unwrap();
    let Some(reads) = figure["value"].as_f64() else {
        assert_eq!(rows[0]["meets"], "undecided", "no device counters here: {rows}");
        return;
    };
    judged.assert_code(0);
    let hits = rows[0]["conditions"][0]["value"].as_f64().unwrap();
    assert_eq!(rows[0]["conditions"][0]["unit"], "share");
    assert!((hits - (1.0 - reads)).abs() < 1e-9, "{hits} and {reads}");
}
