//! LMDB's C API made safe: an environment with its one database, a reader, write transactions. All
//! `unsafe` code of this adapter is here and in `cursor`, `database` and `value`.

#![expect(unsafe_code, reason = "calls of a C API")]

use crate::cursor::Steps;
use crate::database;
use crate::library::ffi;
use crate::size::free_bytes;
use crate::value::{bytes, check, error, val};
use kvdyno_engine::{Error, ErrorClass, Range, Records, Result, Walk};
use std::ffi::{CStr, CString, OsStr, c_int};
use std::marker::PhantomData;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr::{null, null_mut};

/// An open environment and one database of it.
pub(crate) struct Env {
    env: *mut ffi::MDB_env,
    dbi: ffi::MDB_dbi,
}

/// The settings with which an environment is opened.
#[derive(Clone, Copy)]
pub(crate) struct Setup<'a> {
    pub(crate) flags: u32,
    pub(crate) map_bytes: u64,
    pub(crate) readers: u32,
    /// Empty: the unnamed database.
    pub(crate) database: &'a str,
}

// SAFETY: an MDB_env may be used by any number of threads ("Caveats" in lmdb.h restricts
// transactions, not the environment), and the pointer is freed by the one owner, in `drop`.
unsafe impl Send for Env {}
// SAFETY: as above; every method takes its own transaction.
unsafe impl Sync for Env {}

impl Env {
    pub(crate) fn open(path: &Path, setup: Setup<'_>) -> Result<Self> {
        let Setup { flags, map_bytes, readers, database } = setup;
        let path = CString::new(path.as_os_str().as_bytes())
            .map_err(|_| Error::invalid("the path holds a zero byte"))?;
        let mut env = null_mut();
        // SAFETY: `env` is an out parameter. From here on the handle is owned by `opened`, whose
        // drop closes it on every early return, as lmdb.h demands even after a failed open.
        check("mdb_env_create", unsafe { ffi::mdb_env_create(&raw mut env) })?;
        let mut opened = Self { env, dbi: 0 };
        // SAFETY: `env` is live and not yet open, as both setters require.
        check("mdb_env_set_mapsize", unsafe { ffi::mdb_env_set_mapsize(env, map_bytes as usize) })?;
        // SAFETY: as above.
        check("mdb_env_set_maxreaders", unsafe { ffi::mdb_env_set_maxreaders(env, readers) })?;
        if !database.is_empty() {
            // SAFETY: as above.
            check("mdb_env_set_maxdbs", unsafe { ffi::mdb_env_set_maxdbs(env, 1) })?;
        }
        // SAFETY: `path` is a C string that outlives the call.
        check("mdb_env_open", unsafe { ffi::mdb_env_open(env, path.as_ptr(), flags, 0o644) })?;
        // A killed worker leaves its slots in the reader table, and they hold old pages back.
        let mut dead = 0;
        // SAFETY: `dead` is an out parameter.
        check("mdb_reader_check", unsafe { ffi::mdb_reader_check(env, &raw mut dead) })?;
        // SAFETY: the environment is open, and no transaction of this thread is live.
        opened.dbi = unsafe { database::open(env, database) }?;
        Ok(opened)
    }

