//! The ioctl(2) calls that have no safe wrapper: loop devices and discarding. Nothing is decided
//! here.

#![expect(unsafe_code, reason = "ioctl(2) takes a pointer to what each request says it takes")]

use linux_raw_sys::ioctl::BLKDISCARD;
use linux_raw_sys::loop_device::{
    LOOP_CONFIGURE, LOOP_CTL_GET_FREE, LOOP_GET_STATUS64, loop_config, loop_info64,
};
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd};

/// The number of a free loop device.
pub(super) fn free_loop(control: &File) -> io::Result<u32> {
    // SAFETY: the request takes no argument.
    let number = unsafe { libc::ioctl(control.as_raw_fd(), LOOP_CTL_GET_FREE.into()) };
    u32::try_from(number).map_err(|_| io::Error::last_os_error())
}

/// Attaches a file to a loop device.
pub(super) fn configure_loop(
    device: &File,
    file: BorrowedFd<'_>,
    block_bytes: u32,
    flags: u32,
) -> io::Result<()> {
    // SAFETY: zeros are a value of it: numbers, and arrays of them.
    let mut config: loop_config = unsafe { MaybeUninit::zeroed().assume_init() };
    config.fd = file.as_raw_fd().unsigned_abs();
    config.block_size = block_bytes;
    config.info.lo_flags = flags;
    // SAFETY: the request reads a `struct loop_config`, which `config` is and which outlives it.
    check_code(unsafe { libc::ioctl(device.as_raw_fd(), LOOP_CONFIGURE.into(), &raw const config) })
}

/// Returns the status of a loop device, with the file below it.
pub(super) fn loop_status(device: &File) -> io::Result<loop_info64> {
    let mut info = MaybeUninit::<loop_info64>::zeroed();
    // SAFETY: the request writes a `struct loop_info64`, which `info` is and which outlives it.
    check_code(unsafe {
        libc::ioctl(device.as_raw_fd(), LOOP_GET_STATUS64.into(), info.as_mut_ptr())
    })?;
    // SAFETY: zeros were a value of it, and the kernel has filled it.
    Ok(unsafe { info.assume_init() })
}

/// Discards the first `bytes` of a block device.
pub(super) fn discard(device: &File, bytes: u64) -> io::Result<()> {
    let range: [u64; 2] = [0, bytes];
    // SAFETY: the request reads two numbers of 64 bits, which `range` is and which outlives it.
    check_code(unsafe { libc::ioctl(device.as_raw_fd(), BLKDISCARD.into(), range.as_ptr()) })
}

fn check_code(code: libc::c_int) -> io::Result<()> {
    if code < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
