//! Checks of the roles of a measured phase, by themselves.

use crate::written::mistake::Mistakes;
use crate::written::operation::Entry;
use crate::written::phase::{Measure, Role};
use crate::written::read::At;
use crate::written::scalar::{Nanoseconds, Several};
use kvdyno_record::operations::OpTrait;
use kvdyno_record::workload::Op;

/// Records all mistakes in a role.
pub(crate) fn check(role: &At<Role>, measure: &Measure, mistakes: &mut Mistakes) {
    match &role.mix {
        None if role.trace.is_some() => {}
        None => {
            let mistake = mistakes.at(&role.span, "[[phase.role]] has no `mix`");
            mistake.label("`mix` is missing here");
        }
        Some(mix) if mix.is_empty() => {
            let mistake = mistakes.at(&mix.span, "the mix is empty");
            mistake.label("expected operations such as [ { op = \"get\" } ]");
        }
        Some(_) => {}
    }
    if let Some(depth) = &role.depth {
        check_depth(depth, role, mistakes);
    }
    if let Some(think_time) = &role.think_time {
        check_think_time(think_time, role, mistakes);
    }
    check_stages(role, measure, mistakes);
    check_absent(role, mistakes);
    check_bytes(role, mistakes);
}

/// Refuses missing keys in operations other than lookups, and beside lookups of existing keys where
/// the role does not set the share of hits.
fn check_absent(role: &Role, mistakes: &mut Mistakes) {
    let finds = |entry: &Entry| {
        let keys = entry.keys.as_ref().or(role.keys.as_ref());
        keys.is_none_or(|keys| keys.finds())
    };
    // Scans show only existing records: they have no share of hits.
    let looks_up = |op: &Op| op.info().reads && !matches!(op, Op::Scan { .. } | Op::Walk { .. });
    let mixes = role.entries().iter().any(|entry| looks_up(&entry.op) && finds(entry));
    for entry in role.entries().iter().filter(|entry| !finds(entry)) {
        if !entry.op.info().has(OpTrait::TakesMissing) {
            let message = format!("{} cannot use missing keys", entry.op.name());
            mistakes.at(&entry.span, message).label("expected get or multiget, or other `keys`");
        } else if looks_up(&entry.op) && mixes && role.expected_hits.is_none() {
            let message = "the role looks up missing keys and existing ones";
            let mistake = mistakes.at(&entry.span, message);
            mistake.label(
                "expected `expected_hits` in the role, such as 0.5, or a role of its own for this",
            );
        }
    }
}

/// Refuses `bytes_per_s` for operations that write no values: only written bytes are counted.
fn check_bytes(role: &Role, mistakes: &mut Mistakes) {
    let Some(rate) = role.rate.as_ref().filter(|rate| rate.is_of_bytes()) else { return };
    let writes = |op: &Op| op.info().has(OpTrait::WritesValues);
    if let Some(entry) = role.entries().iter().find(|entry| !writes(&entry.op)) {
        let name = entry.op.name();
        let message = format!("`bytes_per_s` counts written bytes, and {name} writes none");
        mistakes.at(&rate.span, message).label("expected `per_second`");
    }
}

/// Refuses a think time beside a schedule, or operations in flight, which do not wait.
fn check_think_time(think_time: &At<Nanoseconds>, role: &Role, mistakes: &mut Mistakes) {
    for (key, is_set) in [("rate", role.rate.is_some()), ("depth", role.depth.is_some())] {
        if is_set {
            let message = format!("roles with a `{key}` cannot have a `think_time`");
            let mistake = mistakes.at(&think_time.span, message);
            mistake.label(format!("expected either `{key}` or `think_time`"));
        }
    }
}

/// Refuses `ramp` and `steps` in a phase with windows or without the duration that they need.
fn check_stages(role: &Role, measure: &Measure, mistakes: &mut Mistakes) {
    let Some(rate) = role.rate.as_ref().filter(|rate| rate.has_stages()) else { return };
    if let Some(windows) = &measure.windows {
        let message = "each window would begin the ramp or the steps anew";
        let mistake = mistakes.at(&windows.span, message);
        mistake.label("expected no `windows` next to `ramp` or `steps`");
    }
    if let Some(operations) = &measure.operations {
        let message = "a phase with `ramp` or `steps` cannot end after a number of operations";
        let mistake = mistakes.at(&operations.span, message);
        mistake.label("expected `duration` alone next to `ramp` or `steps`");
    }
    if rate.needs_duration() && measure.duration.is_none() {
        let message = "a ramp over the whole phase needs its duration";
        let mistake = mistakes.at(&rate.span, message);
        mistake.label("expected `over` in the ramp, or `duration` in the phase");
    }
}

/// Refuses a depth where operations depend on each other or a rate sets their number in flight.
fn check_depth(depth: &At<Several>, role: &Role, mistakes: &mut Mistakes) {
    let pipelined = |op: &Op| op.info().has(OpTrait::Pipelined);
    for entry in role.entries().iter().filter(|entry| !pipelined(&entry.op)) {
        let mistake = mistakes.at(&entry.span, "this operation cannot be in flight with others");
        mistake.label("expected get, insert or update next to `depth`");
    }
    if role.rate.is_some() {
        let mistake = mistakes.at(
            &depth.span,
            "a role with a rate has no depth: the rate decides how many operations are in flight",
        );
        mistake
            .label("expected either `rate` or `depth`")
            .help("to allow more in flight, raise `threads` (and `os_threads` where possible)");
    }
}