    /// Returns a read transaction, parked: it holds a reader slot but no snapshot.
    pub(crate) fn reader(&self) -> Result<Reader<'_>> {
        let mut reader = Reader {
            txn: null_mut(),
            cursor: null_mut(),
            dbi: self.dbi,
            walking: false,
            env: PhantomData,
        };
        // SAFETY: out parameters; both handles are released by the reader's drop.
        check("mdb_txn_begin", unsafe {
            ffi::mdb_txn_begin(self.env, null_mut(), ffi::MDB_RDONLY, &raw mut reader.txn)
        })?;
        // SAFETY: the transaction has just begun.
        check("mdb_cursor_open", unsafe {
            ffi::mdb_cursor_open(reader.txn, self.dbi, &raw mut reader.cursor)
        })?;
        // SAFETY: as above.
        unsafe { ffi::mdb_txn_reset(reader.txn) };
        Ok(reader)
    }

    /// Runs `body` in a write transaction: committed if it succeeds, undone if it fails.
    pub(crate) fn write<R>(&self, body: impl FnOnce(&mut Writer<'_>) -> Result<R>) -> Result<R> {
        let mut writer =
            Writer { txn: null_mut(), cursor: null_mut(), dbi: self.dbi, env: PhantomData };
        // SAFETY: `txn` is an out parameter; it stays null if the call fails.
        check("mdb_txn_begin", unsafe {
            ffi::mdb_txn_begin(self.env, null_mut(), 0, &raw mut writer.txn)
        })?;
        let result = body(&mut writer)?;
        let txn = std::mem::replace(&mut writer.txn, null_mut());
        // SAFETY: `txn` is live, and freed by the commit whatever it returns: so the writer's drop
        // must not see it any more.
        match unsafe { ffi::mdb_txn_commit(txn) } {
            0 => Ok(result),
            rc => Err(self.commit_error(rc)),
        }
    }

    /// Returns the error of a commit. LMDB reports a short write as EIO, and writes are short on a
    /// full volume: such an EIO becomes [`ErrorClass::Full`].
    #[cold]
    fn commit_error(&self, rc: c_int) -> Error {
        const ROOM: u64 = 1 << 20;
        let error = error("mdb_txn_commit", rc);
        let full = || self.path().and_then(|path| free_bytes(&path)).is_ok_and(|free| free < ROOM);
        if rc == libc::EIO && full() {
            return Error::new(ErrorClass::Full, format!("{}, on a full volume", error.message));
        }
        error
    }

    fn path(&self) -> Result<PathBuf> {
        let mut path = null();
        // SAFETY: the environment is open; the string is its own and is copied at once.
        let path = unsafe {
            check("mdb_env_get_path", ffi::mdb_env_get_path(self.env, &raw mut path))?;
            CStr::from_ptr(path)
        };
        Ok(PathBuf::from(OsStr::from_bytes(path.to_bytes())))
    }

    pub(crate) fn sync(&self) -> Result<()> {
        // SAFETY: the environment is open.
        check("mdb_env_sync", unsafe { ffi::mdb_env_sync(self.env, 1) })
    }

    /// Returns the statistics of the database.
    pub(crate) fn stat(&self) -> Result<ffi::MDB_stat> {
        // SAFETY: the transaction is live as long as the snapshot.
        self.reader()?.with_snapshot(|snapshot| unsafe { database::stat(snapshot.0.txn, self.dbi) })
    }

    pub(crate) fn info(&self) -> Result<ffi::MDB_envinfo> {
        // SAFETY: a struct of integers and a pointer, for which zeros are a value.
        let mut info = unsafe { std::mem::zeroed() };
        // SAFETY: the environment is open; `info` is an out parameter.
        check("mdb_env_info", unsafe { ffi::mdb_env_info(self.env, &raw mut info) })?;
        Ok(info)
    }

    pub(crate) fn flags(&self) -> Result<u32> {
        let mut flags = 0;
        // SAFETY: the environment is open; `flags` is an out parameter.
        check("mdb_env_get_flags", unsafe { ffi::mdb_env_get_flags(self.env, &raw mut flags) })?;
        Ok(flags)
    }
}

impl Drop for Env {
    fn drop(&mut self) {
        // SAFETY: transactions borrow the environment, so none is left; it is closed once.
        unsafe { ffi::mdb_env_close(self.env) };
    }
}

/// A read transaction and its cursor, parked between reads. Each read renews the transaction, to
/// see the newest commit, and parks it again, so that it holds back no old page. Only a walk leaves
/// the transaction live, with the cursor on its last record.
pub(crate) struct Reader<'e> {
    txn: *mut ffi::MDB_txn,
    cursor: *mut ffi::MDB_cursor,
    dbi: ffi::MDB_dbi,
    walking: bool,
    env: PhantomData<&'e Env>,
}

