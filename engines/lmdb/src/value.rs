//! Conversion of LMDB's values and return codes.

#![expect(unsafe_code, reason = "calls of a C API")]

use crate::library::ffi;
use kvdyno_engine::{Error, ErrorClass, Result};
use std::ffi::{CStr, c_int};

/// Returns LMDB's pair of length and pointer. LMDB does not write through a pair that it takes as
/// input.
#[inline]
pub(crate) fn val(bytes: &[u8]) -> ffi::MDB_val {
    ffi::MDB_val { mv_size: bytes.len(), mv_data: bytes.as_ptr().cast_mut().cast() }
}

/// # Safety
/// `val` points to memory that lives and does not change for `'t`.
#[inline]
pub(crate) unsafe fn bytes<'t>(val: &ffi::MDB_val) -> &'t [u8] {
    // SAFETY: the caller's promise; LMDB's pointers into pages are never null.
    unsafe { std::slice::from_raw_parts(val.mv_data.cast(), val.mv_size) }
}

#[inline]
pub(crate) fn check(call: &str, rc: c_int) -> Result<()> {
    if rc == 0 { Ok(()) } else { Err(error(call, rc)) }
}

#[cold]
pub(crate) fn error(call: &str, rc: c_int) -> Error {
    let class = match rc {
        ffi::MDB_MAP_FULL | ffi::MDB_TXN_FULL | libc::ENOSPC | libc::EDQUOT => ErrorClass::Full,
        libc::ENOMEM => ErrorClass::Memory,
        ffi::MDB_CORRUPTED
        | ffi::MDB_PAGE_NOTFOUND
        | ffi::MDB_PANIC
        | ffi::MDB_INVALID
        | ffi::MDB_VERSION_MISMATCH => ErrorClass::Corrupt,
        ffi::MDB_BAD_VALSIZE | ffi::MDB_READERS_FULL | ffi::MDB_MAP_RESIZED | libc::EINVAL => {
            ErrorClass::Invalid
        }
        1.. => ErrorClass::Io,
        _ => ErrorClass::Other,
    };
    // SAFETY: mdb_strerror returns a static string or strerror's, which is copied at once.
    let text = unsafe { CStr::from_ptr(ffi::mdb_strerror(rc)) }.to_string_lossy();
    Error::new(class, format!("{call}: {text}"))
}
