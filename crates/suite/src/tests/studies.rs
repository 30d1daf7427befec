//! Tests of the published studies as suites: their full and scaled grids, parts that a machine
//! lacks, and their length.

use super::*;
use kvdyno_record::left_out::LeftOut;
use kvdyno_record::plan::Case;
use kvdyno_record::tier::Memory;
use kvdyno_record::volume::Medium;
use kvdyno_record::workload::Activity;
use std::fmt::Write as _;
use std::path::PathBuf;

const STUDIES: [&str; 5] = [
    "symas-optane-2018",
    "symas-imdt-2018",
    "selectel-p4800x-2018",
    "raidix-metadata-2017",
    "callaghan-linkbench-2015",
];

/// Returns the existing engines of the studies, with the options that the studies need.
fn engines_of_studies() -> Engines {
    let mut engines = engines();
    let rocksdb = engine_of(&mut engines, "rocksdb");
    for name in ["target_file_size_base", "max_bytes_for_level_base", "block_size"] {
        rocksdb.options.push(option(name, OptionKind::Bytes, Value::Integer(1 << 20)));
    }
    let counts = ["num_levels", "max_background_jobs", "level0_file_num_compaction_trigger"];
    let more = ["level0_slowdown_writes_trigger", "level0_stop_writes_trigger"];
    for name in counts.into_iter().chain(more) {
        let count = OptionKind::Integer { min: 1, max: 100_000_000 };
        rocksdb.options.push(option(name, count, Value::Integer(1)));
    }
    for name in ["level_compaction_dynamic_level_bytes", "disable_auto_compactions"] {
        rocksdb.options.push(option(name, OptionKind::Boolean, Value::Boolean(false)));
    }
    for name in ["transactions", "memtable"] {
        rocksdb.options.push(option(name, OptionKind::Text, Value::Text(String::new())));
    }
    let none = (Durability::None, PowerLoss::LosesLast, "nothing is promised");
    rocksdb.capabilities.durability.extend(Capabilities::minimal([none]).durability);
    engine_of(&mut engines, "drive").capabilities.places =
        vec![PlaceKind::Directory, PlaceKind::Device];
    for name in ["lmdb1", "direct"] {
        let lmdb = engine_of(&mut engines, "lmdb").clone();
        let mut described = Description { name: name.to_owned(), ..lmdb };
        described.capabilities.places = vec![PlaceKind::Directory, PlaceKind::Device];
        let (mut needed, worker) = {
            let (needed, worker) = engines.workers.iter().next().unwrap();
            (needed.clone(), worker.clone())
        };
        name.clone_into(&mut needed.engine);
        let mut worker = worker.unwrap();
        worker.description.engine = described;
        engines.workers.insert(needed, Ok(worker));
    }
    engines
}

fn study(name: &str, overrides: &Overrides) -> Result<Plan, SuiteError> {
    let suite = Suite::parse(&format!("{name}.toml"), builtin_text(name), overrides)?;
    expand(&suite, &engines_of_studies(), &HOST)
}

fn planned(name: &str, overrides: &Overrides) -> Plan {
    study(name, overrides).unwrap_or_else(|error| panic!("{}", error.render(false)))
}

fn with_media(media: &[&str]) -> Overrides {
    Overrides { media: media.iter().map(ToString::to_string).collect(), ..Overrides::default() }
}

fn scaled(scale: &str) -> Overrides {
    Overrides { scale: Some(scale.parse().unwrap()), ..Overrides::default() }
}

/// Describes the point of a case in the grid, without its threads.
fn point(case: &Case) -> String {
    let medium = match case.volume.as_ref().map(|volume| (&volume.name, &volume.medium)) {
        Some((name, Medium::Loop { directory: None, .. })) => format!(" on {name} (loop)"),
        Some((name, Medium::Loop { .. })) => format!(" on {name} (loop elsewhere)"),
        Some((name, Medium::Device { path, .. })) => format!(" on {name} ({})", path.display()),
        Some((name, Medium::Directory { .. })) => format!(" on {name}"),
        None => String::new(),
    };
    let ram = case.ram_limit_bytes.map_or_else(String::new, |bytes| format!(" ram {bytes}"));
    let tier = case.tier_below().map_or_else(String::new, |tier| format!(" with {}", tier.name));
    format!("{}: {} records{ram}{tier}{medium}", case.label, case.data.records)
}

