//! What crate `rocksdb` has no method for: a get without an allocation, options in `RocksDB`'s
//! string form, calling off a manual compaction; and the limit of open files. With `events.rs`, the
//! only `unsafe` of this adapter.

#![expect(unsafe_code, reason = "calls of a C API")]

use crate::engine::classified;
use kvdyno_engine::{Error, ErrorClass, Result};
use librocksdb_sys as ffi;
use rocksdb::{AsRawPtr, DB, Options};
use std::ffi::{CStr, CString, c_char};
use std::ptr::null_mut;

/// `RocksDB`'s options from `base` and its own string form.
pub(crate) fn options_from_string(base: &Options, text: &str) -> Result<Options> {
    let text = CString::new(text)
        .map_err(|_| Error::new(ErrorClass::Invalid, "an option holds a zero byte"))?;
    let options = Options::default();
    let mut error = null_mut();
    // SAFETY: both options are live, `text` is a C string, and `error` is an out parameter.
    unsafe {
        let (base, new) = (base.as_raw_ptr(), options.as_raw_ptr());
        ffi::rocksdb_get_options_from_string(base, text.as_ptr(), new, &raw mut error);
    }
    taken(error).map(|()| options)
}

/// Gets of short values into a buffer of its own. A pinned value is a heap object for each call,
/// made and destroyed, which is 3 % of a get from the cache; copying a short value is less.
pub(crate) struct ShortReader {
    options: *mut ffi::rocksdb_readoptions_t,
    buffer: Vec<u8>,
}

impl ShortReader {
    pub(crate) fn new(value_bytes_max: usize) -> Self {
        // SAFETY: the constructor does not fail; destroyed in `drop`.
        let options = unsafe { ffi::rocksdb_readoptions_create() };
        Self { options, buffer: vec![0; value_bytes_max] }
    }

    /// Looks `key` up. A value longer than was promised is not copied in part.
    #[inline]
    pub(crate) fn get(&mut self, db: &DB, key: &[u8]) -> Result<Short<'_>> {
        let (mut length, mut found, mut error) = (0, 0, null_mut());
        // SAFETY: database and options are live; the key is only read; RocksDB writes at most
        // `buffer.len()` bytes into the buffer, and the rest are out parameters.
        let fits = unsafe {
            ffi::rocksdb_get_into_buffer(
                db.as_raw_ptr(),
                self.options,
                key.as_ptr().cast(),
                key.len(),
                self.buffer.as_mut_ptr().cast(),
                self.buffer.len(),
                &raw mut length,
                &raw mut found,
                &raw mut error,
            )
        };
        taken(error)?;
        Ok(match (fits, found) {
            (_, 0) => Short::Missing,
            (0, _) => Short::Longer,
            _ => Short::Found(&self.buffer[..length]),
        })
    }
}

impl Drop for ShortReader {
    fn drop(&mut self) {
        // SAFETY: made in `new`, destroyed once.
        unsafe { ffi::rocksdb_readoptions_destroy(self.options) };
    }
}

/// What [`ShortReader::get`] found.
pub(crate) enum Short<'b> {
    /// No such key.
    Missing,
    /// The value.
    Found(&'b [u8]),
    /// A value that does not fit the buffer.
    Longer,
}

/// `RocksDB`'s answer to a call: null, or a C string from malloc that is ours.
#[inline]
fn taken(error: *mut c_char) -> Result<()> {
    if error.is_null() { Ok(()) } else { Err(owned(error)) }
}

#[cold]
fn owned(error: *mut c_char) -> Error {
    // SAFETY: not null, and freed here once.
    unsafe {
        let message = CStr::from_ptr(error).to_string_lossy().into_owned();
        ffi::rocksdb_free(error.cast());
        classified(&message)
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
