//! How far an engine is from the bare drive: its I/Os a second against what the drive gives as many
//! in flight; what limits it is `explain`'s to say.
//!
//! Both sides of a share are the device's own counters, so both count the same things. Where the
//! drive was not measured doing what the engine makes of it (another device, larger I/Os, writes,
//! another number in flight) there is no share, and the reason stands in its place.

mod ceiling;
pub(crate) mod standing;

use super::catalogue as c;
use super::explain::Explained;
use super::group::{Group, RoleRow, RunRow};
use super::metric::Metric;
use ceiling::Matched;
pub use standing::{BaselineCase, Efficiency, ONE_IO_BYTES};

/// Less than one I/O in a hundred operations: the page cache, or the engine's own, serves them.
const IOS_PER_OP_CACHED: f64 = 0.01;

/// Every ceiling that a run has figures of.
pub fn ceilings(groups: &[Group]) -> Vec<BaselineCase> {
    ceiling::all(groups).iter().map(|ceiling| ceiling.named(false)).collect()
}

/// Fills in every engine's standing against the drive.
pub(super) fn judge(groups: &mut [Group]) {
    let ceilings = ceiling::all(groups);
    for group in groups.iter_mut().filter(|group| group.competes()) {
        let (volume, swept) = (group.volume.clone(), group.threads);
        for run in &mut group.runs {
            let matched = ceiling::matched(run, (volume.as_deref(), swept), &ceilings);
            let shares = if ceilings.is_empty() { Vec::new() } else { shares(run, &matched) };
            let found = matched.as_ref().ok();
            let ios_per_op = ios_per_op(run);
            run.efficiency = Some(Efficiency {
                in_flight: run.roles.iter().map(RoleRow::in_flight).sum(),
                ceiling: found.and_then(|found| found.same.clone().ok()),
                drive: found.map(|found| found.most.clone()),
                above_percent: found.and_then(|found| found.above(run, found.same.as_ref().ok()?)),
                why_no_share: shares.iter().find_map(|metric| metric.missing.clone()),
                reads_alone: found.is_some_and(|found| found.reads_alone),
                ios_per_op,
                cached: ios_per_op.is_some_and(|ios| ios < IOS_PER_OP_CACHED),
                limit: None,
                why_no_limit: None,
            });
            run.metrics.0.extend(shares);
        }
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

/// Fills in what limits each engine, as its roles' times say it.
pub(super) fn limit(groups: &mut [Group], explained: &[Explained]) {
    for (at, group) in groups.iter_mut().enumerate() {
        for run in &mut group.runs {
            let Some(standing) = &mut run.efficiency else { continue };
            let most =
                run.roles.iter().rev().max_by_key(|role| (!role.open_loop, role.in_flight()));
            let told = explained.iter().find(|one| {
                (one.group, &one.phase, one.role.as_ref())
                    == (at, &run.phase, most.map(|role| &role.role))
            });
            standing.limit = told.and_then(|one| one.cause);
            let unknown = told.and_then(|one| one.unknown.first()).map(String::as_str);
            let why = unknown.unwrap_or("most of its threads' time is not known");
            standing.why_no_limit = standing.limit.is_none().then(|| why.to_owned());
        }
    }
}

#[cfg(test)]
mod tests;