/// Returns a line for each point with its threads, then the notes and the engines left out.
fn grid(plan: &Plan) -> String {
    let mut cases: Vec<&Case> = plan.cases.iter().collect();
    cases.sort_by_key(|case| case.listed);
    let mut text = String::new();
    for group in cases.chunk_by(|a, b| point(a) == point(b)) {
        let threads: Vec<String> = group
            .iter()
            .map(|case| case.threads.map_or("load".to_owned(), |t| t.to_string()))
            .collect();
        let _ = writeln!(text, "{}: {}", point(group[0]), threads.join(" "));
    }
    let sized = plan.sized.iter().map(|text| format!("# {text}"));
    let warned = plan.warnings.iter().map(|text| format!("! {text}"));
    let left_out = sentences(&plan.left_out);
    let left_out = left_out.iter().map(|text| format!("- {text}"));
    let phases: Vec<&str> =
        cases.last().unwrap().phases.iter().map(|phase| phase.name.as_str()).collect();
    text += &sized.chain(left_out).chain(warned).collect::<Vec<_>>().join("\n");
    format!("{text}\nlast: {}\n", phases.join(" "))
}

#[test]
fn each_study_expands_in_full_and_in_proportion() {
    for name in STUDIES {
        insta::assert_snapshot!(
            format!("{name}-full"),
            grid(&planned(name, &Overrides::default()))
        );
        insta::assert_snapshot!(format!("{name}-64th"), grid(&planned(name, &scaled("1/64"))));
    }
}

/// With a path for each medium no engine is left out.
#[test]
fn drives_that_are_given_are_what_media_are() {
    let media = with_media(&["flash=/dev/nvme0n1", "optane=/dev/nvme1n1"]);
    for name in STUDIES.into_iter().take(3) {
        let plan = planned(name, &media);
        assert_eq!(plan.left_out, [], "{name}");
        let mut media = plan.cases.iter().map(|case| &case.volume.as_ref().unwrap().medium);
        assert!(media.all(|medium| matches!(medium, Medium::Device { .. })), "{name}");
    }
    let plan = planned("symas-imdt-2018", &media);
    let swaps = |case: &&Case| case.swap().is_some();
    let case = plan.cases.iter().find(swaps).unwrap();
    let Memory::Swap { path, .. } = &case.tier.as_ref().unwrap().memory else { panic!("{case:?}") };
    assert_eq!(*path, Some(PathBuf::from("/dev/nvme1n1")));
    let elsewhere = planned("symas-optane-2018", &with_media(&["optane=/mnt/other"]));
    assert!(
        grid(&elsewhere)
            .contains("lmdb: 80000000 records ram 68719476736 on optane-journal (loop elsewhere)")
    );
    assert_eq!(elsewhere.left_out, []);
    let words = elsewhere.sized.join("\n");
    assert!(words.contains("medium optane: loop on images in /mnt/other"), "{words}");
}

#[test]
fn what_is_not_there_is_an_empty_cell_with_its_reason() {
    let plan = planned("symas-imdt-2018", &Overrides::default());
    let left_out_of = |part: &str| -> Vec<&LeftOut> {
        plan.left_out.iter().filter(|left_out| left_out.part.as_deref() == Some(part)).collect()
    };
    let volumes: Vec<_> =
        left_out_of("optane").iter().map(|left_out| left_out.volume.as_deref()).collect();
    assert_eq!(volumes, [Some("optane"); 2]);
    let tiers: Vec<_> =
        left_out_of("imdt-large").iter().map(|left_out| left_out.tier.as_deref()).collect();
    assert_eq!(tiers, [Some("imdt")]);
    assert!(
        left_out_of("imdt")[0].reason.contains("--medium optane=/dev/..."),
        "{:?}",
        left_out_of("imdt")
    );
    assert!(plan.cases.iter().all(|case| case.part.as_deref() == Some("flash")));
    let text = serde_json::to_string(&plan).unwrap();
    assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan);
    let lmdb = Overrides { engines: vec!["lmdb".to_owned()], ..Overrides::default() };
    let plan = planned("symas-imdt-2018", &lmdb);
    assert!(plan.left_out.iter().all(|left_out| left_out.engine == "lmdb"), "{:?}", plan.left_out);
    assert_eq!(plan.left_out.len(), 3);
}

