//! A question without a file: what it runs, and that the suite it saves does equal work. That no
//! suite compresses for some engines alone.

use super::scratch::Scratch;
use super::workers::{find, needs};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
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
    scratch.run(&["show", "asked", "--findings"]).assert_code(0);
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

/// An engine without `async` makes all of them durable, unless a class was typed.
#[test]
fn a_question_has_a_durability_class_that_all_engines_have() {
    let test = "a_question_has_a_durability_class_that_all_engines_have";
    if !needs("redb", test) || !needs("lmdb", test) {
        return;
    }
    let scratch = Scratch::new();
    scratch.link("redb", &find("redb").unwrap());
    let question = ["quick", "lmdb", "redb", "--records", "2k", "--no-drive", "--plan"];
    let planned = scratch.run(&question);
    planned.assert_code(0).assert_says("durability commit: redb has no durability async");
    let refused = scratch.run(&[&question[..], &["--durability", "async"]].concat());
    refused.assert_code(2).assert_says("redb has no durability async");
    refused.assert_says("use `--durability commit`, which all of these engines have");
    let both = scratch.run(&[&question[..], &["--durability", "commit,async"]].concat());
    both.assert_code(0).assert_says("redb-async");
    let added = scratch.run(&["plan", "quick", "--engine", "redb"]);
    added.assert_code(2).assert_says("`--set engine.redb.durability=commit` sets it");
    let set = ["plan", "quick", "--engine", "redb", "--set", "engine.redb.durability=commit"];
    scratch.run(&set).assert_code(0).assert_says("durability commit");
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

/// What a built-in suite wants to differ between its engines, each with the reason that its text
/// gives.
const DIFFER: [(&str, &str); 3] = [
    // `RocksDB` compresses as `db_bench` runs it.
    ("db_bench", "lmdb"),
    // They have no class async.
    ("field", "redb"),
    ("field", "pebble"),
];

/// What an engine does with data beside its own work, in one case.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Treatment {
    durability: String,
    compressors: Vec<String>,
    unchecked: Vec<String>,
}

impl Treatment {
    fn from_case(case: &Value) -> Self {
        const COMPRESSORS: [&str; 7] = ["snappy", "lz4", "lz4hc", "zlib", "zstd", "pglz", "bzip2"];
        let options = || case["options"]["values"].as_object().unwrap().iter();
        let compresses = |(_, value): &(&String, &Value)| {
            value.as_str().is_some_and(|word| COMPRESSORS.contains(&word))
        };
        let is_off = |(name, value): &(&String, &Value)| {
            name.contains("checksum")
                && ["off", "none", "false"].contains(&value.to_string().trim_matches('"'))
        };
        let text = |(name, value): (&String, &Value)| format!("{name} = {value}");
        Self {
            durability: case["options"]["durability"].to_string(),
            compressors: options().filter(compresses).map(text).collect(),
            unchecked: options().filter(is_off).map(text).collect(),
        }
    }

    /// Alike where both compress or neither does; which options name the compressor does not count.
    fn is_like(&self, other: &Self) -> bool {
        (self.compressors.is_empty(), self.unchecked.is_empty(), &self.durability)
            == (other.compressors.is_empty(), other.unchecked.is_empty(), &other.durability)
    }
}

/// The engines of a built-in suite compress, check and promise alike, in each of its parts.
#[test]
fn engines_of_a_suite_are_treated_alike() {
    let scratch = Scratch::new();
    for engine in ["mdbx", "wiredtiger", "leveldb", "sqlite", "redb", "fjall", "surrealkv"] {
        if let Some(worker) = find(engine) {
            scratch.link(engine, &worker);
        }
    }
    let mut unlike = BTreeSet::new();
    let mut looked_at = BTreeSet::new();
    for (suite, text) in kvdyno_suite::builtin() {
        let table: toml::Table = text.parse().unwrap();
        let engines = table.get("engine").and_then(|engines| engines.as_array());
        let mut first: BTreeMap<String, Treatment> = BTreeMap::new();
        for engine in engines.into_iter().flatten() {
            let name = engine["name"].as_str().unwrap();
            if ["null", "drive", "fio"].contains(&name) {
                continue;
            }
            let label = engine.get("label").map_or(name, |label| label.as_str().unwrap());
            let planned = scratch.run(&["plan", suite, "--engine", label, "--json"]);
            if planned.code != Some(0) {
                // It has no worker here, or the suite needs more than this machine has.
                assert_eq!(planned.code, Some(2), "{suite}, {label}: {}", planned.err);
                continue;
            }
            looked_at.insert(name.to_owned());
            for case in planned.json()["cases"].as_array().unwrap() {
                if case["engine"] != name {
                    continue;
                }
                let mut treatment = Treatment::from_case(case);
                if engine.get("durability").is_some_and(toml::Value::is_array) {
                    treatment.durability = "each".to_owned();
                }
                let base =
                    first.entry(case["part"].to_string()).or_insert_with(|| treatment.clone());
                if !treatment.is_like(base) && !DIFFER.contains(&(*suite, label)) {
                    unlike.insert(format!("{suite}, {label}: {treatment:?}, not {base:?}"));
                }
            }
        }
    }
    let unlike: Vec<String> = unlike.into_iter().collect();
    assert!(unlike.is_empty(), "{}", unlike.join("\n"));
    assert!(looked_at.contains("fjall") || !needs("fjall", "alike"), "{looked_at:?}");
}
