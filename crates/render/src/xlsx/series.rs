//! The series sheet: what each role did slice by slice, loads included.

use super::sheet::{Heading, Sheet, address, heading};
use crate::cell::Cell;
use crate::format::Show::{Count, Fine, Plain, Ratio};
use kvdyno_analysis::figures::evidence::{CaseEvidence, Evidence};
use kvdyno_record::series::{Slice, SliceCounts};
use std::collections::BTreeMap;

/// Most rows: as many as a viewer still opens, and a workbook in memory has room for. Cases past it
/// are left out whole, and the workbook says so; `series.csv` has all.
const ROWS_MAX: usize = 50_000;

const HEADINGS: [Heading; 14] = [
    heading("case", 28, Plain),
    heading("engine", 14, Plain),
    heading("threads", 8, Count),
    heading("trial", 7, Count),
    heading("phase", 12, Plain),
    heading("role", 12, Plain),
    heading("operation", 12, Plain),
    heading("from, s", 10, Fine),
    heading("length, s", 10, Fine),
    heading("operations", 12, Count),
    heading("service time, s summed", 12, Fine),
    heading("ops/s", 12, Count),
    heading("service mean, us", 12, Ratio),
    heading("service max, us", 12, Ratio),
];
const LENGTH: u16 = 8;
const COUNT: u16 = 9;
const SERVICE: u16 = 10;

/// The sheet, and the number of cases that there was no room for.
pub(super) struct Series {
    pub(super) sheet: Sheet,
    pub(super) cases_left_out: usize,
}

/// A line for each slice, role and operation.
pub(super) fn sheet(evidence: &Evidence) -> anyhow::Result<Series> {
    let mut sheet = Sheet::table("Series", &HEADINGS, 1)?;
    let (mut rows, mut cases_left_out) = (0, 0);
    for case in &evidence.cases {
        // Read twice: a case that there is no room for may be too long for the memory.
        let mut more = 0;
        for slice in case.series()? {
            more += slice?.roles.values().map(BTreeMap::len).sum::<usize>();
        }
        if rows + more > ROWS_MAX {
            cases_left_out += 1;
            continue;
        }
        rows += more;
        for slice in case.series()? {
            let slice = slice?;
            for (role, ops) in &slice.roles {
                for (op, counts) in ops {
                    let row = sheet.next_row();
                    sheet.row(&cells(case, &slice, [role, op], *counts, row))?;
                }
            }
        }
    }
    sheet.filter()?;
    Ok(Series { sheet, cases_left_out })
}

fn cells(
    case: &CaseEvidence,
    slice: &Slice,
    [role, op]: [&str; 2],
    counts: SliceCounts,
    row: u32,
) -> Vec<Cell> {
    let count = counts.count as f64;
    let [length_s, service_s] = [slice.length_ns, counts.service_ns].map(|ns| ns as f64 / 1e9);
    let [length, operations, service] = [LENGTH, COUNT, SERVICE].map(|at| address(row, at));
    let quotient = |formula: String, result: f64| {
        if result.is_finite() { Cell::Formula { formula, result } } else { Cell::Empty }
    };
    let done = counts.count > 0;
    vec![
        Cell::text(&case.case.id),
        Cell::text(&case.case.label),
        Cell::count(case.case.threads_swept.map(u64::from)),
        Cell::count(Some(case.case.trial.into())),
        Cell::text(&slice.phase),
        Cell::text(role),
        Cell::text(op),
        Cell::Number(slice.start_ns as f64 / 1e9),
        Cell::Number(length_s),
        Cell::Number(count),
        Cell::Number(service_s),
        quotient(format!("={operations}/{length}"), count / length_s),
        quotient(format!("={service}*1000000/{operations}"), service_s * 1e6 / count),
        Cell::number(done.then_some(counts.service_ns_max as f64 / 1e3)),
    ]
}
