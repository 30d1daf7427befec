//! Which of the bare drive's cases an engine is held against.

use super::super::catalogue as c;
use super::super::group::{Group, RoleRow, RunRow};
use super::super::job::DriveJob;
use super::super::metric::{Definition, Metric, Reading};
use super::standing::{ABOVE_PERCENT, BaselineCase, ONE_IO_BYTES};
use kvdyno_record::units;
use std::collections::BTreeSet;

/// Kinds of I/O whose shares of reads lie this close are the same kind: a few writes among reads.
const SAME_MIX: f64 = 0.1;

/// Mean sizes further apart than this are other I/Os: past a few KiB a drive is bound by bytes.
const SAME_SIZE: f64 = 2.0;

/// Mean sizes of baselines that lie this close are one size.
const OF_A_SIZE: f64 = 1.1;

/// What a phase did at the device: medians.
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
            read_bytes: mean(&c::DEVICE_READ_BYTES, &c::DEVICE_READS),
            write_bytes: mean(&c::DEVICE_WRITE_BYTES, &c::DEVICE_WRITES),
            device: device.ok_or("no block device with counters under the place")?,
        })
    }

    fn all_per_s(&self) -> f64 {
        self.reads_per_s + self.writes_per_s
    }

    /// Share of reads among its I/Os; where there is none, of reads that are not there.
    fn reads(&self) -> f64 {
        if self.all_per_s() > 0.0 { self.reads_per_s / self.all_per_s() } else { 1.0 }
    }

    /// Mean size of what is compared.
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

/// Device I/Os a second, trial by trial.
fn rate(run: &RunRow, reads_alone: bool) -> Metric {
    let per_trial = |definition| run.metrics.get(definition).map_or(&[][..], |m| &m.per_trial);
    let (reads, writes) = (per_trial(&c::DEVICE_READS_PER_S), per_trial(&c::DEVICE_WRITES_PER_S));
    let why = || value(run, &c::DEVICE_READS_PER_S).err().unwrap_or_default();
    let of_trial = |(reads, writes): (&Option<f64>, &Option<f64>)| -> Reading {
        match (*reads, *writes) {
            (Some(reads), _) if reads_alone => Ok(reads),
            (Some(reads), Some(writes)) => Ok(reads + writes),
            _ => Err(why().into()),
        }
    };
    Metric::new(&c::DEVICE_READS_PER_S, reads.iter().zip(writes).map(of_trial).collect())
}

/// A case of the bare drive that others are held against.
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

/// Of a bare drive it is known how many I/Os it made itself: the device may have counted fewer
/// (mmap finds pages in memory), or more (somebody else's).
fn own_rate(run: &RunRow, share: f64, device: &Metric) -> Metric {
    let own = |trial: usize| -> Option<f64> {
        let of_role = |role: &RoleRow| {
            role.metrics.get(&c::OPS_PER_S)?.per_trial.get(trial)?.as_ref().copied()
        };
        run.roles.iter().map(of_role).sum()
    };
    let of_trial = |(trial, seen): (usize, &Option<f64>)| -> Reading {
        let both = seen.and_then(|seen| Some(seen.min(share * own(trial)?)));
        both.ok_or_else(|| "no device counters".into())
    };
    Metric::new(&c::DEVICE_READS_PER_S, device.per_trial.iter().enumerate().map(of_trial).collect())
}

/// Share of reads among a job's own operations.
fn reads_share(run: &RunRow) -> f64 {
    let (mut reads, mut all) = (0.0, 0.0);
    for (op, metrics) in run.roles.iter().flat_map(RoleRow::by_operation) {
        let per_s = metrics.value(&c::OPS_PER_S).unwrap_or(0.0);
        all += per_s;
        reads += if op == "get" { per_s } else { 0.0 };
    }
    if all > 0.0 { reads / all } else { 1.0 }
}

