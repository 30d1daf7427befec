//! A run as a spreadsheet: a sheet for each table of the studies, and native charts.
//!
//! Counts and readings are written as they were recorded; what follows from them (rates, ratios,
//! amplifications) as formulas, with this program's own result beside them for viewers that do not
//! compute. Text of a record is written as text, so that none of it is ever a formula.

mod charts;
mod front;
mod host;
mod latency;
mod series;
mod sheet;
mod study;
#[cfg(test)]
mod tests;
mod trial_table;

use crate::columns::KINDS;
use crate::format::Show;
use crate::long;
use crate::ranking;
use kvdyno_analysis::answers::summary::Summary;
use kvdyno_analysis::figures::evidence::Evidence;
use rust_xlsxwriter::{DocProperties, ExcelDateTime, Workbook};
use sheet::{Sheet, heading};

/// The workbook's bytes. They follow from the record alone: writing it twice gives the same file.
pub fn workbook(evidence: &Evidence, summary: &Summary) -> anyhow::Result<Vec<u8>> {
    let trials = trial_table::trials(evidence, summary);
    let mut tables = Vec::new();
    for kind in KINDS.iter().filter(|kind| !kind.sheet.is_empty()) {
        tables.extend(trial_table::write(kind, summary, &trials)?);
    }
    let latency = latency::sheet(summary)?;
    let charts = charts::sheet(summary, &tables, &latency)?;
    let series = series::sheet(evidence)?;

    let mut workbook = Workbook::new();
    let began_s = i64::try_from(evidence.run.started_unix_ns / 1_000_000_000).unwrap_or(0);
    let mut properties = DocProperties::new();
    if let Ok(began) = ExcelDateTime::from_timestamp(began_s) {
        properties = properties.set_creation_datetime(&began);
    }
    workbook.set_properties(&properties);
    workbook.push_worksheet(front::sheet(summary, &series)?.finish());
    workbook.push_worksheet(charts.finish());
    if let Some(ranking) = ranking(summary)? {
        workbook.push_worksheet(ranking.finish());
    }
    for sheet in [study::published_sheet(summary)?, study::claims(summary)?].into_iter().flatten() {
        workbook.push_worksheet(sheet.finish());
    }
    for placed in tables {
        workbook.push_worksheet(placed.sheet.finish());
    }
    workbook.push_worksheet(latency.sheet.finish());
    workbook.push_worksheet(series.sheet.finish());
    workbook.push_worksheet(host::sheet(summary)?.finish());
    workbook.push_worksheet(figures(summary)?.finish());
    Ok(workbook.save_to_buffer()?)
}

/// Engines in order by question; none where there is but one.
fn ranking(summary: &Summary) -> anyhow::Result<Option<Sheet>> {
    let headings = ranking::COLUMNS.map(|(name, width, _)| heading(name, width, Show::Plain));
    let mut sheet = Sheet::table("Ranking", &headings, 1)?;
    for (ranking, standing) in ranking::rows(summary) {
        sheet.row(&ranking::COLUMNS.map(|(.., cell)| cell(ranking, standing)))?;
    }
    sheet.filter()?;
    Ok(Some(sheet).filter(|_| !summary.rankings.is_empty()))
}

/// Every figure of every trial, one a row, as `kvdyno export --csv` has them.
fn figures(summary: &Summary) -> anyhow::Result<Sheet> {
    let headings = long::COLUMNS.map(|(name, width, _)| heading(name, width, Show::Plain));
    let mut sheet = Sheet::table("Figures", &headings, 1)?;
    for row in long::rows(summary) {
        sheet.row(&long::COLUMNS.map(|(.., cell)| cell(&row)))?;
    }
    sheet.filter()?;
    Ok(sheet)
}
