//! Which of the bare drive's cases an engine is compared with.

use super::standing::{ABOVE_PERCENT, CeilingCase, ONE_IO_BYTES};
use crate::figures::catalogue as c;
use crate::figures::group::{Group, RoleRow, RunRow};
use crate::figures::job::DriveJob;
use crate::figures::metric::{Definition, Metric, Reading};
use crate::figures::rates::window_rate;
use kvdyno_record::units;
use std::collections::BTreeSet;

/// Loads whose shares of reads differ by less have the same mix: a few writes among reads.
const SAME_MIX: f64 = 0.1;

/// Mean sizes that differ by a larger factor are not compared: past a few KiB bytes bind a drive.
const SAME_SIZE: f64 = 2.0;

/// Mean sizes of ceilings that differ by less count as one size.
const SIZE_TOLERANCE: f64 = 1.1;

/// The traffic of a phase at the device: medians of its trials.
#[derive(Clone, Debug)]
struct Traffic {
    device: String,
    reads_per_s: f64,
    writes_per_s: f64,
    /// Mean sizes; none without such I/Os.
    read_bytes: Option<f64>,
    write_bytes: Option<f64>,
}

impl Traffic {
    fn from_run(run: &RunRow) -> Result<Self, String> {
        let device = run.device.clone();
        let mean = |bytes, ios| {
            let (bytes, ios) = (value(run, bytes).ok()?, value(run, ios).ok()?);
            (ios > 0.0).then(|| bytes / ios)
        };
        Ok(Self {
            reads_per_s: value(run, &c::DEVICE_READS_PER_S)?,
            writes_per_s: value(run, &c::DEVICE_WRITES_PER_S)?,
            read_bytes: mean(&c::DEVICE_READ_BYTES_PER_S, &c::DEVICE_READS_PER_S),
            write_bytes: mean(&c::DEVICE_WRITE_BYTES_PER_S, &c::DEVICE_WRITES_PER_S),
            device: device.ok_or("the data directory's block device has no counters")?,
        })
    }

    fn all_per_s(&self) -> f64 {
        self.reads_per_s + self.writes_per_s
    }

    /// Share of reads among its I/Os; 1 without any I/O.
    fn reads(&self) -> f64 {
        if self.all_per_s() > 0.0 { self.reads_per_s / self.all_per_s() } else { 1.0 }
    }

    /// Mean size of the I/Os that are compared.
    fn bytes(&self, reads_alone: bool) -> Option<f64> {
        if reads_alone || self.reads() >= 0.5 { self.read_bytes } else { self.write_bytes }
    }
}

/// A figure's median, or why there is none.
pub(super) fn value(run: &RunRow, definition: &'static Definition) -> Result<f64, String> {
    let metric = run.metrics.get(definition);
    let missing = || metric.and_then(|metric| metric.missing.clone());
    let value = metric.and_then(|metric| metric.value);
    value.ok_or_else(|| missing().unwrap_or_else(|| "no figure".to_owned()))
}

/// Device I/Os per second, for each trial.
fn rate(run: &RunRow, reads_alone: bool) -> Metric {
    let per_trial = |definition| run.metrics.get(definition).map_or(&[][..], |m| &m.per_trial);
    let (reads, writes) = (per_trial(&c::DEVICE_READS_PER_S), per_trial(&c::DEVICE_WRITES_PER_S));
    let why = || value(run, &c::DEVICE_READS_PER_S).err().unwrap_or_default();
    let read = |(reads, writes): (&Option<f64>, &Option<f64>)| -> Reading {
        match (*reads, *writes) {
            (Some(reads), _) if reads_alone => Ok(reads),
            (Some(reads), Some(writes)) => Ok(reads + writes),
            _ => Err(why().into()),
        }
    };
    Metric::new(&c::DEVICE_READS_PER_S, reads.iter().zip(writes).map(read).collect())
}

