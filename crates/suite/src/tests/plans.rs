//! Tests of the expansion of suites.

use super::*;
use kvdyno_record::plan::Case;
use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;

/// Returns each case on a line, by its own fields.
fn outline(plan: &Plan) -> String {
    let mut text = String::new();
    for sentence in &plan.sized {
        let _ = writeln!(text, "# {sentence}");
    }
    for case in &plan.cases {
        let phases: Vec<&str> = case.phases.iter().map(|phase| phase.name.as_str()).collect();
        let last = if case.database.last_use { " removed" } else { "" };
        let _ = writeln!(text, "{}: {} on {}{last}", case.id, phases.join(" "), case.database.id);
    }
    text
}

#[test]
fn the_quick_suite_expands() {
    let plan = plan(builtin_text("quick"), &[]);
    insta::assert_snapshot!("quick_outline", outline(&plan));
    insta::assert_snapshot!("quick_case", serde_json::to_string_pretty(&plan.cases[5]).unwrap());
    insta::assert_snapshot!(
        "quick_estimate",
        serde_json::to_string_pretty(&plan.estimate).unwrap()
    );
}

/// Cases that are not judged never stand between two that are compared.
#[test]
fn engines_that_are_compared_are_next_to_each_other() {
    let plan = plan(builtin_text("quick"), &[]);
    for trial in 1..=4 {
        let cases = plan.cases.iter().filter(|case| case.trial == trial);
        let judged: Vec<bool> =
            cases.map(|case| ["lmdb", "rocksdb"].contains(&case.engine.as_str())).collect();
        assert_eq!(judged.chunk_by(PartialEq::eq).count(), 2, "trial {trial}");
    }
}

#[test]
fn the_full_sweep_expands_and_scales() {
    let arguments = ["ram.limit=64GiB", "data.records=80M", "run.threads=[1, 2, 4, 8]"];
    let text = builtin_text("sizing").replace("name = \"lmdb1\"", "name = \"null\"\nlabel = \"x\"");
    let full = plan(&text, &arguments);
    assert_eq!(full.cases.len(), 3 * 4 * 5);
    assert_eq!(full.cases[0].data.records, 80_000_000);
    let overrides = Overrides {
        scale: Some("1/1000".parse().unwrap()),
        threads: vec![1, 4],
        trials: Some(1),
        engines: vec!["lmdb".to_owned(), "rocksdb".to_owned()],
        ..set(&arguments)
    };
    let small = plan_of(&text, &overrides).unwrap();
    insta::assert_snapshot!("scaled_sweep", outline(&small));
    let rocksdb = small.cases.iter().find(|case| case.engine == "rocksdb").unwrap();
    assert_eq!(rocksdb.ram_limit_bytes, Some(68_719_476));
    assert_eq!(rocksdb.options.integer("max_write_buffer_number"), Ok(2));
}

/// Checks that each database has one maker, which comes before its users, and one last use, after
/// which no case uses it.
fn check_databases(plan: &Plan) {
    let mut alive: HashSet<&str> = HashSet::new();
    let mut ever_made: HashSet<&str> = HashSet::new();
    for case in &plan.cases {
        let id = case.database.id.as_str();
        if case.makes_database() {
            assert!(ever_made.insert(id), "{id} is made twice");
            alive.insert(id);
        }
        assert!(alive.contains(id), "{} uses {id}, which is not there", case.id);
        if case.database.last_use {
            alive.remove(id);
        }
    }
    assert!(alive.is_empty(), "left behind: {alive:?}");
}

/// Checks that tables list cases in the suite's order, whatever the order of execution, and each
/// key at one position.
fn check_listing(plan: &Plan) {
    let mut positions: BTreeMap<u32, &str> = BTreeMap::new();
    for case in &plan.cases {
        let key = *positions.entry(case.listed).or_insert(&case.key);
        assert_eq!(key, case.key, "{}", case.id);
    }
    let mut keys: Vec<&str> = positions.values().copied().collect();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), positions.len(), "a key is listed twice");
}

