//! Latencies over time: how many operations took how long in each slice.

use super::thin::{rounded, stride};
use crate::report::catalogue as c;
use crate::report::evidence::CaseEvidence;
use crate::report::group::Group;
use crate::stats::SAMPLES_BEYOND;
use kvdyno_record::hlog::{Interval, Kind};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// Rows of a map for each factor of ten.
const ROWS_PER_DECADE: f64 = 8.0;

/// How long a role's operations took, over the time of one phase of one trial.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Heat {
    /// Which of the summary's groups.
    pub group: usize,
    /// Which trial.
    pub trial: u32,
    /// The phase.
    pub phase: String,
    /// The role.
    pub role: String,
    /// `service` or `response`.
    pub kind: &'static str,
    /// Length of a column.
    pub column_s: f64,
    /// Columns.
    pub columns: usize,
    /// Rows for each factor of ten: row `r` begins at 10^(r / this) ns.
    pub rows_per_decade: f64,
    /// Column, row and how many operations, to two digits.
    pub cells: Vec<(usize, u32, u64)>,
    /// Of each column p50, p99 and p99.9 in nanoseconds; null: fewer than 10 were slower.
    pub tails: Vec<[Option<u64>; 3]>,
}

/// Shares of the operations that are faster.
const TAILS: [f64; 3] = [0.5, 0.99, 0.999];

/// Whether a case is the one of its group that is nearest to the median, by its first role's rate
/// (a load's: its records a second).
pub(super) fn is_typical(group: &Group, case: &CaseEvidence) -> bool {
    let first = group.runs.first().and_then(|run| run.roles.first());
    let rate = match (&group.load, first) {
        (_, Some(role)) => role.metrics.get(&c::OPS_PER_S),
        (Some(load), None) => load.metrics.get(&c::RECORDS_PER_S),
        (None, None) => None,
    };
    let Some(rate) = rate else { return false };
    let Some(median) = rate.value else { return false };
    let off = |at: usize| rate.per_trial.get(at).copied().flatten().map(|v| (v - median).abs());
    let nearest = (0..group.trials.len())
        .filter_map(|at| Some((at, off(at)?)))
        .min_by(|(_, a), (_, b)| a.total_cmp(b));
    nearest.is_some_and(|(at, _)| group.trials[at].case == case.case.id)
}

/// The maps of a case: one for each phase and role that is timed, and kind.
pub(super) fn read(
    group: usize,
    case: &CaseEvidence,
    intervals: &[Interval],
    columns: usize,
) -> Vec<Heat> {
    let mut maps: BTreeMap<(&str, &str, Kind), Vec<&Interval>> = BTreeMap::new();
    for interval in intervals {
        let kind = case.phase(&interval.phase).map(|phase| phase.kind.as_str());
        if matches!(kind, Ok("load" | "measure")) {
            let tag = (interval.phase.as_str(), interval.role.as_str(), interval.kind);
            maps.entry(tag).or_default().push(interval);
        }
    }
    let map = |((phase, role, kind), intervals): ((&str, &str, Kind), Vec<&Interval>)| {
        let (column_s, values) = values(&intervals, columns);
        let cells = cells(&values);
        Heat {
            group,
            trial: case.case.trial,
            phase: phase.to_owned(),
            role: role.to_owned(),
            kind: kind.as_str(),
            column_s,
            columns: values.len(),
            rows_per_decade: ROWS_PER_DECADE,
            cells: cells
                .into_iter()
                .map(|((column, row), count)| (column, row, rounded(count as f64, 2) as u64))
                .collect(),
            tails: values.iter().map(tails).collect(),
        }
    };
    maps.into_iter().map(map).collect()
}

type Cells = BTreeMap<(usize, u32), u64>;

/// How often each value came in a column: a histogram without room for what is not there.
type Values = BTreeMap<u64, u64>;

/// The length of a column, and what is in each.
fn values(intervals: &[&Interval], columns: usize) -> (f64, Vec<Values>) {
    let first = intervals.iter().map(|interval| interval.start).min().unwrap_or_default();
    // The last slice of a phase may be shorter.
    let length = intervals.iter().map(|interval| interval.length).max().unwrap_or_default();
    let length = length.max(Duration::from_millis(1));
    let slice = |interval: &Interval| {
        (interval.start.saturating_sub(first).as_secs_f64() / length.as_secs_f64()).round() as usize
    };
    let slices = intervals.iter().map(|interval| slice(interval) + 1).max().unwrap_or(0);
    let stride = stride(slices, columns);
    let mut values = vec![Values::new(); slices.div_ceil(stride)];
    for interval in intervals {
        let column = &mut values[slice(interval) / stride];
        for value in interval.histogram.iter_recorded() {
            *column.entry(value.value_iterated_to()).or_insert(0) +=
                value.count_since_last_iteration();
        }
    }
    (rounded(length.as_secs_f64() * stride as f64, 4), values)
}

fn cells(values: &[Values]) -> Cells {
    let mut cells = Cells::new();
    for (column, values) in values.iter().enumerate() {
        for (value, count) in values {
            let row = ((*value).max(1) as f64).log10() * ROWS_PER_DECADE;
            *cells.entry((column, row.floor() as u32)).or_insert(0) += count;
        }
    }
    cells
}

fn tails(values: &Values) -> [Option<u64>; 3] {
    let all: u64 = values.values().sum();
    TAILS.map(|share| {
        if all as f64 * (1.0 - share) < SAMPLES_BEYOND {
            return None;
        }
        let wanted = (all as f64 * share).ceil() as u64;
        let mut below = 0;
        let reached = |(_, count): &(&u64, &u64)| {
            below += **count;
            below >= wanted
        };
        values.iter().find(reached).map(|(value, _)| rounded(*value as f64, 3) as u64)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_are_exact_and_only_where_samples_stand_behind_them() {
        let values: Values = (1..=1000).map(|value| (value, 1)).collect();
        assert_eq!(tails(&values), [Some(500), Some(990), None]);
        let values: Values = (1..=10_000).map(|value| (value, 1)).collect();
        assert_eq!(tails(&values), [Some(5000), Some(9900), Some(9990)]);
        assert_eq!(tails(&Values::from([(7, 5)])), [None; 3]);
    }

    #[test]
    fn a_value_is_in_the_row_that_begins_below_it() {
        let values = [Values::from([(1000, 2), (1001, 3)]), Values::new()];
        assert_eq!(cells(&values), Cells::from([((0, 24), 5)]));
    }
}
