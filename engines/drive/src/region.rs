//! One piece of anonymous memory, cut into equal buffers that begin on a page.
#![expect(unsafe_code, reason = "memory from mmap, which the kernel writes into")]

use kvdyno_engine::{Error, Result};
use memmap2::{Advice, MmapMut, MmapRaw};

/// The largest page that a drive's transfers profit from.
const HUGE: usize = 2 << 20;

/// Equal buffers, each beginning on a page of memory.
#[derive(Debug)]
pub(crate) struct Region {
    /// The start of `memory`.
    start: *mut u8,
    memory: Option<MmapRaw>,
    stride: usize,
    bytes: usize,
    count: u32,
}

impl Region {
    pub(crate) fn new(count: u32, bytes: usize) -> Result<Self> {
        let stride = bytes.max(1).next_multiple_of(rustix::param::page_size());
        let length = stride.checked_mul(count.max(1) as usize);
        let length =
            length.ok_or_else(|| Error::invalid(format!("{count} buffers of {bytes} bytes")))?;
        let mut memory = MmapMut::map_anon(length)
            .map_err(|error| Error::from(error).context("mapping the buffers"))?;
        if length >= HUGE {
            // Without huge pages it works as well, but slower.
            let _ = memory.advise(Advice::HugePage);
        }
        // The memory is zero already: this only brings its pages in.
        memory.fill(0);
        let memory = MmapRaw::from(memory);
        Ok(Self { start: memory.as_mut_ptr(), memory: Some(memory), stride, bytes, count })
    }

    /// Returns where a buffer begins. The memory stays there until the region is dropped.
    pub(crate) fn address(&self, slot: u32) -> *mut u8 {
        assert!(slot < self.count, "buffer {slot} of {}", self.count);
        // SAFETY: within the mapping, as just checked.
        unsafe { self.start.add(slot as usize * self.stride) }
    }

    /// Returns the address that is `done` bytes into a buffer; at least `bytes` of the buffer
    /// follow.
    #[inline]
    pub(crate) fn part(&self, slot: u32, done: usize, bytes: usize) -> *mut u8 {
        assert!(done + bytes <= self.bytes, "{done} + {bytes} of {} bytes", self.bytes);
        // SAFETY: within the buffer, as just checked.
        unsafe { self.address(slot).add(done) }
    }

    /// Returns the length of each buffer.
    #[inline]
    pub(crate) fn buffer_bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the contents of a buffer. The caller ensures that no operation in flight writes to
    /// it.
    pub(crate) fn buffer(&self, slot: u32) -> &[u8] {
        // SAFETY: the buffer is initialised memory of this length, and the kernel writes only into
        // buffers of operations in flight, which `Ring` does not hand out.
        unsafe { std::slice::from_raw_parts(self.address(slot), self.bytes) }
    }

    /// Returns a buffer to write to. The caller ensures that no operation is in flight on it.
    pub(crate) fn buffer_mut(&mut self, slot: u32) -> &mut [u8] {
        // SAFETY: as for `buffer`; `&mut self` keeps every other slice away.
        unsafe { std::slice::from_raw_parts_mut(self.address(slot), self.bytes) }
    }

    /// Returns all buffers in the form in which the kernel registers them.
    pub(crate) fn vectors(&self) -> Vec<libc::iovec> {
        let vector =
            |slot| libc::iovec { iov_base: self.address(slot).cast(), iov_len: self.bytes };
        (0..self.count).map(vector).collect()
    }

    /// Replaces the memory, and never frees the old one.
    pub(crate) fn abandon(&mut self) -> Result<()> {
        let other = Self::new(self.count, self.bytes)?;
        self.leak();
        *self = other;
        Ok(())
    }

    /// Never frees the memory, because the kernel may still write to it.
    pub(crate) fn leak(&mut self) {
        std::mem::forget(self.memory.take());
    }
}
