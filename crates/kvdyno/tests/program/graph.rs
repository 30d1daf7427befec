//! A social graph on real engines: loaded, audited, asked, audited again.

use super::scratch::{Scratch, records};
use super::suites::{Suite, suite};
use super::workers::{needs, report_skip};
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
    let phase = case.phases.iter().find(|other| other.name == phase).unwrap();
    phase.verified.as_ref().unwrap().audit.as_ref().unwrap()
}

/// By transactions one after the other, and by none at all.
#[test]
fn counts_are_the_links_before_and_after_requests() {
    let test = "counts_are_the_links_before_and_after_requests";
    if !needs("lmdb", test) || !needs("rocksdb", test) {
        return;
    }
    let suite = graph_suite().engine("lmdb").engine("rocksdb");
    for (label, case) in &loaded_and_asked(&suite) {
        let reported = case.not_measured.iter().any(|sentence| sentence.contains("latch"));
        assert_eq!(reported, label == "rocksdb", "{label}: {:?}", case.not_measured);
    }
}

fn graph_suite() -> Suite {
    asked_by("threads = 4")
}

/// On so few threads of the system.
fn asked_on(threads: u32) -> Suite {
    asked_by(&format!("threads = 4\nos_threads = {threads}"))
}

fn asked_by(role: &str) -> Suite {
    graph("fidelity = \"as-run\"")
        .measure("name = \"requests\"\nduration = \"3s\"")
        .role("requesters", role)
        .phase("verify", "name = \"asked\"")
}

/// Of each case by its label, what is alike for all of them.
fn loaded_and_asked(suite: &Suite) -> BTreeMap<String, CaseRecord> {
    let scratch = Scratch::new();
    scratch.write("s.toml", &suite.text());
    scratch.run(&["run", "s.toml", "--no-ram-limit"]).assert_ok();
    scratch.run(&["check"]).assert_code(0);
    let all = records(&scratch.only_run());
    let by_label: BTreeMap<String, CaseRecord> =
        all.into_values().map(|case| (case.case.label.clone(), case)).collect();
    for (label, case) in &by_label {
        let totals = case.case.data.graph.as_ref().unwrap().totals;
        let loaded = audit(case, "loaded");
        assert_eq!((loaded.counts, loaded.links), (totals.counts, totals.links), "{label}");
        assert_eq!((loaded.wrong, loaded.first), (0, None), "{label}");
        let after = audit(case, "asked");
        assert_eq!((after.wrong, after.first), (0, None), "{label}");
        assert_ne!(after.links, loaded.links, "{label}: requests add links and hide some");
        let requests = case.phases.iter().find(|phase| phase.name == "requests").unwrap();
        let ops: Vec<&str> = requests.roles[0].ops.keys().map(String::as_str).collect();
        assert_eq!(ops, REQUESTS, "{label}");
        assert!(requests.roles[0].ops.values().all(|op| op.count > 0), "{label}");
    }
    scratch.assert_nothing_left();
    by_label
}

mod soak {
    use super::*;

    /// By transactions that wait for each other.
    #[test]
    fn waiting_transactions_keep_the_counts() {
        if !needs("rocksdb", "waiting_transactions_keep_the_counts") {
            return;
        }
        let waiting = "transactions = \"pessimistic\"";
        let suite = graph_suite().engine_as("waiting", "rocksdb", waiting);
        let case = &loaded_and_asked(&suite)["waiting"];
        let sentences = &case.not_measured;
        assert!(!sentences.iter().any(|sentence| sentence.contains("latch")), "{sentences:?}");
    }

    /// In tables of their own, by transactions of the server. Their requesters share threads.
    #[test]
    fn servers_keep_the_graph_in_tables() {
        let test = "servers_keep_the_graph_in_tables";
        let cases = [
            ("mariadb", "mariadb", ""),
            ("original", "mariadb", "round_trips = \"original\""),
            ("myrocks", "mariadb", "storage_engine = \"rocksdb\""),
            ("postgres", "postgres", ""),
        ];
        for (label, engine, options) in cases.into_iter().filter(|(_, name, _)| needs(name, test)) {
            let case = &loaded_and_asked(&asked_on(2).engine_as(label, engine, options))[label];
            assert!(!case.not_measured.iter().any(|output| output.contains("latch")), "{label}");
            let requests = case.phases.iter().find(|phase| phase.name == "requests").unwrap();
            let requesters = &requests.roles[0];
            assert!(requesters.ops.values().all(|op| op.errors.is_empty()), "{label}");
            assert_eq!((requesters.threads, requesters.windows.len()), (4, 4), "{label}");
        }
    }

    /// A check that cannot fail is none.
    #[test]
    fn requests_that_nothing_keeps_apart_are_found_out() {
        let test = "requests_that_nothing_keeps_apart_are_found_out";
        for engine in
            ["rocksdb", "mariadb", "postgres"].into_iter().filter(|name| needs(name, test))
        {
            let wrong = written_by_twenty(graph("consistency = \"none\"").engine(engine), 3);
            assert!(wrong > 0, "{engine}");
        }
    }

    /// In documents of a server without transactions, with an oplog.
    #[test]
    fn twenty_writers_keep_a_graph_in_two_phases_and_lose_counts_without() {
        let test = "twenty_writers_keep_a_graph_in_two_phases_and_lose_counts_without";
        if !needs("mongodb", test) || !has_mongod(test) {
            return;
        }
        let engine = |consistency: &str| {
            let suite = graph(&format!("consistency = \"{consistency}\""));
            let suite = suite.engine_as("mongodb", "mongodb", "oplog_size = \"16MiB\"");
            suite.with("name = \"mongodb\"\n", "name = \"mongodb\"\ndurability = \"none\"\n")
        };
        assert_eq!(written_by_twenty(engine("two_phase"), 0), 0);
        assert!(written_by_twenty(engine("none"), 3) > 0);
    }

    /// It has no package.
    fn has_mongod(test: &str) -> bool {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let installed = std::env::split_paths(&path).any(|dir| dir.join("mongod").is_file());
        if !installed {
            report_skip("mongodb", test, "no mongod on PATH");
        }
        installed
    }

    /// The wrong counts after three seconds of writes to links. The run ends with this code.
    fn written_by_twenty(suite: Suite, code: i32) -> u64 {
        let scratch = Scratch::new();
        let role = "threads = 20\nmix = [{ op = \"update_link\" }, { op = \"delete_link\" }]";
        let suite = suite.measure("duration = \"3s\"").role("writers", role);
        scratch.write("s.toml", &suite.phase("verify", "name = \"asked\"").text());
        scratch.run(&["run", "s.toml", "--no-ram-limit"]).assert_code(code);
        let all = records(&scratch.only_run());
        let case = all.values().next().unwrap();
        assert_eq!(audit(case, "loaded").wrong, 0);
        audit(case, "asked").wrong
    }
}