/// A case of the bare drive that engines are compared with.
#[derive(Debug)]
pub(super) struct Ceiling {
    label: String,
    volume: Option<String>,
    job: DriveJob,
    in_flight: u32,
    traffic: Traffic,
    /// Share of reads among its own I/Os.
    reads_share: f64,
    all: Metric,
    reads: Metric,
}

/// Limits the device's rate to the job's own: a bare drive counts its own I/Os. The device may have
/// counted fewer (mmap finds pages in memory), or more (another process's).
fn cap_at_own_rate(run: &RunRow, share: f64, device: &Metric) -> Metric {
    let own_per_s = |trial: usize| -> Option<f64> {
        let of_role =
            |role: &RoleRow| window_rate(&role.metrics)?.per_trial.get(trial)?.as_ref().copied();
        run.roles.iter().map(of_role).sum()
    };
    let of_trial = |(trial, counted): (usize, &Option<f64>)| -> Reading {
        let both = counted.and_then(|counted| Some(counted.min(share * own_per_s(trial)?)));
        both.ok_or_else(|| "no device counters".into())
    };
    Metric::new(&c::DEVICE_READS_PER_S, device.per_trial.iter().enumerate().map(of_trial).collect())
}

/// Share of reads among a job's own operations.
fn reads_share(run: &RunRow) -> f64 {
    let (mut reads, mut all) = (0.0, 0.0);
    for (op, metrics) in run.roles.iter().flat_map(RoleRow::metrics_by_operation) {
        let per_s = window_rate(metrics).and_then(|metric| metric.value).unwrap_or(0.0);
        all += per_s;
        reads += if op == "get" { per_s } else { 0.0 };
    }
    if all > 0.0 { reads / all } else { 1.0 }
}

/// All ceilings of a run that have figures.
pub(super) fn all(groups: &[Group]) -> Vec<Ceiling> {
    let ceiling = |group: &Group, run: &RunRow| {
        // A job with a rate or pauses did not do what the drive can do.
        let job = run.job.clone().filter(|_| !run.roles.iter().any(|role| role.paced))?;
        let share = reads_share(run);
        let one_io_each = job.block_bytes <= ONE_IO_BYTES;
        let rate = |reads_alone: bool, share: f64| {
            let device = rate(run, reads_alone);
            if one_io_each { cap_at_own_rate(run, share, &device) } else { device }
        };
        Some(Ceiling {
            label: group.label.clone(),
            volume: group.volume.clone(),
            in_flight: run.roles.iter().map(RoleRow::in_flight).sum(),
            traffic: Traffic::from_run(run).ok()?,
            reads_share: share,
            all: rate(false, 1.0),
            reads: rate(true, share),
            job,
        })
    };
    let ceilings = groups.iter().filter(|group| group.ceiling);
    ceilings.flat_map(|group| group.runs.iter().filter_map(|run| ceiling(group, run))).collect()
}

impl Ceiling {
    /// Mean size of its I/Os: the job's own where each is one I/O, as others may use the device.
    fn io_bytes(&self, reads_alone: bool) -> Option<f64> {
        if self.job.block_bytes <= ONE_IO_BYTES {
            return Some(self.job.block_bytes as f64);
        }
        self.traffic.bytes(reads_alone)
    }

    fn rate(&self, reads_alone: bool) -> &Metric {
        if reads_alone { &self.reads } else { &self.all }
    }

    fn per_s(&self, reads_alone: bool) -> f64 {
        self.rate(reads_alone).value.unwrap_or(0.0)
    }

    pub(super) fn to_case(&self, reads_alone: bool) -> CeilingCase {
        let (per_s, rate) = (self.per_s(reads_alone), self.rate(reads_alone));
        let (low, high) = rate.range().unwrap_or((per_s, per_s));
        CeilingCase {
            job: self.label.clone(),
            volume: self.volume.clone(),
            method: self.job.method.clone(),
            blocking: self.job.blocking,
            block_bytes: self.job.block_bytes,
            in_flight: self.in_flight,
            reads_share: self.reads_share,
            ios_per_s: per_s,
            ios_per_s_low: low,
            ios_per_s_high: high,
            n: rate.n,
        }
    }
}

