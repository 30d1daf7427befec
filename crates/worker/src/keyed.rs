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

/// What a step does. `Put` is both insert and update: to an engine they are the same call.
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
    /// The same, of a record that may end by itself. Others look a time to live up as they write.
    pub(crate) fn expiring(self, expires: bool) -> Self {
        if expires && self == Self::Put { Self::PutExpiring } else { self }
    }

    /// It writes each of its keys, with a value.
    pub(crate) fn writes_values(self) -> bool {
        matches!(self, Self::Put | Self::PutExpiring | Self::Batch | Self::ReadModifyWrite)
    }
}

/// What, on which prepared keys and values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyedStep {
    pub(crate) action: Action,
    /// Its first key in the block; of a request to a drive, the offset, behind which is the length.
    pub(crate) first: u32,
    /// Keys; for a scan, records asked for.
    pub(crate) items: u32,
    /// Its first value in the block.
    pub(crate) value: u32,
}

/// The keys and values of a block.
#[derive(Debug, Default)]
pub(crate) struct Keyed {
    /// The number behind each key; offset and length of each request to a drive.
    pub(crate) numbers: Vec<u64>,
    pub(crate) keys: Vec<u8>,
    /// Where each key ends, where not all have one length.
    pub(crate) key_ends: Vec<u32>,
    pub(crate) values: Vec<ValueAt>,
    /// How long each record lives that a value is written to; 0: until it is removed. Empty where
    /// all do.
    pub(crate) ttl_ns: Vec<u64>,
    /// Values that carry a header.
    pub(crate) arena: Vec<u8>,
    /// Some step is a multiget: keys are needed as slices.
    pub(crate) multigets: bool,
    /// Some step is a batch: writes are needed as a list.
    pub(crate) batches: bool,
}

impl Keyed {
    /// Puts the key of `number` behind the others, which are all as long; gives its bytes.
    #[inline(always)]
    pub(crate) fn push(&mut self, number: u64, digits: Digits) -> u64 {
        let begin = self.keys.len();
        self.keys.resize(begin + digits.len(), 0);
        digits.write(number, &mut self.keys[begin..]);
        self.numbers.push(number);
        digits.len() as u64
    }

    /// The same where each key has a length of its own.
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
    /// Of each key; 0: they have lengths of their own.
    pub(crate) key_bytes: usize,
    /// What [`ValueAt`] points into.
    pub(crate) value_bytes: &'b [u8],
    /// The keys as slices, where a multiget needs them.
    pub(crate) refs: Vec<&'b [u8]>,
    /// The writes, where a batch needs them; as many as values, in their order.
    pub(crate) writes: Vec<Write<'b>>,
    /// Check every value read.
    pub(crate) verify: bool,
    /// Reads keys back; for scans.
    pub(crate) keys: &'b KeyWriter,
    /// Numbers below this are there, and a scan must show them; none where keys are deleted.
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

    /// Offset and length of a request to a drive.
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

    /// How long the record lives that this value is written to; none: until it is removed.
    pub(crate) fn ttl(&self, index: u32) -> Option<Duration> {
        let ttl_ns = self.data.ttl_ns.get(index as usize).filter(|ttl_ns| **ttl_ns > 0)?;
        Some(Duration::from_nanos(*ttl_ns))
    }

    /// All writes of a block in the order of its values: steps that write are prepared key by key.
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
    /// A read-modify-write's new value.
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
