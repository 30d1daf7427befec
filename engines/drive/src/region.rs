//! One piece of anonymous memory, cut into equal buffers that begin on a page.
#![expect(unsafe_code, reason = "memory from mmap, which the kernel writes into")]

use kvdyno_engine::{Error, ErrorClass, Result};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use std::ptr::NonNull;

/// The largest page that a drive's transfers profit from.
const HUGE: usize = 2 << 20;

/// Equal buffers, each beginning on a page of memory.
#[derive(Debug)]
pub(crate) struct Region {
    start: NonNull<u8>,
    stride: usize,
    bytes: usize,
    count: u32,
}

impl Region {
    pub(crate) fn new(count: u32, bytes: usize) -> Result<Self> {
        let page = rustix::param::page_size();
        let stride = bytes.max(1).next_multiple_of(page);
        let length = stride
            .checked_mul(count.max(1) as usize)
            .ok_or_else(|| Error::invalid(format!("{count} buffers of {bytes} bytes")))?;
        let context =
            |error| Error::from(std::io::Error::from(error)).context("mapping the buffers");
        // SAFETY: a new mapping at an address of the kernel's choice touches no memory of ours.
        let start = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                length,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            )
        };
        let start = NonNull::new(start.map_err(context)?.cast::<u8>())
            .ok_or_else(|| Error::new(ErrorClass::Memory, "mapping the buffers: no address"))?;
        let region = Self { start, stride, bytes, count };
        if length >= HUGE {
            // SAFETY: the mapping is ours and as long. Without huge pages it is as good, slower.
            let _ = unsafe { madvise(start.as_ptr().cast(), length, Advice::LinuxHugepage) };
        }
        // SAFETY: the mapping is ours, as long, and zero already: this only brings the pages in.
        unsafe { start.as_ptr().write_bytes(0, length) };
        Ok(region)
    }

    /// Where a buffer begins. The memory stays there until the region is dropped.
    pub(crate) fn address(&self, slot: u32) -> *mut u8 {
        assert!(slot < self.count, "buffer {slot} of {}", self.count);
        // SAFETY: within the mapping, as just checked.
        unsafe { self.start.as_ptr().add(slot as usize * self.stride) }
    }

    /// Where `bytes` of a buffer begin, `done` bytes into it.
    #[inline]
    pub(crate) fn part(&self, slot: u32, done: usize, bytes: usize) -> *mut u8 {
        assert!(done + bytes <= self.bytes, "{done} + {bytes} of {} bytes", self.bytes);
        // SAFETY: within the buffer, as just checked.
        unsafe { self.address(slot).add(done) }
    }

    /// Length of each buffer.
    #[inline]
    pub(crate) fn buffer_bytes(&self) -> usize {
        self.bytes
    }

    /// The contents of a buffer that no operation in flight writes to: the caller sees to that.
    pub(crate) fn buffer(&self, slot: u32) -> &[u8] {
        // SAFETY: the buffer is initialised memory of this length, and the kernel writes only into
        // buffers of operations in flight, which `Ring` does not hand out.
        unsafe { std::slice::from_raw_parts(self.address(slot), self.bytes) }
    }

    /// The same, to be written to; not while an operation is in flight on it.
    pub(crate) fn buffer_mut(&mut self, slot: u32) -> &mut [u8] {
        // SAFETY: as for `buffer`; `&mut self` keeps every other slice away.
        unsafe { std::slice::from_raw_parts_mut(self.address(slot), self.bytes) }
    }

    /// All buffers as the kernel takes them for registering.
    pub(crate) fn vectors(&self) -> Vec<libc::iovec> {
        let vector =
            |slot| libc::iovec { iov_base: self.address(slot).cast(), iov_len: self.bytes };
        (0..self.count).map(vector).collect()
    }

    /// Takes other memory, and gives this up for good.
    pub(crate) fn abandon(&mut self) -> Result<()> {
        let other = Self::new(self.count, self.bytes)?;
        self.leak();
        *self = other;
        Ok(())
    }

    /// Gives the memory up for good, where the kernel may still write to it.
    pub(crate) fn leak(&mut self) {
        self.stride = 0;
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        let length = self.stride * self.count.max(1) as usize;
        if length > 0 {
            // SAFETY: the mapping that `new` made; slices of it cannot outlive the region.
            let _ = unsafe { munmap(self.start.as_ptr().cast(), length) };
        }
    }
}
