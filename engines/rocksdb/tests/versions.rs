//! The worker with each library that is installed, and with some that will not do. One process runs
//! one `RocksDB`, so the worker is started anew for each.

use kvdyno_engine::library;
use kvdyno_testing::report_skip;
use std::path::Path;
use std::process::{Command, Output};

fn worker(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kvdyno-rocksdb"));
    command.args(arguments);
    command
}

fn described(path: &Path) -> serde_json::Value {
    let output = worker(&["describe", "--library"]).arg(path).output().expect("the worker starts");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let mut worker: serde_json::Value =
        serde_json::from_slice(&output.stdout).expect("a description is JSON");
    worker["engine"].take()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What is installed; says so where nothing is.
fn libraries(test: &str) -> Vec<library::Installed> {
    let libraries = library::list_installed("rocksdb");
    if libraries.is_empty() {
        report_skip("rocksdb", test, "no library of RocksDB is installed");
    }
    libraries
}

/// The worker refuses to begin, and says so on standard error.
fn refused(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stdout));
    text(&output.stderr)
}

#[test]
fn every_installed_library_conforms() {
    let libraries = libraries("every_installed_library_conforms");
    for installed in libraries {
        let description = described(&installed.path);
        let number = installed.version.split('-').next().unwrap();
        assert_eq!(description["version"], number, "{}", installed.path.display());
        assert_eq!(description["build"]["build"], installed.build.as_str());
        let scratch = tempfile::tempdir().unwrap();
        let mut checked = worker(&["conformance"]);
        let checked = checked.arg(scratch.path()).arg("--library").arg(&installed.path);
        let output = checked.output().unwrap();
        let report = text(&output.stdout);
        assert!(output.status.success(), "{}: {report}{}", number, text(&output.stderr));
    }
}

#[test]
fn a_library_of_the_users_is_called_theirs() {
    let libraries = libraries("a_library_of_the_users_is_called_theirs");
    let Some(newest) = libraries.first() else { return };
    let scratch = tempfile::tempdir().unwrap();
    let copy = scratch.path().join("librocksdb.so");
    std::fs::copy(&newest.path, &copy).unwrap();
    let description = described(&copy);
    assert_eq!(description["build"]["build"], "yours");
    assert_eq!(description["version"], described(&newest.path)["version"]);
    assert_eq!(description["capabilities"]["library"], true);
}

#[test]
fn without_a_library_the_remedy_is_named() {
    let nowhere = tempfile::tempdir().unwrap();
    let mut describe = worker(&["describe"]);
    describe.env_remove(library::PATH_VARIABLE).env("XDG_CACHE_HOME", nowhere.path());
    let message = refused(&describe.output().unwrap());
    assert!(message.contains("`kvdyno engines get rocksdb`"), "{message}");
}

#[test]
fn what_is_no_library_of_rocksdb_is_refused_by_name() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("librocksdb.so");
    let ask = || refused(&worker(&["describe", "--library"]).arg(&file).output().unwrap());
    assert!(ask().contains("No such file"), "{}", ask());
    std::fs::write(&file, "no code").unwrap();
    let message = ask();
    assert!(message.contains(&*file.to_string_lossy()), "{message}");
    assert!(message.contains("`kvdyno engines get rocksdb`"), "{message}");
}

/// Any other library does for one that is too old.
#[test]
fn a_function_that_is_missing_is_named() {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let mut mapped = maps.lines().filter_map(|line| line.split_ascii_whitespace().nth(5));
    let libc = mapped.find(|path| path.contains("/libc.so") || path.contains("/libc-")).unwrap();
    let output = worker(&["describe", "--library", libc]).output().unwrap();
    let message = refused(&output);
    for expected in [
        "version unknown",
        "no function `rocksdb_options_create`",
        "6.29",
        "`kvdyno engines get rocksdb`",
        "libc",
    ] {
        assert!(message.contains(expected), "{expected}: {message}");
    }
}
