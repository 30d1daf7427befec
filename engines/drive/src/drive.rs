//! The blocks as the plan needs them, their proof, and the rings over them.

use crate::blocks::Blocks;
use crate::describe::{Calls, DriveOptions};
use crate::how::How;
use crate::mapped_file::MappedFile;
use crate::ring::{Ring, Setup};
use kvdyno_engine::{DataShape, Error, Result};
use std::sync::{Mutex, OnceLock, PoisonError};

/// A drive: block `n` is the value of key `n`.
#[derive(Debug)]
pub struct Drive {
    pub(crate) blocks: Blocks,
    pub(crate) options: DriveOptions,
    pub(crate) map: Option<MappedFile>,
    pub(crate) block_bytes: usize,
    /// Bytes of the longest read or write.
    pub(crate) buffer_bytes: usize,
    pub(crate) records: u64,
    pub(crate) depth: u32,
    pub(crate) alignment: u32,
    /// The evidence that every block was written; empty: there is none yet.
    pub(crate) whole: OnceLock<String>,
    /// The setups that sessions have had so far, each one once.
    pub(crate) ran: Mutex<Vec<How>>,
}

impl Drive {
    /// Returns where the block of a key begins. Keys are big-endian numbers with zeros in front.
    #[inline]
    pub(crate) fn offset(&self, key: &[u8]) -> Result<u64> {
        Ok(DataShape::number(key, self.records)? * self.block_bytes as u64)
    }

    /// Refuses a piece outside of the plan's blocks.
    #[inline]
    pub(crate) fn demand_inside(&self, offset: u64, bytes: u64) -> Result<()> {
        let all = self.records * self.block_bytes as u64;
        if offset.checked_add(bytes).is_some_and(|end| end <= all) {
            return Ok(());
        }
        let what = format!("{bytes} bytes at {offset} exceed the {all} of the plan");
        Err(Error::invalid(what))
    }

    /// Fails unless every block was written: the filesystem answers reads of unwritten blocks by
    /// itself.
    pub(crate) fn demand_whole(&self) -> Result<()> {
        if self.whole.get().is_none() {
            self.blocks.file.sync_all()?;
            let _ = self.whole.set(self.blocks.demand_whole()?);
        }
        Ok(())
    }

    /// Opens a ring with `depth` buffers of `bytes`, as the options ask.
    pub(crate) fn open_ring(&self, depth: u32, bytes: usize) -> Result<Ring> {
        let DriveOptions { calls, registered, sqpoll, iopoll, .. } = self.options;
        let setup = Setup { depth, block_bytes: bytes, registered, sqpoll, iopoll };
        let files = [self.blocks.file.try_clone()?];
        let ring = match calls {
            Calls::IoUring => Ring::new(&files, &setup)?,
            Calls::Psync | Calls::Mmap => Ring::psync(&files, &setup)?,
        };
        let mut ran = self.ran.lock().unwrap_or_else(PoisonError::into_inner);
        if !ran.contains(ring.effective_setup()) {
            ran.push(ring.effective_setup().clone());
        }
        Ok(ring)
    }

    /// Returns the operations in flight that the plan has for each session.
    pub(crate) fn depth(&self) -> u32 {
        self.depth.max(1)
    }

    pub(crate) fn is_whole(&self) -> bool {
        self.whole.get().is_some()
    }
}
