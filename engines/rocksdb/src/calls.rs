//! The calls of a session that depend on the column family and on the kind of database: they are
//! chosen when a session begins, not by each operation.

#![expect(unsafe_code, reason = "calls of a C API")]

use crate::api::{self, FamilyApi, TransactionApi, TransactionFamilyApi};
use crate::database::Database;
use crate::families::NamedFamily;
use crate::transactions::TransactionDb;
use kvdyno_engine::Write;
use std::ffi::{c_char, c_uchar};

/// `rocksdb_get_into_buffer`.
type GetIntoBuffer = unsafe extern "C" fn(
    *mut api::Db,
    *const api::ReadOptions,
    *const c_char,
    usize,
    *mut c_char,
    usize,
    *mut usize,
    *mut c_uchar,
    *mut *mut c_char,
) -> c_uchar;

/// `rocksdb_get_into_buffer_cf`.
type GetIntoBufferCf = unsafe extern "C" fn(
    *mut api::Db,
    *const api::ReadOptions,
    *mut api::Family,
    *const c_char,
    usize,
    *mut c_char,
    usize,
    *mut usize,
    *mut c_uchar,
    *mut *mut c_char,
) -> c_uchar;

/// The call that copies a short value into a buffer.
#[derive(Clone, Copy)]
pub(crate) enum ShortGet {
    /// Values are long, or the library has no such call.
    Missing,
    /// The call for the default column family.
    Default(GetIntoBuffer),
    /// The call for another column family, and its handle.
    Named(GetIntoBufferCf, *mut api::Family),
}

impl ShortGet {
    pub(crate) fn new(database: &Database) -> Self {
        match database.named {
            None => database.api.get_into_buffer.map_or(Self::Missing, Self::Default),
            Some(NamedFamily { calls, handle }) => {
                let get = calls.plain.get_into_buffer_cf;
                get.map_or(Self::Missing, |get| Self::Named(get, handle))
            }
        }
    }
}

/// The calls of single writes.
#[derive(Clone, Copy)]
pub(crate) enum Writes {
    /// To the default column family.
    Default,
    /// To the default column family, under the locks of a `TransactionDB`.
    Locking(&'static TransactionApi, *mut api::LockingDb),
    /// To another column family.
    Named(&'static FamilyApi, *mut api::Family),
    /// To another column family, under the locks of a `TransactionDB`.
    NamedLocking(&'static TransactionFamilyApi, *mut api::LockingDb, *mut api::Family),
}

impl Writes {
    pub(crate) fn new(database: &Database) -> Self {
        let locking = database.transactions.as_ref().and_then(TransactionDb::locking);
        let named_family = database.named;
        match (locking, named_family, named_family.and_then(NamedFamily::transaction_family)) {
            (Some((_, db)), _, Some((api, family))) => Self::NamedLocking(api, db, family),
            (Some((api, db)), ..) => Self::Locking(api, db),
            (None, Some(NamedFamily { calls, handle }), _) => Self::Named(calls.plain, handle),
            (None, None, _) => Self::Default,
        }
    }
}

/// Adds the writes to a batch.
///
/// # Safety
/// The batch is live.
pub(crate) unsafe fn fill_batch(database: &Database, batch: *mut api::Batch, writes: &[Write<'_>]) {
    let api = database.api;
    // SAFETY: batch and database are live; keys and values are only read.
    unsafe {
        match database.named {
            None => apply_writes(
                writes,
                |(key, key_bytes), (value, bytes)| {
                    (api.writebatch_put)(batch, key, key_bytes, value, bytes);
                },
                |(key, bytes)| (api.writebatch_delete)(batch, key, bytes),
            ),
            Some(NamedFamily { calls, handle }) => apply_writes(
                writes,
                |(key, key_bytes), (value, bytes)| {
                    (calls.plain.writebatch_put_cf)(batch, handle, key, key_bytes, value, bytes);
                },
                |(key, bytes)| (calls.plain.writebatch_delete_cf)(batch, handle, key, bytes),
            ),
        }
    }
}

/// The address of the first byte, and the number of bytes.
type Slice = (*const c_char, usize);

#[inline]
fn apply_writes(writes: &[Write<'_>], put: impl Fn(Slice, Slice), delete: impl Fn(Slice)) {
    let slice = |bytes: &[u8]| (bytes.as_ptr().cast(), bytes.len());
    for write in writes {
        match write.value() {
            Some(value) => put(slice(write.key()), slice(value)),
            None => delete(slice(write.key())),
        }
    }
}
