//! A study's figures beside this run's, and the suite's claims: sheets of their own, with numbers
//! and no formula, for nothing is computed with what was published.

use super::sheet::{Heading, Sheet, heading};
use crate::cell::Cell;
use crate::format::Show::{self, Plain, Words};
use crate::study::{CLAIMS, Figure, PUBLISHED, figures, points};
use kvdyno_analysis::answers::summary::Summary;
use kvdyno_analysis::figures::metric::Metric;

/// The column that the workbook leaves out, since it has the row of the run itself in place of its
/// number.
const NUMBERS: &str = "own_groups";

/// The run's own figure beside a published one, with the label of its group.
type OwnFigure<'s> = Option<(&'s str, &'s Metric)>;

/// A column of the run's own figure: its name, its width, and what is in it.
type Column = (&'static str, u16, fn(&OwnFigure<'_>) -> Cell);

const HERE: [Column; 6] = [
    ("run_row", 28, |own| Cell::text_or_empty(own.map(|(label, _)| label))),
    ("run_value", 16, |own| Cell::number(own.and_then(|(_, metric)| metric.value))),
    ("run_min", 16, |own| Cell::number(own.and_then(|(_, metric)| metric.min))),
    ("run_max", 16, |own| Cell::number(own.and_then(|(_, metric)| metric.max))),
    ("run_n", 7, |own| Cell::count(own.map(|(_, metric)| metric.n as u64))),
    ("run_missing", 40, |own| {
        Cell::text_or_empty(own.and_then(|(_, metric)| metric.missing.as_ref()))
    }),
];

/// Every published figure, and each of the run's that is like it; none: no study.
pub(super) fn published_sheet(summary: &Summary) -> anyhow::Result<Option<Sheet>> {
    let Some(study) = &summary.study else { return Ok(None) };
    let columns = PUBLISHED.iter().filter(|(name, _)| *name != NUMBERS);
    let own_figure = HERE.iter().map(|(name, width, _)| heading(name, *width, Plain));
    let headings: Vec<Heading> =
        columns.clone().map(|(name, _)| column_heading(name)).chain(own_figure).collect();
    let mut sheet = Sheet::table("Published", &headings, 3)?;
    for figure in figures(study) {
        for own_figure in own_figures(&figure, summary) {
            let cells = columns.clone().map(|(_, cell)| cell(&figure));
            let cells = cells.chain(HERE.iter().map(|(.., cell)| cell(&own_figure)));
            sheet.row(&cells.collect::<Vec<_>>())?;
        }
    }
    sheet.filter()?;
    Ok(Some(sheet))
}

/// Returns the run's figures beside a published one; where there is none, an empty place.
fn own_figures<'s>((_, row, value): &Figure<'s>, summary: &'s Summary) -> Vec<OwnFigure<'s>> {
    let figures = row.own.iter().filter_map(|seat| {
        let mut metrics = seat.metrics(summary).into_iter().flat_map(|metrics| &metrics.0);
        let metric = metrics.find(|metric| value.is_some_and(|value| metric.name == value.figure));
        Some(Some((summary.groups.get(seat.group)?.label.as_str(), metric?)))
    });
    let figures: Vec<OwnFigure<'s>> = figures.collect();
    if figures.is_empty() { vec![None] } else { figures }
}

/// What the suite claims, a row for each point; none: it claims nothing.
pub(super) fn claims(summary: &Summary) -> anyhow::Result<Option<Sheet>> {
    if summary.claims.is_empty() {
        return Ok(None);
    }
    let mut sheet = Sheet::table("Claims", &CLAIMS.map(|(name, _)| column_heading(name)), 1)?;
    for point in points(summary) {
        sheet.row(&CLAIMS.map(|(_, cell)| cell(&point)))?;
    }
    sheet.filter()?;
    Ok(Some(sheet))
}

/// Returns the heading of a column; columns of sentences are wide, and break lines.
fn column_heading(name: &'static str) -> Heading {
    let (width, show): (u16, Show) = match name {
        "claim" | "holds" | "doubt" | "why" | "why_none" | "point_why" => (50, Words),
        "study" | "metric" | "of" => (26, Plain),
        "value" | "least" | "most" => (16, Plain),
        _ => (12, Plain),
    };
    heading(name, width, show)
}