#[test]
fn what_is_listed_follows_the_suite() {
    let plan = plan(builtin_text("quick"), &[]);
    let mut cases: Vec<_> = plan.cases.iter().collect();
    cases.sort_by_key(|case| case.listed);
    let mut labels: Vec<&str> = cases.iter().map(|case| case.label.as_str()).collect();
    labels.dedup();
    assert_eq!(labels[..4], ["lmdb", "rocksdb", "null", "drive"]);
    let ceilings = cases.iter().filter(|case| case.ceiling && case.trial == 1);
    let points: Vec<_> = ceilings.map(|case| (&case.label, case.threads)).collect();
    let mut jobs = points.chunk_by(|one, next| one.0 == next.0);
    assert!(jobs.all(<[_]>::is_sorted), "{points:?}");
}

/// The suite has phases of one and of two threads, and sweeps none of them.
#[test]
fn threads_that_no_suite_sweeps_are_not_called_swept() {
    let numbers = |suite: &str| {
        let plan = plan(builtin_text(suite), &[]);
        let measuring = plan.cases.iter().filter(|case| case.threads.is_some() && !case.ceiling);
        measuring.map(|case| (case.threads, case.threads_swept)).collect::<Vec<_>>()
    };
    let (field, quick) = (numbers("field"), numbers("quick"));
    assert!(field.iter().all(|numbers| *numbers == (Some(1), None)), "{field:?}");
    assert!(quick.contains(&(Some(4), Some(4))), "{quick:?}");
}

/// Data that fits is read once before it is measured. A limit that does not hold during the load
/// begins with the eviction, and a case that only loads has none.
#[test]
fn data_that_fits_is_warm_and_the_limit_begins_after_the_load() {
    let kinds = |case: &Case| case.phases.iter().map(|p| p.work.kind()).collect::<Vec<_>>();
    let field = plan(builtin_text("field"), &["run.trials=1"]);
    let random = |case: &&Case| case.part.as_deref() == Some("random");
    assert!(field.cases.iter().any(|case| random(&case)));
    for case in field.cases.iter().filter(random) {
        let (limit, kinds) = (case.ram_limit_bytes.unwrap(), kinds(case));
        assert_eq!(kinds.contains(&"warm"), case.user_bytes() < limit, "{}", case.id);
        assert_eq!(kinds[case.ram_limit_from as usize], "evict");
    }
    let in_order = field.cases.iter().filter(|case| !random(case));
    assert!(in_order.clone().count() > 0 && in_order.clone().all(|case| case.ram_limit_from == 0));
    let quick = plan(builtin_text("quick"), &[]);
    for case in quick.cases.iter().filter(|case| !case.ceiling) {
        let kinds = kinds(case);
        let evicts = kinds.iter().position(|kind| *kind == "evict").unwrap() as u32;
        assert_eq!(case.ram_limit_from, if kinds[0] == "load" { evicts } else { 0 });
    }
}

/// A further trial has the engine's cases of the first one, with new ids and its own databases.
#[test]
fn a_trial_is_added_for_the_engines_that_are_wanted() {
    let one_trial = |suite: &str| plan(builtin_text(suite), &["run.trials=1"]);
    let suites = [(one_trial("quick"), None), (one_trial("field"), Some("load-in-order"))];
    for (mut plan, part) in suites {
        let before = plan.cases.len();
        let is_wanted = |case: &Case| case.engine == "lmdb" && case.part.as_deref() == part;
        crate::append_trial(&mut plan, is_wanted);
        let (first, added) = plan.cases.split_at(before);
        let keys = |cases: &[Case]| {
            let cases = cases.iter().filter(|case| is_wanted(case) && !case.is_pilot());
            let mut keys: Vec<String> = cases.map(|case| case.key.clone()).collect();
            keys.sort();
            keys
        };
        assert!(!added.is_empty() && keys(first) == keys(added), "{part:?}");
        assert!(added.iter().all(|case| case.trial == 2 && case.id.ends_with("_r2")));
        check_databases(&plan);
    }
}