impl<'e> Reader<'e> {
    /// Runs `look` on the newest commit, then parks the transaction again. Slices of the map cannot
    /// leave `look`: they borrow the snapshot.
    #[inline]
    pub(crate) fn with_snapshot<R>(
        &mut self,
        look: impl FnOnce(&mut Snapshot<'_, 'e>) -> Result<R>,
    ) -> Result<R> {
        if self.walking {
            self.park();
        }
        // SAFETY: the transaction is parked.
        check("mdb_txn_renew", unsafe { ffi::mdb_txn_renew(self.txn) })?;
        let result = look(&mut Snapshot(self));
        self.park();
        result
    }

    #[inline]
    fn park(&mut self) {
        self.walking = false;
        // SAFETY: the transaction is live.
        unsafe { ffi::mdb_txn_reset(self.txn) };
    }

    /// Visits the next records of a walk, in the snapshot in which the walk began.
    pub(crate) fn walk(
        &mut self,
        walk: &mut Walk,
        limit: u64,
        mut visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<u64> {
        let mut steps = Steps::new(self.cursor);
        // SAFETY: where a walk is under way the transaction is live and the cursor on a record.
        let goes_on = self.walking
            && unsafe { steps.go(ffi::MDB_GET_CURRENT) } == 0
            && walk.last_key() == Some(unsafe { bytes(&steps.key) });
        if !goes_on {
            if self.walking {
                self.park();
            }
            // SAFETY: the transaction is parked; renewed, it is live, and the cursor belongs to it.
            check("mdb_txn_renew", unsafe { ffi::mdb_txn_renew(self.txn) })?;
            self.walking = true;
            // SAFETY: as above.
            let renewed = unsafe { ffi::mdb_cursor_renew(self.txn, self.cursor) };
            check("mdb_cursor_renew", renewed)?;
        }
        let range = Range { from: walk.last_key(), ..Range::all(walk.direction()).limit(limit) };
        // SAFETY: the transaction is live, and nothing writes in it.
        let result = unsafe { steps.show(&range, walk.last_key(), goes_on, &mut visit) };
        match &result {
            // The cursor is on the last record that was visited.
            // SAFETY: as above.
            Ok(result) if result.count > 0 && !result.at_end => {
                walk.advance_to(unsafe { bytes(&steps.key) });
            }
            Ok(result) if result.count == 0 && !result.at_end => {}
            _ => {
                walk.restart();
                self.park();
            }
        }
        result.map(|result| result.count)
    }
}

/// A reader while its transaction is live.
pub(crate) struct Snapshot<'r, 'e>(&'r mut Reader<'e>);

impl Snapshot<'_, '_> {
    #[inline]
    pub(crate) fn get(&self, key: &[u8]) -> Result<Option<&[u8]>> {
        // SAFETY: the transaction is live as long as the snapshot, and only reads.
        unsafe { lookup(self.0.txn, self.0.dbi, key) }
    }

    pub(crate) fn scan(
        &mut self,
        range: Range<'_>,
        mut visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<u64> {
        // SAFETY: the transaction is live, and the cursor belongs to it.
        let renewed = unsafe { ffi::mdb_cursor_renew(self.0.txn, self.0.cursor) };
        check("mdb_cursor_renew", renewed)?;
        let mut steps = Steps::new(self.0.cursor);
        // SAFETY: the transaction is live, and nothing writes in it.
        unsafe { steps.show(&range, None, false, &mut visit) }.map(|result| result.count)
    }
}

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        // SAFETY: the cursor of a read transaction may be closed before it (lmdb.h); each handle
        // is null or live, and neither is used again.
        unsafe {
            if !self.cursor.is_null() {
                ffi::mdb_cursor_close(self.cursor);
            }
            if !self.txn.is_null() {
                ffi::mdb_txn_abort(self.txn);
            }
        }
    }
}

/// A write transaction; dropped before its commit, it is undone.
pub(crate) struct Writer<'e> {
    txn: *mut ffi::MDB_txn,
    /// Null, or a cursor that the transaction frees when it ends.
    cursor: *mut ffi::MDB_cursor,
    dbi: ffi::MDB_dbi,
    env: PhantomData<&'e Env>,
}

