//! A history of real runs: added, shown, gated, refused.

use super::scratch::{Scratch, list};
use super::suites::{GET, suite};
use super::workers::null_is_a_debug_build;
use serde_json::Value;
use std::fs;

/// A run of the null engine, added to the history; of a debug build, refused: its figures are void.
fn added(scratch: &Scratch, label: &str) -> bool {
    let text = suite()
        .engine_as("null", "null", "latency_ns = 1_000")
        .load("batch = 500")
        .measure("operations = 2_000")
        .role("readers", GET)
        .text();
    scratch.write("s.toml", &text);
    scratch.run(&["run", "s.toml", "-q"]).assert_ok();
    let done = scratch.run(&["history", "add", "h.ndjson", "--as", label]);
    if null_is_a_debug_build() {
        done.assert_code(4).assert_says("(debug-build)");
        return false;
    }
    done.assert_code(0);
    true
}

/// The run's line as another build would have left it: other rates, another id.
fn build(line: &str, number: usize, rate: f64) -> String {
    let mut entry: Value = serde_json::from_str(line).unwrap();
    entry["run"] = format!("build-{number}").into();
    entry["label"] = format!("c{number}").into();
    for series in entry["series"].as_array_mut().unwrap() {
        if let Some(figure) = series["figures"].get_mut("ops_per_s") {
            *figure = (figure.as_f64().unwrap() * rate).into();
        }
    }
    entry.to_string() + "\n"
}

#[test]
fn a_slower_build_is_named_and_fails_the_gate() {
    let scratch = Scratch::new();
    if !added(&scratch, "first") {
        return;
    }
    let line = fs::read_to_string(scratch.path("h.ndjson")).unwrap();
    let show = |rates: &[f64], more: &[&str]| {
        let lines = rates.iter().enumerate().map(|(index, rate)| build(&line, index, *rate));
        fs::write(scratch.path("h.ndjson"), lines.collect::<String>()).unwrap();
        let args = ["history", "show", "h.ndjson", "--figures", "ops_per_s"];
        scratch.run(&[&args[..], more].concat())
    };
    let level = [1.0, 1.01, 0.99, 1.0, 0.995, 1.005];
    let passed = show(&level, &["--gate", "10%"]);
    passed.assert_code(0).assert_says("passed");
    let failed = show(&[&level[..], &[0.8]].concat(), &["--gate", "10%"]);
    failed.assert_code(5).assert_says("FAILED").assert_says("readers: ops_per_s by");
    let later = [&level[..], &[0.8, 0.81, 0.79, 0.8, 0.8]].concat();
    show(&later, &[]).assert_code(0).assert_says("c6: ").assert_says("-20");
    let json = show(&later, &["--json"]).json();
    let change = &json["figures"][0]["changes"][0];
    assert_eq!(change["run_index"].as_u64(), Some(6));
    assert_eq!(change["verdict"].as_str(), Some("regressed"));
    show(&later, &["--html", "h.html"]).assert_code(0);
    assert!(fs::read_to_string(scratch.path("h.html")).unwrap().len() > 100_000);
}

#[test]
fn what_cannot_be_added_or_read_is_said_and_the_file_stays_as_it_was() {
    let scratch = Scratch::new();
    if !added(&scratch, "first") {
        return;
    }
    let file = scratch.path("h.ndjson");
    let before = fs::read(&file).unwrap();
    scratch.run(&["history", "add", "h.ndjson"]).assert_code(2).assert_says("kvdyno list");
    let id = list(&scratch.path("runs")).remove(0);
    let missing = scratch.run(&["history", "show", "none.ndjson"]);
    missing.assert_code(2).assert_says("kvdyno history add");
    assert_eq!(fs::read(&file).unwrap(), before);
    let few = scratch.run(&["history", "show", "h.ndjson", "--gate", "5%"]);
    few.assert_code(4).assert_says("expected 4 ");
    let cut = &before[..before.len() - 20];
    fs::write(&file, cut).unwrap();
    let cut_short = scratch.run(&["history", "add", "h.ndjson", &format!("runs/{id}")]);
    cut_short.assert_code(2).assert_says("line 1");
    assert_eq!(fs::read(&file).unwrap(), cut);
    fs::write(&file, "{\"format\":99}\n").unwrap();
    scratch.run(&["history", "show", "h.ndjson"]).assert_code(2).assert_says("format 99");
}