#[test]
fn every_plan_is_consistent() {
    let sweeps: &[&[&str]] = &[
        &[],
        &["run.database=fresh"],
        &["ram.data_to_ram=[2, 4.5, 8]"],
        &["ram.limit=[\"1GiB\", \"4GiB\"]", "run.database=fresh", "run.trials=20"],
        &["data.seed=7", "run.trials=1", "drive.trials=1"],
        &["data.records=1T", "run.threads=[1,2,3,4,5,6,7,8,9,10]"],
    ];
    for arguments in sweeps {
        let plan = plan(builtin_text("quick"), arguments);
        let ids: HashSet<&str> = plan.cases.iter().map(|case| case.id.as_str()).collect();
        assert_eq!(ids.len(), plan.cases.len());
        assert!(plan.cases.is_sorted_by(|a, b| a.id < b.id), "{arguments:?}");
        check_databases(&plan);
        check_listing(&plan);
        for case in &plan.cases {
            assert!(case.budget_ns >= 600_000_000_000);
            let names: HashSet<&str> = case.phases.iter().map(|p| p.name.as_str()).collect();
            assert_eq!(names.len(), case.phases.len());
        }
        // A key distinguishes points, but not trials.
        let cases = || plan.cases.iter().filter(|case| case.engine != "drive" && !case.is_pilot());
        let keys: HashSet<&str> = cases().map(|case| case.key.as_str()).collect();
        let trials = cases().map(|case| case.trial).max().unwrap() as usize;
        assert_eq!(keys.len() * trials, cases().count(), "{arguments:?}");
        let text = serde_json::to_string(&plan).unwrap();
        assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan);
    }
}

#[test]
fn trials_differ_in_order_and_seeds_repeat() {
    let order = |plan: &Plan, trial| -> Vec<String> {
        let loads = plan.cases.iter().filter(|case| case.trial == trial && case.makes_database());
        loads.map(|case| case.label.clone()).collect()
    };
    let many = plan(builtin_text("quick"), &["run.trials=10"]);
    let orders: HashSet<_> = (1..=10).map(|trial| order(&many, trial)).collect();
    assert!(orders.len() > 1);
    assert_eq!(many, plan(builtin_text("quick"), &["run.trials=10"]));
    assert_ne!(many.cases, plan(builtin_text("quick"), &["run.trials=10", "data.seed=2"]).cases);
}

#[test]
fn keys_name_the_work_and_nothing_else() {
    let key = |arguments: &[&str]| plan(SMALL, arguments).cases.last().unwrap().key.clone();
    let base = key(&[]);
    let unchanged: &[&[&str]] = &[
        &["run.trials=5"],
        &["run.budget=1h"],
        &["run.slice=100ms"],
        &["run.max_errors=0"],
        &["data_dir.path=/mnt/nvme"],
        &["suite.name=other"],
        &["data.size=116MB"],
    ];
    for arguments in unchanged {
        assert_eq!(key(arguments), base, "{arguments:?}");
    }
    let changed: &[&[&str]] = &[
        &["data.records=2M"],
        &["data.seed=2"],
        &["ram.limit=1GiB"],
        &["phase.load.order=random"],
        &["phase.measure.duration=6s"],
        &["phase.measure.role.readers.threads=2"],
        &["run.database=fresh"],
        &["engine.null.label=other"],
        &["engine.null.name=lmdb"],
    ];
    let mut keys = HashSet::from([base]);
    for arguments in changed {
        assert!(keys.insert(key(arguments)), "{arguments:?}");
    }
}

#[test]
fn a_plan_holds_nothing_per_record() {
    // With anything per record, planning would take hours and this test would not end.
    let plan = plan(SMALL, &["data.records=137G", "run.trials=1"]);
    assert_eq!(plan.cases.len(), 2);
    assert!(serde_json::to_string(&plan).unwrap().len() < 10_000);
}

#[test]
fn sizes_come_from_the_host() {
    let size = |host: &SizingHost, arguments: &[&str]| {
        let text = builtin_text("quick");
        let suite = Suite::parse("quick.toml", text, &set(arguments)).unwrap();
        let plan = expand(&suite, &engines(), host).unwrap();
        plan.sized[0].clone()
    };
    let roomy = size(&HOST, &[]);
    let little_memory = size(&SizingHost { memory_bytes: GIB, ..HOST }, &[]);
    let little_disk = size(&SizingHost { free_bytes: 100 << 20, ..HOST }, &[]);
    let limited = size(&HOST, &["ram.limit=100MiB"]);
    insta::assert_snapshot!([roomy, little_memory, little_disk, limited].join("\n"));
}

