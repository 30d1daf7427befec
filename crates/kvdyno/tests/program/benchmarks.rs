//! The suites of other benchmarks, compared with their known properties.

use super::scratch::{Scratch, records};
use super::workers::needs;
use kvdyno_record::case::{CaseRecord, OpResult, Outcome};
use std::collections::BTreeSet;

const RECORDS: f64 = 20_000.0;

/// As many draws as there are keys leave 63.2 % of them.
const DRAWN: f64 = 0.632_12;

/// A suite at about a fiftieth, with one engine and one thread: its cases.
fn run(suite: &str, engine: &str, phases: &str, more: &[&str]) -> Vec<CaseRecord> {
    let scratch = Scratch::new();
    let mut command = vec!["run", suite, "--engine", engine, "--phases", phases];
    command.extend(["--trials", "1", "--threads", "1", "--set", "data.records=20000"]);
    command.extend(more);
    scratch.run(&command).assert_ok();
    let cases = records(&scratch.only_run());
    let cases: Vec<CaseRecord> = cases.into_values().collect();
    assert!(cases.iter().all(|case| case.outcome == Outcome::Done), "{cases:?}");
    scratch.assert_nothing_left();
    cases
}

/// The operations of a phase.
fn op(cases: &[CaseRecord], phase: &str, op: &str) -> OpResult {
    let phases = cases.iter().flat_map(|case| &case.phases);
    let mut roles = phases.filter(|result| result.name == phase).flat_map(|result| &result.roles);
    roles.find_map(|role| role.ops.get(op)).unwrap().clone()
}

/// Six standard deviations of a share of random keys, and of lookups among them.
fn near(share: f64, expected: f64, lookups: u64) -> bool {
    let keys = (DRAWN * (1.0 - 2.0 / std::f64::consts::E) / RECORDS).sqrt();
    let looked_up = (expected * (1.0 - expected) / lookups as f64).sqrt();
    (share - expected).abs() < 6.0 * keys.hypot(looked_up)
}

fn hit_share(get: &OpResult) -> f64 {
    get.hits as f64 / (get.hits + get.misses) as f64
}

#[test]
fn as_run_a_fillrandom_leaves_63_percent_to_be_found() {
    let test = "as_run_a_fillrandom_leaves_63_percent_to_be_found";
    for (suite, engine) in [("db_bench", "rocksdb"), ("db_bench", "lmdb"), ("dbbench", "lmdb")] {
        if !needs(engine, test) {
            continue;
        }
        let reads = "phases.readrandom.operations=20000";
        let mut more = vec!["--set", reads, "--set", "phases.readrandom.duration="];
        let as_run = op(&run(suite, engine, "fillrandom,readrandom", &more), "readrandom", "get");
        assert_eq!(as_run.count, 20_000);
        assert!(
            near(hit_share(&as_run), DRAWN, 20_000),
            "{suite} {engine}: {}",
            hit_share(&as_run)
        );
        more.extend(["--set", "fidelity=as-written"]);
        let written = op(&run(suite, engine, "fillrandom,readrandom", &more), "readrandom", "get");
        assert_eq!((written.hits, written.misses), (20_000, 0), "{suite} {engine}");
    }
}

#[test]
fn as_many_deletes_as_records_leave_37_percent() {
    let test = "as_many_deletes_as_records_leave_37_percent";
    if !needs("lmdb", test) {
        return;
    }
    let each = ["deleterandom", "readrandom"].map(|phase| {
        [format!("phases.{phase}.operations=20000"), format!("phases.{phase}.duration=")]
    });
    let more: Vec<&str> = each.iter().flatten().flat_map(|set| ["--set", set]).collect();
    let cases = run("db_bench", "lmdb", "fillseq,deleterandom,readrandom", &more);
    assert_eq!(op(&cases, "deleterandom", "delete").count, 20_000);
    let get = op(&cases, "readrandom", "get");
    assert!(near(hit_share(&get), 1.0 - DRAWN, 20_000), "{}", hit_share(&get));
}

#[test]
fn ycsbs_scans_have_fifty_records_and_its_mixes_their_weights() {
    let cases = run("ycsb", "null", "load,a,d,e", &["--scale", "1/4"]);
    let scan = op(&cases, "e", "scan");
    // 1 to 100, each equally often: the standard deviation is sqrt((100^2 - 1) / 12).
    let mean = scan.items as f64 / scan.count as f64;
    let deviation = (9_999.0_f64 / 12.0 / scan.count as f64).sqrt();
    assert!((mean - 50.5).abs() < 6.0 * deviation, "{mean}");
    let share = |phase: &str, rare: &str, often: &str| {
        let [rare, often] = [rare, often].map(|name| op(&cases, phase, name).count as f64);
        (rare / (rare + often), rare + often)
    };
    let mixes = [("a", "rmw", 0.5), ("d", "insert", 0.05), ("e", "insert", 0.05)];
    for ((phase, rare, weight), often) in mixes.into_iter().zip(["get", "get", "scan"]) {
        let (share, all) = share(phase, rare, often);
        let deviation = (weight * (1.0 - weight) / all).sqrt();
        assert!((share - weight).abs() < 6.0 * deviation, "{phase}: {share}");
    }
}

/// The engine has every option that a flag of `db_bench` sets.
#[test]
fn flags_of_db_bench_set_options_that_there_are() {
    let test = "flags_of_db_bench_set_options_that_there_are";
    if !needs("rocksdb", test) {
        return;
    }
    let scratch = Scratch::new();
    let described = scratch.run(&["engines", "rocksdb", "--json"]);
    described.assert_code(0);
    let text = described.out.clone();
    let options: BTreeSet<String> = options(&described.json()).into_iter().collect();
    let set = kvdyno_suite::db_bench_options();
    assert!(set.len() > 35, "{set:?}");
    let unknown: Vec<_> = set.iter().filter(|name| !options.contains(**name)).collect();
    assert!(unknown.is_empty(), "{unknown:?}: {text}");
}

