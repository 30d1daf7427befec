//! `[phases.NAME]`: named phases of the suite and of its includes, from which `phases` selects.
//! Also selects between two versions of a phase: as described or as run.

use crate::edit::adjust::get_str;
use crate::written::fidelity::{AS_RUN, Fidelity};
use crate::written::mistake::Mistakes;
use crate::written::read::{At, FromToml as _, Toml, report_wrong_kind};
use crate::written::source::{Source, Span};
use serde_spanned::Spanned;
use std::borrow::Cow;
use std::collections::BTreeMap;
use toml::de::{DeArray, DeTable, DeValue};

/// The files that `include` knows by name.
const INCLUDED: [(&str, &str); 3] = [
    ("db_bench", include_str!("../../../../suites/include/db_bench.toml")),
    ("dbbench", include_str!("../../../../suites/include/dbbench.toml")),
    ("ycsb", include_str!("../../../../suites/include/ycsb.toml")),
];

/// The texts that a suite includes, each padded with spaces to its offset in the source.
pub(crate) fn load_included_texts(
    suite: &DeTable<'_>,
    source: &mut Source,
    mistakes: &mut Mistakes,
) -> Vec<String> {
    let Some(names) = suite.get("include") else { return Vec::new() };
    let names: Vec<At<String>> = Vec::from_toml(names.clone(), mistakes).unwrap_or_default();
    let mut texts = Vec::new();
    let mut phases: BTreeMap<String, &str> = BTreeMap::new();
    for name in names {
        match INCLUDED.iter().find(|(file, _)| *file == name.value) {
            Some((file, text)) => {
                for phase in parse_phase_names(text) {
                    if let Some(other) = phases.insert(phase.clone(), file) {
                        let message = format!("`{other}` and `{file}` both define `{phase}`");
                        mistakes.at(&name.span, message).label("expected only one of them");
                        break;
                    }
                }
                let start = source.add(&format!("include {file}"), text);
                texts.push(format!("{}{text}", " ".repeat(start)));
            }
            None => {
                let files = INCLUDED.map(|(file, _)| file);
                let message = format!("unknown include `{}`", name.value);
                mistakes.unknown(&name.span, message, &name.value, &files);
            }
        }
    }
    texts
}

/// The names of the phases in an included text.
fn parse_phase_names(text: &str) -> Vec<String> {
    let document = DeTable::parse(text).map(Spanned::into_inner).unwrap_or_default();
    document.keys().map(|key| key.get_ref().clone().into_owned()).collect()
}

/// Adds included phases. If the suite has a phase of the same name, its keys override the included
/// ones.
pub(crate) fn include<'i>(suite: &mut DeTable<'i>, texts: &'i [String]) {
    suite.remove("include");
    for text in texts {
        // The texts are built in, and a test parses them.
        let Ok(document) = DeTable::parse(text) else { continue };
        for (name, included) in document.into_inner() {
            let span = included.span();
            let new = || Spanned::new(span.clone(), DeValue::Table(DeTable::new()));
            let key = Spanned::new(span.clone(), Cow::Borrowed("phases"));
            let phases = suite.entry(key).or_insert_with(new);
            let DeValue::Table(phases) = phases.get_mut() else { return };
            let value = match phases.remove(name.get_ref().as_ref()) {
                Some(value) => overlay(&included, value),
                None => included,
            };
            phases.insert(name, value);
        }
    }
}

/// Overrides the keys of a phase by those of another. Roles in a table are merged by name, and so
/// is the version as run.
fn overlay<'i>(lower: &Toml<'i>, upper: Toml<'i>) -> Toml<'i> {
    let DeValue::Table(base) = lower.get_ref() else { return upper };
    let (span, mut table) = (upper.span(), base.clone());
    let upper = match upper.into_inner() {
        DeValue::Table(upper) => upper,
        other => return Spanned::new(span, other),
    };
    for (key, value) in upper {
        let name = key.get_ref().as_ref();
        let value = match (table.remove(name), name) {
            (Some(lower), AS_RUN) => overlay(&lower, value),
            (Some(lower), "role") => overlay_roles(lower, value),
            _ => value,
        };
        table.insert(key, value);
    }
    Spanned::new(span, DeValue::Table(table))
}

