//! Tests of the engines of one table: versions, libraries, and lists of options.

use super::*;
use kvdyno_record::library::Library;
use kvdyno_record::plan::Case;

/// Returns `SMALL` with another engine table.
fn with(engine: &str) -> String {
    let text = SMALL.replacen("[[engine]]\nname = \"null\"", engine, 1);
    assert_ne!(text, SMALL);
    text
}

/// Returns engines with `RocksDB` as a library in several versions, and a local build.
fn installed() -> Engines {
    let mut engines = engines();
    engine_of(&mut engines, "rocksdb").capabilities.library = true;
    let plain = WorkerSpec { engine: "rocksdb".to_owned(), pick: Pick::Newest };
    let worker = engines.workers[&plain].clone().unwrap();
    let version_worker = |pick: Pick, version: &str, build: &str| {
        let mut worker = worker.clone();
        worker.description.engine.version = version.to_owned();
        worker.library = Some(Library {
            version: version.to_owned(),
            build: build.to_owned(),
            sha256: format!("{version}-{build}"),
            source: None,
            path: format!("/libraries/{version}/{build}.so").into(),
        });
        (WorkerSpec { engine: "rocksdb".to_owned(), pick }, Ok(worker))
    };
    let version =
        |version: &str| version_worker(Pick::Version(version.to_owned()), version, "official");
    let mut old = version("6.29.5");
    if let (_, Ok(worker)) = &mut old {
        // An option that was added in a later version.
        worker.description.engine.options.retain(|option| option.name != "bloom_bits");
    }
    let missing = |engine: &str, version: &str, why| {
        let pick = Pick::Version(version.to_owned());
        (WorkerSpec { engine: engine.to_owned(), pick }, Err(why))
    };
    let all = ["11.8.1", "6.29.5"].map(str::to_owned).to_vec();
    let none = "no library of RocksDB is installed".to_owned();
    engines.workers.extend([
        version_worker(Pick::Newest, "11.8.1", "official"),
        version_worker(Pick::File("/home/me/librocksdb.so".into()), "11.9.0", "yours"),
        (
            WorkerSpec { engine: "rocksdb".to_owned(), pick: Pick::File("/lib/libz.so".into()) },
            Err(Missing::Unusable("/lib/libz.so has no function `rocksdb_open`".to_owned())),
        ),
        version("11.8.1"),
        version("10.10.1"),
        old,
        missing("rocksdb", "9.10.0", Missing::NotInstalled { installed: all }),
        missing("lmdb", "0.9.31", Missing::TakesNone { version: "0.9.70".to_owned() }),
        missing("wiredtiger", "11.3.1", Missing::NoLibrary(none)),
    ]);
    engines
}

fn expanded(engine: &str, overrides: &Overrides) -> Result<Vec<Case>, String> {
    let suite = Suite::parse("suite.toml", &with(engine), overrides);
    let plan = suite.and_then(|suite| expand(&suite, &installed(), &HOST));
    plan.map(|plan| plan.cases).map_err(|error| error.render(false))
}

/// Returns the labels in the order of the tables, with the version of each.
fn loaded(engine: &str, overrides: &Overrides) -> Vec<(String, String)> {
    let mut cases = expanded(engine, overrides).unwrap();
    cases.sort_by_key(|case| case.listed);
    let version = |case: &Case| {
        let library = case.library.as_ref();
        library.map_or_else(|| "none".to_owned(), Library::to_text)
    };
    let mut labels: Vec<_> = cases.iter().map(|case| (case.label.clone(), version(case))).collect();
    labels.dedup();
    labels
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(label, labels)| ((*label).to_owned(), (*labels).to_owned())).collect()
}

