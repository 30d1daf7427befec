//! Which cases of a finished run meet a target.
//!
//! Each trial gives a value of each condition, and the rule decides as it does for a claim
//! ([`crate::judge::rule`]): the interval of their mean lies within the bound, outside, or across.

use super::search::judge::{self, JudgedTrial, TargetVerdict};
use super::search::{Clause, Target, TargetError};
use crate::figures::Figures;
use crate::figures::evidence::{CaseEvidence, Evidence};
use crate::figures::group::Group;
use crate::figures::lists::unique;
use crate::figures::naming::Naming;
use crate::judge::rule::{LEAST, Scale, judge_bounds};
use kvdyno_record::files::RecordError;
use kvdyno_record::workload::{Activity, Mix, Phase};
use schemars::JsonSchema;
use serde::Serialize;

/// Whether a case meets a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Meets {
    /// All conditions hold.
    Yes,
    /// One does not hold, or the engine did not fit its RAM or fell behind its rate.
    No,
    /// Too few trials, or a case without figures.
    Undecided,
}

impl Meets {
    /// In a table.
    pub fn word(self) -> &'static str {
        match self {
            Self::Yes => "meets it",
            Self::No => "misses it",
            Self::Undecided => "undecided",
        }
    }
}

/// A measured phase of a case, judged by a target.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TargetRow {
    /// The engine's name in tables.
    pub label: String,
    /// Its name among the cases of its run: `lmdb t4`.
    pub case: String,
    /// The phase.
    pub phase: String,
    /// The verdict.
    pub meets: Meets,
    /// By condition, in the order of the target.
    pub conditions: Vec<ConditionRow>,
    /// Trials that have ended.
    pub trials: usize,
    /// About how many more trials would decide; null: it is decided, none would, or over 1,000.
    pub more_trials: Option<usize>,
    /// Why it is missed or undecided where the values do not show it; null: they do.
    pub reason: Option<String>,
}

/// A condition, with its value.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ConditionRow {
    /// `readers.p99`.
    pub figure: String,
    /// Nanoseconds, or a number per second.
    pub bound: f64,
    /// A time, which stays below the bound; else a rate, which stays above.
    pub is_latency: bool,
    /// The mean over trials; null: no trial has it.
    pub value: Option<f64>,
    /// Lower end of its 99 % interval; null: too few trials.
    pub low: Option<f64>,
    /// Upper end of it.
    pub high: Option<f64>,
    /// The verdict on it.
    pub meets: Meets,
}

/// Why a run cannot be judged by a target.
#[derive(Debug, thiserror::Error)]
pub enum TargetJudgeError {
    /// The record cannot be read.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// No measured phase has its figures.
    #[error(transparent)]
    Target(#[from] TargetError),
}

/// Judges each measured phase that has the target's figures.
pub fn judge_target(
    evidence: &Evidence,
    figures: &Figures,
    target: &Target,
) -> Result<Vec<TargetRow>, TargetJudgeError> {
    let engines = figures.groups.iter().any(Group::competes);
    let counts = |group: &&Group| group.competes() || !engines;
    let groups: Vec<&Group> = figures.groups.iter().filter(counts).collect();
    let naming = Naming::for_groups(&groups);
    let (mut rows, mut refused) = (Vec::new(), None);
    for group in groups {
        let cases: Vec<&CaseEvidence> =
            evidence.cases.iter().filter(|case| case.case.key == group.key).collect();
        let Some(first) = cases.first() else { continue };
        for (phase, mix) in first.case.phases.iter().filter_map(measured) {
            if let Err(error) = target.check(mix) {
                refused.get_or_insert(error);
                continue;
            }
            let trials: Result<Vec<JudgedTrial>, RecordError> = cases
                .iter()
                .map(|case| {
                    let limited = case.case.ram_limit_bytes.is_some();
                    judge::judge(evidence, case, target, (&phase.name, mix), limited)
                })
                .collect();
            rows.push(row(group, &naming, &phase.name, target, &trials?));
        }
    }
    match refused {
        Some(error) if rows.is_empty() => Err(error.into()),
        _ => Ok(rows),
    }
}

fn measured(phase: &Phase) -> Option<(&Phase, &Mix)> {
    match &phase.work {
        Activity::Measure(mix) => Some((phase, mix)),
        _ => None,
    }
}

fn row(
    group: &Group,
    naming: &Naming,
    phase: &str,
    target: &Target,
    trials: &[JudgedTrial],
) -> TargetRow {
    let ended: Vec<&JudgedTrial> =
        trials.iter().filter(|trial| !matches!(trial.verdict, TargetVerdict::Open(_))).collect();
    let judged: Vec<(ConditionRow, Option<usize>)> = target
        .clauses
        .iter()
        .enumerate()
        .map(|(index, clause)| condition(clause, ended.iter().filter_map(|t| t.values[index])))
        .collect();
    let (conditions, more): (Vec<ConditionRow>, Vec<Option<usize>>) = judged.into_iter().unzip();
    let of = |pick: fn(&TargetVerdict) -> Option<&String>| {
        let whys = unique(ended.iter().filter_map(|trial| pick(&trial.verdict)).cloned());
        (!whys.is_empty()).then(|| whys.join("; "))
    };
    let missed = of(|verdict| match verdict {
        TargetVerdict::Missed(why) => why.as_ref(),
        _ => None,
    });
    let void = of(|verdict| match verdict {
        TargetVerdict::Void(why) => Some(why),
        _ => None,
    });
    let all = |meets: Meets| conditions.iter().all(|condition| condition.meets == meets);
    let any = |meets: Meets| conditions.iter().any(|condition| condition.meets == meets);
    let (meets, reason) = match (missed, void) {
        (Some(why), _) => (Meets::No, Some(why)),
        _ if any(Meets::No) => (Meets::No, None),
        (None, Some(why)) => (Meets::Undecided, Some(why)),
        _ if all(Meets::Yes) => (Meets::Yes, None),
        _ if ended.len() < LEAST => {
            let found = ended.len();
            (Meets::Undecided, Some(format!("expected {LEAST} trials, found {found}")))
        }
        _ => (Meets::Undecided, None),
    };
    let open = conditions.iter().zip(&more).filter(|(row, _)| row.meets == Meets::Undecided);
    let more_trials = open.map(|(_, more)| *more).collect::<Option<Vec<usize>>>();
    TargetRow {
        label: group.label.clone(),
        case: naming.name(group),
        phase: phase.to_owned(),
        meets,
        conditions,
        trials: ended.len(),
        more_trials: more_trials
            .filter(|_| meets == Meets::Undecided)
            .and_then(|more| more.into_iter().max()),
        reason,
    }
}

/// A condition over the trials, and about how many more of them would decide it.
fn condition(clause: &Clause, values: impl Iterator<Item = f64>) -> (ConditionRow, Option<usize>) {
    let is_latency = clause.figure.is_latency();
    let bounds = if is_latency { (0.0, clause.bound) } else { (clause.bound, f64::INFINITY) };
    let values: Vec<f64> = values.collect();
    let judged = judge_bounds(&values, bounds, Scale::Ratios);
    let (low, high) = judged.as_ref().and_then(|judged| judged.interval).unzip();
    let meets = match judged.as_ref().and_then(|judged| judged.inside) {
        Some(true) => Meets::Yes,
        Some(false) => Meets::No,
        None => Meets::Undecided,
    };
    let row = ConditionRow {
        figure: clause.about.clone(),
        bound: clause.bound,
        is_latency,
        value: judged.as_ref().map(|judged| judged.value),
        low,
        high,
        meets,
    };
    (row, judged.and_then(|judged| judged.more))
}
