//! A phase that ends once its rates are steady.

use super::phases::measured;
use super::scratch::{Scratch, records};
use super::suites::{GET, suite};
use super::workers::needs;
use serde_json::Value;
use std::collections::BTreeMap;

const SECOND: u64 = 1_000_000_000;

/// Rates move while other tests share the processors.
const ATTEMPTS: usize = 5;

#[test]
fn a_phase_ends_once_its_rate_is_steady() {
    let test = "a_phase_ends_once_its_rate_is_steady";
    if !needs("lmdb", test) {
        return;
    }
    let suite = suite()
        .engine("null")
        .engine("lmdb")
        .load("batch = 500")
        .measure("duration = { least = \"1s\", most = \"10s\" }")
        .role("readers", GET);
    let ends_early = |_: usize| {
        let measured = measured_cases(&suite.text());
        assert_eq!(measured.len(), 2, "{measured:?}");
        for (label, (took_ns, word)) in &measured {
            assert!(*took_ns >= SECOND, "{label}: {took_ns} ns");
            // What ended by itself was steady.
            assert!(*took_ns >= 9 * SECOND || word == "sustained", "{label}: {took_ns} ns {word}");
        }
        measured.values().all(|(took_ns, _)| *took_ns < 8 * SECOND)
    };
    assert!((0..ATTEMPTS).any(ends_early), "no attempt was steady within 8 s");
}

/// How long each engine was measured, and whether its rate lasts.
fn measured_cases(suite: &str) -> BTreeMap<String, (u64, String)> {
    let scratch = Scratch::new();
    scratch.write("s.toml", suite);
    scratch.run(&["plan", "s.toml"]).assert_ok().assert_says("about 3");
    scratch.run(&["run", "s.toml"]).assert_ok();
    let summary = scratch.run(&["show", "--json"]).json();
    let word = |label: &str| {
        let is_label = |group: &&Value| group["label"] == label && group["runs"][0].is_object();
        let group = summary["groups"].as_array().unwrap().iter().find(is_label).unwrap();
        group["runs"][0]["roles"][0]["validity"]["word"].as_str().unwrap().to_owned()
    };
    let records = records(&scratch.only_run());
    let runs = records.values().filter(|record| record.case.threads.is_some());
    let measured = runs.map(|record| {
        let label = record.case.label.clone();
        (label.clone(), (measured(record).wall_ns, word(&label)))
    });
    let measured = measured.collect();
    scratch.run(&["check"]).assert_code(0);
    // A fixed duration instead.
    let fixed = ["run", "s.toml", "--duration", "300ms", "--engine", "null"];
    scratch.run(&fixed).assert_ok();
    scratch.assert_nothing_left();
    measured
}
