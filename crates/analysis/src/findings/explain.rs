//! Where the time went, of the cases in which one thing took most of it. Like cases of an engine
//! are one finding: the first is quoted. Where threads were not told apart nothing is said: the
//! process's CPU time is no proof of what they did.

use super::{Finding, Id};
use crate::catalogue as c;
use crate::explain::{Basis, Cause, Explained};
use crate::group::Group;

/// Threads that wait a tenth of their time for a CPU have rates that are too low by as much.
const RUNQUEUE_PERCENT: f64 = 10.0;

pub(super) fn findings(groups: &[Group], explained: &[Explained]) -> Vec<Finding> {
    let kinds: [(Id, &[Cause], &str); 5] = [
        (
            Id::BoundByFlushes,
            &[Cause::Flushes],
            "a drive whose cache outlives the power needs no flush; else more writes a commit \
             (batches, several writers that share one), or class `async`, where that may be",
        ),
        (
            Id::BoundByLatency,
            &[Cause::Reads, Cause::Writes, Cause::Syncs, Cause::Device],
            "more threads keep more requests in flight; more RAM saves reads; a drive is faster \
             here by its latency, not by its IOPS",
        ),
        (
            Id::BoundByDrive,
            &[Cause::DriveFull],
            "these are figures of the drive: fewer or smaller I/Os an operation would change them",
        ),
        (
            Id::BoundByCpu,
            &[Cause::CpuUser, Cause::CpuSystem],
            "another drive would change little; `perf top` names the functions",
        ),
        (
            Id::BoundByLock,
            &[Cause::Lock],
            "more threads would not help: see what they wait for (a single writer's lock, a group \
             commit, the engine's own threads)",
        ),
    ];
    let told_apart = || explained.iter().filter(|one| one.basis == Basis::Threads);
    let mut findings = Vec::new();
    for (id, causes, advice) in kinds {
        let of = |one: &&Explained| one.cause.is_some_and(|cause| causes.contains(&cause));
        findings.extend(each_engine(id, groups, told_apart().filter(of), advice));
    }
    let wanting = told_apart().filter(|one| {
        one.metrics.value(&c::TIME_RUNQUEUE).is_some_and(|percent| percent >= RUNQUEUE_PERCENT)
    });
    findings.extend(each_engine(
        Id::CpuWanting,
        groups,
        wanting,
        "rates are too low and tails too long by as much: fewer threads, more CPUs, or nothing \
         else on the machine",
    ));
    findings
}

/// One of a kind for each engine.
fn each_engine<'e>(
    id: Id,
    groups: &[Group],
    explained: impl Iterator<Item = &'e Explained>,
    advice: &str,
) -> Vec<Finding> {
    let mut engines: Vec<(&str, Vec<(String, String)>)> = Vec::new();
    for one in explained {
        let Some(group) = groups.get(one.group).filter(|group| group.competes()) else { continue };
        let Some(trial) = group.trials.first() else { continue };
        let told = (trial.case.clone(), words(id, one));
        match engines.iter_mut().find(|(label, _)| *label == group.label) {
            Some((_, cases)) => cases.push(told),
            None => engines.push((&group.label, vec![told])),
        }
    }
    let findings = engines.into_iter();
    findings.filter_map(|(_, cases)| Finding::of_cases(id, cases, advice)).collect()
}

fn words(id: Id, one: &Explained) -> String {
    match (id, &one.sentence) {
        (Id::CpuWanting, _) | (_, None) => {
            let percent = one.metrics.value(&c::TIME_RUNQUEUE).unwrap_or(0.0);
            let who = one.role.as_deref().filter(|_| !one.load).unwrap_or("the load");
            format!("{who} was runnable, waiting for CPU, {percent:.0} % of the time")
        }
        (_, Some(sentence)) => sentence.clone(),
    }
}
