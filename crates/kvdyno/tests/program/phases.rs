//! Phases of a case's record: the plan adds one that settles after each that writes.

use kvdyno_record::case::{CaseRecord, PhaseRecord};

/// The last measured phase.
#[track_caller]
pub(crate) fn measured(record: &CaseRecord) -> &PhaseRecord {
    record.phases.iter().rfind(|phase| phase.kind == "measure").expect("a measured phase")
}

/// The first phase of a kind.
#[track_caller]
pub(crate) fn first<'r>(record: &'r CaseRecord, kind: &str) -> &'r PhaseRecord {
    record.phases.iter().find(|phase| phase.kind == kind).expect(kind)
}
