//! Whether the engines returned the data they were given, and whether the cases finished.

use super::finding::{Finding, measured_phases};
use super::kinds::Id;
use crate::figures::evidence::{CaseEvidence, Evidence, outcome_words};
use kvdyno_record::case::{CaseRecord, OpResult, Outcome, PhaseRecord};
use kvdyno_record::engine::ErrorClass;
use kvdyno_record::expected_hits;
use kvdyno_record::units::{self, group_digits};

pub(super) fn findings(evidence: &Evidence) -> Vec<Finding> {
    let all = [
        Finding::from_cases(Id::KeysMissing, missing_keys(evidence)),
        Finding::from_cases(Id::ValuesWrong, collect_op_evidence(evidence, wrong_value_evidence)),
        Finding::from_cases(Id::VerifyFailed, failed_verification(evidence)),
        Finding::from_records(Id::DataDamaged, evidence, damage_evidence),
        Finding::from_cases(Id::OperationsFailed, collect_op_evidence(evidence, failure_evidence)),
        open_loop_behind(evidence),
        cases_not_done(evidence),
        retried_case(evidence),
        does_not_fit(evidence),
        unverified_data(evidence),
        partial_run(evidence),
    ];
    all.into_iter().flatten().collect()
}

/// A record that changed after the seal is no longer what was measured.
pub(super) fn altered_record(files: &[String]) -> Option<Finding> {
    let first = files.first()?;
    let more = match files.len() - 1 {
        0 => String::new(),
        more => format!(" and {} more", units::pluralize(more, "file")),
    };
    Some(Finding::new(
        Id::RecordAltered,
        format!("the record was altered since the run ended: {first}{more}"),
    ))
}

/// Earlier attempts of a case that failed, which no table shows. Interrupted attempts do not count.
fn retried_case(evidence: &Evidence) -> Option<Finding> {
    let failed =
        |outcome: &Outcome| !matches!(outcome, Outcome::Done | Outcome::Interrupted { .. });
    let cases = evidence.cases.iter().filter_map(|case| {
        let earlier: Vec<_> = case.earlier.iter().filter(|one| failed(&one.outcome)).collect();
        let last = earlier.last()?;
        let tries = match earlier.len() + 1 {
            2 => "twice".to_owned(),
            n => format!("{n} times"),
        };
        let why = outcome_words(&last.outcome);
        let message = last.outcome.message().unwrap_or_default();
        Some((case.case.id.clone(), format!("was tried {tries}: {why}: {message}")))
    });
    Finding::from_cases(Id::CaseRetried, cases)
}

/// Missing keys that must exist, or hits on keys that must not.
fn missing_keys(evidence: &Evidence) -> Vec<(String, String)> {
    let of_phase = |(case, phase): (&CaseEvidence, &PhaseRecord)| {
        let roles = phase.roles.iter().filter_map(|role| {
            let mistake = expected_hits::find_mistake(&case.case.phases, &phase.name, role)?;
            let words = format!("phase {}, {}: {mistake}", phase.name, role.role);
            Some((case.case.id.clone(), words))
        });
        roles.collect::<Vec<_>>()
    };
    phases(evidence).flat_map(of_phase).collect()
}

fn wrong_value_evidence(op: &OpResult) -> Option<String> {
    let words =
        || format!("{} values had the wrong key, length or checksum", group_digits(op.wrong));
    (op.wrong > 0).then(words)
}

fn failure_evidence(op: &OpResult) -> Option<String> {
    let count: u64 = op.errors.values().sum();
    let classes: Vec<String> =
        op.errors.iter().map(|(class, n)| format!("{class:?} {n}").to_lowercase()).collect();
    let words = || {
        let all = count + op.count;
        format!(
            "{} of {} operations failed ({})",
            group_digits(count),
            group_digits(all),
            classes.join(", ")
        )
    };
    (count > 0).then(words)
}

/// Collects what `look` reports about each operation of each phase.
fn collect_op_evidence(
    evidence: &Evidence,
    look: impl Fn(&OpResult) -> Option<String>,
) -> Vec<(String, String)> {
    let mut cases = Vec::new();
    for (case, phase) in phases(evidence) {
        for role in &phase.roles {
            for (name, op) in &role.ops {
                if let Some(words) = look(op) {
                    let words_with_role =
                        format!("phase {}, {} {name}: {words}", phase.name, role.role);
                    cases.push((case.case.id.clone(), words_with_role));
                }
            }
        }
    }
    cases
}

fn failed_verification(evidence: &Evidence) -> Vec<(String, String)> {
    let each = phases(evidence).filter_map(|(case, phase)| {
        let (planned, records) = (&case.case.phases, case.case.data.records);
        let records_left = expected_hits::hits_before_phase(planned, &phase.name, records);
        Some((case.case.id.clone(), phase.verified.as_ref()?.mistake(records_left)?))
    });
    each.collect()
}

