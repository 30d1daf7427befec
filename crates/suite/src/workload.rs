//! Phases as typed become phases in which nothing is left open.

use super::parse::Suite;
use super::phase::{Entry, Load, Measure, Operation, Phase, Role, Verify};
use super::read::At;
use super::scalar::{Nanoseconds, Switch, Threads};
use super::sizing::scaled_operations;
use kvdyno_record::engine::Capabilities;
use kvdyno_record::workload as plan;
use plan::{Choice, Drive, Ends, LoadOrder, MixEntry, Op, Schedule, Size, Work};
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
}

/// All phases of a case that makes its own database.
pub(super) fn phases(suite: &Suite, terms: Terms<'_>) -> Vec<plan::Phase> {
    let typed = &suite.typed.phase;
    let mut names = Names::taken_by(typed);
    let mut phases = Vec::new();
    for phase in typed {
        let given = phase.name().map(|name| name.0.clone());
        if let Phase::Measure(measure) = &phase.value {
            let (warmup, drive) = drives(suite, measure, terms);
            if let Some(warmup) = warmup {
                let base = given.as_ref().map_or("warmup".to_owned(), |n| format!("{n}-warmup"));
                phases.push(plan::Phase { name: names.free(&base), work: Work::Warmup(warmup) });
            }
            let name = given.unwrap_or_else(|| names.free("measure"));
            phases.push(plan::Phase { name, work: Work::Measure(drive) });
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
        matches!(phase.work, Work::Load(_) | Work::Settle { .. } | Work::Verify { .. })
    };
    phases.iter().take_while(makes).count()
}

/// The most threads that are at work at the same time.
pub(super) fn sessions(phases: &[plan::Phase]) -> u32 {
    let threads = |phase: &plan::Phase| match &phase.work {
        Work::Load(load) => load.threads,
        Work::Warmup(drive) | Work::Measure(drive) => threads(drive),
        Work::Settle { .. } | Work::Verify { .. } | Work::Evict => 1,
    };
    phases.iter().map(threads).max().unwrap_or(1)
}

/// The most threads that a case's worker has at one time.
pub fn threads_of(case: &kvdyno_record::plan::Case) -> u32 {
    sessions(&case.phases)
}

/// Threads of all roles.
pub(super) fn threads(drive: &Drive) -> u32 {
    drive.roles.iter().map(|role| role.threads).fold(0, u32::saturating_add)
}

fn work(phase: &Phase, terms: Terms<'_>) -> Work {
    match phase {
        Phase::Load(load) => Work::Load(resolve_load(load, terms)),
        Phase::Settle(settle) => {
            Work::Settle { limit_ns: settle.limit.as_ref().map_or(300 * SECOND, |limit| limit.0) }
        }
        Phase::Verify(verify) => resolve_verify(verify, terms),
        // A measure phase has been dealt with by the caller, and an evict has nothing to say.
        Phase::Evict(_) | Phase::Measure(_) => Work::Evict,
    }
}

fn resolve_load(load: &Load, terms: Terms<'_>) -> plan::Load {
    plan::Load {
        order: load.order.as_ref().map_or(LoadOrder::Sequential, |order| order.value),
        batch: load.batch.as_ref().map_or(1, |batch| batch.0),
        threads: resolve_threads(load.threads.as_ref(), terms),
    }
}

fn resolve_verify(verify: &Verify, terms: Terms<'_>) -> Work {
    let abilities = terms.abilities;
    let count = match verify.count.as_ref().map_or(Switch::Auto, |count| count.value) {
        Switch::Is(count) => count,
        // An engine that stores nothing has nothing to count.
        Switch::Auto => {
            abilities.scan_forward
                && !abilities.measures_the_harness
                && terms.user_bytes <= COUNT_MOST_BYTES
        }
    };
    Work::Verify { samples: verify.samples.as_ref().map_or(10_000, |samples| samples.0), count }
}

/// The warmup, where there is one, and the measured work.
fn drives(suite: &Suite, measure: &Measure, terms: Terms<'_>) -> (Option<Drive>, Drive) {
    let roles: Vec<_> = measure.role.iter().map(|role| resolve_role(role, terms)).collect();
    let warmup = measure.warmup.as_ref().map(|&At { value: Nanoseconds(ns), .. }| Drive {
        roles: roles.clone(),
        ends: Ends { duration_ns: Some(ns), operations: None },
    });
    let ends = Ends {
        duration_ns: measure.duration.as_ref().map(|duration| duration.0),
        operations: measure.operations.as_ref().map(|count| scaled_operations(suite, count.value)),
    };
    (warmup, Drive { roles, ends })
}

fn resolve_role(role: &Role, terms: Terms<'_>) -> plan::Role {
    let keys = role.keys.as_ref().map_or(Choice::Uniform, |keys| keys.value.clone());
    let rate = role.rate.as_ref().map(|rate| plan::Rate {
        operations_per_s: rate.per_second.0 as f64,
        schedule: rate.schedule.as_ref().map_or(Schedule::Poisson, |schedule| schedule.value),
    });
    plan::Role {
        name: role.name.0.clone(),
        threads: resolve_threads(role.threads.as_ref(), terms),
        mix: role.mix.iter().map(|entry| resolve_entry(entry, &keys)).collect(),
        rate,
        depth: role.depth.as_ref().map(|depth| depth.0),
    }
}

fn resolve_threads(threads: Option<&At<Threads>>, terms: Terms<'_>) -> u32 {
    match threads.map_or(Threads::Are(1), |threads| threads.value) {
        Threads::Are(threads) => threads,
        // The first gate refuses a sweep without numbers.
        Threads::Sweep => terms.threads.unwrap_or(1),
    }
}

fn resolve_entry(entry: &Entry, keys_of_role: &Choice) -> MixEntry {
    let keys = match entry.op {
        // An insert takes the next number: the same text in every plan.
        Operation::Insert => Choice::Uniform,
        _ => entry.keys.as_ref().map_or_else(|| keys_of_role.clone(), |keys| keys.value.clone()),
    };
    let op = match &entry.op {
        Operation::Get => Op::Get,
        Operation::Insert => Op::Insert,
        Operation::Update => Op::Update,
        Operation::Delete => Op::Delete,
        Operation::Scan { reverse, length } => Op::Scan {
            reverse: reverse.as_ref().is_some_and(|reverse| reverse.value),
            length: length.as_ref().map_or(Size::Fixed { bytes: 100 }, |length| length.0.clone()),
        },
        Operation::Multiget { count } => {
            Op::Multiget { keys: count.as_ref().map_or(10, |count| count.0) }
        }
        Operation::Rmw => Op::ReadModifyWrite,
        Operation::Batch { count } => {
            Op::Batch { writes: count.as_ref().map_or(10, |count| count.0) }
        }
    };
    MixEntry { op, weight: entry.weight.as_ref().map_or(1.0, |weight| weight.value), keys }
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
