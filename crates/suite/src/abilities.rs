//! Whether an engine can do what the suite asks: an ability that is missing is refused here, before
//! any process starts, and never becomes a zero in a table.

use super::engine::Engine;
use super::mistake::Mistakes;
use super::phase::{Entry, Phase, Role, Verify};
use super::read::At;
use super::scalar::Switch;
use super::typed::Typed;
use kvdyno_record::engine::{Capabilities, Description, PlaceKind};
use kvdyno_record::workload::{Data, KeyFormat, Op};

/// Only who waits for a server can let others go on meanwhile.
fn check_turns(typed: &Typed, description: &Description, without: &str, mistakes: &mut Mistakes) {
    if description.capabilities.takes_turns {
        return;
    }
    for phase in &typed.phase {
        let Phase::Measure(measure) = &phase.value else { continue };
        for on in measure.role.iter().filter_map(|role| role.os_threads.as_ref()) {
            let name = &description.name;
            let message = format!("engine `{name}` keeps the thread that calls it");
            let mistake = mistakes.at(&on.span, message);
            mistake
                .label("expected an engine that `takes_turns`, or no `os_threads`")
                .help(without);
        }
    }
}

/// Notes what the engine cannot do.
pub(super) fn check(
    typed: &Typed,
    engine: &Engine,
    description: &Description,
    data: &Data,
    device: bool,
    mistakes: &mut Mistakes,
) {
    let abilities = &description.capabilities;
    let without = format!("leave it out with --engine, or ask for less of {}", description.name);
    if let Some(what) = misplaced(description, device) {
        let message = format!("{} stores nothing {what}", description.name);
        let mistake = mistakes.at(&engine.name.span, message);
        mistake.label(format!("expected an engine that stores {what}"));
    }
    if abilities.numbered_keys_only {
        check_key(typed, description, data, &without, mistakes);
    }
    check_turns(typed, description, &without, mistakes);
    // What a graph takes is checked with the engine's options.
    if typed.data.linkbench.is_some() {
        return;
    }
    check_sizes(typed, description, data, mistakes);
    for phase in &typed.phase {
        match &phase.value {
            Phase::Verify(Verify { count: Some(count), .. })
                if count.value == Switch::Is(true) && !abilities.scan_forward =>
            {
                let message = format!("{} cannot scan, so cannot count", description.name);
                mistakes.at(&count.span, message).label("expected \"auto\" or false");
            }
            Phase::Measure(measure) => {
                let in_flight = measure.role.iter().filter_map(|role| role.depth.as_ref());
                for depth in in_flight.filter(|_| !abilities.pipelined) {
                    let name = &description.name;
                    let message = format!(
                        "engine `{name}` is synchronous and ignores `depth`; raise `threads`"
                    );
                    let mistake = mistakes.at(&depth.span, message);
                    mistake.label("expected no `depth` here").help(&without);
                }
                for role in measure.role.iter().filter(|_| abilities.numbered_keys_only) {
                    check_known(role, description, &without, mistakes);
                }
                // What is by offset and length is checked with its trace.
                let of_keys = measure.role.iter().filter(|role| !role.is_of_drive());
                for entry in of_keys.flat_map(|role| role.entries()) {
                    if let Some(missing) = missing(abilities, entry) {
                        let message = format!("{} has no {missing}", description.name);
                        mistakes.at(&entry.span, message).help(&without);
                    }
                }
            }
            _ => {}
        }
    }
}

/// Keys of one kind alone: numbers in their order.
fn check_key(
    typed: &Typed,
    description: &Description,
    data: &Data,
    without: &str,
    mistakes: &mut Mistakes,
) {
    let numbers = data.key.format == KeyFormat::Binary && data.key.lengths.is_none();
    if numbers && !data.key.is_ordered() {
        let order = typed.data.key_order.as_ref();
        let span = order.map_or(&typed.data.span, |order| &order.span);
        let message = format!("engine `{}` takes no hashed keys", description.name);
        mistakes.at(span, message).label("expected key_order = \"ordered\"").help(without);
    } else if !numbers {
        let format = typed.data.key_format.as_ref();
        let span = format.map_or(&typed.data.span, |format| &format.span);
        let mistake = mistakes
            .at(span, format!("engine `{}` takes no {} keys", description.name, words(data)));
        mistake.label("expected key_format = \"binary\"").help(
            "on the command line: --set data.key_format=binary; or leave the key out: then the \
             suite takes the format that all of its engines take",
        );
    }
}

/// The kind of keys.
fn words(data: &Data) -> &'static str {
    match data.key.format {
        KeyFormat::Hex => "hex",
        KeyFormat::Binary => "varied",
        KeyFormat::DbBench => "db_bench",
        KeyFormat::Ycsb => "ycsb",
    }
}

/// What is a table of numbered records has no other number to look for.
fn check_known(role: &Role, engine: &Description, without: &str, mistakes: &mut Mistakes) {
    let keys = role.entries().iter().filter_map(|entry| entry.keys.as_ref());
    if let Some(absent) = keys.chain(role.keys.as_ref()).find(|keys| !keys.finds()) {
        let message = format!("{} takes no keys but those of its records", engine.name);
        mistakes.at(&absent.span, message).label("expected keys that are there").help(without);
    }
}

/// Where it would have to store its data and cannot.
pub(super) fn misplaced(description: &Description, device: bool) -> Option<&'static str> {
    let (kind, what) = if device {
        (PlaceKind::Device, "on a block device")
    } else {
        (PlaceKind::Directory, "in a directory")
    };
    (!description.capabilities.places.contains(&kind)).then_some(what)
}

fn check_sizes(typed: &Typed, description: &Description, data: &Data, mistakes: &mut Mistakes) {
    let abilities = &description.capabilities;
    let name = &description.name;
    let key_bytes = u64::from(data.key.bytes);
    if let Some(most) = abilities.key_bytes_max.filter(|most| key_bytes > *most) {
        let span = typed.data.key_bytes.as_ref().map_or(&typed.data.span, |bytes| &bytes.span);
        let mistake = mistakes.at(span, format!("{name} takes no keys of {key_bytes} bytes"));
        mistake.label(format!("expected at most {most}"));
    }
    let value_bytes = data.value.size.max();
    if let Some(most) = abilities.value_bytes_max.filter(|most| value_bytes > *most) {
        let bytes = typed.data.value_bytes.as_ref();
        let span = bytes.map_or(&typed.data.span, |bytes| &bytes.span);
        let mistake = mistakes.at(span, format!("{name} takes no values of {value_bytes} bytes"));
        mistake.label(format!("expected at most {most}"));
    }
}

/// What the operation needs and the engine does not have. Those that every engine has, natively or
/// as a loop, are not here: the record says which.
fn missing(abilities: &Capabilities, entry: &At<Entry>) -> Option<&'static str> {
    match &entry.op {
        Op::Delete if !abilities.delete => Some("delete"),
        Op::Scan { reverse: true, .. } | Op::Walk { reverse: true, .. }
            if !abilities.scan_reverse =>
        {
            Some("reverse scan")
        }
        Op::Scan { reverse: false, .. } | Op::Walk { reverse: false, .. }
            if !abilities.scan_forward =>
        {
            Some("scan")
        }
        _ => None,
    }
}