fn damage_evidence(_: &CaseEvidence, record: &CaseRecord) -> Option<String> {
    match &record.outcome {
        Outcome::Failed { class: ErrorClass::Corrupt, message } => Some(message.clone()),
        _ => None,
    }
}

/// Finds open loops that fell behind. A few operations may be due at the end: one for each thread,
/// and one in a hundred, do not count. A search uses the same rule.
fn open_loop_behind(evidence: &Evidence) -> Option<Finding> {
    let behind = measured_phases(evidence).flat_map(|measured| {
        let roles = measured.phase.roles.iter().filter_map(move |role| {
            let offered = role.offered_per_s?;
            let done: u64 = role.ops.values().map(|op| op.count).sum();
            let reached = role.per_second(done).unwrap_or(0.0);
            role.is_behind().then(|| {
                let words = format!(
                    "expected {} from role {}, found {}: {} operations \
                     were due and not started",
                    units::rate(offered),
                    role.role,
                    units::rate(reached),
                    group_digits(role.backlog)
                );
                (measured.id(), words)
            })
        });
        roles.collect::<Vec<_>>()
    });
    Finding::from_cases(Id::OpenLoopBehind, behind)
}

fn cases_not_done(evidence: &Evidence) -> Option<Finding> {
    let ended = outcome_evidence(evidence, |outcome| {
        !matches!(outcome, Outcome::Done | Outcome::DoesNotFit { .. })
    });
    let damaged = evidence.cases.iter().filter_map(|case| {
        let words = case.damaged.clone().filter(|_| case.record.is_none())?;
        Some((case.case.id.clone(), words))
    });
    let cases: Vec<(String, String)> = ended.into_iter().chain(damaged).collect();
    let advice = retry_advice(evidence, &cases);
    let stand =
        "the other cases are valid; log.txt in the case's directory has the engine's output";
    let finding = Finding::from_cases(Id::CasesNotDone, cases)?;
    Some(finding.with_advice(format!("{stand}; {advice}")))
}

/// Says which of the cases a resumed run would repeat, by the runner's own rule.
fn retry_advice(evidence: &Evidence, cases: &[(String, String)]) -> String {
    let left = evidence.unfinished_cases();
    let again = |(id, _): &&(String, String)| left.iter().any(|case| case.case.id == *id);
    match cases.iter().filter(again).count() {
        0 => "retrying would fail the same way; not retried".to_owned(),
        n if n == cases.len() => "`kvdyno resume` tries them again".to_owned(),
        n => format!(
            "`kvdyno resume` tries {n} of them again; retrying the others would fail the same way"
        ),
    }
}

fn does_not_fit(evidence: &Evidence) -> Option<Finding> {
    let matches = |outcome: &Outcome| matches!(outcome, Outcome::DoesNotFit { .. });
    Finding::from_cases(Id::DoesNotFit, outcome_evidence(evidence, matches))
}

/// Cases whose outcome matches, with its words.
fn outcome_evidence(
    evidence: &Evidence,
    matches: impl Fn(&Outcome) -> bool,
) -> Vec<(String, String)> {
    let cases = evidence.recorded_cases().filter(|(_, record)| matches(&record.outcome));
    let words = cases.map(|(case, record)| {
        let message = record.outcome.message().unwrap_or_default();
        (case.case.id.clone(), format!("{}: {message}", case.outcome()))
    });
    words.collect()
}

fn unverified_data(evidence: &Evidence) -> Option<Finding> {
    let verified = |phase: &PhaseRecord| phase.verified.is_some();
    if phases(evidence).any(|(_, phase)| verified(phase)) {
        return None;
    }
    // A bare drive verifies itself.
    Finding::from_records(Id::NotVerified, evidence, |case, record| {
        let engine = !case.stores_nothing() && !case.is_bare_drive();
        let loads = record.phases.iter().any(|phase| phase.kind == "load");
        (engine && loads).then(|| "loaded and not verified".to_owned())
    })
}

fn partial_run(evidence: &Evidence) -> Option<Finding> {
    let left = evidence.unfinished_cases();
    let again = left.iter().filter(|case| case.record.is_some()).count();
    (!left.is_empty()).then(|| {
        let recorded = evidence.recorded_cases().count();
        let again = match again {
            0 => String::new(),
            n => format!(", {n} of them to be tried again"),
        };
        Finding::new(
            Id::RunPartial,
            format!("{recorded} of {} cases are recorded{again}", evidence.cases.len()),
        )
        .with_advice(format!(
            "`kvdyno resume {}` runs the remaining {}",
            evidence.run.id,
            left.len()
        ))
    })
}

fn phases(evidence: &Evidence) -> impl Iterator<Item = (&CaseEvidence, &PhaseRecord)> {
    evidence
        .recorded_cases()
        .flat_map(|(case, record)| record.phases.iter().map(move |p| (case, p)))
}
