//! The load table, with the columns of the studies.

use super::column::CellSource::{OverBase, Phase, Verdict};
use super::column::{Column, Kind, figure, main, sheet, text};
use super::row::loads;
use crate::format::{ratio_cell, trials};
use kvdyno_analysis::figures::catalogue as c;
use kvdyno_record::column::ColumnName as Asked;

const AID: &str = "\
wall includes the final sync. CPU % = (user + sys) / wall: over 100 is work in background threads,
under 100 is waiting. FS in and out are getrusage's 512-byte units: out counts pages made dirty, not
what the drive wrote, and is here because studies quote it. write amp: device bytes / bytes of keys
and values, of load and settle, up to the end of a sync; of the whole device, not this process
alone, and the drive's own come on top. vs.: records/s over those of the first engine of the same
durability class.";

const SHORT_AID: &str =
    "--wide: bytes written and read, space amp, settle and sync, faults, RSS, the device's queue.";

/// A row for each load.
pub(super) static KIND: Kind = Kind {
    name: "load",
    title: "Load",
    sheet: "Load",
    always: true,
    csv: true,
    engines: true,
    main: Some(&c::WALL),
    columns: COLUMNS,
    rows: |summary| loads(summary).filter(|row| !row.group.bare_drive).collect(),
    lines: |row, _| vec![*row],
    aid: |_, rows, shown| {
        let short = if shown.wide { String::new() } else { format!("\n{SHORT_AID}") };
        format!("{AID}{}{short}", shown.volume_note(rows))
    },
};

const COLUMNS: &[Column] = &[
    text("threads", |line| line.threads_swept()).when(|shown| shown.swept),
    main(&c::WALL, "wall", "wall, s"),
    figure(&c::CPU_USER, "user", "user, s"),
    figure(&c::CPU_SYSTEM, "sys", "sys, s"),
    figure(&c::CPU_PERCENT, "CPU\n%", "CPU, %").formula("100*({user, s}+{sys, s})/{wall, s}"),
    figure(&c::DATABASE_USED, "size\nMiB", "size, B"),
    figure(&c::SWITCHES_VOLUNTARY, "ctx\nvol", "ctx switches voluntary"),
    figure(&c::SWITCHES_INVOLUNTARY, "ctx\ninvol", "ctx switches involuntary"),
    figure(&c::FS_INPUTS, "FS\nin", "FS in, 512 B"),
    figure(&c::FS_OUTPUTS, "FS\nout", "FS out, 512 B"),
    sheet("keys+values written, B", Phase(|spent, _| spent.written_bytes() as f64)),
    figure(&c::WRITE_AMPLIFICATION, "write\namp", "write amplification, B/B")
        .formula("{device written (load+settle), B}/{keys+values written, B}"),
    sheet("records loaded", Phase(|spent, case| spent.records(&case.case.data))),
    text("instr.\n/record", |line| line.figure(&c::INSTRUCTIONS_PER_OP)).when(|s| s.counted),
    text("engine's\ninstr.", |line| line.figure(&c::ENGINE_INSTRUCTIONS_PER_OP))
        .when(|s| s.counted),
    figure(&c::RECORDS_PER_S, "records/s", "records/s")
        .formula("{records loaded}/{rate window, s}"),
    text("vs.\n{base}", |line| ratio_cell(line.row.relative())),
    text("vs.\nvol", |line| ratio_cell(line.row.relative_volume())).when(|shown| shown.volume),
    sheet("vs. base", OverBase(|over| Some(over.ratio))),
    sheet("vs. base, low", OverBase(|over| over.low)),
    sheet("vs. base, high", OverBase(|over| over.high)),
    sheet("verdict vs. base", Verdict),
    figure(&c::USER_BYTES_PER_S, "MB/s", "keys+values, MB/s")
        .formula("{keys+values written, B}/1000000/{rate window, s}")
        .optional(Asked::MbPerS),
    figure(&c::DEVICE_IOS_PER_RECORD, "I/Os\n/record", "device I/Os/record")
        .optional(Asked::IosPerRecord),
    figure(&c::FS_OUTPUTS_PER_RECORD, "FS out\n/record", "FS out/record, 512 B")
        .formula("{FS out, 512 B}/{records loaded}")
        .wide_only(),
    figure(&c::DEVICE_WRITE_BYTES, "written\nMiB", "device written (load+settle), B").wide_only(),
    figure(&c::LIVE_BYTES, "", "keys+values stored, B"),
    figure(&c::SPACE_AMPLIFICATION, "space\namp", "space amplification, B/B")
        .formula("{size, B}/{keys+values stored, B}")
        .wide_only(),
    figure(&c::DEFERRED, "deferred\ns", "deferred, s").wide_only(),
    figure(&c::BURST_RECORDS_PER_S, "burst\nrec/s", "burst, records/s").wide_only(),
    figure(&c::RATE_WINDOW, "", "rate window, s"),
    figure(&c::DEVICE_WRITE_BYTES_LOAD, "of it\nload", "of device written: load, B").wide_only(),
    figure(&c::DEVICE_WRITE_BYTES_SETTLE, "of it\nsettle", "of device written: settle, B")
        .wide_only(),
    figure(&c::DEVICE_READ_BYTES, "read\nMiB", "device read, B").wide_only(),
    figure(&c::FAULTS_MAJOR, "faults\nmajor", "major faults").wide_only(),
    figure(&c::RSS_PEAK, "RSS\nMiB", "RSS peak, B").wide_only(),
    figure(&c::DEVICE_BUSY, "busy\n%", "device busy, %").wide_only(),
    figure(&c::DEVICE_QUEUE, "queue", "queue depth, mean").wide_only(),
    figure(&c::DEVICE_WRITE_LATENCY, "write\nus", "device write, us").wide_only(),
    figure(&c::DEVICE_FLUSH_LATENCY, "flush\nus", "device flush, us").wide_only(),
    text("n", |line| trials(line.row.metric(&c::WALL))).wide_only(),
];
