//! The ring of events: memory that the programs in the kernel write and we read.

#![expect(unsafe_code, reason = "memory shared with the kernel")]

use super::maps::Event;
use super::system::Map;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::io;
use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The reading end of a ring of events.
#[derive(Debug)]
pub(super) struct Ring {
    base: *mut u64,
    page: usize,
    bytes: usize,
}

// SAFETY: the memory is mapped until the drop, and nothing else in this process knows of it; what
// is shared with the kernel is read and written by atomic operations.
unsafe impl Send for Ring {}

/// The bit in a record's length that says that the record is being written.
const BUSY: u32 = 1 << 31;
/// The bit in a record's length that says that the record is to be left out.
const DISCARDED: u32 = 1 << 30;

impl Ring {
    /// Maps the ring of `bytes` bytes: a page with the reader's place, one with the writer's, and
    /// the data, twice in a row so that no record is in two pieces.
    pub(super) fn map(map: &Map, bytes: usize) -> io::Result<Self> {
        let page = rustix::param::page_size();
        let length = 2 * page + 2 * bytes;
        let (read, shared) = (ProtFlags::READ, MapFlags::SHARED);
        // SAFETY: a new mapping at an address of the kernel's choice; then its first page again, so
        // that we can write our place: an address inside of the mapping that we have just made.
        let base = unsafe {
            let base = mmap(ptr::null_mut(), length, read, shared, map, 0)?;
            mmap(base, page, read | ProtFlags::WRITE, shared | MapFlags::FIXED, map, 0)?
        };
        Ok(Self { base: base.cast(), page, bytes })
    }

    /// Calls `see` with each event since the last call, in order.
    pub(super) fn drain(&mut self, mut see: impl FnMut(&Event)) {
        // SAFETY: the two places are the first eight bytes of the first two pages, aligned, and
        // written by the kernel and by us with atomic operations only. A record's length is read
        // at a place below the writer's, so it is there; its bytes are below it as well, and the
        // kernel changes no record that is not busy until our place has passed it. It is an event,
        // all of numbers: it is as long, at a place that 8 divides, and any bits are one.
        unsafe {
            let reader_place = &*self.base.cast::<AtomicU64>();
            let writer_place = &*self.base.byte_add(self.page).cast::<AtomicU64>();
            let data = self.base.byte_add(2 * self.page);
            let mut position = reader_place.load(Ordering::Relaxed);
            while position < writer_place.load(Ordering::Acquire) {
                let record = data.byte_add(position as usize & (self.bytes - 1));
                let length = (*record.cast::<AtomicU32>()).load(Ordering::Acquire);
                if length & BUSY != 0 {
                    break;
                }
                let bytes = (length & !DISCARDED) as usize;
                if length & DISCARDED == 0 {
                    assert_eq!(bytes, size_of::<Event>(), "our programs write nothing else");
                    see(&*record.byte_add(RECORD_HEADER).cast::<Event>());
                }
                position += (bytes + RECORD_HEADER).next_multiple_of(8) as u64;
                reader_place.store(position, Ordering::Release);
            }
        }
    }
}

const RECORD_HEADER: usize = 8;

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: mapped by `map` with this length, and nobody has a reference into it any more.
        let _ = unsafe { munmap(self.base.cast(), 2 * self.page + 2 * self.bytes) };
    }
}
