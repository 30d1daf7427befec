//! Tests of changes by `--engine` and `--duration`, and of short forms.

use super::*;
use kvdyno_record::workload::{Activity, Phase, Schedule};

fn with(engines: &[&str]) -> Overrides {
    Overrides {
        engines: engines.iter().map(ToString::to_string).collect(),
        installed: ["lmdb", "null", "rocksdb", "drive"].map(str::to_owned).to_vec(),
        ..Overrides::default()
    }
}

fn phases(plan: &Plan) -> impl Iterator<Item = &Phase> {
    plan.cases.iter().flat_map(|case| &case.phases)
}

fn labels(plan: &Plan) -> Vec<&str> {
    let mut labels: Vec<&str> = plan.cases.iter().map(|case| case.label.as_str()).collect();
    labels.sort_unstable();
    labels.dedup();
    labels
}

#[test]
fn an_installed_engine_that_the_suite_lacks_is_added_and_told() {
    let plan = plan_of(SMALL, &with(&["null", "rocksdb"])).unwrap();
    assert_eq!(labels(&plan), ["null", "rocksdb"]);
    let note = "engine rocksdb is not in the suite: added with its default options, durability";
    assert!(plan.sized[0].starts_with(note), "{:?}", plan.sized);
    let alone = plan_of(SMALL, &with(&["lmdb"])).unwrap();
    assert_eq!(labels(&alone), ["lmdb"]);
}

#[test]
fn an_engine_that_is_added_to_tuned_ones_is_tuned() {
    let text = SMALL.replace("name = \"null\"", "name = \"lmdb\"\npreset = \"tuned\"");
    let text = format!("{text}\n[[engine]]\nname = \"null\"\n[ram]\nlimit = \"1GiB\"\n");
    let plan = plan_of(&text, &with(&["lmdb", "rocksdb"])).unwrap();
    let rocksdb = plan.cases.iter().find(|case| case.engine == "rocksdb").unwrap();
    assert_eq!(rocksdb.options.integer("block_cache"), Ok(GIB / 2));
    let note = "engine rocksdb is not in the suite: added with preset tuned, durability async";
    assert_eq!(plan.sized[0], note);
    let preset = "preset tuned, shares of the RAM limit: lmdb, rocksdb; `kvdyno engines NAME` \
                  shows the reason for each value";
    assert!(plan.sized.iter().any(|note| note == preset), "{:?}", plan.sized);
}

/// Options may come in any order: the engine is added before its options are set.
#[test]
fn an_engine_that_is_added_can_be_set() {
    let set = vec!["engine.rocksdb.options.block_cache=1MiB".to_owned(), "data.seed=7".to_owned()];
    let plan = plan_of(SMALL, &Overrides { set, ..with(&["null", "rocksdb"]) }).unwrap();
    let rocksdb = plan.cases.iter().find(|case| case.engine == "rocksdb").unwrap();
    assert_eq!((rocksdb.options.integer("block_cache"), rocksdb.data.seed), (Ok(1 << 20), 7));
    let set = vec!["engine.rocksdb.durability=commit".to_owned()];
    let plan = plan_of(SMALL, &Overrides { set, ..with(&["null", "rocksdb"]) }).unwrap();
    assert!(plan.sized[0].ends_with(", durability commit"), "{:?}", plan.sized);
    let set = vec!["engine.lmdb.options.readahead=true".to_owned()];
    let refused = refusal(SMALL, &Overrides { set, ..with(&["rocksdb"]) });
    assert!(refused.contains("the list has no member `lmdb`"), "{refused}");
}