/// All ceilings of a run that have figures.
pub(super) fn all(groups: &[Group]) -> Vec<Ceiling> {
    let ceiling = |group: &Group, run: &RunRow| {
        let (job, share) = (run.job.clone()?, reads_share(run));
        let one_io_each = job.block_bytes <= ONE_IO_BYTES;
        let rate = |reads_alone: bool, share: f64| {
            let device = rate(run, reads_alone);
            if one_io_each { own_rate(run, share, &device) } else { device }
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
    /// Mean size of its I/Os: a job's own where each is one I/O, whoever else is at the device.
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

    pub(super) fn named(&self, reads_alone: bool) -> BaselineCase {
        let (per_s, rate) = (self.per_s(reads_alone), self.rate(reads_alone));
        let (low, high) = rate.range().unwrap_or((per_s, per_s));
        BaselineCase {
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

/// The ceilings that a phase is held against.
#[derive(Debug)]
pub(super) struct Matched {
    /// With as many in flight; none: not measured, and these were.
    pub(super) same: Result<BaselineCase, String>,
    /// The most of all that can be compared.
    pub(super) most: BaselineCase,
    /// Of reads alone: no ceiling covers the writes.
    pub(super) reads_alone: bool,
}

/// Finds the ceilings for a phase, or says why none can be compared.
pub(super) fn matched(
    run: &RunRow,
    (volume, swept): (Option<&str>, Option<u32>),
    ceilings: &[Ceiling],
) -> Result<Matched, String> {
    let own = Traffic::from_run(run)?;
    if own.all_per_s() <= 0.0 {
        return Err("it made no I/O".to_owned());
    }
    // A volume that is made anew has the name of its device from whoever was there first: two
    // filesystems can be loop0 one after the other, and one be loop0 and then loop1.
    let is_here = |ceiling: &&Ceiling| match volume {
        Some(volume) => ceiling.volume.as_deref() == Some(volume),
        None => ceiling.volume.is_none() && ceiling.traffic.device == own.device,
    };
    let here: Vec<&Ceiling> = ceilings.iter().filter(is_here).collect();
    if here.is_empty() {
        let on = volume.map_or_else(|| own.device.clone(), |name| format!("volume {name}"));
        return Err(format!("no raw-device baseline was taken on {on}"));
    }
    let (mut alike, reads_alone) = alike(&own, &here)?;
    // One that found everything in memory (mmap) says nothing of the drive.
    alike.retain(|ceiling| ceiling.per_s(reads_alone) > 0.0);
    if alike.is_empty() {
        return Err("the raw-device baselines made no I/O: they were not the drive's".to_owned());
    }
    let alike = same_size(&own, alike, reads_alone)?;
    let by_rate =
        |a: &&&Ceiling, b: &&&Ceiling| a.per_s(reads_alone).total_cmp(&b.per_s(reads_alone));
    let most = alike.iter().max_by(by_rate).ok_or("no raw-device baseline was taken")?;
    // An engine that waits for each I/O is held against what waits, where there is such a ceiling.
    let waits = run.roles.iter().all(|role| role.depth.is_none());
    let with = |in_flight: u32, blocking: bool| {
        let candidates = alike.iter().filter(|ceiling| {
            ceiling.in_flight == in_flight && (!blocking || ceiling.job.blocking)
        });
        candidates.max_by(by_rate)
    };
    let wanted = in_flight(run, &own, swept, reads_alone);
    let same = wanted
        .iter()
        .find_map(|n| waits.then(|| with(*n, true)).flatten().or_else(|| with(*n, false)));
    let same = same.map(|same| same.named(reads_alone)).ok_or_else(|| {
        let there: BTreeSet<u32> = alike.iter().map(|ceiling| ceiling.in_flight).collect();
        let there: Vec<String> = there.iter().map(ToString::to_string).collect();
        format!(
            "no raw-device baseline with {} in flight, only with {}",
            wanted[0],
            there.join(", ")
        )
    });
    Ok(Matched { same, most: most.named(reads_alone), reads_alone })
}

/// The ceilings whose I/Os are of the same kind; else those of reads, for its reads alone.
fn alike<'c>(own: &Traffic, here: &[&'c Ceiling]) -> Result<(Vec<&'c Ceiling>, bool), String> {
    let like = |reads: f64| {
        let near = move |ceiling: &&&Ceiling| (ceiling.reads_share - reads).abs() <= SAME_MIX;
        here.iter().filter(near).copied().collect::<Vec<_>>()
    };
    let same = like(own.reads());
    if !same.is_empty() {
        return Ok((same, false));
    }
    let reading = like(1.0);
    if reading.is_empty() || own.reads() < SAME_MIX {
        let writes = units::percent(1.0 - own.reads());
        return Err(format!("{writes} of its I/Os were writes: no baseline here is of such a mix"));
    }
    Ok((reading, true))
}

fn same_size<'c>(
    own: &Traffic,
    alike: Vec<&'c Ceiling>,
    reads_alone: bool,
) -> Result<Vec<&'c Ceiling>, String> {
    let Some(bytes) = own.bytes(reads_alone) else { return Ok(alike) };
    let theirs = |ceiling: &&Ceiling| ceiling.io_bytes(reads_alone);
    let apart = |theirs: f64| (theirs / bytes).max(bytes / theirs);
    let nearest = alike.iter().filter_map(theirs).min_by(|a, b| apart(*a).total_cmp(&apart(*b)));
    let Some(near) = nearest else { return Err("the baselines' sizes are not known".to_owned()) };
    if apart(near) > SAME_SIZE {
        let [own, theirs] = [bytes, near].map(|b| units::bytes(b.round() as u64));
        return Err(format!(
            "its I/Os were of {own} in the mean, the nearest baseline's of {theirs}"
        ));
    }
    let of_size = |ceiling: &&Ceiling| {
        theirs(ceiling).is_some_and(|theirs| (theirs / near).max(near / theirs) <= OF_A_SIZE)
    };
    Ok(alike.into_iter().filter(of_size).collect())
}

/// How many it may have had in flight, the best first: of all roles, since the device counts the
/// I/Os of all (an update may read first); of those whose I/Os most were; as the suite swept it.
fn in_flight(run: &RunRow, own: &Traffic, swept: Option<u32>, reads_alone: bool) -> Vec<u32> {
    let sum = |wanted: &dyn Fn(&RoleRow) -> bool| -> u32 {
        run.roles.iter().filter(|role| wanted(role)).map(RoleRow::in_flight).sum()
    };
    let most = match own.reads() {
        reads if reads_alone || reads >= 1.0 - SAME_MIX => sum(&|role| role.does.reads),
        reads if reads <= SAME_MIX => sum(&|role| role.does.writes),
        _ => sum(&|_| true),
    };
    let depth = run.roles.iter().filter_map(|role| role.depth).max().unwrap_or(1);
    let swept = swept.map(|threads| threads.saturating_mul(depth));
    let mut wanted = Vec::new();
    for n in [Some(sum(&|_| true)), Some(most), swept].into_iter().flatten() {
        if n > 0 && !wanted.contains(&n) {
            wanted.push(n);
        }
    }
    wanted
}

impl Matched {
    /// Its I/Os a second in percent of a ceiling that they pass.
    pub(super) fn above(&self, run: &RunRow, against: &BaselineCase) -> Option<f64> {
        let percent = against.percent(rate(run, self.reads_alone).value?);
        (percent > ABOVE_PERCENT).then_some(percent)
    }

    /// The shares of a ceiling, trial by trial.
    pub(super) fn shares(&self, run: &RunRow, against: &BaselineCase) -> Vec<Reading> {
        let own = rate(run, self.reads_alone);
        let why = own.missing.clone().unwrap_or_default();
        if let Some(above) = self.above(run, against) {
            let why = format!("{above:.0} % of {}, so that was not its limit", against.name());
            return vec![Err(why.into()); own.per_trial.len()];
        }
        let share = |per_s: &Option<f64>| {
            per_s.map(|per_s| against.percent(per_s)).ok_or_else(|| why.clone().into())
        };
        own.per_trial.iter().map(share).collect()
    }
}
