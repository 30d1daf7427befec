//! Databases with transactions, the optimistic one and the locking one, and a transaction of
//! either.

#![expect(unsafe_code, reason = "calls of a C API")]

use crate::api::{self, Api, TransactionApi, TransactionFamilyApi};
use crate::cursor::{Ranged, pinned_bytes, pinned_value, show};
use crate::library::RocksLibrary;
use crate::owned::{Owned, call_checked};
use kvdyno_engine::{Error, Options, Range, Records, Result, Transaction, ValueVisitor};
use std::ffi::{c_char, c_int};
use std::ptr::null_mut;

/// A database with transactions, which contains the plain one.
pub(crate) struct TransactionDb {
    api: &'static TransactionApi,
    kind: Kind,
}

#[derive(Clone, Copy)]
enum Kind {
    Optimistic(*mut api::OptimisticDb),
    /// The database, with the functions that not every version has.
    Locking(*mut api::LockingDb, BaseOf, CloseBase),
}

type BaseOf = unsafe extern "C" fn(*mut api::LockingDb) -> *mut api::Db;
type CloseBase = unsafe extern "C" fn(*mut api::Db);

/// The column families to open: arrays of `count` elements.
#[derive(Clone, Copy)]
pub(crate) struct FamilyArguments {
    pub(crate) count: c_int,
    pub(crate) names: *const *const c_char,
    pub(crate) options: *const *const api::Options,
    pub(crate) handles: *mut *mut api::Family,
}

/// Opens a database with transactions. The arguments are options, directory, families and an error.
pub(crate) type OpenTransactions = Box<
    dyn FnOnce(
        *const api::Options,
        *const c_char,
        FamilyArguments,
        *mut *mut c_char,
    ) -> TransactionDb,
>;

/// Returns the function that opens the database that `options` ask for; `None`: a plain one.
pub(crate) fn parse_transactions(
    library: &'static RocksLibrary,
    options: &Options,
) -> Result<Option<OpenTransactions>> {
    let word = options.text("transactions")?;
    if word == "off" {
        return Ok(None);
    }
    let lacks = || Error::invalid(format!("this version of RocksDB has no transactions = {word}"));
    let api = library.transactions.as_ref().ok_or_else(lacks)?;
    if word == "optimistic" {
        return Ok(Some(Box::new(|options, dir, families, error| {
            let open = api.optimistictransactiondb_open_column_families;
            let FamilyArguments { count, names, options: each, handles } = families;
            // SAFETY: the caller's: arrays of `count` elements.
            let db = unsafe { open(options, dir, count, names, each, handles, error) };
            TransactionDb { api, kind: Kind::Optimistic(db) }
        })));
    }
    let base = api.transactiondb_get_base_db.zip(api.transactiondb_close_base_db);
    let (base_of, close_base) = base.ok_or_else(lacks)?;
    Ok(Some(Box::new(move |options, dir, families, error| {
        let open = api.transactiondb_open_column_families;
        let FamilyArguments { count, names, options: each, handles } = families;
        // SAFETY: the caller's: arrays of `count` elements; the database copies its options.
        let db = unsafe {
            let transaction_options = (api.transactiondb_options_create)();
            let transaction_options =
                Owned::new(transaction_options, api.transactiondb_options_destroy);
            open(options, transaction_options.raw(), dir, count, names, each, handles, error)
        };
        TransactionDb { api, kind: Kind::Locking(db, base_of, close_base) }
    })))
}

impl TransactionDb {
    /// Returns the plain database inside.
    pub(crate) fn base(&self) -> *mut api::Db {
        // SAFETY: the database is open.
        unsafe {
            match self.kind {
                Kind::Optimistic(db) => (self.api.optimistictransactiondb_get_base_db)(db),
                Kind::Locking(db, base_of, _) => base_of(db),
            }
        }
    }

    /// Closes the database whose inside is `base`.
    pub(crate) fn close(&self, base: *mut api::Db) {
        // SAFETY: both are live, and closed once, by the owner of both.
        unsafe {
            match self.kind {
                Kind::Optimistic(db) => {
                    (self.api.optimistictransactiondb_close_base_db)(base);
                    (self.api.optimistictransactiondb_close)(db);
                }
                Kind::Locking(db, _, close_base) => {
                    close_base(base);
                    (self.api.transactiondb_close)(db);
                }
            }
        }
    }

    /// Returns functions and database if single writes must take the locks: a transaction would not
    /// see writes that bypass them.
    #[inline]
    pub(crate) fn locking(&self) -> Option<(&'static TransactionApi, *mut api::LockingDb)> {
        match self.kind {
            Kind::Optimistic(_) => None,
            Kind::Locking(db, ..) => Some((self.api, db)),
        }
    }

    /// Begins a transaction that writes with `options`. `again` is null, or an ended transaction
    /// whose memory is used again.
    fn begin(
        &self,
        options: *const api::WriteOptions,
        again: *mut api::Transaction,
    ) -> *mut api::Transaction {
        // SAFETY: database and write options are live; options of the transaction are copied.
        unsafe {
            match self.kind {
                Kind::Optimistic(db) => {
                    let transaction_options = (self.api.optimistictransaction_options_create)();
                    let transaction_options = Owned::new(
                        transaction_options,
                        self.api.optimistictransaction_options_destroy,
                    );
                    (self.api.optimistictransaction_begin)(
                        db,
                        options,
                        transaction_options.raw(),
                        again,
                    )
                }
                Kind::Locking(db, ..) => {
                    let transaction_options = (self.api.transaction_options_create)();
                    let transaction_options =
                        Owned::new(transaction_options, self.api.transaction_options_destroy);
                    (self.api.transaction_begin)(db, options, transaction_options.raw(), again)
                }
            }
        }
    }
}

