//! Tests with workers that are scripts: they are found, and describe themselves.

use super::*;

/// A worker as a shell script.
fn worker(dir: &Path, name: &str, script: &str) -> PathBuf {
    let (text, path) = (dir.join("script"), dir.join(format!("{PREFIX}{name}")));
    std::fs::write(&text, format!("#!/bin/sh\n{script}\n")).unwrap();
    // Another process writes the program: a file that a child of some thread still holds open for
    // writing cannot be executed.
    let status = Command::new("install").args(["-m", "755"]).arg(&text).arg(&path).status();
    assert!(status.unwrap().success());
    path
}

#[test]
fn the_first_directory_wins_and_only_programs_count() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let dirs = [first.path().to_owned(), second.path().to_owned()];
    let near = worker(first.path(), "lmdb", "");
    worker(second.path(), "lmdb", "");
    let far = worker(second.path(), "rocksdb", "");
    std::fs::write(first.path().join("kvdyno-rocksdb"), "not executable").unwrap();
    worker(first.path(), "lmdb.d", "");
    let all = find_all_in_dirs(&dirs);
    assert_eq!(all.keys().collect::<Vec<_>>(), ["lmdb", "rocksdb"]);
    assert_eq!((&all["lmdb"].path, &all["rocksdb"].path), (&near, &far));
    assert_eq!(find_in_dirs(&dirs, "rocksdb").unwrap(), Worker::from_program(far));
    let missing = find_in_dirs(&dirs, "not-installed").unwrap_err();
    assert!(missing.hint.unwrap().contains("found: lmdb, rocksdb"));
    let misspelt = find_in_dirs(&dirs, "rocksbd").unwrap_err();
    assert!(misspelt.hint.unwrap().contains("`rocksdb`"));
    assert!(find_in_dirs(&dirs, "../evil").is_err());
}

#[test]
fn a_crew_is_no_engine() {
    let dir = tempfile::tempdir().unwrap();
    let started_by = |launcher: &str| Crew { hosts: Vec::new(), launch: vec![launcher.to_owned()] };
    let dirs = [dir.path().to_owned()];
    // A launcher is found like any program: the directories of engines do not count.
    let launcher = worker(dir.path(), "launch", "");
    let missing = find_crew_in_dirs(&dirs, &started_by("kvdyno-launch")).unwrap_err();
    assert!(missing.message.contains("`kvdyno-launch`"), "{}", missing.message);
    let crew = started_by(&launcher.display().to_string());
    let missing = find_crew_in_dirs(&dirs, &crew).unwrap_err();
    assert!(missing.hint.unwrap().starts_with("`make crew`"));
    let program = worker(dir.path(), "crew", "");
    assert_eq!(find_crew_in_dirs(&dirs, &crew).unwrap(), program);
    let launcher = Worker::from_program(launcher);
    assert_eq!(find_all_in_dirs(&dirs), BTreeMap::from([("launch".to_owned(), launcher)]));
}

#[test]
fn a_plugin_is_run_by_its_program_unless_the_engine_has_one() {
    let dir = tempfile::tempdir().unwrap();
    let dirs = [dir.path().to_owned()];
    let plugin = dir.path().join("libkvdyno-of-c.so");
    std::fs::write(&plugin, "code").unwrap();
    std::fs::write(dir.path().join("libkvdyno-lmdb.so"), "code").unwrap();
    let lmdb = worker(dir.path(), "lmdb", "");
    let missing = find_in_dirs(&dirs, "of-c").unwrap_err();
    assert!(missing.message.contains("`kvdyno-plugin`"), "{}", missing.message);
    assert!(!find_all_in_dirs(&dirs).contains_key("of-c"));
    let path = worker(dir.path(), PLUGIN, "");
    let source = CodeSource::Library(plugin);
    assert_eq!(find_in_dirs(&dirs, "of-c").unwrap(), Worker { path, source });
    assert_eq!(find_in_dirs(&dirs, "lmdb").unwrap(), Worker::from_program(lmdb));
    let all = find_all_in_dirs(&dirs);
    assert!(all.contains_key("of-c") && !all.contains_key(PLUGIN), "{all:?}");
}

#[test]
fn another_protocol_is_refused_with_both_numbers_and_the_remedy() {
    let dir = tempfile::tempdir().unwrap();
    let path = worker(dir.path(), "old", "echo '{\"protocol\": 0}'");
    let error = describe(&path, &CodeSource::Itself).unwrap_err();
    let complaint = crate::exit::complaint(&error).unwrap();
    let both = format!("protocol 0, this kvdyno has {PROTOCOL}");
    assert!(complaint.message.contains(&both), "{}", complaint.message);
    assert!(complaint.hint.is_some());
}

#[test]
fn a_worker_that_hangs_or_fails_or_babbles_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let hangs = worker(dir.path(), "hangs", "exec sleep 60");
    let error =
        describe_within(&hangs, &CodeSource::Itself, Duration::from_millis(50)).unwrap_err();
    assert!(format!("{error:#}").contains("0.05 s"), "{error:#}");
    let fails = worker(dir.path(), "fails", "echo 'error: no library' >&2; exit 7");
    let error = format!("{:#}", describe(&fails, &CodeSource::Itself).unwrap_err());
    assert!(error.ends_with("7: no library"), "{error}");
    let babbles = worker(dir.path(), "babbles", "echo hello");
    let error = describe(&babbles, &CodeSource::Itself).unwrap_err().to_string();
    assert!(error.contains("kvdyno-babbles describe"), "{error}");
    // A process that the worker leaves behind holds its pipes open.
    let script = format!("sleep 600 & echo '{{\"protocol\": {PROTOCOL}}}'; exit 7");
    let leaves = worker(dir.path(), "leaves", &script);
    let error = format!("{:#}", describe(&leaves, &CodeSource::Itself).unwrap_err());
    assert!(error.contains("ended with code 7"), "{error}");
}
