//! Requests at the block device as the kernel counts them (`blockio.json`, `blockio.ndjson`): how
//! many, by which process, and how long the device took. Only cases of a run with `--io-latency`
//! have it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether a run watches block I/O.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Watch {
    /// Block I/O is not watched: nothing runs besides the measurement.
    #[default]
    Off,
    /// Counts and latencies.
    Latency,
    /// Counts, latencies, and every request as a line of `blockio.csv`.
    Log,
}

/// `blockio.json`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BlockIoFile {
    /// The devices that were watched: the one under the volume, or those below it.
    pub devices: Vec<WatchedDevice>,
    /// The requests of each phase, in the order of the phases: those that completed between its
    /// start and its end.
    pub phases: Vec<PhaseBlockIo>,
    /// Number of lines of `blockio.csv`; null: no log was requested.
    pub logged: Option<u64>,
}

/// A device that was watched.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WatchedDevice {
    /// The kernel's name: `nvme0n1p2`.
    pub name: String,
    /// The whole device, whose flushes are counted: `nvme0n1`.
    pub disk: String,
}

/// The requests of a phase.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseBlockIo {
    /// The phase's name.
    pub phase: String,
    /// The counts of the phase: the difference of two readings.
    pub io: BlockIo,
}

/// One line of `blockio.ndjson`: a reading in the middle of a phase, counted from the case's begin.
/// Readings, not differences.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BlockIoReading {
    /// The phase's name.
    pub phase: String,
    /// Time of the reading by the system's clock, in nanoseconds since 1970.
    pub at_unix_ns: u64,
    /// The counts.
    pub io: BlockIo,
}

/// Counts of requests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BlockIo {
    /// Counts by device, kind and owner; combinations without a request are left out.
    pub cells: Vec<Cell>,
    /// Requests that were not counted.
    pub lost: Lost,
}

impl BlockIo {
    /// The difference to an earlier reading.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let new = |cell: &Cell| {
            let old = before.cells.iter().find(|old| old.tag() == cell.tag());
            old.map_or_else(|| Some(cell.clone()), |old| cell.since(old))
        };
        let (a, b) = (&before.lost, &self.lost);
        let lost = Lost {
            unseen: b.unseen.saturating_sub(a.unseen),
            full: b.full.saturating_sub(a.full),
            skipped: b.skipped.saturating_sub(a.skipped),
            log: b.log.saturating_sub(a.log),
        };
        Self { cells: self.cells.iter().filter_map(new).collect(), lost }
    }
}

/// Requests of one kind by one owner to one device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cell {
    /// The device, by its index in [`BlockIoFile::devices`].
    pub device: u32,
    /// The kind of request.
    pub kind: IoKind,
    /// The process that requested it.
    pub owner: IoOwner,
    /// Requests completed.
    pub count: u64,
    /// Bytes of these requests.
    pub bytes: u64,
    /// Requests with FUA among them, which are durable on their own, without a flush.
    pub fua: u64,
    /// Sum of their latencies, from the handover to the driver to the completion. The wait in the
    /// kernel's scheduler before that is not included.
    pub latency_ns: u64,
    /// The requests by latency: slot and count of each slot that is not empty. A slot below 8 is
    /// that number of nanoseconds; any other begins at `(8 + slot % 8) << (slot / 8 - 1)`: eight
    /// slots per octave.
    pub slots: Vec<(u32, u64)>,
}

impl Cell {
    fn tag(&self) -> (u32, IoKind, IoOwner) {
        (self.device, self.kind, self.owner)
    }

    /// The difference to an earlier reading of the same cell, if any.
    fn since(&self, old: &Self) -> Option<Self> {
        let count = self.count.saturating_sub(old.count);
        let slots = self.slots.iter().map(|(slot, count)| {
            let old = old.slots.iter().find(|(other, _)| other == slot);
            (*slot, count.saturating_sub(old.map_or(0, |(_, count)| *count)))
        });
        (count > 0).then(|| Self {
            count,
            bytes: self.bytes.saturating_sub(old.bytes),
            fua: self.fua.saturating_sub(old.fua),
            latency_ns: self.latency_ns.saturating_sub(old.latency_ns),
            slots: slots.filter(|(_, count)| *count > 0).collect(),
            ..self.clone()
        })
    }
}

