//! A file in memory, for `io = mmap`: reads are page faults.
#![expect(unsafe_code, reason = "the mapping of a file")]

use kvdyno_engine::{Error, ErrorClass, Result};
use rustix::mm::{Advice, MapFlags, MsyncFlags, ProtFlags, madvise, mmap, msync, munmap};
use std::fs::File;
use std::io;
use std::ptr::NonNull;

/// The first bytes of a file, shared with its page cache, without readahead (`MADV_RANDOM`).
#[derive(Debug)]
pub(crate) struct Map {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the mapping belongs to no thread, and stays until the map is dropped.
unsafe impl Send for Map {}
// SAFETY: as above; who reads a block while another thread writes it is `block`'s matter.
unsafe impl Sync for Map {}

impl Map {
    pub(crate) fn new(file: &File, bytes: u64) -> Result<Self> {
        let failed = |error| Error::from(io::Error::from(error)).context("mapping the file");
        let length = usize::try_from(bytes).unwrap_or(usize::MAX);
        // SAFETY: a new mapping at an address of the kernel's choice touches no memory of ours.
        let start = unsafe {
            mmap(
                std::ptr::null_mut(),
                length,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                file,
                0,
            )
        };
        let start = NonNull::new(start.map_err(failed)?.cast::<u8>())
            .ok_or_else(|| Error::new(ErrorClass::Memory, "mapping the file: no address"))?;
        let map = Self { start, bytes: length };
        // SAFETY: the mapping is ours and as long.
        unsafe { madvise(start.as_ptr().cast(), length, Advice::Random) }.map_err(failed)?;
        Ok(map)
    }

    fn address(&self, offset: u64, bytes: usize) -> *mut u8 {
        let (offset, end) = (offset as usize, offset as usize + bytes);
        assert!(end <= self.bytes, "byte {end} of {}", self.bytes);
        // SAFETY: within the mapping, as just checked.
        unsafe { self.start.as_ptr().add(offset) }
    }

    /// A block where it lies in the page cache.
    #[inline]
    pub(crate) fn block(&self, offset: u64, bytes: usize) -> &[u8] {
        // SAFETY: within the mapping; the file is written whole and locked by nobody, so its pages
        // are there. Another session that stores into the same block at the same moment changes
        // bytes under the reader, as a drive may: the bytes are only ever summed up or compared.
        unsafe { std::slice::from_raw_parts(self.address(offset, bytes), bytes) }
    }

    /// Stores a block into the page cache.
    #[inline]
    pub(crate) fn store(&self, offset: u64, block: &[u8]) {
        let to = self.address(offset, block.len());
        // SAFETY: within the mapping, and `block` is not: a value comes from elsewhere.
        unsafe { std::ptr::copy_nonoverlapping(block.as_ptr(), to, block.len()) }
    }

    /// Waits until a block that was stored is on stable storage.
    pub(crate) fn flush(&self, offset: u64, bytes: usize) -> Result<()> {
        let start = offset - offset % rustix::param::page_size() as u64;
        let length = bytes + (offset - start) as usize;
        // SAFETY: within the mapping, from the beginning of a page.
        unsafe { msync(self.address(start, length).cast(), length, MsyncFlags::SYNC) }
            .map_err(|error| Error::from(io::Error::from(error)).context("msync"))
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: the mapping that `new` made; slices of it cannot outlive the map.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}
