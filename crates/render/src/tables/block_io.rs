//! The table of block I/O, where it was watched.

use super::super::table::{Side, Table};
use super::number::{microseconds, ratio};
use super::{Axes, Titled};
use kvdyno_analysis::block_io::{IoRow, PhaseIo};
use kvdyno_analysis::group::several;
use kvdyno_analysis::summary::Summary;
use kvdyno_record::blockio::IoKind;
use kvdyno_record::units;

const AID: &str = "\
Requests as the kernel handed them to the device's driver and had them completed, all trials
together; the wait in its scheduler before that is not in the times. ours: the worker, its server,
kvdyno. kernel: writeback, journals and flushes, on whose behalf it does not say. /write: per
operation that writes. FUA: durable without a flush. Times are within 7 %, by slots of 12.5 %; max
is the end of the slot. --wide: per operation of any role, and rows below 1 % of the requests.";

/// Rows with a smaller share of their phase's requests are left out, but flushes.
const RARE: f64 = 0.01;

/// A line for each device, kind and owner.
pub(super) fn block_io(summary: &Summary, axes: &Axes, wide: bool) -> Titled {
    use Side::{Left, Right};
    let devices = several(rows(summary).map(|(_, row)| row.device.as_str()));
    let mut columns = axes.columns();
    columns.extend([("threads", Right), ("phase", Left)]);
    if devices {
        columns.push(("device", Left));
    }
    columns.extend([("kind", Left), ("by", Left), ("I/Os", Right)]);
    if wide {
        columns.push(("/op", Right));
    }
    columns.extend([
        ("/write", Right),
        ("KB", Right),
        ("FUA", Right),
        ("p50\nus", Right),
        ("p99\nus", Right),
        ("max\nus", Right),
    ]);
    let mut table = Table::new(columns);
    for (phase, row) in rows(summary).filter(|(phase, row)| wide || !is_rare(phase, row)) {
        let Some(group) = summary.groups.get(phase.group) else { continue };
        let mut cells = axes.cells(group);
        cells.push(group.threads.map_or_else(|| "-".to_owned(), |threads| threads.to_string()));
        cells.push(phase.phase.clone());
        if devices {
            cells.push(row.device.clone());
        }
        cells.extend(figures(phase, row, wide));
        table.row(&cells);
    }
    let mut aid = AID.to_owned();
    for phase in summary.block_io.iter().filter(|phase| phase.lost + phase.lost_of_log > 0) {
        let label = summary.groups.get(phase.group).map_or("", |group| group.label.as_str());
        aid += &format!(
            "\nLost in {} of {label}: {} requests of the counts, {} lines of the log.",
            phase.phase,
            units::grouped(phase.lost),
            units::grouped(phase.lost_of_log)
        );
    }
    Titled { name: "io", title: "Block I/O, as the kernel saw it", table, aid }
}

fn is_rare(phase: &PhaseIo, row: &IoRow) -> bool {
    let all: u64 = phase.rows.iter().map(|row| row.count).sum();
    row.kind != IoKind::Flush && (row.count as f64) < RARE * all as f64
}

fn rows(summary: &Summary) -> impl Iterator<Item = (&PhaseIo, &IoRow)> {
    summary.block_io.iter().flat_map(|phase| phase.rows.iter().map(move |row| (phase, row)))
}

fn figures(phase: &PhaseIo, row: &IoRow, wide: bool) -> Vec<String> {
    let none = || "-".to_owned();
    let per = |many: u64| match many {
        0 => none(),
        many => ratio(row.count as f64 / many as f64),
    };
    let writes = matches!(row.kind, IoKind::Write | IoKind::Metadata | IoKind::Flush);
    let mut cells =
        vec![row.kind.word().to_owned(), row.owner.word().to_owned(), units::grouped(row.count)];
    if wide {
        cells.push(per(phase.operations));
    }
    cells.extend([
        if writes { per(phase.writes) } else { none() },
        ratio(row.bytes as f64 / row.count.max(1) as f64 / 1e3),
        units::grouped(row.fua),
        row.latency_ns_p50.map_or_else(none, microseconds),
        row.latency_ns_p99.map_or_else(none, microseconds),
        microseconds(row.latency_ns_max as f64),
    ]);
    cells
}
