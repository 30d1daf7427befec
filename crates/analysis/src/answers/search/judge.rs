//! A target held against one trial of one point.

use super::target::{Clause, Quantity, Target, Unit};
use crate::figures::evidence::{CaseEvidence, Evidence, Latencies};
use crate::figures::lists::unique;
use crate::figures::metric::{Reading, Why};
use crate::figures::spent::Spent;
use crate::figures::trials::{merge_samples, role as role_result};
use crate::figures::turns;
use crate::stats;
use hdrhistogram::Histogram;
use kvdyno_record::case::{Outcome, PhaseRecord, RoleResult};
use kvdyno_record::files::RecordError;
use kvdyno_record::hlog::Kind;
use kvdyno_record::units;
use kvdyno_record::workload::{Mix, Role};

/// The verdict of a trial on its point.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::answers) enum TargetVerdict {
    /// Every clause holds.
    Met,
    /// Some clause does not hold, or the engine does not fit; why, where figures do not show it.
    Missed(Option<String>),
    /// The trial cannot be judged, and could not be if it were tried again: why.
    Void(String),
    /// The trial has not ended yet; why, where the host stopped it: a full disk,
    /// a library that is missing.
    Open(Option<String>),
}

/// A trial that was judged by the target.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::answers) struct JudgedTrial {
    pub(in crate::answers) verdict: TargetVerdict,
    /// The figure of each clause; none: the trial has none.
    pub(in crate::answers) values: Vec<Option<f64>>,
}

impl JudgedTrial {
    fn without_values(target: &Target, verdict: TargetVerdict) -> Self {
        Self { verdict, values: vec![None; target.clauses.len()] }
    }
}

/// A measured phase, and what it does.
#[derive(Clone, Copy, Debug)]
pub(in crate::answers) struct MeasuredPhase<'p> {
    pub(in crate::answers) name: &'p str,
    pub(in crate::answers) mix: &'p Mix,
}

/// Judges a phase of a case. `needs_limit`: a trial whose RAM limit was not held is void.
pub(in crate::answers) fn judge(
    evidence: &Evidence,
    case: &CaseEvidence,
    target: &Target,
    measured: MeasuredPhase<'_>,
    needs_limit: bool,
) -> Result<JudgedTrial, RecordError> {
    if let Some(verdict) = without_figures(evidence, case, needs_limit) {
        return Ok(JudgedTrial::without_values(target, verdict));
    }
    let MeasuredPhase { name, mix } = measured;
    let phase = match case.phase(name) {
        Ok(phase) => phase,
        Err(why) => {
            return Ok(JudgedTrial::without_values(target, TargetVerdict::Void(why.to_string())));
        }
    };
    let latencies = case.latencies()?;
    let figures = target.clauses.iter().map(|clause| match clause.figure.unit() {
        Unit::Rate => rates(clause, case, phase, mix),
        _ => figure(clause, phase, mix, &latencies),
    });
    let figures: Vec<Result<f64, String>> = figures.collect();
    let missed = |(clause, figure): (&Clause, &Result<f64, String>)| {
        figure.as_ref().is_ok_and(|value| !clause.is_met(*value))
    };
    let verdict = if let Some(why) = describe_behind(phase, mix) {
        TargetVerdict::Missed(Some(why))
    } else if target.clauses.iter().zip(&figures).any(missed) {
        TargetVerdict::Missed(None)
    } else if let Some(why) = figures.iter().find_map(|figure| figure.as_ref().err()) {
        TargetVerdict::Void(why.clone())
    } else {
        TargetVerdict::Met
    };
    Ok(JudgedTrial { verdict, values: figures.into_iter().map(Result::ok).collect() })
}

/// The verdict on a case whose figures are missing or do not count; none: they count.
fn without_figures(
    evidence: &Evidence,
    case: &CaseEvidence,
    needs_limit: bool,
) -> Option<TargetVerdict> {
    let Some(record) = &case.record else {
        return Some(case.damaged.clone().map_or(TargetVerdict::Open(None), TargetVerdict::Void));
    };
    match &record.outcome {
        Outcome::Done if needs_limit && record.ram_limit.enforced_by.is_none() => {
            let why = record.ram_limit.reason.as_deref().unwrap_or("for an unknown reason");
            Some(TargetVerdict::Void(format!("the RAM limit was not held: {why}")))
        }
        Outcome::Done => None,
        outcome @ (Outcome::DoesNotFit { .. } | Outcome::OutOfTime { .. }) => {
            Some(TargetVerdict::Missed(Some(outcome.as_str().to_owned())))
        }
        Outcome::NotRun { message } => {
            let loaded_by = &case.case.database.loaded_by;
            let load = evidence.recorded_cases().find(|(load, _)| load.case.id == *loaded_by);
            Some(match load.map(|(_, record)| &record.outcome) {
                Some(outcome @ (Outcome::DoesNotFit { .. } | Outcome::OutOfTime { .. })) => {
                    TargetVerdict::Missed(Some(format!("its load: {}", outcome.as_str())))
                }
                Some(outcome) if outcome.is_final() && *outcome != Outcome::Done => {
                    TargetVerdict::Void(format!("its load: {}", describe_ending(outcome)))
                }
                Some(outcome @ Outcome::DiskFull { .. }) => {
                    TargetVerdict::Open(Some(format!("its load: {}", describe_ending(outcome))))
                }
                // What is missing may be there the next time.
                _ => TargetVerdict::Open(Some(message.clone())),
            })
        }
        outcome if outcome.is_final() => Some(TargetVerdict::Void(describe_ending(outcome))),
        Outcome::DiskFull { .. } => {
            Some(TargetVerdict::Open(Some(describe_ending(&record.outcome))))
        }
        _ => Some(TargetVerdict::Open(None)),
    }
}

