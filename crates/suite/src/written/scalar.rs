//! The scalars of the suite language: numbers with units, names, and the words for choices.

mod schema;

pub(crate) use schema::{either_schema, scalar_schema};

use crate::written::mistake::Mistakes;
use crate::written::read::{At, FromToml, Toml, Word, report_wrong_kind};
use crate::written::source::Span;
use kvdyno_record::engine::{Durability, Preset, Value};
use kvdyno_record::units::{self, UnitError};
use kvdyno_record::workload::{KeyFormat, KeyOrder, LoadOrder, Over};
use serde_spanned::Spanned;
use std::borrow::Cow;
use toml::de::{DeInteger, DeValue};

/// A count: `80M`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Count(pub(crate) u64);

/// Bytes: `64GiB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Bytes(pub(crate) u64);

/// A size with its unit: `64GiB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ByteSize(pub(crate) u64);

/// Operations per second: `0.5`, `1000`, `50k`, `50k/s`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rated(pub(crate) f64);

/// A time, never zero: `60s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Nanoseconds(pub(crate) u64);

/// A share of a whole: `50%`, `0.5`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Share(pub(crate) f64);

/// Upper bound of the number of threads, and of similar counts.
pub const SEVERAL_MAX: u32 = 65_536;

/// A count from 1 to [`SEVERAL_MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Several(pub(crate) u32);

/// A name for file names: `[a-z0-9_-]`, at most 64 letters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name(pub(crate) String);

/// An engine's name in tables: a name with dots; suffixes of lists may contain any character.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Label(pub(crate) String);

/// A version of a library: part of file names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Version(pub(crate) String);

/// A number of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Threads {
    /// This many.
    Are(u32),
    /// Each count of `run.threads` in turn.
    Sweep,
}

/// `size = "300GiB"` or `size = "auto"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DataSize {
    /// This many bytes of keys and values.
    Is(u64),
    /// Chosen by the host's resources.
    Auto,
}

/// `true`, `false` or `"auto"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Switch {
    /// On or off.
    Is(bool),
    /// Chosen by the engine and the data.
    Auto,
}

/// One value, or several that are swept.
#[derive(Clone, Debug)]
pub(crate) struct OneOrMany<T>(pub(crate) Vec<At<T>>);

/// An option's value before its kind is known.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct UntypedValue(pub(crate) Value);

impl Word for LoadOrder {
    const WHAT: &'static str = "a load order";
    const ALL: &'static [(&'static str, Self)] = &[
        ("sequential", Self::Sequential),
        ("random", Self::Random),
        ("drawn", Self::Drawn),
        ("first_read", Self::FirstRead),
    ];
}

impl Word for Over {
    const WHAT: &'static str = "a rule for lengths above the maximum";
    const ALL: &'static [(&'static str, Self)] = &[("fold", Self::Fold), ("clamp", Self::Clamp)];
}

impl Word for KeyFormat {
    const WHAT: &'static str = "a key format";
    const ALL: &'static [(&'static str, Self)] = &[
        ("hex", Self::Hex),
        ("binary", Self::Binary),
        ("db_bench", Self::DbBench),
        ("ycsb", Self::Ycsb),
    ];
}

impl Word for KeyOrder {
    const WHAT: &'static str = "a key order";
    const ALL: &'static [(&'static str, Self)] =
        &[("ordered", Self::Ordered), ("hashed", Self::Hashed)];
}

impl Word for Durability {
    const WHAT: &'static str = "a durability class";
    const ALL: &'static [(&'static str, Self)] =
        &[("none", Self::None), ("async", Self::Async), ("commit", Self::Commit)];
    const ALIASES: &'static [(&'static str, Self)] =
        &[("sync", Self::Commit), ("fsync", Self::Commit)];
}

impl Word for Preset {
    const WHAT: &'static str = "a preset";
    const ALL: &'static [(&'static str, Self)] =
        &[("defaults", Self::Defaults), ("tuned", Self::Tuned)];
}

