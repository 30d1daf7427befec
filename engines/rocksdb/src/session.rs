//! One thread's handle: its options and buffers are made once, not for each call.

#![expect(unsafe_code, reason = "calls of a C API")]

use crate::api::{self, TransactionApi};
use crate::calls::{ShortGet, Writes, fill_batch};
use crate::cursor::{Ranged, WalkPosition, bytes, current_key, pinned_bytes, pinned_value, show};
use crate::database::Database;
use crate::families::NamedFamily;
use crate::owned::{Owned, call_checked, check_error};
use crate::transactions::{RocksTransaction, TransactionDb};
use kvdyno_engine::{Durability, Error, Options, Range, Result, Session, Transaction, Walk, Write};
use std::ffi::c_char;
use std::ops::ControlFlow;
use std::ptr::null_mut;

/// Values of up to this length are copied rather than pinned. A pinned value is a heap object for
/// each call, made and destroyed, which is 3 % of a get from the cache; copying a short value costs
/// less.
const SHORT_BYTES: u64 = 4096;

/// A session of `RocksDB`.
pub(crate) struct RocksDbSession<'e> {
    database: &'e Database,
    read: Owned<api::ReadOptions>,
    write: Owned<api::WriteOptions>,
    /// The batch, which keeps its memory from one use to the next.
    batch: Owned<api::Batch>,
    /// Room for a short value.
    short: Vec<u8>,
    short_get: ShortGet,
    writes: Writes,
    many: Many,
    /// The call for several keys. `None`: they are looked up one by one.
    batched: Option<BatchedMultiGet>,
    ranged: Ranged,
    /// The iterator of a walk; dropped before the database that it belongs to.
    walking: Option<Owned<api::Cursor>>,
    transaction: Option<RocksTransaction<'e>>,
    /// The functions and the database, if single writes take its locks.
    locking: Option<(&'static TransactionApi, *mut api::LockingDb)>,
}

/// The result of a lookup into the buffer.
enum Short {
    Missing,
    /// A value of this length is in the buffer.
    Value(usize),
    /// The value must be pinned: there is no such call, or the value is longer than announced, and
    /// is not copied in part.
    Otherwise,
}

/// Room for the arguments and answers of a multiget.
#[derive(Default)]
struct Many {
    keys: Vec<*const c_char>,
    key_lengths: Vec<usize>,
    errors: Vec<*mut c_char>,
    pinned: Vec<*mut api::Pinned>,
    values: Vec<*mut c_char>,
    value_lengths: Vec<usize>,
    /// The same column family for each key.
    families: Vec<*const api::Family>,
}

/// The calls that read records, if the library has them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadCalls {
    /// Short values are copied, not pinned.
    into_buffer: bool,
    /// Several keys are looked up in batches, not one by one.
    batched: bool,
}

impl ReadCalls {
    pub(crate) fn from_options(options: &Options) -> Result<Self> {
        Ok(Self {
            into_buffer: options.text("short_gets")? == "get_into_buffer",
            batched: options.text("multigets")? == "batched_multi_get_cf",
        })
    }
}

