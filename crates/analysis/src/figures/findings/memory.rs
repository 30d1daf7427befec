//! Whether the RAM limit was enforced and effective.

use super::finding::{Finding, Measured, measured_phases};
use super::kinds::Id;
use crate::figures::evidence::{CaseEvidence, Evidence};
use kvdyno_record::case::CaseRecord;
use kvdyno_record::host::settings::MEMORY_ABOVE;
use kvdyno_record::units::{bytes, group_digits};
use kvdyno_record::workload::{Activity, Choice};

/// With fewer lookups, the absence of device reads proves nothing.
const LOOKUPS_MIN: u64 = 1000;

/// A database this much larger than the limit cannot be read without the device.
const OUTGROWS: f64 = 1.5;

/// A database above this share of the machine's memory may be evicted even without a limit.
const NEAR_MEMORY: f64 = 0.5;

/// The most bytes read from the drive per lookup of data in memory: a page for a hundred lookups.
const MEMORY_READ_BYTES_MAX: f64 = 4096.0 / 100.0;

pub(super) const RULES: [fn(&Evidence) -> Option<Finding>; 7] = [
    missing_limit,
    ineffective_limit,
    all_cached,
    uncached_data,
    active_swap,
    active_damon,
    outer_limit,
];

fn missing_limit(evidence: &Evidence) -> Option<Finding> {
    let open = |_: &CaseEvidence, record: &CaseRecord| {
        let requested = record.ram_limit.requested_bytes?;
        // A case that never started has no limit.
        let started = record.worker.is_some() && !record.phases.is_empty();
        (record.ram_limit.enforced_by.is_none() && started).then(|| {
            let reason = record.ram_limit.reason.as_deref().unwrap_or("no reason was recorded");
            format!("a limit of {} was requested and not enforced: {reason}", bytes(requested))
        })
    };
    let advice = if evidence.run.command.iter().any(|word| word == "--no-ram-limit") {
        "--no-ram-limit switched it off: these figures are of a machine with all its RAM"
    } else if evidence.run.host_before.root {
        "`kvdyno doctor` lists what this host lacks; until then, use data much larger than the \
         machine's RAM"
    } else {
        "run as root, or in a memory cgroup of your own: `kvdyno doctor` explains how"
    };
    Some(Finding::from_records(Id::RamLimitNotHeld, evidence, open)?.with_advice(advice))
}

/// A limit has no effect on pages that another process cached: they are charged to that process.
fn ineffective_limit(evidence: &Evidence) -> Option<Finding> {
    let void = measured_phases(evidence)
        .filter(|measured_phase| !measured_phase.measures_load_generator());
    let void: Vec<_> = void
        .filter_map(|measured_phase| {
            Some((measured_phase, ineffective_limit_evidence(&measured_phase)?))
        })
        .collect();
    let evicted = void.iter().any(|(measured_phase, _)| {
        measured_phase.case.case.phases.iter().any(|phase| phase.work == Activity::Evict)
    });
    let advice = if evicted {
        "the files were evicted, so another process cached them again: find it (a backup, an \
         indexer, a scanner) and stop it"
    } else {
        "add an `evict` phase before the measured one, so that the data is cached inside the limit"
    };
    let void = void.into_iter().map(|(measured_phase, words)| (measured_phase.id(), words));
    Some(Finding::from_cases(Id::RamLimitNotReal, void)?.with_advice(advice))
}

fn ineffective_limit_evidence(measured_phase: &Measured<'_>) -> Option<String> {
    measured_phase.record.ram_limit.enforced_by.as_ref()?;
    let limit = measured_phase.record.ram_limit.requested_bytes?;
    let resident =
        measured_phase.phase.resident_after.as_ref().map(|residency| residency.resident_bytes);
    if let Some(resident) = resident.filter(|bytes| *bytes as f64 > limit as f64 * 1.1) {
        let (resident, limit) = (bytes(resident), bytes(limit));
        return Some(format!("{resident} of the database are cached under a limit of {limit}"));
    }
    let allocated = measured_phase.phase.database?.used_bytes;
    let outgrows = allocated as f64 > limit as f64 * OUTGROWS;
    let unread = measured_phase.device_reads()? == 0 && measured_phase.lookups() >= LOOKUPS_MIN;
    (outgrows && unread && reads_uniformly(measured_phase)).then(|| {
        format!(
            "{} lookups in {} under a limit of {} without one device read",
            group_digits(measured_phase.lookups()),
            bytes(allocated),
            bytes(limit)
        )
    })
}

