//! A block of operations, prepared whole before the clock looks at the first.

use crate::keys::KeyWriter;
use crate::values::ValueAt;
use kvdyno_engine::Write;

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
}

/// One operation: what, on which prepared keys and values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    /// Which tally it counts in.
    pub(crate) slot: u8,
    pub(crate) action: Action,
    /// Its first key in the block.
    pub(crate) first: u32,
    /// Keys; for a scan, records asked for.
    pub(crate) items: u32,
    /// Its first value in the block.
    pub(crate) value: u32,
    /// Bytes of keys and values it writes.
    pub(crate) write_bytes: u64,
}

/// Prepared operations and everything they point at. Memory is kept from block to block.
#[derive(Debug, Default)]
pub(crate) struct Block {
    pub(crate) steps: Vec<Step>,
    /// The number behind each key.
    pub(crate) numbers: Vec<u64>,
    pub(crate) keys: Vec<u8>,
    pub(crate) values: Vec<ValueAt>,
    /// Values that carry a header.
    pub(crate) arena: Vec<u8>,
    /// Open loop: when each step is to start.
    pub(crate) due: Vec<u64>,
    /// Some step is a multiget: keys are needed as slices.
    pub(crate) multigets: bool,
    /// Some step is a batch: writes are needed as a list.
    pub(crate) batches: bool,
    /// Some step gives bytes to the engine.
    pub(crate) writes: bool,
}

impl Block {
    pub(crate) fn clear(&mut self) {
        self.steps.clear();
        self.numbers.clear();
        self.keys.clear();
        self.values.clear();
        self.arena.clear();
        self.due.clear();
        (self.multigets, self.batches, self.writes) = (false, false, false);
    }
}

/// A block as the hot loop sees it.
#[derive(Clone, Copy)]
pub(crate) struct View<'b> {
    pub(crate) block: &'b Block,
    pub(crate) key_bytes: usize,
    /// What [`ValueAt`] points into.
    pub(crate) value_bytes: &'b [u8],
    /// The keys as slices, where a multiget needs them.
    pub(crate) refs: &'b [&'b [u8]],
    /// The writes, where a batch needs them; as many as values, in their order.
    pub(crate) writes: &'b [Write<'b>],
    /// Check every value read.
    pub(crate) verify: bool,
    /// Reads keys back; for scans.
    pub(crate) keys: KeyWriter,
    /// Numbers below this are there, and a scan must show them; none where keys are deleted.
    pub(crate) all_there_below: Option<u64>,
}

impl<'b> View<'b> {
    #[inline]
    pub(crate) fn key(&self, index: u32) -> &'b [u8] {
        &self.block.keys[index as usize * self.key_bytes..][..self.key_bytes]
    }

    #[inline]
    pub(crate) fn value(&self, index: u32) -> &'b [u8] {
        let at = self.block.values[index as usize];
        &self.value_bytes[at.start..][..at.bytes]
    }
}
