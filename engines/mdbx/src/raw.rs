//! libmdbx's C API made safe: an environment with its one table, a reader, write transactions. All
//! `unsafe` code of this adapter is here and in `cursor` and `value`.

#![expect(unsafe_code, reason = "calls of a C API")]

use crate::cursor::Steps;
use crate::library::ffi;
use crate::value::{bytes, check, error, val};
use kvdyno_engine::{Error, Range, Records, Result, Walk};
use std::ffi::{CStr, CString, c_char};
use std::marker::PhantomData;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::{null, null_mut};

/// The settings with which an environment is opened; -1: libmdbx's default.
pub(crate) struct Opening {
    pub(crate) flags: u32,
    pub(crate) readers: u64,
    pub(crate) size_upper: isize,
    pub(crate) growth_step: isize,
    pub(crate) shrink_threshold: isize,
    pub(crate) page_size: isize,
    /// Unflushed bytes at which a commit flushes; `None`: libmdbx decides.
    pub(crate) sync_bytes: Option<u64>,
}

/// An open environment and its unnamed table.
pub(crate) struct Env {
    env: *mut ffi::MDBX_env,
    dbi: ffi::MDBX_dbi,
}

// SAFETY: an MDBX_env may be used by any number of threads; with MDBX_NOSTICKYTHREADS so may its
// transactions, one at a time. The pointer is freed by the one owner.
unsafe impl Send for Env {}
// SAFETY: as above; every method takes its own transaction.
unsafe impl Sync for Env {}

impl Env {
    pub(crate) fn open(path: &Path, opening: &Opening) -> Result<Self> {
        let path = CString::new(path.as_os_str().as_bytes())
            .map_err(|_| Error::invalid("the path holds a zero byte"))?;
        let mut env = null_mut();
        // SAFETY: `env` is an out parameter. From here on the handle is owned by `opened`, whose
        // drop closes it on every early return, as mdbx.h demands even after a failed open.
        check("mdbx_env_create", unsafe { ffi::mdbx_env_create(&raw mut env) })?;
        let mut opened = Self { env, dbi: 0 };
        let (upper, step) = (opening.size_upper, opening.growth_step);
        let (shrink, page) = (opening.shrink_threshold, opening.page_size);
        // SAFETY: `env` is live and not yet open, as the setters require; `path` is a C string that
        // outlives the call.
        unsafe {
            let geometry = ffi::mdbx_env_set_geometry(env, -1, -1, upper, step, shrink, page);
            check("mdbx_env_set_geometry", geometry)?;
            let readers = ffi::mdbx_env_set_option(env, ffi::MDBX_opt_max_readers, opening.readers);
            check("maxreaders", readers)?;
            let rc = ffi::mdbx_env_open(env, path.as_ptr(), opening.flags, 0o644);
            check("mdbx_env_open", rc)?;
            if let Some(bytes) = opening.sync_bytes {
                let rc = ffi::mdbx_env_set_option(env, ffi::MDBX_opt_sync_bytes, bytes);
                check("sync_bytes", rc)?;
            }
        }
        opened.dbi = opened.write(|txn| {
            let mut dbi = 0;
            // SAFETY: the transaction is live; a null name means the unnamed table.
            let rc = unsafe { ffi::mdbx_dbi_open(txn.txn, null::<c_char>(), 0, &raw mut dbi) };
            check("mdbx_dbi_open", rc).map(|()| dbi)
        })?;
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
        unsafe {
            let flags = ffi::MDBX_TXN_RDONLY as _;
            let begun = begin(self.env, flags, &raw mut reader.txn);
            check("mdbx_txn_begin", begun)?;
            let opened = ffi::mdbx_cursor_open(reader.txn, self.dbi, &raw mut reader.cursor);
            check("mdbx_cursor_open", opened)?;
            check("mdbx_txn_reset", ffi::mdbx_txn_reset(reader.txn))?;
        }
        Ok(reader)
    }

