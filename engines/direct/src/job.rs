//! One operation in flight: its purpose, its progress, and the changes that a write makes to its
//! block.

use crate::format::Format;
use kvdyno_engine::Error;
use std::sync::MutexGuard;

/// The goal of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Goal {
    /// Show the record at this place of the block.
    Show(u32),
    /// Make the changes.
    Change,
}

/// The stage of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// No record.
    Idle,
    /// Waits for the lock of its block.
    Locking,
    /// Its block is being read.
    Reading,
    /// Waits for room in the journal.
    Starved,
    /// Its block's new image is being written to the journal.
    Journaling,
    /// Its image waits for a flush, or is being flushed.
    Journaled,
    /// Its block is being written in place.
    Placing,
    /// Its answer has not been fetched.
    Done,
}

/// An operation in flight. It belongs to a buffer of the ring, and is used over and over.
#[derive(Debug)]
pub(crate) struct Job<'e> {
    pub(crate) goal: Goal,
    pub(crate) stage: Stage,
    pub(crate) block: u64,
    pub(crate) changes: Changes,
    /// The lock of its block, while the block is being changed or repaired.
    pub(crate) lock: Option<MutexGuard<'e, ()>>,
    /// Its entry in the journal.
    pub(crate) entry: Option<u64>,
    /// The copies that it is being written to, and those of them that refused.
    pub(crate) writes: Vec<Part>,
    /// Writes that are not answered.
    pub(crate) open: u32,
    /// The result.
    pub(crate) error: Option<Error>,
}

/// A write to one copy.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) member: usize,
    pub(crate) error: Option<Error>,
}

impl Job<'_> {
    pub(crate) fn idle() -> Self {
        Self {
            goal: Goal::Change,
            stage: Stage::Idle,
            block: 0,
            changes: Changes::default(),
            lock: None,
            entry: None,
            writes: Vec::with_capacity(2),
            open: 0,
            error: None,
        }
    }
}

/// Records to be stored in one block, in order.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    list: Vec<Change>,
    bytes: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
struct Change {
    index: u32,
    /// Where the value ends in `bytes`; it begins where the one before ends.
    end: usize,
    stored: bool,
}

impl Changes {
    pub(crate) fn clear(&mut self) {
        self.list.clear();
        self.bytes.clear();
    }

    pub(crate) fn push(&mut self, index: u32, value: Option<&[u8]>) {
        self.bytes.extend_from_slice(value.unwrap_or_default());
        self.list.push(Change { index, end: self.bytes.len(), stored: value.is_some() });
    }

    /// Returns whether nothing of the block's old image remains: all `pack` records are written, in
    /// order.
    pub(crate) fn cover(&self, pack: u32) -> bool {
        let each = self.list.iter().zip(0..pack).all(|(change, index)| change.index == index);
        each && self.list.len() >= pack as usize
    }

    pub(crate) fn apply(&self, format: &Format, image: &mut [u8]) {
        let mut begin = 0;
        for &Change { index, end, stored } in &self.list {
            format.set(index, stored.then(|| &self.bytes[begin..end]), image);
            begin = end;
        }
    }
}
