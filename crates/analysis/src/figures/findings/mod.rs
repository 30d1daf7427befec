//! Warnings about a run's figures: typed, each with its evidence and with advice that considers
//! what was already done.
//!
//! A finding is about figures, not about the program. Before a run, `kvdyno doctor` reports what
//! the machine lacks; `kvdyno check` reports contradictions in a record.

mod ceiling;
mod crew;
mod database;
mod drive;
mod durability;
mod explain;
mod finding;
mod integrity;
mod kinds;
mod machine;
mod memory;
mod method;
mod portable;
mod steady;
mod storage;

use crate::figures::evidence::Evidence;
use crate::figures::explain::Explained;
use crate::figures::group::Group;
use crate::figures::load_generator::LoadGenerator;
pub use finding::Finding;
pub use kinds::{Id, Severity};
use kvdyno_record::files::RecordError;

/// All findings of a run, the worst first.
pub fn judge(
    evidence: &Evidence,
    groups: &[Group],
    load_generator: Option<&LoadGenerator>,
    explained: &[Explained],
) -> Result<Vec<Finding>, RecordError> {
    let mut findings = Vec::new();
    findings.extend(integrity::altered_record(&evidence.altered_files()?));
    findings.extend(integrity::findings(evidence));
    // An imported record's host is not the machine that was measured, and no machine affects
    // counted instructions.
    if !evidence.is_imported() && !evidence.is_counted() {
        findings.extend(memory::RULES.iter().filter_map(|rule| rule(evidence)));
        findings.extend(drive::findings(evidence));
        findings.extend(machine::RULES.iter().filter_map(|rule| rule(evidence)));
    }
    findings.extend(ceiling::findings(groups));
    findings.extend(crew::uneven_clients(evidence));
    findings.extend(durability::findings(evidence)?);
    findings.extend(method::findings(evidence, groups, load_generator)?);
    findings.extend(steady::findings(evidence, groups)?);
    findings.extend(explain::findings(groups, explained));
    findings.extend(portable::findings(evidence, groups, explained));
    findings.extend(database::RULES.iter().filter_map(|rule| rule(evidence)));
    findings.sort_by_key(|finding| (finding.severity, finding.id));
    Ok(findings)
}

#[cfg(test)]
mod tests;
