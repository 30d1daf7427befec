//! What crate `rocksdb` has no method for: options in `RocksDB`'s string form, calling off a manual
//! compaction; and the limit of open files. With `events.rs`, the only `unsafe` of this adapter.
//!
//! The hot loop is not here: measured, the crate's own calls cost the same as `RocksDB`'s C API
//! (docs/decisions/0002-push-style-get.md).

#![expect(unsafe_code, reason = "calls of a C API")]

use crate::engine::classified;
use kvdyno_engine::{Error, ErrorClass, Result};
use librocksdb_sys as ffi;
use rocksdb::{AsRawPtr, DB, Options};
use std::ffi::{CStr, CString};
use std::ptr::null_mut;

/// `RocksDB`'s options from `base` and its own string form.
pub(crate) fn options_from_string(base: &Options, text: &str) -> Result<Options> {
    let text = CString::new(text)
        .map_err(|_| Error::new(ErrorClass::Invalid, "an option holds a zero byte"))?;
    let options = Options::default();
    let mut error = null_mut();
    // SAFETY: both options are live, `text` is a C string, and `error` is an out parameter that
    // receives null or a C string from malloc, freed once.
    unsafe {
        let (base, new) = (base.as_raw_ptr(), options.as_raw_ptr());
        ffi::rocksdb_get_options_from_string(base, text.as_ptr(), new, &raw mut error);
        if error.is_null() {
            return Ok(options);
        }
        let message = CStr::from_ptr(error).to_string_lossy().into_owned();
        ffi::rocksdb_free(error.cast());
        Err(classified(&message))
    }
}

/// Ends a manual compaction that runs in another thread, and refuses the next until
/// [`allow_manual_compaction`].
pub(crate) fn cancel_manual_compaction(db: &DB) {
    // SAFETY: the database is live.
    unsafe { ffi::rocksdb_disable_manual_compaction(db.as_raw_ptr()) };
}

/// The counterpart of [`cancel_manual_compaction`].
pub(crate) fn allow_manual_compaction(db: &DB) {
    // SAFETY: the database is live.
    unsafe { ffi::rocksdb_enable_manual_compaction(db.as_raw_ptr()) };
}

/// How many files this process may have open, after raising the soft limit to the hard one: a
/// default of 1024 ends a large run in its middle.
pub(crate) fn open_files_limit() -> Result<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is an out parameter, then an in parameter.
    let failed = unsafe {
        libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) != 0 || {
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) != 0
        }
    };
    if failed { Err(std::io::Error::last_os_error().into()) } else { Ok(limit.rlim_cur) }
}