/// The ceilings that a phase is compared with.
#[derive(Debug)]
pub(super) struct Matched {
    /// The ceiling with as many I/Os in flight, or why there is none.
    pub(super) equal: Result<CeilingCase, String>,
    /// The highest of all comparable ceilings.
    pub(super) most: CeilingCase,
    /// Compares reads alone: no ceiling covers the writes.
    pub(super) reads_alone: bool,
}

/// Finds the ceilings for a phase, or the reason why none is comparable.
pub(super) fn match_ceilings(
    run: &RunRow,
    volume: Option<&str>,
    swept: Option<u32>,
    ceilings: &[Ceiling],
) -> Result<Matched, String> {
    let traffic = Traffic::from_run(run)?;
    if traffic.all_per_s() <= 0.0 {
        return Err("it made no I/O".to_owned());
    }
    // A volume that is made anew gets the next free device: two filesystems can be loop0 one after
    // the other, and one can be loop0 and then loop1.
    let on_volume = |ceiling: &&Ceiling| match volume {
        Some(volume) => ceiling.volume.as_deref() == Some(volume),
        None => ceiling.volume.is_none() && ceiling.traffic.device == traffic.device,
    };
    let ceilings: Vec<&Ceiling> = ceilings.iter().filter(on_volume).collect();
    if ceilings.is_empty() {
        let drive = volume.map_or_else(|| traffic.device.clone(), |name| format!("volume {name}"));
        return Err(format!("no raw-device ceiling was taken on {drive}"));
    }
    let (mut candidates, reads_alone) = with_same_mix(&traffic, &ceilings)?;
    // A ceiling that found everything in memory (mmap) did not measure the drive.
    candidates.retain(|ceiling| ceiling.per_s(reads_alone) > 0.0);
    if candidates.is_empty() {
        return Err("the raw-device ceilings made no I/O: they were not the drive's".to_owned());
    }
    let candidates = with_same_size(&traffic, candidates, reads_alone)?;
    let by_rate =
        |a: &&&Ceiling, b: &&&Ceiling| a.per_s(reads_alone).total_cmp(&b.per_s(reads_alone));
    let most = candidates.iter().max_by(by_rate).ok_or("no raw-device ceiling was taken")?;
    // For an engine that waits for each I/O, a ceiling that waits comes first.
    let waits = run.roles.iter().all(|role| role.depth.is_none());
    let with = |in_flight: u32, blocking: bool| {
        let equal = candidates.iter().filter(|ceiling| {
            ceiling.in_flight == in_flight && (!blocking || ceiling.job.blocking)
        });
        equal.max_by(by_rate)
    };
    let depths = likely_depths(run, &traffic, swept, reads_alone);
    let equal = depths
        .iter()
        .find_map(|n| waits.then(|| with(*n, true)).flatten().or_else(|| with(*n, false)));
    let equal = equal.map(|equal| equal.to_case(reads_alone)).ok_or_else(|| {
        let measured: BTreeSet<u32> = candidates.iter().map(|ceiling| ceiling.in_flight).collect();
        let measured: Vec<String> = measured.iter().map(ToString::to_string).collect();
        format!(
            "no raw-device ceiling with {} in flight, only with {}",
            depths[0],
            measured.join(", ")
        )
    });
    Ok(Matched { equal, most: most.to_case(reads_alone), reads_alone })
}

