//! Engines that are loaded as libraries: which file runs, what is kept of that, and what is said
//! where it is not there. The engine is the null engine's, and its libraries are files that hold a
//! version; `RocksDB`'s own are tested at the end, where they are installed.

use super::scratch::{Scratch, record, records};
use super::suites::{GET, Suite, suite};
use super::workers::{self, needs, report_skip};
use kvdyno_record::case::CaseRecord;
use kvdyno_record::files::RunDir;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A scratch directory with engine `lib`, and versions of it that are installed.
fn with_versions(versions: &[&str]) -> Scratch {
    let scratch = Scratch::new();
    let mut description = workers::null_description();
    description["engine"]["name"] = "lib".into();
    description["engine"]["version"] = "@VERSION@".into();
    description["engine"]["capabilities"]["library"] = true.into();
    scratch.write("engines/lib.json", &description.to_string());
    let null = workers::null().display().to_string();
    scratch.script(
        "lib",
        &format!(
            "command=$1 library=$3\n\
             [ -n \"$library\" ] || {{ echo 'error: no library of lib' >&2; exit 2; }}\n\
             version=$(cat \"$library\")\n\
             case $version in [0-9]*) ;; *) echo \"error: $library is none\" >&2; exit 2 ;; esac\n\
             case $command in\n\
             describe) sed \"s/@VERSION@/$version/\" \"$(dirname \"$0\")/lib.json\" ;;\n\
             run) exec {null} run ;;\n\
             esac\n"
        ),
    );
    for version in versions {
        install(&scratch, version, version);
    }
    scratch
}

fn install(scratch: &Scratch, dir: &str, version: &str) -> PathBuf {
    let dir = scratch.path(&format!("libraries/lib/{dir}"));
    fs::create_dir_all(&dir).unwrap();
    let path = dir.join("lib.so");
    fs::write(&path, version).unwrap();
    path
}

/// The program, with the libraries of the scratch directory and no others.
fn kvdyno(scratch: &Scratch, arguments: &[&str]) -> Command {
    let mut command = scratch.kvdyno(arguments);
    command.env("KVDYNO_LIBRARY_PATH", scratch.path("libraries"));
    command.env("XDG_CACHE_HOME", scratch.path("cache"));
    command
}

fn run(scratch: &Scratch, arguments: &[&str]) -> super::scratch::Done {
    scratch.start(kvdyno(scratch, arguments)).wait()
}

fn short() -> Suite {
    let suite = suite().data("records = 500\nvalue_bytes = 100").run("database = \"fresh\"");
    suite.load("batch = 500").measure("duration = \"120ms\"").role("readers", GET)
}

#[test]
fn each_case_is_run_with_its_library_and_the_record_knows_which() {
    let scratch = with_versions(&["1.0.0", "2.0.0"]);
    let mine = scratch.write("mine.so", "2.1.0");
    let versions = "[[engine]]\nname = \"lib\"\nversions = [\"1.0.0\", \"2.0.0\"]\n\
                    [[engine]]\nname = \"lib\"\nlabel = \"mine\"\nlibrary = \"mine.so\"\n";
    let text = short().text();
    scratch.write("s.toml", &text.replacen("[[phase]]", &format!("{versions}[[phase]]"), 1));
    run(&scratch, &["run", "s.toml"]).assert_ok();
    let dir = scratch.only_run();
    let cases = records(&dir);
    assert_eq!(cases.len(), 3, "{:?}", cases.keys());
    for (label, version, build) in [
        ("lib-1.0.0", "1.0.0", "yours"),
        ("lib-2.0.0", "2.0.0", "yours"),
        ("mine", "2.1.0", "yours"),
    ] {
        let case = record(&dir, &format!("_{label}_t1"));
        let library = case.case.library.clone().unwrap();
        assert_eq!((library.version.as_str(), library.build.as_str()), (version, build));
        let worker = case.worker.unwrap();
        assert_eq!(worker.library.unwrap(), library);
        assert_eq!(worker.description.engine.version, version);
    }
    assert_eq!(record(&dir, "_mine_").case.library.unwrap().path, mine.canonicalize().unwrap());
    run(&scratch, &["check"]).assert_ok();
    let json = run(&scratch, &["show", "--json"]).json();
    let versions = json["history"][0]["versions"].as_array().unwrap();
    assert_eq!(versions.len(), 2, "{versions:?}");
    scratch.assert_nothing_left();
}

