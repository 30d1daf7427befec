//! Block I/O as the kernel counted it, summed over a group's trials: by phase, device, kind and
//! owner.

use super::evidence::Evidence;
use super::group::Group;
use crate::stats::quantile_of_counts;
use kvdyno_record::blockio::{BlockIo, IoKind, IoOwner, Watch, slot_begin_ns};
use kvdyno_record::case::{PhaseRecord, RoleResult};
use kvdyno_record::files::{CaseDir, RecordError};
use kvdyno_record::operations::OpInfo;
use kvdyno_record::workload::reads;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// The block I/O of a phase of a group.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct PhaseIo {
    /// The index of its group in the summary's groups.
    pub group: usize,
    /// The phase.
    pub phase: String,
    /// Trials whose I/O was watched; all counts are their sums.
    pub trials: u64,
    /// Operations.
    pub operations: u64,
    /// Operations that write.
    pub writes: u64,
    /// Cache flushes of the devices, by any process.
    pub flushes: u64,
    /// Requests that were durable on their own (FUA).
    pub fua: u64,
    /// Requests that are missing from the counts.
    pub lost: u64,
    /// Lines that are missing from the log.
    pub lost_of_log: u64,
    /// Requests by device, kind and owner.
    pub rows: Vec<IoRow>,
}

/// Requests of one kind by one owner to one device.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct IoRow {
    /// The device.
    pub device: String,
    /// The kind.
    pub kind: IoKind,
    /// The owner of the requests.
    pub owner: IoOwner,
    /// Requests.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Requests among them that were durable on their own (FUA).
    pub fua: u64,
    /// Mean latency, driver to completion.
    pub latency_ns_mean: f64,
    /// The median, within 7 %; null: too few.
    pub latency_ns_p50: Option<f64>,
    /// The 99th percentile, within 7 %; null: too few.
    pub latency_ns_p99: Option<f64>,
    /// An upper bound of all latencies; the longest took at least 8/9 of it.
    pub latency_ns_max: u64,
}

/// Reads the block I/O of every watched phase, in the order of the groups.
pub(crate) fn read(evidence: &Evidence, groups: &[Group]) -> Result<Vec<PhaseIo>, RecordError> {
    let mut all: Vec<(PhaseIo, Sums)> = Vec::new();
    let records_latency = evidence.plan.cases.iter().any(|case| case.io_latency);
    if evidence.run.block_io == Watch::Off && !records_latency {
        return Ok(Vec::new());
    }
    for (group, case) in evidence.cases.iter().filter_map(|case| {
        let group = groups.iter().position(|group| group.key == case.case.key)?;
        Some((group, case))
    }) {
        let Some(file) = case.dir().map(CaseDir::block_io).transpose()?.flatten() else {
            continue;
        };
        for phase in &file.phases {
            let Some(record) = case.shown_phase(&phase.phase) else { continue };
            let existing =
                all.iter().position(|(io, _)| io.group == group && io.phase == phase.phase);
            let index = existing.unwrap_or_else(|| {
                let phase = phase.phase.clone();
                all.push((PhaseIo { group, phase, ..PhaseIo::default() }, Sums::default()));
                all.len() - 1
            });
            let (sum, cells) = &mut all[index];
            sum.add(record, &phase.io);
            for cell in &phase.io.cells {
                let device = file.devices.get(cell.device as usize);
                let device = device.map_or_else(String::new, |device| device.name.clone());
                let total = cells.entry((device, cell.kind, cell.owner)).or_default();
                total.count += cell.count;
                total.bytes += cell.bytes;
                total.fua += cell.fua;
                total.latency_ns += cell.latency_ns;
                for (slot, count) in &cell.slots {
                    *total.slots.entry(*slot).or_default() += count;
                }
            }
        }
    }
    all.sort_by_key(|(io, _)| io.group);
    Ok(all.into_iter().map(|(phase, sums)| PhaseIo { rows: rows(sums), ..phase }).collect())
}

/// The operations of a phase that write.
pub(crate) fn writes(phase: &PhaseRecord) -> u64 {
    let ops = phase.roles.iter().flat_map(|role| &role.ops);
    let writes = |name: &str| !reads(name) && OpInfo::is_summed(name);
    ops.filter(|(name, _)| writes(name)).map(|(_, op)| op.count).sum()
}

impl PhaseIo {
    fn add(&mut self, phase: &PhaseRecord, io: &BlockIo) {
        let ops = phase.roles.iter().flat_map(RoleResult::summed_ops);
        self.trials += 1;
        self.operations += ops.map(|op| op.count).sum::<u64>();
        self.writes += writes(phase);
        let (flushes, fua) = flushes_and_fua(io);
        self.flushes += flushes;
        self.fua += fua;
        self.lost += io.lost.requests();
        self.lost_of_log += io.lost.log;
    }
}

/// Returns the counts of what makes writes durable: flushes, and requests with FUA.
pub(crate) fn flushes_and_fua(io: &BlockIo) -> (u64, u64) {
    let flushes = io.cells.iter().filter(|cell| cell.kind == IoKind::Flush);
    (flushes.map(|cell| cell.count).sum(), io.cells.iter().map(|cell| cell.fua).sum())
}

/// The sums of a row that is being built.
#[derive(Default)]
struct Sum {
    count: u64,
    bytes: u64,
    fua: u64,
    latency_ns: u64,
    slots: BTreeMap<u32, u64>,
}

type Sums = BTreeMap<(String, IoKind, IoOwner), Sum>;

fn rows(sums: Sums) -> Vec<IoRow> {
    let row = |((device, kind, owner), sum): ((String, IoKind, IoOwner), Sum)| IoRow {
        device,
        kind,
        owner,
        count: sum.count,
        bytes: sum.bytes,
        fua: sum.fua,
        latency_ns_mean: sum.latency_ns as f64 / sum.count.max(1) as f64,
        latency_ns_p50: percentile(&sum, 0.5),
        latency_ns_p99: percentile(&sum, 0.99),
        latency_ns_max: sum.slots.keys().max().map_or(0, |slot| slot_begin_ns(slot + 1)),
    };
    sums.into_iter().map(row).collect()
}

/// The midpoint of the slot that holds the percentile.
fn percentile(sum: &Sum, share: f64) -> Option<f64> {
    let slots = sum.slots.iter().map(|(slot, count)| (u64::from(*slot), *count));
    let slot = quantile_of_counts(slots, sum.count, share)? as u32;
    Some(f64::midpoint(slot_begin_ns(slot) as f64, slot_begin_ns(slot + 1) as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_within_a_slot_and_need_samples() {
        let sum = Sum {
            count: 1000,
            slots: [(slot(50_000), 985), (slot(900_000), 15)].into(),
            ..Sum::default()
        };
        let close = |value: Option<f64>, to: f64| (value.unwrap() / to - 1.0).abs() < 0.07;
        assert!(close(percentile(&sum, 0.5), 50_000.0));
        assert!(close(percentile(&sum, 0.99), 900_000.0));
        assert_eq!(percentile(&Sum { count: 19, ..sum }, 0.5), None);
    }

    fn slot(ns: u64) -> u32 {
        (0..320).rev().find(|slot| slot_begin_ns(*slot) <= ns).unwrap()
    }
}
