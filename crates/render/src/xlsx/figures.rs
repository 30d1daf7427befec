//! The figures sheet: every figure of every trial, one a row, as `kvdyno export --csv` has them.

use super::sheet::Show::{Count, Plain};
use super::sheet::{Cell, Heading, Sheet, heading};
use crate::long::{Row, rows};
use kvdyno_analysis::metric::{Direction, Source};
use kvdyno_analysis::summary::Summary;

const HEADINGS: [Heading; 18] = [
    heading("case", 28, Plain),
    heading("key", 40, Plain),
    heading("engine", 12, Plain),
    heading("label", 14, Plain),
    heading("durability", 10, Plain),
    heading("threads", 8, Count),
    heading("trial", 7, Count),
    heading("outcome", 13, Plain),
    heading("phase", 12, Plain),
    heading("role", 12, Plain),
    heading("op", 10, Plain),
    heading("metric", 30, Plain),
    heading("unit", 9, Plain),
    heading("better", 9, Plain),
    heading("source", 18, Plain),
    heading("value in this trial", 20, Plain),
    heading("value of all trials", 20, Plain),
    heading("why it is missing", 60, Plain),
];

/// A line for each figure of each trial.
pub(super) fn sheet(summary: &Summary) -> anyhow::Result<Sheet> {
    let mut sheet = Sheet::table("Figures", &HEADINGS, 1)?;
    for row in rows(summary) {
        sheet.row(&cells(&row))?;
    }
    sheet.filter()?;
    Ok(sheet)
}

fn cells(row: &Row<'_>) -> Vec<Cell> {
    let better = match row.direction {
        Direction::Higher => "higher",
        Direction::Lower => "lower",
        Direction::Neither => "",
    };
    let source = match row.source {
        Source::Harness => "load generator",
        Source::Kernel => "kernel",
        Source::Device => "device",
        Source::KernelAndHarness => "kernel and load generator",
        Source::Plan => "plan",
    };
    let missing = if row.value.is_none() { row.missing } else { None };
    vec![
        Cell::text(row.case.0),
        Cell::text(row.key.0),
        Cell::text(row.engine.0),
        Cell::text(row.label.0),
        Cell::text(row.durability),
        Cell::count(row.threads.map(u64::from)),
        Cell::count(Some(row.trial.into())),
        Cell::text(row.outcome.0),
        Cell::text(row.phase.0),
        Cell::text(row.role.0),
        Cell::text(row.op.0),
        Cell::text(row.metric),
        Cell::text(row.unit),
        Cell::text(better),
        Cell::text(source),
        Cell::number(row.value),
        Cell::number(row.value_all_trials),
        missing.map_or(Cell::Empty, |why| Cell::text(why.0)),
    ]
}
