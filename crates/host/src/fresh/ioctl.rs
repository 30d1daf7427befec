//! The ioctl(2) calls that have no safe wrapper: loop devices and discarding. Nothing is decided
//! here.

#![expect(unsafe_code, reason = "ioctl(2) takes a pointer to what each request says it takes")]

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// linux/loop.h.
const LOOP_CTL_GET_FREE: libc::Ioctl = 0x4C82;
const LOOP_CONFIGURE: libc::Ioctl = 0x4C0A;
const LOOP_GET_STATUS64: libc::Ioctl = 0x4C05;
/// linux/fs.h.
const BLKDISCARD: libc::Ioctl = 0x1277;

/// The device lets go of its file when it is closed for the last time.
pub(super) const LO_FLAGS_AUTOCLEAR: u32 = 4;
/// The file is read and written past the page cache.
pub(super) const LO_FLAGS_DIRECT_IO: u32 = 16;

/// `struct loop_info64`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct LoopInfo {
    device: u64,
    /// `st_ino` of the file.
    pub(super) inode: u64,
    rdevice: u64,
    offset: u64,
    size_limit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    pub(super) flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

/// `struct loop_config`.
#[repr(C)]
struct LoopConfig {
    fd: u32,
    block_bytes: u32,
    info: LoopInfo,
    reserved: [u64; 8],
}

const EMPTY: LoopInfo = LoopInfo {
    device: 0,
    inode: 0,
    rdevice: 0,
    offset: 0,
    size_limit: 0,
    number: 0,
    encrypt_type: 0,
    encrypt_key_size: 0,
    flags: 0,
    file_name: [0; 64],
    crypt_name: [0; 64],
    encrypt_key: [0; 32],
    init: [0; 2],
};

// The kernel copies this many bytes, whatever we think the structures are.
const _: () = assert!(size_of::<LoopInfo>() == 232 && size_of::<LoopConfig>() == 304);

/// The number of a loop device that nobody uses at this moment.
pub(super) fn free_loop(control: &File) -> io::Result<u32> {
    // SAFETY: the request takes no argument.
    let number = unsafe { libc::ioctl(control.as_raw_fd(), LOOP_CTL_GET_FREE) };
    u32::try_from(number).map_err(|_| io::Error::last_os_error())
}

/// Puts a file under a loop device.
pub(super) fn configure_loop(
    device: &File,
    file: BorrowedFd<'_>,
    block_bytes: u32,
    flags: u32,
) -> io::Result<()> {
    let config = LoopConfig {
        fd: file.as_raw_fd().unsigned_abs(),
        block_bytes,
        info: LoopInfo { flags, ..EMPTY },
        reserved: [0; 8],
    };
    // SAFETY: the request reads a `struct loop_config`, which `config` is and which outlives it.
    done(unsafe { libc::ioctl(device.as_raw_fd(), LOOP_CONFIGURE, &raw const config) })
}

/// What lies under a loop device.
pub(super) fn loop_status(device: &File) -> io::Result<LoopInfo> {
    let mut info = EMPTY;
    // SAFETY: the request writes a `struct loop_info64`, which `info` is and which outlives it.
    done(unsafe { libc::ioctl(device.as_raw_fd(), LOOP_GET_STATUS64, &raw mut info) })?;
    Ok(info)
}

/// Tells a block device that nothing of its first `bytes` is needed any more.
pub(super) fn discard(device: &File, bytes: u64) -> io::Result<()> {
    let range: [u64; 2] = [0, bytes];
    // SAFETY: the request reads two numbers of 64 bits, which `range` is and which outlives it.
    done(unsafe { libc::ioctl(device.as_raw_fd(), BLKDISCARD, range.as_ptr()) })
}

fn done(code: libc::c_int) -> io::Result<()> {
    if code < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