#[test]
fn what_is_not_installed_is_refused_with_the_command_that_fetches_it() {
    let scratch = with_versions(&["1.0.0"]);
    let text = short().engine("lib").text();
    scratch.write("s.toml", &text);
    let set = "engine.lib.versions=[\"1.0.0\", \"3.0.0\", \"4.0.0\"]";
    for command in ["plan", "run"] {
        run(&scratch, &[command, "s.toml", "--set", set])
            .assert_code(2)
            .assert_says("kvdyno engines get lib 3.0.0 4.0.0");
    }
    assert!(scratch.runs().is_empty());
    // The newest of those that are there, where nothing is said.
    install(&scratch, "10.0.0", "10.0.0");
    run(&scratch, &["plan", "s.toml", "--json"]).assert_says("\"version\": \"10.0.0\"");
    fs::remove_dir_all(scratch.path("libraries")).unwrap();
    run(&scratch, &["run", "s.toml"]).assert_code(2).assert_says("lib");
    run(&scratch, &["engines"]).assert_says("lib").assert_says("null");
}

/// Runs two trials, of which the second finds another library. Returns the library and the script
/// of the worker.
fn run_until_changed(scratch: &Scratch) -> (PathBuf, String) {
    let path = scratch.write("mine.so", "1.0.0");
    let engine = "[[engine]]\nname = \"lib\"\nlibrary = \"mine.so\"\n[[phase]]";
    // The worker itself replaces the library once it runs: the next case finds another.
    let script = fs::read_to_string(scratch.path("engines/kvdyno-lib")).unwrap();
    let changing =
        script.replace("run) exec", &format!("run) echo 2.0.0 > {}; exec", path.display()));
    fs::write(scratch.path("engines/kvdyno-lib"), changing).unwrap();
    let text = short().trials(2).text().replacen("[[phase]]", engine, 1);
    scratch.write("s.toml", &text);
    run(scratch, &["run", "s.toml"]).assert_code(3).assert_says("mine.so");
    (path, script)
}

#[test]
fn a_library_that_changes_is_not_run_under_the_name_of_the_old_one() {
    let scratch = with_versions(&[]);
    let (path, script) = run_until_changed(&scratch);
    run(&scratch, &["resume"]).assert_code(2).assert_says("mine.so").assert_says("SHA-256");
    // The record's own library again: what is left is done.
    fs::write(scratch.path("engines/kvdyno-lib"), script).unwrap();
    fs::write(&path, "1.0.0").unwrap();
    run(&scratch, &["resume"]).assert_ok();
    scratch.assert_nothing_left();
}

/// The worker, which shows that it loaded its library or, without one, `newest`.
fn show_loads(scratch: &Scratch, script: &str, newest: &Path) -> PathBuf {
    let loaded = scratch.path("loaded");
    let load = format!("library=${{3:-{}}}\ntouch {}\n", newest.display(), loaded.display());
    let script = script.replace("library=$3\n", &load);
    fs::write(scratch.path("engines/kvdyno-lib"), script).unwrap();
    loaded
}

