//! A finding, and what rules read: records and measured phases.

use super::kinds::{Id, Severity};
use crate::figures::evidence::{CaseEvidence, Evidence};
use crate::figures::group::Group;
use crate::figures::spent::Spent;
use kvdyno_record::case::{CaseRecord, PhaseRecord};
use kvdyno_record::files::RecordError;
use kvdyno_record::workload::{Activity, Mix};
use schemars::JsonSchema;
use serde::Serialize;

/// A typed warning.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Finding {
    /// Its kind.
    pub id: Id,
    /// How much it weighs.
    pub severity: Severity,
    /// The evidence, with figures.
    pub evidence: String,
    /// What would help.
    pub advice: String,
    /// The cases it applies to; empty: the whole run.
    pub cases: Vec<String>,
}

impl Finding {
    /// Whether it is about the whole run, or about a trial of this group.
    pub(crate) fn concerns(&self, group: &Group) -> bool {
        let mut trials = group.trials.iter();
        self.cases.is_empty() || trials.any(|trial| self.cases.contains(&trial.case))
    }

    /// Makes a finding about the whole run.
    pub(super) fn new(id: Id, evidence: impl Into<String>) -> Self {
        let (evidence, advice) = (evidence.into(), id.advice().to_owned());
        Self { id, severity: id.severity(), evidence, advice, cases: Vec::new() }
    }

    /// Makes a finding about cases: each has its evidence, and the first is quoted. None without
    /// cases.
    pub(super) fn from_cases(
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
        Some(Self { cases, ..Self::new(id, quoted?) })
    }

    /// Makes a finding about cases from their records.
    pub(super) fn from_records<'e>(
        id: Id,
        evidence: &'e Evidence,
        describe: impl Fn(&'e CaseEvidence, &'e CaseRecord) -> Option<String>,
    ) -> Option<Self> {
        let evidence_of = |(case, record): (&'e CaseEvidence, &'e CaseRecord)| {
            Some((case.case.id.clone(), describe(case, record)?))
        };
        Self::from_cases(id, evidence.recorded_cases().filter_map(evidence_of))
    }

    /// Makes a finding about cases from their measured phases, without those of the load generator.
    pub(super) fn from_phases<'e>(
        id: Id,
        evidence: &'e Evidence,
        describe: impl Fn(&Measured<'e>) -> Option<String>,
    ) -> Option<Self> {
        let evidence_of = |measured: Measured<'e>| Some((measured.id(), describe(&measured)?));
        Self::from_cases(
            id,
            measured_phases(evidence)
                .filter(|measured| !measured.measures_load_generator())
                .filter_map(evidence_of),
        )
    }

    /// Makes a finding about cases from files of their measured phases, including those of the load
    /// generator.
    pub(super) fn from_files<'e>(
        id: Id,
        evidence: &'e Evidence,
        describe: impl Fn(&Measured<'e>) -> Result<Option<String>, RecordError>,
    ) -> Result<Option<Self>, RecordError> {
        let evidence_of =
            |measured: Measured<'e>| Ok(describe(&measured)?.map(|words| (measured.id(), words)));
        let cases: Result<Vec<_>, RecordError> = measured_phases(evidence)
            .filter_map(|measured| evidence_of(measured).transpose())
            .collect();
        Ok(Self::from_cases(id, cases?))
    }

    /// Replaces the advice by one that depends on the evidence.
    pub(super) fn with_advice(self, advice: impl Into<String>) -> Self {
        Self { advice: advice.into(), ..self }
    }
}

/// Every measured phase, with its plan.
pub(super) fn measured_phases(evidence: &Evidence) -> impl Iterator<Item = Measured<'_>> {
    evidence.recorded_cases().flat_map(|(case, record)| {
        record.phases.iter().filter_map(move |phase| {
            let planned = case.case.phases.iter().find(|planned| planned.name == phase.name)?;
            let Activity::Measure(mix) = &planned.work else { return None };
            Some(Measured { case, record, phase, mix })
        })
    })
}

/// A measured phase, with its case and record.
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

    /// I/Os read at the device.
    pub(super) fn device_reads(&self) -> Option<u64> {
        let (before, after) = (&self.phase.before.device, &self.phase.after.device);
        after.as_ref()?.reads.checked_sub(before.as_ref()?.reads)
    }

    /// Bytes read from devices on behalf of the engine's processes.
    pub(super) fn process_reads_bytes(&self) -> Option<f64> {
        let blocks = Spent::from_phase(self.phase).process(|usage| usage.input_blocks_512);
        blocks.ok().map(|blocks| blocks * 512.0)
    }

    pub(super) fn lookups(&self) -> u64 {
        let ops = self.phase.roles.iter().flat_map(|role| role.ops.values());
        ops.map(|op| op.hits + op.misses).sum()
    }

    /// Whether its engine stores nothing: then it measures the load generator.
    pub(super) fn measures_load_generator(&self) -> bool {
        self.case.stores_nothing()
    }
}