impl Writer<'_> {
    pub(crate) fn get(&self, key: &[u8]) -> Result<Option<&[u8]>> {
        // SAFETY: the transaction is live; `put` and `delete` need it mutably, so the value cannot
        // be held across a change.
        unsafe { lookup(self.txn, self.dbi, key) }
    }

    /// Opens a cursor for puts: each put starts at the page of the put before it. That pays from
    /// the second put on.
    pub(crate) fn open_put_cursor(&mut self) -> Result<()> {
        // SAFETY: the transaction is live, and frees the cursor at its commit or abort (lmdb.h).
        check("mdb_cursor_open", unsafe {
            ffi::mdb_cursor_open(self.txn, self.dbi, &raw mut self.cursor)
        })
    }

    /// Puts a record. With `append`, does so only past the last key; `false`: the key is not past
    /// it.
    #[inline]
    pub(crate) fn put(&mut self, key: &[u8], value: &[u8], append: bool) -> Result<bool> {
        let (mut key, mut value) = (val(key), val(value));
        let flags = if append { ffi::MDB_APPEND } else { 0 };
        // SAFETY: transaction and cursor are live; LMDB copies key and value before it returns.
        let rc = unsafe {
            if self.cursor.is_null() {
                ffi::mdb_put(self.txn, self.dbi, &raw mut key, &raw mut value, flags)
            } else {
                ffi::mdb_cursor_put(self.cursor, &raw mut key, &raw mut value, flags)
            }
        };
        match rc {
            0 => Ok(true),
            ffi::MDB_KEYEXIST if append => Ok(false),
            rc => Err(error("mdb_put", rc)),
        }
    }

    pub(crate) fn scan(&mut self, range: Range<'_>, visit: &mut Records<'_>) -> Result<u64> {
        let mut cursor = null_mut();
        // SAFETY: the transaction is live; the cursor is closed below, before it ends.
        check("mdb_cursor_open", unsafe {
            ffi::mdb_cursor_open(self.txn, self.dbi, &raw mut cursor)
        })?;
        let mut steps = Steps::new(cursor);
        // SAFETY: `visit` has no way to this writer, which is borrowed.
        let scan = unsafe { steps.show(&range, None, false, &mut |key, value| visit(key, value)) };
        // SAFETY: live, and not used again.
        unsafe { ffi::mdb_cursor_close(cursor) };
        scan.map(|scan| scan.count)
    }

    pub(crate) fn delete(&mut self, key: &[u8]) -> Result<()> {
        let mut key = val(key);
        // SAFETY: the transaction is live; a null value is for databases without duplicates.
        match unsafe { ffi::mdb_del(self.txn, self.dbi, &raw mut key, null_mut()) } {
            0 | ffi::MDB_NOTFOUND => Ok(()),
            rc => Err(error("mdb_del", rc)),
        }
    }
}

impl Drop for Writer<'_> {
    fn drop(&mut self) {
        if !self.txn.is_null() {
            // SAFETY: live and not committed.
            unsafe { ffi::mdb_txn_abort(self.txn) };
        }
    }
}

/// # Safety
/// `txn` is live and stays so, unchanged, while the value is used.
#[inline]
unsafe fn lookup<'t>(
    txn: *mut ffi::MDB_txn,
    dbi: ffi::MDB_dbi,
    key: &[u8],
) -> Result<Option<&'t [u8]>> {
    let (mut key, mut value) = (val(key), val(&[]));
    // SAFETY: the caller's promise; LMDB only reads the key.
    match unsafe { ffi::mdb_get(txn, dbi, &raw mut key, &raw mut value) } {
        // SAFETY: LMDB set `value` to a slice of the map.
        0 => Ok(Some(unsafe { bytes(&value) })),
        ffi::MDB_NOTFOUND => Ok(None),
        rc => Err(error("mdb_get", rc)),
    }
}

/// Returns the version that the linked library reports.
pub(crate) fn version() -> String {
    let (mut major, mut minor, mut patch) = (0, 0, 0);
    // SAFETY: three out parameters; the returned string is static and not used.
    unsafe { ffi::mdb_version(&raw mut major, &raw mut minor, &raw mut patch) };
    format!("{major}.{minor}.{patch}")
}
