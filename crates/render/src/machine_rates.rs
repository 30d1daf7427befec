//! What the machine did from one reading of its counters to the next.

use kvdyno_record::usage::{DeviceUsage, Snapshot};

pub(crate) const MEBI: f64 = 1_048_576.0;

/// Rates over fewer seconds are noise: the first reading is taken right after the phase's own.
pub(crate) const RATE_S_MIN: f64 = 0.05;

/// Rates and means between two readings; none where a counter is not known, or nothing was done.
pub(crate) struct MachineRates {
    /// CPU time of the process over wall time.
    pub(crate) cpu_percent: Option<f64>,
    /// CPUs that the hypervisor took away, in the mean.
    pub(crate) stolen_cpus: Option<f64>,
    /// Reads at the device, as is all that follows.
    pub(crate) reads_per_s: Option<f64>,
    pub(crate) read_bytes_per_s: Option<f64>,
    pub(crate) writes_per_s: Option<f64>,
    pub(crate) write_bytes_per_s: Option<f64>,
    pub(crate) flushes_per_s: Option<f64>,
    pub(crate) read_us: Option<f64>,
    pub(crate) write_us: Option<f64>,
    pub(crate) flush_us: Option<f64>,
    pub(crate) busy_percent: Option<f64>,
    /// Requests in flight, in the mean.
    pub(crate) queue_depth: Option<f64>,
}

impl MachineRates {
    pub(crate) fn between(before: &Snapshot, now: &Snapshot) -> Self {
        let seconds = seconds_between(before, now);
        let rate = |read: &dyn Fn(&Snapshot) -> Option<u64>| {
            Some(read(now)?.saturating_sub(read(before)?) as f64 / seconds)
        };
        let both = before.device.as_ref().zip(now.device.as_ref());
        let counted = both.map(|(before, now)| now.since(before));
        let device =
            |read: fn(&DeviceUsage) -> Option<u64>| Some(read(counted.as_ref()?)? as f64 / seconds);
        let mean_us = |read: fn(&DeviceUsage) -> Option<(u64, u64)>| {
            let (ns, count) = read(counted.as_ref()?)?;
            (count > 0).then(|| ns as f64 / 1e3 / count as f64)
        };
        let cpu = |snapshot: &Snapshot| {
            let process = snapshot.engine()?;
            Some(process.user_ns + process.system_ns)
        };
        Self {
            cpu_percent: rate(&cpu).map(|ns| ns / 1e7),
            stolen_cpus: rate(&|snapshot| snapshot.steal_ns).map(|ns| ns / 1e9),
            reads_per_s: device(|d| Some(d.reads)),
            read_bytes_per_s: device(|d| Some(d.read_bytes)),
            writes_per_s: device(|d| Some(d.writes)),
            write_bytes_per_s: device(|d| Some(d.write_bytes)),
            flushes_per_s: device(|d| d.flushes),
            read_us: mean_us(|d| Some((d.read_ns, d.reads))),
            write_us: mean_us(|d| Some((d.write_ns, d.writes))),
            flush_us: mean_us(|d| Some((d.flush_ns?, d.flushes?))),
            busy_percent: device(|d| Some(d.busy_ns)).map(|ns| ns / 1e7),
            queue_depth: device(|d| Some(d.queue_ns)).map(|ns| ns / 1e9),
        }
    }
}

pub(crate) fn seconds_between(before: &Snapshot, now: &Snapshot) -> f64 {
    now.at_unix_ns.saturating_sub(before.at_unix_ns) as f64 / 1e9
}
