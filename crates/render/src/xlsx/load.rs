//! The load sheet, with the columns of the studies.

use super::sheet::Show::{Count, Fine, Plain, Ratio, Tenth};
use super::trial_table::{Column, Line, Lines, Origin, Placed, column, write};
use kvdyno_analysis::catalogue as c;

const S: f64 = 1e-9;

const COLUMNS: [Column; 27] = [
    column("wall", "wall, s", Fine, Origin::Figure(&c::WALL, S)),
    column("user", "user, s", Fine, Origin::Figure(&c::CPU_USER, S)),
    column("system", "sys, s", Fine, Origin::Figure(&c::CPU_SYSTEM, S)),
    column(
        "cpu",
        "CPU, %",
        Tenth,
        Origin::Formula(&c::CPU_PERCENT, 1.0, "100*({user}+{system})/{wall}"),
    ),
    column("loaded", "records loaded", Count, Origin::Phase(|spent, _| Ok(spent.items() as f64))),
    column("rate", "records/s", Count, Origin::Formula(&c::RECORDS_PER_S, 1.0, "{loaded}/{wall}")),
    column("over", "x base", Ratio, Origin::OverBase("rate", 1.0)),
    column("percent", "% of base", Tenth, Origin::OverBase("rate", 100.0)),
    column("verdict", "beside the base", Plain, Origin::Verdict),
    column("size", "size, B", Count, Origin::Figure(&c::DATABASE_ALLOCATED, 1.0)),
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
    column("inputs", "FS in, 512 B", Count, Origin::Figure(&c::FS_INPUTS, 1.0)),
    column("outputs", "FS out, 512 B", Count, Origin::Figure(&c::FS_OUTPUTS, 1.0)),
    column(
        "outputs_each",
        "FS out/record, 512 B",
        Fine,
        Origin::Formula(&c::FS_OUTPUTS_PER_RECORD, 1.0, "{outputs}/{loaded}"),
    ),
    column(
        "given",
        "keys+values written, B",
        Count,
        Origin::Phase(|spent, _| Ok(spent.written_bytes() as f64)),
    ),
    column(
        "written",
        "device written (load+settle), B",
        Count,
        Origin::Figure(&c::DEVICE_WRITE_BYTES, 1.0),
    ),
    column(
        "write_amp",
        "write amplification, B/B",
        Ratio,
        Origin::Formula(&c::WRITE_AMPLIFICATION, 1.0, "{written}/{given}"),
    ),
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
    column("settle", "settle, s", Fine, Origin::Figure(&c::SETTLE_WALL, S)),
    column("sync", "sync, s", Fine, Origin::Figure(&c::SYNC_WALL, S)),
    column(
        "load_written",
        "of device written: load, B",
        Count,
        Origin::Figure(&c::DEVICE_WRITE_BYTES_LOAD, 1.0),
    ),
    column(
        "settle_written",
        "of device written: settle, B",
        Count,
        Origin::Figure(&c::DEVICE_WRITE_BYTES_SETTLE, 1.0),
    ),
    column("read", "device read, B", Count, Origin::Figure(&c::DEVICE_READ_BYTES, 1.0)),
    column("faults", "major faults", Count, Origin::Figure(&c::FAULTS_MAJOR, 1.0)),
    column("rss", "RSS peak, B", Count, Origin::Figure(&c::RSS_PEAK, 1.0)),
];

/// A line for each load.
pub(super) fn sheet(groups: &Lines<'_>) -> anyhow::Result<Placed> {
    let mut lines: Vec<Line<'_>> = Vec::new();
    for (at, (group, _)) in groups.groups.iter().enumerate() {
        let Some(load) = group.load.as_ref().filter(|_| !group.bare_drive) else { continue };
        let peer = |line: &Line<'_>| {
            let other = groups.groups[line.group].0;
            other.competes() && other.load_peers == group.load_peers
        };
        let base = lines.iter().position(peer).unwrap_or(lines.len());
        lines.push(Line {
            group: at,
            place: Some((at, 0, 0)),
            about: Vec::new(),
            phase: &load.phase,
            at: None,
            metrics: &load.metrics,
            base: group.competes().then_some(base),
            beside: load.beside.as_ref(),
        });
    }
    write("Load", &[], &COLUMNS, groups, &lines)
}
