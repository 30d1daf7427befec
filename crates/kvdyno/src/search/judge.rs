//! A target held against what one case came to, trial by trial.

use super::target::{Clause, Figure, Target};
use crate::report::catalogue as figures;
use crate::report::group::{Group, RoleRow, RunRow};
use crate::report::metric::Definition;
use kvdyno_record::workload::OP_NAMES;
use schemars::JsonSchema;
use serde::Serialize;

/// What a case came to.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Judged {
    /// Trials in which every clause held.
    pub met: usize,
    /// Trials that came to their end; one that did not fit or failed counts, and is not met.
    pub trials: usize,
    /// By clause: what was measured in each trial, nanoseconds or items a second; null: no figure.
    pub values: Vec<Vec<Option<f64>>>,
    /// Why the case has no figures, where it has none.
    pub without: Option<String>,
}

impl Judged {
    /// In every trial: one that missed is a target that cannot be relied upon.
    pub fn is_met(&self) -> bool {
        self.trials > 0 && self.met == self.trials
    }
}

/// Holds a target against the last measured phase of a case.
pub fn judge(target: &Target, group: &Group) -> Judged {
    let trials = group.trials.len();
    let Some(run) = group.runs.last() else {
        let why = group.trials.iter().find(|trial| !trial.done);
        let why = why.map_or("nothing was measured", |trial| trial.outcome.as_str());
        let values = target.clauses.iter().map(|_| vec![None; trials]).collect();
        return Judged { met: 0, trials, values, without: Some(why.to_owned()) };
    };
    let values: Vec<Vec<Option<f64>>> = target
        .clauses
        .iter()
        .map(|clause| (0..trials).map(|trial| value(clause, run, trial)).collect())
        .collect();
    let holds = |trial: usize| {
        let mut clauses = target.clauses.iter().zip(&values);
        clauses.all(|(clause, values)| values[trial].is_some_and(|value| clause.holds(value)))
    };
    let done = |trial: usize| group.trials[trial].done;
    let met = (0..trials).filter(|trial| done(*trial) && holds(*trial)).count();
    let failed = group.trials.iter().find(|trial| !trial.done);
    Judged { met, trials, values, without: failed.map(|trial| trial.outcome.clone()) }
}

/// What a clause is about in one trial: the worst role's latency, the sum of the roles' rates.
fn value(clause: &Clause, run: &RunRow, trial: usize) -> Option<f64> {
    let roles: Vec<&RoleRow> = run.roles.iter().filter(|role| concerns(clause, role)).collect();
    let values: Option<Vec<f64>> = roles
        .iter()
        .map(|role| {
            let metric = role.metrics.get(definition(clause.figure, role))?;
            metric.per_trial.get(trial).copied().flatten()
        })
        .collect();
    let values = values.filter(|values| !values.is_empty())?;
    match clause.figure {
        Figure::Percentile(_) | Figure::Longest => values.into_iter().reduce(f64::max),
        _ => Some(values.iter().sum()),
    }
}

fn concerns(clause: &Clause, role: &RoleRow) -> bool {
    match (&clause.role, clause.figure) {
        (Some(name), _) => *name == role.role,
        (None, Figure::Reads) => !writes(role),
        (None, Figure::Writes) => writes(role),
        (None, _) => true,
    }
}

fn writes(role: &RoleRow) -> bool {
    const READS: [&str; 3] = ["get", "scan", "multiget"];
    role.mix
        .split(|letter: char| !letter.is_ascii_alphanumeric())
        .filter(|word| OP_NAMES.contains(word))
        .any(|op| !READS.contains(&op))
}

fn definition(figure: Figure, role: &RoleRow) -> &'static Definition {
    match (figure, role.open_loop) {
        (Figure::Percentile(50_000), false) => &figures::SERVICE_P50,
        (Figure::Percentile(90_000), false) => &figures::SERVICE_P90,
        (Figure::Percentile(99_000), false) => &figures::SERVICE_P99,
        (Figure::Percentile(99_900), false) => &figures::SERVICE_P999,
        (Figure::Percentile(_), false) => &figures::SERVICE_P9999,
        (Figure::Longest, false) => &figures::SERVICE_MAX,
        (Figure::Percentile(50_000), true) => &figures::RESPONSE_P50,
        (Figure::Percentile(90_000), true) => &figures::RESPONSE_P90,
        (Figure::Percentile(99_000), true) => &figures::RESPONSE_P99,
        (Figure::Percentile(99_900), true) => &figures::RESPONSE_P999,
        (Figure::Percentile(_), true) => &figures::RESPONSE_P9999,
        (Figure::Longest, true) => &figures::RESPONSE_MAX,
        (Figure::Operations, _) => &figures::OPS_PER_S,
        (Figure::Reads | Figure::Writes, _) => &figures::ITEMS_PER_S,
    }
}