/// The name of a case's outcome, and its message.
fn describe_ending(outcome: &Outcome) -> String {
    format!("{}: {}", outcome.as_str(), outcome.message().unwrap_or_default())
}

/// Names the roles that fell behind their schedule: response times of the operations that began do
/// not show the whole delay.
fn describe_behind(phase: &PhaseRecord, mix: &Mix) -> Option<String> {
    let roles = mix.roles.iter().filter(|role| role.rate.is_some());
    let behind = roles.filter_map(|role| {
        let result = role_result(phase, &role.name).ok()?;
        result.is_behind().then(|| format!("{} fell behind the rate", role.name))
    });
    behind.reduce(|all, one| format!("{all}; {one}"))
}

/// Operations each second of a role.
pub(super) fn operations_per_s(phase: &PhaseRecord, role: &str) -> Option<f64> {
    let result = role_result(phase, role).ok()?;
    let count: u64 = result.summed_ops().map(|op| op.count).sum();
    result.per_second(count)
}

/// The growth of the page cache during a phase, as a share of the database.
pub(super) fn cache_growth(phase: &PhaseRecord) -> Option<f64> {
    let (before, after) = (phase.resident_before.as_ref()?, phase.resident_after.as_ref()?);
    let grown = after.resident_bytes as f64 - before.resident_bytes as f64;
    (after.file_bytes > 0).then(|| grown / after.file_bytes as f64)
}

/// The time that a case worked on after a phase, in nanoseconds.
fn deferred_ns(case: &CaseEvidence, phase: &PhaseRecord) -> u64 {
    let phases = case.record.iter().flat_map(|record| &record.phases);
    let mut after = phases.skip_while(|other| other.name != phase.name).skip(1);
    phase.deferred_ns(after.next().filter(|next| next.kind == "settle"))
}

/// The sum of the roles' rates, as in the tables: their time includes the work left behind.
fn rates(
    clause: &Clause,
    case: &CaseEvidence,
    phase: &PhaseRecord,
    mix: &Mix,
) -> Result<f64, String> {
    let deferred_ns = deferred_ns(case, phase);
    let without_waits = case.without_waits.contains(&phase.name);
    let roles = mix.roles.iter().filter(|role| clause.concerns(role));
    let rates = roles.map(|role| {
        let result = role_result(phase, &role.name).map_err(Why::into_owned)?;
        let share = if without_waits { turns::share_with_cpu(result) } else { 1.0 };
        Ok(rate(clause, result, deferred_ns)? / share)
    });
    rates.sum()
}

/// The figure of a clause: the latency of the worst role and operation, or the phase's hits; or why
/// there is none.
fn figure(
    clause: &Clause,
    phase: &PhaseRecord,
    mix: &Mix,
    latencies: &Latencies,
) -> Result<f64, String> {
    if clause.figure == Quantity::Hits {
        return hits(phase).map_err(Why::into_owned);
    }
    let roles = mix.roles.iter().filter(|role| clause.concerns(role));
    let mut values = Vec::new();
    for role in roles {
        let result = role_result(phase, &role.name).map_err(Why::into_owned)?;
        // Each operation by itself: fast reads do not make up for slow writes.
        let ops = unique(role.mix.iter().map(|entry| entry.op.name()));
        for op in ops.into_iter().filter(|op| clause.counts(op)) {
            let samples = samples(op, &phase.name, role, latencies);
            values.push(match clause.figure {
                Quantity::Percentile(thousandths) => percentile(clause, thousandths, &samples),
                _ if samples.is_empty() => Err(format!("{} did no {op}", role.name)),
                Quantity::Mean => Ok(samples.mean()),
                _ => Ok(longest_call_ns(op, role, result, &samples)),
            });
        }
    }
    // A miss of one role is enough, whatever the others lack.
    let worst = values.iter().flatten().copied().reduce(f64::max);
    match (worst, values.into_iter().find_map(Result::err)) {
        (Some(worst), Some(_)) if !clause.is_met(worst) => Ok(worst),
        (Some(worst), None) => Ok(worst),
        (_, Some(why)) => Err(why),
        (None, None) => Err("the phase has no such role".to_owned()),
    }
}

/// The share of operations for which the drive was not read. It is a lower bound: an operation may
/// read the drive several times, and other processes read it too.
fn hits(phase: &PhaseRecord) -> Reading {
    let reads = Spent::from_phase(phase).device(|device| device.reads)?;
    let count = |role: &RoleResult| role.summed_ops().map(|op| op.count).sum::<u64>();
    let operations: u64 = phase.roles.iter().map(count).sum();
    if operations == 0 {
        return Err("the phase did no operation".into());
    }
    Ok((1.0 - reads / operations as f64).max(0.0))
}

