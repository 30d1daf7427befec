//! Loads of the records that a trace reads before it writes them.

use crate::written::mistake::Mistakes;
use crate::written::part::Part;
use crate::written::read::At;
use crate::written::trace::{Trace, TraceFile};
use crate::written::typed::Typed;
use kvdyno_record::units;
use kvdyno_record::workload::{Data, LoadOrder};

/// Returns the `order` of each load that is `"first_read"`.
fn loads(typed: &Typed) -> impl Iterator<Item = &At<LoadOrder>> {
    let orders = typed.loads().filter_map(|load| load.order.as_ref());
    orders.filter(|order| order.value == LoadOrder::FirstRead)
}

/// Returns whether a load needs to know which keys a trace reads before it writes them.
pub(crate) fn needs_first_reads(typed: &Typed) -> bool {
    loads(typed).next().is_some()
}

fn traces(typed: &Typed) -> impl Iterator<Item = &At<TraceFile>> {
    typed.roles().filter_map(|role| role.trace.as_ref())
}

/// Checks that there is one trace, and that it has keys.
pub(crate) fn check(typed: &Typed, mistakes: &mut Mistakes) {
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
        if traces.any(|trace| trace.path != first.path) {
            refuse("there are several traces", "expected one trace with this order");
        }
        if first.trace.as_ref().is_some_and(|trace| trace.multiple_of.is_some()) {
            refuse("a drive is always loaded completely", "expected no `order` here");
        }
    }
}

/// Refuses data with fewer records than the trace has keys.
pub(crate) fn check_records(part: &Part, data: &Data, mistakes: &mut Mistakes) {
    let mut traces = traces(&part.typed).filter_map(|trace| trace.trace.as_ref());
    for (order, trace) in loads(&part.typed).zip(traces.next()) {
        if data.records < trace.keys {
            let (records, keys) =
                (units::group_digits(data.records), units::group_digits(trace.keys));
            let what = format!("the data has {records} records, and the trace has {keys} keys");
            mistakes.at(&order.span, what).label(format!("expected records = {}", trace.keys));
        }
    }
}

/// Returns a note with the number of records that such a load writes.
pub(crate) fn notes(typed: &Typed) -> Option<String> {
    let trace: &Trace =
        traces(typed).next().filter(|_| needs_first_reads(typed))?.trace.as_ref()?;
    let (records, keys) =
        (units::group_digits(trace.first_reads?), units::group_digits(trace.keys));
    Some(format!("load: {records} of the trace's {keys} keys are read before they are written"))
}
