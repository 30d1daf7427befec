//! Checks whether an engine can run the suite's operations. A missing ability is refused here,
//! before any process starts, and never becomes a zero in a table.

use crate::written::engine::Engine;
use crate::written::mistake::Mistakes;
use crate::written::names::push_unique;
use crate::written::operation::Entry;
use crate::written::phase::{ExpectedHitsKey, Phase, Role, Verify};
use crate::written::phase_names::phase_name;
use crate::written::read::{At, Or as _};
use crate::written::scalar::{Nanoseconds, Switch};
use crate::written::source::Span;
use crate::written::trace::speed_factor;
use crate::written::typed::Typed;
use kvdyno_record::engine::{Capabilities, Description, PlaceKind, TimeToLive};
use kvdyno_record::operations::Ability;
use kvdyno_record::units;
use kvdyno_record::workload::{Data, KeyFormat, Op};

/// A phase that an engine skips, and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SkippedPhase {
    /// The phase's index among the suite's phases.
    pub(crate) phase: usize,
    pub(crate) why: String,
}

/// An operation that an engine does not support in a measured phase.
struct Lack {
    phase: usize,
    span: Span,
    /// The reason that the phase is skipped: "it has no scan".
    why: String,
    message: String,
    expected: &'static str,
}

/// Records what the engine cannot do. Measured phases that it does not support are skipped, as long
/// as one other measured phase is left.
pub(crate) fn check(
    typed: &Typed,
    engine: &Engine,
    description: &Description,
    data: &Data,
    device: bool,
    mistakes: &mut Mistakes,
) -> Vec<SkippedPhase> {
    let without = format!("leave {} out, or remove the operation from the suite", description.name);
    if let Some(what) = unsupported_location(description, device) {
        let message = format!("{} stores nothing {what}", description.name);
        let mistake = mistakes.at(&engine.name.span, message);
        mistake.label(format!("expected an engine that stores {what}"));
    }
    if description.capabilities.numbered_keys_only {
        check_key(typed, description, data, &without, mistakes);
    }
    // Requirements of a graph are checked with the engine's options.
    if typed.data.linkbench.is_none() {
        check_sizes(typed, engine, description, data, mistakes);
    }
    let lacks = find_lacks(typed, description);
    let is_measured = |(_, phase): &(usize, &At<Phase>)| matches!(phase.value, Phase::Measure(_));
    let mut measured = typed.phase.iter().enumerate().filter(is_measured);
    if measured.any(|(index, _)| lacks.iter().all(|lack| lack.phase != index)) {
        return find_skipped_phases(typed, &lacks);
    }
    for Lack { span, message, expected, .. } in lacks {
        let mistake = mistakes.at(&span, message);
        if !expected.is_empty() {
            mistake.label(expected);
        }
        mistake.help(&without);
    }
    Vec::new()
}

/// Returns the phases with an operation that the engine lacks, each once, and later phases that
/// depend on records which a skipped phase would have changed.
fn find_skipped_phases(typed: &Typed, lacks: &[Lack]) -> Vec<SkippedPhase> {
    let mut skipped: Vec<SkippedPhase> = Vec::new();
    let mut changes: Option<usize> = None;
    for (index, phase) in typed.phase.iter().enumerate() {
        let Phase::Measure(measure) = &phase.value else { continue };
        let mut why: Vec<&str> = Vec::new();
        for lack in lacks.iter().filter(|lack| lack.phase == index) {
            push_unique(&mut why, &lack.why);
        }
        let share = |role: &At<Role>| {
            let hits = role.expected_hits.as_ref().map(|hits| hits.value);
            matches!(hits, Some(ExpectedHitsKey::Share(_)))
        };
        let counts_on = measure.role.iter().any(share);
        let follows = changes.filter(|_| why.is_empty() && counts_on);
        let why = match follows {
            Some(missed) => {
                format!("it depends on `{}`, which is skipped", phase_name(&typed.phase, missed))
            }
            None if why.is_empty() => continue,
            None => why.join(", "),
        };
        skipped.push(SkippedPhase { phase: index, why });
        let changes_records = |role: &At<Role>| {
            let mut entries = role.entries().iter();
            role.recorded_ttl.value_or(false)
                || entries
                    .any(|entry| matches!(entry.op, Op::Insert | Op::Delete) || entry.ttl.is_some())
        };
        if measure.role.iter().any(changes_records) {
            changes = Some(index);
        }
    }
    skipped
}

