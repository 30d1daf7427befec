//! Published rows and claims as CSV files of their own: never among a run's figures.

use crate::cell::Cell;
use kvdyno_analysis::study::{Published, PublishedValue};
use kvdyno_analysis::summary::Summary;

/// One published figure.
type Figure<'s> = (&'s str, &'s Published, &'s PublishedValue);

/// A column: its name, and what is in it.
type Column = (&'static str, fn(&Figure<'_>) -> Cell);

const PUBLISHED: [Column; 26] = [
    ("study", |(study, ..)| Cell::text(*study)),
    ("table", |(_, row, _)| Cell::text(&row.table)),
    ("engine", |(_, row, _)| Cell::words(row.of.engine.as_ref())),
    ("part", |(_, row, _)| Cell::words(row.of.part.as_ref())),
    ("volume", |(_, row, _)| Cell::words(row.of.volume.as_ref())),
    ("tier", |(_, row, _)| Cell::words(row.of.tier.as_ref())),
    ("ram", |(_, row, _)| Cell::words(row.of.ram.as_ref())),
    ("records", |(_, row, _)| Cell::words(row.of.records.as_ref())),
    ("threads", |(_, row, _)| Cell::count(row.of.threads.map(u64::from))),
    ("phase", |(_, row, _)| Cell::words(row.of.phase.as_ref())),
    ("role", |(_, row, _)| Cell::words(row.of.role.as_ref())),
    ("op", |(_, row, _)| Cell::words(row.of.op.as_ref())),
    ("io", |(_, row, _)| Cell::words(row.of.io.as_ref())),
    ("block", |(_, row, _)| Cell::words(row.of.block.as_ref())),
    ("depth", |(_, row, _)| Cell::count(row.of.depth.map(u64::from))),
    ("of", |(_, row, _)| Cell::text(row.of.words().join(", "))),
    ("metric", |(.., value)| Cell::text(&value.figure)),
    ("unit", |(.., value)| Cell::text(&value.unit)),
    ("value", |(.., value)| Cell::number(value.value)),
    ("least", |(.., value)| Cell::number(value.least)),
    ("most", |(.., value)| Cell::number(value.most)),
    ("derived", |(.., value)| Cell::text(value.derived.to_string())),
    ("gave_up", |(_, row, _)| Cell::text(row.gave_up.to_string())),
    ("doubt", |(_, row, _)| Cell::words(row.doubt.as_ref())),
    ("own_groups", |(_, row, _)| {
        let own: Vec<String> = row.own.iter().map(|seat| seat.group.to_string()).collect();
        Cell::text(own.join(" "))
    }),
    ("why_none", |(_, row, _)| Cell::words(row.why_none.as_ref())),
];

/// `published` and `claims`, those that have rows.
pub fn tables(summary: &Summary) -> anyhow::Result<Vec<(&'static str, Vec<u8>)>> {
    let mut tables = Vec::new();
    if let Some(study) = &summary.study {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(PUBLISHED.map(|(name, _)| name))?;
        for row in &study.published {
            // A row that was given up has no figure, and is there.
            let none = PublishedValue::default();
            let values =
                if row.values.is_empty() { std::slice::from_ref(&none) } else { &row.values };
            for value in values {
                let figure = (study.study.id.as_str(), row, value);
                writer.write_record(PUBLISHED.map(|(_, cell)| cell(&figure).csv()))?;
            }
        }
        tables.push(("published", writer.into_inner()?));
    }
    if !summary.claims.is_empty() {
        tables.push(("claims", claims(summary)?));
    }
    Ok(tables)
}

/// A line for each point of each claim; one where there is none.
fn claims(summary: &Summary) -> anyhow::Result<Vec<u8>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record([
        "claim",
        "holds",
        "verdict",
        "why",
        "point",
        "point_verdict",
        "value",
        "low",
        "high",
        "trials",
        "point_why",
    ])?;
    for claim in &summary.claims {
        let text = |text: &str| Cell::text(text).csv();
        let words = |text: Option<&String>| Cell::words(text).csv();
        let own = [
            text(&claim.text),
            text(&claim.holds),
            text(claim.verdict.word()),
            words(claim.why.as_ref()),
        ];
        if claim.points.is_empty() {
            writer.write_record(own.iter().cloned().chain(vec![String::new(); 7]))?;
        }
        for point in &claim.points {
            let numbers = [point.value, point.low, point.high].map(|n| Cell::number(n).csv());
            let [value, low, high] = numbers;
            let rest = [
                text(&point.at),
                text(point.verdict.word()),
                value,
                low,
                high,
                point.trials.to_string(),
                words(point.why.as_ref()),
            ];
            writer.write_record(own.iter().cloned().chain(rest))?;
        }
    }
    Ok(writer.into_inner()?)
}
