//! `run` starts whatever `plan` accepts: suites with random keys and values.

use super::scratch::Scratch;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{Config, TestRunner};

/// A line of a suite that may be missing, or have any of several values, some of them wrong.
fn line(
    key: &'static str,
    right: &'static [&'static str],
    wrong: &'static [&'static str],
) -> impl Strategy<Value = String> {
    let says = move |value| format!("{key} = {value}\n");
    let right = proptest::sample::select(right).prop_map(says);
    let wrong = proptest::sample::select(wrong).prop_map(says);
    prop_oneof![3 => Just(String::new()), 4 => right, 1 => wrong]
}

fn text() -> impl Strategy<Value = String> {
    let run = (
        line("slice", &["\"1ms\"", "\"50ms\"", "\"1s\""], &["\"1ns\"", "\"999us\"", "0"]),
        line("trials", &["1", "2"], &["0"]),
        line("budget", &["\"20s\""], &["\"0s\"", "\"1ns\""]),
        line("database", &["\"fresh\"", "\"copy\""], &["\"none\""]),
    );
    let volume = (
        line("filesystem", &["\"ext4\""], &["\"ntfs\""]),
        line("size", &["\"64MiB\""], &["\"1KiB\"", "\"1PiB\""]),
        line(
            "mkfs",
            &["[\"-O\", \"^has_journal\"]"],
            &[
                "[\"-J\", \"device=/dev/vda\"]",
                "[\"-z\", \"x\"]",
                "[\"-d\", \"/etc\"]",
                "[\"-E\", \"offset=4096\"]",
                "[\"-b\"]",
            ],
        ),
        line(
            "mount",
            &["[\"noatime\"]"],
            &["[\"journal_path=/dev/vda\"]", "[\"remount,bind\"]", "[\"ro\"]"],
        ),
    );
    let ram = line("limit", &["\"64MiB\""], &["[\"64MiB\", \"64MiB\"]", "0"]);
    let size = line("records", &["100", "2000", "\"1k\""], &["0"]);
    let threads = line("threads", &["1", "2", "200"], &["0", "16000", "65536", "65537"]);
    let title = line("title", &["\"one\""], &["\"a\\nb\"", "\"\\u202ea\"", "\"\\u001b[31m\""]);
    (run, proptest::option::weighted(0.3, volume), ram, size, threads, title).prop_map(
        |(run, volume, ram, data, threads, title)| {
            let volume = volume.map_or_else(String::new, |(kind, size, mkfs, mount)| {
                format!("[[volume]]\nname = \"v\"\nkind = \"loop\"\n{kind}{size}{mkfs}{mount}")
            });
            let ram = if ram.is_empty() { ram } else { format!("[ram]\n{ram}") };
            let run = [run.0, run.1, run.2, run.3].concat();
            format!(
                "[suite]\nname = \"test\"\n{title}[data]\n{data}value_bytes = 100\n{volume}{ram}\
                 [run]\n{run}[[engine]]\nname = \"null\"\n[[phase]]\nkind = \"load\"\n[[phase]]\n\
                 kind = \"measure\"\noperations = 10\n[[phase.role]]\nname = \"readers\"\n\
                 {threads}mix = [{{ op = \"get\" }}]\n"
            )
        },
    )
}

/// `run` is killed as soon as it has started: nothing is measured here.
#[test]
fn what_plan_accepts_run_begins() {
    let scratch = Scratch::new();
    let (mut accepted, mut refused) = (0, 0);
    let config = Config { cases: 80, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(
        config.clone(),
        proptest::test_runner::TestRng::deterministic_rng(config.rng_algorithm),
    );
    let drawn = text();
    for _ in 0..config.cases {
        let text = drawn.new_tree(&mut runner).unwrap().current();
        scratch.write("s.toml", &text);
        let planned = scratch.run(&["plan", "s.toml"]);
        let mut command = scratch.kvdyno(&["run", "s.toml", "--runs", "tried"]);
        command.env("KVDYNO_DIE_AT", "claimed");
        let run = scratch.start(command).wait();
        let begun = run.signal == Some(9);
        assert_eq!(begun, planned.code == Some(0), "{text}\n{}\n{}", planned.err, run.err);
        assert!(begun || (planned.code == Some(2) && run.code == Some(2)), "{text}{}", run.err);
        assert!(!planned.err.contains('\u{1b}') && !planned.out.contains('\u{202e}'), "{text}");
        *(if begun { &mut accepted } else { &mut refused }) += 1;
    }
    assert!(accepted > 3 && refused > 10, "{accepted} accepted, {refused} refused");
}
