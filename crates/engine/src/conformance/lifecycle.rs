//! Opening, closing, settling, and the description of an engine.

use super::erased::BoxEngine;
use super::field::{Field, Outcome, Stop, expect, expect_value, mix, value};
use crate::{
    DataShape, Direction, Error, ErrorClass, Location, OptionKind, OptionSpec, Options, Preset,
    Range, Value,
};
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

pub(super) fn describes_itself(field: &Field<'_>) -> Outcome {
    let description = &field.description;
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    expect(!description.name.is_empty() && description.name.chars().all(plain), || {
        format!("the name `{}` is not lower case", description.name)
    })?;
    expect(!description.version.is_empty(), || "the version is empty".to_owned())?;
    let capabilities = &description.capabilities;
    expect(!capabilities.durability.is_empty(), || {
        "the engine has no durability \
        class"
            .to_owned()
    })?;
    expect(!capabilities.places.is_empty(), || "the engine accepts no location".to_owned())?;
    let planning = &description.planning;
    expect(planning.space_factor >= 0.0 && planning.write_factor >= 0.0, || {
        format!("invalid planning factors: {planning:?}")
    })?;
    let names: BTreeSet<_> = description.options.iter().map(|option| &option.name).collect();
    expect(names.len() == description.options.len(), || "an option is named twice".to_owned())?;
    for option in &description.options {
        option.kind.accept(&option.default).map_err(|expected| {
            Stop::Fail(format!("default of `{}` is not {expected}", option.name))
        })?;
    }
    let mut unknown = field.options();
    unknown.values.insert("no_such_option".to_owned(), Value::Integer(1));
    expect(unknown.resolve(description).is_err(), || "an unknown option is accepted".to_owned())
}

/// Opens the engine with its defaults, and with every other word of each option in turn.
/// A combination may be refused, but as `Invalid` or `Unsupported`, and at `open`.
pub(super) fn opens_with_every_word(field: &Field<'_>) -> Outcome {
    round_trip_with(field, &field.options())?;
    for option in &field.description.options {
        for word in non_default_values(option) {
            let mut options = field.options();
            options.values.insert(option.name.clone(), word.clone());
            let options = options.resolve(&field.description)?;
            round_trip_with(field, &options).map_err(|stop| match stop {
                Stop::Fail(what) => Stop::Fail(format!("{} = {word}: {what}", option.name)),
                skip @ Stop::Skip(_) => skip,
            })?;
        }
    }
    Ok(())
}

/// Opens the engine with every preset, with the memory of a small machine for options that are a
/// share of it.
pub(super) fn opens_with_every_preset(field: &Field<'_>) -> Outcome {
    const MEMORY: u64 = 512 << 20;
    for preset in Preset::ALL {
        let class = field.options().durability;
        let options = Options::from_preset(&field.description, class, preset, MEMORY)?;
        let location = field.new_location()?;
        let engine = field
            .open_at(&location, &options, &field.shape(100))
            .map_err(|error| Stop::Fail(format!("preset {}: {error}", preset.as_str())))?;
        fill(field, &engine, 20)?;
        check_fill(field, &engine, 20)?;
        engine.close()?;
    }
    Ok(())
}

fn non_default_values(option: &OptionSpec) -> Vec<Value> {
    let words = match &option.kind {
        OptionKind::Boolean => vec![Value::Boolean(true), Value::Boolean(false)],
        OptionKind::Choice { of } => of.iter().cloned().map(Value::Text).collect(),
        OptionKind::Bytes | OptionKind::Integer { .. } | OptionKind::Text => Vec::new(),
    };
    words.into_iter().filter(|word| *word != option.default).collect()
}

fn round_trip_with(field: &Field<'_>, options: &Options) -> Outcome {
    let location = field.new_location()?;
    let engine = match field.open_at(&location, options, &field.shape(100)) {
        Err(Error { class: ErrorClass::Invalid | ErrorClass::Unsupported, .. }) => return Ok(()),
        other => other?,
    };
    fill(field, &engine, 20)?;
    check_fill(field, &engine, 20)?;
    Ok(engine.close()?)
}

pub(super) fn round_trips_in_every_class(field: &Field<'_>) -> Outcome {
    for &class in field.capabilities().durability.keys() {
        let options = Options::defaults(&field.description, class);
        fill_and_reopen(field, &options, 50).map_err(|stop| match stop {
            Stop::Fail(what) => Stop::Fail(format!("class {}: {what}", class.as_str())),
            skip @ Stop::Skip(_) => skip,
        })?;
    }
    Ok(())
}

pub(super) fn reopen(field: &Field<'_>) -> Outcome {
    field.require_contents()?;
    fill_and_reopen(field, &field.options(), 2000)
}

