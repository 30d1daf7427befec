//! The cost table: what a phase took, all roles together.

use super::column::CellSource::Phase;
use super::column::{Column, Kind, export_column, figure, sheet, text};
use super::line::Line;
use super::row::engine_phases;
use crate::cell::Cell;
use crate::format::trials;
use kvdyno_analysis::figures::catalogue as c;
use kvdyno_analysis::figures::efficiency::CeilingCase;
use kvdyno_analysis::figures::explain::Cause;
use kvdyno_analysis::figures::metric::Definition;
use kvdyno_record::column::ColumnName as Asked;

const AID: &str = "\
Costs are the whole process's and the device's, so of all roles together: /op is per
operation of any, background work and the load generator included. reads, read and written are of
the whole device, not this process alone. write amp: device bytes / bytes of keys and values.
cached: share of the database in the page cache before > after. data:RAM: used bytes / RAM
limit in force (without one: the machine's memory). --wide: context switches, read amp, faults,
flushes, latency and queue of the device.";

const CLIENT_AID: &str = "
client us/op: CPU of a server's client; all other costs are then the server's, or the device's.";

const SWAP_AID: &str = "
swap in, swap out: read from and written to the swap that was made for the case.";

/// A row for each measured phase.
pub(super) static KIND: Kind = Kind {
    name: "cost",
    title: "Cost of the run, all roles together",
    sheet: "Cost",
    always: true,
    csv: true,
    engines: true,
    main: Some(&c::CPU_PER_OP),
    columns: COLUMNS,
    rows: engine_phases,
    lines: |row, _| vec![*row],
    aid: |_, _, shown| {
        let client = if shown.clients { CLIENT_AID } else { "" };
        format!("{AID}{client}{}", if shown.swaps { SWAP_AID } else { "" })
    },
};

const COLUMNS: &[Column] = &[
    text("threads", |line| line.threads_of_all()),
    text("phase", |line| line.row.phase.to_owned()).left_aligned().when(|shown| shown.phases),
    export_column("", "ceiling", "ceiling", |row| {
        Cell::text_or_empty(
            row.efficiency()
                .and_then(|efficiency| efficiency.ceiling.as_ref())
                .map(CeilingCase::name),
        )
    }),
    export_column("", "ceiling_ios_per_s", "", |row| {
        let ceiling = row.efficiency().and_then(|efficiency| efficiency.ceiling.as_ref());
        Cell::number(ceiling.map(|ceiling| ceiling.ios_per_s))
    }),
    export_column("", "limit", "limit", |row| {
        Cell::text_or_empty(
            row.efficiency().and_then(|efficiency| efficiency.limit).map(Cause::as_str),
        )
    }),
    figure(&c::WALL, "", "wall, s"),
    sheet("operations of all roles", Phase(|spent, _| spent.operations() as f64)),
    figure(&c::CPU_USER, "", "user, s"),
    figure(&c::CPU_SYSTEM, "", "sys, s"),
    text("instr.\n/op", |line| line.figure(&c::INSTRUCTIONS_PER_OP)).when(|s| s.counted),
    text("engine's\ninstr.", |line| line.figure(&c::ENGINE_INSTRUCTIONS_PER_OP))
        .when(|s| s.counted),
    figure(&c::PROCESS_INSTRUCTIONS_PER_OP, "", "instructions of the process/op"),
    figure(&c::PROCESS_CYCLES_PER_OP, "", "cycles/op"),
    figure(&c::PROCESS_CACHE_MISSES_PER_OP, "", "cache misses/op"),
    figure(&c::PROCESS_BRANCH_MISSES_PER_OP, "", "branch misses/op"),
    text("CPU\nus/op", |line| {
        let main = line.main(&c::CPU_PER_OP);
        match line.row.run.and_then(|(_, run)| run.different_mix.as_ref()) {
            Some(why) => {
                format!("{main} {}", line.notes.mark(&format!("not to be compared: {why}")))
            }
            None => main,
        }
    }),
    figure(&c::CPU_PER_OP, "", "CPU, us/op"),
    text("client\nus/op", |line| figure_or_blank(line, &c::CLIENT_CPU_PER_OP)).when(|s| s.clients),
    figure(&c::CLIENT_CPU_PER_OP, "", "client CPU, us/op"),
    figure(&c::CPU_PERCENT, "CPU\n%", "CPU, %").formula("100*({user, s}+{sys, s})/{wall, s}"),
    figure(&c::SWITCHES_VOLUNTARY, "", "ctx switches voluntary"),
    figure(&c::SWITCHES_INVOLUNTARY, "", "ctx switches involuntary"),
    figure(&c::SWITCHES_PER_OP, "ctx\n/op", "ctx switches/op").wide_only(),
    figure(&c::DEVICE_READS, "", "device reads"),
    figure(&c::DEVICE_READS_PER_OP, "reads\n/op", "device reads/op")
        .formula("{device reads}/{operations of all roles}"),
    sheet("records or keys of all roles", Phase(|spent, _| spent.items() as f64)),
    figure(&c::DEVICE_IOS_PER_RECORD, "I/Os\n/record", "device I/Os/record")
        .formula("({device reads}+{device writes})/{records or keys of all roles}")
        .optional(Asked::IosPerRecord),
    figure(&c::DEVICE_READ_BYTES_PER_OP, "read\nKB/op", "device read, KB/op")
        .formula("{device read, B}/1000/{operations of all roles}"),
    figure(&c::DEVICE_WRITE_BYTES_PER_OP, "written\nKB/op", "device written, KB/op")
        .formula("{device written, B}/1000/{operations of all roles}"),
    sheet("keys+values read, B", Phase(|spent, _| spent.read_bytes() as f64)),
    sheet("keys+values written, B", Phase(|spent, _| spent.written_bytes() as f64)),
    figure(&c::READ_AMPLIFICATION, "read\namp", "read amplification, B/B")
        .formula("{device read, B}/{keys+values read, B}")
        .wide_only(),
    figure(&c::WRITE_AMPLIFICATION, "write\namp", "write amplification, B/B")
        .formula("{device written, B}/{keys+values written, B}"),
    figure(&c::DATABASE_USED, "", "size, B"),
    figure(&c::LIVE_BYTES, "", "keys+values stored, B"),
    figure(&c::SPACE_AMPLIFICATION, "space\namp", "space amplification, B/B")
        .formula("{size, B}/{keys+values stored, B}"),
    text("cached\n%", |line| {
        let shares =
            [&c::RESIDENT_BEFORE, &c::RESIDENT_AFTER].map(|definition| line.row.value(definition));
        match shares {
            [Some(before), Some(after)] => format!("{before:.0} > {after:.0}"),
            _ => line.figure(&c::RESIDENT_AFTER),
        }
    }),
    figure(&c::RESIDENT_BEFORE, "", "cached before, %"),
    figure(&c::RESIDENT_AFTER, "", "cached after, %"),
    figure(&c::DATA_TO_RAM, "data\n:RAM", "data:RAM, B/B"),
    figure(&c::RSS_PEAK, "RSS\nMiB", "RSS peak, B"),
    figure(&c::FAULTS_MINOR, "", "minor faults"),
    figure(&c::FAULTS_MAJOR, "faults\nmajor", "major faults").wide_only(),
    figure(&c::DEVICE_WRITES, "", "device writes"),
    figure(&c::DEVICE_WRITES_PER_OP, "writes\n/op", "device writes/op")
        .formula("{device writes}/{operations of all roles}")
        .wide_only(),
    figure(&c::DEVICE_WRITE_BYTES, "written\nMiB", "device written, B").wide_only(),
    figure(&c::DEVICE_READ_BYTES, "read\nMiB", "device read, B").wide_only(),
    figure(&c::DEVICE_FLUSHES, "flushes", "device flushes").wide_only(),
    figure(&c::DEVICE_BUSY, "busy\n%", "device busy, %").wide_only(),
    figure(&c::DEVICE_QUEUE, "queue", "queue depth, mean").wide_only(),
    figure(&c::DEVICE_READ_LATENCY, "read\nus", "device read, us").wide_only(),
    figure(&c::DEVICE_WRITE_LATENCY, "write\nus", "device write, us").wide_only(),
    figure(&c::DEVICE_FLUSH_LATENCY, "flush\nus", "device flush, us").wide_only(),
    figure(&c::DEVICE_READS_PER_S, "", "device reads/s in the window"),
    figure(&c::DEVICE_WRITES_PER_S, "", "device writes/s in the window"),
    figure(&c::DEVICE_READ_BYTES_PER_S, "", "device read in the window, MB/s"),
    figure(&c::DEVICE_WRITE_BYTES_PER_S, "", "device written in the window, MB/s"),
    figure(&c::CEILING_SHARE, "", "share of the raw-device ceiling, %"),
    figure(&c::DRIVE_SHARE, "", "share of the drive's most, %"),
    figure(&c::DEFERRED, "deferred\ns", "deferred, s").wide_only(),
    figure(&c::STEAL, "stolen\n%", "stolen, %").wide_only(),
    text("n", |line| trials(line.row.metric(&c::WALL))).wide_only(),
    text("swap in\nKB/op", |line| figure_or_blank(line, &c::SWAP_IN_BYTES_PER_OP))
        .when(|s| s.swaps),
    text("swap out\nKB/op", |line| figure_or_blank(line, &c::SWAP_OUT_BYTES_PER_OP))
        .when(|s| s.swaps),
];

/// Returns a figure, or nothing where a case has no swap of its own, or no client: nothing is
/// missing there.
fn figure_or_blank(line: &mut Line<'_, '_>, definition: &Definition) -> String {
    if line.row.metric(definition).is_some() { line.figure(definition) } else { String::new() }
}
