//! The commands in README.md do what it says: each can be copied and run.

use super::scratch::Scratch;
use super::suites::reads;
use super::workers::needs;
use std::fs;
use std::path::Path;

/// The lines after `$` in `console` blocks.
fn commands() -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let text = fs::read_to_string(path).unwrap();
    let mut blocks = text.split("```console\n").skip(1).filter_map(|rest| rest.split("```").next());
    let mut commands = Vec::new();
    for block in &mut blocks {
        commands
            .extend(block.lines().filter_map(|line| line.strip_prefix("$ ")).map(str::to_owned));
    }
    commands
}

/// All but those that run a whole suite; of these, their plan.
#[test]
fn every_command_of_the_readme_runs() {
    let test = "every_command_of_the_readme_runs";
    let all = needs("lmdb", test) && needs("rocksdb", test);
    let scratch = Scratch::new();
    scratch.write("mine.toml", &reads().engine("null").text());
    scratch.run(&["run", "mine.toml"]).assert_ok();
    let mut ran = 0;
    for line in commands() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let &[program, command, ..] = words.as_slice() else { panic!("{line:?}") };
        if program != "kvdyno" || ((command == "run" || command == "plan") && !all) {
            continue;
        }
        let mut arguments = words[1..].to_vec();
        if command == "run" {
            arguments[0] = "plan";
        }
        let redirection = arguments.iter().position(|word| *word == ">");
        arguments.truncate(redirection.unwrap_or(arguments.len()));
        let words_only = [
            "calibrate",
            "capacity",
            "compare",
            "drive",
            "quick",
            "rerun",
            "serve",
            "size",
            "versus",
        ];
        if words_only.contains(&command) || arguments.contains(&"rocksdb-history") {
            // They take minutes or no end, or runs that are not here: their words are checked.
            arguments.push("--help");
        }
        let done = scratch.run(&arguments);
        let shows = ["show", "run"].contains(&command);
        // A plan may not fit this machine's disk; that is an answer as well.
        let too_small = command == "run" && done.err.contains("on the volume at one time");
        if shows || too_small {
            assert!(too_small || matches!(done.code, Some(0 | 4)), "{line}: {}", done.err);
        } else {
            assert_eq!(done.code, Some(0), "{line}: {}", done.err);
        }
        ran += 1;
    }
    assert!(ran >= 5, "only {ran} commands were found");
    scratch.assert_nothing_left();
}
