//! `[[part]]`: a named sub-grid of a suite. Every table of the suite is its default: keys override,
//! lists sweep, names select. Each part becomes a document, which is then read and checked like a
//! suite without parts.

use super::engine::OptionTable;
use super::fidelity::{Fidelity, NamedPhases};
use super::mistake::Mistakes;
use super::names::check_names;
use super::parse::Part;
use super::read::{At, Fields, FromToml as _, Toml, wrong_kind};
use super::scalar::Name;
use super::select::Picks;
use super::set::take_the_other_away;
use super::source::Span;
use super::typed::{Data, Ram, Run};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_spanned::Spanned;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use toml::de::{DeTable, DeValue};

/// A named grid of the suite. Of two keys that exclude each other (`records` and `size`), the
/// part's key replaces the suite's. Case names and tables show the part: `0005_large_lmdb_t4_r1`.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename = "Part")]
#[expect(dead_code, reason = "describes the language for the schema")]
pub(super) struct WrittenPart {
    /// The name of the part, unique in the suite.
    name: At<Name>,
    /// The engines of the part, by label or name; `drive` is the `[drive]`. Default: all.
    engines: Option<Vec<String>>,
    /// The volumes of the part. Default: all.
    volumes: Option<Vec<String>>,
    /// The memory tiers of the part. Default: all.
    tiers: Option<Vec<String>>,
    /// The phases of the part, in this order. Default: as the suite.
    phases: Option<Vec<String>>,
    /// The version of the named phases. Default: as the suite.
    fidelity: Option<Fidelity>,
    /// Keys that replace those of `[data]`.
    data: Option<Over<Data>>,
    /// Keys that replace those of `[ram]`.
    ram: Option<Over<Ram>>,
    /// Keys that replace those of `[run]`.
    run: Option<Over<Run>>,
    /// Options by engine, next to those of `[[engine]]`: `options.rocksdb = { compression = "zlib"
    /// }`. Lists multiply, as in `[[engine]]`.
    options: Option<BTreeMap<String, OptionTable>>,
}

/// Some keys of a table, all of them optional.
struct Over<T>(PhantomData<T>);

impl<T: JsonSchema> JsonSchema for Over<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("Over{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = T::json_schema(generator);
        schema.remove("required");
        schema
    }
}

/// One part of a suite as a document of its own.
pub(super) struct Document<'i> {
    /// None: the suite has no parts, and is one document.
    pub(super) name: Option<At<Name>>,
    pub(super) picks: Picks,
    pub(super) fidelity: Fidelity,
    pub(super) tables: DeTable<'i>,
}

/// A part as typed.
struct PartTable<'i> {
    name: At<Name>,
    picks: Picks,
    phases: Option<Toml<'i>>,
    fidelity: Option<At<Fidelity>>,
    /// Its own keys of `[data]`, `[ram]` and `[run]`.
    tables: Vec<(&'static str, Toml<'i>)>,
    options: Option<Toml<'i>>,
}

/// The documents of a suite; one if it has no parts.
pub(super) fn split<'i>(mut suite: DeTable<'i>, mistakes: &mut Mistakes) -> Vec<Document<'i>> {
    let named = NamedPhases::take_from(&mut suite, mistakes);
    let fidelity = suite.remove("fidelity").and_then(|toml| At::from_toml(toml, mistakes));
    let fidelity = fidelity.map(|at: At<Fidelity>| at.value).unwrap_or_default();
    let mut documents = match suite.remove("part") {
        None => vec![Document { name: None, picks: Picks::default(), fidelity, tables: suite }],
        Some(parts) => {
            let parts = read(parts, mistakes);
            check_names("parts", parts.iter().map(|part| &part.name), mistakes);
            parts.into_iter().map(|part| part.over(&suite, fidelity, mistakes)).collect()
        }
    };
    for document in &mut documents {
        named.pick(&mut document.tables, document.fidelity, mistakes);
    }
    documents
}

fn read<'i>(parts: Toml<'i>, mistakes: &mut Mistakes) -> Vec<PartTable<'i>> {
    let span = parts.span();
    let parts = match parts.into_inner() {
        DeValue::Array(parts) => parts,
        other => {
            let _: Option<()> = wrong_kind(&span, &other, "a list: [[part]]", mistakes);
            return Vec::new();
        }
    };
    if parts.is_empty() {
        mistakes.at(&span, "the list is empty").label("expected at least one [[part]]");
    }
    parts.into_iter().filter_map(|part| PartTable::read(part, mistakes)).collect()
}