fn fill_and_reopen(field: &Field<'_>, options: &Options, keys: u64) -> Outcome {
    let location = field.new_location()?;
    let open = |location: &Location| field.open_at(location, options, &field.shape(keys));
    let engine = open(&location)?;
    fill(field, &engine, keys)?;
    engine.sync()?;
    engine.close()?;
    // A second time round, without `sync`: closing alone must be enough.
    let engine = open(&location)?;
    check_fill(field, &engine, keys)?;
    if field.capabilities().delete {
        engine.session()?.delete(&field.key(0))?;
    }
    engine.session()?.put(&field.key(1), &value(1, 2, 64))?;
    engine.close()?;
    let engine = open(&location)?;
    if !field.capabilities().stores_nothing {
        let mut session = engine.session()?;
        if field.capabilities().delete {
            expect_value(&mut session, &field.key(0), None)?;
        }
        expect_value(&mut session, &field.key(1), Some(&value(1, 2, 64)))?;
    }
    Ok(engine.close()?)
}

fn fill(field: &Field<'_>, engine: &BoxEngine, keys: u64) -> Outcome {
    let mut session = engine.session()?;
    for number in 0..keys {
        session.put(&field.key(number), &value(number, 1, 64))?;
    }
    Ok(())
}

fn check_fill(field: &Field<'_>, engine: &BoxEngine, keys: u64) -> Outcome {
    if field.capabilities().stores_nothing {
        return Ok(());
    }
    let mut session = engine.session()?;
    for number in 0..keys {
        expect_value(&mut session, &field.key(number), Some(&value(number, 1, 64)))?;
    }
    Ok(())
}

pub(super) fn settles_within_limit(field: &Field<'_>) -> Outcome {
    /// Far more than any wake-up takes, far less than a limit that is ignored.
    const SLACK: Duration = Duration::from_secs(5);
    let engine = field.open(2000)?;
    fill(field, &engine, 2000)?;
    for limit in [Duration::ZERO, Duration::from_millis(50), Duration::from_secs(20)] {
        let start = Instant::now();
        let settled = engine.settle(limit)?;
        let took = start.elapsed();
        expect(took <= limit + SLACK, || format!("took {took:?} of {limit:?} allowed"))?;
        expect(!settled.note.is_empty(), || {
            "`settle` does not report what it waited \
            for"
            .to_owned()
        })?;
    }
    check_fill(field, &engine, 2000)?;
    Ok(engine.close()?)
}

pub(super) fn counters_and_events(field: &Field<'_>) -> Outcome {
    let begun = unix_ns();
    let engine = field.open(2000)?;
    fill(field, &engine, 2000)?;
    engine.settle(Duration::from_secs(20))?;
    let all_named = engine.counters().keys().all(|name| !name.is_empty());
    expect(all_named, || "a counter has no name".to_owned())?;
    let events = engine.events();
    let ordered = events.windows(2).all(|pair| pair[0].at_unix_ns <= pair[1].at_unix_ns);
    expect(ordered, || "events are not in the order of time".to_owned())?;
    // A clock other than the system's time of day would put events outside of every phase.
    let span = begun.saturating_sub(SECOND_NS)..=unix_ns() + SECOND_NS;
    let outside = events.iter().find(|event| !span.contains(&event.at_unix_ns));
    expect(outside.is_none(), || {
        let at = outside.map_or(0, |event| event.at_unix_ns);
        format!("expected events at {} to {} ns of Unix time, found {at}", span.start(), span.end())
    })?;
    let again = engine.events();
    expect(!events.iter().any(|event| again.contains(event)), || {
        "an event was reported twice".to_owned()
    })?;
    Ok(engine.close()?)
}

const SECOND_NS: u64 = 1_000_000_000;

fn unix_ns() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |since| since.as_nanos() as u64)
}

/// Writes each key once in random order, counts all of them and reads a sample.
pub(super) fn random_load(field: &Field<'_>) -> Outcome {
    const KEYS: u64 = 20_000;
    field.require_contents()?;
    // With room for long values an engine of fixed slots would take 20 GiB.
    let shape = DataShape { value_bytes_max: 100, ..field.shape(KEYS) };
    let engine = field.open_at(&field.new_location()?, &field.options(), &shape)?;
    let mut session = engine.session()?;
    let mut order: Vec<u64> = (0..KEYS).collect();
    order.sort_unstable_by_key(|&number| mix(number));
    for &number in &order {
        session.put(&field.key(number), &value(number, 1, 100))?;
    }
    drop(session);
    engine.sync()?;
    engine.settle(Duration::from_secs(60))?;
    let mut session = engine.session()?;
    let count = if field.capabilities().scan_forward {
        session.scan(Range::all(Direction::Forward), &mut |_, _| ControlFlow::Continue(()))?
    } else {
        let mut existing = 0;
        for number in 0..KEYS {
            let mut count = |value: Option<&[u8]>| existing += u64::from(value.is_some());
            session.get(&field.key(number), &mut count)?;
        }
        existing
    };
    expect(count == KEYS, || format!("expected {KEYS} keys, found {count}"))?;
    for &number in order.iter().step_by(37) {
        expect_value(&mut session, &field.key(number), Some(&value(number, 1, 100)))?;
    }
    drop(session);
    Ok(engine.close()?)
}