/// Warns of records that are not counted because the engine cannot scan.
pub(crate) fn count_warning(
    typed: &Typed,
    engine: &Engine,
    description: &Description,
) -> Option<String> {
    let counts = |phase: &At<Phase>| {
        let Phase::Verify(Verify { count: Some(count), .. }) = &phase.value else { return false };
        count.value == Switch::Is(true)
    };
    let index =
        typed.phase.iter().position(counts).filter(|_| !description.capabilities.scan_forward)?;
    let name = phase_name(&typed.phase, index);
    Some(format!("{}: `{name}` counts no records: the engine has no scan", engine.label.0))
}

fn find_lacks(typed: &Typed, description: &Description) -> Vec<Lack> {
    let mut lacks = Vec::new();
    for (phase, typed) in typed.phase.iter().enumerate() {
        let Phase::Measure(measure) = &typed.value else { continue };
        for role in measure.role.iter() {
            let role_lacks = find_role_lacks(role, description).into_iter();
            lacks.extend(role_lacks.map(|(span, why, message, expected)| Lack {
                phase,
                span,
                why,
                message,
                expected,
            }));
        }
    }
    lacks
}

type RoleLack = (Span, String, String, &'static str);

fn find_role_lacks(role: &Role, description: &Description) -> Vec<RoleLack> {
    let (name, abilities) = (&description.name, &description.capabilities);
    let mut lacks: Vec<RoleLack> = Vec::new();
    // Only a client that waits for a server can let others run meanwhile.
    if let Some(os_threads) = role.os_threads.as_ref().filter(|_| !abilities.shares_threads) {
        let message = format!("engine `{name}` blocks the calling thread");
        let expected = "expected an engine that `shares_threads`, or no `os_threads`";
        let why = "it blocks the calling thread (`os_threads`)".to_owned();
        lacks.push((os_threads.span.clone(), why, message, expected));
    }
    if let Some(depth) = role.depth.as_ref().filter(|_| !abilities.pipelined) {
        let message =
            format!("engine `{name}` is synchronous and ignores `depth`; raise `threads`");
        let why = "it is synchronous (`depth`)".to_owned();
        lacks.push((depth.span.clone(), why, message, "expected no `depth` here"));
    }
    if abilities.numbered_keys_only {
        // A table of numbered records has no other number to look up.
        let keys = role.entries().iter().filter_map(|entry| entry.keys.as_ref());
        if let Some(absent) = keys.chain(role.keys.as_ref()).find(|keys| !keys.finds()) {
            let message = format!("{name} takes only the keys of its own records");
            let why = "it takes only the keys of its own records".to_owned();
            lacks.push((absent.span.clone(), why, message, "expected keys of stored records"));
        }
    }
    for times in times_to_live(role) {
        if let Some((why, message)) = lacks_ttl(description, &times) {
            lacks.push((times.span, why, message, ""));
        }
    }
    // Requests by offset and length are checked with their trace.
    for entry in role.entries().iter().filter(|_| !role.is_of_drive()) {
        if let Some(missing) = missing(abilities, entry) {
            let message = format!("{name} has no {missing}");
            lacks.push((entry.span.clone(), format!("it has no {missing}"), message, ""));
        }
    }
    lacks
}

/// Times to live at one place of a role.
struct TimesToLive {
    span: Span,
    shortest_ns: u64,
    longest_ns: u64,
    /// They must be whole units of the engine; recorded ones are rounded up.
    are_whole: bool,
}

/// Returns all times to live of a role: those of its operations, or of its trace.
fn times_to_live(role: &Role) -> Vec<TimesToLive> {
    let typed = role.entries().iter().filter_map(|entry| entry.ttl.as_ref());
    let typed = typed.map(|At { span, value: Nanoseconds(ttl_ns) }| TimesToLive {
        span: span.clone(),
        shortest_ns: *ttl_ns,
        longest_ns: *ttl_ns,
        are_whole: true,
    });
    let recorded = role.recorded_ttl.as_ref().filter(|recorded| recorded.value);
    let recorded = recorded.zip(role.replayed_trace().and_then(|trace| trace.ttl_ns.clone()));
    let speed = speed_factor(role.speed.as_ref()).map_or(1.0, |speed| speed.value);
    let at_speed = |ttl_ns: &u64| (*ttl_ns as f64 / speed) as u64;
    let recorded = recorded.map(|(recorded, ttl_ns)| TimesToLive {
        span: recorded.span.clone(),
        shortest_ns: at_speed(ttl_ns.start()),
        longest_ns: at_speed(ttl_ns.end()),
        are_whole: false,
    });
    typed.chain(recorded).collect()
}

/// Returns the reason that the engine cannot keep such times to live, in brief and as a message.
fn lacks_ttl(description: &Description, times: &TimesToLive) -> Option<(String, String)> {
    let name = &description.name;
    let Some(TimeToLive { unit_ns, longest_ns }) = description.capabilities.time_to_live else {
        return Some(("it has no times to live".into(), format!("{name} has no times to live")));
    };
    let TimesToLive { shortest_ns, are_whole, .. } = *times;
    if shortest_ns < unit_ns || are_whole && !shortest_ns.is_multiple_of(unit_ns) {
        let (unit, shortest) = (units::duration(unit_ns), units::duration(shortest_ns));
        let message = format!("{name} counts times to live in units of {unit}, found {shortest}");
        return Some((format!("it counts times to live in units of {unit}"), message));
    }
    let most_ns = longest_ns.filter(|most_ns| times.longest_ns > *most_ns)?;
    let (most, longest) = (units::duration(most_ns), units::duration(times.longest_ns));
    let message = format!("{name} keeps times to live of at most {most}, found {longest}");
    Some((format!("it keeps times to live of at most {most}"), message))
}

/// Refuses keys that are not ordered numbers, the only kind that the engine takes.
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
        let mistake = mistakes.at(
            span,
            format!("engine `{}` takes no {} keys", description.name, key_format_name(data)),
        );
        mistake.label("expected key_format = \"binary\"").help(
            "on the command line: --set data.key_format=binary; or leave the key out: the suite \
             then chooses a format that all engines take",
        );
    }
}