/// Merges the roles of `upper` into those of the same name, in their order; new roles follow. A
/// list replaces all.
fn overlay_roles<'i>(mut lower: Toml<'i>, mut upper: Toml<'i>) -> Toml<'i> {
    if upper.get_ref().as_table().is_none() {
        return upper;
    }
    list_roles(&mut lower);
    list_roles(&mut upper);
    let (span, upper) = (upper.span(), upper.into_inner());
    let (DeValue::Array(mut roles), DeValue::Array(upper)) = (lower.into_inner(), upper) else {
        return Spanned::new(span, DeValue::Array(DeArray::new()));
    };
    for role in upper {
        let name = role_name(&role).map(str::to_owned);
        match roles.iter_mut().find(|other| name.is_some() && role_name(other) == name.as_deref()) {
            Some(other) => *other = overlay(other, role),
            None => roles.push(role),
        }
    }
    Spanned::new(span, DeValue::Array(roles))
}

fn role_name<'t>(role: &'t Toml<'_>) -> Option<&'t str> {
    get_str(role.get_ref().as_table()?, "name")
}

/// `[phases]`.
pub(crate) struct NamedPhases<'i> {
    span: Option<Span>,
    tables: DeTable<'i>,
}

impl<'i> NamedPhases<'i> {
    /// Removes the named phases from the suite.
    pub(crate) fn take_from(suite: &mut DeTable<'i>, mistakes: &mut Mistakes) -> Self {
        let Some(phases) = suite.remove("phases") else {
            return Self { span: None, tables: DeTable::new() };
        };
        let span = phases.span();
        let tables = match phases.into_inner() {
            DeValue::Table(tables) => tables,
            other => {
                let expected =
                    "tables [phases.NAME]; a list that picks from them is `phases` in [run]";
                let _: Option<()> = report_wrong_kind(&span, &other, expected, mistakes);
                DeTable::new()
            }
        };
        Self { span: Some(span), tables }
    }

    /// Refuses a typed `fidelity` if no named phase has two versions.
    pub(crate) fn check_fidelity(&self, typed: Option<&At<Fidelity>>, mistakes: &mut Mistakes) {
        let Some(typed) = typed.filter(|_| !self.tables.values().any(has_versions)) else { return };
        let mistake = mistakes.at(&typed.span, "no named phase has two versions");
        mistake
            .label("expected a table [phases.NAME.as-run], or no `fidelity` here")
            .help("a graph has a `fidelity` of its own: `data.linkbench.fidelity`");
    }

    /// Replaces `[[phase]]` by the phases that `run.phases` selects, in its order. Returns the
    /// version that makes a difference to them.
    pub(crate) fn select_phases(
        &self,
        suite: &mut DeTable<'i>,
        fidelity: Fidelity,
        mistakes: &mut Mistakes,
    ) -> Fidelity {
        let run = suite.get("run").and_then(|run| run.get_ref().as_table());
        let Some(picked) = run.and_then(|run| run.get("phases")).cloned() else {
            if let Some(span) = self.span.as_ref().filter(|_| !self.tables.is_empty()) {
                let mistake = mistakes.at(span, "these phases are not used");
                mistake.label("expected `phases` in [run] or [[part]]: a list of their names");
                let empty_list = || Spanned::new(span.clone(), DeValue::Array(DeArray::new()));
                let key = Spanned::new(span.clone(), Cow::Borrowed("phase"));
                suite.entry(key).or_insert_with(empty_list);
            }
            return Fidelity::AsWritten;
        };
        let span = picked.span();
        // The reader of [run] reports what is wrong with it.
        let names = Vec::<At<String>>::from_toml(picked, &mut Mistakes::default());
        let listed = match suite.remove("phase").map(Spanned::into_inner) {
            Some(DeValue::Array(list)) => list,
            _ => DeArray::new(),
        };
        let mut phases = DeArray::new();
        for name in names.iter().flatten() {
            if let Some(phase) = self.phase(name, &listed, fidelity, mistakes) {
                phases.push(phase);
            }
        }
        let key = Spanned::new(span.clone(), Cow::Borrowed("phase"));
        suite.insert(key, Spanned::new(span, DeValue::Array(phases)));
        let mut selected = names.iter().flatten().filter_map(|name| self.tables.get(name.as_str()));
        if selected.any(has_versions) { fidelity } else { Fidelity::AsWritten }
    }