    /// Runs `body` in a write transaction: committed if it succeeds, undone if it fails.
    pub(crate) fn write<R>(&self, body: impl FnOnce(&mut Writer<'_>) -> Result<R>) -> Result<R> {
        let mut writer = self.writer()?;
        let result = body(&mut writer)?;
        writer.close_cursor();
        let txn = std::mem::replace(&mut writer.txn, null_mut());
        // SAFETY: `txn` is live, and freed by the commit whatever it returns: so the writer's drop
        // must not see it any more.
        let rc = unsafe { ffi::mdbx_txn_commit_ex(txn, null_mut()) };
        check("mdbx_txn_commit", rc).map(|()| result)
    }

    /// Begins a write transaction, which is undone when it is dropped.
    fn writer(&self) -> Result<Writer<'_>> {
        let mut writer =
            Writer { txn: null_mut(), cursor: null_mut(), dbi: self.dbi, env: PhantomData };
        // SAFETY: `txn` is an out parameter; it stays null if the call fails.
        check("mdbx_txn_begin", unsafe {
            begin(self.env, ffi::MDBX_TXN_READWRITE as _, &raw mut writer.txn)
        })?;
        Ok(writer)
    }

    /// Syncs the environment in a write transaction of its own. With `MDBX_NOSTICKYTHREADS` libmdbx
    /// takes the write transaction of any thread for the caller's, and would sync beside it without
    /// its lock.
    pub(crate) fn sync(&self) -> Result<()> {
        let _alone = self.writer()?;
        // SAFETY: the environment is open.
        match unsafe { ffi::mdbx_env_sync_ex(self.env, true, false) } {
            // There was nothing to sync.
            ffi::MDBX_RESULT_TRUE => Ok(()),
            rc => check("mdbx_env_sync", rc),
        }
    }

    /// Returns the statistics of the table. For those of the environment libmdbx would walk all
    /// leaves, in search of further tables.
    pub(crate) fn stat(&self) -> Result<ffi::MDBX_stat> {
        let mut txn = null_mut();
        // SAFETY: the environment is open, `txn` an out parameter.
        let begun = unsafe { begin(self.env, ffi::MDBX_TXN_RDONLY as _, &raw mut txn) };
        check("mdbx_txn_begin", begun)?;
        // SAFETY: a struct of integers, for which zeros are a value.
        let mut stat: ffi::MDBX_stat = unsafe { std::mem::zeroed() };
        let size = size_of_val(&stat);
        // SAFETY: the transaction is live, and ended once; `stat` is an out parameter of this size.
        let rc = unsafe {
            let rc = ffi::mdbx_dbi_stat(txn, self.dbi, &raw mut stat, size);
            ffi::mdbx_txn_abort(txn);
            rc
        };
        check("mdbx_dbi_stat", rc).map(|()| stat)
    }

    pub(crate) fn info(&self) -> Result<ffi::MDBX_envinfo> {
        // SAFETY: a struct of integers, for which zeros are a value.
        let mut info: ffi::MDBX_envinfo = unsafe { std::mem::zeroed() };
        let size = size_of_val(&info);
        // SAFETY: the environment is open; `info` is an out parameter of this size.
        let rc = unsafe { ffi::mdbx_env_info_ex(self.env, null(), &raw mut info, size) };
        check("mdbx_env_info", rc).map(|()| info)
    }

    pub(crate) fn flags(&self) -> Result<u32> {
        let mut flags = 0;
        // SAFETY: the environment is open; `flags` is an out parameter.
        check("mdbx_env_get_flags", unsafe { ffi::mdbx_env_get_flags(self.env, &raw mut flags) })?;
        Ok(flags)
    }

    /// Syncs the rest, and closes the environment.
    pub(crate) fn close(self) -> Result<()> {
        let env = std::mem::ManuallyDrop::new(self).env;
        // SAFETY: transactions borrow the environment, so none is left; its drop does not run.
        check("mdbx_env_close", unsafe { ffi::mdbx_env_close_ex(env, false) })
    }
}

