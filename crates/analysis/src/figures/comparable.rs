//! Which figures of two engines may be compared: the only module that decides it.
//!
//! Engines that were given equal work need not have *done* equal work: next to readers, a faster
//! writer writes more. Such readers ran under different conditions, and costs over the operations
//! of all roles are costs of different operations.

use super::catalogue as c;
use super::group::{Group, RunRow};
use super::lists::group_equal;
use super::metric::Definition;
use super::rates::window_rate;
use std::collections::BTreeMap;

/// A larger difference between the shares of an operation makes two mixes different work.
pub const MIX_DIFFERENCE_MAX: f64 = 0.1;

/// Above this ratio of the writers' rates, readers ran under different conditions.
pub const WRITERS_RATIO_MAX: f64 = 2.0;

/// Figures over the operations of all roles of a phase.
pub const PER_OPERATION: [&Definition; 13] = [
    &c::CPU_PER_OP,
    &c::CLIENT_CPU_PER_OP,
    &c::SWITCHES_PER_OP,
    &c::DEVICE_READS_PER_OP,
    &c::DEVICE_READ_BYTES_PER_OP,
    &c::DEVICE_WRITES_PER_OP,
    &c::DEVICE_WRITE_BYTES_PER_OP,
    &c::SWAP_IN_BYTES_PER_OP,
    &c::SWAP_OUT_BYTES_PER_OP,
    &c::PROCESS_INSTRUCTIONS_PER_OP,
    &c::PROCESS_CYCLES_PER_OP,
    &c::PROCESS_CACHE_MISSES_PER_OP,
    &c::PROCESS_BRANCH_MISSES_PER_OP,
];

/// Whether a figure is over the operations of all roles.
pub fn is_per_operation(figure: &str) -> bool {
    PER_OPERATION.iter().any(|definition| definition.name == figure)
}

/// Whether a figure is a size of the data that is there, however it was written.
pub(crate) fn is_size(figure: &str) -> bool {
    [&c::DATABASE_USED, &c::SPACE_AMPLIFICATION].iter().any(|size| size.name == figure)
}

/// The share of each operation in all that a phase's roles did; null: a single role, whose mix the
/// plan sets, or no operations.
pub fn mix(run: &RunRow) -> Option<BTreeMap<&str, f64>> {
    if run.roles.len() < 2 {
        return None;
    }
    let mut counts: BTreeMap<&str, f64> = BTreeMap::new();
    for role in &run.roles {
        for (op, metrics) in role.metrics_by_operation() {
            *counts.entry(op).or_default() += metrics.value(&c::OPERATIONS).unwrap_or(0.0);
        }
    }
    let all: f64 = counts.values().sum();
    (all > 0.0).then(|| counts.into_iter().map(|(op, count)| (op, count / all)).collect())
}

/// Why costs per operation of these phases may not be compared; none where they may.
pub fn describe_mix_difference(runs: &[(&str, &RunRow)]) -> Option<String> {
    let mixes: Vec<(&str, BTreeMap<&str, f64>)> =
        runs.iter().filter_map(|(label, run)| Some((*label, mix(run)?))).collect();
    let ops = mixes.iter().flat_map(|(_, mix)| mix.keys());
    let differ = |op: &&str| {
        let shares = mixes.iter().map(|(_, mix)| mix.get(op).copied().unwrap_or(0.0));
        let (low, high) =
            shares.fold((f64::MAX, f64::MIN), |(low, high), s| (low.min(s), high.max(s)));
        high - low > MIX_DIFFERENCE_MAX
    };
    ops.clone().any(differ).then(|| {
        let words: Vec<String> = mixes.iter().map(|(label, mix)| format_mix(label, mix)).collect();
        format!("per operation of different mixes: {}", words.join("; "))
    })
}

/// Why the loads of two engines are not the same work; none where they are.
pub(crate) fn describe_load_difference(base: &Group, new: &Group) -> Option<String> {
    let single = match (base.commits_singly, new.commits_singly) {
        (true, false) => &base.label,
        (false, true) => &new.label,
        _ => return None,
    };
    Some(format!("{single} has no batches: each record of its load commits by itself"))
}

/// `LMDB 84 % get, 16 % update`, the most done first.
fn format_mix(label: &str, mix: &BTreeMap<&str, f64>) -> String {
    let mut shares: Vec<(&str, f64)> = mix.iter().map(|(op, share)| (*op, *share)).collect();
    shares.sort_by(|a, b| b.1.total_cmp(&a.1));
    let shares: Vec<String> =
        shares.iter().map(|(op, share)| format!("{:.0} % {op}", 100.0 * share)).collect();
    format!("{label} {}", shares.join(", "))
}

/// Marks each measured phase whose costs per operation are of other work than its peers'.
pub(crate) fn mark_different_mixes(groups: &mut [Group]) {
    let marks: Vec<Vec<Option<String>>> = groups
        .iter()
        .map(|group| {
            (0..group.runs.len())
                .map(|index| mix_difference_from_peers(groups, group, index))
                .collect()
        })
        .collect();
    for (group, marks) in groups.iter_mut().zip(marks) {
        for (run, mark) in group.runs.iter_mut().zip(marks) {
            run.different_mix = mark;
        }
    }
}

