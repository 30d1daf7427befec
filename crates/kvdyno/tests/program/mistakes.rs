//! Mistakes in a suite or on the command line: shown at their position, exit code 2, and nothing is
//! created.

use super::scratch::{Done, Scratch, list};
use super::suites::reads;
use super::workers;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::CommandExt as _;

/// Runs a suite that must be refused before anything is created.
#[track_caller]
fn refuse(scratch: &Scratch, arguments: &[&str]) -> Done {
    let before = list(&scratch.path("."));
    for command in ["plan", "run"] {
        scratch.run(&[&[command], arguments].concat()).assert_code(2);
        assert_eq!(list(&scratch.path(".")), before, "{command} made something");
    }
    scratch.assert_nothing_left();
    scratch.run(&[&["run"], arguments].concat())
}

#[test]
fn a_malformed_suite_is_shown_with_a_caret() {
    let scratch = Scratch::new();
    let text = reads().engine("null").text();
    scratch.write("key.toml", &text.replace("value_bytes", "vale_bytes"));
    let done = refuse(&scratch, &["key.toml"]);
    done.assert_says("key.toml:5:").assert_says("vale_bytes = 100");
    done.assert_says("`value_bytes`").assert_says("───");

    scratch.write("unit.toml", &text.replace("\"200ms\"", "\"200 parsecs\""));
    refuse(&scratch, &["unit.toml"]).assert_says("unit.toml:").assert_says("200 parsecs");

    scratch.write("syntax.toml", &text.replace("[data]", "[data"));
    refuse(&scratch, &["syntax.toml"]).assert_says("syntax.toml:3:");
}

#[test]
fn an_argument_is_shown_with_a_caret_too() {
    let scratch = Scratch::new();
    scratch.write("s.toml", &reads().engine("null").text());
    let done = refuse(&scratch, &["s.toml", "--set", "data.recrods=5"]);
    done.assert_says("--set").assert_says("recrods");
    refuse(&scratch, &["s.toml", "--set", "data.records=many"]).assert_says("many");
    refuse(&scratch, &["s.toml", "--engine", "nil"]).assert_says("nil");
    refuse(&scratch, &["missing.toml"]).assert_says("`missing.toml`");
}

/// A record has its paths and its command line as text.
#[test]
fn a_path_that_is_not_utf_8_is_refused_and_a_word_is_recorded_as_it_can_be() {
    let scratch = Scratch::new();
    scratch.write("s.toml", &reads().engine("null").text());
    let odd = OsStr::from_bytes(b"odd-\xff");
    for option in ["--data-dir", "--runs"] {
        let mut command = scratch.kvdyno(&["run", "s.toml", "--create-data-dir", option]);
        command.arg(odd);
        if option == "--runs" {
            command.args(["--data-dir", "disk"]);
        }
        scratch.start(command).wait().assert_code(2).assert_says("not UTF-8");
    }
    assert!(scratch.runs().is_empty() && !scratch.path("disk").exists());
    let mut command = scratch.kvdyno(&["run", "s.toml"]);
    command.arg0(odd);
    scratch.start(command).wait().assert_ok();
    let run = scratch.only_run().run().unwrap();
    assert_eq!(run.command[0], "odd-\u{fffd}");
}

#[test]
fn an_unknown_engine_is_named_with_those_that_were_found() {
    let scratch = Scratch::new();
    scratch.write("s.toml", &reads().engine("nill").text());
    let done = refuse(&scratch, &["s.toml"]);
    done.assert_says("`kvdyno-nill`").assert_says("`null`");
}

#[test]
fn an_unknown_option_is_named_with_what_was_meant() {
    let scratch = Scratch::new();
    scratch.write("s.toml", &reads().engine_as("null", "null", "latency = 5").text());
    let done = refuse(&scratch, &["s.toml"]);
    done.assert_says("latency").assert_says("s.toml:").assert_says("latency_ns");
    scratch.write("s.toml", &reads().engine_as("null", "null", "store = \"tape\"").text());
    refuse(&scratch, &["s.toml"]).assert_says("tape").assert_says("memory");
}

#[test]
fn names_that_were_nearly_right_are_told() {
    let scratch = Scratch::new();
    scratch.write("s.toml", &reads().engine("null").text());
    refuse(&scratch, &["quik"]).assert_says("`quick`");
    refuse(&scratch, &["s.toml", "--engine", "nul"]).assert_says("`null`");
    scratch.write("op.toml", &reads().engine("null").text().replace("\"get\"", "\"gett\""));
    refuse(&scratch, &["op.toml"]).assert_says("`get`");
    scratch.run(&["suites", "show", "quik"]).assert_code(2).assert_says("`quick`");
    // Before anything is run.
    scratch.run(&["run", "s.toml", "--table", "cots"]).assert_code(2).assert_says("'cost'");
    scratch.run(&["run", "s.toml"]).assert_ok();
    scratch.run(&["show", "lastest"]).assert_code(2).assert_says("`latest`");
    scratch.run(&["show", "tset"]).assert_code(2).assert_says("`test`");
}