#[test]
fn each_version_is_an_engine_of_its_own() {
    let none = Overrides::default();
    let engine = "[[engine]]\nname = \"rocksdb\"\nversions = [\"6.29.5\", \"11.8.1\"]\n\
                  [[engine]]\nname = \"rocksdb\"\nlabel = \"mine\"\n\
                  library = \"/home/me/librocksdb.so\"\n\
                  [[engine]]\nname = \"lmdb\"";
    let all = [
        ("rocksdb-6.29.5", "6.29.5 (official)"),
        ("rocksdb-11.8.1", "11.8.1 (official)"),
        ("mine", "11.9.0 (yours)"),
        ("lmdb", "none"),
    ];
    assert_eq!(loaded(engine, &none), pairs(&all));
    let only = |name: &str| Overrides { engines: vec![name.to_owned()], ..none.clone() };
    assert_eq!(loaded(engine, &only("rocksdb")), pairs(&all[..3]));
    assert_eq!(loaded(engine, &only("rocksdb-11.8.1")), pairs(&all[1..2]));
    assert_eq!(loaded(engine, &only("mine")), pairs(&all[2..3]));
}

#[test]
fn one_version_keeps_the_name_and_none_is_the_newest() {
    let none = Overrides::default();
    let engine = "[[engine]]\nname = \"rocksdb\"\nversion = \"6.29.5\"";
    assert_eq!(loaded(engine, &none), pairs(&[("rocksdb", "6.29.5 (official)")]));
    let newest = pairs(&[("rocksdb", "11.8.1 (official)")]);
    assert_eq!(loaded("[[engine]]\nname = \"rocksdb\"", &none), newest);
    let single = set(&["engine.rocksdb.versions=[\"10.10.1\"]", "engine.rocksdb.version="]);
    assert_eq!(loaded(engine, &single), pairs(&[("rocksdb-10.10.1", "10.10.1 (official)")]));
    let two = set(&["engine.rocksdb.versions=6.29.5,11.8.1", "engine.rocksdb.version="]);
    let labels = [("rocksdb-6.29.5", "6.29.5 (official)"), ("rocksdb-11.8.1", "11.8.1 (official)")];
    assert_eq!(loaded(engine, &two), pairs(&labels));
}

#[test]
fn another_version_of_an_engine_does_equal_work() {
    let keys = |engine: &str| -> Vec<String> {
        let cases = expanded(engine, &Overrides::default()).unwrap();
        cases.into_iter().map(|case| case.key).collect()
    };
    let newest = keys("[[engine]]\nname = \"rocksdb\"");
    assert_eq!(keys("[[engine]]\nname = \"rocksdb\"\nversion = \"10.10.1\""), newest);
    let mine = "[[engine]]\nname = \"rocksdb\"\nlibrary = \"/home/me/librocksdb.so\"";
    assert_eq!(keys(mine), newest);
}

#[test]
fn lists_of_options_are_axes() {
    let engine = "[[engine]]\nname = \"rocksdb\"\nversions = [\"10.10.1\", \"11.8.1\"]\n\
                  options = { block_cache = [\"1GiB\", \"25%\"], bloom_bits = [10] }";
    let cases = expanded(engine, &Overrides::default()).unwrap();
    let mut labels: Vec<_> = cases.iter().map(|case| (case.listed, case.label.as_str())).collect();
    labels.sort_unstable();
    labels.dedup_by_key(|(_, label)| *label);
    let labels: Vec<_> = labels.into_iter().map(|(_, label)| label).collect();
    assert_eq!(
        labels,
        [
            "rocksdb-10.10.1 block_cache=1GiB bloom_bits=10",
            "rocksdb-10.10.1 block_cache=25% bloom_bits=10",
            "rocksdb-11.8.1 block_cache=1GiB bloom_bits=10",
            "rocksdb-11.8.1 block_cache=25% bloom_bits=10",
        ]
    );
    let case = cases.iter().find(|case| case.label.starts_with("rocksdb-11.8.1 block_cache=1"));
    let case = case.unwrap();
    assert_eq!(case.options.values["block_cache"], Value::Integer(GIB));
    assert!(case.id.contains("_rocksdb-11.8.1-block_cache-1GiB-bloom_bits-10_"), "{}", case.id);
    let plain = "[[engine]]\nname = \"rocksdb\"";
    let set = set(&["engine.rocksdb.options.block_cache=[\"1GiB\", \"4GiB\"]"]);
    let newest = "11.8.1 (official)";
    let expected = [("rocksdb block_cache=1GiB", newest), ("rocksdb block_cache=4GiB", newest)];
    assert_eq!(loaded(plain, &set), pairs(&expected));
}

