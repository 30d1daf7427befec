//! A file in memory, for `io = mmap`: reads are page faults.
#![expect(unsafe_code, reason = "the mapping of a file")]

use kvdyno_engine::{Error, Result};
use memmap2::{Advice, MmapOptions, MmapRaw};
use std::fs::File;
use std::hint::black_box;
use std::sync::{PoisonError, RwLock};

/// The first bytes of a file, shared with its page cache, without readahead (`MADV_RANDOM`).
#[derive(Debug)]
pub(crate) struct MappedFile {
    memory: MmapRaw,
    /// Locks that blocks share by their offsets, so that no thread reads a block while another
    /// stores it.
    locks: Box<[RwLock<()>]>,
}

/// The step at which bytes are faulted in: no system's pages are smaller.
const PAGE_BYTES: usize = 4096;

/// The number of locks: so many that two threads seldom meet at one.
const LOCKS: usize = 1 << 12;

impl MappedFile {
    pub(crate) fn new(file: &File, bytes: u64, read_only: bool) -> Result<Self> {
        let failed = |error| Error::from(error).context("mapping the file");
        let mut options = MmapOptions::new();
        options.len(usize::try_from(bytes).unwrap_or(usize::MAX));
        let memory =
            if read_only { options.map_raw_read_only(file) } else { options.map_raw(file) };
        let memory = memory.map_err(failed)?;
        memory.advise(Advice::Random).map_err(failed)?;
        Ok(Self { memory, locks: (0..LOCKS).map(|_| RwLock::new(())).collect() })
    }

    fn address(&self, offset: u64, bytes: usize) -> *mut u8 {
        let (offset, end) = (offset as usize, offset as usize + bytes);
        assert!(end <= self.memory.len(), "byte {end} of {}", self.memory.len());
        // SAFETY: within the mapping, as just checked.
        unsafe { self.memory.as_mut_ptr().add(offset) }
    }

    /// Faults a block in and shows it where it lies in the page cache.
    #[inline]
    pub(crate) fn read<R>(&self, offset: u64, bytes: usize, visit: impl FnOnce(&[u8]) -> R) -> R {
        let _shared = self.lock(offset, bytes).read().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: within the mapping; the file is written whole and locked by nobody else, so its
        // pages are there; nobody stores into the block while its lock is held.
        let block = unsafe { std::slice::from_raw_parts(self.address(offset, bytes), bytes) };
        block.iter().step_by(PAGE_BYTES).for_each(|byte| {
            black_box(*byte);
        });
        visit(block)
    }

    /// Stores a block into the page cache.
    #[inline]
    pub(crate) fn store(&self, offset: u64, block: &[u8]) {
        let to = self.address(offset, block.len());
        let alone = self.lock(offset, block.len()).write();
        let _alone = alone.unwrap_or_else(PoisonError::into_inner);
        // SAFETY: within the mapping, and `block` is not: a value comes from elsewhere; nobody
        // reads the block or stores into it while its lock is held.
        unsafe { std::ptr::copy_nonoverlapping(block.as_ptr(), to, block.len()) }
    }

    /// Returns the lock of a block. All blocks of a case have one size and lie at multiples of it,
    /// so a block always has the same lock.
    fn lock(&self, offset: u64, bytes: usize) -> &RwLock<()> {
        &self.locks[(offset / bytes as u64) as usize % LOCKS]
    }

    /// Waits until a block that was stored is on stable storage.
    pub(crate) fn flush(&self, offset: u64, bytes: usize) -> Result<()> {
        let flushed = self.memory.flush_range(offset as usize, bytes);
        flushed.map_err(|error| Error::from(error).context("msync"))
    }
}
