//! Checks of roles that replay a trace, by themselves and with each engine.

use crate::check::first_reads;
use crate::written::engine::Engine;
use crate::written::mistake::Mistakes;
use crate::written::part::Part;
use crate::written::phase::{Measure, Role};
use crate::written::read::{At, OptionalSpan as _, Or as _};
use crate::written::scalar::Several;
use crate::written::trace::{Trace, TraceFile, speed_factor};
use crate::written::typed::Typed;
use kvdyno_record::engine::Description;
use kvdyno_record::units;
use kvdyno_record::workload::Data;

/// Refuses keys that a trace excludes, and keys that need a trace.
pub(crate) fn check(typed: &Typed, mistakes: &mut Mistakes) {
    if !typed.roles().any(|role| role.trace.is_some()) {
        first_reads::check(typed, mistakes);
    }
    for (_, measure) in typed.measures() {
        for (index, role) in measure.role.iter().enumerate() {
            match &role.trace {
                Some(trace) => check_role(typed, measure, index, role, trace, mistakes),
                None => {
                    if let Some(speed) = &role.speed {
                        let mistake = mistakes.at(&speed.span, "`speed` without a trace");
                        mistake.label("expected `trace` next to it, or `rate`");
                    }
                    if let Some(recorded) = &role.recorded_ttl {
                        let what = "`recorded_ttl` without a trace";
                        let mistake = mistakes.at(&recorded.span, what);
                        mistake.label("expected `trace` next to it, or `ttl` at an operation");
                    }
                    if let Some(fold) = &role.fold {
                        let mistake = mistakes.at(&fold.span, "`fold` without a trace of a drive");
                        mistake.label("expected `trace` next to it");
                    }
                }
            }
        }
    }
}

fn check_role(
    typed: &Typed,
    measure: &Measure,
    index: usize,
    role: &Role,
    trace: &At<TraceFile>,
    mistakes: &mut Mistakes,
) {
    let excluded = [
        ("mix", role.mix.span()),
        ("keys", role.keys.span()),
        ("rate", role.rate.span()),
        ("think_time", role.think_time.span()),
        ("os_threads", role.os_threads.span()),
        ("expected_hits", role.expected_hits.span()),
    ];
    for (key, span) in excluded {
        let Some(span) = span else { continue };
        let mistake = mistakes.at(&span, format!("the trace already determines `{key}`"));
        mistake.label(format!("expected either `trace` or `{key}`"));
    }
    let once = [("warmup", measure.warmup.span()), ("windows", measure.windows.span())];
    for (key, span) in once {
        let Some(span) = span else { continue };
        let mistake = mistakes.at(&span, format!("a trace is replayed once: it has no `{key}`"));
        mistake.label(format!("expected no `{key}` here"));
    }
    if let (Some(depth), Some(_)) = (&role.depth, speed_factor(role.speed.as_ref())) {
        let message = "recorded times already set how many requests are in flight";
        mistakes.at(&depth.span, message).label("expected either `speed` or `depth`");
    }
    if index > 0 {
        let mistake = mistakes.at(
            &trace.span,
            "the end of a trace ends the phase, and only the first role can end it",
        );
        mistake.label("expected `trace` only in the first role");
    }
    if typed.crew.is_some() && measure.role.len() > 1 {
        let what = "each rank of a crew ends with its own share of the trace: ranks would end the \
                    other roles at different times";
        mistakes.at(&trace.span, what).label("expected a single role, or no [crew]");
    }
    if let Some(graph) = &typed.data.linkbench {
        let mistake = mistakes.at(&graph.span, "a trace has keys and values, not a graph");
        mistake.label("expected no `linkbench`, or no `trace`");
    }
}

/// Refuses a depth for a trace with requests that their thread waits for. On a drive it is allowed:
/// flush and discard wait for all other requests.
pub(crate) fn check_depth(depth: &At<Several>, trace: &Trace, mistakes: &mut Mistakes) {
    const IN_FLIGHT: [&str; 2] = ["get", "put"];
    let mut waits = trace.requests.keys().filter(|name| !IN_FLIGHT.contains(&name.as_str()));
    if let (None, Some(name)) = (trace.multiple_of, waits.next()) {
        let message = format!("the trace has {name}: `depth` supports only gets and puts");
        mistakes.at(&depth.span, message).label("expected no `depth`, and more `threads`");
    }
}

/// Records what the engine does not support of the trace.
pub(crate) fn check_engine(
    part: &Part,
    engine: &Engine,
    description: &Description,
    data: &Data,
    mistakes: &mut Mistakes,
) {
    let (name, abilities) = (&description.name, &description.capabilities);
    first_reads::check_records(part, data, mistakes);
    for role in part.typed.roles() {
        let (Some(file), Some(trace)) = (&role.trace, role.replayed_trace()) else { continue };
        let without = format!("leave {} out with --engine", engine.label.0);
        if trace.multiple_of.is_some() {
            if abilities.addressed {
                check_reach(role, file, trace, data, mistakes);
            } else {
                let message = format!("the trace is of a drive, but {name} stores keys and values");
                let mistake = mistakes.at(&file.span, message);
                mistake.label("expected a trace with keys, or engine `drive`").help(&without);
            }
            continue;
        }
        if abilities.numbered_keys_only {
            let message =
                format!("engine `{name}` has records of one length, but the trace has several");
            mistakes.at(&file.span, message).help(&without);
        }
        let most = abilities.value_bytes_max.unwrap_or(u64::from(u32::MAX));
        if trace.value_bytes_max > most {
            let message = format!("{name} takes no values of {} bytes", trace.value_bytes_max);
            let mistake = mistakes.at(&file.span, message);
            mistake.label(format!("expected values of at most {most}")).help(&without);
        }
    }
}

/// Refuses requests beyond the end of the drive, which consists of consecutive records.
fn check_reach(
    role: &Role,
    file: &At<TraceFile>,
    trace: &Trace,
    data: &Data,
    mistakes: &mut Mistakes,
) {
    let block = data.value.size.max().max(1);
    let bytes = data.records.saturating_mul(block);
    let has = || {
        let (records, block) = (units::group_digits(data.records), units::group_digits(block));
        format!("{records} records of {block} bytes are {}", units::group_digits(bytes))
    };
    if data.verify {
        let mistake = mistakes.at(
            &file.span,
            "`verify` needs whole records, which a trace of a drive does not write",
        );
        mistake.label("expected verify = false in [data]");
    }
    let folded = role.fold.value_or(false);
    let longest = units::group_digits(trace.value_bytes_max);
    if folded && trace.value_bytes_max > bytes {
        let message = format!("the trace has a request of {longest} bytes, and {}", has());
        mistakes.at(&file.span, message).label("expected more `records`");
    } else if !folded && trace.keys > bytes {
        let message =
            format!("the trace reaches to byte {}, and {}", units::group_digits(trace.keys), has());
        let records = units::group_digits(trace.keys.div_ceil(block));
        mistakes
            .at(&file.span, message)
            .label(format!("expected at least {records} records"))
            .help("or add `fold = true` next to `trace`: it takes offsets modulo the data's bytes");
    }
}
