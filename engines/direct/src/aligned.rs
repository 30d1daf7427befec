//! Memory aligned for `O_DIRECT`, for the few reads and writes outside the ring: headers, recovery,
//! repairs.

use crate::format::PAGE;
use std::ops::{Deref, DerefMut};

/// Zeroed bytes on a page boundary.
#[derive(Debug)]
pub(crate) struct Aligned {
    room: Vec<u8>,
    from: usize,
    bytes: usize,
}

impl Aligned {
    pub(crate) fn new(bytes: usize) -> Self {
        let room = vec![0; bytes + PAGE];
        let from = room.as_ptr().align_offset(PAGE);
        Self { room, from, bytes }
    }
}

impl Deref for Aligned {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.room[self.from..][..self.bytes]
    }
}

impl DerefMut for Aligned {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.room[self.from..][..self.bytes]
    }
}
