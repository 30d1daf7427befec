//! Latencies over time: how many operations took how long in each slice.

use super::thin::{round_digits, stride};
use kvdyno_analysis::figures::catalogue as c;
use kvdyno_analysis::figures::evidence::CaseEvidence;
use kvdyno_analysis::figures::group::Group;
use kvdyno_analysis::stats::quantile_of_counts;
use kvdyno_record::files::{CaseDir, RecordError};
use kvdyno_record::hlog::{Interval, Kind};
use kvdyno_record::samples::Samples;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// Rows of a map for each factor of ten.
pub(super) const ROWS_PER_DECADE: f64 = 8.0;

/// Counts by a map's column and row.
pub(super) type Cells = BTreeMap<(usize, u32), u64>;

/// How long a role's operations took, over the time of one phase of one trial.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Heat {
    /// Index of the group in the summary.
    pub group: usize,
    /// Number of the trial.
    pub trial: u32,
    /// The phase.
    pub phase: String,
    /// The role.
    pub role: String,
    /// `service` or `response`.
    pub kind: &'static str,
    /// Length of a column.
    pub column_s: f64,
    /// Number of columns.
    pub columns: usize,
    /// Rows for each factor of ten: row `r` begins at 10^(r / this) ns.
    pub rows_per_decade: f64,
    /// Column, row and number of operations, rounded to two digits.
    pub cells: Vec<(usize, u32, u64)>,
    /// p50, p95, p99 and p99.9 of each column in nanoseconds; null: fewer than 10 were slower.
    pub tails: Vec<[Option<u64>; 4]>,
}

/// Shares of the operations that are faster.
const TAILS: [f64; 4] = [0.5, 0.95, 0.99, 0.999];

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

/// Reads the maps of a case: one for each phase and role that is timed, and kind. Its intervals are
/// read twice, since the width of a map's columns depends on all of them.
pub(super) fn read(
    group: usize,
    case: &CaseEvidence,
    dir: &CaseDir,
    columns: usize,
) -> Result<Vec<Heat>, RecordError> {
    let mut maps: BTreeMap<(String, String, Kind), HeatMap> = BTreeMap::new();
    for interval in dir.latency()?.without_counts() {
        let interval = interval?;
        if case.shown_phase(&interval.phase).is_some() {
            let Interval { phase, role, kind, start, length, .. } = interval;
            maps.entry((phase, role, kind)).or_default().widen_span(start, length);
        }
    }
    for map in maps.values_mut() {
        map.divide(columns);
    }
    for interval in dir.latency()? {
        let interval = interval?;
        let Interval { phase, role, kind, start, counts, .. } = interval;
        if let Some(map) = maps.get_mut(&(phase, role, kind)) {
            map.add(start, &counts);
        }
    }
    let heat = |((phase, role, kind), map): ((String, String, Kind), HeatMap)| Heat {
        group,
        trial: case.case.trial,
        phase,
        role,
        kind: kind.as_str(),
        column_s: map.column_s(),
        columns: map.columns(),
        rows_per_decade: ROWS_PER_DECADE,
        tails: (0..map.columns()).map(|column| tails(map.values.get(&column))).collect(),
        cells: to_two_digits(map.cells()),
    };
    Ok(maps.into_iter().map(heat).collect())
}

/// The row of a latency.
pub(super) fn latency_row(ns: f64) -> u32 {
    (ns.max(1.0).log10() * ROWS_PER_DECADE).floor() as u32
}

/// Returns column, row and count of each cell, the count rounded to two digits.
pub(super) fn to_two_digits(cells: Cells) -> Vec<(usize, u32, u64)> {
    let rounded = |count: u64| round_digits(count as f64, 2) as u64;
    cells.into_iter().map(|((column, row), count)| (column, row, rounded(count))).collect()
}

/// A map while it is made.
#[derive(Debug, Default)]
struct HeatMap {
    /// The earliest beginning and the latest; in `length` the longest slice. The last slice of a
    /// phase may be shorter.
    span: Option<(Duration, Duration)>,
    length: Duration,
    /// Slices to a column.
    stride: usize,
    /// The samples of each column.
    values: BTreeMap<usize, Samples>,
}

impl HeatMap {
    fn widen_span(&mut self, start: Duration, length: Duration) {
        let (first, last) = self.span.unwrap_or((start, start));
        self.span = Some((first.min(start), last.max(start)));
        self.length = self.length.max(length).max(Duration::from_millis(1));
    }

    fn slice(&self, start: Duration) -> usize {
        let first = self.span.map_or(start, |(first, _)| first);
        (start.saturating_sub(first).as_secs_f64() / self.length.as_secs_f64()).round() as usize
    }

    fn divide(&mut self, columns: usize) {
        let slices = self.span.map_or(0, |(_, last)| self.slice(last).saturating_add(1));
        self.stride = stride(slices, columns);
    }

    fn add(&mut self, start: Duration, counts: &[(u64, u64)]) {
        let column = self.values.entry(self.slice(start) / self.stride).or_default();
        column.add_all(counts.iter().copied());
    }

    fn columns(&self) -> usize {
        self.values.keys().next_back().map_or(0, |column| column + 1)
    }

    fn cells(&self) -> Cells {
        let mut cells = Cells::new();
        for (column, values) in &self.values {
            for (value, count) in values.iter() {
                let cell = cells.entry((*column, latency_row(value as f64))).or_insert(0);
                *cell = cell.saturating_add(count);
            }
        }
        cells
    }

    fn column_s(&self) -> f64 {
        round_digits(self.length.as_secs_f64() * self.stride as f64, 4)
    }
}

/// Returns a column's percentiles; none for a column without samples.
fn tails(values: Option<&Samples>) -> [Option<u64>; 4] {
    TAILS.map(|share| {
        let value = quantile_of_counts(values?.iter(), values?.len(), share)?;
        Some(round_digits(value as f64, 3) as u64)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_are_exact_and_only_where_samples_stand_behind_them() {
        let heat = |counts: &mut dyn Iterator<Item = (u64, u64)>| {
            let mut samples = Samples::default();
            samples.add_all(counts);
            samples
        };
        let up_to = |most| heat(&mut (1..=most).map(|value| (value, 1)));
        assert_eq!(tails(Some(&up_to(1000))), [Some(500), Some(950), Some(990), None]);
        assert_eq!(tails(Some(&up_to(10_000))), [Some(5000), Some(9500), Some(9900), Some(9990)]);
        assert_eq!(tails(Some(&heat(&mut [(7, 5)].into_iter()))), [None; 4]);
        assert_eq!(tails(None), [None; 4]);
    }

    #[test]
    fn a_value_is_in_the_row_that_begins_below_it() {
        let second = Duration::from_secs(1);
        let mut map = HeatMap::default();
        map.widen_span(second, second);
        map.divide(10);
        map.add(second, &[(1000, 2), (1001, 3)]);
        assert_eq!((map.columns(), map.cells()), (1, BTreeMap::from([((0, 24), 5)])));
    }
}
