//! Block I/O over time: how many requests of a kind took how long in each slice.

use super::heat::{Cells, ROWS_PER_DECADE, latency_row, to_two_digits};
use super::thin::{round_digits, stride};
use kvdyno_analysis::figures::evidence::CaseEvidence;
use kvdyno_record::blockio::{BlockIoReading, IoKind, IoOwner, slot_begin_ns};
use kvdyno_record::files::{CaseDir, RecordError};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// How long requests took, over the time of one phase of one trial; all devices together.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct BlockHeat {
    /// Index of the group in the summary.
    pub group: usize,
    /// Number of the trial.
    pub trial: u32,
    /// The phase.
    pub phase: String,
    /// The kind of request.
    pub kind: IoKind,
    /// The owner of the request.
    pub owner: IoOwner,
    /// Length of a column.
    pub column_s: f64,
    /// Number of columns.
    pub columns: usize,
    /// Rows for each factor of ten: row `r` begins at 10^(r / this) ns.
    pub rows_per_decade: f64,
    /// Column, row and number of requests, rounded to two digits.
    pub cells: Vec<(usize, u32, u64)>,
}

/// Reads the maps of a case: one for each timed phase, kind and owner.
pub(super) fn read(
    group: usize,
    case: &CaseEvidence,
    dir: &CaseDir,
    columns: usize,
) -> Result<Vec<BlockHeat>, RecordError> {
    let Some(record) = &case.record else { return Ok(Vec::new()) };
    let slice_ns = case.case.slice_ns.max(1);
    let mut timed: BTreeMap<&str, Maps> = BTreeMap::new();
    for phase in &record.phases {
        if case.shown_phase(&phase.name).is_some() {
            let stride = stride((phase.wall_ns / slice_ns) as usize + 1, columns);
            let column_ns = slice_ns.saturating_mul(stride as u64);
            let began = phase.started_unix_ns;
            timed.insert(&phase.name, Maps { began, column_ns, ..Maps::default() });
        }
    }
    for reading in dir.block_io_readings()? {
        let reading = reading?;
        if let Some(maps) = timed.get_mut(reading.phase.as_str()) {
            maps.add(reading);
        }
    }
    let in_order = record.phases.iter().filter_map(|phase| timed.remove_entry(phase.name.as_str()));
    let maps = in_order.flat_map(|(phase, Maps { drawn, column_ns, .. })| {
        drawn.into_iter().map(move |((kind, owner), cells)| BlockHeat {
            group,
            trial: case.case.trial,
            phase: phase.to_owned(),
            kind,
            owner,
            column_s: round_digits(column_ns as f64 / 1e9, 4),
            columns: cells.keys().map(|(column, _)| column + 1).max().unwrap_or(0),
            rows_per_decade: ROWS_PER_DECADE,
            cells: to_two_digits(cells),
        })
    });
    Ok(maps.collect())
}

/// The maps of a phase while they are made.
#[derive(Debug, Default)]
struct Maps {
    began: u64,
    column_ns: u64,
    last: Option<BlockIoReading>,
    drawn: BTreeMap<(IoKind, IoOwner), Cells>,
}

impl Maps {
    /// Adds the requests between the last reading and this one, in the column of the middle between
    /// them.
    fn add(&mut self, reading: BlockIoReading) {
        if let Some(last) = &self.last {
            let middle = u64::midpoint(last.at_unix_ns, reading.at_unix_ns);
            let column = (middle.saturating_sub(self.began) / self.column_ns.max(1)) as usize;
            for cell in reading.io.since(&last.io).cells {
                let map = self.drawn.entry((cell.kind, cell.owner)).or_default();
                for (slot, count) in cell.slots {
                    let (begin, end) = (slot_begin_ns(slot), slot_begin_ns(slot + 1));
                    let row = latency_row(f64::midpoint(begin as f64, end as f64));
                    *map.entry((column, row)).or_default() += count;
                }
            }
        }
        self.last = Some(reading);
    }
}
