//! The trials of one case: the source of all rows' readings.

use super::evidence::{CaseEvidence, Latencies};
use super::metric::{Reading, Why};
use super::spent::Spent;
use hdrhistogram::Histogram;
use kvdyno_record::case::{CaseRecord, OpResult, PhaseRecord, RoleResult};
use kvdyno_record::files::RecordError;
use kvdyno_record::hlog::{self, Kind};
use kvdyno_record::operations::OpInfo;
use kvdyno_record::samples::Samples;

/// Cases with the same key, with their samples.
pub struct Trials<'e> {
    /// The cases, each with its latencies.
    pub cases: Vec<(&'e CaseEvidence, Latencies)>,
}

impl<'e> Trials<'e> {
    /// Reads the samples of cases with one key.
    pub(crate) fn read(cases: &[&'e CaseEvidence]) -> Result<Self, RecordError> {
        let mut trials = Self { cases: Vec::new() };
        let mut pages = 0;
        for case in cases {
            let latencies = case.latencies()?;
            pages += latencies.values().map(Samples::pages).sum::<usize>();
            case.refuse_too_many(pages)?;
            trials.cases.push((case, latencies));
        }
        Ok(trials)
    }

    /// A reading of each trial's phase.
    pub fn phase_readings(
        &self,
        phase: &str,
        read: impl Fn(Spent<'e>, &'e CaseEvidence) -> Reading,
    ) -> Vec<Reading> {
        let reading = |case: &'e CaseEvidence| read(Spent::from_phase(case.phase(phase)?), case);
        self.cases.iter().map(|(case, _)| reading(case)).collect()
    }

    /// A reading of each trial's record as a whole.
    pub(crate) fn case_readings(
        &self,
        phase: &str,
        read: impl Fn(&'e CaseRecord) -> Reading,
    ) -> Vec<Reading> {
        let whole = |case: &'e CaseEvidence| {
            case.phase(phase)?;
            case.record.as_ref().map_or_else(|| Err(case.outcome().into()), &read)
        };
        self.cases.iter().map(|(case, _)| whole(case)).collect()
    }

    /// A reading of each trial's role, and of one or all of its operations added up.
    pub fn role_readings(
        &self,
        scope: &At<'_>,
        read: impl Fn(&RoleResult, &OpResult) -> Reading,
    ) -> Vec<Reading> {
        let reading = |case: &'e CaseEvidence| {
            let role = role(case.phase(scope.phase)?, scope.role)?;
            read(role, &scope.ops(role)?)
        };
        self.cases.iter().map(|(case, _)| reading(case)).collect()
    }

    /// How long each trial worked on after a phase.
    pub(super) fn deferred_ns(&self, phase: &str, settle: Option<&str>) -> Vec<Reading> {
        self.phase_readings(phase, |spent, case| {
            let settle = settle.map(|name| case.phase(name)).transpose()?;
            Ok(spent.phase.deferred_ns(settle) as f64)
        })
    }

    /// Each trial's samples in a scope, or why there are none.
    pub(crate) fn samples(&self, scope: &At<'_>, kind: Kind) -> Vec<Result<Histogram<u64>, Why>> {
        let samples = |case: &CaseEvidence, latencies: &Latencies| {
            case.phase(scope.phase)?;
            let is_selected =
                |op: &str| scope.op.map_or_else(|| OpInfo::is_summed(op), |name| name == op);
            Ok(merge_samples(latencies, (scope.phase, scope.role, kind), is_selected))
        };
        self.cases.iter().map(|(case, latencies)| samples(case, latencies)).collect()
    }
}

/// A phase's role, and one of its operations or all of them.
#[derive(Clone, Copy, Debug)]
pub struct At<'n> {
    /// The phase's name.
    pub phase: &'n str,
    /// The role's name.
    pub role: &'n str,
    /// One of its operations; none: all of them.
    pub op: Option<&'n str>,
}

impl At<'_> {
    fn ops(&self, role: &RoleResult) -> Result<OpResult, Why> {
        match self.op {
            Some(op) => role.ops.get(op).cloned().ok_or_else(|| format!("no {op} was done").into()),
            None => Ok(role.summed_ops().fold(OpResult::default(), |mut sum, op| {
                sum.add(op);
                sum
            })),
        }
    }
}

/// Merges the samples of a phase's role, for the operations that `is_selected` selects.
pub(crate) fn merge_samples(
    latencies: &Latencies,
    tag: (&str, &str, Kind),
    is_selected: impl Fn(&str) -> bool,
) -> Histogram<u64> {
    let mut all = hlog::histogram();
    for ((phase, role, op, kind), samples) in latencies {
        if (phase.as_str(), role.as_str(), *kind) == tag && is_selected(op) {
            samples.add_to(&mut all);
        }
    }
    all
}

/// A phase's role, or why it is missing.
pub(crate) fn role<'p>(phase: &'p PhaseRecord, name: &str) -> Result<&'p RoleResult, Why> {
    let result = phase.roles.iter().find(|role| role.role == name);
    result.ok_or_else(|| format!("role {name} left no result").into())
}
