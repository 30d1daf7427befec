//! The one database of an environment that is measured: chosen by name, created in an empty
//! environment, refused where this adapter could not read it as it is.

#![expect(unsafe_code, reason = "calls of a C API")]

use crate::library::{DATABASE_RECORD_BYTES, ffi};
use crate::value::{bytes, check, error, val};
use kvdyno_engine::{Error, Result, list_names};
use std::ffi::{CString, c_int};
use std::ptr::{null, null_mut};

/// How many records of the unnamed database are searched for names of databases.
const LOOKED_AT: usize = 100;

/// The database flags that are refused: each flag, its name and the reason.
const REFUSED_FLAGS: [(u32, &str, &str); 3] = [
    (ffi::MDB_DUPSORT, "MDB_DUPSORT", "several values per key cannot be measured"),
    (ffi::MDB_INTEGERKEY, "MDB_INTEGERKEY", "integer keys cannot be measured"),
    (ffi::MDB_REVERSEKEY, "MDB_REVERSEKEY", "keys in reverse order cannot be measured"),
];

/// A write transaction that is undone unless it is committed.
struct Txn(*mut ffi::MDB_txn);

/// Opens the database `name`, or the unnamed one. The handle lasts as long as the environment.
///
/// # Safety
/// The environment is open, and the calling thread has no write transaction in it.
pub(crate) unsafe fn open(env: *mut ffi::MDB_env, name: &str) -> Result<ffi::MDB_dbi> {
    // SAFETY: the caller's promise; each transaction ends before the next begins.
    unsafe {
        if name.is_empty() {
            let names = database_names(env)?;
            if !names.is_empty() {
                return Err(Error::invalid(format!(
                    "the unnamed database holds databases: choose one with option `database`; \
                     there are {}",
                    list_names(&names)
                )));
            }
        }
        let txn = Txn::begin(env)?;
        let Some(dbi) = txn.open(name)? else {
            drop(txn);
            return Err(Error::invalid(format!(
                "expected a database `{name}` in the environment, found {}",
                list_names(&database_names(env)?)
            )));
        };
        txn.refuse_flags(name, dbi)?;
        txn.commit()?;
        Ok(dbi)
    }
}

/// The names of databases among the first records of the unnamed database.
///
/// `mdb_del` tells the record of a database, which only LMDB may delete, from a value of the same
/// length. Its transaction is undone. The first refusal ends the transaction, so each key gets its
/// own.
///
/// # Safety
/// As for [`open`].
unsafe fn database_names(env: *mut ffi::MDB_env) -> Result<Vec<String>> {
    let mut names = Vec::new();
    // SAFETY: the caller's promise; each transaction ends before the next begins.
    unsafe {
        let keys = Txn::begin(env)?.keys_of_database_records()?;
        for key in keys {
            if Txn::begin(env)?.is_database(&key)? {
                // The 1.0 line stores a name with the zero byte at its end.
                let name = key.strip_suffix(b"\0").unwrap_or(&key);
                names.push(String::from_utf8_lossy(name).into_owned());
            }
        }
    }
    Ok(names)
}

/// # Safety
/// The transaction is live.
pub(crate) unsafe fn stat(txn: *mut ffi::MDB_txn, dbi: ffi::MDB_dbi) -> Result<ffi::MDB_stat> {
    // SAFETY: a struct of integers, for which zeros are a value.
    let mut stat = unsafe { std::mem::zeroed() };
    // SAFETY: the caller's promise; `stat` is an out parameter.
    check("mdb_stat", unsafe { ffi::mdb_stat(txn, dbi, &raw mut stat) })?;
    Ok(stat)
}

/// The transaction of every method is live: it ends when the value is dropped or committed.
impl Txn {
    /// # Safety
    /// The environment is open, outlives the transaction, and has no other of this thread.
    unsafe fn begin(env: *mut ffi::MDB_env) -> Result<Self> {
        let mut txn = null_mut();
        // SAFETY: the caller's promise; `txn` is an out parameter.
        check("mdb_txn_begin", unsafe { ffi::mdb_txn_begin(env, null_mut(), 0, &raw mut txn) })?;
        Ok(Self(txn))
    }

    fn commit(mut self) -> Result<()> {
        let txn = std::mem::replace(&mut self.0, null_mut());
        // SAFETY: live, freed by the commit whatever it returns, and not seen by the drop.
        check("mdb_txn_commit", unsafe { ffi::mdb_txn_commit(txn) })
    }