/// Whether keys are uniform: skewed reads can be served from memory alone.
fn reads_uniformly(measured_phase: &Measured<'_>) -> bool {
    measured_phase.mix.entries().any(|mix| !mix.op.writes() && mix.keys == Choice::Uniform)
}

fn all_cached(evidence: &Evidence) -> Option<Finding> {
    let unread = |measured_phase: &Measured<'_>| {
        let limited = measured_phase.record.ram_limit.enforced_by.is_some();
        let unread =
            measured_phase.device_reads() == Some(0) && measured_phase.lookups() >= LOOKUPS_MIN;
        (!limited && unread)
            .then(|| format!("{} lookups, no device read", group_digits(measured_phase.lookups())))
    };
    let has_limit = evidence.cases.iter().any(|case| case.case.ram_limit_bytes.is_some());
    let advice = if has_limit {
        "these are figures of memory: the suite's RAM limit was not enforced"
    } else {
        "these are figures of memory: a RAM limit below the data would measure the drive"
    };
    Some(Finding::from_phases(Id::DataAllCached, evidence, unread)?.with_advice(advice))
}

/// Finds data that was warmed, but that the engine's own processes read from the drive. The
/// device's counters would include other processes.
fn uncached_data(evidence: &Evidence) -> Option<Finding> {
    let cold = |measured_phase: &Measured<'_>| {
        let mut phases = measured_phase.case.case.phases.iter();
        let (read, lookups) = (measured_phase.process_reads_bytes()?, measured_phase.lookups());
        let is_warmed = phases.any(|phase| phase.work == Activity::Warm);
        let each = read / lookups.max(1) as f64;
        (is_warmed && lookups >= LOOKUPS_MIN && each > MEMORY_READ_BYTES_MAX).then(|| {
            let [each, lookups] = [bytes(each.round() as u64), group_digits(lookups)];
            format!("the engine read {each} from the drive for each of {lookups} lookups")
        })
    };
    Finding::from_phases(Id::DataNotInMemory, evidence, cold)
}

fn active_swap(evidence: &Evidence) -> Option<Finding> {
    let swap = evidence.run.host_before.machine.swap_bytes;
    let limited =
        evidence.recorded_cases().any(|(_, record)| record.ram_limit.enforced_by.is_some());
    (swap > 0 && limited).then(|| {
        Finding::new(Id::SwapOn, format!("{} of swap are on while RAM is limited", bytes(swap)))
    })
}

fn active_damon(evidence: &Evidence) -> Option<Finding> {
    let host = &evidence.run.host_before;
    let switch = host.damon_switch()?;
    let memory = host.machine.memory_bytes as f64;
    let touched = |measured_phase: &Measured<'_>| {
        let limited = measured_phase.record.ram_limit.enforced_by.is_some();
        let allocated = measured_phase.phase.database.map_or(0, |size| size.used_bytes);
        let large = allocated as f64 >= memory * NEAR_MEMORY;
        let under = match measured_phase.record.ram_limit.requested_bytes.filter(|_| limited) {
            Some(limit) => format!("under a limit of {}", bytes(limit)),
            None if large => format!("with a database of {}", bytes(allocated)),
            None => return None,
        };
        Some(format!("DAMON evicts memory that was not used for a while, {under}"))
    };
    let advice =
        format!("the drive may see more reads than the RAM limit explains: `echo off > {switch}`");
    Some(Finding::from_phases(Id::DamonOn, evidence, touched)?.with_advice(advice))
}

/// Reports a container's limit, which acts as a RAM limit that the suite does not set.
fn outer_limit(evidence: &Evidence) -> Option<Finding> {
    let host = &evidence.run.host_before;
    let (limit, group) = host.settings.get(MEMORY_ABOVE)?.split_once(" on ")?;
    let limit = limit.parse().ok().filter(|limit| *limit < host.machine.memory_bytes)?;
    let open = evidence.recorded_cases().any(|(_, record)| record.ram_limit.enforced_by.is_none());
    open.then(|| {
        Finding::new(
            Id::MemoryLimitAbove,
            format!("{group} limits kvdyno, workers and page cache together to {}", bytes(limit)),
        )
    })
}