/// The record of a stranger, as tar(1) unpacks it.
#[test]
fn a_record_that_began_elsewhere_is_not_resumed() {
    let scratch = with_versions(&[]);
    let (path, script) = run_until_changed(&scratch);
    fs::write(&path, "1.0.0").unwrap();
    let loaded = show_loads(&scratch, &script, &path);
    let (begun, away) = (scratch.path("cache/kvdyno/begun"), scratch.path("away"));
    let refuse = || {
        run(&scratch, &["resume"]).assert_code(2).assert_says("`kvdyno rerun ");
        assert!(!loaded.exists(), "its library was loaded");
    };
    fs::rename(&begun, &away).unwrap();
    refuse();
    fs::rename(&away, &begun).unwrap();
    let plan_file = scratch.only_run().path.join("plan.json");
    let plan = fs::read_to_string(&plan_file).unwrap();
    fs::write(&plan_file, plan.replace("mine.so", "theirs.so")).unwrap();
    refuse();
    fs::write(&plan_file, plan).unwrap();
    run(&scratch, &["resume"]).assert_ok();
    assert!(loaded.exists());
}

#[test]
fn a_rerun_takes_the_version_that_is_installed_and_never_a_path_of_the_record() {
    let scratch = with_versions(&["1.0.0"]);
    scratch.write("mine.so", "2.1.0");
    let engine = "[[engine]]\nname = \"lib\"\nlabel = \"mine\"\nlibrary = \"mine.so\"\n[[phase]]";
    scratch.write("s.toml", &short().text().replacen("[[phase]]", engine, 1));
    run(&scratch, &["run", "s.toml"]).assert_ok();
    run(&scratch, &["rerun"]).assert_code(2).assert_says("rerun RUN --library mine=PATH");
    run(&scratch, &["rerun", "--library", "mine=mine.so"]).assert_ok();
    // The same file among those installed, whatever it is called there.
    install(&scratch, "2.1.0-mine", "2.1.0");
    let sum = record(&RunDir::open(scratch.runs()[0].clone()).unwrap(), "_mine_")
        .case
        .library
        .unwrap()
        .sha256;
    scratch.write(
        "libraries/lib/2.1.0-mine/library.json",
        &format!("{{\"engine\":\"lib\",\"version\":\"2.1.0\",\"sha256\":\"{sum}\"}}"),
    );
    run(&scratch, &["rerun"]).assert_ok();
}

#[test]
fn a_file_that_is_not_the_one_that_was_installed_is_refused() {
    let scratch = with_versions(&["1.0.0"]);
    let script = fs::read_to_string(scratch.path("engines/kvdyno-lib")).unwrap();
    let newest = scratch.path("libraries/lib/1.0.0/lib.so");
    let loaded = show_loads(&scratch, &script, &newest);
    run(&scratch, &["engines", "lib"]).assert_code(0);
    fs::remove_file(&loaded).unwrap();
    scratch.script("plugin", &format!("touch {}; exit 1", loaded.display()));
    install(&scratch, "../in-c/1.0.0", "code");
    let plugin = scratch.path("libraries/in-c/1.0.0");
    fs::rename(plugin.join("lib.so"), plugin.join("libkvdyno-in-c.so")).unwrap();
    let sum = "0".repeat(64);
    for engine in ["lib", "in-c"] {
        scratch.write(
            &format!("libraries/{engine}/1.0.0/library.json"),
            &format!("{{\"engine\":\"{engine}\",\"version\":\"1.0.0\",\"sha256\":\"{sum}\"}}"),
        );
    }
    for engine in ["lib", "in-c"] {
        scratch.write("s.toml", &short().engine(engine).text());
        for (arguments, code) in [
            (&["run", "s.toml"][..], 2),
            (&["plan", "s.toml"], 2),
            (&["engines", engine], 1),
            (&["engines"], 0),
            (&["engines", "list"], 0),
        ] {
            let done = run(&scratch, arguments);
            done.assert_code(code);
            if arguments != ["engines", "list"] {
                done.assert_says("SHA-256").assert_says(&sum);
            }
            assert!(!loaded.exists(), "{arguments:?} loaded it");
        }
    }
}