impl Drop for Env {
    fn drop(&mut self) {
        // SAFETY: as in `close`, once.
        unsafe { ffi::mdbx_env_close_ex(self.env, false) };
    }
}

/// # Safety
/// `env` is open, `txn` an out parameter.
#[inline]
unsafe fn begin(
    env: *mut ffi::MDBX_env,
    flags: ffi::MDBX_txn_flags_t,
    txn: *mut *mut ffi::MDBX_txn,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { ffi::mdbx_txn_begin_ex(env, null_mut(), flags, txn, null_mut()) }
}

/// A read transaction and its cursor, parked between reads. Each read renews the transaction, to
/// see the newest commit, and parks it again, so that it holds back no old page. Only a walk leaves
/// the transaction live, with the cursor on its last record.
pub(crate) struct Reader<'e> {
    txn: *mut ffi::MDBX_txn,
    cursor: *mut ffi::MDBX_cursor,
    dbi: ffi::MDBX_dbi,
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
        check("mdbx_txn_renew", unsafe { ffi::mdbx_txn_renew(self.txn) })?;
        let result = look(&mut Snapshot(self));
        self.park();
        result
    }

    #[inline]
    fn park(&mut self) {
        self.walking = false;
        // SAFETY: the transaction is live.
        unsafe { ffi::mdbx_txn_reset(self.txn) };
    }

    /// Binds the cursor to the renewed transaction.
    fn bind(&mut self) -> Result<()> {
        // SAFETY: the transaction is live, and the cursor was opened for its table.
        let rc = unsafe { ffi::mdbx_cursor_bind(self.txn, self.cursor, self.dbi) };
        check("mdbx_cursor_bind", rc)
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
            && unsafe { steps.go(ffi::MDBX_GET_CURRENT) } == 0
            && walk.last_key() == Some(unsafe { bytes(&steps.key) });
        if !goes_on {
            if self.walking {
                self.park();
            }
            // SAFETY: the transaction is parked.
            check("mdbx_txn_renew", unsafe { ffi::mdbx_txn_renew(self.txn) })?;
            self.walking = true;
            self.bind()?;
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
        self.0.bind()?;
        let mut steps = Steps::new(self.0.cursor);
        // SAFETY: the transaction is live, and nothing writes in it.
        unsafe { steps.show(&range, None, false, &mut visit) }.map(|result| result.count)
    }
}

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        // SAFETY: each handle is null or live, and neither is used again; a cursor is closed by
        // itself, before or after its transaction.
        unsafe {
            if !self.cursor.is_null() {
                ffi::mdbx_cursor_close(self.cursor);
            }
            if !self.txn.is_null() {
                ffi::mdbx_txn_abort(self.txn);
            }
        }
    }
}