/// From the arguments alone: the missing engines are not reported.
#[test]
fn fewer_trials_than_can_be_compared_are_refused_where_they_are_typed() {
    let scratch = Scratch::new();
    let versus = ["versus", "--engine", "none", "--version", "1.0", "--version", "2.0"];
    let with = |trials: &str| scratch.run(&[&versus[..], &["--trials", trials]].concat());
    with("3").assert_code(2).assert_says("'3' for '--trials <N>'").assert_says("at least 4");
    with("4").assert_code(2).assert_says("kvdyno-none");
    with("many").assert_code(2).assert_says("'many'");
}

#[test]
fn an_error_is_told_once_though_it_stands_in_what_it_caused() {
    let scratch = Scratch::new();
    scratch.write("file", "");
    let done = scratch.run(&["rerun", "file/gone.tar.zst"]);
    done.assert_code(1).assert_says("`file/gone.tar.zst`");
    assert_eq!(done.err.matches("(os error 20)").count(), 1, "{}", done.err);
}

#[test]
fn a_file_that_is_no_suite_is_not_answered_with_a_page_for_each_line() {
    let scratch = Scratch::new();
    scratch.write("README.md", &"# What it is\n\nIt *is* what it is.\n".repeat(30));
    let done = scratch.run(&["plan", "README.md"]);
    done.assert_code(2).assert_says(" more mistakes");
    assert_eq!(done.err.matches("README.md:").count(), 10, "{}", done.err);
}

#[test]
fn a_suite_that_is_not_utf8_is_told_with_its_line() {
    let scratch = Scratch::new();
    let text = reads().engine("null").text();
    std::fs::write(scratch.path("s.toml"), [text.as_bytes(), b"\n# caf\xe9\n"].concat()).unwrap();
    let line = text.lines().count() + 2;
    refuse(&scratch, &["s.toml"]).assert_says(&format!("line {line}")).assert_says("0xe9");
}

/// A name of 100 KB, as an unknown name, and as one that is too long.
#[test]
fn what_is_said_of_a_long_name_is_short() {
    let scratch = Scratch::new();
    let name = "n".repeat(100_000);
    let text = reads().engine("null").text();
    for wrong in [
        text.replace("name = \"null\"", &format!("name = \"{name}\"")),
        text.replace("label = \"null\"", &format!("label = \"{name} \"")),
        format!("{text}\n[{name}]\nx = 1\n"),
        format!("{text}\n{name} = 1\n"),
    ] {
        assert_ne!(wrong, text);
        scratch.write("s.toml", &wrong);
        let done = scratch.run(&["plan", "s.toml"]);
        done.assert_code(2);
        assert!(done.err.len() < 20_000, "{} bytes: {}", done.err.len(), &done.err[..2000]);
    }
    scratch.write("s.toml", &text);
    for arguments in [
        &["plan", &name][..],
        &["run", "s.toml", "--name", &name],
        &["show", "--table", &name],
        &["show", &format!("--{name}")],
    ] {
        let done = scratch.run(arguments);
        done.assert_code(2);
        assert!(done.err.len() < 20_000, "{arguments:.40?}: {} bytes", done.err.len());
    }
}

#[test]
fn a_missing_worker_says_what_builds_it() {
    let scratch = Scratch::new();
    // One of the user's PATH would be found.
    scratch.write("s.toml", &reads().engine("mine-is-missing").text());
    refuse(&scratch, &["s.toml"]).assert_says("`make engines`");
}

#[test]
fn shells_are_told_the_suites() {
    let scratch = Scratch::new();
    let done = scratch.run(&["completions", "bash"]);
    assert!(done.assert_code(0).out.contains("quick raidix-metadata-2017"), "{}", done.out);
}

/// The null engine needs no space, so another description is used.
#[test]
fn more_data_than_the_volume_has_room_for_is_refused() {
    let scratch = Scratch::new();
    let mut description = workers::null_description();
    description["engine"]["name"] = "bulky".into();
    description["engine"]["planning"]["space_factor"] = 2.0.into();
    scratch.write("engines/bulky.json", &description.to_string());
    scratch.script("bulky", "cat \"$(dirname \"$0\")/bulky.json\"");
    scratch.write("s.toml", &reads().engine("bulky").text());
    let done = refuse(&scratch, &["s.toml", "--set", "data.size=1PiB"]);
    done.assert_says("PiB").assert_says("--data-dir");
    scratch.run(&["plan", "s.toml"]).assert_code(0);
}
