//! How far an engine is from the bare drive: its I/Os per second compared with the drive's at as
//! many in flight. Module `explain` finds what limits it.
//!
//! Both sides of a share come from the device's own counters, so both count the same things.
//! Without a comparable ceiling (another device, larger I/Os, writes, another number in flight)
//! there is no share, but a reason.

mod ceiling;
pub(crate) mod standing;

use super::catalogue as c;
use super::explain::Explained;
use super::group::{Group, RoleRow, RunRow};
use super::metric::Metric;
use super::rates::window_rate;
use ceiling::Matched;
pub use standing::{CeilingCase, Efficiency, ONE_IO_BYTES};

/// Below one I/O in a hundred operations, the page cache or the engine's own serves them.
const IOS_PER_OP_CACHED: f64 = 0.01;

/// Every ceiling of a run that has figures.
pub fn ceilings(groups: &[Group]) -> Vec<CeilingCase> {
    ceiling::all(groups).iter().map(|ceiling| ceiling.to_case(false)).collect()
}

/// Fills in every engine's efficiency.
pub(crate) fn judge(groups: &mut [Group]) {
    let ceilings = ceiling::all(groups);
    for group in groups.iter_mut().filter(|group| group.competes()) {
        let (volume, swept) = (group.volume.clone(), group.threads_swept);
        for run in &mut group.runs {
            let matched = ceiling::match_ceilings(run, volume.as_deref(), swept, &ceilings);
            let shares =
                if ceilings.is_empty() { Vec::new() } else { share_metrics(run, &matched) };
            let matched = matched.ok();
            let ios_per_op = ios_per_op(run);
            run.efficiency = Some(Efficiency {
                in_flight: run.roles.iter().map(RoleRow::in_flight).sum(),
                ceiling: matched.as_ref().and_then(|matched| matched.equal.clone().ok()),
                drive: matched.as_ref().map(|matched| matched.most.clone()),
                above_percent: matched
                    .as_ref()
                    .and_then(|matched| matched.above_percent(run, matched.equal.as_ref().ok()?)),
                why_no_share: shares.iter().find_map(|metric| metric.missing.clone()),
                reads_alone: matched.as_ref().is_some_and(|matched| matched.reads_alone),
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
fn share_metrics(run: &RunRow, matched: &Result<Matched, String>) -> Vec<Metric> {
    let trials = run.metrics.get(&c::DEVICE_READS_PER_S).map_or(0, |m| m.per_trial.len());
    let none = |why: &String| vec![Err(why.clone().into()); trials];
    let (equal, most) = match matched {
        Ok(matched) => (
            matched.equal.as_ref().map_or_else(none, |equal| matched.trial_shares(run, equal)),
            matched.trial_shares(run, &matched.most),
        ),
        Err(why) => (none(why), none(why)),
    };
    vec![Metric::new(&c::CEILING_SHARE, equal), Metric::new(&c::DRIVE_SHARE, most)]
}

/// Device I/Os of the window over the operations of all roles.
fn ios_per_op(run: &RunRow) -> Option<f64> {
    let value = |definition| ceiling::value(run, definition).ok();
    let ops: f64 = run.roles.iter().filter_map(|r| window_rate(&r.metrics)?.value).sum();
    let ios = value(&c::DEVICE_READS_PER_S)? + value(&c::DEVICE_WRITES_PER_S)?;
    (ops > 0.0).then(|| ios / ops)
}

/// Fills in each engine's limit, from its roles' times.
pub(crate) fn limit(groups: &mut [Group], explained: &[Explained]) {
    for (index, group) in groups.iter_mut().enumerate() {
        for run in &mut group.runs {
            let Some(standing) = &mut run.efficiency else { continue };
            let most =
                run.roles.iter().rev().max_by_key(|role| (!role.open_loop, role.in_flight()));
            let explained_role = explained.iter().find(|entry| {
                (entry.group, &entry.phase, entry.role.as_ref())
                    == (index, &run.phase, most.map(|role| &role.role))
            });
            standing.limit = explained_role.and_then(|one| one.cause);
            let unknown = explained_role.and_then(|one| one.unknown.first()).map(String::as_str);
            let why = unknown.unwrap_or("most of its threads' time is not known");
            standing.why_no_limit = standing.limit.is_none().then(|| why.to_owned());
        }
    }
}

#[cfg(test)]
mod tests;
