//! Targets: `kvdyno judge`, and `--target` of the commands that measure.

use super::scratch::Scratch;
use super::suites::reads;

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
