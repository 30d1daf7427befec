//! A question without a file: what it runs, and that the suite it saves does equal work. That no
//! suite compresses for some engines alone.

use super::scratch::Scratch;
use super::workers::{find, needs};
use std::collections::BTreeSet;
use std::fs;

const QUESTION: [&str; 12] = [
    "quick",
    "null",
    "--records",
    "2k",
    "--duration",
    "200ms",
    "--threads",
    "1,2",
    "--trials",
    "1",
    "--ram",
    "all",
];

fn keys(plan: &str) -> BTreeSet<String> {
    let plan: serde_json::Value = serde_json::from_str(plan).unwrap();
    let cases = plan["cases"].as_array().unwrap().iter();
    cases.map(|case| case["key"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_suite_that_is_saved_does_equal_work() {
    let scratch = Scratch::new();
    let saved = [&QUESTION[..], &["--save-suite", "mine.toml", "--name", "asked"]].concat();
    scratch.run(&saved).assert_ok().assert_says("wrote mine.toml");
    let plan_file = fs::read_to_string(scratch.only_run().path.join("plan.json")).unwrap();
    let planned = scratch.run(&["plan", "mine.toml", "--json"]);
    planned.assert_code(0);
    assert_eq!(keys(&plan_file), keys(&planned.out));
    assert!(keys(&plan_file).len() >= 3, "a load and two numbers of threads: {plan_file}");
    scratch.run(&["show", "asked", "--json"]).assert_code(0).assert_says("quick-null");
    // A verify phase that only samples is told from one that is not there.
    let checked = scratch.run(&["check", "asked"]);
    checked.assert_code(0).assert_says("`verify`");
    // The screen has room for some of the reasons, the findings for all.
    scratch.run(&["show", "asked", "--findings"]).assert_code(0).assert_says("confidence ");
    scratch.run(&saved).assert_code(2).assert_says("mine.toml");
    scratch.assert_nothing_left();
}

#[test]
fn a_plan_of_a_question_does_nothing() {
    let scratch = Scratch::new();
    let planned = scratch.run(&[&QUESTION[..], &["--plan", "--value", "100,1000"]].concat());
    planned.assert_code(0).assert_says("x 16+100, ").assert_says("x 16+1000 ");
    assert!(scratch.runs().is_empty());
    let wrong = scratch.run(&["quick", "null", "--records", "2q", "--plan"]);
    wrong.assert_code(2).assert_says("records = \"2q\"");
    let set = [&QUESTION[..], &["--plan", "--set", "data.records=[]"]].concat();
    scratch.run(&set).assert_code(2).assert_says("--set");
    let gone = scratch.run(&["quick", "nul", "--plan"]);
    gone.assert_code(2).assert_says("`null`");
}

/// Every engine has its authors' settings for the RAM that all have, not `RocksDB` alone.
#[test]
fn every_engine_is_tuned_to_the_ram_and_none_compresses() {
    let test = "every_engine_is_tuned_to_the_ram_and_none_compresses";
    let scratch = Scratch::new();
    for engine in ["redb", "fjall", "leveldb"] {
        if !needs(engine, test) {
            return;
        }
        scratch.link(engine, &find(engine).unwrap());
    }
    let question = [
        "quick",
        "redb",
        "fjall",
        "leveldb",
        "--durability",
        "commit",
        "--records",
        "200k",
        "--ram",
        "128MiB",
        "--trials",
        "1",
        "--no-drive",
    ];
    let planned = scratch.run(&[&question[..], &["--plan"]].concat());
    planned.assert_code(0).assert_says("preset tuned").assert_says("redb, fjall");
    let option = |more: &[&str], engine: &str, name: &str| {
        let plan = scratch.run(&[&question[..], &["--plan", "--json"], more].concat());
        let plan = plan.assert_code(0).json();
        let case = |case: &&serde_json::Value| case["engine"] == engine;
        let cases = plan["cases"].as_array().unwrap();
        assert!(cases.iter().all(|case| case["engine"] != "drive"));
        cases.iter().find(case).unwrap()["options"]["values"][name].clone()
    };
    assert_eq!(option(&[], "redb", "cache_size"), 32 << 20);
    assert_eq!(option(&[], "fjall", "cache_size"), 32 << 20);
    assert_eq!(option(&[], "fjall", "journal_compression"), "none");
    assert_eq!(option(&[], "leveldb", "compression"), "none");
    assert_eq!(option(&["--preset", "defaults"], "leveldb", "compression"), "snappy");
    let set = ["--set", "engine.redb.options.cache_size=1GiB"];
    assert_eq!(option(&set, "redb", "cache_size"), 1 << 30);
    let message = "--set engine.redb.options.cache_size=25%";
    scratch.run(&[&question[..], &["--plan"], &set].concat()).assert_code(0).assert_says(message);
}

/// Where a built-in suite has no compression for an engine, nothing of that engine's compresses.
#[test]
fn no_compressor_is_left_on_where_a_suite_has_none() {
    const COMPRESSORS: [&str; 7] = ["snappy", "lz4", "lz4hc", "zlib", "zstd", "pglz", "bzip2"];
    let scratch = Scratch::new();
    for engine in ["mdbx", "wiredtiger", "leveldb", "sqlite", "redb", "fjall", "surrealkv"] {
        if let Some(worker) = find(engine) {
            scratch.link(engine, &worker);
        }
    }
    let mut looked_at = BTreeSet::new();
    for (suite, text) in kvdyno_suite::builtin() {
        let table: toml::Table = text.parse().unwrap();
        let engines = table.get("engine").and_then(|engines| engines.as_array());
        for engine in engines.into_iter().flatten() {
            let options = engine.get("options").and_then(|options| options.as_table());
            let off = |(name, value): (&String, &toml::Value)| {
                name.contains("compress") && value.as_str() == Some("none")
            };
            let name = engine["name"].as_str().unwrap();
            let installed = scratch.run(&["engines", name]).code == Some(0);
            if !installed || !options.is_some_and(|options| options.iter().any(off)) {
                continue;
            }
            let label = engine.get("label").map_or(name, |label| label.as_str().unwrap());
            let planned = scratch.run(&["plan", suite, "--engine", label, "--json"]);
            if planned.code != Some(0) {
                continue;
            }
            for case in planned.json()["cases"].as_array().unwrap() {
                let values = case["options"]["values"].as_object().unwrap();
                for (option, value) in values {
                    let compresses = value.as_str().is_some_and(|word| COMPRESSORS.contains(&word));
                    assert!(!compresses, "{suite}, {label}: {option} = {value}");
                }
                looked_at.insert((*suite, label.to_owned()));
            }
        }
    }
    let fjall = ("field", "fjall".to_owned());
    assert!(looked_at.contains(&fjall) || !needs("fjall", "no_compressor"), "{looked_at:?}");
}
