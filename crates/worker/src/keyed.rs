//! A block of key-value operations: its steps, and the keys and values that they point at.

#![expect(
    clippy::inline_always,
    reason = "each is a part of one loop, and shows in ns per operation"
)]

use crate::block::{Block, Step};
use crate::keys::{Digits, KeyWriter};
use crate::values::ValueAt;
use kvdyno_engine::{Direction, Session, Walk, Write};
use std::time::Duration;

/// The action of a step. `Put` is both insert and update: to an engine they are the same call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Get,
    Put,
    Delete,
    ScanForward,
    ScanReverse,
    Multiget,
    ReadModifyWrite,
    Batch,
    WalkForward,
    WalkReverse,
    PutExpiring,
    ReadAt,
    WriteAt,
    Discard,
    Flush,
}

impl Action {
    /// The action for a record that may expire. A `Put` changes; other actions look up the time to
    /// live as they write.
    pub(crate) fn expiring(self, expires: bool) -> Self {
        if expires && self == Self::Put { Self::PutExpiring } else { self }
    }

    /// Whether the action writes each of its keys, with a value.
    pub(crate) fn writes_values(self) -> bool {
        matches!(self, Self::Put | Self::PutExpiring | Self::Batch | Self::ReadModifyWrite)
    }
}

/// An action, and the prepared keys and values it is for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyedStep {
    pub(crate) action: Action,
    /// The index of its first key in the block. For a request to a drive, the index of the offset
    /// in `numbers`, which the length follows.
    pub(crate) first: u32,
    /// The number of keys; for a scan, of requested records.
    pub(crate) items: u32,
    /// The index of its first value in the block.
    pub(crate) value: u32,
}

/// The keys and values of a block.
#[derive(Debug, Default)]
pub(crate) struct Keyed {
    /// The number that each key stands for; offset and length of each request to a drive.
    pub(crate) numbers: Vec<u64>,
    pub(crate) keys: Vec<u8>,
    /// The end of each key in `keys`; empty: all keys have one length.
    pub(crate) key_ends: Vec<u32>,
    pub(crate) values: Vec<ValueAt>,
    /// The time to live of the record of each value; 0: it lives until it is removed. Empty: all
    /// records do.
    pub(crate) ttl_ns: Vec<u64>,
    /// Values that carry a header.
    pub(crate) arena: Vec<u8>,
    /// Whether some step is a multiget, which needs keys as slices.
    pub(crate) multigets: bool,
    /// Whether some step is a batch, which needs writes as a list.
    pub(crate) batches: bool,
}

impl Keyed {
    /// Appends the key of `number`; all keys have one length, which this returns.
    #[inline(always)]
    pub(crate) fn push(&mut self, number: u64, digits: Digits) -> u64 {
        let begin = self.keys.len();
        self.keys.resize(begin + digits.len(), 0);
        digits.write(number, &mut self.keys[begin..]);
        self.numbers.push(number);
        digits.len() as u64
    }

    /// Appends the key of `number`, which has a length of its own. Returns that length.
    pub(crate) fn push_of_its_length(&mut self, number: u64, keys: &KeyWriter) -> u64 {
        let bytes = keys.push(number, &mut self.keys);
        self.key_ends.push(self.keys.len() as u32);
        self.numbers.push(number);
        bytes as u64
    }
}

/// A block of key-value operations.
pub(crate) type KeyedBlock = Block<KeyedStep, Keyed>;

impl KeyedBlock {
    pub(crate) fn clear(&mut self) {
        self.steps.clear();
        self.due.clear();
        self.writes = false;
        let data = &mut self.data;
        data.numbers.clear();
        data.keys.clear();
        data.key_ends.clear();
        data.values.clear();
        data.ttl_ns.clear();
        data.arena.clear();
        (data.multigets, data.batches) = (false, false);
    }
}

/// A block as it is performed.
pub(crate) struct View<'b> {
    pub(crate) data: &'b Keyed,
    /// The length of each key; 0: keys have lengths of their own.
    pub(crate) key_bytes: usize,
    /// The bytes that [`ValueAt`] points into.
    pub(crate) value_bytes: &'b [u8],
    /// The keys as slices; empty: no multiget needs them.
    pub(crate) refs: Vec<&'b [u8]>,
    /// The writes, as many as values and in their order; empty: no batch needs them.
    pub(crate) writes: Vec<Write<'b>>,
    /// Whether to check every value that is read.
    pub(crate) verify: bool,
    /// Parses keys that a scan shows.
    pub(crate) keys: &'b KeyWriter,
    /// Numbers below this exist, and a scan must show them; none: keys may be missing.
    pub(crate) all_there_below: Option<u64>,
}

impl<'b> View<'b> {
    #[inline(always)]
    pub(crate) fn key(&self, index: u32) -> &'b [u8] {
        if self.key_bytes == 0 {
            return self.key_of_its_own_length(index);
        }
        &self.data.keys[index as usize * self.key_bytes..][..self.key_bytes]
    }

    #[inline(never)]
    fn key_of_its_own_length(&self, index: u32) -> &'b [u8] {
        let (index, ends) = (index as usize, &self.data.key_ends);
        let start = index.checked_sub(1).map_or(0, |before| ends[before]);
        &self.data.keys[start as usize..ends[index] as usize]
    }

    /// Returns the offset and the length of a request to a drive.
    #[inline]
    pub(crate) fn piece(&self, index: u32) -> (u64, u64) {
        let numbers = &self.data.numbers[index as usize..];
        (numbers[0], numbers[1])
    }

    #[inline]
    pub(crate) fn value(&self, index: u32) -> &'b [u8] {
        let stored = self.data.values[index as usize];
        &self.value_bytes[stored.start..][..stored.bytes]
    }

    /// Returns the time to live of the record of a value; none: it lives until it is removed.
    pub(crate) fn ttl(&self, index: u32) -> Option<Duration> {
        let ttl_ns = self.data.ttl_ns.get(index as usize).filter(|ttl_ns| **ttl_ns > 0)?;
        Some(Duration::from_nanos(*ttl_ns))
    }

    /// Lists all writes of a block in the order of its values: steps that write are prepared key by
    /// key.
    pub(crate) fn batch_writes(&self, steps: &[Step<KeyedStep>]) -> Vec<Write<'b>> {
        let mut writes = Vec::with_capacity(self.data.values.len());
        for step in steps.iter().map(|step| step.action) {
            if step.action.writes_values() {
                writes.extend((0..step.items).map(|item| Write::Put {
                    key: self.key(step.first + item),
                    value: self.value(step.value + item),
                }));
            }
        }
        writes
    }
}

/// The state of one thread.
pub(crate) struct Thread<S> {
    pub(crate) session: S,
    /// The new value of a read-modify-write.
    pub(crate) buffer: Vec<u8>,
    pub(crate) forward: Walk,
    pub(crate) reverse: Walk,
}

impl<S: Session> Thread<S> {
    pub(crate) fn new(session: S) -> Self {
        Self {
            session,
            buffer: Vec::new(),
            forward: Walk::new(Direction::Forward),
            reverse: Walk::new(Direction::Reverse),
        }
    }
}
