//! Whether the RAM limit was held, and whether it was real.

use super::finding::{Finding, Measured, measured};
use super::kinds::Id;
use crate::evidence::{CaseEvidence, Evidence};
use kvdyno_record::case::CaseRecord;
use kvdyno_record::host::settings::MEMORY_ABOVE;
use kvdyno_record::units::{bytes, grouped};
use kvdyno_record::workload::{Activity, Choice};

/// Below this many lookups, no device read proves nothing.
const LOOKUPS_MIN: u64 = 1000;

/// A database this much larger than the limit cannot be read without the device.
const OUTGROWS: f64 = 1.5;

/// A database of this share of the machine's memory may be evicted from it without a limit, too.
const NEAR_MEMORY: f64 = 0.5;

pub(super) const RULES: [fn(&Evidence) -> Option<Finding>; 6] =
    [not_held, not_real, all_cached, swap_on, damon_on, limit_above];

fn not_held(evidence: &Evidence) -> Option<Finding> {
    let open = |_: &CaseEvidence, record: &CaseRecord| {
        let requested = record.ram_limit.requested_bytes?;
        // A case that was never started has no limit to hold.
        let started = record.worker.is_some() && !record.phases.is_empty();
        (record.ram_limit.enforced_by.is_none() && started).then(|| {
            let reason = record.ram_limit.reason.as_deref().unwrap_or("no reason was recorded");
            format!("a limit of {} was asked for and not held: {reason}", bytes(requested))
        })
    };
    let advice = if evidence.run.command.iter().any(|word| word == "--no-ram-limit") {
        "it was switched off with --no-ram-limit: these figures are of a machine with all its RAM"
    } else if evidence.run.host_before.root {
        "`kvdyno doctor` says what this host lacks; until then, data much larger than the \
         machine's RAM is the honest way"
    } else {
        "run as root, or be given a memory cgroup of your own: `kvdyno doctor` says how"
    };
    Some(Finding::of_records(Id::RamLimitNotHeld, evidence, open)?.with_advice(advice))
}

/// A limit is void for pages that somebody else brought in: they are charged to him.
fn not_real(evidence: &Evidence) -> Option<Finding> {
    let void = measured(evidence).filter(|at| !at.of_load_generator());
    let void: Vec<_> = void.filter_map(|at| Some((at, outside_limit(&at)?))).collect();
    let evicted = void
        .iter()
        .any(|(at, _)| at.case.case.phases.iter().any(|phase| phase.work == Activity::Evict));
    let advice = if evicted {
        "the files were evicted, so another process brought them in: find it (a backup, an \
         indexer, a scanner) and stop it"
    } else {
        "add an `evict` phase before the measured one, so that the data is cached inside the limit"
    };
    let void = void.into_iter().map(|(at, words)| (at.id(), words));
    Some(Finding::of_cases(Id::RamLimitNotReal, void)?.with_advice(advice))
}

fn outside_limit(at: &Measured<'_>) -> Option<String> {
    at.record.ram_limit.enforced_by.as_ref()?;
    let limit = at.record.ram_limit.requested_bytes?;
    let resident = at.phase.resident_after.as_ref().map(|residency| residency.resident_bytes);
    if let Some(resident) = resident.filter(|bytes| *bytes as f64 > limit as f64 * 1.1) {
        let (resident, limit) = (bytes(resident), bytes(limit));
        return Some(format!("{resident} of the database are cached under a limit of {limit}"));
    }
    let allocated = at.phase.database?.allocated_bytes;
    let outgrows = allocated as f64 > limit as f64 * OUTGROWS;
    let unread = at.device_reads()? == 0 && at.lookups() >= LOOKUPS_MIN;
    (outgrows && unread && reads_uniformly(at)).then(|| {
        format!(
            "{} lookups in {} under a limit of {} without one device read",
            grouped(at.lookups()),
            bytes(allocated),
            bytes(limit)
        )
    })
}

/// Skewed reads can live in memory alone.
fn reads_uniformly(at: &Measured<'_>) -> bool {
    at.mix.entries().any(|mix| !mix.op.writes() && mix.keys == Choice::Uniform)
}

fn all_cached(evidence: &Evidence) -> Option<Finding> {
    let unread = |at: &Measured<'_>| {
        let limited = at.record.ram_limit.enforced_by.is_some();
        let unread = at.device_reads() == Some(0) && at.lookups() >= LOOKUPS_MIN;
        (!limited && unread).then(|| format!("{} lookups, no device read", grouped(at.lookups())))
    };
    let asked = evidence.cases.iter().any(|case| case.case.ram_limit_bytes.is_some());
    let advice = if asked {
        "these are figures of memory: the RAM limit of the suite was not held"
    } else {
        "these are figures of memory: a RAM limit below the data would measure the drive"
    };
    Some(Finding::of_phases(Id::DataAllCached, evidence, unread)?.with_advice(advice))
}

fn swap_on(evidence: &Evidence) -> Option<Finding> {
    let swap = evidence.run.host_before.machine.swap_bytes;
    let limited = evidence.recorded().any(|(_, record)| record.ram_limit.enforced_by.is_some());
    (swap > 0 && limited).then(|| {
        Finding::of_run(Id::SwapOn, format!("{} of swap are on while RAM is limited", bytes(swap)))
    })
}

fn damon_on(evidence: &Evidence) -> Option<Finding> {
    let host = &evidence.run.host_before;
    let switch = host.damon_switch()?;
    let memory = host.machine.memory_bytes as f64;
    let touched = |at: &Measured<'_>| {
        let limited = at.record.ram_limit.enforced_by.is_some();
        let allocated = at.phase.database.map_or(0, |size| size.allocated_bytes);
        let large = allocated as f64 >= memory * NEAR_MEMORY;
        let under = match at.record.ram_limit.requested_bytes.filter(|_| limited) {
            Some(limit) => format!("under a limit of {}", bytes(limit)),
            None if large => format!("with a database of {}", bytes(allocated)),
            None => return None,
        };
        Some(format!("DAMON evicts what was not touched for a while, {under}"))
    };
    let advice = format!(
        "more may be read from the drive than the RAM limit explains: `echo off > {switch}`"
    );
    Some(Finding::of_phases(Id::DamonOn, evidence, touched)?.with_advice(advice))
}

/// A container's limit is a RAM limit that no suite asked for.
fn limit_above(evidence: &Evidence) -> Option<Finding> {
    let host = &evidence.run.host_before;
    let (limit, group) = host.settings.get(MEMORY_ABOVE)?.split_once(" on ")?;
    let limit = limit.parse().ok().filter(|limit| *limit < host.machine.memory_bytes)?;
    let open = evidence.recorded().any(|(_, record)| record.ram_limit.enforced_by.is_none());
    open.then(|| {
        Finding::of_run(
            Id::MemoryLimitAbove,
            format!("{group} limits program, workers and page cache together to {}", bytes(limit)),
        )
    })
}