/// The kind of a request to a device.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum IoKind {
    /// Data read.
    Read,
    /// Data written.
    Write,
    /// A filesystem's own structures, read or written.
    Metadata,
    /// A flush of the device's cache. Several fsyncs may share one.
    Flush,
    /// Blocks given back, erased or zeroed.
    Discard,
    /// Anything else (zone management, pass-through).
    Other,
}

impl IoKind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [Self; 6] =
        [Self::Read, Self::Write, Self::Metadata, Self::Flush, Self::Discard, Self::Other];

    /// In a table cell.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Metadata => "metadata",
            Self::Flush => "flush",
            Self::Discard => "discard",
            Self::Other => "other",
        }
    }
}

/// The process in whose context a request entered the block layer.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum IoOwner {
    /// The worker and its children, its server, the program itself.
    Ours,
    /// The kernel: writeback, journals, flushes, on unknown behalf.
    Kernel,
    /// Another process.
    Foreign,
}

impl IoOwner {
    /// All owners, in the order of their numbers.
    pub const ALL: [Self; 3] = [Self::Ours, Self::Kernel, Self::Foreign];

    /// In a table cell.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::Kernel => "kernel",
            Self::Foreign => "foreign",
        }
    }
}

/// Requests that are missing in the counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Lost {
    /// Requests that completed without a recorded begin: begun before the watch, or missed.
    pub unseen: u64,
    /// Requests that began when the table of requests in flight was full.
    pub full: u64,
    /// How often the kernel did not run the tracing program because it was running it already.
    pub skipped: u64,
    /// Requests that were counted but not logged, because the log's buffer was full.
    pub log: u64,
}

impl Lost {
    /// Returns how many requests are missing in the counts.
    pub fn requests(&self) -> u64 {
        // A skipped begin is an unseen end later; a skipped end is nowhere else.
        self.unseen + self.full + self.skipped
    }
}

/// The least latency of a slot.
pub fn slot_begin_ns(slot: u32) -> u64 {
    match slot {
        0..8 => u64::from(slot),
        _ => u64::from(8 + slot % 8) << (slot / 8 - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_eight_an_octave_without_gaps() {
        assert_eq!([0, 7, 8, 15, 16, 17, 24].map(slot_begin_ns), [0, 7, 8, 15, 16, 18, 32]);
        for slot in 1..320 {
            let (below, begin) = (slot_begin_ns(slot - 1), slot_begin_ns(slot));
            assert!(begin > below && begin - below <= (begin / 8).max(1), "{slot}");
        }
    }

    fn cell(count: u64, slots: &[(u32, u64)]) -> Cell {
        Cell {
            device: 0,
            kind: IoKind::Read,
            owner: IoOwner::Ours,
            count,
            bytes: 4096 * count,
            fua: 0,
            latency_ns: 100 * count,
            slots: slots.to_vec(),
        }
    }

    #[test]
    fn a_difference_has_what_is_new_and_nothing_else() {
        let io =
            |cells: Vec<Cell>, unseen| BlockIo { cells, lost: Lost { unseen, ..Lost::default() } };
        let flush = Cell { kind: IoKind::Flush, ..cell(1, &[(9, 1)]) };
        let foreign = Cell { owner: IoOwner::Foreign, ..cell(2, &[(70, 2)]) };
        let before = io(vec![cell(3, &[(40, 2), (50, 1)]), flush.clone()], 1);
        let after = io(vec![cell(7, &[(40, 2), (50, 4), (60, 1)]), flush, foreign.clone()], 3);
        let expected = io(vec![cell(4, &[(50, 3), (60, 1)]), foreign], 2);
        assert_eq!(after.since(&before), expected);
        assert_eq!(after.since(&BlockIo::default()), after);
    }
}
