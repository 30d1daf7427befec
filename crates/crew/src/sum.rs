//! Merges the results of several workers in a phase into those of one: counts and times add up,
//! windows are the longest, maxima the largest.

use kvdyno_engine::{Counters, Value};
use kvdyno_record::case::{RoleResult, Verified};
use kvdyno_record::usage::ProcessUsage;

/// The usage of all processes.
pub(crate) fn usage<'u>(all: impl IntoIterator<Item = &'u ProcessUsage>) -> ProcessUsage {
    all.into_iter().cloned().reduce(|sum, one| sum.and(&one)).unwrap_or_default()
}

/// The engine's own numbers. Of one server all ranks read the same, a moment apart: where they
/// differ the largest is the last that was read of a count that grows, after the last operation of
/// all. Of engines that are in their workers they add up.
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
            // Words, and switches: the first rank's.
            (Some(first), _) => first.clone(),
            (None, _) => value,
        };
        sum.insert(name, both);
    }
    sum
}

/// Roles by name: every worker has all of them, some without a thread.
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

/// Each reports the offered rate of all: it is not added.
fn add_role(sum: &mut RoleResult, one: RoleResult) {
    // A worker without a thread of the role knows of no windows.
    sum.threads += one.threads;
    sum.window_ns = sum.window_ns.max(one.window_ns);
    sum.windows.extend(one.windows);
    sum.backlog += one.backlog;
    sum.own_ns += one.own_ns;
    sum.usage = match (sum.usage, one.usage) {
        (Some(sum), Some(one)) => Some(sum.and(&one)),
        (sum, one) => sum.or(one),
    };
    for (name, op) in one.ops {
        sum.ops.entry(name).or_default().add(&op);
    }
}

/// Samples add up; one of them has counted, or none.
pub(crate) fn verified(all: impl IntoIterator<Item = Verified>) -> Option<Verified> {
    all.into_iter().reduce(|sum, one| Verified {
        sampled: sum.sampled + one.sampled,
        hits: sum.hits + one.hits,
        wrong: sum.wrong + one.wrong,
        counted: sum.counted.or(one.counted),
        expected: sum.expected,
        audit: sum.audit.or(one.audit),
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
