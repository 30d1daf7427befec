//! Changes to a suite, as its author would write them in the file: `--engine` adds missing engines.

use crate::edit::overrides::Overrides;
use crate::written::read::Toml;
use crate::written::source::{Source, Span};
use serde_spanned::Spanned;
use std::borrow::Cow;
use toml::de::{DeArray, DeTable, DeValue};

/// The name by which `--engine` selects the suite's own `[drive]`.
const DRIVE: &str = crate::written::drive::NAME;

/// Returns a text value with the position of the option that set it.
pub(crate) fn text<'i>(text: impl Into<Cow<'i, str>>, span: &Span) -> Toml<'i> {
    Spanned::new(span.clone(), DeValue::String(text.into()))
}

pub(crate) fn put<'i>(table: &mut DeTable<'i>, key: &'i str, value: Toml<'i>) {
    let span = value.span();
    table.remove(key);
    table.insert(Spanned::new(span, Cow::Borrowed(key)), value);
}

/// Returns the table under a key, created if missing; none: the key has another value, which its
/// reader reports.
pub(crate) fn get_or_insert_table<'t, 'i>(
    tables: &'t mut DeTable<'i>,
    key: &'static str,
    span: &Span,
) -> Option<&'t mut DeTable<'i>> {
    let new = || Spanned::new(span.clone(), DeValue::Table(DeTable::new()));
    let name = Spanned::new(span.clone(), Cow::Borrowed(key));
    match tables.entry(name).or_insert_with(new).get_mut() {
        DeValue::Table(table) => Some(table),
        _ => None,
    }
}

/// Adds the installed engines of `requested` that the suite lacks, and returns their names. Unknown
/// names are reported later, when engines are selected.
pub(crate) fn add_engines<'i>(
    suite: &mut DeTable<'i>,
    requested: impl Iterator<Item = &'i str>,
    installed: &[String],
    source: &mut Source,
) -> Vec<&'i str> {
    let has_drive = suite.get("drive").is_some();
    let mut added = Vec::new();
    for name in requested {
        let exists = tables(suite, "engine").any(|engine| is_called(engine, name));
        let is_drive = has_drive && name == DRIVE;
        if exists || is_drive || !installed.iter().any(|other| other == name) {
            continue;
        }
        let start = source.add("--engine", name);
        let span = start..start + name.len();
        let durability = common(suite, "durability", "async");
        let preset = common(suite, "preset", "").filter(|preset| !preset.is_empty());
        added.push(name);
        let mut engine = DeTable::new();
        put(&mut engine, "name", text(name, &span));
        let as_others = [("durability", durability), ("preset", preset)];
        for (key, word) in as_others.into_iter().filter_map(|(key, word)| Some((key, word?))) {
            put(&mut engine, key, text(word, &span));
        }
        let engine = Spanned::new(span.clone(), DeValue::Table(engine));
        match suite.get_mut("engine").map(Spanned::get_mut) {
            Some(DeValue::Array(list)) => list.push(engine),
            // A value that is no list is reported by the reader of the key.
            Some(_) => {}
            None => {
                let mut list = DeArray::new();
                list.push(engine);
                put(suite, "engine", Spanned::new(span, DeValue::Array(list)));
            }
        }
    }
    added
}

/// Returns a note on each added engine, with its final preset and durability.
pub(crate) fn describe_added(suite: &DeTable<'_>, names: &[&str]) -> Vec<String> {
    names.iter().map(|name| added_note(suite, name)).collect()
}

fn added_note(suite: &DeTable<'_>, name: &str) -> String {
    let engine = tables(suite, "engine").find(|engine| is_called(engine, name));
    let words = |key: &str| {
        let value = engine?.get(key)?.get_ref();
        let list = value.as_array().into_iter().flat_map(|list| list.iter());
        let listed = list.filter_map(|word| word.get_ref().as_str()).collect::<Vec<_>>();
        Some(value.as_str().map_or_else(|| listed.join(", "), str::to_owned))
    };
    let options =
        words("preset").map_or("its default options".to_owned(), |p| format!("preset {p}"));
    let class = words("durability").unwrap_or_else(|| "async".to_owned());
    format!("engine {name} is not in the suite: added with {options}, durability {class}")
}

/// Returns whether a path is of an engine that `--engine` names and the suite lacks.
pub(crate) fn is_of_added(path: &str, requested: &[String], suite: &DeTable<'_>) -> bool {
    let engine = path.strip_prefix("engine.").and_then(|path| path.split('.').next());
    engine.is_some_and(|engine| {
        requested.iter().any(|name| name == engine)
            && !tables(suite, "engine").any(|other| is_called(other, engine))
    })
}

/// The tables in a list.
pub(crate) fn tables<'t, 'i>(
    table: &'t DeTable<'i>,
    key: &str,
) -> impl Iterator<Item = &'t DeTable<'i>> {
    let list = table.get(key).and_then(|list| list.get_ref().as_array());
    list.into_iter().flat_map(|list| list.iter()).filter_map(|value| value.get_ref().as_table())
}

/// The text under a key.
pub(crate) fn get_str<'t>(table: &'t DeTable<'_>, key: &str) -> Option<&'t str> {
    table.get(key)?.get_ref().as_str()
}

fn is_called(engine: &DeTable<'_>, name: &str) -> bool {
    [get_str(engine, "label"), get_str(engine, "name")].contains(&Some(name))
}

/// Returns the word that all engines of the suite but the null engine have under a key. An added
/// engine takes it, because only equal classes and presets are comparable.
fn common(suite: &DeTable<'_>, key: &str, default: &str) -> Option<String> {
    let real = tables(suite, "engine").filter(|engine| get_str(engine, "name") != Some("null"));
    let mut words = real.map(|engine| match engine.get(key) {
        Some(value) => value.get_ref().as_str(),
        None => Some(default),
    });
    let first = words.next()??;
    words.all(|word| word == Some(first)).then(|| first.to_owned())
}

/// Removes a key from `[run]` of every part, and the part's key that stands for it: a setting for
/// all parts replaces each part's own.
pub(crate) fn remove_from_parts(suite: &mut DeTable<'_>, key: &str) {
    let Some(DeValue::Array(parts)) = suite.get_mut("part").map(Spanned::get_mut) else { return };
    for part in parts.iter_mut() {
        let DeValue::Table(part) = part.get_mut() else { continue };
        part.remove(key);
        if let Some(DeValue::Table(run)) = part.get_mut("run").map(Spanned::get_mut) {
            run.remove(key);
        }
    }
}

/// Removes the parts' own keys that options for `[run]` override.
pub(crate) fn drop_overridden_keys(overrides: &Overrides, suite: &mut DeTable<'_>) {
    let overridden = [
        (!overrides.threads.is_empty(), "threads"),
        (overrides.trials.is_some(), "trials"),
        (!overrides.phases.is_empty(), "phases"),
    ];
    for (_, key) in overridden.into_iter().filter(|(overridden, _)| *overridden) {
        remove_from_parts(suite, key);
    }
}
