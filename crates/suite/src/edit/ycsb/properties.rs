//! Property files as Java reads them (`java.util.Properties`), and YCSB's command lines.

use super::OPTION;
use crate::edit::shell::shell_words;
use crate::written::mistake::Mistakes;
use crate::written::source::{Source, Span};

/// A property with its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Property {
    pub(super) name: String,
    pub(super) value: String,
    pub(super) span: Span,
}

/// A part of a command line.
#[derive(Debug)]
pub(super) enum Word {
    /// `-P FILE`.
    File(String, Span),
    /// `-p name=value`, and options that stand for a property.
    Property(Property),
}

/// The properties of a file; `start` is the offset of its text in the source.
pub(super) fn parse_file(text: &str, start: usize) -> Vec<Property> {
    let mut properties = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let offset = start + text.len() - rest.len();
        let (line, length) = logical_line(rest);
        rest = &rest[length..];
        let indent = line.len() - line.trim_start_matches(BLANK).len();
        let line = &line[indent..];
        if line.is_empty() || line.starts_with(['#', '!']) {
            continue;
        }
        let (name, value) = split_property(line);
        let span = offset + indent..offset + indent + line.trim_end().len();
        properties.push(Property { name: unescape(name), value: unescape(value), span });
    }
    properties
}

/// The blanks of Java's property files.
const BLANK: [char; 3] = [' ', '\t', '\u{c}'];

/// Returns the first line of a text with its continuations, without the last line break, and the
/// bytes up to the next line. A comment and an empty line have no continuation.
fn logical_line(text: &str) -> (&str, usize) {
    let is_comment = text.trim_start_matches(BLANK).starts_with(['#', '!']);
    let mut end = 0;
    loop {
        let rest = &text[end..];
        let Some(length) = rest.find(['\n', '\r']) else { return (text, text.len()) };
        let line = &rest[..length];
        let is_continued = !is_comment && is_odd(line);
        let break_length = if rest[length..].starts_with("\r\n") { 2 } else { 1 };
        let next = end + length + break_length;
        if !is_continued {
            return (&text[..end + length], next);
        }
        end = next;
    }
}

/// Returns whether a line ends with a backslash that no other one escapes.
fn is_odd(line: &str) -> bool {
    (line.len() - line.trim_end_matches('\\').len()) % 2 == 1
}

/// Splits a line into name and value, both with escapes: the name ends at `=`, `:` or a blank.
fn split_property(line: &str) -> (&str, &str) {
    let mut is_escaped = false;
    let end = line.find(|letter: char| {
        let ends = !is_escaped && (BLANK.contains(&letter) || matches!(letter, '=' | ':'));
        is_escaped = letter == '\\' && !is_escaped;
        ends
    });
    let Some(end) = end else { return (line, "") };
    let value = line[end..].trim_start_matches(BLANK);
    let value = value.strip_prefix(['=', ':']).unwrap_or(value);
    (&line[..end], value.trim_start_matches(BLANK))
}

/// Removes escapes and continuations from a text. An invalid `\u` stays as it is.
fn unescape(text: &str) -> String {
    let mut plain = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            plain.push(letter);
            continue;
        }
        match letters.next() {
            Some('t') => plain.push('\t'),
            Some('n') => plain.push('\n'),
            Some('r') => plain.push('\r'),
            Some('f') => plain.push('\u{c}'),
            Some('u') => {
                let digits = letters.as_str().get(..4);
                let code = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
                match code.and_then(char::from_u32) {
                    Some(letter) => {
                        plain.push(letter);
                        letters.nth(3);
                    }
                    None => plain.push_str("\\u"),
                }
            }
            Some(line_break @ ('\n' | '\r')) => {
                let rest = letters.as_str();
                let rest = if line_break == '\r' { rest.trim_start_matches('\n') } else { rest };
                letters = rest.trim_start_matches(BLANK).chars();
            }
            Some(other) => plain.push(other),
            None => {}
        }
    }
    plain
}