#[test]
fn what_cannot_be_loaded_is_refused_with_its_remedy() {
    let refused: Vec<String> = [
        "name = \"rocksdb\"\nversions = [\"11.8.1\", \"9.10.0\"]",
        "name = \"lmdb\"\nversion = \"0.9.31\"",
        "name = \"wiredtiger\"\nversion = \"11.3.1\"",
        "name = \"rocksdb\"\nlibrary = \"/lib/libz.so\"",
        "name = \"rocksdb\"\nversions = [\"11.8.1\", \"11.8.1\"]\nlibrary = \"/a.so\"",
        "name = \"rocksdb\"\nversions = []",
        "name = \"rocksdb\"\nversion = 9.10",
        "name = \"rocksdb\"\nversion = \"../../x\"",
        "name = \"rocksdb\"\nlibrary = \"\"\nlabel = \"My Build\"",
        "name = \"rocksdb\"\nversions = [\"11.8.1\", \"6.29.5\"]\noptions = { bloom_bits = 10 }",
        "name = \"rocksdb\"\noptions = { block_cache = [\"1GiB\", \"1GiB\", \"half\"] }",
    ]
    .into_iter()
    .map(|table| expanded(&format!("[[engine]]\n{table}"), &Overrides::default()).unwrap_err())
    .collect();
    insta::assert_snapshot!(refused.join("\n"));
}

#[test]
fn lists_that_multiply_past_reason_are_refused() {
    let values: Vec<String> = (1..=40).map(|n| n.to_string()).collect();
    let values = values.join(", ");
    let engine = format!(
        "[[engine]]\nname = \"rocksdb\"\n[engine.options]\nbloom_bits = [{values}]\n\
         max_write_buffer_number = [{values}]"
    );
    let refused = expanded(&engine, &Overrides::default()).unwrap_err();
    assert!(refused.contains("its lists expand to 1600 engines"), "{refused}");
}

#[test]
fn a_job_of_the_drive_has_no_lists() {
    let text = EVERYTHING.replacen("registered = false", "registered = [false, true]", 1);
    let refused = refusal(&text, &Overrides::default());
    assert!(refused.contains("option `registered` is a list"), "{refused}");
}

/// The versions of a run get a value that all of them know: otherwise they would read by different
/// calls, and differ by the calls.
#[test]
fn versions_of_one_run_take_the_word_that_all_know() {
    let mut engines = installed();
    for (needed, worker) in &mut engines.workers {
        let Ok(worker) = worker else { continue };
        let is_old = needed.pick == Pick::Version("6.29.5".to_owned());
        let words = if is_old { &["pinned"][..] } else { &["copied", "pinned"] };
        worker.description.engine.options.push(OptionSpec::choice("gets", words, ""));
    }
    let plan = |versions: &str, arguments: &[&str]| {
        let text = with(&format!("[[engine]]\nname = \"rocksdb\"\nversions = [{versions}]"));
        let suite = Suite::parse("suite.toml", &text, &set(arguments)).unwrap();
        expand(&suite, &engines, &HOST)
    };
    let calls = |plan: &Plan| {
        let gets = |case: &Case| case.options.text("gets").unwrap().to_owned();
        plan.cases.iter().map(gets).collect::<std::collections::BTreeSet<_>>()
    };
    let both = plan("\"6.29.5\", \"11.8.1\"", &[]).unwrap();
    assert_eq!(Vec::from_iter(calls(&both)), ["pinned"]);
    let expected = "rocksdb in all versions: gets = pinned, because some versions lack copied";
    assert!(both.sized.iter().any(|note| note == expected), "{:?}", both.sized);
    let new = plan("\"10.10.1\", \"11.8.1\"", &[]).unwrap();
    assert_eq!(Vec::from_iter(calls(&new)), ["copied"]);
    assert!(new.sized.iter().all(|note| !note.contains("gets")));
    // Settings of the suite are not changed: the old version lacks this option.
    let set = plan("\"6.29.5\", \"11.8.1\"", &["engine.rocksdb.options.gets=copied"]);
    assert!(set.unwrap_err().render(false).contains("`copied` does not fit option `gets`"));
}
