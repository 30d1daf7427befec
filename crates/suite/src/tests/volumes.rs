//! Tests of `[[volume]]`, an axis of the grid like RAM and threads.

use super::*;
use kvdyno_record::plan::Case;
use kvdyno_record::volume::{FilesystemKind, Format, Medium};

/// Returns the small suite with these volumes.
fn on(volumes: &str) -> String {
    SMALL.replace("[[engine]]", &format!("{volumes}\n[[engine]]"))
}

const TWO: &str = r#"
[[volume]]
name = "ext4-nojournal"
kind = "loop"
filesystem = "ext4"
mkfs = ["-O", "^has_journal"]
[[volume]]
name = "raw"
kind = "loop"
filesystem = "raw"
"#;

fn two() -> String {
    on(TWO).replace("\"null\"", "\"lmdb\"")
}

fn names(plan: &Plan) -> Vec<(&str, &str)> {
    let name = |case: &'_ Case| case.volume.as_ref().map_or("", |volume| &volume.name).to_owned();
    let names: Vec<_> = plan.cases.iter().map(|case| (case.id.as_str(), name(case))).collect();
    names.into_iter().map(|(id, name)| (id, &*name.leak())).collect()
}

#[test]
fn a_suite_without_volumes_is_as_it_was() {
    let plan = plan(SMALL, &[]);
    assert!(plan.cases.iter().all(|case| case.volume.is_none()));
    assert!(plan.cases.iter().all(|case| !case.key.contains("/on-") && !case.id.contains("_on-")));
}

/// Runs are compared by the keys of their cases, so a change here changes the format.
#[test]
fn keys_do_not_change_unnoticed() {
    let quick = plan(builtin_text("quick"), &["phase.measure.duration=3s"]);
    let key = "lmdb/async/1056832x16+1000/ram-262140KiB/t1/ae444c060c6d";
    let keys: Vec<&str> = quick.cases.iter().map(|case| case.key.as_str()).collect();
    assert!(keys.contains(&key), "{keys:#?}");
}

#[test]
fn every_engine_runs_on_every_volume_that_it_can() {
    let text = two().replace(
        "[[phase]]\nkind = \"load\"",
        "[[engine]]\nname = \"drive\"\n[[phase]]\nkind = \"load\"",
    );
    let text = text.replace("value_bytes = 100", "key_bytes = 8\nvalue_bytes = 512");
    let suite = Suite::parse("suite.toml", &text, &set(&["run.trials=1"])).unwrap();
    let mut engines = engines();
    let drive = &mut engine_of(&mut engines, "drive").capabilities;
    drive.places.push(PlaceKind::Device);
    let plan = expand(&suite, &engines, &HOST).unwrap();
    // Each has a case that loads and one that reads: lmdb on one volume, the drive on both.
    let mut volumes: Vec<_> = plan
        .cases
        .iter()
        .map(|case| (case.engine.as_str(), case.volume.as_ref().unwrap()))
        .collect();
    volumes.sort_by_key(|(engine, volume)| (*engine, volume.name.clone()));
    volumes.dedup_by_key(|(engine, volume)| (*engine, volume.name.clone()));
    let volumes: Vec<_> = volumes.iter().map(|(engine, volume)| (*engine, &*volume.name)).collect();
    assert_eq!(
        volumes,
        [("drive", "ext4-nojournal"), ("drive", "raw"), ("lmdb", "ext4-nojournal")]
    );
    let left_out = sentences(&plan.left_out);
    assert_eq!(left_out, ["lmdb is not run on `raw`: cannot store data on a block device"]);
}

#[test]
fn ids_and_keys_say_the_volume_and_a_database_stays_on_its_own() {
    let text = two().replace("filesystem = \"raw\"", "filesystem = \"xfs\"");
    let plan = plan(&text, &["run.trials=1"]);
    let mut names = names(&plan);
    names.sort_by_key(|(id, _)| id.split_once('_').unwrap().1);
    let ids: Vec<&str> = names.iter().map(|(id, _)| id.split_once('_').unwrap().1).collect();
    assert_eq!(
        ids,
        [
            "lmdb_on-ext4-nojournal_load_r1",
            "lmdb_on-ext4-nojournal_t1_r1",
            "lmdb_on-raw_load_r1",
            "lmdb_on-raw_t1_r1"
        ]
    );
    for case in &plan.cases {
        let loader = plan.cases.iter().find(|other| other.id == case.database.loaded_by).unwrap();
        assert_eq!(case.volume, loader.volume);
        let name = &case.volume.as_ref().unwrap().name;
        assert!(case.key.contains(&format!("/on-{name}/")), "{}", case.key);
    }
}

/// An image holds 1 M records of 116 bytes, times the engine's own factor of 2, plus a quarter and
/// 128 MiB, and is never below the minimum of any filesystem.
#[test]
fn an_image_is_as_large_as_the_engine_needs_and_takes_its_space_in_the_place() {
    let bytes = |plan: &Plan| match &plan.cases[0].volume.as_ref().unwrap().medium {
        Medium::Loop { bytes, .. } => *bytes,
        other => panic!("{other:?}"),
    };
    let text = two().replace("filesystem = \"raw\"", "filesystem = \"btrfs\"");
    let small = plan(&text, &[]);
    let needed = (116_000_000_u64 * 2 * 5 / 4 + (128 << 20)).div_ceil(1 << 20) << 20;
    assert_eq!(bytes(&small), needed);
    assert_eq!(small.estimate.space_bytes, needed, "one at a time");
    let least = plan(&text, &["data.records=1000"]);
    assert_eq!(bytes(&least), 320 << 20);
    let sized = plan(&text, &["volume.0.size=\"2GiB\"", "volume.1.size=\"2GiB\""]);
    assert_eq!(bytes(&sized), 2 << 30);
    // The space of another database does not matter for comparisons.
    assert_eq!(small.cases[0].key.rsplit_once('/'), sized.cases[0].key.rsplit_once('/'));
}

