//! The calls of the hot loop on RocksDB's C API: no allocation of ours per call, read and write
//! options and the batch used again. With `events.rs`, the only `unsafe` of this adapter.

#![expect(unsafe_code, reason = "calls of a C API")]

use crate::engine::classified;
use kvdyno_engine::{Error, ErrorClass, Result, Write};
use librocksdb_sys as ffi;
use rocksdb::{AsRawPtr, DB, Options};
use std::ffi::{CStr, CString, c_char};
use std::marker::PhantomData;
use std::ptr::null_mut;

/// RocksDB's options from `base` and its own string form.
pub(crate) fn options_from_string(base: &Options, text: &str) -> Result<Options> {
    let text = CString::new(text)
        .map_err(|_| Error::new(ErrorClass::Invalid, "an option holds a zero byte"))?;
    let options = Options::default();
    let mut error = null_mut();
    // SAFETY: both options are live, `text` is a C string, `error` an out parameter.
    unsafe {
        let (base, new) = (base.as_raw_ptr(), options.as_raw_ptr());
        ffi::rocksdb_get_options_from_string(base, text.as_ptr(), new, &raw mut error);
    }
    taken(error)?;
    Ok(options)
}

/// What one session calls RocksDB with.
pub(crate) struct Handle<'e> {
    db: *mut ffi::rocksdb_t,
    read: *mut ffi::rocksdb_readoptions_t,
    write: *mut ffi::rocksdb_writeoptions_t,
    batch: *mut ffi::rocksdb_writebatch_t,
    found: Found,
    owner: PhantomData<&'e DB>,
}

/// What a multiget fills: kept from call to call.
#[derive(Default)]
struct Found {
    keys: Vec<ffi::rocksdb_slice_t>,
    values: Vec<*mut ffi::rocksdb_pinnableslice_t>,
    errors: Vec<*mut c_char>,
}

impl<'e> Handle<'e> {
    pub(crate) fn new(db: &'e DB, sync: bool, log: bool) -> Self {
        // SAFETY: the pointer is used while `'e` borrows the database; the constructors do not
        // fail, and what they make is destroyed in `drop`.
        unsafe {
            let write = ffi::rocksdb_writeoptions_create();
            ffi::rocksdb_writeoptions_set_sync(write, u8::from(sync));
            ffi::rocksdb_writeoptions_disable_WAL(write, i32::from(!log));
            Self {
                db: db.as_raw_ptr(),
                read: ffi::rocksdb_readoptions_create(),
                write,
                batch: ffi::rocksdb_writebatch_create(),
                found: Found::default(),
                owner: PhantomData,
            }
        }
    }

    #[inline]
    pub(crate) fn get<R>(
        &mut self,
        key: &[u8],
        seen: impl FnOnce(Option<&[u8]>) -> R,
    ) -> Result<R> {
        let mut error = null_mut();
        // SAFETY: database and options are live; the key is only read; the pinned value is shown
        // before it is destroyed, and `Pinned` destroys it even if `seen` unwinds.
        unsafe {
            let value = ffi::rocksdb_get_pinned(
                self.db,
                self.read,
                key.as_ptr().cast(),
                key.len(),
                &raw mut error,
            );
            taken(error)?;
            let value = Pinned(value);
            Ok(seen(value.bytes()))
        }
    }