fn rate(clause: &Clause, result: &RoleResult, deferred_ns: u64) -> Result<f64, String> {
    let counted = result.ops.iter().filter(|(op, _)| clause.counts(op));
    let number: u64 = counted
        .map(|(_, op)| match clause.figure {
            Quantity::Operations => op.count,
            _ => op.items,
        })
        .sum();
    let per_second = result.sustained_per_second(number, deferred_ns);
    per_second.ok_or_else(|| format!("{} has no window", result.role))
}

/// The times of an operation: from the schedule where there is one, else of the calls.
fn samples(op: &str, phase: &str, role: &Role, latencies: &Latencies) -> Histogram<u64> {
    let kind = if role.rate.is_some() { Kind::Response } else { Kind::Service };
    merge_samples(latencies, (phase, &role.name, kind), |other| other == op)
}

/// The longest time. A bucket's upper end can lie above it; of a call, the exact maximum is known.
fn longest_call_ns(op: &str, role: &Role, result: &RoleResult, samples: &Histogram<u64>) -> f64 {
    let longest = samples.max() as f64;
    let exact = result.ops.get(op).map_or(0, |calls| calls.service_ns_max);
    if role.rate.is_some() { longest } else { longest.min(exact as f64) }
}

/// Returns a percentile, which needs ten samples beyond it. Ten beyond the bound are enough to show
/// a miss, however few there are in all.
fn percentile(clause: &Clause, thousandths: u32, samples: &Histogram<u64>) -> Result<f64, String> {
    let q = f64::from(thousandths) / 1e5;
    if let Some(value) = stats::quantile(samples, q) {
        return Ok(value as f64);
    }
    let value = samples.value_at_quantile(q) as f64;
    let within_bound = samples.count_between(0, clause.bound as u64);
    let beyond = samples.len().saturating_sub(within_bound) as f64;
    if beyond >= stats::SAMPLES_BEYOND && !clause.is_met(value) {
        return Ok(value);
    }
    let (needed, count) = (stats::samples_needed(q), samples.len());
    Err(format!(
        "{} stands on {} samples, and a trial had {}; measure longer, or ask for less",
        clause.about,
        units::group_digits(needed),
        units::group_digits(count)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{self, Fixture};
    use kvdyno_record::hlog;
    use kvdyno_record::workload::Activity;

    #[test]
    fn few_samples_may_show_a_miss_and_never_that_it_is_met() {
        let target = Target::parse("p99.9 < 1ms").unwrap();
        let clause = &target.clauses[0];
        let mut samples = hlog::histogram();
        samples.record_n(100_000, 500).unwrap();
        let why = percentile(clause, 99_900, &samples).unwrap_err();
        assert!(why.starts_with("p99.9 stands on 10,000 samples, and a trial had 500"), "{why}");
        samples.record_n(5_000_000, 9).unwrap();
        assert!(percentile(clause, 99_900, &samples).is_err(), "nine are too few to tell");
        samples.record(5_000_000).unwrap();
        assert!(percentile(clause, 99_900, &samples).unwrap() > 4.9e6);
    }

    /// Nine of ten operations are fast reads, so the median of all operations is a read's.
    #[test]
    fn a_latency_is_to_be_kept_by_each_operation() {
        let fixture = Fixture::with_mixed_role(1);
        let judged = |text: &str| judge_lmdb_case(&fixture, text);
        assert_eq!(judged("get.p50 < 100us").verdict, TargetVerdict::Met);
        let all = judged("p50 < 100us");
        assert_eq!(all.verdict, TargetVerdict::Missed(None));
        assert_eq!(all.values, judged("update.p50 < 100us").values);
    }

    #[test]
    fn a_case_that_was_not_run_for_a_missing_library_can_be_tried_again() {
        let mut fixture = Fixture::with_mixed_role(1);
        let message = "no library of LMDB is installed".to_owned();
        fixture.case("lmdb_t1_r1").record.outcome = Outcome::NotRun { message: message.clone() };
        let judged = judge_lmdb_case(&fixture, "p50 < 100us");
        assert_eq!(judged.verdict, TargetVerdict::Open(Some(message)));
    }

    /// Judges the case of LMDB with one thread.
    fn judge_lmdb_case(fixture: &Fixture, target: &str) -> JudgedTrial {
        let dir = fixture::make_dir();
        let run = fixture.write(&dir.path().join("run"));
        let evidence = Evidence::read(&run).unwrap();
        let case = evidence.cases.iter().find(|case| case.case.id.contains("_lmdb_t1_")).unwrap();
        let measured_phase = case.case.phases.iter().find_map(|phase| match &phase.work {
            Activity::Measure(mix) => Some(MeasuredPhase { name: &phase.name, mix }),
            _ => None,
        });
        let target = Target::parse(target).unwrap();
        judge(&evidence, case, &target, measured_phase.unwrap(), true).unwrap()
    }
}