impl<'e> RocksDbSession<'e> {
    /// Returns a session of the calling thread. `value_bytes_max` is the announced limit of values,
    /// `perf_level` the thread's `PerfLevel`.
    pub(crate) fn new(
        database: &'e Database,
        durability: Durability,
        value_bytes_max: u64,
        perf_level: i32,
        calls: ReadCalls,
    ) -> Self {
        let transactions = database.transactions.as_ref();
        let api = database.api;
        // SAFETY: constructors that do not fail, and what ends their values.
        let (read, write, batch) = unsafe {
            (
                Owned::new((api.readoptions_create)(), api.readoptions_destroy),
                Owned::new((api.writeoptions_create)(), api.writeoptions_destroy),
                Owned::new((api.writebatch_create)(), api.writebatch_destroy),
            )
        };
        // SAFETY: the write options are live; the level is one of the library's.
        unsafe {
            (api.set_perf_level)(perf_level);
            (api.writeoptions_set_sync)(write.raw(), u8::from(durability == Durability::Commit));
            let no_log = i32::from(durability == Durability::None);
            (api.writeoptions_disable_WAL)(write.raw(), no_log);
        }
        let is_short = calls.into_buffer && value_bytes_max <= SHORT_BYTES;
        let short_get = if is_short { ShortGet::new(database) } else { ShortGet::Missing };
        let short = match short_get {
            ShortGet::Missing => Vec::new(),
            // At least one byte, so that a buffer exists even if every value is empty.
            _ => vec![0; value_bytes_max.max(1) as usize],
        };
        let family = database.named.and_then(NamedFamily::transaction_family);
        Self {
            database,
            read,
            write,
            batch,
            short,
            short_get,
            writes: Writes::new(database),
            many: Many::default(),
            batched: api.batched_multi_get_cf.filter(|_| calls.batched),
            ranged: Ranged::new(api),
            walking: None,
            transaction: transactions.map(|db| RocksTransaction::new(api, db, family)),
            locking: transactions.and_then(TransactionDb::locking),
        }
    }

    /// Looks `key` up into the buffer.
    #[inline]
    fn get_short(&mut self, key: &[u8]) -> Result<Short> {
        let api = self.database.api;
        let (db, read) = (self.database.db, self.read.raw());
        let (key, key_bytes) = (key.as_ptr().cast(), key.len());
        let (buffer, room) = (self.short.as_mut_ptr().cast(), self.short.len());
        let (mut length, mut exists, mut error) = (0, 0, null_mut());
        let (to_length, to_exists, to_error) = (&raw mut length, &raw mut exists, &raw mut error);
        // SAFETY: database and options are live; the key is only read; RocksDB writes at most
        // `room` bytes into the buffer, and the rest are out parameters.
        let fits = unsafe {
            match self.short_get {
                ShortGet::Missing => return Ok(Short::Otherwise),
                ShortGet::Default(get) => {
                    get(db, read, key, key_bytes, buffer, room, to_length, to_exists, to_error)
                }
                ShortGet::Named(get, family) => get(
                    db, read, family, key, key_bytes, buffer, room, to_length, to_exists, to_error,
                ),
            }
        };
        check_error(api, error)?;
        Ok(match (fits, exists) {
            (_, 0) => Short::Missing,
            (0, _) => Short::Otherwise,
            _ => Short::Value(length),
        })
    }

    fn multiget_pinned(
        &mut self,
        get: BatchedMultiGet,
        mut visit: impl FnMut(usize, Option<&[u8]>),
    ) -> Result<()> {
        let (api, many) = (self.database.api, &mut self.many);
        let count = many.keys.len();
        many.pinned.clear();
        many.pinned.resize(count, null_mut());
        // SAFETY: database, options and family are live; each array has `count` elements.
        unsafe {
            get(
                self.database.db,
                self.read.raw(),
                self.database.family,
                count,
                many.keys.as_ptr(),
                many.key_lengths.as_ptr(),
                many.pinned.as_mut_ptr(),
                many.errors.as_mut_ptr(),
                false,
            );
        }
        let mut outcome = Ok(());
        for (index, (&pinned, &error)) in many.pinned.iter().zip(&many.errors).enumerate() {
            outcome = outcome.and(check_error(api, error));
            let pinned = pinned_value(api, pinned);
            if outcome.is_ok() {
                visit(index, pinned.as_ref().map(|pinned| pinned_bytes(api, pinned)));
            }
        }
        outcome
    }