#[test]
fn a_plan_that_does_not_fit_the_volume_is_refused() {
    let plan =
        plan(SMALL, &["data.records=80M", "data.value_bytes=4000", "engine.null.name=rocksdb"]);
    let refusal = check_space(&plan, 100 * GIB).unwrap_err();
    insta::assert_snapshot!(format!("{refusal}\n{}", refusal.hints().join("\n")));
    assert_eq!(check_space(&plan, 700 * GIB), Ok(()));
    assert!(check_space(&plan, 0).unwrap_err().hints().len() == 2);
}

#[test]
fn an_engine_that_hardly_fits_is_warned_of() {
    let arguments = ["engine.null.name=rocksdb", "ram.limit=64MiB"];
    let warnings = |more: &str| plan(SMALL, &[&arguments[..], &[more]].concat()).warnings;
    let warning = "rocksdb: its write_buffer_size 64 MiB and other caches, 96 MiB in all, exceed \
                   the \
                RAM limit 64 MiB; hint: --set engine.rocksdb.options.write_buffer_size=5%";
    assert_eq!(warnings("run.trials=1"), [warning]);
    // The engine itself needs memory, too.
    let warnings = warnings("engine.rocksdb.preset=tuned");
    assert!(warnings.is_empty(), "{warnings:?}");
    let lmdb = plan(SMALL, &["engine.null.name=lmdb", "ram.limit=8MiB"]).warnings;
    assert!(lmdb[0].starts_with("lmdb may not fit its RAM limit of 8 MiB"), "{lmdb:?}");
}

#[test]
fn an_engine_that_commits_each_record_of_a_load_is_warned_of() {
    let mut engines = engines();
    engine_of(&mut engines, "rocksdb").capabilities.batch = BatchKind::Loop;
    let warnings = |durability: &str, batch: u32| {
        let text =
            format!("{SMALL}[[engine]]\nname = \"rocksdb\"\ndurability = \"{durability}\"\n");
        let batch = format!("phase.load.batch={batch}");
        let set = set(&["engine.null.name=lmdb", &batch]);
        let suite = Suite::parse("suite.toml", &text, &set).unwrap();
        expand(&suite, &engines, &HOST).unwrap().warnings
    };
    let warned = warnings("commit", 100);
    assert!(warned[0].starts_with("rocksdb has no batches: in a load each"), "{warned:?}");
    assert!(warned[0].contains("others commit 100 at once"), "{warned:?}");
    assert!(warnings("async", 100).is_empty() && warnings("commit", 1).is_empty());
}

#[test]
fn more_data_than_memory_is_warned_of_where_all_of_it_must_fit() {
    let mut engines = engines();
    engine_of(&mut engines, "lmdb").capabilities.in_memory = true;
    let warnings = |limit: &str| {
        let set = set(&["engine.null.name=lmdb", "data.size=64MiB", limit]);
        let suite = Suite::parse("suite.toml", SMALL, &set).unwrap();
        expand(&suite, &engines, &HOST).unwrap().warnings
    };
    let too_small = warnings("ram.limit=40MiB");
    assert!(too_small[0].starts_with("lmdb keeps all data in memory: 64.0 MiB"), "{too_small:?}");
    assert!(warnings("ram.limit=80MiB").is_empty());
}

#[test]
fn a_compressor_that_is_left_on_beside_one_that_is_off_is_told() {
    let options = "engine.rocksdb.options={ compression = \"none\" }";
    let arguments = ["engine.null.name=rocksdb", "engine.rocksdb.preset=tuned", options];
    let warning = "rocksdb: bottommost_compression = zstd compresses, but rocksdb has compression \
                   = \
                none; hint: --set engine.rocksdb.options.bottommost_compression=none";
    assert_eq!(plan(SMALL, &arguments).warnings, [warning]);
    let mended = "engine.rocksdb.options.bottommost_compression=none";
    assert!(plan(SMALL, &[&arguments[..], &[mended]].concat()).warnings.is_empty());
    // A compressor that the suite sets is kept.
    let compressor = "engine.rocksdb.options.bottommost_compression=zstd";
    assert!(plan(SMALL, &[&arguments[..], &[compressor]].concat()).warnings.is_empty());
}

