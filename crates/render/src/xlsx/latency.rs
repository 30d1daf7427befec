//! The latency sheet: percentiles, the median of the trials' own.

use super::sheet::{Heading, Sheet, heading};
use super::trial_table::{Placed, key};
use crate::cell::Cell;
use crate::columns::{ABOUT, Column, Row, phases};
use crate::format::Show::{Count, Fine, Plain, Ratio};
use crate::format::figure_format;
use kvdyno_analysis::answers::summary::Summary;
use kvdyno_analysis::figures::catalogue as c;
use kvdyno_analysis::figures::metric::Metric;
use kvdyno_record::hlog::Kind as Clock;
use std::collections::BTreeMap;

const HEADINGS: [Heading; 20] = [
    heading("threads", 8, Count),
    heading("role", 12, Plain),
    heading("operation", 16, Plain),
    heading("time from", 18, Plain),
    heading("trials", 7, Count),
    heading("samples", 13, Count),
    heading("mean, us", 12, Ratio),
    heading("p50, us", 12, Ratio),
    heading("p90, us", 12, Ratio),
    heading("p95, us", 12, Ratio),
    heading(P99, 12, Ratio),
    heading("p99.9, us", 12, Ratio),
    heading("p99.99, us", 12, Ratio),
    heading("max, us", 12, Ratio),
    heading("over 1 ms, %", 12, Fine),
    heading("over 2 ms, %", 12, Fine),
    heading("over 4 ms, %", 12, Fine),
    heading("rms, us", 12, Ratio),
    heading("deviation, us", 12, Ratio),
    heading("why cells are empty", 60, Plain),
];

/// The column that charts draw.
pub(super) const P99: &str = "p99, us";

/// A line for each role and each of its operations; others for response times, and for the parts of
/// a time in flight.
pub(super) fn sheet(summary: &Summary) -> anyhow::Result<Placed> {
    let about = || ABOUT.iter().filter(|column| !column.heading.is_empty());
    let head = |column: &Column| heading(column.heading, column.width, column.number_format());
    let headings: Vec<Heading> = about().map(head).chain(HEADINGS).collect();
    let columns = (0..).zip(&headings).map(|(at, heading)| (heading.title, at)).collect();
    let mut sheet = Sheet::table("Latency percentiles", &headings, 1)?;
    let mut rows = BTreeMap::new();
    for row in phases(summary).flat_map(Row::roles) {
        let words: Vec<Cell> = about().map(|column| column.export_cell(&row)).collect();
        for (clock, from) in clocks(&row) {
            let line = sheet.row(&[words.clone(), cells(&row, clock, from)].concat())?;
            rows.entry(key(&row)).or_insert(line);
        }
    }
    sheet.filter()?;
    if let Some(hiccups) = &summary.hiccups {
        sheet.skip(1);
        sheet.row(&[Cell::text(hiccups.line())])?;
    }
    Ok(Placed { sheet, rows, columns })
}

/// The clocks that a row has, and from when each runs.
fn clocks(row: &Row<'_>) -> Vec<(Clock, &'static str)> {
    let mut clocks = vec![(Clock::Service, "start of the call")];
    let role = row.role.map(|(_, role)| role);
    if role.is_some_and(|role| role.open_loop) {
        clocks.push((Clock::Response, "scheduled start"));
    }
    if role.is_some_and(|role| role.depth.is_some()) {
        clocks.push((Clock::Submit, "start, until handed over"));
        clocks.push((Clock::Completion, "handing over"));
    }
    clocks
}

fn cells(row: &Row<'_>, clock: Clock, from: &str) -> Vec<Cell> {
    // The mean of other times is not kept.
    let mean = row.metric(&c::SERVICE_MEAN).filter(|_| clock == Clock::Service);
    let times = c::times(clock).map(|definition| row.metric(definition));
    let times: Vec<Option<&Metric>> = std::iter::once(mean).chain(times).collect();
    let operations = row.metric(&c::OPERATIONS);
    let mut cells = vec![
        Cell::count(row.threads().map(u64::from)),
        Cell::text_or_empty(row.role.map(|(_, role)| &role.role)),
        Cell::text(row.op_or_all()),
        Cell::text(from),
        Cell::count(operations.map(|metric| metric.n as u64)),
        Cell::number(operations.and_then(|metric| metric.value)),
    ];
    let us =
        |metric: Option<&Metric>| Cell::number(metric.and_then(|m| m.value).map(|ns| ns / 1e3));
    cells.extend(times.iter().copied().map(us));
    // The parts of a time in flight have no tail.
    cells.extend(match c::tail(clock) {
        Some(tail) => tail.map(|figure| {
            let value = row.metric(figure).and_then(|metric| metric.value);
            Cell::number(value.map(|value| value * figure_format(figure).times))
        }),
        None => [const { Cell::Empty }; 5],
    });
    let why = times.iter().flatten().find_map(|metric| metric.missing.as_deref());
    cells.push(Cell::text_or_empty(why));
    cells
}
