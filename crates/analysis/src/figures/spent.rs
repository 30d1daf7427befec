//! The resources that a phase used: differences between the readings around it, or why there is
//! none.

use super::metric::{Reading, Why};
use kvdyno_record::case::{PhaseRecord, RoleResult};
use kvdyno_record::usage::{
    DeviceUsage, EventCount, ProcessUsage, ProcessorUsage, Residency, Snapshot,
};
use kvdyno_record::workload::Data;

/// The reason for an engine that stores nothing, or nothing in its data directory.
pub(crate) const NO_FILES: &str = "no files: the engine stores nothing in its directory";

const NO_TURN: &str = "the processor's counter was never scheduled";

const NO_FLUSHES: &str = "the kernel does not count this device's flushes";

/// The readings around a phase.
#[derive(Clone, Copy)]
pub struct Spent<'p> {
    pub(super) phase: &'p PhaseRecord,
}

impl<'p> Spent<'p> {
    pub(crate) fn from_phase(phase: &'p PhaseRecord) -> Self {
        Self { phase }
    }

    /// Usage of the engine's processes, from the phase's start to its end.
    pub(crate) fn process(self, pick: impl Fn(&ProcessUsage) -> u64) -> Reading {
        self.process_until(&self.phase.after, pick)
    }

    /// Usage of the engine's processes, from the phase's start to the end of a later one.
    pub(super) fn process_until(
        self,
        end: &Snapshot,
        pick: impl Fn(&ProcessUsage) -> u64,
    ) -> Reading {
        if self.phase.before.elsewhere {
            return Err("another user runs the server".into());
        }
        let both = self.phase.before.engine().zip(end.engine());
        let (before, after) = both.ok_or("the process's counters could not be read")?;
        counter_growth(pick(before), pick(after), "process")
    }

    /// User and system time of a server's client.
    pub(crate) fn client_cpu_ns(self) -> Reading {
        let (before, after) = (&self.phase.before, &self.phase.after);
        if before.server.is_none() && !before.elsewhere {
            return Err("the engine runs in its client's process".into());
        }
        let both = before.process.as_ref().zip(after.process.as_ref());
        let (before, after) = both.ok_or("the client's counters could not be read")?;
        let cpu_ns = |usage: &ProcessUsage| usage.user_ns + usage.system_ns;
        counter_growth(cpu_ns(before), cpu_ns(after), "client's")
    }

    /// A count by the processor, of the engine's process; `why`: the known reason for no count.
    pub(crate) fn processor(
        self,
        pick: impl Fn(&ProcessorUsage) -> Option<EventCount>,
        why: Option<&str>,
    ) -> Reading {
        if self.phase.before.elsewhere {
            return Err("another user runs the server".into());
        }
        let usage = |snapshot: &Snapshot| snapshot.processor.as_ref().and_then(&pick);
        let both = usage(&self.phase.before).zip(usage(&self.phase.after));
        let unknown = "the processor does not count it here";
        let why = || why.map_or(Why::from(unknown), |why| why.to_owned().into());
        let (before, after) = both.ok_or_else(why)?;
        let grown =
            |pick: fn(EventCount) -> u64| counter_growth(pick(before), pick(after), "processor's");
        // Counters that take turns count for a part of the time.
        let time =
            quotient(grown(|event| event.enabled_ns)?, grown(|event| event.running_ns)?, NO_TURN)?;
        Ok(grown(|event| event.count)? * time)
    }

    /// User and system time together.
    pub(crate) fn cpu_ns(self) -> Reading {
        self.process(|usage| usage.user_ns + usage.system_ns)
    }

    /// Usage of the device, from the phase's start to its end.
    pub(crate) fn device(self, pick: impl Fn(&DeviceUsage) -> u64) -> Reading {
        device(&self.phase.before, &self.phase.after, pick)
    }

    /// Usage of the device, up to the end of the sync.
    pub(crate) fn device_synced(self, pick: impl Fn(&DeviceUsage) -> u64) -> Reading {
        device(&self.phase.before, self.synced_snapshot()?, pick)
    }

