//! What operations and machine did over a phase.

use super::mark::{self, Mark, MarkTotal};
use super::thin::{round_digits, stride};
use crate::machine_rates::{MEBI, MachineRates, RATE_S_MIN, seconds_between};
use kvdyno_analysis::figures::evidence::CaseEvidence;
use kvdyno_record::case::PhaseRecord;
use kvdyno_record::engine::EngineEvent;
use kvdyno_record::files::{CaseDir, Lines, RecordError};
use kvdyno_record::operations::OpInfo;
use kvdyno_record::series::{MachineReading, Slice};
use kvdyno_record::usage::{DatabaseSize, Snapshot};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// One phase of one trial over time. All times are seconds since the phase began.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TimeLine {
    /// Index of the group in the summary.
    pub group: usize,
    /// Number of the trial.
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
    /// Background work of the engine; where there is very much, the longest.
    pub marks: Vec<Mark>,
    /// Totals of all such work, by its kind.
    pub mark_totals: Vec<MarkTotal>,
}

/// A role's operations.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RoleLine {
    /// The role.
    pub role: String,
    /// Operations per second.
    pub ops_per_s: Vec<f64>,
    /// The longest service time; null: there was no operation.
    pub max_ns: Vec<Option<u64>>,
}

/// The machine's readings; null: not known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct MachineLine {
    /// When each reading was taken. Rates are since the reading before.
    pub at_s: Vec<f64>,
    /// CPU time of the process over wall time.
    pub cpu_percent: Vec<Option<f64>>,
    /// Read at the device, in 10^6 bytes.
    pub read_mb_per_s: Vec<Option<f64>>,
    /// Written at the device, in 10^6 bytes.
    pub write_mb_per_s: Vec<Option<f64>>,
    /// Reads per second at the device.
    pub read_iops: Vec<Option<f64>>,
    /// Writes per second at the device.
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
    /// Bytes used on the volume.
    pub database_mib: Vec<Option<f64>>,
}

/// Reads the time lines of a case's phases, also of a case that failed: that is where the failure
/// shows.
pub(super) fn read(
    group: usize,
    case: &CaseEvidence,
    dir: &CaseDir,
    most: usize,
) -> Result<Vec<TimeLine>, RecordError> {
    let Some(record) = &case.record else { return Ok(Vec::new()) };
    let lines = LineCounts::read(&dir.path.join("series.ndjson"))?;
    let mut operations = Operations::read(dir, &lines, most, |_| true)?;
    let lines = LineCounts::read(&dir.path.join("machine.ndjson"))?;
    let machine = readings(dir, &lines, most, |_| true)?;
    let events: Vec<EngineEvent> = dir.events()?.collect::<Result<_, _>>()?;
    let spans = mark::job_spans(&events);
    let shown = |phase: &&PhaseRecord| {
        ["load", "settle", "measure"].contains(&phase.kind.as_str()) && phase.wall_ns > 0
    };
    let line = |phase: &PhaseRecord| {
        let (end_s, roles) = operations.remove(&phase.name).unwrap_or_default().lines();
        let began = phase.started_unix_ns;
        let window = (began, began.saturating_add(phase.wall_ns));
        let (marks, mark_totals) = mark::phase_marks(&events, &spans, window);
        let machine = machine.get(&phase.name).map_or(&[][..], |read| &read.kept);
        let last = (&phase.after, None, phase.database);
        TimeLine {
            group,
            trial: case.case.trial,
            phase: phase.name.clone(),
            kind: phase.kind.clone(),
            wall_s: round_digits(phase.wall_ns as f64 / 1e9, 5),
            end_s,
            roles,
            machine: machine_line(began, &phase.before, machine, Some(last)),
            marks,
            mark_totals,
        }
    };
    Ok(record.phases.iter().filter(shown).map(line).collect())
}

/// The phase of a line, and nothing else of it.
#[derive(Deserialize)]
struct OfPhase {
    phase: String,
}

/// Number of lines of each phase in a file, so that how many become one is known before they are
/// read.
#[derive(Debug, Default)]
pub(super) struct LineCounts {
    by_phase: BTreeMap<String, usize>,
    /// The phase of the last line.
    pub(super) last: Option<String>,
}

impl LineCounts {
    pub(super) fn read(path: &Path) -> Result<Self, RecordError> {
        let mut counts = Self::default();
        for line in Lines::<OfPhase>::open(path)? {
            let phase = line?.phase;
            if counts.last.as_ref() != Some(&phase) {
                counts.last = Some(phase.clone());
            }
            *counts.by_phase.entry(phase).or_insert(0) += 1;
        }
        Ok(counts)
    }

