//! The first gate for suites that replay traces: each trace's requests become the mix of a role,
//! which is then checked.

use crate::check::first_reads;
use crate::check::from;
use crate::check::replay::check_depth;
use crate::check::suite::check_sharing;
use crate::written::mistake::{Mistakes, SuiteError};
use crate::written::names::push_unique;
use crate::written::operation::Entry;
use crate::written::phase::{Phase, Role};
use crate::written::read::Or as _;
use crate::written::suite::Suite;
use crate::written::trace::{Trace, speed_factor};
use kvdyno_record::replay::operation;
use kvdyno_record::units;

impl Suite {
    /// Returns whether some role replays a trace. Then the caller must use [`Self::read_traces`].
    pub fn replays(&self) -> bool {
        self.parts.iter().any(|part| part.typed.roles().any(|role| role.trace.is_some()))
    }

    /// Calls `read` on each trace that a role replays, with its path in the suite and whether to
    /// count its first reads. Its `Err` is the reason that the trace cannot be read.
    pub fn read_traces(
        &mut self,
        read: impl Fn(&str, bool) -> Result<Trace, String>,
    ) -> Result<(), SuiteError> {
        let mut mistakes = Mistakes::default();
        let mut notes = Vec::new();
        for part in &mut self.parts {
            let first_reads = first_reads::needs_first_reads(&part.typed);
            let read = |path: &str| read(path, first_reads);
            for phase in &mut part.typed.phase {
                let Phase::Measure(measure) = &mut phase.value else { continue };
                for role in &mut measure.role.value {
                    read_trace(&mut role.value, read, &mut notes, &mut mistakes);
                }
            }
            check_sharing(&part.typed, &mut mistakes);
            from::check_entries(&part.typed, &mut mistakes);
            first_reads::check(&part.typed, &mut mistakes);
            notes.extend(first_reads::notes(&part.typed));
        }
        for note in notes {
            push_unique(&mut self.notes, note);
        }
        mistakes.into_result(&self.source)
    }
}

/// Sets the role's mix to the requests of its trace.
fn read_trace(
    role: &mut Role,
    read: impl Fn(&str) -> Result<Trace, String>,
    notes: &mut Vec<String>,
    mistakes: &mut Mistakes,
) {
    let Some(file) = &mut role.trace else { return };
    let trace = match read(&file.path) {
        Ok(trace) => trace,
        Err(why) => {
            let mistake = mistakes.at(&file.span, why);
            mistake.label("expected a trace that `kvdyno trace import` wrote").help(
                "convert other traces with `kvdyno trace import --format FORMAT FILE -o NEW`",
            );
            return;
        }
    };
    if let (Some(fold), None) = (&role.fold, trace.multiple_of) {
        let mistake = mistakes.at(&fold.span, "this trace has keys, not offsets to fold");
        mistake.label("expected no `fold` here");
    }
    let uses_ttl = role.recorded_ttl.value_or(false);
    if let (Some(recorded), None) = (role.recorded_ttl.as_ref().filter(|_| uses_ttl), &trace.ttl_ns)
    {
        let mistake = mistakes.at(&recorded.span, "this trace has no times to live");
        mistake.label("expected no `recorded_ttl` here");
    }
    if let Some(depth) = &role.depth {
        check_depth(depth, &trace, mistakes);
    }
    if trace.count() == 0 {
        mistakes.at(&file.span, "the trace has no requests").label("expected another trace");
        return;
    }
    if let (Some(speed), None) = (speed_factor(role.speed.as_ref()), trace.span_ns) {
        let mistake = mistakes.at(&speed.span, "the trace has no times, only an order");
        mistake.label("expected speed = \"max\", or none");
        return;
    }
    let entry = |(name, count): (&String, &u64)| {
        let op = operation(name)?;
        Some(file.with(Entry { op, weight: Some(file.with(*count as f64)), keys: None, ttl: None }))
    };
    role.mix = Some(file.with(trace.requests.iter().filter_map(entry).collect()));
    let requests = units::group_digits(trace.count());
    let reach = match trace.multiple_of {
        Some(_) => format!("up to byte {}", units::group_digits(trace.keys)),
        None => format!("{} keys", units::group_digits(trace.keys)),
    };
    notes.push(format!("trace {}: {requests} requests, {reach}", file.path));
    if trace.ttl_ns.is_some() && !uses_ttl {
        notes.push(format!(
            "trace {}: its times to live are left out, records stay (`recorded_ttl = true` keeps \
             them)",
            file.path
        ));
    }
    file.value.trace = Some(trace);
}