    /// The readings when everything dirty was on the device. A phase that writes nothing needs no
    /// sync.
    pub(crate) fn synced_snapshot(self) -> Result<&'p Snapshot, Why> {
        match &self.phase.synced {
            Some((snapshot, _)) => Ok(snapshot),
            None if self.written_bytes() == 0 => Ok(&self.phase.after),
            // Without device counters, their absence is the reason, not the missing sync.
            None if self.phase.after.device.is_none() => Ok(&self.phase.after),
            None => Err("its writes were not synced, so some are still to come".into()),
        }
    }

    /// Cache flushes of the device.
    pub(crate) fn flushes(self) -> Reading {
        let count =
            |snapshot: &Snapshot| snapshot.device.as_ref().and_then(|device| device.flushes);
        let both = count(&self.phase.before).zip(count(self.synced_snapshot()?));
        let (before, after) = both.ok_or(NO_FLUSHES)?;
        counter_growth(before, after, "device")
    }

    /// Mean time of a flush, from the phase's start to its end.
    pub(crate) fn flush_ns_mean(self) -> Reading {
        let read = |usage: &DeviceUsage| Some((usage.flushes?, usage.flush_ns?));
        let both = self.phase.before.device.as_ref().zip(self.phase.after.device.as_ref());
        let both = both.and_then(|(before, after)| {
            Some((read(before)?, read(&after.continue_times(before))?))
        });
        let ((count, ns), (count_after, ns_after)) = both.ok_or(NO_FLUSHES)?;
        let (ns, count) = (
            counter_growth(ns, ns_after, "device")?,
            counter_growth(count, count_after, "device")?,
        );
        quotient(ns, count, "the device did none")
    }

    /// CPU time the hypervisor took away.
    pub(crate) fn steal_ns(self) -> Reading {
        let both = self.phase.before.steal_ns.zip(self.phase.after.steal_ns);
        let (before, after) = both.ok_or("the kernel does not count stolen time")?;
        counter_growth(before, after, "steal")
    }

    /// Usage of the swap that was made for the case.
    pub(crate) fn swap(self, pick: impl Fn(&DeviceUsage) -> u64) -> Reading {
        let both = self.phase.before.swap.as_ref().zip(self.phase.after.swap.as_ref());
        let (before, after) = both.ok_or("no swap was made for it")?;
        counter_growth(pick(before), pick(&after.continue_times(before)), "swap's")
    }

    /// Operations of all roles.
    pub fn operations(self) -> u64 {
        self.phase.roles.iter().flat_map(RoleResult::summed_ops).map(|op| op.count).sum()
    }

    /// Keys or records that all roles dealt with; a flush is none.
    pub fn items(self) -> u64 {
        self.phase.roles.iter().flat_map(RoleResult::summed_ops).map(|op| op.items).sum()
    }

    /// Records of a load: for an engine that packs, all those under the keys that it wrote.
    pub fn records(self, data: &Data) -> f64 {
        let packed = data.packed.filter(|_| data.records > 0);
        let each = packed.map_or(1.0, |packed| packed.records as f64 / data.records as f64);
        self.items() as f64 * each
    }

    /// What it did: the records of a load, or the operations of another phase.
    pub(crate) fn done(self, data: &Data) -> f64 {
        if self.phase.kind == "load" { self.records(data) } else { self.operations() as f64 }
    }

    /// Bytes of keys and values given to the engine.
    pub fn written_bytes(self) -> u64 {
        self.ops().map(|op| op.write_bytes).sum()
    }

    /// Bytes of keys and values returned by the engine.
    pub fn read_bytes(self) -> u64 {
        self.ops().map(|op| op.read_bytes).sum()
    }

    /// A reading divided by the number of operations.
    pub(crate) fn per_op(self, reading: Reading) -> Reading {
        quotient(reading?, self.operations() as f64, "no operation was done")
    }

    fn ops(self) -> impl Iterator<Item = &'p kvdyno_record::case::OpResult> {
        self.phase.roles.iter().flat_map(|role| role.ops.values())
    }
}

/// The growth of a device's counter between two snapshots.
pub(crate) fn device(
    before: &Snapshot,
    after: &Snapshot,
    pick: impl Fn(&DeviceUsage) -> u64,
) -> Reading {
    match (&before.device, &after.device) {
        (Some(before), Some(after)) if before.device == after.device => {
            counter_growth(pick(before), pick(&after.continue_times(before)), "device")
        }
        (Some(_), Some(_)) => Err("the data directory's device changed".into()),
        _ => Err("the data directory's block device has no counters".into()),
    }
}

/// A quotient, or why there is none.
pub(crate) fn quotient(above: f64, below: f64, why: &'static str) -> Reading {
    if below > 0.0 { Ok(above / below) } else { Err(why.into()) }
}

/// A share of the database in the page cache, in percent.
pub(crate) fn resident(phase: &PhaseRecord, residency: Option<&Residency>) -> Reading {
    // Without files there is no failure to read their residency.
    let no_files = phase.database.is_some_and(|database| database.files == 0);
    match residency {
        None if no_files => Err(NO_FILES.into()),
        Some(residency) => {
            quotient(100.0 * residency.resident_bytes as f64, residency.file_bytes as f64, NO_FILES)
        }
        None => Err("the page cache could not be inspected".into()),
    }
}

fn counter_growth(before: u64, after: u64, whose: &str) -> Reading {
    let difference = after.checked_sub(before).map(|difference| difference as f64);
    difference.ok_or_else(|| format!("the {whose} counters went backwards").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn phase(before: DeviceUsage, after: DeviceUsage) -> PhaseRecord {
        let snapshot = |device| Snapshot { device: Some(device), ..Snapshot::default() };
        let (before, after) = (snapshot(before), snapshot(after));
        PhaseRecord { before, after, ..PhaseRecord::default() }
    }

    fn usage(requests: u64, ms: u64) -> DeviceUsage {
        DeviceUsage {
            reads: requests,
            read_ns: ms * MS,
            writes: requests,
            write_ns: ms * MS,
            busy_ns: ms * MS,
            queue_ns: ms * MS,
            flushes: Some(requests),
            flush_ns: Some(ms * MS),
            ..DeviceUsage::default()
        }
    }

    /// The kernel's milliseconds have 32 bits.
    #[test]
    fn times_of_the_device_go_on_where_they_begin_anew() {
        let phase = phase(usage(5, u64::from(u32::MAX)), usage(7, 9));
        let spent = Spent::from_phase(&phase);
        let times: [fn(&DeviceUsage) -> u64; 4] =
            [|d| d.read_ns, |d| d.write_ns, |d| d.busy_ns, |d| d.queue_ns];
        for time in times {
            assert_eq!(spent.device(time), Ok(1e7));
        }
        assert_eq!(spent.device(|d| d.reads), Ok(2.0));
        assert_eq!(spent.flush_ns_mean(), Ok(5e6));
    }

    #[test]
    fn a_device_made_anew_went_backwards() {
        let phase = phase(usage(5, 10), usage(2, 9));
        let spent = Spent::from_phase(&phase);
        assert!(spent.device(|d| d.reads).is_err());
        assert!(spent.device(|d| d.read_ns).is_err());
    }
}
