//! Tests of parts: their overrides, sweeps and selections, and the plan's text.

use super::*;
use std::collections::BTreeSet;

/// Two parts: one selects, the other overrides and sweeps.
const PARTS: &str = r#"
[suite]
name = "parts"
[data]
records = "1M"
value_bytes = 100
[[volume]]
name = "flash"
kind = "directory"
path = "/mnt/flash"
[[volume]]
name = "disk"
kind = "directory"
path = "/mnt/disk"
[ram]
limit = "1GiB"
[[ram.tier]]
name = "alone"
kind = "dram"
[[ram.tier]]
name = "squeezed"
kind = "zram"
size = "1GiB"
[run]
threads = [1, 4]
trials = 2
[[engine]]
name = "lmdb"
[[engine]]
name = "rocksdb"
options = { bloom_bits = 10, compression = "none" }
[[phase]]
kind = "load"
[[phase]]
kind = "evict"
[[phase]]
name = "reads"
kind = "measure"
duration = "5s"
[[phase.role]]
name = "readers"
threads = "sweep"
mix = [{ op = "get" }]
[[phase]]
name = "scans"
kind = "measure"
duration = "5s"
[[phase.role]]
name = "readers"
threads = "sweep"
mix = [{ op = "scan" }]
[[part]]
name = "flash"
engines = ["lmdb"]
volumes = ["flash"]
tiers = ["squeezed"]
phases = ["load", "scans", "evict", "reads", "evict"]
[[part]]
name = "large"
data = { size = ["1GiB", "2GiB"] }
ram = { data_to_ram = 4 }
run = { threads = 8, trials = 1, database = "fresh" }
volumes = ["disk"]
tiers = ["alone"]
options.rocksdb = { block_cache = ["64MiB", "128MiB"], bloom_bits = 5 }
"#;

fn part_cases<'p>(plan: &'p Plan, part: &str) -> Vec<&'p kvdyno_record::plan::Case> {
    plan.cases.iter().filter(|case| case.part.as_deref() == Some(part)).collect()
}

#[test]
fn a_part_picks_overrides_and_sweeps() {
    let plan = plan(PARTS, &[]);
    let lines = plan.cases.iter().map(|case| {
        let phases: Vec<&str> = case.phases.iter().map(|phase| phase.name.as_str()).collect();
        format!("{} {} {}: {}", case.listed, case.id, case.key, phases.join(" "))
    });
    let lines: Vec<String> = plan.sized.iter().cloned().chain(lines).collect();
    insta::assert_snapshot!(lines.join("\n"));
    let large = part_cases(&plan, "large");
    let rocksdb: Vec<_> = large.iter().filter(|case| case.engine == "rocksdb").collect();
    assert_eq!(rocksdb.len(), 4);
    for case in rocksdb {
        assert_eq!(case.options.integer("bloom_bits"), Ok(5));
        assert_eq!(case.options.values["compression"], Value::Text("none".to_owned()));
        let limit = case.ram_limit_bytes.unwrap();
        assert!(limit.abs_diff(case.shape.user_bytes() / 4) < 8192, "{limit}");
    }
    // A list of threads on the command line applies to every part.
    let overrides = Overrides { threads: vec![3], trials: Some(1), ..Overrides::default() };
    let threads: BTreeSet<_> =
        plan_of(PARTS, &overrides).unwrap().cases.iter().filter_map(|case| case.threads).collect();
    assert_eq!(threads, BTreeSet::from([3]));
}

