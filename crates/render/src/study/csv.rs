//! Published rows and claims as CSV files of their own: never among a run's figures.

use crate::cell::Cell;
use kvdyno_analysis::answers::study::{Published, PublishedValue, StudyComparison};
use kvdyno_analysis::answers::summary::Summary;
use kvdyno_analysis::judge::claim::{ClaimPoint, Claimed};

/// One published figure; none: the authors gave up.
pub(crate) type Figure<'s> = (&'s str, &'s Published, Option<&'s PublishedValue>);

/// One point of a claim; none: it was not judged at any.
pub(crate) type Point<'s> = (&'s Claimed, Option<&'s ClaimPoint>);

/// A column: its name, and what is in it.
type Column = (&'static str, fn(&Figure<'_>) -> Cell);

/// A column of claims: its name, and what is in it.
type ClaimColumn = (&'static str, fn(&Point<'_>) -> Cell);

pub(crate) const PUBLISHED: [Column; 26] = [
    ("study", |(study, ..)| Cell::text(*study)),
    ("table", |(_, row, _)| Cell::text(&row.table)),
    ("engine", |(_, row, _)| Cell::text_or_empty(row.selectors.engine.as_ref())),
    ("part", |(_, row, _)| Cell::text_or_empty(row.selectors.part.as_ref())),
    ("volume", |(_, row, _)| Cell::text_or_empty(row.selectors.volume.as_ref())),
    ("tier", |(_, row, _)| Cell::text_or_empty(row.selectors.tier.as_ref())),
    ("ram", |(_, row, _)| Cell::text_or_empty(row.selectors.ram.as_ref())),
    ("records", |(_, row, _)| Cell::text_or_empty(row.selectors.records.as_ref())),
    ("threads", |(_, row, _)| Cell::count(row.selectors.threads.map(u64::from))),
    ("phase", |(_, row, _)| Cell::text_or_empty(row.selectors.phase.as_ref())),
    ("role", |(_, row, _)| Cell::text_or_empty(row.selectors.role.as_ref())),
    ("op", |(_, row, _)| Cell::text_or_empty(row.selectors.op.as_ref())),
    ("io", |(_, row, _)| Cell::text_or_empty(row.selectors.io.as_ref())),
    ("block", |(_, row, _)| Cell::text_or_empty(row.selectors.block.as_ref())),
    ("depth", |(_, row, _)| Cell::count(row.selectors.depth.map(u64::from))),
    ("of", |(_, row, _)| Cell::text(row.selectors.details().join(", "))),
    ("metric", |(.., value)| Cell::text_or_empty(value.map(|value| &value.figure))),
    ("unit", |(.., value)| Cell::text_or_empty(value.map(|value| &value.unit))),
    ("value", |(.., value)| Cell::number(value.and_then(|value| value.value))),
    ("least", |(.., value)| Cell::number(value.and_then(|value| value.least))),
    ("most", |(.., value)| Cell::number(value.and_then(|value| value.most))),
    ("derived", |(.., value)| Cell::text(value.is_some_and(|value| value.derived).to_string())),
    ("gave_up", |(_, row, _)| Cell::text(row.gave_up.to_string())),
    ("doubt", |(_, row, _)| Cell::text_or_empty(row.doubt.as_ref())),
    ("own_groups", |(_, row, _)| {
        let own: Vec<String> = row.own.iter().map(|seat| seat.group.to_string()).collect();
        Cell::text(own.join(" "))
    }),
    ("why_none", |(_, row, _)| Cell::text_or_empty(row.why_none.as_ref())),
];

pub(crate) const CLAIMS: [ClaimColumn; 11] = [
    ("claim", |(claim, _)| Cell::text(&claim.text)),
    ("holds", |(claim, _)| Cell::text(&claim.holds)),
    ("verdict", |(claim, _)| Cell::text(claim.verdict.as_str())),
    ("why", |(claim, _)| Cell::text_or_empty(claim.reason.as_ref())),
    ("point", |(_, point)| Cell::text_or_empty(point.map(|point| &point.label))),
    ("point_verdict", |(_, point)| Cell::text_or_empty(point.map(|point| point.verdict.as_str()))),
    ("value", |(_, point)| Cell::number(point.and_then(|point| point.value))),
    ("low", |(_, point)| Cell::number(point.and_then(|point| point.low))),
    ("high", |(_, point)| Cell::number(point.and_then(|point| point.high))),
    ("trials", |(_, point)| Cell::count(point.map(|point| point.trials as u64))),
    ("point_why", |(_, point)| Cell::text_or_empty(point.and_then(|point| point.reason.as_ref()))),
];

/// `published` and `claims`, those that have rows.
pub fn tables(summary: &Summary) -> anyhow::Result<Vec<(&'static str, Vec<u8>)>> {
    let mut tables = Vec::new();
    if let Some(study) = &summary.study {
        let rows = figures(study).map(|figure| PUBLISHED.map(|(_, cell)| cell(&figure)));
        tables.push(("published", file(PUBLISHED.map(|(name, _)| name), rows)?));
    }
    if !summary.claims.is_empty() {
        let rows = points(summary).map(|point| CLAIMS.map(|(_, cell)| cell(&point)));
        tables.push(("claims", file(CLAIMS.map(|(name, _)| name), rows)?));
    }
    Ok(tables)
}

/// Every published figure; a row that was given up has none, and is listed without one.
pub(crate) fn figures(study: &StudyComparison) -> impl Iterator<Item = Figure<'_>> {
    study.published.iter().flat_map(move |row| {
        let values: Vec<_> = row.values.iter().map(Some).collect();
        let values = if values.is_empty() { vec![None] } else { values };
        values.into_iter().map(move |value| (study.study.id.as_str(), row, value))
    })
}

/// Every point of each claim; a claim without points is listed without one.
pub(crate) fn points(summary: &Summary) -> impl Iterator<Item = Point<'_>> {
    summary.claims.iter().flat_map(|claim| {
        let points: Vec<_> = claim.points.iter().map(Some).collect();
        let points = if points.is_empty() { vec![None] } else { points };
        points.into_iter().map(move |point| (claim, point))
    })
}

fn file<const N: usize>(
    names: [&str; N],
    rows: impl Iterator<Item = [Cell; N]>,
) -> anyhow::Result<Vec<u8>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(names)?;
    for row in rows {
        writer.write_record(row.map(|cell| cell.csv()))?;
    }
    Ok(writer.into_inner()?)
}
