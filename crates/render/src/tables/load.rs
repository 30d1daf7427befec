//! The load table, with the columns of the studies.

use super::super::table::{Side, Table};
use super::number::{
    beside, clock, grouped, mebibytes, microseconds, ratio, seconds, trials, whole,
};
use super::{Axes, Cells, Titled, base_title, by_volume, engines, with_base};
use kvdyno_analysis::catalogue as c;
use kvdyno_analysis::group::{Group, LoadRow};
use kvdyno_analysis::summary::Summary;

const LOAD_AID: &str = "\
wall includes the final sync. CPU % = (user + sys) / wall: over 100 is work in background threads,
under 100 is waiting. FS in and out are getrusage's 512-byte units: out counts pages made dirty, not
what the drive wrote, and is here because studies quote it. write amp: device bytes / bytes of keys
and values, of load and settle, up to the end of a sync; of the whole device, not this process
alone, and the drive's own come on top. vs.: records/s over those of the first engine of the same
durability class.";

const SHORT_AID: &str =
    "--wide: bytes written and read, space amp, settle and sync, faults, RSS, the device's queue.";

/// One line for each load.
pub(super) fn load(summary: &Summary, axes: &Axes, wide: bool) -> Titled {
    use Side::Right;
    let swept = engines(summary).any(|group| group.load.is_some() && group.threads.is_some());
    let mut columns = axes.columns();
    if swept {
        columns.push(("threads", Right));
    }
    columns.extend([
        ("wall", Right),
        ("user", Right),
        ("sys", Right),
        ("CPU\n%", Right),
        ("size\nMiB", Right),
        ("ctx\nvol", Right),
        ("ctx\ninvol", Right),
        ("FS\nin", Right),
        ("FS\nout", Right),
        ("write\namp", Right),
        ("records/s", Right),
        ("vs.\nbase", Right),
    ]);
    if axes.volume {
        columns.push(("vs.\nvol", Right));
    }
    if wide {
        columns.extend([
            ("FS out\n/record", Right),
            ("written\nMiB", Right),
            ("space\namp", Right),
            ("settle\ns", Right),
            ("of it\nload", Right),
            ("of it\nsettle", Right),
            ("sync\ns", Right),
            ("read\nMiB", Right),
            ("faults\nmajor", Right),
            ("RSS\nMiB", Right),
            ("busy\n%", Right),
            ("queue", Right),
            ("write\nus", Right),
            ("flush\nus", Right),
            ("n", Right),
        ]);
    }
    let besides = engines(summary).filter_map(|group| group.load.as_ref()?.beside.as_ref());
    let base = base_title(besides);
    let mut table = Table::titled(with_base(columns, &base));
    for group in engines(summary) {
        if let Some(load) = &group.load {
            let mut cells = axes.cells(group);
            if swept {
                cells.push(group.threads.map_or_else(|| "-".to_owned(), |n| n.to_string()));
            }
            cells.extend(load_cells(&mut table, group, load, (axes.volume, wide)));
            table.row(&cells);
        }
    }
    let mut aid = LOAD_AID.to_owned();
    if axes.volume {
        let loads = engines(summary).filter_map(|group| group.load.as_ref());
        aid += &by_volume(loads.into_iter().find_map(|load| load.beside_volume.as_ref()));
    }
    if !wide {
        aid += &format!("\n{SHORT_AID}");
    }
    Titled { name: "load", title: "Load", table, aid }
}

fn load_cells(
    table: &mut Table,
    group: &Group,
    load: &LoadRow,
    (volumes, wide): (bool, bool),
) -> Vec<String> {
    let mut row = Cells::new(table, group, &load.metrics, &c::WALL);
    let mut cells = vec![
        row.main(clock),
        row.figure(&c::CPU_USER, clock),
        row.figure(&c::CPU_SYSTEM, clock),
        row.figure(&c::CPU_PERCENT, whole),
        row.figure(&c::DATABASE_ALLOCATED, mebibytes),
        row.figure(&c::SWITCHES_VOLUNTARY, whole),
        row.figure(&c::SWITCHES_INVOLUNTARY, whole),
        row.figure(&c::FS_INPUTS, whole),
        row.figure(&c::FS_OUTPUTS, whole),
        row.figure(&c::WRITE_AMPLIFICATION, ratio),
        row.figure(&c::RECORDS_PER_S, grouped),
        beside(load.beside.as_ref()),
    ];
    if volumes {
        cells.push(beside(load.beside_volume.as_ref()));
    }
    if wide {
        cells.extend([
            row.figure(&c::FS_OUTPUTS_PER_RECORD, ratio),
            row.figure(&c::DEVICE_WRITE_BYTES, mebibytes),
            row.figure(&c::SPACE_AMPLIFICATION, ratio),
            row.figure(&c::SETTLE_WALL, seconds),
            row.figure(&c::DEVICE_WRITE_BYTES_LOAD, mebibytes),
            row.figure(&c::DEVICE_WRITE_BYTES_SETTLE, mebibytes),
            row.figure(&c::SYNC_WALL, seconds),
            row.figure(&c::DEVICE_READ_BYTES, mebibytes),
            row.figure(&c::FAULTS_MAJOR, whole),
            row.figure(&c::RSS_PEAK, mebibytes),
            row.figure(&c::DEVICE_BUSY, ratio),
            row.figure(&c::DEVICE_QUEUE, ratio),
            row.figure(&c::DEVICE_WRITE_LATENCY, microseconds),
            row.figure(&c::DEVICE_FLUSH_LATENCY, microseconds),
            trials(load.metrics.get(&c::WALL)),
        ]);
    }
    cells
}
