//! Several data sets: lists of value sizes and of amounts of data.

use super::*;
use kvdyno_record::workload::KeyFormat;
use std::collections::BTreeSet;

/// Returns the data of each case in the order of the tables, once.
fn listed(plan: &Plan) -> Vec<(String, u64, u64)> {
    let mut cases: Vec<_> = plan.cases.iter().filter(|case| !case.is_pilot()).collect();
    cases.sort_by_key(|case| case.listed);
    let description = |case: &kvdyno_record::plan::Case| {
        (case.label.clone(), case.data.records, case.shape.value_bytes_mean)
    };
    let mut all: Vec<_> = cases.into_iter().map(description).collect();
    all.dedup();
    all
}

#[test]
fn each_value_size_is_a_data_set_of_its_own() {
    let text = builtin_text("quick");
    let set = ["data.value_bytes=[100, 1000]", "data.size=64MiB", "drive="];
    let overrides =
        Overrides { engines: vec!["lmdb".to_owned(), "rocksdb".to_owned()], ..super::set(&set) };
    let plan = plan_of(text, &overrides).unwrap();
    let one_size = Overrides { set: vec!["data.value_bytes=100".to_owned()], ..overrides.clone() };
    let one_size = Overrides { set: [&one_size.set[..], &overrides.set[1..]].concat(), ..one_size };
    let one_size = plan_of(text, &one_size).unwrap();
    assert_eq!(plan.cases.len(), 2 * one_size.cases.len());
    let small = (64 << 20) / 116;
    let large = (64 << 20) / 1016;
    let data = |label: &str, records, bytes| (label.to_owned(), records, bytes);
    assert_eq!(
        listed(&plan),
        [
            data("lmdb", small, 100),
            data("rocksdb", small, 100),
            data("lmdb", large, 1000),
            data("rocksdb", large, 1000),
        ]
    );
    // The same work as in a run with one size only: the two can be compared.
    let keys = |plan: &Plan| -> BTreeSet<String> {
        plan.cases.iter().map(|case| case.key.clone()).collect()
    };
    assert!(keys(&one_size).is_subset(&keys(&plan)));
    let ids: Vec<&str> = plan.cases.iter().map(|case| case.id.as_str()).collect();
    assert!(ids.iter().any(|id| id.contains("_lmdb_v100_t4_")), "{ids:?}");
    assert!(ids.iter().any(|id| id.contains("_rocksdb_v1000_load_")), "{ids:?}");
    // A database is never used for another size.
    for case in &plan.cases {
        let maker = plan.cases.iter().find(|maker| maker.id == case.database.loaded_by).unwrap();
        assert_eq!(maker.data, case.data, "{}", case.id);
    }
}

fn limits(plan: &Plan) -> BTreeSet<u64> {
    plan.cases.iter().filter_map(|case| case.ram_limit_bytes).collect()
}

#[test]
fn a_list_may_be_typed_with_commas() {
    let values = |argument: &str| -> Vec<u64> {
        let plan = plan(SMALL, &["run.trials=1", argument]);
        listed(&plan).into_iter().map(|(_, _, bytes)| bytes).collect()
    };
    assert_eq!(values("data.value_bytes=100,1000"), [100, 1000]);
    assert_eq!(values("data.value_bytes=100, 4KiB"), [100, 4096]);
    assert_eq!(values("data.value_bytes=[100, \"1kB\"]"), [100, 1000]);
    let ratios = plan(SMALL, &["run.trials=1", "ram.data_to_ram=2,4"]);
    assert_eq!(limits(&ratios).len(), 2);
    let refused = refusal(SMALL, &set(&["data.value_bytes=100,x"]));
    assert!(refused.contains("`x` is not"), "{refused}");
    let refused = refusal(SMALL, &set(&["data.value_bytes=100,100"]));
    assert!(refused.contains("the value is already in the list"), "{refused}");
}

#[test]
fn amounts_of_data_are_swept_as_well() {
    let by_records = plan(SMALL, &["run.trials=1", "data.records=1k,2k", "data.value_bytes=10,20"]);
    let data: Vec<_> = listed(&by_records).into_iter().map(|(_, n, bytes)| (n, bytes)).collect();
    assert_eq!(data, [(1000, 10), (1000, 20), (2000, 10), (2000, 20)]);
    assert!(by_records.cases.iter().any(|case| case.id.contains("_null_n2k_v20_")));
    let arguments = ["run.trials=1", "data.size=64MiB,1GiB", "ram.data_to_ram=4"];
    let by_size = plan(SMALL, &arguments);
    assert_eq!(limits(&by_size).len(), 2, "each data set has its own limit");
    assert!(by_size.cases.iter().any(|case| case.id.contains("_null_d1gib_")));
}

#[test]
fn keys_have_a_format_that_all_engines_take() {
    let format = |engines: &[&str]| {
        let engine = |name: &&str| format!("[[engine]]\nname = \"{name}\"\n");
        let engines: String = engines.iter().map(engine).collect();
        let text = SMALL.replace("[[engine]]\nname = \"null\"\n", &engines);
        let plan = plan(&text, &["data.value_bytes=512"]);
        (plan.cases[0].data.key.format, plan.sized.iter().any(|note| note.contains("binary")))
    };
    assert_eq!(format(&["null", "lmdb"]), (KeyFormat::Hex, false));
    assert_eq!(format(&["null", "drive"]), (KeyFormat::Binary, true));
    let text = SMALL.replace("name = \"null\"", "name = \"drive\"");
    let refused = refusal(&text, &set(&["data.key_format=hex"]));
    assert!(refused.contains("--set data.key_format=binary"), "{refused}");
    // Without the page cache, values must be whole sectors.
    assert!(refused.contains("expected a multiple of 512"), "{refused}");
    let buffered = ["data.value_bytes=2300", "engine.drive.options.direct=false"];
    assert_eq!(plan(&text, &buffered).cases[0].data.value.size.max(), 2300);
}

/// Digits would make a shorter key longer.
#[test]
fn keys_of_several_lengths_have_a_format_that_the_shortest_can_have() {
    let format = |least: u32| {
        let normal = format!("mean = 12, sigma = 2, min = {least}, max = 24");
        let lengths = format!("data.key_bytes={{ normal = {{ {normal} }} }}");
        plan(SMALL, &[&lengths]).cases[0].data.key.format
    };
    assert_eq!(format(8), KeyFormat::Binary);
    assert_eq!(format(16), KeyFormat::Hex);
}
