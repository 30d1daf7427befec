//! Conversion of libmdbx's values and return codes.

#![expect(unsafe_code, reason = "calls of a C API")]

use crate::library::ffi;
use kvdyno_engine::{Error, ErrorClass, Result};
use std::ffi::{CStr, c_int};

/// Returns a pair of length and pointer. libmdbx does not write through a pair that it takes as
/// input.
#[inline]
pub(crate) fn val(bytes: &[u8]) -> ffi::MDBX_val {
    ffi::MDBX_val { iov_len: bytes.len(), iov_base: bytes.as_ptr().cast_mut().cast() }
}

/// # Safety
/// `val` points to memory that lives and does not change for `'t`.
#[inline]
pub(crate) unsafe fn bytes<'t>(val: &ffi::MDBX_val) -> &'t [u8] {
    // An empty value need not have an address.
    if val.iov_len == 0 {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(val.iov_base.cast(), val.iov_len) }
}

#[inline]
pub(crate) fn check(call: &str, rc: c_int) -> Result<()> {
    if rc == ffi::MDBX_SUCCESS { Ok(()) } else { Err(error(call, rc)) }
}

#[cold]
pub(crate) fn error(call: &str, rc: c_int) -> Error {
    let class = match rc {
        ffi::MDBX_MAP_FULL
        | ffi::MDBX_TXN_FULL
        | ffi::MDBX_UNABLE_EXTEND_MAPSIZE
        | libc::ENOSPC
        | libc::EDQUOT => ErrorClass::Full,
        libc::ENOMEM => ErrorClass::Memory,
        ffi::MDBX_CORRUPTED
        | ffi::MDBX_PAGE_NOTFOUND
        | ffi::MDBX_PANIC
        | ffi::MDBX_INVALID
        | ffi::MDBX_VERSION_MISMATCH
        | ffi::MDBX_WANNA_RECOVERY => ErrorClass::Corrupt,
        ffi::MDBX_BAD_VALSIZE
        | ffi::MDBX_TOO_LARGE
        | ffi::MDBX_READERS_FULL
        | ffi::MDBX_INCOMPATIBLE
        | libc::EINVAL => ErrorClass::Invalid,
        ffi::MDBX_BUSY => ErrorClass::Conflict,
        1.. => ErrorClass::Io,
        _ => ErrorClass::Other,
    };
    // SAFETY: mdbx_strerror returns a static string or strerror's, which is copied at once.
    let text = unsafe { CStr::from_ptr(ffi::mdbx_strerror(rc)) }.to_string_lossy();
    Error::new(class, format!("{call}: {text}"))
}
