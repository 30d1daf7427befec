//! Splits a command line of `db_bench` into flags, as a shell and gflags do.

use super::flags::find;
use crate::edit::shell::shell_words;
use crate::written::mistake::Mistakes;
use crate::written::source::{Source, Span};

/// A flag as typed.
pub(super) struct Typed {
    pub(super) name: String,
    /// None: a flag without a value, which is on.
    pub(super) value: Option<String>,
    pub(super) span: Span,
}

impl Typed {
    /// The value; a flag without one is on.
    pub(super) fn value(&self) -> &str {
        self.value.as_deref().unwrap_or("true")
    }
}

/// The dashes that word processors and web pages make of `-` and `--`.
const DASHES: [char; 3] = ['\u{2013}', '\u{2014}', '\u{2212}'];

/// Returns the flags in a text: a command line from a shell script, or a file with comments and one
/// flag per line. Messages show each flag on a line of its own, without the others.
pub(super) fn parse(
    text: &str,
    option: &str,
    source: &mut Source,
    mistakes: &mut Mistakes,
) -> Vec<Typed> {
    let mut words = without_program(shell_words(text)).into_iter().peekable();
    let mut flags = Vec::new();
    while let Some(word) = words.next() {
        let dashed = word.strip_prefix("--").or_else(|| word.strip_prefix('-'));
        let Some(flag) = dashed.filter(|flag| !flag.is_empty()) else {
            let start = source.add(option, &word);
            let span = start..start + word.len();
            let mistake = mistakes.at(&span, format!("`{word}` is not a flag"));
            mistake.label(expected_flag(&word));
            continue;
        };
        let (name, value) = match flag.split_once('=') {
            Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
            None if takes_value(flag) => {
                (flag.to_owned(), words.next_if(|word| !begins_flag(word)))
            }
            None => (flag.to_owned(), None),
        };
        let flag_text = match &value {
            Some(value) => format!("--{name}={value}"),
            None => format!("--{name}"),
        };
        let start = source.add(option, &flag_text);
        flags.push(Typed { name, value, span: start..start + flag_text.len() });
    }
    flags
}

fn expected_flag(word: &str) -> &'static str {
    if word.starts_with(DASHES) {
        "expected `--`: this is a dash of a web page"
    } else if is_program(word) {
        "expected one command: pass each by its own run"
    } else {
        "expected --name=value"
    }
}

/// Returns whether a flag without `=` takes the next word, as in gflags: all but switches do.
fn takes_value(name: &str) -> bool {
    let off = name.strip_prefix("no").is_some_and(|name| find(name).is_some());
    !off && find(name).is_none_or(|flag| !flag.is_switch())
}

/// Returns whether a word begins a flag; a negative number is a value.
fn begins_flag(word: &str) -> bool {
    let letter = word.trim_start_matches('-').chars().next();
    word.starts_with('-') && letter.is_some_and(|letter| !letter.is_ascii_digit())
}

/// Removes variables, `time`, `numactl` and the name of the program in front of the flags.
fn without_program(mut words: Vec<String>) -> Vec<String> {
    let is_variable = |word: &&String| {
        let name = word.split_once('=').map_or("", |(name, _)| name);
        !name.is_empty()
            && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
    };
    let first = words.iter().take_while(is_variable).count();
    let command = words.get(first).filter(|word| {
        !word.starts_with(['-', '[']) && !word.starts_with(DASHES) && !word.contains('=')
    });
    let Some(command) = command else { return words.split_off(first) };
    let program = words.iter().skip(first).position(|word| is_program(word));
    // A program of any name, if its flags follow.
    let other =
        begins_flag(words.get(first + 1).map_or("", String::as_str)) || command.contains('/');
    match program {
        Some(program) => words.split_off(first + program + 1),
        None if other => words.split_off(first + 1),
        None => words.split_off(first),
    }
}

/// `./db_bench`, `db_bench.v6`, or a variable of the shell that holds it.
fn is_program(word: &str) -> bool {
    let file = word.rsplit('/').next().unwrap_or_default();
    !word.starts_with('-') && (file.contains("db_bench") || word.starts_with('$'))
}
