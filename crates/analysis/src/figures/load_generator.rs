//! The load generator's own cost on the machine of a run.

use super::catalogue as c;
use super::evidence::Evidence;
use super::group::Group;
use schemars::JsonSchema;
use serde::Serialize;

/// The load generator's own cost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LoadGenerator {
    /// A thread's time per operation on an engine that does nothing.
    pub ns_per_op: f64,
    /// Threads it was measured with.
    pub threads: u32,
    /// Whether it was measured before the run, with nothing else running. Otherwise it is from a
    /// case of the null engine, whose other roles ran at the same time.
    pub isolated: bool,
    /// The longest operation in the null engine's roles without a rate or pauses: the machine's own
    /// effect on a tail.
    pub max_ns: Option<f64>,
}

impl LoadGenerator {
    /// The cost as measured before the run; else from the null engine's closed loop with the fewest
    /// threads.
    pub(crate) fn from_groups(evidence: &Evidence, groups: &[Group]) -> Option<Self> {
        let roles = groups
            .iter()
            .filter(|group| group.stores_nothing)
            .flat_map(|group| group.runs.iter().flat_map(|run| &run.roles))
            .filter(|role| !role.paced);
        let roles: Vec<_> = roles.collect();
        let max_ns =
            roles.iter().filter_map(|role| role.metrics.value(&c::SERVICE_MAX)).reduce(f64::max);
        let role = roles.iter().min_by_key(|role| role.threads);
        if let Some(ns_per_op) = evidence.run.load_generator_ns_per_op {
            return Some(Self { ns_per_op, threads: 1, isolated: true, max_ns });
        }
        let per_s = role?.metrics.value(&c::OPS_PER_S).filter(|per_s| *per_s > 0.0)?;
        let threads = role?.threads;
        let ns_per_op = f64::from(threads) * 1e9 / per_s;
        Some(Self { ns_per_op, threads, isolated: false, max_ns })
    }
}