#[test]
fn what_is_made_is_written_out() {
    let plan = plan(&two(), &["run.trials=1"]);
    let Medium::Loop { format, .. } = &plan.cases[0].volume.as_ref().unwrap().medium else {
        panic!("{:?}", plan.cases[0].volume)
    };
    let mkfs = vec!["-O".to_owned(), "^has_journal".to_owned()];
    let filesystem = FilesystemKind::Ext4;
    assert_eq!(*format, Format::Filesystem { filesystem, mkfs, mount: Vec::new() });
}

#[test]
fn the_drives_jobs_run_on_each_volume_of_their_own() {
    let text = two().replace("filesystem = \"raw\"", "filesystem = \"xfs\"");
    let text = format!("{text}\n[drive]\n[[drive.job]]\nduration = \"1s\"");
    let plan = plan(&text, &["run.trials=2"]);
    let fills = plan.cases.iter().filter(|case| case.engine == "drive" && case.makes_database());
    let fills: Vec<_> =
        fills.map(|case| (case.trial, &case.volume.as_ref().unwrap().name)).collect();
    assert_eq!(fills.len(), 4, "{fills:?}");
    let databases = plan.cases.iter().filter(|case| case.database.last_use).count();
    assert_eq!(databases, 8, "of two engines, on two volumes, twice");
}

/// Each thread count works on a copy of a loaded database; on a bare device each case loads its
/// own, with a note.
#[test]
fn copies_of_one_load_and_a_load_for_each_on_a_bare_device() {
    let text = two().replace("mix = ", "threads = \"sweep\"\nmix = ");
    let sweep = ["run.trials=1", "run.threads=[1,2]"];
    let mut engines = engines();
    let lmdb = engine_of(&mut engines, "lmdb");
    lmdb.capabilities.places.push(PlaceKind::Device);
    let plan = |how: &str| {
        let database = format!("run.database=\"{how}\"");
        let changes = [&sweep[..], &[&*database]].concat();
        let suite = Suite::parse("suite.toml", &text, &set(&changes)).unwrap();
        expand(&suite, &engines, &HOST).unwrap()
    };
    let copied = plan("state");
    let cases_on = |plan: &Plan, volume: &str| -> Vec<Case> {
        let is_on = |case: &&Case| case.volume.as_ref().is_some_and(|own| own.name == volume);
        plan.cases.iter().filter(is_on).cloned().collect()
    };
    let [load, first, second] = &cases_on(&copied, "ext4-nojournal")[..] else {
        panic!("{copied:?}")
    };
    assert_eq!((load.threads, first.threads, second.threads), (None, Some(1), Some(2)));
    assert!(load.database.is_state && !load.copies_state() && !load.makes_state());
    for case in [first, second] {
        assert_eq!(case.database.loaded_by, load.id);
        assert!(case.copies_state());
        assert!(case.phases.iter().all(|phase| phase.work.kind() != "load"));
    }
    let raw = cases_on(&copied, "raw");
    assert!(raw.len() == 2 && raw.iter().all(Case::makes_database), "{raw:?}");
    assert_eq!(copied.warnings.len(), 1, "{:?}", copied.warnings);
    assert!(copied.warnings[0].contains("each case loads its own"), "{:?}", copied.warnings);
    assert!(copied.warnings[0].ends_with("add an `evict`"), "{:?}", copied.warnings);
    // A state needs space for the original and a copy, and the time and the bytes of copying.
    let shared = plan("shared");
    let bytes =
        |plan: &Plan| match &cases_on(plan, "ext4-nojournal")[0].volume.as_ref().unwrap().medium {
            Medium::Loop { bytes, .. } => *bytes,
            other => panic!("{other:?}"),
        };
    let needed = (2 * 116_000_000_u64 * 2 * 5 / 4 + (128 << 20)).div_ceil(1 << 20) << 20;
    assert_eq!(bytes(&copied), needed);
    assert!(bytes(&shared) < needed);
    let [of_copies, of_one] = [&copied, &shared].map(|plan| {
        let on_ext4 = cases_on(plan, "ext4-nojournal");
        let database = plan.estimate.databases[&on_ext4[0].id];
        (database, on_ext4.iter().map(|case| case.key.clone()).collect::<Vec<_>>())
    });
    assert_eq!(of_copies.0, 2 * of_one.0);
    assert_eq!(of_copies.1[0], of_one.1[0].clone(), "the same load");
    assert_ne!(of_copies.1[1], of_one.1[1], "other work: it begins cold, on what was loaded");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let refused = |volumes: &str| refusal(&on(volumes), &set(&[]));
    let volume = |rest: &str| format!("[[volume]]\nname = \"x\"\n{rest}");
    insta::assert_snapshot!(
        "volumes_refused",
        [
            refused(&volume("kind = \"loop\"")),
            refused(&volume("kind = \"loop\"\nfilesystem = \"zfs\"")),
            refused(&volume("kind = \"loop\"\nfilesystem = \"raw\"\nmkfs = [\"-b\", \"4096\"]")),
            refused(&volume("kind = \"directory\"\npath = \"/mnt\"\nfilesystem = \"xfs\"")),
            refused(&volume("kind = \"device\"\nfilesystem = \"xfs\"")),
            refused(&volume("kind = \"loop\"\nfilesystem = \"xfs\"\ndiscard = true")),
            refused(&format!("{0}\n{0}", volume("kind = \"loop\"\nfilesystem = \"xfs\""))),
            refused(&volume("kind = \"loop\"\nfilesystem = \"raw\"")),
        ]
        .join("\n")
    );
}