/// A path has dots between its names, and labels may contain dots: the longest label that fits is
/// taken.
#[test]
fn a_label_with_dots_is_one_name() {
    let engines = "name = \"rocksdb\"\nlabel = \"store\"\n[[engine]]\nname = \"rocksdb\"\n\
                   label = \"store.9.1\"";
    let text = SMALL.replace("name = \"null\"", engines);
    let set = |path: &str| Overrides { set: vec![format!("{path}=2MiB")], ..with(&[]) };
    let cache = |plan: &Plan, label: &str| {
        let case = plan.cases.iter().find(|case| case.label == label).unwrap();
        case.options.integer("block_cache").unwrap()
    };
    let plan = plan_of(&text, &set("engine.store.9.1.options.block_cache")).unwrap();
    assert_eq!(cache(&plan, "store.9.1"), 2 << 20);
    assert_ne!(cache(&plan, "store"), 2 << 20);
    let plan = plan_of(&text, &set("engine.store.options.block_cache")).unwrap();
    assert_eq!(cache(&plan, "store"), 2 << 20);
    let refused = refusal(&text, &set("engine.store.9.2.options.block_cache"));
    assert!(refused.contains("[[engine]] has no key `9`"), "{refused}");
}

#[test]
fn an_added_engine_has_the_durability_of_the_others() {
    let text = SMALL.replace("name = \"null\"", "name = \"rocksdb\"\ndurability = \"commit\"");
    let refused = refusal(&text, &with(&["rocksdb", "lmdb"]));
    assert!(refused.contains("lmdb has no durability `commit`"), "{refused}");
    assert!(refused.contains("`--set engine.lmdb.durability="), "{refused}");
    let text = SMALL.replace(
        "name = \"null\"",
        "name = \"rocksdb\"\ndurability = \"commit\"\nlabel = \"mine\"",
    );
    let plan = plan_of(&text, &with(&["mine", "drive"])).unwrap_err().render(false);
    assert!(plan.contains("drive has no durability"), "{plan}");
}

#[test]
fn an_engine_that_is_nowhere_is_told_with_both_lists() {
    let refused = refusal(SMALL, &with(&["rocks"]));
    for words in
        ["neither in the suite nor", "did you mean `rocksdb`?", "in the suite: null", "lmdb"]
    {
        assert!(refused.contains(words), "{words}: {refused}");
    }
}

#[test]
fn an_installed_engine_that_no_part_runs_is_told_with_the_remedy() {
    let parts = "\n[[part]]\nname = \"a\"\nengines = [\"null\"]\n";
    let refused = refusal(&format!("{SMALL}{parts}"), &with(&["lmdb"]));
    assert!(refused.contains("no part of the suite runs `lmdb`"), "{refused}");
    assert!(refused.contains("`kvdyno suites show NAME"), "{refused}");
}

/// A search judges the last measured phase: earlier phases prepare it and keep their duration.
#[test]
fn a_searchs_duration_is_of_the_judged_phase() {
    let measured = "[[phase]]\nkind = \"measure\"\n";
    let fill = "name = \"fill\"\nduration = \"9s\"\n[[phase.role]]\nname = \"readers\"\n\
                mix = [{ op = \"get\" }]\n";
    let text = SMALL.replacen(measured, &format!("{measured}{fill}{measured}"), 1);
    let overrides = Overrides {
        duration: Some("30s".to_owned()),
        duration_of_last: true,
        ..Overrides::default()
    };
    let plan = plan_of(&text, &overrides).unwrap();
    let ends = |phase: &Phase| match &phase.work {
        Activity::Measure(mix) => mix.ends.duration_ns,
        _ => None,
    };
    let measured = plan.cases.last().unwrap().phases.iter().filter_map(ends);
    assert_eq!(measured.collect::<Vec<_>>(), [9_000_000_000, 30_000_000_000]);
}

#[test]
fn a_duration_is_of_every_measured_phase() {
    let text = SMALL.replace("duration = \"5s\"", "operations = 1000");
    let overrides =
        |time: &str| Overrides { duration: Some(time.to_owned()), ..Overrides::default() };
    let plan = plan_of(&text, &overrides("30s")).unwrap();
    let ends = phases(&plan).find_map(|phase| match &phase.work {
        Activity::Measure(mix) => Some(mix.ends),
        _ => None,
    });
    let ends = ends.unwrap();
    assert_eq!((ends.duration_ns, ends.operations), (Some(30_000_000_000), None));
    let refused = refusal(&text, &overrides("30"));
    assert!(refused.contains("--duration") && refused.contains("such as 60s"), "{refused}");
    let load_only = SMALL.split("[[phase]]\nkind = \"measure\"").next().unwrap();
    assert!(refusal(load_only, &overrides("30s")).contains("no measure phase"));
}