    fn stride(&self, phase: &str, most: usize) -> usize {
        stride(self.by_phase.get(phase).copied().unwrap_or(0), most)
    }
}

/// When each slice of a phase ended, and what each role did in it; neighbours become one while they
/// are read.
#[derive(Debug, Default)]
pub(super) struct Operations {
    stride: usize,
    slices: usize,
    end_ns: Vec<u64>,
    length_ns: Vec<u64>,
    /// Points of each role, in the order in which roles appear.
    roles: Vec<(String, Vec<Point>)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Point {
    count: u64,
    longest_ns: Option<u64>,
}

impl Operations {
    /// Reads the operations of the phases that `select` accepts, `most` points each.
    pub(super) fn read(
        dir: &CaseDir,
        lines: &LineCounts,
        most: usize,
        select: impl Fn(&str) -> bool,
    ) -> Result<BTreeMap<String, Self>, RecordError> {
        let mut phases: BTreeMap<String, Self> = BTreeMap::new();
        for slice in dir.series()? {
            let slice = slice?;
            if !select(&slice.phase) {
                continue;
            }
            let stride = || lines.stride(&slice.phase, most);
            let new = || Self { stride: stride(), ..Self::default() };
            phases.entry(slice.phase.clone()).or_insert_with(new).add(&slice);
        }
        Ok(phases)
    }

    fn add(&mut self, slice: &Slice) {
        if self.slices.is_multiple_of(self.stride) {
            self.end_ns.push(0);
            self.length_ns.push(0);
            self.roles.iter_mut().for_each(|(_, points)| points.push(Point::default()));
        }
        self.slices += 1;
        let at = self.end_ns.len() - 1;
        let end = slice.start_ns.saturating_add(slice.length_ns);
        self.end_ns[at] = self.end_ns[at].max(end);
        self.length_ns[at] = self.length_ns[at].saturating_add(slice.length_ns);
        for (name, ops) in &slice.roles {
            let other = self.roles.iter().position(|(other, _)| other == name);
            let role = other.unwrap_or_else(|| {
                self.roles.push((name.clone(), vec![Point::default(); at + 1]));
                self.roles.len() - 1
            });
            let point = &mut self.roles[role].1[at];
            let summed = ops.iter().filter(|(name, _)| OpInfo::is_summed(name)).map(|(_, op)| op);
            for op in summed.filter(|op| op.count > 0) {
                point.count = point.count.saturating_add(op.count);
                point.longest_ns = point.longest_ns.max(Some(op.service_ns_max));
            }
        }
    }

    /// Returns the ends of the slices, and the lines of the roles.
    pub(super) fn lines(self) -> (Vec<f64>, Vec<RoleLine>) {
        let end_s = self.end_ns.iter().map(|ns| round_digits(*ns as f64 / 1e9, 6)).collect();
        let role = |(role, points): (String, Vec<Point>)| {
            let per_s = points.iter().zip(&self.length_ns).map(|(point, length)| {
                round_digits(point.count as f64 * 1e9 / (*length).max(1) as f64, 4)
            });
            let longest =
                |point: &Point| point.longest_ns.map(|ns| round_digits(ns as f64, 3) as u64);
            RoleLine {
                role,
                ops_per_s: per_s.collect(),
                max_ns: points.iter().map(longest).collect(),
            }
        };
        (end_s, self.roles.into_iter().map(role).collect())
    }
}

/// A phase's readings of the machine.
#[derive(Debug, Default)]
pub(super) struct Readings {
    seen: usize,
    /// The first reading.
    pub(super) first: Option<Snapshot>,
    /// The last reading of each few neighbours.
    pub(super) kept: Vec<MachineReading>,
}

/// Reads the machine's readings of the phases that `select` accepts, at most `most` of each.
/// Counters only grow: leaving readings out between two loses nothing of the mean.
pub(super) fn readings(
    dir: &CaseDir,
    lines: &LineCounts,
    most: usize,
    select: impl Fn(&str) -> bool,
) -> Result<BTreeMap<String, Readings>, RecordError> {
    let mut phases: BTreeMap<String, Readings> = BTreeMap::new();
    for reading in dir.machine()? {
        let reading = reading?;
        if !select(&reading.phase) {
            continue;
        }
        let stride = lines.stride(&reading.phase, most);
        let phase = phases.entry(reading.phase.clone()).or_default();
        let Readings { seen, first, kept } = phase;
        first.get_or_insert_with(|| reading.reading.clone());
        match kept.last_mut().filter(|_| !seen.is_multiple_of(stride)) {
            Some(last) => {
                let rss_bytes = last.rss_bytes.max(reading.rss_bytes);
                let database = reading.database.or(last.database);
                *last = MachineReading { rss_bytes, database, ..reading };
            }
            None => kept.push(reading),
        }
        *seen += 1;
    }
    Ok(phases)
}

/// A reading, the memory resident, the database's size.
type Reading<'r> = (&'r Snapshot, Option<u64>, Option<DatabaseSize>);

