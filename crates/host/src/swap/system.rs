//! swapon(2) and swapoff(2), which have no safe wrapper. Nothing is decided here.

#![expect(unsafe_code, reason = "two system calls that take a path")]

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// The flag that a priority is given, and the highest priority (linux/swap.h).
const PREFER_HIGHEST: libc::c_int = 0x8000 | 0x7fff;

/// Switches an area on; swap goes to it before any other.
pub(super) fn swap_on(area: &Path) -> io::Result<()> {
    let path = CString::new(area.as_os_str().as_bytes())?;
    // SAFETY: the call reads a string that ends with a zero, which `path` is and which outlives it.
    check_code(unsafe { libc::swapon(path.as_ptr(), PREFER_HIGHEST) })
}

/// Reads an area's contents back, which takes time, and switches it off.
pub(super) fn swap_off(area: &Path) -> io::Result<()> {
    let path = CString::new(area.as_os_str().as_bytes())?;
    // SAFETY: as above.
    check_code(unsafe { libc::swapoff(path.as_ptr()) })
}

fn check_code(code: libc::c_int) -> io::Result<()> {
    if code < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
