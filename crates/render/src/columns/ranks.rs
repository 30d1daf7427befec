//! The table of a crew's ranks: one row per process.

use super::column::{Column, Kind, export_column, figure, text};
use super::lead::count;
use super::row::Row;
use crate::cell::Cell;
use kvdyno_analysis::answers::summary::Summary;
use kvdyno_analysis::figures::catalogue as c;
use kvdyno_analysis::figures::ranks::RankRow;

const AID: &str = "\
Medians over trials. ops/s: of a rank's closed loops (without one: of all its roles; of a
load: records). of median: that, over what its threads would have done at the median rank's pace,
role by role; below 75 % or as far above it a finding says so. CPUs: user and system
time of its worker over its window. began: after the first rank, by the first one's clock, which is
sure of it within +- us. clock: how far the host's system clock is ahead.
--wide: windows, operations, errors, backlog; and of more than 16 ranks those, too, that are within
a tenth of the median.";

/// Of more ranks than this, a terminal shows the first and those that are not like the others.
const MANY: u32 = 16;

/// The pace of a rank that is like the others, in percent of the median rank's pace.
const LIKE: std::ops::RangeInclusive<f64> = 90.0..=110.0;

/// A row for each rank in each load and measured phase.
pub(super) static KIND: Kind = Kind {
    name: "ranks",
    title: "Ranks: what each process of the crew did",
    sheet: "Ranks",
    always: false,
    csv: true,
    engines: true,
    main: None,
    columns: COLUMNS,
    rows,
    lines: |row, wide| {
        let like = row.value(&c::RANK_PACE).is_some_and(|pace| LIKE.contains(&pace));
        let left_out = row.rank.is_some_and(|rank| rank.ranks > MANY && rank.rank > 0 && like);
        if left_out && !wide { Vec::new() } else { vec![*row] }
    },
    aid: |_, _, _| AID.to_owned(),
};

fn rows(summary: &Summary) -> Vec<Row<'_>> {
    let rows = summary.ranks.iter().filter_map(|rank| {
        let group = summary.groups.get(rank.group)?;
        let row = Row::new(rank.group, group, &rank.phase, &rank.metrics);
        Some(Row { rank: Some(rank), ..row })
    });
    rows.collect()
}

const COLUMNS: &[Column] = &[
    text("threads", |line| line.own_threads()),
    text("phase", |line| line.row.phase.to_owned()).left_aligned().when(|shown| shown.phases),
    export_column("", "threads", "threads", |row| count(row.threads())),
    export_column("rank", "rank", "rank", |row| {
        rank_cell(row, |rank| Cell::count(u64::from(rank.rank)))
    }),
    export_column("host", "host", "host", |row| rank_cell(row, |rank| Cell::text(&rank.host)))
        .left_aligned(),
    export_column("", "cpus", "CPUs there", |row| {
        rank_cell(row, |rank| Cell::count(u64::from(rank.cpus)))
    }),
    figure(&c::RANK_OPS_PER_S, "ops/s", "ops/s"),
    figure(&c::RANK_PACE, "of\nmedian %", "of the median rank's pace, %"),
    figure(&c::RANK_CPUS, "CPUs", "CPUs used"),
    figure(&c::RANK_CPU_PER_OP, "CPU\nus/op", "CPU, us/op"),
    figure(&c::RANK_SKEW, "began\nus", "began after the first, us"),
    figure(&c::CLOCK_OFFSET, "clock\nus", "clock ahead, us"),
    figure(&c::CLOCK_ERROR, "+-\nus", "clock, +- us"),
    figure(&c::WINDOW, "took\ns", "window, s").wide_only(),
    figure(&c::OPERATIONS, "operations", "operations").wide_only(),
    figure(&c::ERRORS, "errors", "errors").wide_only(),
    figure(&c::BACKLOG, "backlog", "backlog, ops").wide_only(),
];

fn rank_cell(row: &Row<'_>, cell: fn(&RankRow) -> Cell) -> Cell {
    row.rank.map_or(Cell::Empty, cell)
}