/// A write transaction; dropped before its commit, it is undone.
pub(crate) struct Writer<'e> {
    txn: *mut ffi::MDBX_txn,
    /// Null, or a cursor of the transaction.
    cursor: *mut ffi::MDBX_cursor,
    dbi: ffi::MDBX_dbi,
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
        self.close_cursor();
        // SAFETY: the transaction is live; the cursor is closed before it ends.
        check("mdbx_cursor_open", unsafe {
            ffi::mdbx_cursor_open(self.txn, self.dbi, &raw mut self.cursor)
        })
    }

    fn close_cursor(&mut self) {
        if !self.cursor.is_null() {
            // SAFETY: live, and forgotten here.
            unsafe { ffi::mdbx_cursor_close(self.cursor) };
            self.cursor = null_mut();
        }
    }

    /// Puts a record. With `append`, does so only past the last key; `false`: the key is not past
    /// it.
    #[inline]
    pub(crate) fn put(&mut self, key: &[u8], value: &[u8], append: bool) -> Result<bool> {
        let (key, mut value) = (val(key), val(value));
        let flags = if append { ffi::MDBX_APPEND } else { ffi::MDBX_UPSERT };
        // SAFETY: transaction and cursor are live; libmdbx copies key and value before it returns.
        let rc = unsafe {
            if self.cursor.is_null() {
                ffi::mdbx_put(self.txn, self.dbi, &raw const key, &raw mut value, flags)
            } else {
                ffi::mdbx_cursor_put(self.cursor, &raw const key, &raw mut value, flags)
            }
        };
        match rc {
            ffi::MDBX_SUCCESS => Ok(true),
            ffi::MDBX_EKEYMISMATCH | ffi::MDBX_KEYEXIST if append => Ok(false),
            rc => Err(error("mdbx_put", rc)),
        }
    }

    pub(crate) fn scan(&mut self, range: Range<'_>, visit: &mut Records<'_>) -> Result<u64> {
        self.open_put_cursor()?;
        let mut steps = Steps::new(self.cursor);
        // SAFETY: `visit` has no way to this writer, which is borrowed.
        let scan = unsafe { steps.show(&range, None, false, &mut |key, value| visit(key, value)) };
        self.close_cursor();
        scan.map(|scan| scan.count)
    }

    pub(crate) fn delete(&mut self, key: &[u8]) -> Result<()> {
        let key = val(key);
        // SAFETY: the transaction is live; a null value is for tables without duplicates.
        match unsafe { ffi::mdbx_del(self.txn, self.dbi, &raw const key, null()) } {
            ffi::MDBX_SUCCESS | ffi::MDBX_NOTFOUND => Ok(()),
            rc => Err(error("mdbx_del", rc)),
        }
    }
}

impl Drop for Writer<'_> {
    fn drop(&mut self) {
        self.close_cursor();
        if !self.txn.is_null() {
            // SAFETY: live and not committed.
            unsafe { ffi::mdbx_txn_abort(self.txn) };
        }
    }
}

/// # Safety
/// `txn` is live and stays so, unchanged, while the value is used.
#[inline]
unsafe fn lookup<'t>(
    txn: *mut ffi::MDBX_txn,
    dbi: ffi::MDBX_dbi,
    key: &[u8],
) -> Result<Option<&'t [u8]>> {
    let (key, mut value) = (val(key), val(&[]));
    // SAFETY: the caller's promise; libmdbx only reads the key.
    match unsafe { ffi::mdbx_get(txn, dbi, &raw const key, &raw mut value) } {
        // SAFETY: libmdbx set `value` to a slice of the map.
        ffi::MDBX_SUCCESS => Ok(Some(unsafe { bytes(&value) })),
        ffi::MDBX_NOTFOUND => Ok(None),
        rc => Err(error("mdbx_get", rc)),
    }
}

/// Returns what the linked library reports: its version, the commit that it was built from, and how
/// it was built.
pub(crate) fn version() -> (String, String, String) {
    // SAFETY: constants of the library, whose strings are static.
    unsafe {
        let (version, build) = (&ffi::mdbx_version, &ffi::mdbx_build);
        let text = |text: *const c_char| CStr::from_ptr(text).to_string_lossy().into_owned();
        let number = format!("{}.{}.{}", version.major, version.minor, version.patch);
        let how = [build.options, build.compiler, build.flags].map(text).join("; ");
        (number, text(version.git.describe), how)
    }
}

/// Returns the length of the longest key on pages of `page` bytes.
pub(crate) fn key_bytes_max(page: isize) -> u64 {
    // SAFETY: a function of its arguments alone.
    let bytes = unsafe { ffi::mdbx_limits_keysize_max(page, ffi::MDBX_DB_DEFAULTS) };
    bytes.max(0) as u64
}

/// Returns the size of the largest file with pages of `page` bytes.
pub(crate) fn file_bytes_max(page: isize) -> u64 {
    // SAFETY: a function of its argument alone.
    unsafe { ffi::mdbx_limits_dbsize_max(page) }.max(0) as u64
}