fn mix_difference_from_peers(groups: &[Group], group: &Group, index: usize) -> Option<String> {
    if !group.competes() {
        return None;
    }
    let run = &group.runs[index];
    let competing = groups.iter().filter(|other| other.competes());
    let runs = competing.filter_map(|other| Some((other.label.as_str(), other.run(&run.phase)?)));
    let runs: Vec<(&str, &RunRow)> =
        runs.filter(|(_, other)| other.peers.engines == run.peers.engines).collect();
    describe_mix_difference(&runs)
}

/// Engines that are compared by their readers, and whose writers ran at unequal rates.
#[derive(Debug)]
pub struct UnequalWriters<'g> {
    /// The first of the groups compared.
    pub first: &'g Group,
    /// Label of the fastest, and its writes per second.
    pub fast: (&'g str, f64),
    /// The same of the slowest.
    pub slow: (&'g str, f64),
}

impl UnequalWriters<'_> {
    /// How many times as fast the fastest writers are as the slowest.
    pub fn ratio(&self) -> f64 {
        self.fast.1 / self.slow.1
    }
}

/// Every comparison of readers whose writers differ by more than [`WRITERS_RATIO_MAX`], once.
pub fn unequal_writers<'g>(groups: &'g [Group]) -> Vec<UnequalWriters<'g>> {
    let each = groups.iter().filter(|group| group.competes()).flat_map(|group| {
        group.runs.iter().filter_map(move |run| Some((group, run, writers(run)?)))
    });
    let peers = |one: &(&Group, &RunRow, f64), other: &(&Group, &RunRow, f64)| {
        one.1.peers.engines == other.1.peers.engines && one.1.phase == other.1.phase
    };
    let unequal = |set: Vec<(&'g Group, &RunRow, f64)>| {
        let slow = set.iter().min_by(|a, b| a.2.total_cmp(&b.2))?;
        let fast = set.iter().max_by(|a, b| a.2.total_cmp(&b.2))?;
        (fast.2 > slow.2 * WRITERS_RATIO_MAX).then(|| UnequalWriters {
            first: set[0].0,
            fast: (&fast.0.label, fast.2),
            slow: (&slow.0.label, slow.2),
        })
    };
    group_equal(each, peers).into_iter().filter_map(unequal).collect()
}

/// The rate of the writers without a schedule; none without such writers, or without readers.
fn writers(run: &RunRow) -> Option<f64> {
    let mut closed = run.roles.iter().filter(|role| role.does.writes && !role.open_loop).peekable();
    closed.peek()?;
    if run.roles.iter().all(|role| role.does.writes) {
        return None;
    }
    closed.map(|role| window_rate(&role.metrics)?.value).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    /// One engine writes so much that most of its operations are writes.
    fn unequal() -> Vec<Group> {
        let mut fixture = Fixture::new();
        for name in ["rocksdb_t1_r1", "rocksdb_t1_r2"] {
            fixture.case(name).op("measure", "writer", "update").count *= 40;
        }
        fixture.summary().figures.groups
    }

    fn at_one<'g>(groups: &'g [Group], label: &str) -> &'g RunRow {
        let group = groups.iter().find(|group| group.label == label && group.threads == Some(1));
        &group.unwrap().runs[0]
    }

    #[test]
    fn a_mix_is_of_all_roles() {
        let groups = Fixture::new().summary().figures.groups;
        let mix = mix(at_one(&groups, "LMDB")).unwrap();
        assert_eq!(mix.keys().copied().collect::<Vec<_>>(), ["get", "update"]);
        assert!((mix["get"] - 0.89).abs() < 0.01, "{mix:?}");
        let mut alone = at_one(&groups, "LMDB").clone();
        alone.roles.pop();
        assert_eq!(super::mix(&alone), None);
    }

    #[test]
    fn costs_of_different_mixes_are_not_compared() {
        assert_eq!(at_one(&Fixture::new().summary().figures.groups, "LMDB").different_mix, None);
        let groups = unequal();
        let why = at_one(&groups, "RocksDB").different_mix.clone().unwrap();
        assert_eq!(at_one(&groups, "LMDB").different_mix.as_ref(), Some(&why));
        assert!(
            why.starts_with("per operation of different mixes: LMDB 89 % get, 11 % upd"),
            "{why}"
        );
        assert_eq!(at_one(&groups, "null").different_mix, None);
    }

    #[test]
    fn writers_are_unequal_past_twice_the_rate() {
        assert!(unequal_writers(&Fixture::new().summary().figures.groups).is_empty());
        let groups = unequal();
        let unequal = unequal_writers(&groups);
        assert_eq!(unequal.len(), 1, "{unequal:?}");
        assert_eq!((unequal[0].fast.0, unequal[0].slow.0), ("RocksDB", "LMDB"));
        assert!((unequal[0].ratio() - 58.0).abs() < 1.0, "{}", unequal[0].ratio());
    }
}
