//! A run as a spreadsheet: a sheet for each table of the studies, and native charts.
//!
//! Counts and readings are written as they were recorded; what follows from them (rates, ratios,
//! amplifications) as formulas, with this program's own result beside them for viewers that do not
//! compute. Text of a record is written as text, so that none of it is ever a formula.

mod charts;
mod cost;
mod drive;
mod figures;
mod front;
mod host;
mod latency;
mod load;
mod run;
mod series;
mod sheet;
#[cfg(test)]
mod tests;
mod time;
mod trial_table;

use kvdyno_analysis::evidence::Evidence;
use kvdyno_analysis::summary::Summary;
use rust_xlsxwriter::{DocProperties, ExcelDateTime, Workbook};
use trial_table::Lines;

/// The workbook's bytes. They follow from the record alone: writing it twice gives the same file.
pub fn workbook(evidence: &Evidence, summary: &Summary) -> anyhow::Result<Vec<u8>> {
    let lines = Lines::of(evidence, summary);
    let load = load::sheet(&lines)?;
    let run = run::sheet(&lines)?;
    let cost = cost::sheet(&lines)?;
    let time = time::sheet(summary, &lines)?;
    let drive = drive::sheet(&lines)?;
    let latency = latency::sheet(summary)?;
    let charts = charts::sheet(summary, &run, &cost, &latency)?;
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
    for placed in vec![load, run, cost, time].into_iter().chain(drive) {
        workbook.push_worksheet(placed.sheet.finish());
    }
    workbook.push_worksheet(latency.sheet.finish());
    workbook.push_worksheet(series.sheet.finish());
    workbook.push_worksheet(host::sheet(summary)?.finish());
    workbook.push_worksheet(figures::sheet(summary)?.finish());
    Ok(workbook.save_to_buffer()?)
}
