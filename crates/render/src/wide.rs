//! The terminal's tables as CSV: one row per line, a column for every figure there is, numbers not
//! rounded. What is missing is empty.

use super::columns::{ABOUT, KINDS, Kind, Row};
use super::ranking;
use kvdyno_analysis::answers::summary::Summary;
use kvdyno_analysis::figures::catalogue;

/// The tables that have rows: name and CSV text.
pub fn tables(summary: &Summary) -> anyhow::Result<Vec<(&'static str, Vec<u8>)>> {
    let kinds = KINDS.iter().filter(|kind| kind.csv).map(|kind| (*kind, (kind.rows)(summary)));
    let with_rows = kinds.filter(|(_, rows)| !rows.is_empty());
    let mut tables: Vec<_> = with_rows
        .map(|(kind, rows)| Ok((kind.name, table(kind, &rows)?)))
        .collect::<anyhow::Result<_>>()?;
    if !summary.rankings.is_empty() {
        tables.push(("ranking", ranking::csv(summary)?));
    }
    tables.extend(super::study::csv(summary)?);
    Ok(tables)
}

fn table(kind: &Kind, rows: &[Row<'_>]) -> anyhow::Result<Vec<u8>> {
    let columns = || ABOUT.iter().chain(kind.columns).filter(|column| !column.csv.is_empty());
    let figures = catalogue::ALL.iter();
    let figures: Vec<_> =
        figures.filter(|figure| rows.iter().any(|row| row.metrics.get(figure).is_some())).collect();
    let mut writer = csv::Writer::from_writer(Vec::new());
    let names = figures.iter().map(|figure| figure.name);
    writer.write_record(columns().map(|column| column.csv).chain(names))?;
    for row in rows {
        let words = columns().map(|column| column.words(row).csv());
        let value =
            |figure: &&&_| row.metrics.value(figure).map(|v| v.to_string()).unwrap_or_default();
        writer.write_record(words.chain(figures.iter().map(value)))?;
    }
    Ok(writer.into_inner()?)
}
