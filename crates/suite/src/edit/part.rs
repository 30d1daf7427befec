//! `[[part]]`: a named sub-grid of a suite. Every table of the suite is its default: keys override,
//! lists sweep, names select. Each part becomes a document, which is then read and checked like a
//! suite without parts.

use crate::edit::adjust::{get_or_insert_table, get_str, put};
use crate::edit::named_phases::NamedPhases;
use crate::edit::select::Picks;
use crate::edit::set::remove_excluded_key;
use crate::written::fidelity::Fidelity;
use crate::written::mistake::Mistakes;
use crate::written::names::check_names;
use crate::written::part::PartTable;
use crate::written::read::{At, Fields, FromToml as _, Toml, members, report_wrong_kind};
use crate::written::scalar::Name;
use serde_spanned::Spanned;
use toml::de::{DeTable, DeValue};

/// One part of a suite as a document of its own.
#[derive(Clone)]
pub(crate) struct Document<'i> {
    /// None: the suite has no parts, and is one document.
    pub(crate) name: Option<At<Name>>,
    pub(crate) picks: Picks,
    /// The version of its named phases; as written if that makes no difference.
    pub(crate) fidelity: Fidelity,
    pub(crate) tables: DeTable<'i>,
}

/// The documents of a suite; one if it has no parts.
pub(crate) fn split_parts<'i>(
    mut suite: DeTable<'i>,
    mistakes: &mut Mistakes,
) -> Vec<Document<'i>> {
    let named_phases = NamedPhases::take_from(&mut suite, mistakes);
    let fidelity = suite.remove("fidelity");
    let fidelity: Option<At<Fidelity>> = fidelity.and_then(|toml| At::from_toml(toml, mistakes));
    named_phases.check_fidelity(fidelity.as_ref(), mistakes);
    let fidelity = fidelity.map(|at| at.value).unwrap_or_default();
    let mut documents = match suite.remove("part") {
        None => vec![Document { name: None, picks: Picks::default(), fidelity, tables: suite }],
        Some(parts) => {
            let parts = read(parts, mistakes);
            check_names("parts", parts.iter().map(|part| &part.name), mistakes);
            for part in &parts {
                named_phases.check_fidelity(part.fidelity.as_ref(), mistakes);
            }
            parts.into_iter().map(|part| overlay(part, &suite, fidelity, mistakes)).collect()
        }
    };
    for document in &mut documents {
        document.fidelity =
            named_phases.select_phases(&mut document.tables, document.fidelity, mistakes);
    }
    documents
}

fn read<'i>(parts: Toml<'i>, mistakes: &mut Mistakes) -> Vec<PartTable<'i>> {
    let span = parts.span();
    let Some(parts) = members(parts, "[[part]]", mistakes) else { return Vec::new() };
    if parts.is_empty() {
        mistakes.at(&span, "the list is empty").label("expected at least one [[part]]");
    }
    parts.into_iter().filter_map(|part| PartTable::read(part, mistakes)).collect()
}

/// Returns a copy of the suite with the part's own keys.
fn overlay<'i>(
    part: PartTable<'i>,
    suite: &DeTable<'i>,
    fidelity: Fidelity,
    mistakes: &mut Mistakes,
) -> Document<'i> {
    let mut tables = suite.clone();
    for (name, keys) in [("data", part.data), ("ram", part.ram), ("run", part.run)] {
        if let Some(keys) = keys {
            override_keys(&mut tables, name, keys, mistakes);
        }
    }
    if let Some(phases) = part.phases {
        pick_phases(&mut tables, phases);
    }
    if let Some(options) = part.options {
        override_options(&mut tables, options, mistakes);
    }
    let fidelity = part.fidelity.map_or(fidelity, |fidelity| fidelity.value);
    let picks = Picks { engines: part.engines, volumes: part.volumes, tiers: part.tiers };
    Document { name: Some(part.name), picks, fidelity, tables }
}

/// Overrides the table's keys. An overriding key also removes the keys that it excludes.
fn override_keys<'i>(
    tables: &mut DeTable<'i>,
    name: &'static str,
    keys: Toml<'i>,
    mistakes: &mut Mistakes,
) {
    let span = keys.span();
    let keys = match keys.into_inner() {
        DeValue::Table(keys) => keys,
        other => {
            let expected = format!("a table of keys of [{name}]");
            let _: Option<()> = report_wrong_kind(&span, &other, &expected, mistakes);
            return;
        }
    };
    let Some(table) = get_or_insert_table(tables, name, &span) else { return };
    // Two exclusive keys in one table are reported by the table's reader.
    for key in keys.keys() {
        remove_excluded_key(table, name, key.get_ref());
    }
    for (key, value) in keys {
        table.remove(key.get_ref().as_ref());
        table.insert(key, value);
    }
}

/// Sets `phases` of a part in its `[run]`.
fn pick_phases<'i>(tables: &mut DeTable<'i>, phases: Toml<'i>) {
    if let Some(run) = get_or_insert_table(tables, "run", &phases.span()) {
        put(run, "phases", phases);
    }
}

/// Overrides options of the engines with these names.
fn override_options<'i>(tables: &mut DeTable<'i>, options: Toml<'i>, mistakes: &mut Mistakes) {
    let Some(mut by_engine) = Fields::read(options, "options by engine", mistakes) else { return };
    let by_engine = by_engine.rest();
    for (name, options) in by_engine {
        let mut candidates = Vec::new();
        let mut matched = false;
        let engines = tables.get_mut("engine").map(Spanned::get_mut);
        let Some(DeValue::Array(engines)) = engines else { return };
        for engine in engines.iter_mut() {
            let DeValue::Table(engine) = engine.get_mut() else { continue };
            let names = ["label", "name"].map(|key| get_str(engine, key));
            let names = names.map(|word| word.map(str::to_owned));
            if names.iter().flatten().any(|engine_name| *engine_name == name.value) {
                matched = true;
                override_keys(engine, "options", options.clone(), mistakes);
            }
            candidates.extend(names.into_iter().flatten().next());
        }
        if !matched {
            let candidates: Vec<&str> = candidates.iter().map(String::as_str).collect();
            let message = format!("the suite has no engine `{}`", name.value);
            mistakes.unknown(&name.span, message, &name.value, &candidates);
        }
    }
}

/// Keeps only the requested parts.
pub(crate) fn retain_requested(
    parts: &mut Vec<Document>,
    requested: &[String],
    mistakes: &mut Mistakes,
) {
    if requested.is_empty() {
        return;
    }
    let names = parts.iter().filter_map(|part| part.name.as_ref());
    let names: Vec<&str> = names.map(|name| name.0.as_str()).collect();
    for name in requested.iter().filter(|name| !names.contains(&name.as_str())) {
        let meant = crate::written::mistake::closest(name, &names);
        let meant = meant.map(|part| format!("did you mean `{part}`? ")).unwrap_or_default();
        let help = match &names[..] {
            [] => "the suite has no [[part]]: leave --part out".to_owned(),
            names => format!("{meant}its parts: {}", names.join(", ")),
        };
        mistakes.add_unlocated(format!("--part: the suite has no part `{name}`")).help(help);
    }
    parts.retain(|part| part.name.as_ref().is_some_and(|name| requested.contains(&name.0)));
}
