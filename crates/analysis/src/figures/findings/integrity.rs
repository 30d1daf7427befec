//! Whether the engines returned the data they were given, and whether the cases finished.

use super::finding::{Finding, measured};
use super::kinds::Id;
use crate::figures::evidence::{CaseEvidence, Evidence, outcome_words};
use kvdyno_record::case::{CaseRecord, OpResult, Outcome, PhaseRecord};
use kvdyno_record::engine::ErrorClass;
use kvdyno_record::expected_hits;
use kvdyno_record::units::{self, grouped};

pub(super) fn findings(evidence: &Evidence) -> Vec<Finding> {
    let all = [
        Finding::of_cases(Id::KeysMissing, missing(evidence)),
        Finding::of_cases(Id::ValuesWrong, over_ops(evidence, wrong)),
        Finding::of_cases(Id::VerifyFailed, verify_failed(evidence)),
        Finding::of_records(Id::DataDamaged, evidence, damaged),
        Finding::of_cases(Id::OperationsFailed, over_ops(evidence, failed)),
        open_loop_behind(evidence),
        cases_not_done(evidence),
        failed_before(evidence),
        does_not_fit(evidence),
        not_verified(evidence),
        partial(evidence),
    ];
    all.into_iter().flatten().collect()
}

/// A record that changed after the seal is no longer what was measured.
pub(super) fn altered(files: &[String]) -> Option<Finding> {
    let first = files.first()?;
    let more = match files.len() - 1 {
        0 => String::new(),
        more => format!(" and {} more", units::counted(more, "file")),
    };
    Some(Finding::of_run(
        Id::RecordAltered,
        format!("the record was altered since the run ended: {first}{more}"),
    ))
}

/// Earlier attempts of a case that failed, which no table shows. Interrupted attempts do not count.
fn failed_before(evidence: &Evidence) -> Option<Finding> {
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
    Finding::of_cases(Id::CaseRetried, cases)
}

/// Missing keys that must exist, or hits on keys that must not.
fn missing(evidence: &Evidence) -> Vec<(String, String)> {
    let of_phase = |(case, phase): (&CaseEvidence, &PhaseRecord)| {
        let roles = phase.roles.iter().filter_map(|role| {
            let mistake = expected_hits::mistake_of(&case.case.phases, &phase.name, role)?;
            let words = format!("phase {}, {}: {mistake}", phase.name, role.role);
            Some((case.case.id.clone(), words))
        });
        roles.collect::<Vec<_>>()
    };
    phases(evidence).flat_map(of_phase).collect()
}

fn wrong(op: &OpResult) -> Option<String> {
    let words = || format!("{} values had the wrong key, length or checksum", grouped(op.wrong));
    (op.wrong > 0).then(words)
}

fn failed(op: &OpResult) -> Option<String> {
    let count: u64 = op.errors.values().sum();
    let classes: Vec<String> =
        op.errors.iter().map(|(class, n)| format!("{class:?} {n}").to_lowercase()).collect();
    let words = || {
        let all = count + op.count;
        format!("{} of {} operations failed ({})", grouped(count), grouped(all), classes.join(", "))
    };
    (count > 0).then(words)
}

/// What `look` reports about any operation of any phase.
fn over_ops(
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

fn verify_failed(evidence: &Evidence) -> Vec<(String, String)> {
    let each = phases(evidence).filter_map(|(case, phase)| {
        let (planned, records) = (&case.case.phases, case.case.data.records);
        let records_left = expected_hits::left_before(planned, &phase.name, records);
        Some((case.case.id.clone(), phase.verified.as_ref()?.mistake(records_left)?))
    });
    each.collect()
}

fn damaged(_: &CaseEvidence, record: &CaseRecord) -> Option<String> {
    match &record.outcome {
        Outcome::Failed { class: ErrorClass::Corrupt, message } => Some(message.clone()),
        _ => None,
    }
}

/// A few operations may be due at the end: one for each thread, and one in a hundred, do not count;
/// a search uses the same rule.
fn open_loop_behind(evidence: &Evidence) -> Option<Finding> {
    let behind = measured(evidence).flat_map(|measured| {
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
                    grouped(role.backlog)
                );
                (measured.id(), words)
            })
        });
        roles.collect::<Vec<_>>()
    });
    Finding::of_cases(Id::OpenLoopBehind, behind)
}

fn cases_not_done(evidence: &Evidence) -> Option<Finding> {
    let ended =
        ended(evidence, |outcome| !matches!(outcome, Outcome::Done | Outcome::DoesNotFit { .. }));
    let damaged = evidence.cases.iter().filter_map(|case| {
        let words = case.damaged.clone().filter(|_| case.record.is_none())?;
        Some((case.case.id.clone(), words))
    });
    let cases: Vec<(String, String)> = ended.into_iter().chain(damaged).collect();
    let advice = retry_advice(evidence, &cases);
    let stand = "the other cases are valid; log.txt in the case's folder has the engine's output";
    let finding = Finding::of_cases(Id::CasesNotDone, cases)?;
    Some(finding.with_advice(format!("{stand}; {advice}")))
}

/// Which of the cases a resumed run would repeat, by the runner's own rule.
fn retry_advice(evidence: &Evidence, cases: &[(String, String)]) -> String {
    let left = evidence.left();
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
    Finding::of_cases(Id::DoesNotFit, ended(evidence, matches))
}

/// Cases whose outcome matches, with its words.
fn ended(evidence: &Evidence, matches: impl Fn(&Outcome) -> bool) -> Vec<(String, String)> {
    let cases = evidence.recorded().filter(|(_, record)| matches(&record.outcome));
    let words = cases.map(|(case, record)| {
        let message = record.outcome.message().unwrap_or_default();
        (case.case.id.clone(), format!("{}: {message}", case.outcome()))
    });
    words.collect()
}

fn not_verified(evidence: &Evidence) -> Option<Finding> {
    let verified = |phase: &PhaseRecord| phase.verified.is_some();
    if phases(evidence).any(|(_, phase)| verified(phase)) {
        return None;
    }
    // A bare drive verifies itself.
    Finding::of_records(Id::NotVerified, evidence, |case, record| {
        let engine = !case.stores_nothing() && !case.is_bare_drive();
        let loads = record.phases.iter().any(|phase| phase.kind == "load");
        (engine && loads).then(|| "loaded and not verified".to_owned())
    })
}

fn partial(evidence: &Evidence) -> Option<Finding> {
    let left = evidence.left();
    let again = left.iter().filter(|case| case.record.is_some()).count();
    (!left.is_empty()).then(|| {
        let recorded = evidence.recorded().count();
        let again = match again {
            0 => String::new(),
            n => format!(", {n} of them to be tried again"),
        };
        Finding::of_run(
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
    evidence.recorded().flat_map(|(case, record)| record.phases.iter().map(move |p| (case, p)))
}
