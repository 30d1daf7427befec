//! An engine's options: as typed, and as the engine is opened with them under one RAM limit.

use super::engine::{self, Engine};
use super::mistake::Mistakes;
use super::read::{At, Or as _};
use super::scalar::UntypedValue;
use super::scale::PAGE;
use kvdyno_record::engine::{
    Description, Durability, OptionKind, OptionSpec, Options, Preset, Value,
};
use kvdyno_record::units::{self, Ratio, UnitError};

/// What typed options are resolved by.
#[derive(Clone, Copy)]
pub(super) struct Measures {
    /// Bytes that shares are shares of.
    pub(super) memory: u64,
    /// Of those that the engine says are scaled.
    pub(super) scale: Ratio,
}

/// Every option of the engine, resolved.
pub(super) fn resolve(
    engine: &Engine,
    description: &Description,
    by: Measures,
    mistakes: &mut Mistakes,
) -> Options {
    let durability = durability(engine, description, mistakes);
    let begin = |preset: &At<Preset>| {
        Options::of_preset(description, durability, preset.value, by.memory)
            .inspect_err(|error| {
                let mistake = mistakes.at(&preset.span, error.message.clone());
                mistake.label("the engine's description is mistaken here: tell its author");
            })
            .ok()
    };
    let preset = engine.preset.as_ref().and_then(begin);
    let mut options = preset.unwrap_or_else(|| Options::defaults(description, durability));
    apply(engine, &engine.options, (description, by), &mut options, mistakes);
    check_scaled(engine, description, mistakes);
    options
}

/// Only bytes are scaled.
fn check_scaled(engine: &Engine, description: &Description, mistakes: &mut Mistakes) {
    let bytes = description.options.iter().filter(|spec| spec.kind == OptionKind::Bytes);
    let known: Vec<&str> = bytes.map(|spec| spec.name.as_str()).collect();
    for name in engine.scaled.iter().filter(|name| !known.contains(&name.as_str())) {
        let message = format!("{} has no option `{}` in bytes", description.name, name.value);
        mistakes.unknown(&name.span, message, &name.value, &known);
    }
}

/// Those that were typed, in the places of others.
pub(super) fn apply(
    engine: &Engine,
    typed: &engine::Options,
    (description, by): (&Description, Measures),
    options: &mut Options,
    mistakes: &mut Mistakes,
) {
    let known: Vec<&str> = description.options.iter().map(|spec| spec.name.as_str()).collect();
    for (name, given) in &typed.0 {
        let Some(spec) = description.options.iter().find(|spec| spec.name == name.value) else {
            // Of a library it depends on the version.
            let by_library = description.capabilities.library;
            let version = if by_library { &description.version } else { "" };
            let whose = format!("{} {version}", description.name);
            let message = format!("{} has no option `{}`", whose.trim_end(), name.value);
            mistakes.unknown(&name.span, message, &name.value, &known);
            continue;
        };
        if let Some(value) = value(spec, given, by.memory, mistakes) {
            let is_scaled = engine.scaled.iter().any(|scaled| scaled.value == spec.name);
            let by = if is_scaled { by.scale } else { Ratio::ONE };
            options.values.insert(spec.name.clone(), scaled(value, by));
        }
    }
}

/// Nothing is scaled below this: of smaller files and buffers an engine makes so many that it does
/// little else.
const SCALED_MIN: u64 = 1 << 20;

/// Bytes in the proportion of the data; the word for what an option does by itself (0) stays.
fn scaled(value: Value, by: Ratio) -> Value {
    match value {
        Value::Integer(bytes) if bytes > 0 => {
            Value::Integer(by.multiply(bytes).unwrap_or(u64::MAX).max(bytes.min(SCALED_MIN)))
        }
        other => other,
    }
}

fn durability(engine: &Engine, description: &Description, mistakes: &mut Mistakes) -> Durability {
    let typed = engine.durability.as_ref();
    let known = &description.capabilities.durability;
    // A server that somebody runs has the one that it was set up for.
    let only = known.keys().next().filter(|_| engine.attached().is_some() && known.len() == 1);
    let class = engine.durability.value_or(only.copied().unwrap_or(Durability::Async));
    if !known.contains_key(&class) {
        let span = typed.map_or(&engine.name.span, |class| &class.span);
        let names: Vec<&str> = known.keys().map(Durability::as_str).collect();
        let set_up = if engine.attached().is_some() { ", as it is set up there" } else { "" };
        mistakes
            .at(
                span,
                format!("{} has no durability `{}`{set_up}", description.name, class.as_str()),
            )
            .label(format!("expected durability = one of: {}", names.join(", ")));
    }
    class
}

