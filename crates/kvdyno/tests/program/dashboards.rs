//! The dashboard in docs/ asks for metrics that `serve` and `export --openmetrics` have.

use super::scratch::Scratch;
use super::serve::Server;
use super::suites::{GET, UPDATE, suite};
use super::workers::{needs, report_skip};
use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeSet;

/// What is only there while a run is at work.
pub(crate) const LIVE: [&str; 6] = [
    "kvdyno_left_seconds",
    "kvdyno_phase_elapsed_seconds",
    "kvdyno_current_ops_per_s",
    "kvdyno_current_service_max_seconds",
    "kvdyno_current_service_p50_seconds",
    "kvdyno_current_service_p99_seconds",
];

/// The queries of the panels, with all values of the variables.
pub(crate) fn queries() -> Vec<String> {
    let path = concat!(env!("KVDYNO_SOURCE"), "/docs/grafana.json");
    let dashboard: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().filter_map(|panel| panel["targets"].as_array()).flatten();
    let variables = ["$run", "$suite", "$engine"];
    let asked = |target: &Value| {
        let query = target["expr"].as_str().unwrap().to_owned();
        variables.iter().fold(query, |query, variable| query.replace(variable, ".*"))
    };
    targets.map(asked).collect()
}

/// The metrics in a text: of queries, or of lines.
fn metrics(text: &str) -> BTreeSet<String> {
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let words = text.split(|letter| !is_word(letter));
    words.filter(|word| word.starts_with("kvdyno_")).map(str::to_owned).collect()
}

/// A run that has all figures of the dashboard: a load, reads from the drive at a rate, and writes
/// that are flushed.
pub(crate) fn run_with_every_figure(scratch: &Scratch) {
    let role = format!("rate = \"20k\"\n{GET}");
    let text = suite()
        .data("records = 20_000\nvalue_bytes = 400")
        .engine("lmdb")
        .with("[[engine]]", "[[engine]]\ndurability = \"commit\"")
        .load("batch = 500")
        .phase("evict", "")
        // p99.9 needs 10,000 reads, also of a machine that is busy.
        .measure("duration = \"5s\"")
        .role("readers", &role)
        .role("writer", UPDATE)
        .text();
    scratch.write("every.toml", &text);
    scratch.run(&["run", "every.toml"]).assert_ok();
}

/// A run that does not end by itself.
pub(crate) fn write_endless_suite(scratch: &Scratch) {
    let text = suite()
        .run("slice = \"100ms\"")
        .engine_as("slow", "null", "latency_ns = 100_000\nstore = \"memory\"")
        .load("batch = 500")
        .measure("duration = \"5m\"")
        .role("readers", GET)
        .text();
    scratch.write("endless.toml", &text);
}

#[test]
fn every_metric_of_the_dashboard_is_served() {
    let test = "every_metric_of_the_dashboard_is_served";
    if !needs("lmdb", test) {
        return;
    }
    let scratch = Scratch::new();
    run_with_every_figure(&scratch);
    let server = Server::start(&scratch);
    let mut served = metrics(&server.get("/metrics").body);
    if !served.contains("kvdyno_device_flush_mean_seconds") {
        server.end();
        return report_skip("disk", test, "the volume has no device that counts flushes");
    }
    write_endless_suite(&scratch);
    let running = scratch.start(scratch.kvdyno(&["run", "endless.toml"]));
    scratch.wait_for_phase("t1", "measure");
    super::scratch::wait_until("a thousand latencies are known", || {
        server.get("/metrics").body.contains("kvdyno_current_service_p99_seconds{")
    });
    served.extend(metrics(&server.get("/metrics").body));
    running.signal(Signal::INT);
    running.wait().assert_code(130);
    server.end();
    let asked = metrics(&queries().join("\n"));
    assert!(LIVE.iter().all(|name| asked.contains(*name)), "{asked:?}");
    let missing: Vec<&String> = asked.difference(&served).collect();
    assert!(missing.is_empty(), "docs/grafana.json asks for {missing:?}");
}
