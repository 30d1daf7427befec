//! What operations and machine did over a phase.

use super::mark::{self, Mark, MarkTotal};
use super::thin::{rounded, stride};
use crate::report::evidence::CaseEvidence;
use kvdyno_record::case::PhaseRecord;
use kvdyno_record::files::{CaseFolder, RecordError};
use kvdyno_record::series::{MachineReading, Slice};
use kvdyno_record::usage::{DatabaseSize, DeviceUsage, Snapshot};
use schemars::JsonSchema;
use serde::Serialize;

const MEBI: f64 = 1_048_576.0;
/// Rates over less are noise: the first reading is taken right after the phase's own.
const RATE_S_MIN: f64 = 0.05;

/// One phase of one trial over time. All times are seconds since the phase began.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TimeLine {
    /// Which of the summary's groups.
    pub group: usize,
    /// Which trial.
    pub trial: u32,
    /// The phase.
    pub phase: String,
    /// `load`, `settle`, `measure`.
    pub kind: String,
    /// Its length.
    pub wall_s: f64,
    /// When each slice ended.
    pub end_s: Vec<f64>,
    /// Each role's operations, a value for each slice.
    pub roles: Vec<RoleLine>,
    /// The machine's readings.
    pub machine: MachineLine,
    /// What the engine did inside; of very much the longest.
    pub marks: Vec<Mark>,
    /// All of that by its kind.
    pub mark_totals: Vec<MarkTotal>,
}

/// A role's operations.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RoleLine {
    /// The role.
    pub role: String,
    /// Operations a second.
    pub ops_per_s: Vec<f64>,
    /// The longest service time; null: there was no operation.
    pub max_ns: Vec<Option<u64>>,
}

/// The machine's readings; null: not known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct MachineLine {
    /// When each was taken. Rates are since the one before.
    pub at_s: Vec<f64>,
    /// CPU time of the process over wall time.
    pub cpu_percent: Vec<Option<f64>>,
    /// Read at the device, in 10^6 bytes.
    pub read_mb_per_s: Vec<Option<f64>>,
    /// Written at the device, in 10^6 bytes.
    pub write_mb_per_s: Vec<Option<f64>>,
    /// Reads a second at the device.
    pub read_iops: Vec<Option<f64>>,
    /// Writes a second at the device.
    pub write_iops: Vec<Option<f64>>,
    /// Mean time of a read at the device; null: it did none.
    pub read_us: Vec<Option<f64>>,
    /// Mean time of a write at the device.
    pub write_us: Vec<Option<f64>>,
    /// Mean time of a flush of the device's cache.
    pub flush_us: Vec<Option<f64>>,
    /// Requests in flight at the device, in the mean.
    pub queue_depth: Vec<Option<f64>>,
    /// Memory resident in the process.
    pub rss_mib: Vec<Option<f64>>,
    /// Bytes allocated on the volume.
    pub database_mib: Vec<Option<f64>>,
}

/// The time lines of a case's phases; of a case that failed as well: that is where it shows.
pub(super) fn read(
    group: usize,
    case: &CaseEvidence,
    folder: &CaseFolder,
    most: usize,
) -> Result<Vec<TimeLine>, RecordError> {
    let Some(record) = &case.record else { return Ok(Vec::new()) };
    let (series, machine) = (folder.series()?, folder.machine()?);
    let events = folder.events()?;
    let spans = mark::spans(&events);
    let shown = |phase: &&PhaseRecord| {
        ["load", "settle", "measure"].contains(&phase.kind.as_str()) && phase.wall_ns > 0
    };
    let line = |phase: &PhaseRecord| {
        let slices: Vec<&Slice> = series.iter().filter(|slice| slice.phase == phase.name).collect();
        let readings: Vec<&MachineReading> =
            machine.iter().filter(|reading| reading.phase == phase.name).collect();
        let (end_s, roles) = operations(&slices, most);
        let began = phase.started_unix_ns;
        let window = (began, began.saturating_add(phase.wall_ns));
        let (marks, mark_totals) = mark::within(&events, &spans, window);
        TimeLine {
            group,
            trial: case.case.trial,
            phase: phase.name.clone(),
            kind: phase.kind.clone(),
            wall_s: rounded(phase.wall_ns as f64 / 1e9, 5),
            end_s,
            roles,
            machine: {
                let last = (&phase.after, None, phase.database);
                readings_of(began, &phase.before, &readings, Some(last), most)
            },
            marks,
            mark_totals,
        }
    };
    Ok(record.phases.iter().filter(shown).map(line).collect())
}

