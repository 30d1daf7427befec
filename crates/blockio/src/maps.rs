//! The tables that are shared with the programs in the kernel, and their entries.

use super::system::{Map, MapKind};
use kvdyno_record::blockio::{IoKind, IoOwner};
use std::io;

/// The most requests in flight, on all watched devices together: 7 MB of the kernel's memory.
const IN_FLIGHT_MAX: u32 = 65_536;

/// The most processes that can count as ours.
const PROCESSES_MAX: u32 = 1024;

/// Room for events that are not in the log yet: a second of 130,000 requests.
pub(super) const LOG_BYTES: usize = 8 << 20;

/// The tables.
#[derive(Debug)]
pub(super) struct Maps {
    /// [`InFlight`] by the address of its request.
    pub(super) in_flight: Map,
    /// [`Counts`] by [`cell`].
    pub(super) cells: Map,
    /// The numbers of our processes.
    pub(super) ours: Map,
    /// A count for each [`LossCause`].
    pub(super) lost: Map,
    /// [`Event`]s, where a log is kept.
    pub(super) log: Option<Map>,
}

impl Maps {
    pub(super) fn create(devices: u32, log: bool) -> io::Result<Self> {
        let log = log.then(|| Map::create(MapKind::Ring, 0, 0, LOG_BYTES as u32)).transpose()?;
        let cells = cell(devices, 0, 0);
        Ok(Self {
            in_flight: Map::create(MapKind::Hash, 8, size_of::<InFlight>(), IN_FLIGHT_MAX)?,
            cells: Map::create(MapKind::PerCpuArray, 4, size_of::<Counts>(), cells)?,
            ours: Map::create(MapKind::Hash, 4, 8, PROCESSES_MAX)?,
            lost: Map::create(MapKind::PerCpuArray, 4, 8, LossCause::WAYS)?,
            log,
        })
    }
}

/// A request in flight.
#[repr(C)]
pub(super) struct InFlight {
    /// The time of its issue, by the monotonic clock; 0: it is not in flight.
    pub(super) issued_ns: u64,
    pub(super) sector: u64,
    pub(super) bytes: u32,
    /// Its device, kind and owner.
    pub(super) cell: u32,
    pub(super) fua: u32,
    /// 1: it was seen entering a queue, so the requesting process is known; else 0.
    pub(super) entered: u32,
    pub(super) owner: u32,
    pub(super) process: u32,
    pub(super) name: [u8; 16],
}

/// The counts of a device, kind and owner, per processor.
#[repr(C)]
pub(super) struct Counts {
    pub(super) count: u64,
    pub(super) bytes: u64,
    pub(super) latency_ns: u64,
    pub(super) fua: u64,
    pub(super) slots: [u64; SLOTS],
}

/// A completed request, for the log.
#[repr(C)]
pub(super) struct Event {
    pub(super) completed_ns: u64,
    pub(super) latency_ns: u64,
    pub(super) sector: u64,
    pub(super) bytes: u32,
    pub(super) cell: u32,
    pub(super) fua: u32,
    pub(super) process: u32,
    pub(super) name: [u8; 16],
}

/// Slots of latency: up to 75 minutes.
pub(super) const SLOTS: usize = 320;

/// The causes of lost events, by their index in the counts.
#[derive(Clone, Copy, Debug)]
pub(super) enum LossCause {
    Unseen = 0,
    Full = 1,
    Log = 2,
}

impl LossCause {
    const WAYS: u32 = 3;
}

pub(super) const KINDS: u32 = IoKind::ALL.len() as u32;
pub(super) const OWNERS: u32 = IoOwner::ALL.len() as u32;

/// The place of a device, kind and owner among the cells.
pub(super) const fn cell(device: u32, kind: u32, owner: u32) -> u32 {
    (device * KINDS + kind) * OWNERS + owner
}

/// Device, kind and owner of a place among the cells.
pub(super) fn decode_cell(cell: u32) -> (u32, IoKind, IoOwner) {
    let kind = IoKind::ALL[(cell / OWNERS % KINDS) as usize];
    let owner = IoOwner::ALL[(cell % OWNERS) as usize];
    (cell / OWNERS / KINDS, kind, owner)
}
