//! Which cases of a finished run meet a target.
//!
//! Each trial gives a value of each condition, and the rule decides as it does for a claim
//! ([`crate::judge::rule`]): the interval of their mean lies within the bound, outside, or across.

use super::search::judge::{self, JudgedTrial, MeasuredPhase, TargetVerdict};
use super::search::{Clause, Quantity, Target, TargetError, Unit};
use crate::figures::Figures;
use crate::figures::evidence::{CaseEvidence, Evidence};
use crate::figures::group::{Group, RoleRow, RunRow};
use crate::figures::lists::unique;
use crate::figures::metric::Metrics;
use crate::figures::naming::Naming;
use crate::judge::rule::{LEAST, Scale, judge_bounds};
use crate::stats;
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
    /// The words for a table.
    pub fn as_str(self) -> &'static str {
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
    /// The conditions, in the order of the target.
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
    /// The bound, in its unit.
    pub bound: f64,
    /// The unit of its bound and values, and with it the side of the bound to stay on.
    pub unit: Unit,
    /// The value, as in the tables: the median of the trials; null: no trial has it.
    pub value: Option<f64>,
    /// Lower end of the 99 % interval of their mean, which decides; null: too few trials.
    pub low: Option<f64>,
    /// Upper end of the same interval.
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
    /// There is no measured phase.
    #[error("expected a measured phase, found none")]
    NothingMeasured,
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
    let evidence = &*evidence.results();
    let engines = figures.groups.iter().any(Group::competes);
    // Times that were measured under an instruction counter do not count.
    let counts = |group: &&Group| (group.competes() || !engines) && !group.is_counted();
    let groups: Vec<&Group> = figures.groups.iter().filter(counts).collect();
    let naming = Naming::from_groups(&groups);
    let (mut rows, mut refused) = (Vec::new(), None);
    for group in groups {
        let cases: Vec<&CaseEvidence> =
            evidence.cases.iter().filter(|case| case.case.key == group.key).collect();
        let Some(first) = cases.first() else { continue };
        for phase in measured_phases(&first.case.phases) {
            if let Err(error) = target.check(phase.mix) {
                refused.get_or_insert(error);
                continue;
            }
            let trials: Result<Vec<JudgedTrial>, RecordError> = cases
                .iter()
                .map(|case| {
                    let limited = case.case.ram_limit_bytes.is_some();
                    judge::judge(evidence, case, target, phase, limited)
                })
                .collect();
            let trials = trials?;
            let in_tables = |clause: &Clause| find_percentile(group, phase, clause);
            let in_tables: Vec<Option<f64>> = target.clauses.iter().map(in_tables).collect();
            rows.push(row(group, &naming, phase.name, target, (&trials, &in_tables)));
        }
    }
    match refused {
        _ if !rows.is_empty() => Ok(rows),
        Some(error) => Err(error.into()),
        None => Err(TargetJudgeError::NothingMeasured),
    }
}

/// The measured phases; of a phase in windows, only the last window.
fn measured_phases(phases: &[Phase]) -> impl Iterator<Item = MeasuredPhase<'_>> {
    let of_window = |phase: &Phase| phase.window.as_ref().map(|window| window.phase.clone());
    let is_last = move |index: usize| {
        let window = of_window(&phases[index]);
        window.is_none() || phases[index + 1..].iter().all(|later| of_window(later) != window)
    };
    let measured = phases.iter().enumerate().filter(move |(index, _)| is_last(*index));
    measured.filter_map(|(_, phase)| match &phase.work {
        Activity::Measure(mix) => Some(MeasuredPhase { name: &phase.name, mix }),
        _ => None,
    })
}

/// The percentile of the tables that a clause is about: of the worst role and operation. It may
/// merge the samples of all trials.
fn find_percentile(group: &Group, phase: MeasuredPhase<'_>, clause: &Clause) -> Option<f64> {
    let Quantity::Percentile(thousandths) = clause.figure else { return None };
    let percentile = (f64::from(thousandths) / 1e3).to_string().replace('.', "_");
    let values =
        list_operations(group.run(phase.name)?, phase.mix, clause).map(|(row, metrics)| {
            let clock = if row.open_loop { "response" } else { "service" };
            metrics.get_by_name(&format!("{clock}_ns_p{percentile}"))?.value
        });
    values.collect::<Option<Vec<f64>>>()?.into_iter().reduce(f64::max)
}

/// The figures of each operation that a clause is about, with its role.
fn list_operations<'r>(
    run: &'r RunRow,
    mix: &Mix,
    clause: &Clause,
) -> impl Iterator<Item = (&'r RoleRow, &'r Metrics)> {
    let concerns = |row: &&RoleRow| {
        mix.roles.iter().any(|role| role.name == row.role && clause.concerns(role))
    };
    let rows = run.roles.iter().filter(concerns);
    rows.flat_map(|row| row.metrics_by_operation().map(move |(op, metrics)| (row, op, metrics)))
        .filter(|(_, op, _)| clause.counts(op))
        .map(|(row, _, metrics)| (row, metrics))
}

