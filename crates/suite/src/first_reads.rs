//! Loads of the records that a trace reads before it writes them.

use super::mistake::Mistakes;
use super::parse::Part;
use super::phase::{Load, Phase};
use super::read::{At, Or as _};
use super::replay::{Trace, TraceFile};
use super::typed::Typed;
use kvdyno_record::replay::Replay;
use kvdyno_record::units;
use kvdyno_record::workload::{Data, LoadOrder};

fn is_one(load: &Load) -> bool {
    load.order.value_or(LoadOrder::Sequential) == LoadOrder::FirstRead
}

/// The loads with this order.
fn loads(typed: &Typed) -> impl Iterator<Item = &At<LoadOrder>> {
    typed.phase.iter().filter_map(|phase| match &phase.value {
        Phase::Load(load) if is_one(load) => load.order.as_ref(),
        _ => None,
    })
}

/// Whether a load needs to know which keys a trace reads first.
pub(super) fn needs_first_reads(typed: &Typed) -> bool {
    loads(typed).next().is_some()
}

fn traces(typed: &Typed) -> impl Iterator<Item = &At<TraceFile>> {
    let roles = super::check::measures(typed).flat_map(|(_, measure)| measure.role.iter());
    roles.filter_map(|role| role.trace.as_ref())
}

/// Checks that there is one trace, and that it has keys.
pub(super) fn check(typed: &Typed, mistakes: &mut Mistakes) {
    for order in loads(typed) {
        let mut traces = traces(typed);
        let first = traces.next();
        let mut refuse = |what: &str, label: &str| {
            mistakes.at(&order.span, what).label(label);
        };
        let Some(first) = first else {
            refuse("no role replays a trace", "expected `trace` in a role, or another order");
            continue;
        };
        if traces.any(|trace| trace.value.path() != first.value.path()) {
            refuse("there are several traces", "expected one trace with this order");
        }
        if first.value.trace().is_some_and(|trace| trace.multiple_of.is_some()) {
            refuse("a drive is always loaded completely", "expected no `order` here");
        }
    }
}

/// Checks that each key of the load's trace has a record.
pub(super) fn planned(part: &Part, load: &Load) -> Option<Replay> {
    let trace = traces(&part.typed).next().filter(|_| is_one(load))?.value.trace()?;
    let requests = trace.first_reads.unwrap_or(0);
    Some(Replay { requests, ..trace.replay(None) })
}

/// Each of the trace's keys needs a record.
pub(super) fn check_records(part: &Part, data: &Data, mistakes: &mut Mistakes) {
    let mut traces = traces(&part.typed).filter_map(|trace| trace.value.trace());
    for (order, trace) in loads(&part.typed).zip(traces.next()) {
        if data.records < trace.keys {
            let (records, keys) = (units::grouped(data.records), units::grouped(trace.keys));
            let what = format!("the data has {records} records, and the trace has {keys} keys");
            mistakes.at(&order.span, what).label(format!("expected records = {}", trace.keys));
        }
    }
}

/// Notes the number of these records.
pub(super) fn notes(typed: &Typed) -> Option<String> {
    let trace: &Trace = traces(typed).next().filter(|_| needs_first_reads(typed))?.value.trace()?;
    let (records, keys) = (units::grouped(trace.first_reads?), units::grouped(trace.keys));
    Some(format!("load: {records} of the trace's {keys} keys are read before they are written"))
}
