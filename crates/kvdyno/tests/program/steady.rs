//! A phase that ends once its rates are steady.

use super::phases::measured;
use super::scratch::{Scratch, records};
use super::suites::{GET, suite};
use super::workers::needs;

const SECOND: u64 = 1_000_000_000;

#[test]
fn a_phase_ends_once_its_rate_is_steady() {
    let test = "a_phase_ends_once_its_rate_is_steady";
    let scratch = Scratch::new();
    if !needs("lmdb", test) {
        return;
    }
    let suite = suite()
        .engine("null")
        .engine("lmdb")
        .load("batch = 500")
        .measure("duration = { least = \"1s\", most = \"10s\" }")
        .role("readers", GET);
    scratch.write("s.toml", &suite.text());
    let plan = scratch.run(&["plan", "s.toml"]);
    plan.assert_ok().assert_says(" to 2");
    scratch.run(&["run", "s.toml"]).assert_ok();
    let records = records(&scratch.only_run());
    for record in records.values().filter(|record| record.case.threads.is_some()) {
        let took = measured(record).wall_ns;
        assert!((SECOND..8 * SECOND).contains(&took), "{}: {took} ns", record.case.id);
    }
    let summary = scratch.run(&["show", "--json"]).json();
    let groups = summary["groups"].as_array().unwrap();
    let runs = groups.iter().flat_map(|group| group["runs"].as_array().unwrap());
    let words: Vec<_> = runs.map(|run| &run["roles"][0]["validity"]["word"]).collect();
    assert_eq!(words, ["sustained", "sustained"], "{summary}");
    scratch.run(&["check"]).assert_code(0);
    // A fixed duration instead.
    scratch.run(&["run", "s.toml", "--duration", "300ms", "--engine", "null"]).assert_ok();
    scratch.assert_nothing_left();
}