/// Options of YCSB's client with a value, and the property that each sets. None: without effect.
const OPTIONS: [(&str, Option<&str>); 7] = [
    ("threads", Some("threadcount")),
    ("target", Some("target")),
    ("db", None),
    ("l", None),
    ("cp", None),
    ("jvm-args", None),
    ("tool", None),
];

/// Options of YCSB's client without a value, and whether each has transactions. None: without
/// effect here.
const SWITCHES: [(&str, Option<bool>); 3] = [("s", None), ("t", Some(true)), ("load", Some(false))];

/// The property that selects the client's requests (true) or only the load (false).
const TRANSACTIONS: &str = "dotransactions";

/// Returns the files and properties of a command line, such as `bin/ycsb run rocksdb -P
/// workloads/workloada -p recordcount=1000000 -threads 4`, or of properties alone.
pub(super) fn parse_line(text: &str, source: &mut Source, mistakes: &mut Mistakes) -> Vec<Word> {
    let is_program = |word: &String| !word.starts_with('-') && !word.contains('=');
    let mut words = shell_words(text).into_iter().peekable();
    let mut parts = Vec::new();
    // The program, its command and the binding.
    while let Some(word) = words.next_if(is_program) {
        if word == "load" {
            parts.push(transactions(false, &word, source));
        }
    }
    while let Some(word) = words.next() {
        let option = word.strip_prefix('-').map(|name| name.trim_start_matches('-'));
        let switch = option.and_then(|name| SWITCHES.iter().find(|(other, _)| *other == name));
        if let Some((_, has_transactions)) = switch {
            parts.extend(has_transactions.map(|has| transactions(has, &word, source)));
            continue;
        }
        let value = if option.is_some() { words.next() } else { None };
        let option_text = value.as_ref().map_or(word.clone(), |value| format!("{word} {value}"));
        let start = source.add(OPTION, &option_text);
        let span = start..start + option_text.len();
        let entry = option.and_then(|name| OPTIONS.iter().find(|(other, _)| *other == name));
        match (option, &value, entry) {
            (Some("P"), Some(file), _) => parts.push(Word::File(file.clone(), span)),
            (Some(_), Some(_), Some((_, None))) => {}
            (Some(_), Some(value), Some((_, Some(name)))) => {
                let (name, value) = ((*name).to_owned(), value.clone());
                parts.push(Word::Property(Property { name, value, span }));
            }
            (Some("p"), Some(pair), _) => parts.extend(property(pair, span, mistakes)),
            (None, ..) => parts.extend(property(&word, span, mistakes)),
            (Some(_), None, entry) if entry.is_some() || matches!(option, Some("p" | "P")) => {
                mistakes.at(&span, format!("`{word}` has no value")).label("expected a value");
            }
            (Some(_), ..) => {
                let mistake = mistakes.at(&span, format!("`{word}` is not an option of YCSB"));
                mistake.label("expected -P FILE, -p name=value, -threads N or -target N");
            }
        }
    }
    parts
}

/// Returns the property `dotransactions` for a word of the command line, such as `-t`.
fn transactions(has: bool, word: &str, source: &mut Source) -> Word {
    let start = source.add(OPTION, word);
    let (name, value) = (TRANSACTIONS.to_owned(), has.to_string());
    Word::Property(Property { name, value, span: start..start + word.len() })
}

/// Parses `name=value`.
fn property(pair: &str, span: Span, mistakes: &mut Mistakes) -> Option<Word> {
    let Some((name, value)) = pair.split_once('=').filter(|(name, _)| !name.is_empty()) else {
        let mistake = mistakes.at(&span, format!("`{pair}` sets no property"));
        mistake.label("expected name=value, such as recordcount=1000000");
        return None;
    };
    Some(Word::Property(Property { name: name.to_owned(), value: value.to_owned(), span }))
}