#[test]
fn media_that_make_no_sense_are_refused() {
    let refused = |study_name: &str, overrides: &Overrides| match study(study_name, overrides) {
        Ok(_) => panic!("accepted: {overrides:?}"),
        Err(error) => error.render(false),
    };
    let refuse = |media: &[&str]| refused("symas-optane-2018", &with_media(media));
    let both = Overrides {
        set: vec!["volume.flash-raw.path=/dev/sdb".to_owned()],
        ..Overrides::default()
    };
    let parts = vec!["optane".to_owned()];
    let absent = Overrides { parts, ..Overrides::default() };
    let scaled = Overrides {
        set: vec!["engine.rocksdb.scaled=[\"compression\"]".to_owned()],
        ..Overrides::default()
    };
    insta::assert_snapshot!(
        [
            refuse(&["optan=/dev/sdb"]),
            refuse(&["flash"]),
            refuse(&["flash="]),
            refused("symas-optane-2018", &both),
            refused("symas-imdt-2018", &with_media(&["optane=/mnt/other"])),
            refused("symas-imdt-2018", &absent),
            refused("symas-optane-2018", &scaled),
        ]
        .join("\n")
    );
}

/// Scaled options keep their proportion to the data; other options stay.
#[test]
fn options_that_the_suite_names_are_scaled() {
    let value = |plan: &Plan, name: &str| {
        let rocksdb = plan.cases.iter().find(|case| case.engine == "rocksdb").unwrap();
        rocksdb.options.integer(name).unwrap()
    };
    let full = planned("selectel-p4800x-2018", &Overrides::default());
    let small = planned("selectel-p4800x-2018", &scaled("1/64"));
    assert_eq!(value(&full, "target_file_size_base"), 64 * value(&small, "target_file_size_base"));
    assert_eq!(value(&full, "block_size"), value(&small, "block_size"));
    let symas = planned("symas-optane-2018", &scaled("1/64"));
    assert_eq!(value(&symas, "write_buffer_size"), 4_000_000);
    assert_eq!(value(&symas, "block_cache"), GIB / 2);
    let least = planned("selectel-p4800x-2018", &scaled("1/100000"));
    assert_eq!(value(&least, "target_file_size_base"), 1 << 20);
}

/// A limit is scaled, and its share with it; the memory of the machine is not.
#[test]
fn a_share_of_memory_is_scaled_once() {
    let engine = "name = \"rocksdb\"\nscaled = [\"block_cache\"]\n\
                  options = { block_cache = \"50%\" }";
    let text = SMALL.replace("name = \"null\"", engine);
    let cache = |arguments: &[&str]| {
        let overrides = Overrides { set: set(arguments).set, ..scaled("1/4") };
        let plan = plan_of(&text, &overrides).unwrap();
        plan.cases[0].options.integer("block_cache").unwrap()
    };
    assert_eq!(cache(&["ram.limit=1GiB"]), GIB / 4 / 2);
    assert_eq!(cache(&[]), HOST.memory_bytes / 2 / 4);
}

/// The reason is shown also for a part without its medium, and for each engine of a list.
#[test]
fn a_requested_engine_without_its_medium_is_left_out_with_the_reason() {
    let engines = |name: &str| vec![name.to_owned()];
    let part = Overrides {
        engines: engines("lmdb"),
        installed: engines("lmdb"),
        parts: vec!["imdt".to_owned()],
        ..Overrides::default()
    };
    let refused = study("symas-imdt-2018", &part).unwrap_err().render(false);
    let words = refused.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("no path for medium optane"), "{refused}");
    // The claims are about an engine without classes.
    let classes = ["engine.rocksdb.durability=[\"async\", \"commit\"]", "claim="];
    let plan =
        planned("symas-imdt-2018", &Overrides { engines: engines("rocksdb"), ..set(&classes) });
    let mut labels: Vec<&str> = plan.left_out.iter().map(|out| out.engine.as_str()).collect();
    labels.sort_unstable();
    labels.dedup();
    assert_eq!(labels, ["rocksdb-async", "rocksdb-commit"]);
}

/// Claims name the roles of phases that are not selected.
#[test]
fn a_study_can_only_load() {
    let load = Overrides { phases: vec!["load".to_owned()], ..Overrides::default() };
    for (name, overrides) in [("raidix-metadata-2017", load.clone()), ("symas-imdt-2018", load)] {
        let all = planned(name, &Overrides::default()).claims.len();
        assert_eq!(planned(name, &overrides).claims.len(), all, "{name}");
    }
}

#[test]
fn only_the_part_of_the_drive_is_watched() {
    let plan = planned("selectel-p4800x-2018", &Overrides::default());
    let watched = |case: &Case| case.part.as_deref() == Some("drive");
    assert!(plan.cases.iter().all(|case| case.io_latency == watched(case)));
    assert!(plan.cases.iter().any(watched));
}

fn measured_ns(plan: &Plan) -> Vec<Option<u64>> {
    let phases = plan.cases.iter().flat_map(|case| &case.phases);
    let measured = phases.filter(|phase| matches!(phase.work, Activity::Measure(_)));
    measured.map(|phase| phase.mix().unwrap().ends.duration_ns).collect()
}

