//! A phase's operations and what the device did meanwhile, summed over all trials.

use crate::figures::block_io::PhaseIo;
use crate::figures::spent::Spent;
use kvdyno_record::blockio::IoKind;
use kvdyno_record::case::{PhaseRecord, RoleResult};
use kvdyno_record::usage::DeviceUsage;

/// Sums over trials. A value that is missing in one of them is missing.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Facts {
    pub(super) wall_ns: f64,
    /// The threads of all roles.
    pub(super) threads: u32,
    /// Operations of any role; `writes` are those that write.
    pub(super) ops: f64,
    pub(super) writes: f64,
    /// CPU time of the engine's process, or of the server.
    pub(super) cpu_ns: Option<f64>,
    /// Whether the engine is a server: its CPU time then excludes the roles' threads.
    pub(super) server: bool,
    /// Whether the engine counted its stalls. Without a count, their events give an upper bound.
    pub(super) stalls_counted: bool,
    /// Page faults per operation.
    pub(super) faults_per_op: Option<f64>,
    /// Sums of the device, while the phase ran.
    pub(super) device: Option<DeviceSums>,
    pub(super) flushes: Option<f64>,
    /// A flush's mean time, by the kernel's count or by the trace of block I/O.
    pub(super) flush_ns_mean: Option<f64>,
}

/// Sums of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct DeviceSums {
    pub(super) reads: f64,
    pub(super) read_bytes: f64,
    pub(super) read_ns: f64,
    pub(super) writes: f64,
    pub(super) write_bytes: f64,
    pub(super) write_ns: f64,
    pub(super) busy_ns: f64,
    pub(super) queue_ns: f64,
}

impl Facts {
    pub(super) fn from_phases(phases: &[&PhaseRecord], watched: Option<&PhaseIo>) -> Self {
        let sum = |read: &dyn Fn(&PhaseRecord) -> Option<f64>| {
            phases.iter().map(|phase| read(phase)).sum::<Option<f64>>()
        };
        let device = |pick: fn(&DeviceUsage) -> u64| {
            sum(&move |phase: &PhaseRecord| Spent::from_phase(phase).device(pick).ok())
        };
        let flushes = sum(&|phase| counter_difference(phase, |device| device.flushes));
        let flush_ns = sum(&|phase| counter_difference(phase, |device| device.flush_ns));
        let by_watch = watched.and_then(|watched| {
            let rows = watched.rows.iter().filter(|row| row.kind == IoKind::Flush);
            let ns = rows.clone().map(|row| row.latency_ns_mean * row.count as f64).sum::<f64>();
            mean(ns, rows.map(|row| row.count as f64).sum())
        });
        let by_kernel = flush_ns.zip(flushes).and_then(|(ns, count)| mean(ns, count));
        let devices = || {
            Some(DeviceSums {
                reads: device(|usage| usage.reads)?,
                read_bytes: device(|usage| usage.read_bytes)?,
                read_ns: device(|usage| usage.read_ns)?,
                writes: device(|usage| usage.writes)?,
                write_bytes: device(|usage| usage.write_bytes)?,
                write_ns: device(|usage| usage.write_ns)?,
                busy_ns: device(|usage| usage.busy_ns)?,
                queue_ns: device(|usage| usage.queue_ns)?,
            })
        };
        let ops = phases.iter().map(|phase| Spent::from_phase(phase).operations() as f64).sum();
        let faults = sum(&|phase| {
            let faults =
                Spent::from_phase(phase).process(|usage| usage.minor_faults + usage.major_faults);
            faults.ok()
        });
        Self {
            wall_ns: phases.iter().map(|phase| phase.wall_ns as f64).sum(),
            threads: phases
                .first()
                .map_or(0, |phase| phase.roles.iter().map(|role| role.threads).sum()),
            ops,
            writes: phases.iter().map(|phase| crate::figures::block_io::writes(phase) as f64).sum(),
            cpu_ns: sum(&|phase| Spent::from_phase(phase).cpu_ns().ok()),
            server: false,
            stalls_counted: false,
            faults_per_op: faults.and_then(|faults| mean(faults, ops)),
            device: devices(),
            flushes,
            flush_ns_mean: by_watch.or(by_kernel),
        }
    }

    pub(super) fn flushes_per_write(&self) -> Option<f64> {
        mean(self.flushes?, self.writes)
    }

    /// The facts of one role with its own threads: its own faults by its own operations.
    pub(super) fn role_facts(&self, phases: &[&PhaseRecord], name: &str) -> Self {
        let roles =
            || phases.iter().flat_map(|phase| &phase.roles).filter(|role| role.role == name);
        let faults = roles()
            .map(|role| role.usage.map(|usage| (usage.minor_faults + usage.major_faults) as f64));
        let ops: u64 = roles().flat_map(RoleResult::summed_ops).map(|op| op.count).sum();
        let faults_per_op = faults.sum::<Option<f64>>().and_then(|sum| mean(sum, ops as f64));
        Self { faults_per_op, ..self.clone() }
    }

    /// Share of the time in which the device had a request in flight. Its counters are read just
    /// outside of the phase, which can push the share slightly above 1.
    pub(super) fn busy(&self) -> Option<f64> {
        Some((self.device?.busy_ns / self.wall_ns.max(1.0)).min(1.0))
    }
}

impl DeviceSums {
    pub(super) fn read_ns_mean(&self) -> Option<f64> {
        mean(self.read_ns, self.reads)
    }

    pub(super) fn write_ns_mean(&self) -> Option<f64> {
        mean(self.write_ns, self.writes)
    }

    /// Mean size of reads and writes.
    pub(super) fn bytes_each(&self) -> Option<f64> {
        mean(self.read_bytes + self.write_bytes, self.reads + self.writes)
    }
}

/// The difference of a whole device's counter, which not every kernel has.
fn counter_difference(phase: &PhaseRecord, pick: fn(&DeviceUsage) -> Option<u64>) -> Option<f64> {
    let (before, after) = (phase.before.device.as_ref()?, phase.after.device.as_ref()?);
    let difference = pick(&after.continue_times(before))?.checked_sub(pick(before)?);
    difference.map(|count| count as f64)
}

pub(super) fn mean(sum: f64, count: f64) -> Option<f64> {
    (count > 0.0).then(|| sum / count)
}