/// Returns the line of the machine's readings. `last` is the phase's own reading at its end; none:
/// the phase goes on.
pub(super) fn machine_line<'r>(
    began_unix_ns: u64,
    mut before: &'r Snapshot,
    readings: &'r [MachineReading],
    last: Option<Reading<'r>>,
) -> MachineLine {
    let mut line = MachineLine::default();
    let read = readings.iter().map(|read| (&read.reading, read.rss_bytes, read.database));
    for (now, rss, database) in space_readings(before, read, last) {
        let since = now.at_unix_ns.saturating_sub(began_unix_ns) as f64 / 1e9;
        line.at_s.push((since * 1e3).round() / 1e3);
        let rates = MachineRates::between(before, now);
        let in_unit =
            |value: Option<f64>, unit: f64| value.map(|value| round_digits(value / unit, 4));
        line.cpu_percent.push(in_unit(rates.cpu_percent, 1.0));
        line.read_mb_per_s.push(in_unit(rates.read_bytes_per_s, 1e6));
        line.write_mb_per_s.push(in_unit(rates.write_bytes_per_s, 1e6));
        line.read_iops.push(in_unit(rates.reads_per_s, 1.0));
        line.write_iops.push(in_unit(rates.writes_per_s, 1.0));
        line.read_us.push(in_unit(rates.read_us, 1.0));
        line.write_us.push(in_unit(rates.write_us, 1.0));
        line.flush_us.push(in_unit(rates.flush_us, 1.0));
        line.queue_depth.push(in_unit(rates.queue_depth, 1.0));
        line.rss_mib.push(in_unit(rss.map(|bytes| bytes as f64), MEBI));
        let used = database.map(|size| size.used_bytes as f64);
        line.database_mib.push(used.map(|bytes| round_digits(bytes / MEBI, 5)));
        before = now;
    }
    line
}

/// Returns the readings that lie far enough apart. A closing reading that does not replaces the one
/// before it, so that nothing of what was read last is lost.
fn space_readings<'r>(
    mut before: &'r Snapshot,
    readings: impl Iterator<Item = Reading<'r>>,
    last: Option<Reading<'r>>,
) -> Vec<Reading<'r>> {
    let mut spaced: Vec<Reading<'r>> = Vec::new();
    for reading in readings {
        if seconds_between(before, reading.0) >= RATE_S_MIN {
            before = reading.0;
            spaced.push(reading);
        }
    }
    let Some((now, rss, database)) = last else { return spaced };
    if seconds_between(before, now) >= RATE_S_MIN {
        spaced.push((now, rss, database));
    } else if let Some(point) = spaced.last_mut().filter(|_| now.at_unix_ns > before.at_unix_ns) {
        *point = (now, point.1.max(rss), database.or(point.2));
    }
    spaced
}

#[cfg(test)]
mod tests {
    use super::*;
    use kvdyno_record::series::SliceCounts;
    use kvdyno_record::usage::DeviceUsage;

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
        let mut operations = Operations { stride: 2, ..Operations::default() };
        (0..10).for_each(|at| operations.add(&slice(at, at * 10, at * 100)));
        let (end_s, roles) = operations.lines();
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
        let size = |used_bytes| Some(DatabaseSize { used_bytes, ..Default::default() });
        let reading = |ms, megabytes| MachineReading {
            phase: "measure".to_owned(),
            reading: at(ms, megabytes),
            rss_bytes: Some(3 << 20),
            database: size(1 << 20),
        };
        let readings = [reading(10, 0), reading(1000, 1), reading(2000, 2)];
        let (before, after) = (at(0, 0), at(2010, 12));
        let last = Some((&after, None, size(9 << 20)));
        let line = machine_line(0, &before, &readings, last);
        assert_eq!(line.at_s, [1.0, 2.01]);
        assert_eq!(line.write_mb_per_s, [Some(1.0), Some(10.89)]);
        assert_eq!(line.rss_mib, [Some(3.0), Some(3.0)]);
        assert_eq!(line.database_mib, [Some(1.0), Some(9.0)]);
    }
}
