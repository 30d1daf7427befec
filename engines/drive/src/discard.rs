//! Discarding bytes. A device gets a discard request; in a file a hole is punched, and the
//! filesystem may pass that on to its drive.
#![expect(unsafe_code, reason = "an ioctl that the libraries do not have")]

use kvdyno_engine::{Error, Result};
use rustix::fs::{FallocateFlags, fallocate};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileTypeExt;

/// `_IO(0x12, 119)` of `linux/fs.h`; its argument is the offset and the number of bytes.
const BLKDISCARD: libc::Ioctl = 0x1277;

pub(crate) fn discard(file: &File, offset: u64, bytes: u64) -> Result<()> {
    if bytes == 0 {
        return Ok(());
    }
    let done = if file.metadata()?.file_type().is_block_device() {
        let range = [offset, bytes];
        // SAFETY: the call reads two numbers, which are there until it returns.
        match unsafe { libc::ioctl(file.as_raw_fd(), BLKDISCARD, range.as_ptr()) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    } else {
        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        fallocate(file, hole, offset, bytes).map_err(io::Error::from)
    };
    let what = || format!("discard of {bytes} bytes at {offset}");
    done.map_err(|error| Error::from(error).context(&what()))
}
