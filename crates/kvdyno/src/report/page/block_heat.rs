//! Block I/O over time: how many requests of a kind took how long in each slice.

use super::thin::{rounded, stride};
use crate::report::evidence::CaseEvidence;
use kvdyno_record::blockio::{BlockIoReading, IoKind, IoOwner, slot_begin_ns};
use kvdyno_record::files::{CaseFolder, RecordError};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Rows of a map for each factor of ten.
const ROWS_PER_DECADE: f64 = 8.0;

/// How long requests took, over the time of one phase of one trial; all devices together.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct BlockHeat {
    /// Which of the summary's groups.
    pub group: usize,
    /// Which trial.
    pub trial: u32,
    /// The phase.
    pub phase: String,
    /// What was asked of the device.
    pub kind: IoKind,
    /// Who asked.
    pub owner: IoOwner,
    /// Length of a column.
    pub column_s: f64,
    /// Columns.
    pub columns: usize,
    /// Rows for each factor of ten: row `r` begins at 10^(r / this) ns.
    pub rows_per_decade: f64,
    /// Column, row and how many requests, to two digits.
    pub cells: Vec<(usize, u32, u64)>,
}

/// The maps of a case: one for each phase that is timed, kind and owner.
pub(super) fn read(
    group: usize,
    case: &CaseEvidence,
    folder: &CaseFolder,
    columns: usize,
) -> Result<Vec<BlockHeat>, RecordError> {
    let readings = folder.block_io_readings()?;
    let Some(record) = &case.record else { return Ok(Vec::new()) };
    let timed = record.phases.iter().filter(|phase| {
        ["load", "measure"].contains(&phase.kind.as_str()) && case.phase(&phase.name).is_ok()
    });
    let maps = timed.flat_map(|phase| {
        let readings: Vec<&BlockIoReading> =
            readings.iter().filter(|reading| reading.phase == phase.name).collect();
        let slice_ns = case.case.slice_ns.max(1);
        let stride = stride((phase.wall_ns / slice_ns) as usize + 1, columns);
        let column_ns = slice_ns * stride as u64;
        let began = phase.started_unix_ns;
        maps(&readings, began, column_ns).into_iter().map(move |((kind, owner), cells)| BlockHeat {
            group,
            trial: case.case.trial,
            phase: phase.name.clone(),
            kind,
            owner,
            column_s: rounded(column_ns as f64 / 1e9, 4),
            columns: cells.keys().map(|(column, _)| column + 1).max().unwrap_or(0),
            rows_per_decade: ROWS_PER_DECADE,
            cells: cells
                .into_iter()
                .map(|((column, row), count)| (column, row, rounded(count as f64, 2) as u64))
                .collect(),
        })
    });
    Ok(maps.collect())
}

type Cells = BTreeMap<(usize, u32), u64>;

/// What came between one reading and the next stands in the column of the middle between them.
fn maps(
    readings: &[&BlockIoReading],
    began: u64,
    column_ns: u64,
) -> BTreeMap<(IoKind, IoOwner), Cells> {
    let mut maps: BTreeMap<(IoKind, IoOwner), Cells> = BTreeMap::new();
    for pair in readings.windows(2) {
        let middle = u64::midpoint(pair[0].at_unix_ns, pair[1].at_unix_ns);
        let column = (middle.saturating_sub(began) / column_ns) as usize;
        for cell in pair[1].io.since(&pair[0].io).cells {
            let map = maps.entry((cell.kind, cell.owner)).or_default();
            for (slot, count) in cell.slots {
                let (begin, end) = (slot_begin_ns(slot), slot_begin_ns(slot + 1));
                let ns = f64::midpoint(begin as f64, end as f64).max(1.0);
                let row = (ns.log10() * ROWS_PER_DECADE).floor() as u32;
                *map.entry((column, row)).or_default() += count;
            }
        }
    }
    maps
}