    #[inline]
    pub(crate) fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let mut error = null_mut();
        // SAFETY: database and options are live; RocksDB copies key and value.
        unsafe {
            ffi::rocksdb_put(
                self.db,
                self.write,
                key.as_ptr().cast(),
                key.len(),
                value.as_ptr().cast(),
                value.len(),
                &raw mut error,
            );
        }
        taken(error)
    }

    pub(crate) fn delete(&mut self, key: &[u8]) -> Result<()> {
        let mut error = null_mut();
        // SAFETY: as in `put`.
        unsafe {
            ffi::rocksdb_delete(
                self.db,
                self.write,
                key.as_ptr().cast(),
                key.len(),
                &raw mut error,
            );
        }
        taken(error)
    }

    pub(crate) fn write(&mut self, writes: &[Write<'_>]) -> Result<()> {
        let mut error = null_mut();
        // SAFETY: all handles are live; the batch copies keys and values.
        unsafe {
            ffi::rocksdb_writebatch_clear(self.batch);
            for write in writes {
                match *write {
                    Write::Put { key, value } => ffi::rocksdb_writebatch_put(
                        self.batch,
                        key.as_ptr().cast(),
                        key.len(),
                        value.as_ptr().cast(),
                        value.len(),
                    ),
                    Write::Delete { key } => {
                        ffi::rocksdb_writebatch_delete(self.batch, key.as_ptr().cast(), key.len());
                    }
                }
            }
            ffi::rocksdb_write(self.db, self.write, self.batch, &raw mut error);
        }
        taken(error)
    }

    pub(crate) fn multiget(
        &mut self,
        keys: &[&[u8]],
        mut seen: impl FnMut(usize, Option<&[u8]>),
    ) -> Result<()> {
        let Found { keys: slices, values, errors } = &mut self.found;
        slices.clear();
        slices.extend(
            keys.iter()
                .map(|key| ffi::rocksdb_slice_t { data: key.as_ptr().cast(), size: key.len() }),
        );
        values.clear();
        values.resize(keys.len(), null_mut());
        errors.clear();
        errors.resize(keys.len(), null_mut());
        // SAFETY: the three arrays have one place for each key, and the keys outlive the call. The
        // values and errors that come back are owned by us: `Pinned` and `taken` free each once.
        unsafe {
            ffi::rocksdb_batched_multi_get_cf_slice(
                self.db,
                self.read,
                ffi::rocksdb_get_default_column_family_handle(self.db),
                keys.len(),
                slices.as_ptr(),
                values.as_mut_ptr(),
                errors.as_mut_ptr(),
                false,
            );
        }
        let mut result = Ok(());
        for (index, (&value, &error)) in values.iter().zip(errors.iter()).enumerate() {
            let value = Pinned(value);
            match taken(error) {
                Ok(()) => seen(index, value.bytes()),
                failed => result = failed,
            }
        }
        result
    }
}

impl Drop for Handle<'_> {
    fn drop(&mut self) {
        // SAFETY: made in `new`, destroyed once.
        unsafe {
            ffi::rocksdb_readoptions_destroy(self.read);
            ffi::rocksdb_writeoptions_destroy(self.write);
            ffi::rocksdb_writebatch_destroy(self.batch);
        }
    }
}

/// A value that RocksDB holds in place, or null for none.
struct Pinned(*mut ffi::rocksdb_pinnableslice_t);

impl Pinned {
    #[inline]
    fn bytes(&self) -> Option<&[u8]> {
        if self.0.is_null() {
            return None;
        }
        let mut length = 0;
        // SAFETY: the slice is live until `drop`, and its bytes with it. An empty value may have a
        // null pointer.
        unsafe {
            let data = ffi::rocksdb_pinnableslice_value(self.0, &raw mut length);
            if length == 0 {
                Some(&[])
            } else {
                Some(std::slice::from_raw_parts(data.cast(), length))
            }
        }
    }
}

impl Drop for Pinned {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: owned by us; destroying null is allowed.
        unsafe { ffi::rocksdb_pinnableslice_destroy(self.0) };
    }
}

/// Stops a manual compaction that runs in another thread, and allows the next one.
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

/// RocksDB's answer to a call: null, or a message that is ours to free.
#[inline]
fn taken(error: *mut c_char) -> Result<()> {
    if error.is_null() { Ok(()) } else { Err(owned(error)) }
}

#[cold]
fn owned(error: *mut c_char) -> Error {
    // SAFETY: RocksDB returns a C string from malloc, freed here once.
    unsafe {
        let message = CStr::from_ptr(error).to_string_lossy().into_owned();
        ffi::rocksdb_free(error.cast());
        classified(&message)
    }
}