#[test]
fn a_rate_is_a_number_or_a_table() {
    let rate = |spelling: &str, arguments: &[&str]| {
        let text = format!("{SMALL}rate = {spelling}\n");
        let plan = plan(&text, arguments);
        phases(&plan).find_map(|phase| match &phase.work {
            Activity::Measure(mix) => mix.roles[0].rate.clone(),
            _ => None,
        })
    };
    let table = rate("{ per_second = 50000 }", &[]).unwrap();
    assert_eq!((table.operations_per_s, table.schedule), (50_000.0, Schedule::Poisson));
    for spelling in ["50_000", "\"50k\"", "\"50k/s\""] {
        assert_eq!(rate(spelling, &[]).unwrap(), table, "{spelling}");
    }
    let set = rate("50", &["phase.measure.role.readers.rate.per_second=50k"]);
    assert_eq!(set.unwrap(), table, "what a search sets");
    let refused = refusal(&format!("{SMALL}rate = 0\n"), &Overrides::default());
    assert!(refused.contains("the rate is zero"), "{refused}");
}

#[test]
fn other_programs_words_for_commit_are_taken() {
    for word in ["commit", "sync", "fsync"] {
        let text = SMALL
            .replace("name = \"null\"", &format!("name = \"rocksdb\"\ndurability = \"{word}\""));
        assert_eq!(plan(&text, &[]).cases[0].options.durability, Durability::Commit, "{word}");
    }
}

#[test]
fn of_several_phases_of_a_kind_each_is_told() {
    let text = format!(
        "{SMALL}{}",
        SMALL.split("mix = [{ op = \"get\" }]\n").next().unwrap().rsplit_once("[[phase]]").map_or(
            String::new(),
            |(_, last)| format!(
                "[[phase]]{}mix = [{{ op = \"get\" }}]\n",
                last.replace("readers", "scanners")
            )
        )
    );
    let refused = refusal(&text, &set(&["phase.measure.duration=30s"]));
    assert!(refused.contains("1 (role readers), 2 (role scanners)"), "{refused}");
    assert!(refused.contains("--duration TIME"), "{refused}");
}

#[test]
fn a_profile_is_of_all_cases_and_not_of_counted_ones() {
    let profiled = Overrides { profile: true, ..Overrides::default() };
    let plan = plan_of(SMALL, &profiled).unwrap();
    assert!(!plan.cases.is_empty() && plan.cases.iter().all(|case| case.profile));
    let without = plan_of(SMALL, &Overrides::default()).unwrap();
    assert!(without.cases.iter().all(|case| !case.profile));
    // A profiled case is the same work.
    assert_eq!(plan.cases[0].key, without.cases[0].key);
    let count = Some(kvdyno_record::plan::Counting::Valgrind);
    let refused = refusal(SMALL, &Overrides { count, ..profiled });
    assert!(refused.contains("runs under valgrind"), "{refused}");
}

#[test]
fn counted_work_is_estimated_as_longer() {
    let count = Some(kvdyno_record::plan::Counting::Valgrind);
    let plan = plan_of(SMALL, &Overrides { count, ..Overrides::default() }).unwrap();
    let each_ns = plan.estimate.wall_least_ns.unwrap() / plan.cases.len() as u64;
    assert!(each_ns > 3_000_000_000, "{each_ns} ns for the start of valgrind alone");
    let assumptions = plan.estimate.assumptions.join("\n");
    assert!(assumptions.contains("all work 20 to 60 times as long"), "{assumptions}");
}