#[test]
fn mistakes_of_versus_are_told_before_anything_is_begun() {
    let scratch = with_versions(&["1.0.0", "2.0.0"]);
    scratch.write("none.so", "no version");
    let versus =
        |arguments: &[&str]| run(&scratch, &[&["versus", "--engine", "lib"], arguments].concat());
    versus(&["--version", "1.0.0"]).assert_code(2).assert_says("--library NEW.so");
    versus(&["--version", "1.0.0", "--version", "9.0.0"])
        .assert_code(2)
        .assert_says("kvdyno engines get lib 9.0.0");
    versus(&["--version", "1.0.0", "--library", "gone.so"]).assert_code(2).assert_says("gone.so");
    versus(&["--version", "1.0.0", "--library", "none.so"]).assert_code(2).assert_says("none.so");
    versus(&["--version", "1.0.0", "--version", "2.0.0", "--gate", "lots"]).assert_code(2);
    let null = ["versus", "--engine", "null", "--version", "1.0.0", "--version", "2.0.0"];
    run(&scratch, &null).assert_code(2).assert_says("null");
    assert!(scratch.runs().is_empty());
}

#[test]
fn versus_runs_both_builds_in_one_run_and_compares_them() {
    let scratch = with_versions(&["1.0.0", "2.0.0"]);
    scratch.write("s.toml", &short().trials(4).text());
    let arguments = ["versus", "--engine", "lib", "--suite", "s.toml", "--json"];
    let versions = ["--version", "1.0.0", "--version", "2.0.0", "--figures", "records_per_s"];
    let done = run(&scratch, &[&arguments[..], &versions[..]].concat());
    // The null engine of a debug build makes void figures; what is compared is the same.
    assert!(matches!(done.code, Some(0 | 4)), "{:?}", done.code);
    let json = done.json();
    assert_eq!(json["base"]["label"], "lib-1.0.0");
    assert_eq!(json["new"]["label"], "lib-2.0.0");
    assert_eq!(json["pairs"][0]["rows"][0]["paired"], true);
    assert_eq!(records(&scratch.only_run()).len(), 8);
    let differs = json["differences"].to_string();
    assert!(differs.contains("1.0.0") && differs.contains("2.0.0"), "{differs}");
}

/// Every rate is equal within so wide a share after four trials, but four do not exclude a small
/// regression.
#[test]
fn a_gate_that_is_open_adds_trials() {
    let scratch = with_versions(&["1.0.0", "2.0.0"]);
    scratch.write("s.toml", &short().trials(4).text());
    let arguments = ["versus", "--engine", "lib", "--suite", "s.toml", "--json"];
    let more = ["--version", "1.0.0", "--version", "2.0.0", "--within", "90%", "--gate", "1%"];
    let done = run(&scratch, &[&arguments[..], &more[..], &["--budget", "30s"]].concat());
    let gate = &done.json()["gate"];
    assert!(
        records(&scratch.only_run()).len() > 8 || gate["result"] == "failed",
        "{gate}: {}",
        done.err
    );
    // The plan has it, so that `resume` asks the same.
    assert_eq!(scratch.only_run().plan().unwrap().gate, Some(0.01));
}

