//! An engine's options: as typed, and as resolved for one RAM limit.

use crate::written::engine::{self, Engine};
use crate::written::mistake::Mistakes;
use crate::written::read::{At, Or as _};
use crate::written::scalar::UntypedValue;
use crate::written::scale::PAGE;
use kvdyno_record::engine::{
    Description, Durability, OptionKind, OptionSpec, Options, Preset, Value,
};
use kvdyno_record::units::{self, Ratio, UnitError};

/// The quantities that resolve typed options.
#[derive(Clone, Copy)]
pub(crate) struct Measures {
    /// The bytes that shares refer to.
    pub(crate) memory: u64,
    /// Whether the memory is that of a limit, which is already scaled.
    pub(crate) is_limited: bool,
    /// The ratio for options that the engine scales.
    pub(crate) scale: Ratio,
}

/// Resolves every option of the engine.
pub(crate) fn resolve(
    engine: &Engine,
    description: &Description,
    measures: Measures,
    mistakes: &mut Mistakes,
) -> Options {
    let durability = durability(engine, description, mistakes);
    let begin = |preset: &At<Preset>| {
        Options::from_preset(description, durability, preset.value, measures.memory)
            .inspect_err(|error| {
                let mistake = mistakes.at(&preset.span, error.message.clone());
                mistake.label("the engine's description is wrong here: report it to its author");
            })
            .ok()
    };
    let preset = engine.preset.as_ref().and_then(begin);
    let mut options = preset.unwrap_or_else(|| Options::defaults(description, durability));
    apply(engine, &engine.options, description, measures, &mut options, mistakes);
    check_scaled(engine, description, mistakes);
    options
}

/// Refuses names in `scaled` that are not options in bytes.
fn check_scaled(engine: &Engine, description: &Description, mistakes: &mut Mistakes) {
    let bytes = description.options.iter().filter(|spec| spec.kind == OptionKind::Bytes);
    let candidates: Vec<&str> = bytes.map(|spec| spec.name.as_str()).collect();
    for name in engine.scaled.iter().filter(|name| !candidates.contains(&name.as_str())) {
        let message = format!("{} has no option `{}` in bytes", description.name, name.value);
        mistakes.unknown(&name.span, message, &name.value, &candidates);
    }
}

/// Sets the typed options.
pub(crate) fn apply(
    engine: &Engine,
    typed: &engine::Options,
    description: &Description,
    measures: Measures,
    options: &mut Options,
    mistakes: &mut Mistakes,
) {
    let candidates: Vec<&str> = description.options.iter().map(|spec| spec.name.as_str()).collect();
    for (name, typed_value) in &typed.0 {
        let Some(spec) = description.options.iter().find(|spec| spec.name == name.value) else {
            // A library's options depend on its version.
            let by_library = description.capabilities.library;
            let version = if by_library { &description.version } else { "" };
            let whose = format!("{} {version}", description.name);
            let message = format!("{} has no option `{}`", whose.trim_end(), name.value);
            mistakes.unknown(&name.span, message, &name.value, &candidates);
            continue;
        };
        if let Some(value) = value(spec, typed_value, measures.memory, mistakes) {
            // A share of a limit is scaled with the limit.
            let is_share = matches!(&typed_value.0, Value::Text(text) if is_share(text));
            let is_scaled = !(measures.is_limited && is_share)
                && engine.scaled.iter().any(|scaled| scaled.value == spec.name);
            let ratio = if is_scaled { measures.scale } else { Ratio::ONE };
            options.values.insert(spec.name.clone(), scale_value(value, ratio));
        }
    }
}

/// Lower bound of scaled values: with smaller files and buffers an engine creates too many of them.
const SCALED_MIN: u64 = 1 << 20;

/// Scales bytes like the data; 0, which means automatic, stays.
fn scale_value(value: Value, ratio: Ratio) -> Value {
    match value {
        Value::Integer(bytes) if bytes > 0 => {
            Value::Integer(ratio.multiply(bytes).unwrap_or(u64::MAX).max(bytes.min(SCALED_MIN)))
        }
        other => other,
    }
}

