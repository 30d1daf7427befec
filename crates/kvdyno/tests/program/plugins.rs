//! Engines that are plugins: what `new-engine` writes in other languages passes the kit and is run,
//! and one that crashes costs its own cases alone.

use super::scratch::{Scratch, outcomes, records};
use super::suites::reads;
use super::workers;
use kvdyno_record::engine::library;
use kvdyno_testing::report_skip;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Whether plugins can be run, by the program that was built beside the engines.
fn can_run(scratch: &Scratch, test: &str) -> bool {
    let available = workers::needs_worker("plugin", test);
    if available {
        scratch.link("plugin", &workers::find("plugin").unwrap());
    }
    available
}

/// Whether the compiler is there.
fn can_compile(compiler: &str, test: &str) -> bool {
    let version = if compiler == "go" { "version" } else { "--version" };
    let runs = Command::new(compiler).arg(version).output().is_ok_and(|o| o.status.success());
    if !runs {
        report_skip("compilers", test, &format!("no `{compiler}`"));
    }
    runs
}

/// Writes an engine called `mine`, compiles it, puts it through the kit, and returns its file.
#[track_caller]
fn make(scratch: &Scratch, language: &str) -> PathBuf {
    fs::create_dir(scratch.path("my code")).unwrap();
    let made = scratch.run(&["new-engine", "mine", "--language", language, "--into", "my code"]);
    let dir = scratch.path("my code/kvdyno-mine");
    made.assert_code(0).assert_says(&format!("wrote {}", dir.display()));
    made.assert_says("make test KVDYNO_ENGINE_PATH=$PWD kvdyno run quick --engine mine");
    let mut make = Command::new("make");
    make.arg("test").current_dir(&dir).env_remove("CFLAGS").env_remove("CXXFLAGS");
    // Warnings of a compiler are a mistake in a template.
    make.args(["CFLAGS=-O2 -Wall -Wextra -Werror", "CXXFLAGS=-O2 -Wall -Wextra -Werror"]);
    let output = make.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let printed = text(&output.stdout) + &text(&output.stderr);
    assert!(output.status.success(), "{language}: {printed}");
    assert!(
        printed.contains("conformance of mine 0.1.0") && printed.contains(" 0 failed"),
        "{printed}"
    );
    let plugin = dir.join("libkvdyno-mine.so");
    fill_a_file(scratch, language, &plugin);
    plugin
}

/// After a write that failed half way, others are not lost behind it.
#[track_caller]
fn fill_a_file(scratch: &Scratch, language: &str, plugin: &Path) {
    let source = Path::new(env!("KVDYNO_SOURCE")).join("engines/plugin/tests/full.c");
    let (program, dir) = (scratch.path("full"), scratch.path("full-database"));
    let mut compiler = Command::new("cc");
    compiler.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-o"]).arg(&program).arg(source);
    assert!(compiler.arg("-ldl").status().unwrap().success());
    fs::create_dir(&dir).unwrap();
    let output = Command::new(program).arg(plugin).arg(&dir).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{language}: {printed}");
    fs::remove_dir_all(dir).unwrap();
}

/// It is found beside other engines, and runs as they do.
#[track_caller]
fn run(scratch: &Scratch, plugin: &Path) {
    run_as(scratch, "mine", "async", plugin);
}

#[track_caller]
fn run_as(scratch: &Scratch, engine: &str, class: &str, plugin: &Path) {
    let durability = format!("engine.{engine}.durability={class}");
    let mut command = scratch.kvdyno(&[
        "run",
        "quick",
        "--engine",
        engine,
        "--set",
        &durability,
        "--no-ram-limit",
        "--scale",
        "1/1000",
        "--duration",
        "200ms",
        "--threads",
        "2",
        "--trials",
        "1",
    ]);
    let dirs = [&scratch.path("engines"), plugin.parent().unwrap()];
    let dirs = std::env::join_paths(dirs).unwrap();
    command.env("KVDYNO_ENGINE_PATH", &dirs);
    scratch.start(command).wait().assert_ok();
    let records = records(&scratch.only_run());
    assert_eq!(records.len(), 3, "{records:?}");
    for record in records.values() {
        assert_eq!((record.case.engine.as_str(), record.outcome.as_str()), (engine, "done"));
        // Which plugin it was stays in the record.
        let library = record.worker.as_ref().unwrap().library.as_ref().unwrap();
        assert_eq!((library.path.as_path(), library.build.as_str()), (plugin, "yours"));
    }
    scratch.run(&["check"]).assert_says("verify");
    // Found there again by its checksum.
    let mut again = scratch.kvdyno(&["rerun", "--plan"]);
    again.env("KVDYNO_ENGINE_PATH", &dirs);
    scratch.start(again).wait().assert_ok();
    scratch.run(&["rerun", "--plan"]).assert_code(2).assert_says("--library");
    scratch.assert_nothing_left();
}

#[test]
fn a_new_engine_in_c_passes_the_kit_and_is_run() {
    let (scratch, test) = (Scratch::new(), "a_new_engine_in_c_passes_the_kit_and_is_run");
    if can_run(&scratch, test) && can_compile("cc", test) {
        let plugin = make(&scratch, "c");
        run(&scratch, &plugin);
    }
}

