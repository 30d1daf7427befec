//! The cost sheet: what a measured phase took, all roles together.

use super::sheet::Show::{Count, Fine, Plain, Ratio, Tenth};
use super::sheet::{Cell, heading};
use super::trial_table::{Column, Line, Lines, Origin, Placed, column, write};
use kvdyno_analysis::catalogue as c;
use kvdyno_analysis::efficiency::Efficiency;

const S: f64 = 1e-9;
const KB: f64 = 1e-3;
const US: f64 = 1e-3;

const COLUMNS: [Column; 42] = [
    column("wall", "wall, s", Fine, Origin::Figure(&c::WALL, S)),
    column(
        "operations",
        "operations of all roles",
        Count,
        Origin::Phase(|spent, _| Ok(spent.operations() as f64)),
    ),
    column("user", "user, s", Fine, Origin::Figure(&c::CPU_USER, S)),
    column("system", "sys, s", Fine, Origin::Figure(&c::CPU_SYSTEM, S)),
    column(
        "cpu_each",
        "CPU, us/op",
        Ratio,
        Origin::Formula(&c::CPU_PER_OP, KB, "({user}+{system})*1000000/{operations}"),
    ),
    column(
        "cpu",
        "CPU, %",
        Tenth,
        Origin::Formula(&c::CPU_PERCENT, 1.0, "100*({user}+{system})/{wall}"),
    ),
    column(
        "voluntary",
        "ctx switches voluntary",
        Count,
        Origin::Figure(&c::SWITCHES_VOLUNTARY, 1.0),
    ),
    column(
        "involuntary",
        "ctx switches involuntary",
        Count,
        Origin::Figure(&c::SWITCHES_INVOLUNTARY, 1.0),
    ),
    column(
        "switches_each",
        "ctx switches/op",
        Fine,
        Origin::Formula(&c::SWITCHES_PER_OP, 1.0, "({voluntary}+{involuntary})/{operations}"),
    ),
    column("reads", "device reads", Count, Origin::Figure(&c::DEVICE_READS, 1.0)),
    column(
        "reads_each",
        "device reads/op",
        Fine,
        Origin::Formula(&c::DEVICE_READS_PER_OP, 1.0, "{reads}/{operations}"),
    ),
    column("read", "device read, B", Count, Origin::Figure(&c::DEVICE_READ_BYTES, 1.0)),
    column(
        "read_each",
        "device read, KB/op",
        Fine,
        Origin::Formula(&c::DEVICE_READ_BYTES_PER_OP, KB, "{read}/1000/{operations}"),
    ),
    column("writes", "device writes", Count, Origin::Figure(&c::DEVICE_WRITES, 1.0)),
    column(
        "writes_each",
        "device writes/op",
        Fine,
        Origin::Formula(&c::DEVICE_WRITES_PER_OP, 1.0, "{writes}/{operations}"),
    ),
    column("written", "device written, B", Count, Origin::Figure(&c::DEVICE_WRITE_BYTES, 1.0)),
    column(
        "written_each",
        "device written, KB/op",
        Fine,
        Origin::Formula(&c::DEVICE_WRITE_BYTES_PER_OP, KB, "{written}/1000/{operations}"),
    ),
    column(
        "shown",
        "keys+values read, B",
        Count,
        Origin::Phase(|spent, _| Ok(spent.read_bytes() as f64)),
    ),
    column(
        "given",
        "keys+values written, B",
        Count,
        Origin::Phase(|spent, _| Ok(spent.written_bytes() as f64)),
    ),
    column(
        "read_amp",
        "read amplification, B/B",
        Ratio,
        Origin::Formula(&c::READ_AMPLIFICATION, 1.0, "{read}/{shown}"),
    ),
    column(
        "write_amp",
        "write amplification, B/B",
        Ratio,
        Origin::Formula(&c::WRITE_AMPLIFICATION, 1.0, "{written}/{given}"),
    ),
    column("size", "size, B", Count, Origin::Figure(&c::DATABASE_ALLOCATED, 1.0)),
    column(
        "stored",
        "keys+values stored, B",
        Count,
        Origin::Phase(|_, case| Ok(case.case.shape.user_bytes() as f64)),
    ),
    column(
        "space_amp",
        "space amplification, B/B",
        Ratio,
        Origin::Formula(&c::SPACE_AMPLIFICATION, 1.0, "{size}/{stored}"),
    ),
    column("cached_before", "cached before, %", Tenth, Origin::Figure(&c::RESIDENT_BEFORE, 1.0)),
    column("cached_after", "cached after, %", Tenth, Origin::Figure(&c::RESIDENT_AFTER, 1.0)),
    column("data_ram", "data:RAM, B/B", Ratio, Origin::Figure(&c::DATA_TO_RAM, 1.0)),
    column("rss", "RSS peak, B", Count, Origin::Figure(&c::RSS_PEAK, 1.0)),
    column("minor", "minor faults", Count, Origin::Figure(&c::FAULTS_MINOR, 1.0)),
    column("major", "major faults", Count, Origin::Figure(&c::FAULTS_MAJOR, 1.0)),
    column("flushes", "device flushes", Count, Origin::Figure(&c::DEVICE_FLUSHES, 1.0)),
    column("busy", "device busy, %", Tenth, Origin::Figure(&c::DEVICE_BUSY, 1.0)),
    column("queue", "queue depth, mean", Ratio, Origin::Figure(&c::DEVICE_QUEUE, 1.0)),
    column("read_us", "device read, us", Ratio, Origin::Figure(&c::DEVICE_READ_LATENCY, US)),
    column("write_us", "device write, us", Ratio, Origin::Figure(&c::DEVICE_WRITE_LATENCY, US)),
    column("flush_us", "device flush, us", Ratio, Origin::Figure(&c::DEVICE_FLUSH_LATENCY, US)),
    column(
        "reads_rate",
        "device reads/s in the window",
        Count,
        Origin::Formula(&c::DEVICE_READS_PER_S, 1.0, "{reads}/{wall}"),
    ),
    column(
        "writes_rate",
        "device writes/s in the window",
        Count,
        Origin::Figure(&c::DEVICE_WRITES_PER_S, 1.0),
    ),
    column(
        "share",
        "share of the raw-device baseline, %",
        Tenth,
        Origin::Figure(&c::CEILING_SHARE, 1.0),
    ),
    column("most", "share of the drive's most, %", Tenth, Origin::Figure(&c::DRIVE_SHARE, 1.0)),
    column("sync", "sync, s", Fine, Origin::Figure(&c::SYNC_WALL, S)),
    column("steal", "stolen, %", Tenth, Origin::Figure(&c::STEAL, 1.0)),
];

/// A line for each measured phase.
pub(super) fn sheet(groups: &Lines<'_>) -> anyhow::Result<Placed> {
    let mut lines = Vec::new();
    for (at, group) in groups.engines() {
        for (run_at, run) in group.runs.iter().enumerate() {
            lines.push(Line {
                group: at,
                place: Some((at, run_at, 0)),
                about: [vec![Cell::text(&run.phase)], standing(run.efficiency.as_ref())].concat(),
                phase: &run.phase,
                at: None,
                metrics: &run.metrics,
                base: None,
                beside: None,
            });
        }
    }
    let about =
        [heading("phase", 12, Plain), heading("baseline", 16, Plain), heading("limit", 16, Plain)];
    write("Cost", &about, &COLUMNS, groups, &lines)
}

/// The ceiling that an engine is held against, and what limits it.
fn standing(efficiency: Option<&Efficiency>) -> Vec<Cell> {
    let ceiling = efficiency.and_then(|standing| standing.ceiling.as_ref());
    let limit = efficiency.and_then(|standing| standing.limit);
    vec![
        ceiling.map_or(Cell::Empty, |ceiling| Cell::text(ceiling.name())),
        limit.map_or(Cell::Empty, |limit| Cell::text(limit.word())),
    ]
}
