//! Merges the results of several workers in a phase into those of one: counts and times add up,
//! windows are the longest, maxima the largest.

use kvdyno_engine::{Counters, Value};
use kvdyno_record::case::{RoleResult, Verified};
use kvdyno_record::usage::ProcessUsage;

/// The usage of all processes.
pub(crate) fn usage<'u>(all: impl IntoIterator<Item = &'u ProcessUsage>) -> ProcessUsage {
    all.into_iter().cloned().reduce(|sum, one| sum.and(&one)).unwrap_or_default()
}

/// Merges the engine's own numbers. Ranks with one server read the same numbers, a moment apart. Of
/// two different ones, the larger is taken: a count that grows was read last there, after the last
/// operation of all. Numbers of engines inside their workers add up.
pub(crate) fn counters(all: impl IntoIterator<Item = Counters>, one_server: bool) -> Counters {
    let mut sum = Counters::new();
    for (name, value) in all.into_iter().flatten() {
        let both = match (sum.get(&name), &value) {
            (Some(Value::Integer(one)), Value::Integer(other)) if one_server => {
                Value::Integer(*one.max(other))
            }
            (Some(Value::Integer(one)), Value::Integer(other)) => {
                Value::Integer(one.saturating_add(*other))
            }
            (Some(Value::Number(one)), Value::Number(other)) if one_server => {
                Value::Number(one.max(*other))
            }
            (Some(Value::Number(one)), Value::Number(other)) => Value::Number(one + other),
            // Texts and switches are the first rank's.
            (Some(first), _) => first.clone(),
            (None, _) => value,
        };
        sum.insert(name, both);
    }
    sum
}

/// Merges roles by name. Every worker has all roles, some without a thread.
pub(crate) fn roles(all: impl IntoIterator<Item = Vec<RoleResult>>) -> Vec<RoleResult> {
    let mut sums: Vec<RoleResult> = Vec::new();
    for role in all.into_iter().flatten() {
        match sums.iter_mut().find(|sum| sum.role == role.role) {
            Some(sum) => add_role(sum, role),
            None => sums.push(role),
        }
    }
    sums
}

/// Adds a worker's role to a sum. Each worker reports the offered rate of all: it is not added.
fn add_role(sum: &mut RoleResult, role: RoleResult) {
    // The windows of some threads cannot divide the operations of all: a count may end the phase
    // for one worker, and time for another. A worker without a thread of the role has no windows.
    let has_windows = |role: &RoleResult| role.windows.len() == role.threads as usize;
    if has_windows(sum) && has_windows(&role) {
        sum.windows.extend(role.windows);
    } else {
        sum.windows.clear();
    }
    sum.threads += role.threads;
    sum.window_ns = sum.window_ns.max(role.window_ns);
    sum.backlog += role.backlog;
    sum.own_ns += role.own_ns;
    sum.usage = match (sum.usage, role.usage) {
        (Some(sum), Some(usage)) => Some(sum.and(&usage)),
        (sum, usage) => sum.or(usage),
    };
    for (name, op) in role.ops {
        sum.ops.entry(name).or_default().add(&op);
    }
}

/// Adds up samples; at most one of the workers has counted.
pub(crate) fn verified(all: impl IntoIterator<Item = Verified>) -> Option<Verified> {
    all.into_iter().reduce(|sum, part| Verified {
        sampled: sum.sampled + part.sampled,
        hits: sum.hits + part.hits,
        wrong: sum.wrong + part.wrong,
        counted: sum.counted.or(part.counted),
        expected: sum.expected,
        audit: sum.audit.or(part.audit),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use kvdyno_record::case::{OpResult, ThreadWindow};
    use std::collections::BTreeMap;

    fn role(threads: u32, window_ns: u64, count: u64) -> RoleResult {
        let op = OpResult { count, items: count, service_ns_max: window_ns, ..OpResult::default() };
        RoleResult {
            role: "readers".to_owned(),
            threads,
            window_ns,
            windows: vec![ThreadWindow { window_ns, operations: count }; threads as usize],
            offered_per_s: Some(500.0),
            backlog: 3,
            own_ns: 7,
            usage: None,
            ops: BTreeMap::from([("get".to_owned(), op)]),
        }
    }

    #[test]
    fn counts_add_up_and_windows_are_the_longest() {
        let all = roles([vec![role(2, 100, 10)], vec![role(0, 0, 0)], vec![role(1, 120, 4)]]);
        let [sum] = all.as_slice() else { panic!("{all:?}") };
        assert_eq!((sum.threads, sum.window_ns, sum.windows.len()), (3, 120, 3));
        assert_eq!((sum.offered_per_s, sum.backlog, sum.own_ns), (Some(500.0), 9, 21));
        assert_eq!((sum.ops["get"].count, sum.ops["get"].service_ns_max), (14, 120));
    }

    /// Regression test: the windows of one worker's threads divided the operations of all.
    #[test]
    fn windows_of_some_threads_are_none() {
        let by_count = || RoleResult { windows: Vec::new(), ..role(2, 90, 10) };
        let by_time = || role(1, 120, 4);
        for all in [[by_time(), by_count(), by_time()], [by_count(), by_time(), by_count()]] {
            let sums = roles(all.map(|role| vec![role]));
            assert_eq!((sums.len(), sums[0].windows.len()), (1, 0));
        }
    }

    #[test]
    fn one_servers_numbers_are_the_last_that_were_read() {
        let read = |gets: u64, hz: f64| {
            Counters::from([
                ("gets".to_owned(), Value::Integer(gets)),
                ("hz".to_owned(), Value::Number(hz)),
                ("mode".to_owned(), Value::from("standalone")),
            ])
        };
        let all = || [read(10, 1.5), read(14, 0.5)];
        assert_eq!(counters(all(), true), read(14, 1.5));
        assert_eq!(counters(all(), false), read(24, 2.0));
    }
}
