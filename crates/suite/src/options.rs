//! An engine's options: as typed, and as the engine is opened with them under one RAM limit.

use super::engine::{self, Engine};
use super::mistake::Mistakes;
use super::read::{At, Or as _};
use super::scalar::Given;
use super::scale::PAGE;
use kvdyno_record::engine::{
    Description, Durability, OptionKind, OptionSpec, Options, Preset, Value,
};
use kvdyno_record::units;

/// Every option of the engine, resolved. `memory`: bytes that shares are shares of.
pub(super) fn resolve(
    engine: &Engine,
    description: &Description,
    memory: u64,
    mistakes: &mut Mistakes,
) -> Options {
    let durability = durability(engine, description, mistakes);
    let begin = |preset: &At<Preset>| {
        Options::of_preset(description, durability, preset.value, memory)
            .inspect_err(|error| {
                let mistake = mistakes.at(&preset.span, error.message.clone());
                mistake.label("the engine's description is mistaken here: tell its author");
            })
            .ok()
    };
    let preset = engine.preset.as_ref().and_then(begin);
    let mut options = preset.unwrap_or_else(|| Options::defaults(description, durability));
    apply(&engine.options, description, memory, &mut options, mistakes);
    options
}

/// Those that were typed, in the places of others.
pub(super) fn apply(
    typed: &engine::Options,
    description: &Description,
    memory: u64,
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
        if let Some(value) = value(spec, given, memory, mistakes) {
            options.values.insert(spec.name.clone(), value);
        }
    }
}

fn durability(engine: &Engine, description: &Description, mistakes: &mut Mistakes) -> Durability {
    let typed = engine.durability.as_ref();
    let class = engine.durability.given_or(Durability::Async);
    let known = &description.capabilities.durability;
    if !known.contains_key(&class) {
        let span = typed.map_or(&engine.name.span, |class| &class.span);
        let names: Vec<&str> = known.keys().map(Durability::as_str).collect();
        mistakes
            .at(span, format!("{} has no durability `{}`", description.name, class.as_str()))
            .label(format!("expected durability = one of: {}", names.join(", ")));
    }
    class
}

/// The value as the option's kind takes it.
fn value(
    spec: &OptionSpec,
    given: &At<Given>,
    memory: u64,
    mistakes: &mut Mistakes,
) -> Option<Value> {
    let converted = match (&spec.kind, &given.0) {
        (OptionKind::Bytes, Value::Text(text)) => bytes(text, memory).map(Value::Integer),
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

fn bytes(text: &str, memory: u64) -> Option<u64> {
    if text.trim_end().ends_with('%') {
        let share = units::parse_share(text).ok()?;
        return Some((share * memory as f64) as u64 / PAGE * PAGE);
    }
    units::parse_bytes(text).ok()
}

/// Memory that the engine's caches and write buffers are configured to take.
pub(super) fn cache_bytes(description: &Description, options: &Options) -> u64 {
    let holds_memory = |spec: &&OptionSpec| {
        spec.kind == OptionKind::Bytes
            && (spec.name.contains("cache") || spec.name.contains("buffer"))
    };
    let caches = description.options.iter().filter(holds_memory);
    caches.filter_map(|spec| options.integer(&spec.name).ok()).fold(0, u64::saturating_add)
}