/// The ceilings with the same mix of reads and writes; else those of reads, and true: reads alone.
fn with_same_mix<'c>(
    traffic: &Traffic,
    ceilings: &[&'c Ceiling],
) -> Result<(Vec<&'c Ceiling>, bool), String> {
    let with_reads = |reads: f64| {
        let near = move |ceiling: &&&Ceiling| (ceiling.reads_share - reads).abs() <= SAME_MIX;
        ceilings.iter().filter(near).copied().collect::<Vec<_>>()
    };
    let equal = with_reads(traffic.reads());
    if !equal.is_empty() {
        return Ok((equal, false));
    }
    let reading = with_reads(1.0);
    if reading.is_empty() || traffic.reads() < SAME_MIX {
        let writes = units::percent(1.0 - traffic.reads());
        return Err(format!("{writes} of its I/Os were writes: no ceiling has such a mix"));
    }
    Ok((reading, true))
}

fn with_same_size<'c>(
    traffic: &Traffic,
    ceilings: Vec<&'c Ceiling>,
    reads_alone: bool,
) -> Result<Vec<&'c Ceiling>, String> {
    let Some(bytes) = traffic.bytes(reads_alone) else { return Ok(ceilings) };
    let size = |ceiling: &&Ceiling| ceiling.io_bytes(reads_alone);
    let factor = |size: f64| (size / bytes).max(bytes / size);
    let nearest = ceilings.iter().filter_map(size).min_by(|a, b| factor(*a).total_cmp(&factor(*b)));
    let Some(near) = nearest else { return Err("the ceilings' sizes are unknown".to_owned()) };
    if factor(near) > SAME_SIZE {
        let [mean, ceiling] = [bytes, near].map(|b| units::bytes(b.round() as u64));
        return Err(format!(
            "its I/Os have {mean} on average, those of the nearest ceiling {ceiling}"
        ));
    }
    let of_size = |ceiling: &&Ceiling| {
        size(ceiling).is_some_and(|size| (size / near).max(near / size) <= SIZE_TOLERANCE)
    };
    Ok(ceilings.into_iter().filter(of_size).collect())
}

/// How many I/Os it may have had in flight, the best guess first: those of all roles, since the
/// device counts all I/Os (an update may read first); those of the roles that made most I/Os; the
/// number that the suite swept.
fn likely_depths(
    run: &RunRow,
    traffic: &Traffic,
    swept: Option<u32>,
    reads_alone: bool,
) -> Vec<u32> {
    let sum = |counts: &dyn Fn(&RoleRow) -> bool| -> u32 {
        run.roles.iter().filter(|role| counts(role)).map(RoleRow::in_flight).sum()
    };
    let most = match traffic.reads() {
        reads if reads_alone || reads >= 1.0 - SAME_MIX => sum(&|role| role.does.reads),
        reads if reads <= SAME_MIX => sum(&|role| role.does.writes),
        _ => sum(&|_| true),
    };
    let depth = run.roles.iter().filter_map(|role| role.depth).max().unwrap_or(1);
    let swept = swept.map(|threads| threads.saturating_mul(depth));
    let mut depths = Vec::new();
    for n in [Some(sum(&|_| true)), Some(most), swept].into_iter().flatten() {
        if n > 0 && !depths.contains(&n) {
            depths.push(n);
        }
    }
    depths
}

impl Matched {
    /// Its I/Os per second in percent of a ceiling; none up to `ABOVE_PERCENT`.
    pub(super) fn above_percent(&self, run: &RunRow, against: &CeilingCase) -> Option<f64> {
        let percent = against.percent(rate(run, self.reads_alone).value?);
        (percent > ABOVE_PERCENT).then_some(percent)
    }

    /// The shares of a ceiling, for each trial.
    pub(super) fn trial_shares(&self, run: &RunRow, against: &CeilingCase) -> Vec<Reading> {
        let rate = rate(run, self.reads_alone);
        let why = rate.missing.clone().unwrap_or_default();
        if let Some(above) = self.above_percent(run, against) {
            let why = format!("{above:.0} % of {}, so that was not its limit", against.name());
            return vec![Err(why.into()); rate.per_trial.len()];
        }
        let share = |per_s: &Option<f64>| {
            per_s.map(|per_s| against.percent(per_s)).ok_or_else(|| why.clone().into())
        };
        rate.per_trial.iter().map(share).collect()
    }
}
