//! A social graph on real engines: loaded, audited, asked, audited again.

use super::scratch::{Scratch, records};
use super::suites::{Suite, suite};
use super::workers::needs;
use kvdyno_record::case::{Audit, CaseRecord};
use std::collections::BTreeMap;

const REQUESTS: [&str; 10] = [
    "add_link",
    "add_node",
    "count_link",
    "delete_link",
    "delete_node",
    "get_links_list",
    "get_node",
    "multiget_link",
    "update_link",
    "update_node",
];

/// Loaded and audited; the requests come next.
fn graph(settings: &str) -> Suite {
    suite()
        .data(&format!("records = 1024\nlinkbench = {{ {settings} }}"))
        .run("database = \"fresh\"")
        .load("threads = 2")
        .phase("verify", "name = \"loaded\"")
}

fn audit<'c>(case: &'c CaseRecord, phase: &str) -> &'c Audit {
    let phase = case.phases.iter().find(|known| known.name == phase).unwrap();
    phase.verified.as_ref().unwrap().audit.as_ref().unwrap()
}

/// By transactions one after the other, by those that wait, and by none at all.
#[test]
fn counts_are_the_links_before_and_after_requests() {
    let test = "counts_are_the_links_before_and_after_requests";
    if !needs("lmdb", test) || !needs("rocksdb", test) {
        return;
    }
    let scratch = Scratch::new();
    let suite = graph("fidelity = \"as-run\"")
        .engine("lmdb")
        .engine_as("waiting", "rocksdb", "transactions = \"pessimistic\"")
        .engine("rocksdb")
        .measure("name = \"requests\"\nduration = \"1s\"")
        .role("requesters", "threads = 4")
        .phase("verify", "name = \"asked\"");
    scratch.write("s.toml", &suite.text());
    scratch.run(&["run", "s.toml"]).assert_ok();
    scratch.run(&["check"]).assert_code(0);
    let all = records(&scratch.only_run());
    let by_label: BTreeMap<&str, &CaseRecord> =
        all.values().map(|case| (case.case.label.as_str(), case)).collect();
    for (label, case) in &by_label {
        let totals = case.case.data.graph.as_ref().unwrap().totals;
        let loaded = audit(case, "loaded");
        assert_eq!((loaded.counts, loaded.links), (totals.counts, totals.links), "{label}");
        let asked = audit(case, "asked");
        assert_eq!((asked.wrong, asked.first), (0, None), "{label}");
        assert_ne!(asked.links, loaded.links, "{label}: requests add links and hide some");
        let requests = case.phases.iter().find(|phase| phase.name == "requests").unwrap();
        let ops: Vec<&str> = requests.roles[0].ops.keys().map(String::as_str).collect();
        assert_eq!(ops, REQUESTS, "{label}");
        assert!(requests.roles[0].ops.values().all(|op| op.count > 0), "{label}");
        let said = case.not_measured.iter().any(|sentence| sentence.contains("latch"));
        assert_eq!(said, *label == "rocksdb", "{label}: {:?}", case.not_measured);
    }
}

/// A check that cannot fail is none.
#[test]
fn requests_that_nothing_keeps_apart_are_found_out() {
    let test = "requests_that_nothing_keeps_apart_are_found_out";
    if !needs("rocksdb", test) {
        return;
    }
    let scratch = Scratch::new();
    let suite = graph("consistency = \"none\"")
        .engine("rocksdb")
        .measure("duration = \"3s\"")
        .role("writers", "threads = 20\nmix = [{ op = \"update_link\" }, { op = \"delete_link\" }]")
        .phase("verify", "name = \"asked\"");
    scratch.write("s.toml", &suite.text());
    scratch.run(&["run", "s.toml"]).assert_code(3).assert_says("counts of links are wrong");
    let all = records(&scratch.only_run());
    let case = all.values().next().unwrap();
    assert_eq!(audit(case, "loaded").wrong, 0);
    assert!(audit(case, "asked").wrong > 0);
}