#[test]
fn a_part_can_be_run_alone_and_does_the_same_work() {
    let all = plan(PARTS, &[]);
    let overrides = Overrides { parts: vec!["large".to_owned()], ..Overrides::default() };
    let alone = plan_of(PARTS, &overrides).unwrap();
    let keys = |cases: &[&kvdyno_record::plan::Case]| -> BTreeSet<String> {
        cases.iter().map(|case| case.key.clone()).collect()
    };
    assert_eq!(keys(&part_cases(&all, "large")), keys(&alone.cases.iter().collect::<Vec<_>>()));
    let lmdb = Overrides { engines: vec!["rocksdb".to_owned()], ..Overrides::default() };
    let rocksdb = plan_of(PARTS, &lmdb).unwrap();
    // The other part has no engine left, and is left out.
    assert!(rocksdb.cases.iter().all(|case| case.part.as_deref() == Some("large")));
    let flash = Overrides { engines: vec!["lmdb flash".to_owned()], ..Overrides::default() };
    assert!(plan_of(PARTS, &flash).unwrap().cases.iter().all(|case| case.label == "lmdb flash"));
    let set = plan(PARTS, &["part.flash.engines=[\"rocksdb\"]", "part.large.run.trials=3"]);
    assert!(part_cases(&set, "flash").iter().all(|case| case.engine == "rocksdb"));
    assert_eq!(part_cases(&set, "large").iter().map(|case| case.trial).max(), Some(3));
}

/// Names may be digits: an index counts where nothing has such a name.
#[test]
fn a_name_of_digits_is_no_index() {
    let text = PARTS.replace("[[part]]\nname = \"flash\"", "[[part]]\nname = \"1\"");
    let trials = |argument: &str| {
        let plan = plan(&text, &[argument]);
        ["1", "large"].map(|part| part_cases(&plan, part).iter().map(|case| case.trial).max())
    };
    assert_eq!(trials("part.1.run.trials=3"), [Some(3), Some(1)]);
    assert_eq!(trials("part.0.run.trials=3"), [Some(3), Some(1)]);
}

/// Each key has one position in tables that list all cases of an engine.
#[test]
fn cases_of_one_key_are_listed_at_one_place() {
    let plan = plan(PARTS, &["part.large.run.trials=3"]);
    let mut positions = BTreeMap::new();
    for case in &plan.cases {
        assert_eq!(*positions.entry(&case.key).or_insert(case.listed), case.listed, "{}", case.id);
    }
    let listed: BTreeSet<_> = positions.values().collect();
    assert_eq!(listed.len(), positions.len());
}

/// A note about some parts names them, a note about all parts names none.
#[test]
fn a_note_of_one_part_says_so() {
    let plan = plan(PARTS, &[]);
    assert!(plan.sized.iter().any(|note| note.starts_with("part large: RAM limit")));
    let binary = plan_of(&PARTS.replacen("limit = \"1GiB\"", "limit = \"100GiB\"", 1), &set(&[]));
    let notes = binary.unwrap().sized;
    assert!(notes.iter().any(|note| note.starts_with("part flash: RAM limit 100 GiB is more")));
}

#[test]
fn mistakes_in_parts_are_shown_where_they_are() {
    let refused: Vec<String> = [
        ("engines = [\"lmdb\"]", "engines = [\"lmbd\"]"),
        ("volumes = [\"flash\"]", "volumes = [\"flush\"]\nvolume = 1"),
        ("tiers = [\"squeezed\"]", "tiers = []"),
        ("\"scans\", \"evict\"", "\"scan\", \"evict\""),
        ("data = { size", "data = { sizes"),
        ("ram = { data_to_ram = 4 }", "ram = 4"),
        ("options.rocksdb", "options.rocks"),
        ("block_cache = [\"64MiB\", \"128MiB\"]", "block_cache = [\"64MiB\", true]"),
        ("name = \"large\"", "name = \"flash\""),
        ("name = \"large\"", ""),
        ("\"load\", \"scans\"", "\"scans\", \"load\""),
        ("[[ram.tier]]", "[fidelity]\n[[ram.tier]]"),
        ("engines = [\"lmdb\"]", "run.phases = [\"load\"]"),
    ]
    .into_iter()
    .map(|(old, new)| {
        let text = PARTS.replacen(old, new, 1);
        assert_ne!(text, PARTS);
        refusal(&text, &Overrides::default())
    })
    .collect();
    insta::assert_snapshot!(refused.join("\n"));
    let unknown = Overrides { parts: vec!["flush".to_owned()], ..Overrides::default() };
    let refused = refusal(PARTS, &unknown);
    assert!(refused.contains("did you mean `flash`? its parts: flash, large"), "{refused}");
    assert!(refusal(SMALL, &unknown).contains("the suite has no [[part]]"));
}