    /// Opens the database, or creates it in an empty environment. `None`: the environment has
    /// records, but no database of this name.
    fn open(&self, name: &str) -> Result<Option<ffi::MDB_dbi>> {
        if name.is_empty() {
            return self.open_unnamed().map(Some);
        }
        let c_name = CString::new(name)
            .map_err(|_| Error::invalid("database: expected a name without zero bytes"))?;
        let mut dbi = 0;
        let mut open = |flags| {
            // SAFETY: the transaction is live; the name outlives the call.
            unsafe { ffi::mdb_dbi_open(self.0, c_name.as_ptr(), flags, &raw mut dbi) }
        };
        let rc = match open(0) {
            // SAFETY: the transaction is live.
            ffi::MDB_NOTFOUND if unsafe { stat(self.0, self.open_unnamed()?) }?.ms_entries == 0 => {
                open(ffi::MDB_CREATE)
            }
            rc => rc,
        };
        match rc {
            0 => Ok(Some(dbi)),
            ffi::MDB_NOTFOUND => Ok(None),
            ffi::MDB_INCOMPATIBLE => Err(Error::invalid(format!(
                "expected a database `{name}`, found a record of that key in the unnamed database"
            ))),
            rc => Err(error("mdb_dbi_open", rc)),
        }
    }

    fn open_unnamed(&self) -> Result<ffi::MDB_dbi> {
        let mut dbi = 0;
        // SAFETY: the transaction is live; a null name means the unnamed database.
        let rc = unsafe { ffi::mdb_dbi_open(self.0, null(), 0, &raw mut dbi) };
        check("mdb_dbi_open", rc)?;
        Ok(dbi)
    }

    fn refuse_flags(&self, name: &str, dbi: ffi::MDB_dbi) -> Result<()> {
        let mut flags = 0;
        // SAFETY: transaction and handle are live.
        check("mdb_dbi_flags", unsafe { ffi::mdb_dbi_flags(self.0, dbi, &raw mut flags) })?;
        let Some((_, flag, reason)) = REFUSED_FLAGS.iter().find(|(flag, ..)| flags & flag != 0)
        else {
            return Ok(());
        };
        let database = if name.is_empty() {
            "the unnamed database".to_owned()
        } else {
            format!("database `{name}`")
        };
        Err(Error::invalid(format!("{database} has {flag}: {reason}")))
    }

    /// Tells whether the key is that of a database's record, by trying to delete it. After this the
    /// transaction must not be committed.
    fn is_database(&self, name: &[u8]) -> Result<bool> {
        let (unnamed, mut key) = (self.open_unnamed()?, val(name));
        // SAFETY: transaction and handle are live; LMDB only reads the key.
        let rc = unsafe { ffi::mdb_del(self.0, unnamed, &raw mut key, null_mut()) };
        Ok(rc == ffi::MDB_INCOMPATIBLE)
    }

    /// The keys of values that are as long as the record of a database.
    fn keys_of_database_records(&self) -> Result<Vec<Vec<u8>>> {
        let (unnamed, mut cursor) = (self.open_unnamed()?, null_mut());
        // SAFETY: transaction and handle are live; the cursor is closed below.
        check("mdb_cursor_open", unsafe {
            ffi::mdb_cursor_open(self.0, unnamed, &raw mut cursor)
        })?;
        let (mut keys, mut rc) = (Vec::new(), 0 as c_int);
        for _ in 0..LOOKED_AT {
            let (mut key, mut value) = (val(&[]), val(&[]));
            // SAFETY: the cursor is live; key and value are out parameters.
            rc =
                unsafe { ffi::mdb_cursor_get(cursor, &raw mut key, &raw mut value, ffi::MDB_NEXT) };
            if rc != 0 {
                break;
            }
            if value.mv_size == DATABASE_RECORD_BYTES {
                // SAFETY: LMDB set `key` to a slice of the map, which is copied at once.
                keys.push(unsafe { bytes(&key) }.to_vec());
            }
        }
        // SAFETY: live, and not used again.
        unsafe { ffi::mdb_cursor_close(cursor) };
        if rc == 0 || rc == ffi::MDB_NOTFOUND { Ok(keys) } else { Err(error("mdb_cursor_get", rc)) }
    }
}

impl Drop for Txn {
    fn drop(&mut self) {
        if !self.0.is_null() {
            // SAFETY: live and not committed.
            unsafe { ffi::mdb_txn_abort(self.0) };
        }
    }
}
