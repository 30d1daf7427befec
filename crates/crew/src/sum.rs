//! What several workers did in a phase, as one worker would tell it: counts and times add up,
//! windows are the longest, maxima the largest.

use kvdyno_engine::{Counters, Value};
use kvdyno_record::case::{OpResult, RoleResult, Verified};
use kvdyno_record::usage::{ProcessIo, ProcessUsage};

/// What all processes used. Their peaks of memory are added: each has its own.
pub(crate) fn usage<'u>(all: impl IntoIterator<Item = &'u ProcessUsage>) -> ProcessUsage {
    let mut all = all.into_iter();
    let first = all.next().cloned().unwrap_or_default();
    all.fold(first, |sum, one| ProcessUsage {
        user_ns: sum.user_ns + one.user_ns,
        system_ns: sum.system_ns + one.system_ns,
        voluntary_switches: sum.voluntary_switches + one.voluntary_switches,
        involuntary_switches: sum.involuntary_switches + one.involuntary_switches,
        minor_faults: sum.minor_faults + one.minor_faults,
        major_faults: sum.major_faults + one.major_faults,
        input_blocks_512: sum.input_blocks_512 + one.input_blocks_512,
        output_blocks_512: sum.output_blocks_512 + one.output_blocks_512,
        rss_peak_bytes: sum.rss_peak_bytes + one.rss_peak_bytes,
        io: sum.io.zip(one.io).map(|(sum, one)| io(&sum, &one)),
    })
}

fn io(sum: &ProcessIo, one: &ProcessIo) -> ProcessIo {
    ProcessIo {
        read_chars: sum.read_chars + one.read_chars,
        write_chars: sum.write_chars + one.write_chars,
        read_calls: sum.read_calls + one.read_calls,
        write_calls: sum.write_calls + one.write_calls,
        read_bytes: sum.read_bytes + one.read_bytes,
        write_bytes: sum.write_bytes + one.write_bytes,
        cancelled_write_bytes: sum.cancelled_write_bytes + one.cancelled_write_bytes,
    }
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
            (Some(known), _) => known.clone(),
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

/// The rate that is offered is told by each of them for all: it is not added.
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
        add_op(sum.ops.entry(name).or_default(), op);
    }
}

fn add_op(sum: &mut OpResult, one: OpResult) {
    sum.count += one.count;
    sum.found += one.found;
    sum.missing += one.missing;
    sum.wrong += one.wrong;
    sum.items += one.items;
    sum.read_bytes += one.read_bytes;
    sum.write_bytes += one.write_bytes;
    sum.service_ns += one.service_ns;
    sum.service_ns_max = sum.service_ns_max.max(one.service_ns_max);
    sum.retries += one.retries;
    for (class, count) in one.errors {
        *sum.errors.entry(class).or_default() += count;
    }
}

/// Samples add up; one of them has counted, or none.
pub(crate) fn verified(all: impl IntoIterator<Item = Verified>) -> Option<Verified> {
    all.into_iter().reduce(|sum, one| Verified {
        sampled: sum.sampled + one.sampled,
        found: sum.found + one.found,
        wrong: sum.wrong + one.wrong,
        counted: sum.counted.or(one.counted),
        expected: sum.expected,
        audit: sum.audit.or(one.audit),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use kvdyno_record::case::ThreadWindow;
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