#[test]
fn a_new_engine_in_cpp_passes_the_kit() {
    let (scratch, test) = (Scratch::new(), "a_new_engine_in_cpp_passes_the_kit");
    if can_run(&scratch, test) && can_compile("c++", test) {
        make(&scratch, "c++");
    }
}

#[test]
fn a_plugin_that_crashes_costs_its_own_cases() {
    let (scratch, test) = (Scratch::new(), "a_plugin_that_crashes_costs_its_own_cases");
    if !can_run(&scratch, test) || !can_compile("cc", test) {
        return;
    }
    let source = Path::new(env!("KVDYNO_SOURCE")).join("engines/plugin/tests/faulty.c");
    let plugin = scratch.path("engines/libkvdyno-faulty.so");
    let compile = |fault: &str| {
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-o"]).arg(&plugin).arg(&source);
        compiler.arg(format!("-DFAULT={fault}")).arg("-lpthread");
        assert!(compiler.status().unwrap().success());
    };
    compile("CRASHES_IN_OPEN");
    let text = reads().engine("faulty").text();
    let text = format!("{text}\n[[engine]]\nname = \"null\"\ndurability = \"none\"\n");
    let text = text.replace("name = \"faulty\"", "name = \"faulty\"\ndurability = \"none\"");
    scratch.write("s.toml", &text);
    scratch.run(&["run", "s.toml"]).assert_says("Faulty was killed (11)");
    let outcomes = outcomes(&scratch.only_run());
    assert_eq!(outcomes.len(), 4);
    for (case, word) in &outcomes {
        assert_eq!(*word == "done", case.contains("null"), "{outcomes:?}");
    }

    compile("OTHER_THREAD");
    scratch.run(&["run", "s.toml"]).assert_says("it called back from another thread");

    // One that cannot be asked what it is: refused before anything is touched.
    compile("OTHER_VERSION");
    let refused = scratch.run(&["run", "s.toml"]);
    refused.assert_code(2).assert_says("version 99 of kvdyno_engine.h");
    scratch.run(&["engines"]).assert_says("faulty cannot be used");
    scratch.assert_nothing_left();
}

/// It need not be installed, nor be called as its engine.
#[test]
fn a_plugin_of_the_users_is_run_by_its_file_alone() {
    let (scratch, test) = (Scratch::new(), "a_plugin_of_the_users_is_run_by_its_file_alone");
    if !can_run(&scratch, test) || !can_compile("cc", test) {
        return;
    }
    let sources = Path::new(env!("KVDYNO_SOURCE")).join("engines/plugin");
    let mut compiler = Command::new("cc");
    compiler.args(["-std=c99", "-shared", "-fPIC", "-I"]).arg(sources.join("include"));
    compiler.arg("-o").arg(scratch.path("of-today.so")).arg(sources.join("null/null.c"));
    assert!(compiler.status().unwrap().success());
    let suite = |engine: &str| {
        let named =
            format!("name = \"{engine}\"\nlibrary = \"of-today.so\"\ndurability = \"none\"");
        let text = reads().engine(engine).text();
        scratch.write("s.toml", &text.replace(&format!("name = \"{engine}\""), &named));
    };
    suite("null-c");
    scratch.run(&["run", "s.toml"]).assert_ok();
    assert!(outcomes(&scratch.only_run()).values().all(|word| *word == "done"));
    scratch.run(&["rerun", "--library", "of-today.so"]).assert_ok();
    suite("yours");
    let refused = scratch.run(&["run", "s.toml"]);
    refused.assert_code(2).assert_says("of-today.so: expected engine `yours`, found");
    scratch.assert_nothing_left();
}

/// Of the system's library, in a store of its own.
#[test]
fn leveldb_is_linked_with_its_plugin() {
    let (scratch, test) = (Scratch::new(), "leveldb_is_linked_with_its_plugin");
    if !can_run(&scratch, test) || !can_compile("c++", test) {
        return;
    }
    if !Path::new("/usr/include/leveldb/db.h").exists() {
        return report_skip("leveldb", test, "libleveldb-dev is not installed");
    }
    let run = |arguments: &[&str]| {
        let mut command = scratch.kvdyno(arguments);
        command.env("XDG_CACHE_HOME", scratch.path("cache")).env_remove("KVDYNO_LIBRARY_PATH");
        scratch.start(command).wait()
    };
    let text = reads().engine("leveldb").text();
    scratch.write("s.toml", &text);
    run(&["run", "s.toml"]).assert_code(2).assert_says("`kvdyno engines list` shows others to get");
    run(&["engines", "list"]).assert_says("`kvdyno engines get leveldb` (the system's package)");
    let build = ["engines", "build", "leveldb", "--prefix", "/usr", "--output", "mine.so"];
    run(&build).assert_ok().assert_says("mine.so");
    let named = "name = \"leveldb\"\nlibrary = \"mine.so\"";
    scratch.write("mine.toml", &text.replace("name = \"leveldb\"", named));
    run(&["plan", "mine.toml", "--json"]).assert_ok().assert_says("mine.so");
    run(&["engines", "get", "leveldb"]).assert_ok().assert_says("libkvdyno-leveldb.so");
    run(&["engines", "leveldb"]).assert_ok().assert_says("WriteOptions.sync = true");
    run(&["run", "s.toml"]).assert_ok();
    assert!(outcomes(&scratch.only_run()).values().all(|word| *word == "done"));
}

