//! How far an engine is from the bare drive: its I/Os a second against what the drive gives as many
//! in flight, and what keeps it from more.
//!
//! Both sides of a share are the device's own counters, so both count the same things. Where the
//! drive was not measured doing what the engine makes of it (another device, larger I/Os, writes,
//! another number in flight) there is no share, and the reason stands in its place.

mod ceiling;

use super::catalogue as c;
use super::group::{Group, RoleRow, RunRow};
use super::metric::Metric;
pub use ceiling::{Against, ONE_IO_BYTES};
use ceiling::{Ceiling, Matched};
use schemars::JsonSchema;
use serde::Serialize;

/// At this share of the drive's rate, the drive is what limits: a bare drive's own trials lie as
/// far apart on a shared machine.
pub(super) const DRIVE_FULL: f64 = 0.8;

/// Trials of a drive lie this far apart; past it, more than the drive can do was counted, and the
/// share says nothing.
pub const ABOVE_PERCENT: f64 = 110.0;

/// A drive that has a request in flight nearly all of the time, and in the mean this share of all
/// that could be: everybody waits for it.
const QUEUE_FULL: f64 = 0.8;
const BUSY_PERCENT: f64 = 90.0;

/// At this share of all CPUs of the machine. Of fewer it is not known whose they were: an engine's
/// background threads are in its CPU time, and how many it has is not in the record. The rest is
/// lost where threads of one process take turns.
const CPU_FULL: f64 = 0.85;

/// Threads that are at the drive for at most this share of their time do not take turns with it.
const DRIVE_IDLE: f64 = 0.15;

/// Less than one I/O in a hundred operations: the page cache, or the engine's own, serves them.
const IOS_PER_OP_CACHED: f64 = 0.01;

/// When threads spend more than half of their time neither on a CPU nor waiting for the drive, they
/// wait for each other.
const IDLE_MOST: f64 = 0.5;

/// Where an engine stands against its drive.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Efficiency {
    /// Operations in flight: threads of all roles, times their depth.
    pub in_flight: u32,
    /// The bare drive with as many in flight; null: none that could be compared.
    pub ceiling: Option<Against>,
    /// The most that the bare drive did in this run; null: none that could be compared.
    pub drive: Option<Against>,
    /// Why there is no share; null: there is one, or no ceiling was asked for.
    pub why_no_share: Option<String>,
    /// Shares are of reads alone: the ceilings do not cover its writes.
    pub reads_alone: bool,
    /// Device I/Os while the phase ran, reads and writes, for each operation of any role.
    pub ios_per_op: Option<f64>,
    /// Nearly all operations were served from memory.
    pub cached: bool,
    /// What keeps it from more; null: not known.
    pub limit: Option<Limit>,
    /// Why the limit is not known.
    pub why_no_limit: Option<String>,
}

/// What keeps an engine from more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// The drive gives no more at this concurrency.
    Drive,
    /// Its process has the CPUs of the machine nearly all of the time.
    Cpu,
    /// CPU and drive are both idle: its threads wait for something else, as a rule each other.
    Lock,
    /// Its threads go from the CPU to the drive and back: neither is full, neither is idle.
    Turns,
    /// The rate that was asked for.
    Rate,
}

impl Limit {
    /// In a table cell.
    pub fn word(self) -> &'static str {
        match self {
            Self::Drive => "drive",
            Self::Cpu => "CPU",
            Self::Lock => "lock",
            Self::Turns => "CPU+drive",
            Self::Rate => "rate",
        }
    }
}

/// Every ceiling that a run has figures of.
pub fn ceilings(groups: &[Group]) -> Vec<Against> {
    ceiling::all(groups).iter().map(|ceiling| ceiling.named(false)).collect()
}

/// Fills in every engine's standing against the drive.
pub(super) fn judge(groups: &mut [Group], cpus: u32) {
    let ceilings = ceiling::all(groups);
    for group in groups.iter_mut().filter(|group| group.competes()) {
        let (volume, swept) = (group.volume.clone(), group.threads);
        for run in &mut group.runs {
            let standing = Standing::of(run, (volume.as_deref(), swept), cpus, &ceilings);
            run.metrics.0.extend(standing.shares);
            run.efficiency = Some(standing.efficiency);
        }
    }
}

struct Standing {
    efficiency: Efficiency,
    /// As figures, trial by trial; none where the run has no ceiling.
    shares: Vec<Metric>,
}