#[test]
fn no_ram_limit_keeps_the_data() {
    let overrides = Overrides { no_ram_limit: true, ..Overrides::default() };
    let plan = plan_of(builtin_text("quick"), &overrides).unwrap();
    assert!(plan.cases.iter().all(|case| case.ram_limit_bytes.is_none()));
    assert_eq!(plan.cases[0].data.records, 1_056_832);
    let rocksdb = plan.cases.iter().find(|case| case.engine == "rocksdb").unwrap();
    assert_eq!(rocksdb.options.integer("block_cache"), Ok(8 * GIB));
}

#[test]
fn inserts_are_counted_in() {
    let arguments = [
        "phase.measure.role.readers.mix=[{ op = \"insert\" }]",
        "run.database=fresh",
        "phase.measure.operations=3M",
        "phase.measure.role.readers.rate={ per_second = \"10k\" }",
    ];
    let case = &plan(SMALL, &arguments).cases[0];
    assert_eq!(case.shape.records, 1_000_000);
    assert_eq!(case.shape.records_max, 1_100_000, "5 s at twice 10 k/s");
}

#[test]
fn place_is_the_command_lines_before_the_suites() {
    let suite = |overrides: &Overrides| {
        let suite = Suite::parse("suite.toml", SMALL, overrides).unwrap();
        suite.data_dir().map(std::path::Path::to_owned)
    };
    assert_eq!(suite(&Overrides::default()), None);
    assert_eq!(suite(&set(&["data_dir.path=/a"])), Some("/a".into()));
    let both = Overrides { data_dir: Some("/b".into()), ..set(&["data_dir.path=/a"]) };
    assert_eq!(suite(&both), Some("/b".into()));
}

#[test]
fn set_changes_takes_away_and_adds() {
    let changed = plan(
        SMALL,
        &[
            "data.records=",
            "data.size=1GiB",
            "engine.0.name=rocksdb",
            "engine.rocksdb.options.block_cache=128MiB",
            "phase.1.role.0.mix.get.weight=2.5",
            "phase.measure.role.readers.threads=sweep",
            "run.threads=[2, 4]",
        ],
    );
    let case = changed.cases.last().unwrap();
    assert_eq!(case.threads, Some(4));
    assert_eq!(case.options.integer("block_cache"), Ok(128 << 20));
    assert_eq!(case.data.records, GIB / 116);
}

/// Only a key that is set excludes another.
#[test]
fn a_key_that_is_removed_leaves_the_other() {
    let limits = |arguments: &[&str]| {
        let plan = plan(builtin_text("quick"), arguments);
        plan.cases.iter().map(|case| case.ram_limit_bytes).collect::<Vec<_>>()
    };
    assert!(limits(&[]).iter().any(Option::is_some));
    assert_eq!(limits(&["ram.limit="]), limits(&[]));
}

#[test]
fn what_is_written_is_a_range_with_how_it_was_got() {
    let plan = plan(builtin_text("quick"), &[]);
    let bytes = |case: &kvdyno_record::plan::Case| case.shape.user_bytes();
    let user = plan.cases.iter().find(|case| case.engine == "lmdb").map(bytes).unwrap();
    let file = plan.cases.iter().find(|case| case.engine == "drive").map(bytes).unwrap();
    // Two engines that store data, a pilot and four trials, and the drive's file once.
    assert_eq!(write_bytes_least(&plan), 10 * user + file);
    assert!(plan.estimate.write_bytes > 8 * user && plan.estimate.write_bytes < 40 * user);
    let words = plan.estimate.assumptions.join("\n");
    assert!(words.contains("least writes: each load's user data once"), "{words}");
    assert!(words.contains("10.0 k/s for each thread, which is an assumption"), "{words}");
}

#[test]
fn a_title_does_not_promise_a_limit_that_was_switched_off() {
    let overrides = Overrides { no_ram_limit: true, ..Overrides::default() };
    let plan = plan_of(builtin_text("quick"), &overrides).unwrap();
    assert!(plan.title.ends_with("(without its RAM limit)"), "{}", plan.title);
}
