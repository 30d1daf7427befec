//! A finding, and what findings are made of: records, and phases that were measured.

use super::kinds::{Id, Severity};
use crate::evidence::{CaseEvidence, Evidence};
use kvdyno_record::case::{CaseRecord, PhaseRecord};
use kvdyno_record::files::RecordError;
use kvdyno_record::workload::{Activity, Mix};
use schemars::JsonSchema;
use serde::Serialize;

/// A typed warning.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Finding {
    /// What was found.
    pub id: Id,
    /// How much it weighs.
    pub severity: Severity,
    /// What shows it, with figures.
    pub evidence: String,
    /// What would help.
    pub advice: String,
    /// The cases it is about; empty: all of the run.
    pub cases: Vec<String>,
}

impl Finding {
    /// About the whole run.
    pub(super) fn of_run(id: Id, evidence: impl Into<String>) -> Self {
        let (evidence, advice) = (evidence.into(), id.advice().to_owned());
        Self { id, severity: id.severity(), evidence, advice, cases: Vec::new() }
    }

    /// About cases: each with its evidence, of which the first is quoted. None where there is none.
    pub(super) fn of_cases(
        id: Id,
        evidence: impl IntoIterator<Item = (String, String)>,
    ) -> Option<Self> {
        let mut quoted = None;
        let mut cases: Vec<String> = Vec::new();
        for (case, words) in evidence {
            quoted.get_or_insert_with(|| format!("{case}: {words}"));
            if cases.last() != Some(&case) {
                cases.push(case);
            }
        }
        Some(Self { cases, ..Self::of_run(id, quoted?) })
    }

    /// About cases, by what their records show.
    pub(super) fn of_records<'e>(
        id: Id,
        evidence: &'e Evidence,
        shown: impl Fn(&'e CaseEvidence, &'e CaseRecord) -> Option<String>,
    ) -> Option<Self> {
        let of = |(case, record): (&'e CaseEvidence, &'e CaseRecord)| {
            Some((case.case.id.clone(), shown(case, record)?))
        };
        Self::of_cases(id, evidence.recorded().filter_map(of))
    }

    /// About cases, by what their measured phases show; those of the load generator are left out.
    pub(super) fn of_phases<'e>(
        id: Id,
        evidence: &'e Evidence,
        shown: impl Fn(&Measured<'e>) -> Option<String>,
    ) -> Option<Self> {
        let of = |at: Measured<'e>| Some((at.id(), shown(&at)?));
        Self::of_cases(id, measured(evidence).filter(|at| !at.of_load_generator()).filter_map(of))
    }

    /// The same by what files of the record show, those of the load generator included.
    pub(super) fn of_files<'e>(
        id: Id,
        evidence: &'e Evidence,
        shown: impl Fn(&Measured<'e>) -> Result<Option<String>, RecordError>,
    ) -> Result<Option<Self>, RecordError> {
        let of = |at: Measured<'e>| Ok(shown(&at)?.map(|words| (at.id(), words)));
        let cases: Result<Vec<_>, RecordError> =
            measured(evidence).filter_map(|at| of(at).transpose()).collect();
        Ok(Self::of_cases(id, cases?))
    }

    /// With advice that depends on what was found.
    pub(super) fn with_advice(self, advice: impl Into<String>) -> Self {
        Self { advice: advice.into(), ..self }
    }
}

/// Every phase that was measured, with its plan.
pub(super) fn measured(evidence: &Evidence) -> impl Iterator<Item = Measured<'_>> {
    evidence.recorded().flat_map(|(case, record)| {
        record.phases.iter().filter_map(move |phase| {
            let planned = case.case.phases.iter().find(|planned| planned.name == phase.name)?;
            let Activity::Measure(mix) = &planned.work else { return None };
            Some(Measured { case, record, phase, mix })
        })
    })
}

/// A measured phase, and what it belongs to.
#[derive(Clone, Copy)]
pub(super) struct Measured<'e> {
    pub(super) case: &'e CaseEvidence,
    pub(super) record: &'e CaseRecord,
    pub(super) phase: &'e PhaseRecord,
    pub(super) mix: &'e Mix,
}

impl Measured<'_> {
    pub(super) fn id(&self) -> String {
        self.case.case.id.clone()
    }

    /// Bytes and I/Os read at the device.
    pub(super) fn device_reads(&self) -> Option<u64> {
        let (before, after) = (&self.phase.before.device, &self.phase.after.device);
        after.as_ref()?.reads.checked_sub(before.as_ref()?.reads)
    }

    pub(super) fn lookups(&self) -> u64 {
        let ops = self.phase.roles.iter().flat_map(|role| role.ops.values());
        ops.map(|op| op.found + op.missing).sum()
    }

    /// Its engine stores nothing.
    pub(super) fn of_load_generator(&self) -> bool {
        self.case.stores_nothing()
    }
}