impl Standing {
    fn of(run: &RunRow, at: (Option<&str>, Option<u32>), cpus: u32, ceilings: &[Ceiling]) -> Self {
        let matched = ceiling::matched(run, at, ceilings);
        let shares = if ceilings.is_empty() { Vec::new() } else { shares(run, &matched) };
        let full = shares.iter().filter_map(|metric| metric.value);
        let counts = |percent: &f64| (100.0 * DRIVE_FULL..=ABOVE_PERCENT).contains(percent);
        let full = full.into_iter().any(|percent| counts(&percent));
        let (limit, why_no_limit) = match limit(run, full, cpus) {
            Ok(limit) => (Some(limit), None),
            Err(why) => (None, Some(why)),
        };
        let found = matched.as_ref().ok();
        let efficiency = Efficiency {
            in_flight: run.roles.iter().map(RoleRow::in_flight).sum(),
            ceiling: found.and_then(|found| found.same.clone().ok()),
            drive: found.map(|found| found.most.clone()),
            why_no_share: shares.iter().find_map(|metric| metric.missing.clone()),
            reads_alone: found.is_some_and(|found| found.reads_alone),
            ios_per_op: ios_per_op(run),
            cached: ios_per_op(run).is_some_and(|ios| ios < IOS_PER_OP_CACHED),
            limit,
            why_no_limit,
        };
        Self { efficiency, shares }
    }
}

/// The shares of the ceiling and of the drive's most, as figures.
fn shares(run: &RunRow, matched: &Result<Matched, String>) -> Vec<Metric> {
    let trials = run.metrics.get(&c::DEVICE_READS_PER_S).map_or(0, |m| m.per_trial.len());
    let none = |why: &String| vec![Err(why.clone().into()); trials];
    let (same, most) = match matched {
        Ok(found) => (
            found.same.as_ref().map_or_else(none, |same| found.shares(run, same)),
            found.shares(run, &found.most),
        ),
        Err(why) => (none(why), none(why)),
    };
    vec![Metric::new(&c::CEILING_SHARE, same), Metric::new(&c::DRIVE_SHARE, most)]
}

/// Device I/Os of the window over the operations of all roles.
fn ios_per_op(run: &RunRow) -> Option<f64> {
    let value = |definition| ceiling::value(run, definition).ok();
    let ops: f64 = run.roles.iter().filter_map(|r| r.metrics.value(&c::OPS_PER_S)).sum();
    let ios = value(&c::DEVICE_READS_PER_S)? + value(&c::DEVICE_WRITES_PER_S)?;
    (ops > 0.0).then(|| ios / ops)
}

/// What keeps a phase from more. Threads are on a CPU, at the drive, or waiting for something else;
/// of the first two the most is known (CPU time and the device's queue over the wall time, both of
/// which background threads are in).
fn limit(run: &RunRow, drive_full: bool, cpus: u32) -> Result<Limit, String> {
    let closed = || run.roles.iter().filter(|role| !role.open_loop);
    let threads = f64::from(closed().map(|role| role.threads).sum::<u32>());
    if threads == 0.0 {
        return Ok(Limit::Rate);
    }
    if drive_full {
        return Ok(Limit::Drive);
    }
    let value = |definition| ceiling::value(run, definition);
    let in_flight = f64::from(closed().map(RoleRow::in_flight).sum::<u32>());
    let (busy, queue) = (value(&c::DEVICE_BUSY), value(&c::DEVICE_QUEUE));
    let full = matches!((&busy, &queue), (Ok(busy), Ok(queue))
        if *busy >= BUSY_PERCENT && *queue >= QUEUE_FULL * in_flight);
    if full {
        return Ok(Limit::Drive);
    }
    let on_cpu = value(&c::CPU_PERCENT)? / 100.0;
    if on_cpu >= CPU_FULL * f64::from(cpus.max(1)) {
        return Ok(Limit::Cpu);
    }
    if on_cpu > threads {
        return Err(
            "it had more CPU time than its closed-loop threads could have had: where those \
                    were is not known"
                .to_owned(),
        );
    }
    // Background writes make the queue deep; nobody waits for a drive that is idle.
    let at_drive = queue?.min(threads).min(threads * busy? / 100.0);
    let idle = 1.0 - (on_cpu + at_drive) / threads;
    if idle > IDLE_MOST {
        return Ok(Limit::Lock);
    }
    if at_drive <= DRIVE_IDLE * threads {
        return Err("the drive and CPUs were idle: whether its threads computed, or waited for \
                    background threads that did, is not known"
            .to_owned());
    }
    Ok(Limit::Turns)
}

#[cfg(test)]
mod tests;