fn row(
    group: &Group,
    naming: &Naming,
    phase: &str,
    target: &Target,
    (trials, in_tables): (&[JudgedTrial], &[Option<f64>]),
) -> TargetRow {
    let ended: Vec<&JudgedTrial> =
        trials.iter().filter(|trial| !matches!(trial.verdict, TargetVerdict::Open(_))).collect();
    let judged: Vec<(ConditionRow, Option<usize>)> = target
        .clauses
        .iter()
        .enumerate()
        .map(|(index, clause)| {
            let values = ended.iter().filter_map(|trial| trial.values[index]);
            condition(clause, values, in_tables[index])
        })
        .collect();
    let (conditions, more): (Vec<ConditionRow>, Vec<Option<usize>>) = judged.into_iter().unzip();
    // Void figures miss nothing; a trial that did not fit its RAM has none.
    let counts =
        |trial: &&JudgedTrial| !group.is_void() || trial.values.iter().all(Option::is_none);
    let missed = unique(trials.iter().filter(counts).filter_map(|trial| match &trial.verdict {
        TargetVerdict::Missed(why) => why.clone(),
        _ => None,
    }));
    let missed = (!missed.is_empty()).then(|| missed.join("; "));
    // One reason is enough: most differ only in their numbers.
    let void = unique(trials.iter().filter_map(|trial| match &trial.verdict {
        TargetVerdict::Void(why) | TargetVerdict::Open(Some(why)) => Some(why.clone()),
        _ => None,
    }));
    let void = void.split_first().map(|(first, others)| match others.len() {
        0 => first.clone(),
        1 => format!("{first}; 1 other trial has another reason"),
        n => format!("{first}; {n} other trials have other reasons"),
    });
    let all = |meets: Meets| conditions.iter().all(|condition| condition.meets == meets);
    let any = |meets: Meets| conditions.iter().any(|condition| condition.meets == meets);
    let (meets, reason) = match (missed, void) {
        (Some(why), _) => (Meets::No, Some(why)),
        _ if group.is_void() => (Meets::Undecided, group.describe_void()),
        _ if any(Meets::No) => (Meets::No, None),
        (None, Some(why)) => (Meets::Undecided, Some(why)),
        _ if all(Meets::Yes) => (Meets::Yes, None),
        _ if ended.len() < LEAST => {
            let why = format!("expected {LEAST} trials, found {}", ended.len());
            (Meets::Undecided, Some(why))
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
            .filter(|_| meets == Meets::Undecided && !group.is_void())
            .and_then(|more| more.into_iter().max()),
        reason,
    }
}

/// A condition over the trials, and about how many more of them would decide it.
fn condition(
    clause: &Clause,
    values: impl Iterator<Item = f64>,
    in_tables: Option<f64>,
) -> (ConditionRow, Option<usize>) {
    let unit = clause.figure.unit();
    let bounds = match unit {
        Unit::Time => (0.0, clause.bound),
        Unit::Rate | Unit::Share => (clause.bound, f64::INFINITY),
    };
    let values: Vec<f64> = values.collect();
    let judged = judge_bounds(&values, bounds, Scale::Ratios, None);
    let (low, high) = judged.as_ref().and_then(|judged| judged.interval).unzip();
    let meets = match judged.as_ref().and_then(|judged| judged.inside) {
        Some(true) => Meets::Yes,
        Some(false) => Meets::No,
        None => Meets::Undecided,
    };
    let row = ConditionRow {
        figure: clause.about.clone(),
        bound: clause.bound,
        unit,
        value: in_tables.or_else(|| stats::median(&values)),
        low,
        high,
        meets,
    };
    (row, judged.and_then(|judged| judged.more))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Fixture, make_dir};
    use kvdyno_record::case::Outcome;

    /// The row of `RocksDB`'s single reader, after `change`.
    fn judged(target: &str, trials: u32, change: impl Fn(&mut Fixture)) -> TargetRow {
        let mut fixture = Fixture::with_trials(trials);
        change(&mut fixture);
        let dir = make_dir();
        let evidence = Evidence::read(&fixture.write(&dir.path().join("run"))).unwrap();
        let figures = Figures::from_evidence(&evidence).unwrap();
        let rows = judge_target(&evidence, &figures, &Target::parse(target).unwrap()).unwrap();
        rows.into_iter().find(|row| row.case.contains("RocksDB t1")).unwrap()
    }

    fn void(fixture: &mut Fixture) {
        fixture.make_void("rocksdb_t1_r1");
    }

    #[test]
    fn void_figures_neither_meet_nor_miss() {
        for (target, valid) in [("readers.p99<1ns", Meets::No), ("readers.p99<1h", Meets::Yes)] {
            assert_eq!(judged(target, 4, |_| {}).meets, valid);
            let row = judged(target, 4, void);
            assert_eq!(row.meets, Meets::Undecided, "{target}");
            assert_eq!(row.reason.as_deref(), Some("void: debug-build"));
        }
        let few = judged("readers.p99<1h", 3, |_| {});
        assert!(few.meets == Meets::Undecided && few.more_trials.is_some(), "{few:?}");
        assert_eq!(judged("readers.p99<1h", 3, void).more_trials, None);
    }

    /// No figure says that, so none that is void.
    #[test]
    fn an_engine_that_did_not_fit_misses_in_a_void_run() {
        let row = judged("readers.p99<1h", 4, |fixture| {
            void(fixture);
            let case = fixture.case("rocksdb_t1_r2");
            case.record.outcome = Outcome::DoesNotFit { message: "out of memory".to_owned() };
        });
        assert_eq!((row.meets, row.reason.as_deref()), (Meets::No, Some("does not fit")));
    }
}