/// When each slice ended, and what each role did in it.
pub(super) fn operations(slices: &[&Slice], most: usize) -> (Vec<f64>, Vec<RoleLine>) {
    let chunks: Vec<&[&Slice]> = slices.chunks(stride(slices.len(), most)).collect();
    let end = |slice: &Slice| slice.start_ns + slice.length_ns;
    let end_s = |chunk: &&[&Slice]| {
        let last = chunk.iter().map(|slice| end(slice)).max().unwrap_or(0);
        rounded(last as f64 / 1e9, 6)
    };
    let mut names: Vec<&str> = Vec::new();
    for name in slices.iter().flat_map(|slice| slice.roles.keys()) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let role = |name: &&str| {
        let (mut ops_per_s, mut max_ns) = (Vec::new(), Vec::new());
        for chunk in &chunks {
            let length: u64 = chunk.iter().map(|slice| slice.length_ns).sum();
            let ops =
                || chunk.iter().filter_map(|slice| slice.roles.get(*name)).flat_map(|r| r.values());
            let count: u64 = ops().map(|op| op.count).sum();
            ops_per_s.push(rounded(count as f64 * 1e9 / length.max(1) as f64, 4));
            let longest = ops().filter(|op| op.count > 0).map(|op| op.service_ns_max).max();
            max_ns.push(longest.map(|ns| rounded(ns as f64, 3) as u64));
        }
        RoleLine { role: (*name).to_owned(), ops_per_s, max_ns }
    };
    (chunks.iter().map(end_s).collect(), names.iter().map(role).collect())
}

/// A reading, the memory resident, the database's size.
type Reading<'r> = (&'r Snapshot, Option<u64>, Option<DatabaseSize>);

/// Counters only grow: leaving readings out between two loses nothing of the mean. The phase's own
/// reading at its end is the last; while it goes on there is none.
pub(super) fn readings_of<'r>(
    began_unix_ns: u64,
    mut before: &'r Snapshot,
    readings: &[&'r MachineReading],
    last: Option<Reading<'r>>,
    most: usize,
) -> MachineLine {
    let stride = stride(readings.len(), most);
    let mut line = MachineLine::default();
    let chunks = readings.chunks(stride).filter_map(|chunk| {
        let rss = chunk.iter().filter_map(|reading| reading.rss_bytes).max();
        let database = chunk.iter().rev().find_map(|reading| reading.database);
        Some((&chunk.last()?.reading, rss, database))
    });
    for (now, rss, database) in apart(before, chunks, last) {
        let passed = seconds_between(before, now);
        let since = now.at_unix_ns.saturating_sub(began_unix_ns) as f64 / 1e9;
        line.at_s.push((since * 1e3).round() / 1e3);
        let rate = |read: fn(&Snapshot) -> Option<u64>, unit: f64| {
            let grown = read(now)?.saturating_sub(read(before)?);
            Some(rounded(grown as f64 / unit / passed, 4))
        };
        line.cpu_percent.push(rate(cpu_ns, 1e7));
        line.read_mb_per_s.push(rate(|s| Some(s.device.as_ref()?.read_bytes), 1e6));
        line.write_mb_per_s.push(rate(|s| Some(s.device.as_ref()?.write_bytes), 1e6));
        line.read_iops.push(rate(|s| Some(s.device.as_ref()?.reads), 1.0));
        line.write_iops.push(rate(|s| Some(s.device.as_ref()?.writes), 1.0));
        line.read_us.push(mean_us(before, now, |d| Some((d.read_ns, d.reads))));
        line.write_us.push(mean_us(before, now, |d| Some((d.write_ns, d.writes))));
        line.flush_us.push(mean_us(before, now, |d| Some((d.flush_ns?, d.flushes?))));
        line.queue_depth.push(rate(|s| Some(s.device.as_ref()?.queue_ns), 1e9));
        line.rss_mib.push(rss.map(|bytes| rounded(bytes as f64 / MEBI, 4)));
        let allocated = database.map(|size| size.allocated_bytes);
        line.database_mib.push(allocated.map(|bytes| rounded(bytes as f64 / MEBI, 5)));
        before = now;
    }
    line
}

