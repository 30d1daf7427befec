//! Tests of the expansion of one `[[engine]]`: presets of its options, and packed records.

use super::*;
use kvdyno_record::engine::graph::Isolation;
use kvdyno_record::work::{Purpose, Work};
use kvdyno_record::workload::{Activity, Packing, Size};

/// Returns `SMALL` with this engine instead of its own.
fn with(engine: &str) -> String {
    let (before, rest) = SMALL.split_once("[[engine]]").unwrap();
    let (_, after) = rest.split_once("[[phase]]").unwrap();
    format!("{before}[[engine]]\n{engine}\n[[phase]]{after}")
}

#[test]
fn presets_are_where_options_begin() {
    let text = with("name = \"rocksdb\"\npreset = [\"defaults\", \"tuned\"]");
    let plan =
        plan(&text, &["run.trials=1", "ram.limit=100MiB", "engine.rocksdb.options.bloom_bits=9"]);
    let options = |label: &str| {
        let case = plan.cases.iter().find(|case| case.label == label).unwrap();
        let option = |name| case.options.integer(name).unwrap();
        (option("block_cache"), option("bloom_bits"))
    };
    assert_eq!(options("rocksdb-defaults"), (8 << 20, 9));
    assert_eq!(options("rocksdb-tuned"), (50 << 20, 9));
    // A single preset adds no suffix: the engine keeps its name.
    let tuned = super::plan(&with("name = \"rocksdb\"\npreset = \"tuned\""), &["ram.limit=64MiB"]);
    assert!(tuned.cases.iter().all(|case| case.label == "rocksdb"));
    assert_eq!(tuned.cases[0].options.integer("block_cache"), Ok(32 << 20));
    let null = super::plan(&with("name = \"null\"\npreset = \"tuned\""), &[]);
    let warning = "null: preset tuned equals the default options";
    assert!(null.warnings.iter().any(|text| text.contains(warning)), "{:?}", null.warnings);
    let refused = refusal(&with("name = \"rocksdb\"\npreset = \"fast\""), &set(&[]));
    assert!(refused.contains("defaults, tuned"), "{refused}");
}

/// A suite of many engines runs with the existing ones, and reports the others.
#[test]
fn what_is_optional_and_not_there_is_left_out_and_said() {
    let text = with("name = \"null\"\n[[engine]]\nname = \"other\"\noptional = true");
    let plan = super::plan(&text, &["run.trials=1"]);
    assert!(plan.cases.iter().all(|case| case.label == "null"));
    assert!(sentences(&plan.left_out)[0].starts_with("other is not run: it has no worker"));
    let refused = refusal(&text.replace("true", "false"), &set(&[]));
    assert!(refused.contains("no worker `kvdyno-other`"), "{refused}");
}

#[test]
fn a_list_of_classes_is_an_engine_of_each_that_it_has() {
    let text = with("name = \"rocksdb\"\ndurability = [\"none\", \"async\", \"commit\"]");
    let plan = super::plan(&text, &["run.trials=1"]);
    let labels: Vec<&str> = plan.cases.iter().map(|case| case.label.as_str()).collect();
    assert!(labels.contains(&"rocksdb-async") && labels.contains(&"rocksdb-commit"), "{labels:?}");
    let left_out = "rocksdb-none is not run: rocksdb has no durability none";
    assert_eq!(sentences(&plan.left_out), [left_out]);
}