/// The value as the option's kind takes it.
fn value(
    spec: &OptionSpec,
    given: &At<UntypedValue>,
    memory: u64,
    mistakes: &mut Mistakes,
) -> Option<Value> {
    let converted = match (&spec.kind, &given.0) {
        (OptionKind::Bytes, Value::Text(text)) => match bytes(text, memory) {
            Ok(bytes) => Some(Value::Integer(bytes)),
            Err(error) => {
                mistakes
                    .at(&given.span, format!("`{text}` {}", error.problem))
                    .label(format!("expected {}", spec.kind.expected()))
                    .help(format!("{}: {}", spec.name, spec.help));
                return None;
            }
        },
        (OptionKind::Integer { .. }, Value::Text(text)) => {
            units::parse_count(text).ok().map(Value::Integer)
        }
        (_, value) => Some(value.clone()),
    };
    let accepted = converted.filter(|value| spec.kind.accept(value).is_ok());
    if accepted.is_none() {
        mistakes
            .at(&given.span, format!("`{}` does not fit option `{}`", given.0, spec.name))
            .label(format!("expected {}", spec.kind.expected()))
            .help(format!("{}: {}", spec.name, spec.help));
    }
    accepted
}

fn bytes(text: &str, memory: u64) -> Result<u64, UnitError> {
    if text.trim_end().ends_with('%') {
        let share = units::parse_share(text)?;
        return Ok((share * memory as f64) as u64 / PAGE * PAGE);
    }
    units::parse_bytes(text)
}

/// Gives the engine's versions of one run the same word for each option that nobody set: the first
/// that all of them know. Says which.
pub(super) fn agree(
    engine: &Engine,
    description: &Description,
    versions: &[&Description],
    options: &mut Options,
) -> Vec<String> {
    let mut notes = Vec::new();
    for spec in &description.options {
        let (OptionKind::Choice { of }, name) = (&spec.kind, &spec.name) else { continue };
        let known_to_all = |word: &str| {
            let knows = |version: &&Description| {
                let known = version.options.iter().filter(|other| other.name == *name);
                let mut known = known.filter_map(|other| match &other.kind {
                    OptionKind::Choice { of } => Some(of),
                    _ => None,
                });
                known.any(|of| of.iter().any(|other| other == word))
            };
            versions.iter().all(knows)
        };
        let own = options.values.get(name) == Some(&spec.default) && engine.typed(name).is_none();
        let is_known = matches!(&spec.default, Value::Text(word) if known_to_all(word));
        let Some(word) = of.iter().find(|word| own && !is_known && known_to_all(word)) else {
            continue;
        };
        options.values.insert(name.clone(), Value::Text(word.clone()));
        notes.push(format!(
            "{} of all versions: {name} = {word}, as not each has {}",
            description.name, spec.default
        ));
    }
    notes
}

/// The compressor that the suite switches off for this engine, as `compression = none`.
pub(super) fn compressor_off(engine: &Engine, description: &Description) -> Option<String> {
    let off = |spec: &OptionSpec| {
        let given = engine.typed(&spec.name)?;
        let none = spec.no_compressor()?;
        (given.0 == Value::Text(none.to_owned())).then(|| format!("{} = {none}", spec.name))
    };
    description.options.iter().find_map(off)
}

/// Compressors that a default or a preset leaves on, with what switches each off: `asked` says for
/// whom the suite has no compression.
pub(super) fn compressors_left_on(
    engine: &Engine,
    description: &Description,
    options: &Options,
    asked: &str,
) -> Vec<String> {
    let (label, stem) = (&engine.label.0, &engine.stem);
    let warning = |spec: &OptionSpec| {
        let (name, none) = (&spec.name, spec.no_compressor()?);
        let value = options.values.get(name).filter(|value| spec.compresses(value))?;
        Some(format!(
            "{label}: {name} = {value} compresses, but {asked}; hint: --set \
             engine.{stem}.options.{name}={none}"
        ))
    };
    let left_on = description.options.iter().filter(|spec| engine.typed(&spec.name).is_none());
    left_on.filter_map(warning).collect()
}