/// Those readings that lie far enough apart. A closing one that does not takes the place of the one
/// before it: nothing of what was read last is lost.
fn apart<'r>(
    mut before: &'r Snapshot,
    readings: impl Iterator<Item = Reading<'r>>,
    last: Option<Reading<'r>>,
) -> Vec<Reading<'r>> {
    let mut kept: Vec<Reading<'r>> = Vec::new();
    for reading in readings {
        if seconds_between(before, reading.0) >= RATE_S_MIN {
            before = reading.0;
            kept.push(reading);
        }
    }
    let Some((now, rss, database)) = last else { return kept };
    if seconds_between(before, now) >= RATE_S_MIN {
        kept.push((now, rss, database));
    } else if let Some(point) = kept.last_mut().filter(|_| now.at_unix_ns > before.at_unix_ns) {
        *point = (now, point.1.max(rss), database.or(point.2));
    }
    kept
}

fn seconds_between(before: &Snapshot, now: &Snapshot) -> f64 {
    now.at_unix_ns.saturating_sub(before.at_unix_ns) as f64 / 1e9
}

/// Microseconds of each of what the device did between two readings; none where it did none.
fn mean_us(
    before: &Snapshot,
    now: &Snapshot,
    read: fn(&DeviceUsage) -> Option<(u64, u64)>,
) -> Option<f64> {
    let of = |snapshot: &Snapshot| snapshot.device.as_ref().and_then(read);
    let ((ns_before, before), (ns, count)) = (of(before)?, of(now)?);
    let (ns, count) = (ns.checked_sub(ns_before)?, count.checked_sub(before)?);
    (count > 0).then(|| rounded(ns as f64 / 1e3 / count as f64, 4))
}

fn cpu_ns(snapshot: &Snapshot) -> Option<u64> {
    let process = snapshot.process.as_ref()?;
    Some(process.user_ns + process.system_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kvdyno_record::series::SliceCounts;

    fn slice(at: u64, count: u64, max: u64) -> Slice {
        let counts = SliceCounts { count, service_ns_max: max, ..SliceCounts::default() };
        Slice {
            phase: "measure".to_owned(),
            slice: at,
            start_ns: at * 1_000_000_000,
            length_ns: 1_000_000_000,
            roles: [("readers".to_owned(), [("get".to_owned(), counts)].into())].into(),
        }
    }

    #[test]
    fn slices_that_become_one_keep_their_mean_and_their_longest() {
        let slices: Vec<Slice> = (0..10).map(|at| slice(at, at * 10, at * 100)).collect();
        let slices: Vec<&Slice> = slices.iter().collect();
        let (end_s, roles) = operations(&slices, 5);
        assert_eq!(end_s, [2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(roles[0].ops_per_s, [5.0, 25.0, 45.0, 65.0, 85.0]);
        assert_eq!(roles[0].max_ns[0], Some(100));
        assert_eq!(roles[0].max_ns[4], Some(900));
    }

    /// A megabyte written each second, and ten at once at the very end.
    #[test]
    fn the_closing_reading_is_kept_however_near_it_is() {
        let at = |ms: u64, megabytes: u64| {
            let write_bytes = megabytes * 1_000_000;
            let device = Some(DeviceUsage { write_bytes, ..DeviceUsage::default() });
            Snapshot { at_unix_ns: ms * 1_000_000, device, ..Snapshot::default() }
        };
        let size = |allocated_bytes| Some(DatabaseSize { allocated_bytes, ..Default::default() });
        let reading = |ms, megabytes| MachineReading {
            phase: "measure".to_owned(),
            reading: at(ms, megabytes),
            rss_bytes: Some(3 << 20),
            database: size(1 << 20),
        };
        let readings = [reading(10, 0), reading(1000, 1), reading(2000, 2)];
        let readings: Vec<&MachineReading> = readings.iter().collect();
        let (before, after) = (at(0, 0), at(2010, 12));
        let last = Some((&after, None, size(9 << 20)));
        let line = readings_of(0, &before, &readings, last, 100);
        assert_eq!(line.at_s, [1.0, 2.01]);
        assert_eq!(line.write_mb_per_s, [Some(1.0), Some(10.89)]);
        assert_eq!(line.rss_mib, [Some(3.0), Some(3.0)]);
        assert_eq!(line.database_mib, [Some(1.0), Some(9.0)]);
    }
}
