//! The latency sheet: percentiles of all trials together, from the merged histograms.

use super::run::{RolePart, roles};
use super::sheet::Show::{Count, Plain, Ratio};
use super::sheet::{Cell, Heading, Sheet, heading};
use super::trial_table::Placed;
use kvdyno_analysis::catalogue as c;
use kvdyno_analysis::group::Group;
use kvdyno_analysis::metric::{Definition, Metric};
use kvdyno_analysis::summary::Summary;
use std::collections::BTreeMap;

const HEADINGS: [Heading; 21] = [
    heading("engine", 14, Plain),
    heading("durability", 10, Plain),
    heading("records", 13, Count),
    heading("RAM limit, B", 15, Count),
    heading("tier", 12, Plain),
    heading("volume", 12, Plain),
    heading("threads", 8, Count),
    heading("phase", 12, Plain),
    heading("role", 12, Plain),
    heading("operation", 16, Plain),
    heading("time from", 18, Plain),
    heading("trials", 7, Count),
    heading("samples", 13, Count),
    heading("mean, us", 12, Ratio),
    heading("p50, us", 12, Ratio),
    heading("p90, us", 12, Ratio),
    heading("p99, us", 12, Ratio),
    heading("p99.9, us", 12, Ratio),
    heading("p99.99, us", 12, Ratio),
    heading("max, us", 12, Ratio),
    heading("why cells are empty", 60, Plain),
];

/// Where the 99th percentile stands.
const P99: u16 = 16;

const SERVICE: [&Definition; 7] = [
    &c::SERVICE_MEAN,
    &c::SERVICE_P50,
    &c::SERVICE_P90,
    &c::SERVICE_P99,
    &c::SERVICE_P999,
    &c::SERVICE_P9999,
    &c::SERVICE_MAX,
];

/// Of response times the mean is not kept.
const RESPONSE: [&Definition; 6] = [
    &c::RESPONSE_P50,
    &c::RESPONSE_P90,
    &c::RESPONSE_P99,
    &c::RESPONSE_P999,
    &c::RESPONSE_P9999,
    &c::RESPONSE_MAX,
];

/// Of the parts of a time in flight neither.
const SUBMIT: [&Definition; 6] = [
    &c::SUBMIT_P50,
    &c::SUBMIT_P90,
    &c::SUBMIT_P99,
    &c::SUBMIT_P999,
    &c::SUBMIT_P9999,
    &c::SUBMIT_MAX,
];

const COMPLETION: [&Definition; 6] = [
    &c::COMPLETION_P50,
    &c::COMPLETION_P90,
    &c::COMPLETION_P99,
    &c::COMPLETION_P999,
    &c::COMPLETION_P9999,
    &c::COMPLETION_MAX,
];

/// A line for each role and each of its operations; others for response times, and for the parts of
/// a time in flight.
pub(super) fn sheet(summary: &Summary) -> anyhow::Result<Placed> {
    let mut sheet = Sheet::table("Latency percentiles", &HEADINGS, 1)?;
    let mut rows = BTreeMap::new();
    for (at, group) in summary.groups.iter().enumerate() {
        for part in roles(&group.runs) {
            let service: Vec<Option<&Metric>> =
                SERVICE.map(|definition| part.metrics.get(definition)).to_vec();
            let row = sheet.row(&cells(group, &part, "start of the call", &service))?;
            if part.op.is_none() {
                rows.insert((at, part.at.0, part.at.1), row);
            }
            if part.role.open_loop && part.op.is_none() {
                sheet.row(&others(group, &part, "scheduled start", RESPONSE))?;
            }
            if part.role.depth.is_some() {
                sheet.row(&others(group, &part, "start, until handed over", SUBMIT))?;
                sheet.row(&others(group, &part, "handing over", COMPLETION))?;
            }
        }
    }
    sheet.filter()?;
    if let Some(hiccups) = &summary.hiccups {
        sheet.skip(1);
        sheet.row(&[Cell::text(hiccups.line())])?;
    }
    Ok(Placed { sheet, rows, columns: [("p99", P99)].into() })
}

/// A line of times without a mean.
fn others(
    group: &Group,
    part: &RolePart<'_>,
    from: &str,
    definitions: [&Definition; 6],
) -> Vec<Cell> {
    let mut times = vec![None];
    times.extend(definitions.map(|definition| part.metrics.get(definition)));
    cells(group, part, from, &times)
}

fn cells(group: &Group, part: &RolePart<'_>, from: &str, times: &[Option<&Metric>]) -> Vec<Cell> {
    let op = part.op.map_or_else(|| part.role.mix.clone(), |op| format!("of it {op}"));
    let threads = group.threads.unwrap_or(part.role.threads);
    let mut cells = vec![
        Cell::text(&group.label),
        Cell::text(group.durability.as_str()),
        Cell::count(Some(group.records)),
        Cell::count(group.ram_limit_bytes),
        Cell::text(group.tier.as_deref().unwrap_or_default()),
        Cell::text(group.volume.as_deref().unwrap_or_default()),
        Cell::count(Some(threads.into())),
        Cell::text(&part.run.phase),
        Cell::text(&part.role.role),
        Cell::text(op),
        Cell::text(from),
        Cell::count(part.metrics.get(&c::OPERATIONS).map(|metric| metric.n as u64)),
        Cell::number(part.metrics.value(&c::OPERATIONS)),
    ];
    let us = |metric: Option<&Metric>| metric.and_then(|metric| metric.value).map(|ns| ns / 1e3);
    cells.extend(times.iter().map(|metric| Cell::number(us(*metric))));
    let why = times.iter().flatten().find_map(|metric| metric.missing.as_deref());
    cells.push(why.map_or(Cell::Empty, Cell::text));
    cells
}