/// A session's transaction: not yet begun, under way, or ended.
pub(crate) struct RocksTransaction<'e> {
    plain: &'static Api,
    database: &'e TransactionDb,
    transaction: *mut api::Transaction,
    read: Ranged,
    /// The column family; `None`: the default one.
    family: Option<(&'static TransactionFamilyApi, *mut api::Family)>,
}

impl<'e> RocksTransaction<'e> {
    /// Returns the state of a session before its first transaction.
    pub(crate) fn new(
        plain: &'static Api,
        database: &'e TransactionDb,
        family: Option<(&'static TransactionFamilyApi, *mut api::Family)>,
    ) -> Self {
        let read = Ranged::new(plain);
        Self { plain, database, transaction: null_mut(), read, family }
    }

    /// Runs one transaction, from its beginning to its commit or rollback.
    pub(crate) fn run<R>(
        &mut self,
        options: *const api::WriteOptions,
        body: impl FnOnce(&mut dyn Transaction) -> Result<R>,
    ) -> Result<R> {
        self.transaction = self.database.begin(options, self.transaction);
        let api = self.database.api;
        // SAFETY: the transaction is live; after its end it is only begun again or destroyed.
        match body(self) {
            Ok(result) => {
                let commit = api.transaction_commit;
                call_checked(self.plain, |error| unsafe { commit(self.transaction, error) })?;
                Ok(result)
            }
            Err(error) => {
                let undo = api.transaction_rollback;
                // SAFETY: as above.
                call_checked(self.plain, |error| unsafe { undo(self.transaction, error) })?;
                Err(error)
            }
        }
    }

    fn visit_pinned(
        &self,
        pinned: Result<*mut api::Pinned>,
        visit: &mut ValueVisitor<'_>,
    ) -> Result<()> {
        let pinned = pinned_value(self.plain, pinned?);
        visit(pinned.as_ref().map(|pinned| pinned_bytes(self.plain, pinned)));
        Ok(())
    }
}

impl Drop for RocksTransaction<'_> {
    fn drop(&mut self) {
        if !self.transaction.is_null() {
            // SAFETY: live, and gone after this; what is not committed is undone.
            unsafe { (self.database.api.transaction_destroy)(self.transaction) };
        }
    }
}

impl Transaction for RocksTransaction<'_> {
    fn get(&mut self, key: &[u8], visit: &mut ValueVisitor<'_>) -> Result<()> {
        let get = self.database.api.transaction_get_pinned;
        let (key, bytes) = (key.as_ptr().cast(), key.len());
        // SAFETY: transaction and options are live; the key is only read.
        let options = self.read.unbounded_options();
        let pinned = call_checked(self.plain, |error| unsafe {
            match self.family {
                None => get(self.transaction, options, key, bytes, error),
                Some((api, family)) => {
                    let get = api.transaction_get_pinned_cf;
                    get(self.transaction, options, family, key, bytes, error)
                }
            }
        });
        self.visit_pinned(pinned, visit)
    }

    fn get_for_update(&mut self, key: &[u8], visit: &mut ValueVisitor<'_>) -> Result<()> {
        const ALONE: u8 = 1;
        let get = self.database.api.transaction_get_pinned_for_update;
        let (key, bytes) = (key.as_ptr().cast(), key.len());
        let options = self.read.unbounded_options();
        // SAFETY: as above.
        let pinned = call_checked(self.plain, |error| unsafe {
            match self.family {
                None => get(self.transaction, options, key, bytes, ALONE, error),
                Some((api, family)) => {
                    let get = api.transaction_get_pinned_for_update_cf;
                    get(self.transaction, options, family, key, bytes, ALONE, error)
                }
            }
        });
        self.visit_pinned(pinned, visit)
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let put = self.database.api.transaction_put;
        let (key, key_bytes) = (key.as_ptr().cast(), key.len());
        let (value, value_bytes) = (value.as_ptr().cast(), value.len());
        // SAFETY: the transaction is live; key and value are only read.
        call_checked(self.plain, |error| unsafe {
            match self.family {
                None => put(self.transaction, key, key_bytes, value, value_bytes, error),
                Some((api, family)) => {
                    let put = api.transaction_put_cf;
                    put(self.transaction, family, key, key_bytes, value, value_bytes, error);
                }
            }
        })
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        let delete = self.database.api.transaction_delete;
        // SAFETY: the transaction is live; the key is only read.
        call_checked(self.plain, |error| unsafe {
            let (key, bytes) = (key.as_ptr().cast(), key.len());
            match self.family {
                None => delete(self.transaction, key, bytes, error),
                Some((api, family)) => {
                    (api.transaction_delete_cf)(self.transaction, family, key, bytes, error);
                }
            }
        })
    }

    fn scan(&mut self, range: Range<'_>, visit: &mut Records<'_>) -> Result<u64> {
        let create = self.database.api.transaction_create_iterator;
        let options = self.read.bounded_options(&range);
        // SAFETY: transaction and options are live longer than the iterator.
        let cursor = unsafe {
            let raw = match self.family {
                None => create(self.transaction, options),
                Some((api, family)) => {
                    (api.transaction_create_iterator_cf)(self.transaction, options, family)
                }
            };
            Owned::new(raw, self.plain.iter_destroy)
        };
        show(self.plain, &cursor, &range, None, &mut |key, value| visit(key, value))
    }
}
