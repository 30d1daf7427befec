//! Where the time of an operation went on both sides: on a CPU, or waiting.

use super::SideGroup;
use crate::figures::catalogue as c;
use crate::figures::explain::Explained;
use crate::figures::metric::Definition;
use crate::figures::rates::window_rate;
use schemars::JsonSchema;
use serde::Serialize;

/// The parts, which add up to the whole.
const PARTS: [&Definition; 9] = [
    &c::TIME_USER,
    &c::TIME_SYSTEM,
    &c::TIME_RUNQUEUE,
    &c::TIME_DEVICE,
    &c::TIME_STALL,
    &c::TIME_LOCK,
    &c::TIME_IDLE,
    &c::TIME_NETWORK,
    &c::TIME_OTHER,
];

/// The time of a role's operation, or of a load's record, in parts.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TimeChange {
    /// The role; null: a load.
    pub role: Option<String>,
    /// The time on the base, in nanoseconds: threads / rate.
    pub base_ns: f64,
    /// The time on the new side, in nanoseconds.
    pub new_ns: f64,
    /// Its parts, the largest change first.
    pub parts: Vec<PartChange>,
}

/// A part of an operation's time.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PartChange {
    /// The figure of its share: `time_lock_percent`.
    pub figure: &'static str,
    /// Its time on the base, in nanoseconds.
    pub base_ns: f64,
    /// Its time on the new side, in nanoseconds.
    pub new_ns: f64,
}

/// The roles of a phase whose time is known on both sides.
pub(super) fn changes(sides: &[SideGroup<'_>; 2], phase: &str) -> Vec<TimeChange> {
    let [base, new] = [find_explained(&sides[0], phase), find_explained(&sides[1], phase)];
    let has_no_waits = |side: &SideGroup<'_>| {
        side.cases().any(|(_, case)| case.phases_without_waits().any(|other| other == phase))
    };
    let without_waits = sides.iter().any(has_no_waits);
    let change = |base: &&Explained| {
        let other = new.iter().find(|other| other.role == base.role)?;
        let base_ns = operation_ns(&sides[0], base)?;
        let new_ns = operation_ns(&sides[1], other)?;
        let part = |figure: &&'static Definition| {
            let share = |side: &Explained| {
                let percent = |figure| side.metrics.value(figure);
                let waits = percent(&c::TIME_RUNQUEUE).filter(|_| without_waits);
                counted_share(figure, percent(figure)?, waits)
            };
            Some(PartChange {
                figure: figure.name,
                base_ns: share(base)? * base_ns,
                new_ns: share(other)? * new_ns,
            })
        };
        let mut parts: Vec<PartChange> = PARTS.iter().filter_map(part).collect();
        parts.sort_by(|one, other| other.change_ns().abs().total_cmp(&one.change_ns().abs()));
        Some(TimeChange { role: base.role.clone(), base_ns, new_ns, parts })
    };
    base.iter().filter_map(change).collect()
}

/// A part's share of the time that its rate counts, by its percent of all time. In turns a rate
/// leaves out `waits`, the percent of waits for a CPU: they are no part then.
fn counted_share(figure: &Definition, percent: f64, waits: Option<f64>) -> Option<f64> {
    match waits {
        Some(_) if figure.name == c::TIME_RUNQUEUE.name => None,
        Some(waits) => Some(percent / (100.0 - waits)).filter(|share| share.is_finite()),
        None => Some(percent / 100.0),
    }
}

fn find_explained<'r>(side: &SideGroup<'r>, phase: &str) -> Vec<&'r Explained> {
    let figures = &side.record.figures;
    let is_group = |index: usize| {
        figures.groups.get(index).is_some_and(|group| std::ptr::eq(group, side.group))
    };
    let explained = figures.explained.iter();
    explained.filter(|it| it.phase == phase && is_group(it.group)).collect()
}

/// The time that each thread took for an operation, without the work that was left behind.
fn operation_ns(side: &SideGroup<'_>, explained: &Explained) -> Option<f64> {
    let per_s = match &explained.role {
        None => {
            let metrics = &side.group.load.as_ref()?.metrics;
            metrics.value(&c::BURST_RECORDS_PER_S).or(metrics.value(&c::RECORDS_PER_S))?
        }
        Some(name) => {
            let roles = &side.group.run(&explained.phase)?.roles;
            let role = roles.iter().find(|role| role.role == *name)?;
            window_rate(&role.metrics)?.value?
        }
    };
    (per_s > 0.0).then(|| f64::from(explained.threads) * 1e9 / per_s)
}

impl PartChange {
    /// The time that the new side takes beyond the base; negative: less.
    pub fn change_ns(&self) -> f64 {
        self.new_ns - self.base_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_that_the_rate_leaves_out_are_no_part_of_its_time() {
        let share = |figure, percent, waits| counted_share(figure, percent, waits);
        assert_eq!(share(&c::TIME_USER, 60.0, None), Some(0.6));
        assert_eq!(share(&c::TIME_RUNQUEUE, 20.0, None), Some(0.2));
        assert_eq!(share(&c::TIME_USER, 60.0, Some(20.0)), Some(0.75));
        assert_eq!(share(&c::TIME_RUNQUEUE, 20.0, Some(20.0)), None);
    }
}
