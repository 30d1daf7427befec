//! Arguments that change a suite before it is checked: `--set path=value`.
//!
//! A path names tables by their keys, and members of a list by label, name, kind or operation, or
//! by their index from 0: `engine.rocksdb.options.block_cache`, `phase.measure.role.readers.mix.0`.
//! The value is TOML. Other text is a string, so that `data.records=1M` needs no quotes. An empty
//! value removes the key.

use crate::edit::adjust::get_str;
use crate::written::mistake::Mistakes;
use crate::written::read::{Toml, report_wrong_kind};
use crate::written::source::{Source, Span};
use serde_spanned::Spanned;
use std::borrow::Cow;
use toml::de::{DeArray, DeTable, DeValue};

/// Keys that exclude each other in a table of this name: setting one removes the other.
const EITHER: [[&str; 3]; 9] = [
    ["data", "records", "size"],
    ["ram", "limit", "data_to_ram"],
    ["rate", "per_second", "bytes_per_s"],
    ["rate", "per_second", "of"],
    ["rate", "per_second", "share"],
    ["rate", "per_second", "ramp"],
    ["rate", "per_second", "steps"],
    ["rate", "bytes_per_s", "of"],
    ["rate", "bytes_per_s", "share"],
];

/// Keys with a short form: the value alone sets this key of their table.
const SHORT: [(&str, &str); 1] = [("rate", "per_second")];

/// The keys that identify a member of a list.
const NAMES: [&str; 4] = ["label", "name", "kind", "op"];

/// `path=value` with its position in the source.
#[derive(Clone, Debug)]
pub(crate) struct Argument {
    path: String,
    path_start: usize,
    value: String,
    /// The value after `v=`, padded with spaces to its position, so that spans are right.
    document: String,
}

/// One name of a path with its position.
type Segment<'p> = (&'p str, Span);

impl Argument {
    /// Adds an argument to the source; `flag` is its option.
    pub(crate) fn new(
        flag: &str,
        text: &str,
        source: &mut Source,
        mistakes: &mut Mistakes,
    ) -> Option<Self> {
        let path_start = source.add(flag, text);
        let Some((path, value)) = text.split_once('=').filter(|(path, _)| !path.is_empty()) else {
            let mistake =
                mistakes.at(&(path_start..path_start + text.len()), "the argument sets no value");
            mistake.label("expected path=value, such as data.records=1M");
            return None;
        };
        // There is room for the key: a path has at least one letter, and `=` follows it.
        let document = format!("{}v={value}", " ".repeat(path_start + path.len() - 1));
        Some(Self { path: path.to_owned(), path_start, value: value.to_owned(), document })
    }

    /// The path.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Returns whether it changes the suite's includes. Other arguments are applied to the included
    /// text.
    pub(crate) fn includes(&self) -> bool {
        self.path.split('.').next() == Some("include")
    }

    /// Changes the suite.
    pub(crate) fn apply<'i>(&'i self, suite: &mut DeTable<'i>, mistakes: &mut Mistakes) {
        let mut path = self.segments();
        let Some((key, key_span)) = path.pop() else { return };
        let Ok(value) = self.value(mistakes) else { return };
        let Some(end) = descend(suite, &path, mistakes) else { return };
        match end {
            PathEnd::Table(table) => {
                if let (Some((name, _)), Some(_)) = (path.last(), &value) {
                    remove_excluded_key(table, name, key);
                }
                table.remove(key);
                if let Some(value) = value {
                    table.insert(Spanned::new(key_span, Cow::Borrowed(key)), value);
                }
            }
            PathEnd::List(list) => {
                match (member(list, &(key, key_span.clone()), mistakes), value) {
                    (Some(member), Some(value)) => *member = value,
                    (Some(_), None) => {
                        mistakes.at(&key_span, "a member of a list cannot be removed");
                    }
                    (None, _) => {}
                }
            }
        }
    }

    fn segments(&self) -> Vec<Segment<'_>> {
        let mut start = self.path_start;
        let segment = |name| {
            let span = start..start + str::len(name);
            start = span.end + 1;
            (name, span)
        };
        self.path.split('.').map(segment).collect()
    }

    /// Returns the value; none: the key is to be removed.
    fn value(&self, mistakes: &mut Mistakes) -> Result<Option<Toml<'_>>, ()> {
        let text = self.value.trim();
        if text.is_empty() {
            return Ok(None);
        }
        let start = self.path_start + self.path.len() + 1;
        let span = start..start + self.value.len();
        match DeTable::parse(&self.document) {
            Ok(mut document) => Ok(document.get_mut().remove("v")),
            Err(error) if text.starts_with(['[', '{', '"', '\'']) => {
                let span = error.span().unwrap_or(span);
                mistakes.at(&span, error.message()).label("expected a TOML value");
                Err(())
            }
            Err(_) => Ok(Some(Spanned::new(span, DeValue::String(Cow::Borrowed(text))))),
        }
    }
}

/// The end of a path.
enum PathEnd<'t, 'i> {
    Table(&'t mut DeTable<'i>),
    List(&'t mut DeArray<'i>),
}

/// Removes the keys that `key` excludes.
pub(crate) fn remove_excluded_key(fields: &mut DeTable<'_>, table: &str, key: &str) {
    for [_, one, other] in EITHER.into_iter().filter(|[name, ..]| *name == table) {
        if key == one {
            fields.remove(other);
        } else if key == other {
            fields.remove(one);
        }
    }
}

