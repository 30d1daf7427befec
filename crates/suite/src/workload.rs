//! Phases as typed become phases in which nothing is left open.

use super::parse::Suite;
use super::phase::{Entry, Measure, Phase, Role};
use super::read::{At, Or as _};
use super::scalar::{Count, Nanoseconds, Several, Switch, Threads};
use super::sizing::scaled_operations;
use kvdyno_record::engine::Capabilities;
use kvdyno_record::workload as plan;
use plan::{Activity, Choice, Ends, LoadOrder, Mix, MixEntry, Op};
use std::collections::HashSet;

const SECOND: u64 = 1_000_000_000;
/// `count = "auto"` scans no more than this: it would take longer than the measuring.
const COUNT_MOST_BYTES: f64 = (16_u64 << 30) as f64;

/// What phases depend on beside the suite.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms<'a> {
    pub(super) abilities: &'a Capabilities,
    /// The swept number of threads.
    pub(super) threads: Option<u32>,
    pub(super) user_bytes: f64,
    /// Of a record in the mean, key and value.
    pub(super) record_bytes: f64,
}

/// All phases of a case that makes its own database.
pub(super) fn phases(suite: &Suite, terms: Terms<'_>) -> Vec<plan::Phase> {
    let typed = &suite.typed.phase;
    let mut names = Names::taken_by(typed);
    let mut phases = Vec::new();
    for phase in typed {
        let given = phase.name().map(|name| name.0.clone());
        if let Phase::Measure(measure) = &phase.value {
            let (warmup, mix) = mixes(suite, measure, terms);
            if let Some(warmup) = warmup {
                let base = given.as_ref().map_or("warmup".to_owned(), |n| format!("{n}-warmup"));
                phases
                    .push(plan::Phase { name: names.free(&base), work: Activity::Warmup(warmup) });
            }
            let name = given.unwrap_or_else(|| names.free("measure"));
            phases.push(plan::Phase { name, work: Activity::Measure(mix) });
            continue;
        }
        let name = given.unwrap_or_else(|| names.free(phase.kind()));
        phases.push(plan::Phase { name, work: work(&phase.value, terms) });
    }
    phases
}

/// How many phases at the front make and check the database.
pub(super) fn making(phases: &[plan::Phase]) -> usize {
    let makes = |phase: &&plan::Phase| {
        matches!(phase.work, Activity::Load(_) | Activity::Settle { .. } | Activity::Verify { .. })
    };
    phases.iter().take_while(makes).count()
}

/// The most threads that are at work at the same time.
pub(super) fn sessions(phases: &[plan::Phase]) -> u32 {
    let threads = |phase: &plan::Phase| match &phase.work {
        Activity::Load(load) => load.threads,
        Activity::Warmup(drive) | Activity::Measure(drive) => threads(drive),
        Activity::Settle { .. } | Activity::Verify { .. } | Activity::Evict => 1,
    };
    phases.iter().map(threads).max().unwrap_or(1)
}

/// The most threads that a case's worker has at one time.
pub fn threads_of(case: &kvdyno_record::plan::Case) -> u32 {
    sessions(&case.phases)
}

/// Threads of all roles.
pub(super) fn threads(drive: &Mix) -> u32 {
    drive.roles.iter().map(|role| role.threads).fold(0, u32::saturating_add)
}

fn work(phase: &Phase, terms: Terms<'_>) -> Activity {
    match phase {
        Phase::Load(load) => Activity::Load(plan::Load {
            order: load.order.given_or(LoadOrder::Sequential),
            batch: load.batch.given_or(Several(1)).0,
            threads: load.threads.given_or(Threads::Are(1)).at(terms.threads),
        }),
        Phase::Settle(settle) => {
            Activity::Settle { limit_ns: settle.limit.given_or(Nanoseconds(300 * SECOND)).0 }
        }
        Phase::Verify(verify) => Activity::Verify {
            samples: verify.samples.given_or(Count(10_000)).0,
            count: match verify.count.given_or(Switch::Auto) {
                Switch::Is(count) => count,
                // An engine that stores nothing has nothing to count.
                Switch::Auto => {
                    terms.abilities.scan_forward
                        && !terms.abilities.measures_the_harness
                        && terms.user_bytes <= COUNT_MOST_BYTES
                }
            },
        },
        // A measure phase has been dealt with by the caller, and an evict has nothing to say.
        Phase::Evict(_) | Phase::Measure(_) => Activity::Evict,
    }
}

/// The warmup, where there is one, and the measured work.
fn mixes(suite: &Suite, measure: &Measure, terms: Terms<'_>) -> (Option<Mix>, Mix) {
    let roles: Vec<_> = measure.role.iter().map(|role| resolve_role(role, terms)).collect();
    let warmup = measure.warmup.as_ref().map(|&At { value: Nanoseconds(ns), .. }| Mix {
        roles: roles.clone(),
        ends: Ends { duration_ns: Some(ns), operations: None },
    });
    let ends = Ends {
        duration_ns: measure.duration.as_ref().map(|duration| duration.0),
        operations: measure.operations.as_ref().map(|count| scaled_operations(suite, count.value)),
    };
    (warmup, Mix { roles, ends })
}

fn resolve_role(role: &Role, terms: Terms<'_>) -> plan::Role {
    let keys = role.keys.as_ref().map_or(Choice::Uniform, |keys| keys.value.clone());
    let entry = |entry: &At<Entry>| {
        let keys = match (&entry.op, &entry.keys) {
            // An insert takes the next number: the same text in every plan.
            (Op::Insert, _) => Choice::Uniform,
            (_, Some(keys)) => keys.value.clone(),
            (_, None) => keys.clone(),
        };
        MixEntry { op: entry.op.clone(), weight: entry.weight.given_or(1.0), keys }
    };
    let mix: Vec<MixEntry> = role.mix.iter().map(entry).collect();
    let operation_bytes = written_by(&mix) * terms.record_bytes;
    plan::Role {
        name: role.name.0.clone(),
        threads: role.threads.given_or(Threads::Are(1)).at(terms.threads),
        mix,
        rate: role.rate.as_ref().map(|rate| rate.resolve(operation_bytes)),
        depth: role.depth.as_ref().map(|depth| depth.0),
    }
}

/// Records that an operation of the mix writes, in the mean.
fn written_by(mix: &[MixEntry]) -> f64 {
    let records = |op: &Op| match op {
        Op::Batch { writes } => f64::from(*writes),
        op => f64::from(u8::from(op.writes())),
    };
    let written: f64 = mix.iter().map(|entry| entry.weight * records(&entry.op)).sum();
    written / mix.iter().map(|entry| entry.weight).sum::<f64>()
}

/// Phase names: those given, and those made up beside them.
struct Names(HashSet<String>);

impl Names {
    fn taken_by(phases: &[At<Phase>]) -> Self {
        Self(phases.iter().filter_map(|phase| phase.name()).map(|name| name.0.clone()).collect())
    }

    /// `base`, or `base-2`, `base-3`, ... where that is taken.
    fn free(&mut self, base: &str) -> String {
        let mut name = base.to_owned();
        let mut number = 1;
        while !self.0.insert(name.clone()) {
            number += 1;
            name = format!("{base}-{number}");
        }
        name
    }
}