fn durability(engine: &Engine, description: &Description, mistakes: &mut Mistakes) -> Durability {
    let typed = engine.durability.as_ref();
    let classes = &description.capabilities.durability;
    // An attached server may have only the class that it is configured for.
    let only =
        classes.keys().next().filter(|_| engine.attached_server().is_some() && classes.len() == 1);
    let class = engine.durability.value_or(only.copied().unwrap_or(Durability::Async));
    if !classes.contains_key(&class) {
        let span = typed.map_or(&engine.name.span, |class| &class.span);
        let names: Vec<&str> = classes.keys().map(Durability::as_str).collect();
        let set_up = if engine.attached_server().is_some() { " in its configuration" } else { "" };
        let message =
            format!("{} has no durability `{}`{set_up}", description.name, class.as_str());
        let mistake = mistakes.at(span, message);
        mistake.label(format!("expected durability = one of: {}", names.join(", ")));
        if let Some(last) = names.last() {
            mistake.help(format!("`--set engine.{}.durability={last}` sets it", engine.label.0));
        }
    }
    class
}

/// Converts the value to the option's kind.
fn value(
    spec: &OptionSpec,
    typed: &At<UntypedValue>,
    memory: u64,
    mistakes: &mut Mistakes,
) -> Option<Value> {
    let converted = match (&spec.kind, &typed.0) {
        (OptionKind::Bytes, Value::Text(text)) => match bytes(text, memory) {
            Ok(bytes) => Some(Value::Integer(bytes)),
            Err(error) => {
                mistakes
                    .at(&typed.span, format!("`{text}` {}", error.problem))
                    .label(format!("expected {}", spec.kind.format_expected()))
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
            .at(&typed.span, format!("`{}` does not fit option `{}`", typed.0, spec.name))
            .label(format!("expected {}", spec.kind.format_expected()))
            .help(format!("{}: {}", spec.name, spec.help));
    }
    accepted
}

fn is_share(text: &str) -> bool {
    text.trim_end().ends_with('%')
}

fn bytes(text: &str, memory: u64) -> Result<u64, UnitError> {
    if is_share(text) {
        let share = units::parse_share(text)?;
        return Ok((share * memory as f64) as u64 / PAGE * PAGE);
    }
    units::parse_bytes(text)
}

/// Gives all versions of the engine in one run the same value for options that the suite does not
/// set: the first value that every version knows. Returns notes.
pub(crate) fn agree(
    engine: &Engine,
    description: &Description,
    versions: &[&Description],
    options: &mut Options,
) -> Vec<String> {
    let mut notes = Vec::new();
    for spec in &description.options {
        let (OptionKind::Choice { of }, name) = (&spec.kind, &spec.name) else { continue };
        let is_in_all = |word: &str| {
            let has_word = |version: &&Description| {
                let same_option = version.options.iter().filter(|other| other.name == *name);
                let mut same_option = same_option.filter_map(|other| match &other.kind {
                    OptionKind::Choice { of } => Some(of),
                    _ => None,
                });
                same_option.any(|of| of.iter().any(|other| other == word))
            };
            versions.iter().all(has_word)
        };
        let is_default =
            options.values.get(name) == Some(&spec.default) && engine.option_value(name).is_none();
        let default_in_all = matches!(&spec.default, Value::Text(word) if is_in_all(word));
        let Some(word) = of.iter().find(|word| is_default && !default_in_all && is_in_all(word))
        else {
            continue;
        };
        options.values.insert(name.clone(), Value::Text(word.clone()));
        notes.push(format!(
            "{} in all versions: {name} = {word}, because some versions lack {}",
            description.name, spec.default
        ));
    }
    notes
}

/// Returns the setting by which the suite disables a compressor of this engine, such as
/// `compression = none`.
pub(crate) fn compressor_off(engine: &Engine, description: &Description) -> Option<String> {
    let off = |spec: &OptionSpec| {
        let value = engine.option_value(&spec.name)?;
        let none = spec.no_compressor()?;
        (value.0 == Value::Text(none.to_owned())).then(|| format!("{} = {none}", spec.name))
    };
    description.options.iter().find_map(off)
}

/// Returns a warning for each compressor that a default or a preset enables, with the setting that
/// disables it. `reason` names an engine for which the suite disables compression.
pub(crate) fn compressors_left_on(
    engine: &Engine,
    description: &Description,
    options: &Options,
    reason: &str,
) -> Vec<String> {
    let (label, stem) = (&engine.label.0, &engine.stem);
    let warning = |spec: &OptionSpec| {
        let (name, none) = (&spec.name, spec.no_compressor()?);
        let value = options.values.get(name).filter(|value| spec.compresses(value))?;
        Some(format!(
            "{label}: {name} = {value} compresses, but {reason}; hint: --set \
             engine.{stem}.options.{name}={none}"
        ))
    };
    let left_on =
        description.options.iter().filter(|spec| engine.option_value(&spec.name).is_none());
    left_on.filter_map(warning).collect()
}