    /// The phase with this name, from the tables or from `[[phase]]`.
    fn phase(
        &self,
        name: &At<String>,
        listed: &DeArray<'i>,
        fidelity: Fidelity,
        mistakes: &mut Mistakes,
    ) -> Option<Toml<'i>> {
        let called = |phase: &&Toml| {
            let table = phase.get_ref().as_table();
            let word = table.and_then(|table| get_str(table, "name").or(get_str(table, "kind")));
            word == Some(name.as_str())
        };
        let named_phase = self.tables.get_key_value(name.as_str());
        let named_phase = named_phase.map(|(key, table)| table_as(key, table, fidelity, mistakes));
        let matching: Vec<&Toml> = listed.iter().filter(called).collect();
        match (named_phase, &matching[..]) {
            (Some(phase), []) => phase,
            (None, [phase]) => Some((*phase).clone()),
            (None, []) => {
                let kinds = listed.iter().filter_map(|phase| phase.get_ref().as_table());
                let kinds =
                    kinds.filter_map(|table| get_str(table, "name").or(get_str(table, "kind")));
                let tables = self.tables.keys().map(|key| key.get_ref().as_ref());
                let candidates: Vec<&str> = kinds.chain(tables).collect();
                let message = format!("there is no phase `{}`", name.value);
                mistakes.unknown(&name.span, message, &name.value, &candidates);
                None
            }
            (None, [phase, ..]) if name.value == "evict" => Some((*phase).clone()),
            _ => {
                let mistake = mistakes.at(&name.span, "several phases have this name");
                mistake.label("expected a phase with a unique `name`");
                None
            }
        }
    }
}

/// Returns whether a named phase has a version as run.
fn has_versions(phase: &Toml<'_>) -> bool {
    phase.get_ref().as_table().is_some_and(|phase| phase.contains_key(AS_RUN))
}

/// Converts a named phase to the form of `[[phase]]`: with its name, and with its roles in a list.
fn table_as<'i>(
    key: &Spanned<Cow<'i, str>>,
    table: &Toml<'i>,
    fidelity: Fidelity,
    mistakes: &mut Mistakes,
) -> Option<Toml<'i>> {
    let span = table.span();
    let mut below = table.clone();
    let as_run = match below.get_mut() {
        DeValue::Table(table) => table.remove(AS_RUN),
        other => return report_wrong_kind(&span, other, "a table of a phase", mistakes),
    };
    let phase = match as_run.filter(|_| fidelity == Fidelity::AsRun) {
        Some(as_run) if matches!(as_run.get_ref(), DeValue::Table(_)) => overlay(&below, as_run),
        Some(other) => {
            return report_wrong_kind(&other.span(), other.get_ref(), "a table", mistakes);
        }
        None => below,
    };
    let DeValue::Table(mut phase) = phase.into_inner() else { return None };
    if let Some(name) = phase.get("name") {
        let mistake =
            mistakes.at(&name.span(), "a phase of [phases] already has the name of its table");
        mistake.label("expected no `name` here");
    }
    if let Some(role) = phase.get_mut("role") {
        list_roles(role);
    }
    let name = DeValue::String(key.get_ref().clone());
    let name = Spanned::new(key.span(), name);
    phase.remove("name");
    phase.insert(Spanned::new(key.span(), Cow::Borrowed("name")), name);
    Some(Spanned::new(span, DeValue::Table(phase)))
}

/// Converts a table of roles to a list, in the order written: `role.readers = { .. }` becomes a
/// member named `readers`.
fn list_roles(role: &mut Toml<'_>) {
    let DeValue::Table(roles) = role.get_mut() else { return };
    let mut roles: Vec<_> = std::mem::take(roles).into_iter().collect();
    roles.sort_by_key(|(key, _)| key.span().start);
    let mut list = DeArray::new();
    for (key, mut value) in roles {
        if let DeValue::Table(role) = value.get_mut() {
            let name = Spanned::new(key.span(), DeValue::String(key.get_ref().clone()));
            role.insert(Spanned::new(key.span(), Cow::Borrowed("name")), name);
        }
        list.push(value);
    }
    *role.get_mut() = DeValue::Array(list);
}
