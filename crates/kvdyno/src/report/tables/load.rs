//! The load table, with the columns of the studies.

use super::super::catalogue as c;
use super::super::group::{Group, LoadRow};
use super::super::summary::Summary;
use super::super::table::{Side, Table};
use super::number::{beside, bytes, clock, grouped, ratio, time, trials, whole};
use super::{Axes, Cells, Titled};

const LOAD_AID: &str = "\
wall includes the final sync. CPU % = (user + sys) / wall: over 100 is work in background threads,
under 100 is waiting. FS in and out are getrusage's 512-byte units: out counts pages made dirty, not
what the drive wrote, and is here because studies quote it. device written and write amp (device
bytes / bytes of keys and values) cover load and settle, up to the end of a sync; the device counts
everybody's writes, and the drive's own come on top. x base: records/s over the first engine's of
the same durability class.";

/// One line for each load.
pub(super) fn load(summary: &Summary, axes: &Axes, wide: bool) -> Titled {
    use Side::Right;
    let swept = summary.groups.iter().any(|group| group.load.is_some() && group.threads.is_some());
    let mut columns = axes.columns();
    if swept {
        columns.push(("threads", Right));
    }
    columns.extend([
        ("wall", Right),
        ("user", Right),
        ("sys", Right),
        ("CPU\n%", Right),
        ("size", Right),
        ("ctx\nvol", Right),
        ("ctx\ninvol", Right),
        ("FS in", Right),
        ("FS out", Right),
        ("FS out\n/record", Right),
        ("device\nwritten", Right),
        ("write\namp", Right),
        ("settle", Right),
        ("records/s", Right),
        ("x base", Right),
    ]);
    if wide {
        columns.extend([
            ("of it\nload", Right),
            ("of it\nsettle", Right),
            ("sync", Right),
            ("device\nread", Right),
            ("space\namp", Right),
            ("faults\nmajor", Right),
            ("RSS\npeak", Right),
            ("n", Right),
        ]);
    }
    let mut table = Table::new(columns);
    for group in &summary.groups {
        if let Some(load) = &group.load {
            let mut cells = axes.cells(group);
            if swept {
                cells.push(group.threads.map_or_else(|| "-".to_owned(), |n| n.to_string()));
            }
            cells.extend(load_cells(&mut table, group, load, wide));
            table.row(&cells);
        }
    }
    Titled { title: "Load", table, aid: LOAD_AID.to_owned() }
}

fn load_cells(table: &mut Table, group: &Group, load: &LoadRow, wide: bool) -> Vec<String> {
    let mut row = Cells::new(table, group, &load.metrics, &c::WALL);
    let mut cells = vec![
        row.main(clock),
        row.figure(&c::CPU_USER, clock),
        row.figure(&c::CPU_SYSTEM, clock),
        row.figure(&c::CPU_PERCENT, whole),
        row.figure(&c::DATABASE_ALLOCATED, bytes),
        row.figure(&c::SWITCHES_VOLUNTARY, whole),
        row.figure(&c::SWITCHES_INVOLUNTARY, whole),
        row.figure(&c::FS_INPUTS, whole),
        row.figure(&c::FS_OUTPUTS, whole),
        row.figure(&c::FS_OUTPUTS_PER_RECORD, ratio),
        row.figure(&c::DEVICE_WRITE_BYTES, bytes),
        row.figure(&c::WRITE_AMPLIFICATION, ratio),
        row.figure(&c::SETTLE_WALL, time),
        row.figure(&c::RECORDS_PER_S, grouped),
        beside(load.beside.as_ref()),
    ];
    if wide {
        cells.extend([
            row.figure(&c::DEVICE_WRITE_BYTES_LOAD, bytes),
            row.figure(&c::DEVICE_WRITE_BYTES_SETTLE, bytes),
            row.figure(&c::SYNC_WALL, time),
            row.figure(&c::DEVICE_READ_BYTES, bytes),
            row.figure(&c::SPACE_AMPLIFICATION, ratio),
            row.figure(&c::FAULTS_MAJOR, whole),
            row.figure(&c::RSS_PEAK, bytes),
            trials(load.metrics.get(&c::WALL)),
        ]);
    }
    cells
}