#[test]
fn packed_records_are_fewer_and_longer_and_stand_beside_single_ones() {
    let text = with("name = \"null\"\n[[engine]]\nname = \"null\"\nlabel = \"packed\"\npack = 64");
    let data = ["run.trials=1", "data.records=1000", "data.value_bytes=16"];
    let plan = plan(&text, &data);
    let case = |label: &str| plan.cases.iter().find(|case| case.label == label).unwrap();
    let (plain, packed) = (case("null"), case("packed"));
    assert_eq!(packed.data.packed, Some(Packing { records: 1000, each: 64 }));
    assert_eq!((packed.data.records, packed.shape.records_max), (16, 16));
    assert_eq!(packed.data.value.size, Size::Fixed { bytes: 1024 });
    assert_eq!(packed.data.unpacked(), plain.data);
    let work = |case| Work::from_case(case, &plan).equal(Purpose::Engines);
    assert_eq!(work(plain), work(packed));
    assert_ne!(plain.key, packed.key);
    let zipf = "phase.measure.role.readers.keys={ distribution = \"zipf\", theta = 0.9 }";
    let refused = refusal(&text, &set(&[&data[..], &[zipf]].concat()));
    assert!(refused.contains("`pack` does not support this operation"), "{refused}");
}

/// A measured phase that one engine does not support is left out only for that engine.
#[test]
fn a_phase_that_one_engine_cannot_do_is_skipped_and_told() {
    let text = SMALL.to_owned()
        + r#"
[[engine]]
name = "lmdb"
[run]
database = "fresh"
trials = 1
[[phase]]
kind = "measure"
name = "thin"
operations = 1000
[[phase.role]]
name = "deleters"
mix = [{ op = "delete" }]
[[phase]]
kind = "measure"
name = "thinned"
duration = "1s"
[[phase.role]]
name = "readers"
expected_hits = 0.5
mix = [{ op = "get" }]
[[phase]]
kind = "measure"
duration = "1s"
[[phase.role]]
name = "backwards"
mix = [{ op = "scan", reverse = true }]
[[phase]]
kind = "measure"
duration = "1s"
[[phase.role]]
name = "forwards"
mix = [{ op = "scan" }]
"#;
    let plan = plan(&text, &[]);
    let phases = |engine: &str| -> Vec<&str> {
        let case = plan.cases.iter().find(|case| case.engine == engine).unwrap();
        let names = case.phases.iter().map(|phase| phase.name.as_str());
        names.filter(|name| !name.ends_with("-settle")).collect()
    };
    let all = ["load", "measure", "thin", "thinned", "measure-2", "measure-3"];
    assert_eq!(phases("lmdb"), all);
    assert_eq!(phases("null"), ["load", "measure", "measure-3"]);
    let expected = [
        "null is not run in `thin`: it has no delete",
        "null is not run in `thinned`: it depends on `thin`, which is skipped",
        "null is not run in `measure-2`: it has no reverse scan",
    ];
    assert_eq!(sentences(&plan.left_out), expected);
}

#[test]
fn a_graph_in_an_engines_own_tables_is_not_warmed_by_keys() {
    let text = SMALL.replace("value_bytes = 100", "linkbench = {}");
    let text = text.replace("\"get\"", "\"get_node\"");
    let warm = "kind = \"load\"\n[[phase]]\nkind = \"warm\"";
    let suite = text.replace("kind = \"load\"", warm);
    let suite = Suite::parse("suite.toml", &suite, &Overrides::default()).unwrap();
    let mut engines = engines();
    let null = engine_of(&mut engines, "null");
    null.capabilities.graph = vec![Isolation::Transaction];
    let refused = expand(&suite, &engines, &HOST).unwrap_err().render(false);
    assert!(refused.contains("null keeps a graph in tables that a `warm` phase"), "{refused}");
}

#[test]
fn an_engine_that_cannot_scan_samples_where_records_are_counted() {
    let verify = "kind = \"load\"\n[[phase]]\nkind = \"verify\"\ncount = true";
    let text = SMALL.replace("kind = \"load\"", verify);
    let suite = Suite::parse("suite.toml", &text, &Overrides::default()).unwrap();
    let mut engines = engines();
    engine_of(&mut engines, "null").capabilities.scan_forward = false;
    let plan = expand(&suite, &engines, &HOST).unwrap();
    assert_eq!(plan.warnings, ["null: `verify` counts no records: the engine has no scan"]);
    let verify = Activity::Verify { samples: 10_000, count: false };
    assert!(plan.cases[0].phases.iter().any(|phase| phase.work == verify));
}