/// Returns the name of the key format.
fn key_format_name(data: &Data) -> &'static str {
    match data.key.format {
        KeyFormat::Hex => "hex",
        KeyFormat::Binary => "varied",
        KeyFormat::DbBench => "db_bench",
        KeyFormat::Ycsb => "ycsb",
    }
}

/// The kind of location in which the engine cannot store its data.
pub(crate) fn unsupported_location(
    description: &Description,
    device: bool,
) -> Option<&'static str> {
    let (kind, what) = if device {
        (PlaceKind::Device, "on a block device")
    } else {
        (PlaceKind::Directory, "in a directory")
    };
    (!description.capabilities.places.contains(&kind)).then_some(what)
}

/// `O_DIRECT` requires whole sectors, and no device has smaller ones.
pub(crate) const SECTOR_BYTES: u64 = 512;

fn check_sizes(
    typed: &Typed,
    engine: &Engine,
    description: &Description,
    data: &Data,
    mistakes: &mut Mistakes,
) {
    let abilities = &description.capabilities;
    let name = &description.name;
    let key_bytes = u64::from(data.key.bytes);
    if let Some(most) = abilities.key_bytes_max.filter(|most| key_bytes > *most) {
        let span = typed.data.key_bytes.as_ref().map_or(&typed.data.span, |bytes| &bytes.span);
        let mistake = mistakes.at(span, format!("{name} takes no keys of {key_bytes} bytes"));
        mistake.label(format!("expected at most {most}"));
    }
    // The length of a stored value: `pack` joins several records in one.
    let pack = engine.pack.as_ref().map_or(1, |pack| u64::from(pack.value.0.max(1)));
    let value_bytes = data.value.size.max().saturating_mul(pack);
    let by_sectors = abilities.bare_drive && !engine.options.is_buffered();
    if by_sectors && !value_bytes.is_multiple_of(SECTOR_BYTES) {
        let bytes = typed.data.value_bytes.as_ref();
        let span = bytes.map_or(&typed.data.span, |bytes| &bytes.span);
        let mistake = mistakes.at(span, format!("{name} takes no values of {value_bytes} bytes"));
        mistake
            .label(format!("expected a multiple of {SECTOR_BYTES}"))
            .help("or the option `direct = false`: through the page cache any length is taken");
    }
    if let Some(most) = abilities.value_bytes_max.filter(|most| value_bytes > *most) {
        let bytes = typed.data.value_bytes.as_ref();
        let span = bytes.map_or(&typed.data.span, |bytes| &bytes.span);
        let mistake = mistakes.at(span, format!("{name} takes no values of {value_bytes} bytes"));
        mistake.label(format!("expected at most {most}"));
    }
}

/// The ability that the operation needs and the engine lacks. Abilities that every engine has,
/// natively or as a loop, are not listed: the record names the path used.
fn missing(abilities: &Capabilities, entry: &At<Entry>) -> Option<&'static str> {
    let (has, what) = match (entry.op.info().needs?, &entry.op) {
        (Ability::Delete, _) => (abilities.delete, "delete"),
        (Ability::Scan, Op::Scan { reverse: true, .. } | Op::Walk { reverse: true, .. }) => {
            (abilities.scan_reverse, "reverse scan")
        }
        (Ability::Scan, _) => (abilities.scan_forward, "scan"),
        (Ability::Open, _) => {
            let opens = !abilities.external_processes && !abilities.bare_drive;
            (opens, "opening by the worker")
        }
    };
    (!has).then_some(what)
}