impl FromToml for Count {
    fn from_toml(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Self> {
        number(&toml, units::A_COUNT, units::parse_count, mistakes).map(Self)
    }
}

impl FromToml for Bytes {
    fn from_toml(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Self> {
        number(&toml, units::BYTES, units::parse_bytes, mistakes).map(Self)
    }
}

impl FromToml for ByteSize {
    fn from_toml(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Self> {
        number(&toml, units::A_SIZE, units::parse_size, mistakes).map(Self)
    }
}

impl FromToml for Rated {
    fn from_toml(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Self> {
        number(&toml, units::A_RATE, units::parse_rate, mistakes).map(Self)
    }
}

impl FromToml for Share {
    fn from_toml(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Self> {
        number(&toml, units::A_SHARE, units::parse_share, mistakes).map(Self)
    }
}

impl FromToml for Nanoseconds {
    fn from_toml(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Self> {
        let span = toml.span();
        match number(&toml, units::A_TIME, units::parse_duration, mistakes)? {
            0 => {
                mistakes.at(&span, "the time is zero").label(format!("expected {}", units::A_TIME));
                None
            }
            ns => Some(Self(ns)),
        }
    }
}

impl FromToml for Several {
    fn from_toml(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Self> {
        let span = toml.span();
        let Count(count) = Count::from_toml(toml, mistakes)?;
        if (1..=u64::from(SEVERAL_MAX)).contains(&count) {
            return Some(Self(count as u32));
        }
        mistakes.at(&span, format!("{count} is out of range")).label("expected 1 to 65536");
        None
    }
}

impl FromToml for f64 {
    fn from_toml(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Self> {
        let number = parse_float(toml.get_ref());
        let expected = "a finite number such as 0.99";
        let finite = number.filter(|number| number.is_finite());
        finite.or_else(|| report_wrong_kind(&toml.span(), toml.get_ref(), expected, mistakes))
    }
}

impl FromToml for bool {
    fn from_toml(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Self> {
        match toml.get_ref() {
            DeValue::Boolean(value) => Some(*value),
            other => report_wrong_kind(&toml.span(), other, "true or false", mistakes),
        }
    }
}

impl FromToml for String {
    fn from_toml(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Self> {
        let span = toml.span();
        match toml.into_inner() {
            DeValue::String(text) => Some(text.into_owned()),
            other => report_wrong_kind(&span, &other, "text in quotes", mistakes),
        }
    }
}

/// Reads a name for file names: of lower-case letters, digits and `others`.
fn file_name(
    toml: Toml<'_>,
    what: &str,
    others: &str,
    help: &str,
    mistakes: &mut Mistakes,
) -> Option<String> {
    let span = toml.span();
    let name = String::from_toml(toml, mistakes)?;
    let letter =
        |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || (c != ' ' && others.contains(c));
    if (1..=64).contains(&name.len()) && !name.starts_with('.') && name.chars().all(letter) {
        return Some(name);
    }
    mistakes
        .at(&span, format!("`{name}` cannot be {what}"))
        .label(format!("expected 1 to 64 of: a-z 0-9 {others}"))
        .help(help);
    None
}

impl FromToml for Name {
    fn from_toml(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Self> {
        let help = "names become part of file names; a `title` may contain any text";
        file_name(toml, "a name", "_ -", help, mistakes).map(Self)
    }
}

impl FromToml for Label {
    fn from_toml(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Self> {
        let help = "labels become part of file names, and cannot start with a dot";
        file_name(toml, "a label", "_ - .", help, mistakes).map(Self)
    }
}

impl Label {
    /// Returns a value as part of a label, on one line.
    pub(crate) fn part(text: &str) -> String {
        text.chars().map(|c| if c.is_control() { '-' } else { c }).collect()
    }
}

/// Returns a label as part of a file's name: `rocksdb block_cache=1GiB` becomes
/// `rocksdb-block_cache-1GiB`.
pub fn slug(label: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() || "_-.".contains(c) { c } else { '-' };
    label.chars().map(letter).take(SLUG_CHARS_MAX).collect()
}

/// The most characters of a slug: it leaves room for the other parts of a case's name.
const SLUG_CHARS_MAX: usize = 100;

impl FromToml for Version {
    fn from_toml(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Self> {
        let text = match toml.get_ref() {
            DeValue::String(text) if kvdyno_record::library::is_version(text) => text.to_string(),
            DeValue::String(text) => {
                let mistake = mistakes.at(&toml.span(), format!("`{text}` cannot be a version"));
                mistake.label("expected a version such as \"9.10.0\"");
                return None;
            }
            other => {
                let expected = "a version in quotes, such as \"9.10.0\"";
                return report_wrong_kind(&toml.span(), other, expected, mistakes);
            }
        };
        Some(Self(text))
    }
}

impl Threads {
    /// Returns the number of threads, where `swept` is the count of the sweep. The first gate
    /// refuses a sweep without counts.
    pub(crate) fn resolve(self, swept: Option<u32>) -> u32 {
        match self {
            Self::Are(threads) => threads,
            Self::Sweep => swept.unwrap_or(1),
        }
    }
}

impl FromToml for Threads {
    fn from_toml(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Self> {
        match toml.get_ref() {
            DeValue::String(text) if text == "sweep" => Some(Self::Sweep),
            DeValue::String(text) if units::parse_count(text).is_err() => {
                let message = format!("`{text}` is not a number of threads");
                mistakes.unknown(&toml.span(), message, text, &["sweep"]);
                None
            }
            _ => Several::from_toml(toml, mistakes).map(|threads| Self::Are(threads.0)),
        }
    }
}

impl FromToml for DataSize {
    fn from_toml(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Self> {
        match toml.get_ref() {
            DeValue::String(text) if text == "auto" => Some(Self::Auto),
            _ => ByteSize::from_toml(toml, mistakes).map(|bytes| Self::Is(bytes.0)),
        }
    }
}

impl FromToml for Switch {
    fn from_toml(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Self> {
        match toml.get_ref() {
            DeValue::Boolean(value) => Some(Self::Is(*value)),
            DeValue::String(text) if text == "auto" => Some(Self::Auto),
            other => report_wrong_kind(&toml.span(), other, "true, false or \"auto\"", mistakes),
        }
    }
}

impl<T: FromToml> FromToml for OneOrMany<T> {
    fn from_toml(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Self> {
        let span = toml.span();
        if let Some(parts) = split_list(&toml) {
            let read = |(span, text)| At::from_toml(parse_item(span, text), mistakes);
            let values: Vec<Option<At<T>>> = parts.into_iter().map(read).collect();
            return values.into_iter().collect::<Option<_>>().map(Self);
        }
        if !matches!(toml.get_ref(), DeValue::Array(_)) {
            return At::from_toml(toml, mistakes).map(|value| Self(vec![value]));
        }
        let values = Vec::from_toml(toml, mistakes)?;
        if values.is_empty() {
            mistakes.at(&span, "the list is empty").label("expected at least one value");
            return None;
        }
        Some(Self(values))
    }
}

impl<T: PartialEq> OneOrMany<T> {
    /// Refuses repeated values, which would be the same engine or the same cases again.
    pub(crate) fn check_repeated(&self, mistakes: &mut Mistakes) {
        for (index, value) in self.0.iter().enumerate() {
            if self.0[..index].iter().any(|earlier| earlier.value == value.value) {
                let mistake = mistakes.at(&value.span, "the value is already in the list");
                mistake.label("expected each value once; use `trials` to repeat");
            }
        }
    }
}

/// Splits `1,2`, which is accepted as a list for `--set`, into parts with their positions; none: it
/// has no comma.
fn split_list<'t>(toml: &'t Toml<'_>) -> Option<Vec<(Span, &'t str)>> {
    let DeValue::String(text) = toml.get_ref() else { return None };
    if !text.contains(',') {
        return None;
    }
    let span = toml.span();
    // In a file the text is between quotes, on the command line it is not.
    let quote = (span.len().saturating_sub(text.len())) / 2;
    let mut start = span.start + quote;
    let part = |part: &'t str| {
        let blank = part.len() - part.trim_start().len();
        let begin = start + blank;
        start += part.len() + 1;
        (begin..begin + part.trim().len(), part.trim())
    };
    Some(text.split(',').map(part).collect())
}

/// Parses a part as a value: a number if possible, otherwise text.
fn parse_item(span: Span, text: &str) -> Toml<'_> {
    let number = DeValue::parse(text).map(Spanned::into_inner).ok();
    let number = number.filter(|value| matches!(value, DeValue::Integer(_) | DeValue::Float(_)));
    Spanned::new(span, number.unwrap_or(DeValue::String(Cow::Borrowed(text))))
}

impl FromToml for UntypedValue {
    fn from_toml(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Self> {
        let value = match toml.get_ref() {
            DeValue::Boolean(value) => Some(Value::Boolean(*value)),
            DeValue::String(text) => Some(Value::Text(text.to_string())),
            DeValue::Integer(number) => parse_integer(number).map(Value::Integer),
            DeValue::Float(number) => units::parse_count(number.as_str()).ok().map(Value::Integer),
            _ => None,
        };
        let expected = "true, false, a whole number that is not negative, or text in quotes";
        let value =
            value.or_else(|| report_wrong_kind(&toml.span(), toml.get_ref(), expected, mistakes));
        value.map(Self)
    }
}

/// Reads a number with a unit, in quotes, or a bare TOML number.
fn number<T>(
    toml: &Toml<'_>,
    expected: &str,
    parse: impl Fn(&str) -> Result<T, UnitError>,
    mistakes: &mut Mistakes,
) -> Option<T> {
    let span = toml.span();
    let text = match toml.get_ref() {
        DeValue::String(text) => text.to_string(),
        DeValue::Float(number) => number.as_str().to_owned(),
        DeValue::Integer(number) => parse_integer(number)
            .map_or_else(|| number.as_str().to_owned(), |number| number.to_string()),
        other => return report_wrong_kind(&span, other, expected, mistakes),
    };
    let report = |error: UnitError| {
        let message = format!("`{}` {}", error.text, error.problem);
        mistakes.at(&span, message).label(format!("expected {}", error.expected));
    };
    parse(&text).map_err(report).ok()
}

/// Returns a bare number; whole ones may be hexadecimal.
pub(crate) fn parse_float(value: &DeValue) -> Option<f64> {
    match value {
        DeValue::Float(number) => number.as_str().parse().ok(),
        DeValue::Integer(number) if number.radix() == 10 => number.as_str().parse().ok(),
        DeValue::Integer(number) => parse_integer(number).map(|number| number as f64),
        _ => None,
    }
}

pub(crate) fn parse_integer(number: &DeInteger) -> Option<u64> {
    u64::from_str_radix(number.as_str(), number.radix()).ok()
}
