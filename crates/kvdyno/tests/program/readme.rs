//! The commands in README.md do what it says: each can be copied and run.

use super::scratch::Scratch;
use super::suites::reads;
use super::workers::needs;
use std::fs;
use std::path::Path;

/// A file of the repository.
pub(crate) fn text_of(file: &str) -> String {
    let path = Path::new(env!("KVDYNO_SOURCE")).join(file);
    fs::read_to_string(path).unwrap()
}

/// The first block below a heading of a file.
pub(crate) fn block_below(file: &str, heading: &str) -> String {
    let text = text_of(file);
    let (_, below) = text.split_once(&format!("\n## {heading}\n")).unwrap();
    let (_, block) = below.split_once("```").unwrap();
    let (block, _) = block.split_once("\n```").unwrap();
    let (_, block) = block.split_once('\n').unwrap();
    block.to_owned() + "\n"
}

/// What is typed in the blocks of a file, without the remarks behind it: in `console` blocks the
/// lines after `$`, in `sh` blocks those of kvdyno.
fn commands(file: &str) -> Vec<String> {
    let text = text_of(file);
    let mut typed = Vec::new();
    let (mut inside, mut is_console) = (false, false);
    for line in text.lines() {
        if let Some(kind) = line.strip_prefix("```") {
            inside = !inside && (kind == "console" || kind == "sh");
            is_console = kind == "console";
            continue;
        }
        let command = if is_console { line.strip_prefix("$ ") } else { Some(line) };
        let command = command.filter(|line| inside && line.starts_with("kvdyno "));
        typed.extend(command.map(|line| line.split("  #").next().unwrap_or(line).to_owned()));
    }
    typed
}

/// As a shell takes them: what stands in quotes is one, or a part of one.
fn words(line: &str) -> Vec<&str> {
    let mut quoted = false;
    let between = |letter: char| {
        quoted ^= letter == '\'';
        letter == ' ' && !quoted
    };
    let words = line.split(between).filter(|word| !word.is_empty());
    // Here only whole words, or all behind a `=`, are quoted.
    words.map(|word| word.trim_matches('\'')).collect()
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
    let files = ["README.md", "docs/recipes.md", "docs/tutorial.md"];
    for line in files.into_iter().flat_map(commands) {
        let words = words(&line);
        let &[_, command, ..] = words.as_slice() else { panic!("{line:?}") };
        if (command == "run" || command == "plan") && !all {
            continue;
        }
        let mut arguments = words[1..].to_vec();
        if command == "run" {
            arguments[0] = "plan";
        }
        let redirection = arguments.iter().position(|word| *word == ">");
        arguments.truncate(redirection.unwrap_or(arguments.len()));
        let words_only = [
            "capacity", "compare", "drive", "engines", "quick", "rerun", "serve", "size", "state",
            "torture", "versus",
        ];
        // Not everywhere are libraries installed, or volumes made.
        let suites = ["rocksdb-history", "symas-optane-2018"];
        let runs_here = !suites.iter().any(|suite| arguments.contains(suite));
        if words_only.contains(&command) || !runs_here {
            // They take minutes or no end, or runs that are not here: their words are checked.
            arguments.push("--help");
        }
        let done = scratch.run(&arguments);
        let shows = ["show", "run", "judge"].contains(&command);
        // A plan may not fit this machine's disk; that is an answer as well.
        let too_small = command == "run" && done.err.contains("on the volume at one time");
        if shows || too_small {
            assert!(too_small || matches!(done.code, Some(0 | 4)), "{line}: {}", done.err);
        } else {
            assert_eq!(done.code, Some(0), "{line}: {}", done.err);
        }
        ran += 1;
    }
    assert!(ran >= 20, "only {ran} commands were found");
    scratch.assert_nothing_left();
}