/// A database opened by the OPTIONS file of another writes the same one.
#[test]
fn an_options_file_of_rocksdbs_is_what_the_next_database_runs_with() {
    let test = "an_options_file_of_rocksdbs_is_what_the_next_database_runs_with";
    if !needs("rocksdb", test) {
        return;
    }
    let passed_on = "engine.rocksdb.options.options=\"\
               compression_opts={level=3;max_dict_bytes=4096};\
               optimize_filters_for_hits=true;db_host_id=a:b#c;max_background_flushes=2;\
               block_based_table_factory={metadata_block_size=8192;index_type=\
               kTwoLevelIndexSearch;partition_filters=true}\"";
    let options = [
        "bloom_bits=10",
        "write_buffer_size=1048576",
        "compaction_style=universal",
        "universal_size_ratio=5",
        "memtable=vector",
        "max_open_files=500",
        "blob_garbage_collection_age_cutoff_percent=50",
        "max_bytes_for_level_multiplier=8",
    ];
    let options = options.map(|option| format!("engine.rocksdb.options.{option}"));
    let set = options.iter().map(String::as_str).chain([passed_on]).flat_map(|set| ["--set", set]);
    let first = options_of_a_load(&set.collect::<Vec<_>>());
    assert!(first.contains("max_dict_bytes=4096") && first.contains("size_ratio=5"), "{first}");
    let scratch = Scratch::new();
    let file = scratch.write("OPTIONS-000007", &first);
    let flag = format!("--options_file={}", file.display());
    let second = options_of_a_load(&["--set-db_bench", &flag]);
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<BTreeSet<String>>();
    let (first, second) = (lines(&first), lines(&second));
    let differences: Vec<_> = first.symmetric_difference(&second).collect();
    assert!(differences.is_empty() && first.len() > 150, "{differences:#?}");
}

/// A property file is the data and the one measured phase of a run.
#[test]
fn a_workload_of_ycsb_runs_as_its_properties_say() {
    if !needs("lmdb", "a_workload_of_ycsb_runs_as_its_properties_say") {
        return;
    }
    let scratch = Scratch::new();
    let file = "# scans and inserts\nworkload = site.ycsb.workloads.CoreWorkload\n\
                recordcount=1000\noperationcount=1000\nreadproportion=0\nupdateproportion=0\n\
                scanproportion=0.5\ninsertproportion=0.5\nmaxscanlength=7\n\
                requestdistribution=zipfian\ntable=usertable\n";
    let file = format!("@{}", scratch.write("workloadx.properties", file).display());
    let line = ["run", "ycsb", "--engine", "lmdb", "--trials", "1", "--set-ycsb", file.as_str()];
    let ran =
        scratch.run(&[&line[..], &["--set-ycsb", "-p operationcount=2000 -threads 2"]].concat());
    ran.assert_ok();
    assert!(ran.err.contains("properties of YCSB without effect here: table"), "{}", ran.err);
    let cases: Vec<CaseRecord> = records(&scratch.only_run()).into_values().collect();
    let (scans, inserts) = (op(&cases, "workloadx", "scan"), op(&cases, "workloadx", "insert"));
    assert_eq!(scans.count + inserts.count, 2_000);
    // Six standard deviations of a fair coin; scans are of 1 to 7 records.
    assert!(scans.count.abs_diff(1_000) < 6 * 23, "{}", scans.count);
    let mean = scans.items as f64 / scans.count as f64;
    assert!((mean - 4.0).abs() < 0.4, "{mean}");
    scratch.assert_nothing_left();
}

/// The options that `RocksDB` writes during a small load.
fn options_of_a_load(more: &[&str]) -> String {
    let scratch = Scratch::new();
    let mut command = vec!["run", "db_bench", "--engine", "rocksdb", "--phases", "fillrandom"];
    command.extend(["--trials", "1", "--set", "run.threads=", "--set", "data.records=1000"]);
    command.extend(more);
    scratch.run(&command).assert_ok();
    let cases = std::fs::read_dir(scratch.only_run().path.join("cases")).unwrap();
    let files = cases.map(|case| case.unwrap().path().join("counters.json"));
    let texts: Vec<String> = files.map(|file| std::fs::read_to_string(file).unwrap()).collect();
    let counters = texts.iter().map(|text| serde_json::from_str(text).unwrap());
    counters.into_iter().find_map(|counters| text_at(&counters, "OPTIONS")).unwrap()
}

/// The first text under this key.
fn text_at(value: &serde_json::Value, name: &str) -> Option<String> {
    use serde_json::Value;
    match value {
        Value::Object(fields) => {
            let text = fields.get(name).and_then(Value::as_str).map(str::to_owned);
            text.or_else(|| fields.values().find_map(|field| text_at(field, name)))
        }
        Value::Array(items) => items.iter().find_map(|item| text_at(item, name)),
        _ => None,
    }
}

/// The names below every `options` of a description.
fn options(value: &serde_json::Value) -> Vec<String> {
    use serde_json::Value;
    match value {
        Value::Object(fields) => fields
            .iter()
            .flat_map(|(name, field)| match (name.as_str(), field) {
                ("options", Value::Array(list)) => list
                    .iter()
                    .filter_map(|option| Some(option["name"].as_str()?.to_owned()))
                    .collect(),
                _ => options(field),
            })
            .collect(),
        Value::Array(items) => items.iter().flat_map(options).collect(),
        _ => Vec::new(),
    }
}