/// `RocksDB`'s own libraries, where two versions of it are installed.
#[test]
fn two_releases_of_rocksdb_stand_in_one_run_and_one_beside_itself() {
    const TEST: &str = "two_releases_of_rocksdb_stand_in_one_run_and_one_beside_itself";
    if !needs("rocksdb", TEST) {
        return;
    }
    let scratch = Scratch::new();
    let listed = scratch.run(&["engines", "list", "--json"]).json();
    let libraries = listed["libraries"].as_array().unwrap().iter();
    let rocksdb: Vec<_> = libraries
        .filter(|row| row["engine"] == "rocksdb" && row["build"] == "official")
        .map(|row| (row["version"].as_str().unwrap(), row["path"].as_str().unwrap()))
        .collect();
    let (Some((newest, file)), Some((oldest, _))) = (rocksdb.first(), rocksdb.last()) else {
        return report_skip("rocksdb", TEST, "no library of RocksDB is installed");
    };
    if newest == oldest {
        let why = "one version of RocksDB is installed, and two are needed";
        return report_skip("rocksdb-older", TEST, why);
    }
    let versions = format!("engine.rocksdb.versions=[\"{oldest}\", \"{newest}\"]");
    scratch.write("s.toml", &short().engine("rocksdb").text());
    scratch.run(&["run", "s.toml", "--set", &versions]).assert_ok();
    let cases = records(&scratch.only_run());
    let ran = |version: &str| {
        let is_version = |case: &&CaseRecord| case.case.label == format!("rocksdb-{version}");
        cases.values().find(is_version).unwrap().worker.clone().unwrap().description.engine.version
    };
    assert_eq!((ran(oldest).as_str(), ran(newest).as_str()), (*oldest, *newest));

    // Two copies of one file are two builds with equal checksums.
    let copies = ["a.so", "b.so"].map(|name| {
        fs::copy(file, scratch.path(name)).unwrap();
        name
    });
    let arguments = ["versus", "--library", copies[0], "--library", copies[1], "--json"];
    let more = ["--suite", "s.toml", "--trials", "4", "--figures", "records_per_s"];
    let done = scratch.run(&[&arguments[..], &more[..]].concat());
    assert!(matches!(done.code, Some(0 | 4)), "{:?}", done.code);
    let json = done.json();
    assert_eq!((&json["base"]["label"], &json["new"]["label"]), (&"base".into(), &"new".into()));
    let differences = json["differences"].as_array().unwrap().iter();
    let what: Vec<_> =
        differences.map(|difference| difference["subject"].as_str().unwrap()).collect();
    assert!(!what.iter().any(|what| ["engine", "library"].contains(what)), "{what:?}");
    scratch.assert_nothing_left();
}

mod soak {
    use super::*;
    use crate::counted::has_valgrind;
    use crate::planted;

    #[test]
    fn why_names_the_function_behind_a_difference() {
        const TEST: &str = "why_names_the_function_behind_a_difference";
        if !needs("rocksdb", TEST) || !has_valgrind(TEST) {
            return;
        }
        let scratch = Scratch::new();
        if !planted::find_rocksdb(&scratch, TEST) {
            return;
        }
        scratch.write("planted.c", &planted::source(100));
        assert!(
            Command::new("sh")
                .args(["-c", &planted::build(&scratch, "new.so")])
                .current_dir(scratch.path(""))
                .status()
                .unwrap()
                .success()
        );
        scratch.write("s.toml", &short().text());
        let arguments = ["versus", "--library", "base.so", "--library", "new.so", "--why"];
        let more = ["--suite", "s.toml", "--trials", "4"];
        let done = scratch.run(&[&arguments[..], &more[..]].concat());
        assert!(matches!(done.code, Some(0 | 4)), "{:?}", done.code);
        done.assert_says("why       measure: ").assert_says("more instructions per operation");
        let run = scratch.only_run().path.display().to_string();
        let compared = scratch.run(&["compare", &run, "--engines", "base,new", "--json"]).json();
        let why = &compared["explanations"][0];
        assert_eq!(why["phase"], "measure");
        let ledger = &why["instructions"];
        let change = |row: &Value| row["new"].as_f64().unwrap() - row["base"].as_f64().unwrap();
        let functions = ledger["functions"].as_array().unwrap();
        let planted = functions.iter().find(|row| row["function"] == "planted").unwrap();
        // A loop of 100 rounds, in which a compiler needs at least three instructions.
        assert!(change(planted) > 300.0 && planted["base"] == 0.0, "{planted}");
        let explained: f64 = functions.iter().map(change).sum();
        let explained = explained + ledger["others"].as_f64().unwrap();
        assert!((explained / change(ledger) - 1.0).abs() < 1e-3, "{explained} of {ledger}");
        assert!(!compared["pairs"].to_string().contains("instructions"), "counts are no verdict");
    }
}
