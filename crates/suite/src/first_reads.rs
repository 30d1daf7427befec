//! A load of what a trace reads before it writes it.

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

/// The loads of this order.
fn loads(typed: &Typed) -> impl Iterator<Item = &At<LoadOrder>> {
    typed.phase.iter().filter_map(|phase| match &phase.value {
        Phase::Load(load) if is_one(load) => load.order.as_ref(),
        _ => None,
    })
}

/// Whether some load needs to know what a trace reads first.
pub(super) fn wanted(typed: &Typed) -> bool {
    loads(typed).next().is_some()
}

fn traces(typed: &Typed) -> impl Iterator<Item = &At<TraceFile>> {
    let roles = super::check::measures(typed).flat_map(|(_, measure)| measure.role.iter());
    roles.filter_map(|role| role.trace.as_ref())
}

/// There is one trace, and it is of keys.
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
            refuse("a drive is loaded whole", "expected no `order` here");
        }
    }
}

/// The trace of a load, with as many requests as it has records.
pub(super) fn planned(part: &Part, load: &Load) -> Option<Replay> {
    let trace = traces(&part.typed).next().filter(|_| is_one(load))?.value.trace()?;
    let requests = trace.first_reads.unwrap_or(0);
    Some(Replay { requests, ..trace.replay(None) })
}

/// Each of the trace's keys is to have its record.
pub(super) fn check_records(part: &Part, data: &Data, mistakes: &mut Mistakes) {
    let mut traces = traces(&part.typed).filter_map(|trace| trace.value.trace());
    for (order, trace) in loads(&part.typed).zip(traces.next()) {
        if data.records < trace.keys {
            let (records, keys) = (units::grouped(data.records), units::grouped(trace.keys));
            let what = format!("the data has {records} records, the trace {keys} keys");
            mistakes.at(&order.span, what).label(format!("expected records = {}", trace.keys));
        }
    }
}

/// How many records that are.
pub(super) fn notes(typed: &Typed) -> Option<String> {
    let trace: &Trace = traces(typed).next().filter(|_| wanted(typed))?.value.trace()?;
    let (records, keys) = (units::grouped(trace.first_reads?), units::grouped(trace.keys));
    Some(format!("load: {records} of the trace's {keys} keys are read before they are written"))
}