    fn multiget_copied(&mut self, mut visit: impl FnMut(usize, Option<&[u8]>)) -> Result<()> {
        let (api, many) = (self.database.api, &mut self.many);
        let count = many.keys.len();
        many.values.clear();
        many.values.resize(count, null_mut());
        many.value_lengths.clear();
        many.value_lengths.resize(count, 0);
        // SAFETY: database and options are live; each array has `count` elements.
        unsafe {
            let (db, read) = (self.database.db, self.read.raw());
            let (keys, key_lengths) = (many.keys.as_ptr(), many.key_lengths.as_ptr());
            let (values, lengths) = (many.values.as_mut_ptr(), many.value_lengths.as_mut_ptr());
            let errors = many.errors.as_mut_ptr();
            match self.database.named {
                None => {
                    (api.multi_get)(db, read, count, keys, key_lengths, values, lengths, errors);
                }
                Some(NamedFamily { calls, handle }) => {
                    many.families.clear();
                    many.families.resize(count, handle.cast_const());
                    let (get, families) = (calls.plain.multi_get_cf, many.families.as_ptr());
                    get(db, read, families, count, keys, key_lengths, values, lengths, errors);
                }
            }
        }
        let mut outcome = Ok(());
        let values = many.values.iter().zip(&many.value_lengths).zip(&many.errors);
        for (index, ((&value, &length), &error)) in values.enumerate() {
            outcome = outcome.and(check_error(api, error));
            if outcome.is_ok() {
                // SAFETY: null, or so many bytes.
                visit(index, unsafe { bytes(value, length) });
            }
            // SAFETY: null, or from RocksDB's malloc and freed here once.
            unsafe { (api.free)(value.cast()) };
        }
        outcome
    }
}

/// `rocksdb_batched_multi_get_cf`.
type BatchedMultiGet = unsafe extern "C" fn(
    *mut api::Db,
    *const api::ReadOptions,
    *mut api::Family,
    usize,
    *const *const c_char,
    *const usize,
    *mut *mut api::Pinned,
    *mut *mut c_char,
    bool,
);