impl<'i> PartTable<'i> {
    fn read(toml: Toml<'i>, mistakes: &mut Mistakes) -> Option<Self> {
        let mut fields = Fields::read(toml, "[[part]]", mistakes)?;
        let name = fields.required("name");
        let picks = Picks {
            engines: fields.optional("engines"),
            volumes: fields.optional("volumes"),
            tiers: fields.optional("tiers"),
        };
        let phases = fields.as_written("phases");
        let fidelity = fields.optional("fidelity");
        let take = |key| fields.as_written(key).map(|toml| (key, toml));
        let tables: Vec<_> = ["data", "ram", "run"].into_iter().filter_map(take).collect();
        let options = fields.as_written("options");
        fields.finish();
        if let Some(phases) = phases.as_ref().filter(|_| picks_in_run(&tables)) {
            let mistake = mistakes.at(&phases.span(), "[[part]] selects its phases twice");
            mistake.label("expected either `phases` here or in `run`");
        }
        Some(Self { name: name?, picks, phases, fidelity, tables, options })
    }

    /// The suite with the part's own keys.
    fn over(
        self,
        suite: &DeTable<'i>,
        fidelity: Fidelity,
        mistakes: &mut Mistakes,
    ) -> Document<'i> {
        let mut tables = suite.clone();
        for (name, keys) in self.tables {
            override_keys(&mut tables, name, keys, mistakes);
        }
        if let Some(phases) = self.phases {
            pick_phases(&mut tables, phases);
        }
        if let Some(options) = self.options {
            override_options(&mut tables, options, mistakes);
        }
        let fidelity = self.fidelity.map_or(fidelity, |fidelity| fidelity.value);
        Document { name: Some(self.name), picks: self.picks, fidelity, tables }
    }
}

/// Whether `run` of a part also selects phases.
fn picks_in_run(tables: &[(&str, Toml<'_>)]) -> bool {
    let run = tables.iter().find(|(name, _)| *name == "run");
    let run = run.and_then(|(_, toml)| toml.get_ref().as_table());
    run.is_some_and(|run| run.contains_key("phases"))
}

/// Inserts a key at the position of its value.
fn insert<'i>(table: &mut DeTable<'i>, key: &'static str, value: Toml<'i>) {
    table.remove(key);
    table.insert(Spanned::new(value.span(), Cow::Borrowed(key)), value);
}

/// The table under a key, created if missing; none: the key has another value, which its reader
/// reports.
fn table_at<'t, 'i>(
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
            let _: Option<()> = wrong_kind(&span, &other, &expected, mistakes);
            return;
        }
    };
    let Some(table) = table_at(tables, name, &span) else { return };
    // Two exclusive keys in one table are reported by the table's reader.
    for key in keys.keys() {
        take_the_other_away(table, name, key.get_ref());
    }
    for (key, value) in keys {
        table.remove(key.get_ref().as_ref());
        table.insert(key, value);
    }
}

/// `phases` of a part means `phases` of its `[run]`.
fn pick_phases<'i>(tables: &mut DeTable<'i>, phases: Toml<'i>) {
    if let Some(run) = table_at(tables, "run", &phases.span()) {
        insert(run, "phases", phases);
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
            let called = ["label", "name"].map(|key| super::adjust::word(engine, key));
            let called = called.map(|word| word.map(str::to_owned));
            if called.iter().flatten().any(|called| *called == name.value) {
                matched = true;
                override_keys(engine, "options", options.clone(), mistakes);
            }
            candidates.extend(called.into_iter().flatten().next());
        }
        if !matched {
            let candidates: Vec<&str> = candidates.iter().map(String::as_str).collect();
            let message = format!("the suite has no engine `{}`", name.value);
            mistakes.unknown(&name.span, message, &name.value, &candidates);
        }
    }
}

/// Keeps only the requested parts.
pub(super) fn only(parts: &mut Vec<Document>, requested: &[String], mistakes: &mut Mistakes) {
    if requested.is_empty() {
        return;
    }
    let names = parts.iter().filter_map(|part| part.name.as_ref());
    let names: Vec<&str> = names.map(|name| name.0.as_str()).collect();
    for name in requested.iter().filter(|name| !names.contains(&name.as_str())) {
        let meant = super::mistake::closest(name, &names);
        let meant = meant.map(|part| format!("did you mean `{part}`? ")).unwrap_or_default();
        let help = match &names[..] {
            [] => "the suite has no [[part]]: leave --part out".to_owned(),
            names => format!("{meant}its parts: {}", names.join(", ")),
        };
        mistakes.anywhere(format!("--part: the suite has no part `{name}`")).help(help);
    }
    parts.retain(|part| part.name.as_ref().is_some_and(|name| requested.contains(&name.0)));
}

impl Part {
    pub(super) fn name(&self) -> Option<&str> {
        self.name.as_ref().map(|name| name.0.as_str())
    }

    /// The name of its engine in tables: `rocksdb flash`.
    pub(super) fn label(&self, engine: &str) -> String {
        self.name().map_or_else(|| engine.to_owned(), |part| format!("{engine} {part}"))
    }
}