#[test]
fn quick_shortens_and_says_what() {
    for name in STUDIES {
        let quick = Overrides { quick: Some(2), ..scaled("1/10000") };
        let plan = planned(name, &quick);
        assert!(measured_ns(&plan).iter().all(|ns| ns.is_some_and(|ns| ns <= 10_000_000_000)));
        assert!(plan.cases.iter().all(|case| case.trial == 1));
        insta::assert_snapshot!(format!("{name}-quick"), plan.sized[0]);
    }
    let threads = |overrides: Overrides| -> Vec<u32> {
        let plan = planned("symas-optane-2018", &overrides);
        let mut threads: Vec<u32> = plan.cases.iter().filter_map(|case| case.threads).collect();
        threads.sort_unstable();
        threads.dedup();
        threads
    };
    assert_eq!(threads(Overrides { quick: Some(2), ..Overrides::default() }), [1, 2, 8]);
    assert_eq!(threads(Overrides { quick: Some(6), ..Overrides::default() }), [1, 4, 16]);
    let changed = Overrides { quick: Some(2), threads: vec![3, 64], ..Overrides::default() };
    assert_eq!(threads(changed), [3, 64]);
    let trials = Overrides { quick: Some(2), trials: Some(5), ..Overrides::default() };
    assert_eq!(planned("symas-optane-2018", &trials).cases.last().unwrap().trial, 5);
}

#[test]
fn hours_are_windows_and_their_slices_are_longer_where_the_record_asks_for_it() {
    let days = Overrides { hours: Some(48), threads: vec![1], ..Overrides::default() };
    let day = planned("symas-optane-2018", &days);
    assert!(measured_ns(&day).iter().all(|ns| *ns == Some(3_600_000_000_000)));
    let windows = day.cases.last().unwrap().phases.iter();
    assert_eq!(windows.filter(|phase| phase.window.is_some()).count(), 48);
    let hour = planned("symas-optane-2018", &Overrides { hours: Some(1), ..days.clone() });
    assert_eq!(measured_ns(&hour)[0], Some(3_600_000_000_000));
    let slices = |plan: &Plan| plan.cases[0].slice_ns / 1_000_000_000;
    assert_eq!(slices(&planned("symas-optane-2018", &scaled("1/64"))), 1);
    assert_eq!(slices(&day), 2);
    let days_of = day.estimate.wall_ns.div_ceil(24 * 3_600_000_000_000);
    assert!(day.estimate.record_bytes <= 150_000_000 * days_of, "{:?}", day.estimate);
    assert!(day.sized.iter().any(|text| text.starts_with("slices of 2 s:")), "{:?}", day.sized);
    let changed = Overrides { set: vec!["run.slice=1s".to_owned()], ..days };
    let changed = planned("symas-optane-2018", &changed);
    assert_eq!(slices(&changed), 1);
    assert!(!changed.sized.iter().any(|text| text.starts_with("slices")), "{:?}", changed.sized);
    let loads = "[suite]\nname = \"x\"\n[data]\nrecords = 1\nvalue_bytes = 1\n\
                 [[engine]]\nname = \"null\"\n[[phase]]\nkind = \"load\"\n";
    let refused = refusal(loads, &Overrides { hours: Some(2), ..Overrides::default() });
    assert!(refused.contains("no measure phase to set the hours of"), "{refused}");
}

/// The cells of a claim with numbers exist at every scale.
#[test]
fn claims_follow_the_scale() {
    for scale in ["1", "1/64", "1/1000"] {
        let overrides =
            Overrides { media: vec!["optane=/dev/nvme8n1".to_owned()], ..scaled(scale) };
        let plan = planned("symas-imdt-2018", &overrides);
        let limits: Vec<_> = plan.cases.iter().map(|case| case.ram_limit_bytes).collect();
        let records: Vec<_> = plan.cases.iter().map(|case| case.data.records).collect();
        let mut numbers = 0;
        for cell in plan.claims.iter().flat_map(|claim| claim.relation.cells()) {
            numbers += usize::from(cell.ram_bytes.is_some()) + usize::from(cell.records.is_some());
            assert!(cell.ram_bytes.is_none() || limits.contains(&cell.ram_bytes), "{cell:?}");
            assert!(cell.records.is_none_or(|number| records.contains(&number)), "{cell:?}");
        }
        assert!(numbers > 4, "{numbers}");
    }
    for name in STUDIES {
        let plan = planned(name, &Overrides::default());
        assert_eq!(plan.study.as_deref(), Some(name));
        assert!(plan.claims.len() > 5, "{name}");
    }
}