impl Session for RocksDbSession<'_> {
    #[inline]
    fn get<R>(&mut self, key: &[u8], visit: impl FnOnce(Option<&[u8]>) -> R) -> Result<R> {
        match self.get_short(key)? {
            Short::Missing => return Ok(visit(None)),
            Short::Value(length) => return Ok(visit(Some(&self.short[..length]))),
            Short::Otherwise => {}
        }
        let api = self.database.api;
        let (db, options) = (self.database.db, self.read.raw());
        // SAFETY: database and options are live; the key is only read.
        let (key, bytes) = (key.as_ptr().cast(), key.len());
        let pinned = call_checked(api, |error| unsafe {
            match self.database.named {
                None => (api.get_pinned)(db, options, key, bytes, error),
                Some(NamedFamily { calls, handle }) => {
                    (calls.plain.get_pinned_cf)(db, options, handle, key, bytes, error)
                }
            }
        })?;
        let pinned = pinned_value(api, pinned);
        Ok(visit(pinned.as_ref().map(|pinned| pinned_bytes(api, pinned))))
    }

    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let (api, db, options) = (self.database.api, self.database.db, self.write.raw());
        let (key, key_bytes) = (key.as_ptr().cast(), key.len());
        let (value, value_bytes) = (value.as_ptr().cast(), value.len());
        // SAFETY: database and options are live; key and value are only read.
        call_checked(api, |error| unsafe {
            match self.writes {
                Writes::Default => {
                    (api.put)(db, options, key, key_bytes, value, value_bytes, error);
                }
                Writes::Locking(api, db) => {
                    (api.transactiondb_put)(db, options, key, key_bytes, value, value_bytes, error);
                }
                Writes::Named(api, family) => {
                    (api.put_cf)(db, options, family, key, key_bytes, value, value_bytes, error);
                }
                Writes::NamedLocking(api, db, family) => {
                    let put = api.transactiondb_put_cf;
                    put(db, options, family, key, key_bytes, value, value_bytes, error);
                }
            }
        })
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        let (api, db, options) = (self.database.api, self.database.db, self.write.raw());
        let (key, bytes) = (key.as_ptr().cast(), key.len());
        // SAFETY: database and options are live; the key is only read.
        call_checked(api, |error| unsafe {
            match self.writes {
                Writes::Default => (api.delete)(db, options, key, bytes, error),
                Writes::Locking(api, db) => {
                    (api.transactiondb_delete)(db, options, key, bytes, error);
                }
                Writes::Named(api, family) => {
                    (api.delete_cf)(db, options, family, key, bytes, error);
                }
                Writes::NamedLocking(api, db, family) => {
                    (api.transactiondb_delete_cf)(db, options, family, key, bytes, error);
                }
            }
        })
    }

    fn scan(
        &mut self,
        range: Range<'_>,
        mut visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<u64> {
        let api = self.database.api;
        let options = self.ranged.bounded_options(&range);
        // SAFETY: database and options are live longer than the iterator.
        let cursor = unsafe {
            let raw = self.database.create_iterator(options);
            Owned::new(raw, api.iter_destroy)
        };
        show(api, &cursor, &range, None, &mut visit)
    }

    /// Walks with one iterator from beginning to end, as `db_bench` reads in sequence.
    fn walk(
        &mut self,
        walk: &mut Walk,
        limit: u64,
        mut visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<u64> {
        if limit == 0 {
            return Ok(0);
        }
        let api = self.database.api;
        let stands = |cursor: &Owned<api::Cursor>| current_key(api, cursor) == walk.last_key();
        let walking = self.walking.take().filter(stands);
        let goes_on = walking.is_some();
        // SAFETY: the database is live as long as the session, and the options as well.
        let cursor = walking.unwrap_or_else(|| unsafe {
            let raw = self.database.create_iterator(self.read.raw());
            Owned::new(raw, api.iter_destroy)
        });
        let range = Range { from: walk.last_key(), ..Range::all(walk.direction()).limit(limit) };
        let begun = if goes_on { WalkPosition::Stands } else { WalkPosition::Skips };
        let count = show(api, &cursor, &range, Some(begun), &mut visit)?;
        match current_key(api, &cursor) {
            None => walk.restart(),
            Some(last) => {
                if count > 0 {
                    walk.advance_to(last);
                }
                self.walking = Some(cursor);
            }
        }
        Ok(count)
    }

    fn transaction<R>(
        &mut self,
        body: impl FnOnce(&mut dyn Transaction) -> Result<R>,
    ) -> Result<R> {
        let lacks = || Error::unsupported("transactions with `transactions = off`");
        self.transaction.as_mut().ok_or_else(lacks)?.run(self.write.raw(), body)
    }

    fn multiget(&mut self, keys: &[&[u8]], visit: impl FnMut(usize, Option<&[u8]>)) -> Result<()> {
        let many = &mut self.many;
        many.keys.clear();
        many.keys.extend(keys.iter().map(|key| key.as_ptr().cast::<c_char>()));
        many.key_lengths.clear();
        many.key_lengths.extend(keys.iter().map(|key| key.len()));
        many.errors.clear();
        many.errors.resize(keys.len(), null_mut());
        match self.batched {
            Some(get) => self.multiget_pinned(get, visit),
            None => self.multiget_copied(visit),
        }
    }

    fn write(&mut self, writes: &[Write<'_>]) -> Result<()> {
        let (api, batch) = (self.database.api, self.batch.raw());
        // SAFETY: database, options and batch are live; keys and values are only read.
        call_checked(api, |error| unsafe {
            (api.writebatch_clear)(batch);
            fill_batch(self.database, batch, writes);
            let options = self.write.raw();
            match self.locking {
                None => (api.write)(self.database.db, options, batch, error),
                Some((api, db)) => (api.transactiondb_write)(db, options, batch, error),
            }
        })
    }
}