/// Walks down a path. Creates missing tables; members of lists must exist.
fn descend<'t, 'i>(
    suite: &'t mut DeTable<'i>,
    path: &[Segment<'i>],
    mistakes: &mut Mistakes,
) -> Option<PathEnd<'t, 'i>> {
    let mut end = PathEnd::Table(suite);
    let mut rest = path;
    while let Some((segment, behind)) = rest.split_first() {
        let (name, span) = segment;
        rest = behind;
        let next = match end {
            PathEnd::Table(table) => {
                let key = Spanned::new(span.clone(), Cow::Borrowed(*name));
                let new = || Spanned::new(span.clone(), DeValue::Table(DeTable::new()));
                table.entry(key).or_insert_with(new)
            }
            PathEnd::List(list) => {
                let (label, more) = label_with_dots(list, segment, behind);
                rest = &behind[more..];
                member(list, &(&label, span.clone()), mistakes)?
            }
        };
        lengthen(name, next);
        end = match next.get_mut() {
            DeValue::Table(table) => PathEnd::Table(table),
            DeValue::Array(list) => PathEnd::List(list),
            other => return report_wrong_kind(span, other, "a table to go into", mistakes),
        };
    }
    Some(end)
}

/// Turns `rate = 1000` into a table, if a path leads into it.
fn lengthen(name: &str, value: &mut Toml<'_>) {
    let Some((_, key)) = SHORT.iter().find(|(short, _)| *short == name) else { return };
    if !matches!(value.get_ref(), DeValue::Table(_)) {
        let span = value.span();
        let table = Spanned::new(span.clone(), DeValue::Table(DeTable::new()));
        let short_value = std::mem::replace(value, table);
        if let DeValue::Table(table) = value.get_mut() {
            table.insert(Spanned::new(span, Cow::Borrowed(*key)), short_value);
        }
    }
}

/// Returns the longest member label at the start of the path, and how many names it takes beyond
/// the first one: a label may have dots.
fn label_with_dots(
    list: &DeArray<'_>,
    (first, _): &Segment<'_>,
    behind: &[Segment<'_>],
) -> (String, usize) {
    let joined = |more: usize| {
        let names = std::iter::once(*first).chain(behind[..more].iter().map(|(name, _)| *name));
        names.collect::<Vec<_>>().join(".")
    };
    let is_label = |name: &String| {
        let mut members = list.iter().filter_map(|member| member.get_ref().as_table());
        members.any(|member| get_str(member, "label") == Some(name.as_str()))
    };
    let labels = (1..=behind.len()).rev().map(|more| (joined(more), more));
    let mut labels = labels.filter(|(name, _)| is_label(name));
    labels.next().unwrap_or_else(|| ((*first).to_owned(), 0))
}

/// Returns the member of a list with this name or index.
fn member<'t, 'i>(
    list: &'t mut DeArray<'i>,
    (name, span): &Segment<'_>,
    mistakes: &mut Mistakes,
) -> Option<&'t mut Toml<'i>> {
    let index = find_index(list, name, span, mistakes)?;
    let highest = list.len().saturating_sub(1);
    let member = list.get_mut(index);
    if member.is_none() {
        let mistake = mistakes.at(span, format!("the list has no member {index}"));
        mistake.label(format!("expected 0 to {highest}"));
    }
    member
}

/// Describes a member by its index, with names that distinguish it: `4 (role fill)`.
fn describe_member(list: &DeArray<'_>, index: usize) -> String {
    let member = list.get(index).and_then(|member| member.get_ref().as_table());
    let name = member.and_then(|member| get_str(member, "name"));
    let roles = member.and_then(|member| member.get("role")?.get_ref().as_array());
    let roles = roles.into_iter().flat_map(|roles| roles.iter());
    let roles: Vec<&str> =
        roles.filter_map(|role| get_str(role.get_ref().as_table()?, "name")).collect();
    match (name, &roles[..]) {
        (Some(name), _) => format!("{index} (named {name})"),
        (None, []) => index.to_string(),
        (None, [role]) => format!("{index} (role {role})"),
        (None, roles) => format!("{index} (roles {})", roles.join(" and ")),
    }
}

/// Looks up labels first, then names, kinds, operations, at last an index: the first match decides.
/// A name may consist of digits.
fn find_index(
    list: &DeArray<'_>,
    name: &str,
    span: &Span,
    mistakes: &mut Mistakes,
) -> Option<usize> {
    let values = |key: &'static str| {
        let members = list.iter().enumerate();
        members.filter_map(move |(index, member)| {
            Some((index, get_str(member.get_ref().as_table()?, key)?))
        })
    };
    for key in NAMES {
        let matches: Vec<usize> =
            values(key).filter(|(_, value)| *value == name).map(|(index, _)| index).collect();
        match matches[..] {
            [] => {}
            [only] => return Some(only),
            _ => {
                let each: Vec<String> =
                    matches.iter().map(|index| describe_member(list, *index)).collect();
                let message = format!("`{name}` matches {} members of the list", matches.len());
                let mistake = mistakes.at(span, message);
                mistake.label(format!("expected the index of one: {}", each.join(", ")));
                if name == "measure" {
                    mistake.help("`kvdyno run --duration TIME` sets all measured phases at once");
                }
                return None;
            }
        }
    }
    if let Ok(index) = name.parse() {
        return Some(index);
    }
    let candidates: Vec<&str> =
        NAMES.iter().flat_map(|key| values(key).map(|(_, value)| value)).collect();
    mistakes.unknown(span, format!("the list has no member `{name}`"), name, &candidates);
    None
}