mod soak {
    use super::*;

    #[test]
    fn a_new_engine_in_go_passes_the_kit_and_is_run() {
        let (scratch, test) = (Scratch::new(), "a_new_engine_in_go_passes_the_kit_and_is_run");
        if can_run(&scratch, test) && can_compile("go", test) {
            let plugin = make(&scratch, "go");
            run(&scratch, &plugin);
        }
    }

    /// Each class, option and preset, as it was installed.
    #[test]
    fn installed_plugins_conform() {
        let (scratch, test) = (Scratch::new(), "installed_plugins_conform");
        if !can_run(&scratch, test) {
            return;
        }
        for (engine, need) in [
            ("badger", "go-engines"),
            ("bbolt", "go-engines"),
            ("leveldb", "leveldb"),
            ("pebble", "go-engines"),
            ("tidesdb", "tidesdb"),
            ("wiredtiger", "wiredtiger"),
        ] {
            let Some(newest) = library::list_installed(engine).into_iter().next() else {
                report_skip(need, test, &format!("`kvdyno engines get {engine}` was not done"));
                continue;
            };
            let dir = scratch.path(engine);
            fs::create_dir(&dir).unwrap();
            let mut kit = Command::new(workers::find("plugin").unwrap());
            let kit = kit.arg("--library").arg(&newest.path).arg("conformance").arg(&dir);
            let output = kit.output().unwrap();
            let printed = String::from_utf8_lossy(&output.stdout);
            assert!(
                output.status.success() && printed.contains(" 0 failed"),
                "{engine}: {printed}"
            );
        }
    }

    /// With a build of the user's: `PERCONAFT` names where it was installed. A close waits for the
    /// engine's threads, a second or two, so the kit takes minutes.
    #[test]
    fn perconaft_conforms_and_is_run() {
        let (scratch, test) = (Scratch::new(), "perconaft_conforms_and_is_run");
        let Some(prefix) = std::env::var_os("PERCONAFT") else {
            report_skip("perconaft", test, "PERCONAFT is not set");
            return;
        };
        if !can_run(&scratch, test) || !can_compile("cc", test) {
            return;
        }
        let sources = Path::new(env!("KVDYNO_SOURCE")).join("engines/plugin/perconaft");
        let dir = scratch.path("perconaft");
        fs::create_dir(&dir).unwrap();
        let mut make = Command::new("make");
        make.arg("-f").arg(sources.join("Makefile")).arg("test").current_dir(&dir);
        make.env("PERCONAFT", prefix).env("KVDYNO_PLUGIN", workers::find("plugin").unwrap());
        make.args(["CFLAGS=-O2 -Werror"]);
        let output = make.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let printed = text(&output.stdout) + &text(&output.stderr);
        assert!(output.status.success() && printed.contains(" 0 failed"), "{printed}");
        run_as(&scratch, "perconaft", "commit", &dir.join("libkvdyno-perconaft.so"));
    }

    /// Plugins are chosen by their versions, as libraries are.
    #[test]
    fn versions_of_an_engine_in_go_stand_in_one_run() {
        let (scratch, test) = (Scratch::new(), "versions_of_an_engine_in_go_stand_in_one_run");
        if !can_run(&scratch, test) || !can_compile("go", test) {
            return;
        }
        let installed = library::list_installed("bbolt");
        let has = |version: &str| installed.iter().any(|library| library.version == version);
        if !has("1.4.3") || !has("1.5.0") {
            report_skip("go-engines", test, "`kvdyno engines get bbolt 1.4.3 1.5.0` was not done");
            return;
        }
        let text = reads().engine("bbolt").text();
        let both = "name = \"bbolt\"\nversions = [\"1.4.3\", \"1.5.0\"]";
        scratch.write("s.toml", &text.replace("name = \"bbolt\"", both));
        scratch.run(&["run", "s.toml"]).assert_ok();
        let records = records(&scratch.only_run());
        let mut versions: Vec<String> = Vec::new();
        for record in records.values() {
            assert_eq!(record.outcome.as_str(), "done");
            versions.push(record.worker.as_ref().unwrap().description.engine.version.clone());
        }
        versions.sort();
        versions.dedup();
        assert_eq!(versions, ["1.4.3", "1.5.0"]);
        scratch.assert_nothing_left();
    }

    #[test]
    fn a_new_engine_in_zig_passes_the_kit() {
        let (scratch, test) = (Scratch::new(), "a_new_engine_in_zig_passes_the_kit");
        let version = Command::new("zig").arg("version").output();
        if !version.is_ok_and(|version| version.status.success()) {
            report_skip("zig", test, "no `zig`: `pip install ziglang` has one");
        } else if can_run(&scratch, test) {
            make(&scratch, "zig");
        }
    }
}
