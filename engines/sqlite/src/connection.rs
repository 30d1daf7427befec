//! A connection: opened by the options, with its statements and statistics.

#![expect(unsafe_code, reason = "calls of a C API")]

use crate::checkpoints::Checkpoints;
use crate::statement::{Statement, error, error_class};
use kvdyno_engine::{Error, Result};
use libsqlite3_sys as ffi;
use std::ffi::{CStr, CString, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::{null, null_mut};
use std::sync::{Arc, Once};

/// An open connection, which one thread uses at a time.
pub(crate) struct Connection {
    db: *mut ffi::sqlite3,
    /// The state of the connection's hook, so it is dropped after the connection.
    _checkpoints: Arc<Checkpoints>,
}

// SAFETY: opened with SQLITE_OPEN_NOMUTEX, SQLite lets any thread use it, one at a time; it is not
// `Sync`, and its statements are in the hands of the same owner.
unsafe impl Send for Connection {}

/// The counts that a connection keeps of its page cache, by their names in sqlite3.h.
pub(crate) const CACHE_COUNTS: [(&str, c_int); 4] = [
    ("SQLITE_DBSTATUS_CACHE_HIT", ffi::SQLITE_DBSTATUS_CACHE_HIT),
    ("SQLITE_DBSTATUS_CACHE_MISS", ffi::SQLITE_DBSTATUS_CACHE_MISS),
    ("SQLITE_DBSTATUS_CACHE_WRITE", ffi::SQLITE_DBSTATUS_CACHE_WRITE),
    ("SQLITE_DBSTATUS_CACHE_SPILL", ffi::SQLITE_DBSTATUS_CACHE_SPILL),
];

impl Connection {
    pub(crate) fn open(path: &Path, checkpoints: &Arc<Checkpoints>) -> Result<Self> {
        without_memory_statistics();
        let path = CString::new(path.as_os_str().as_bytes())
            .map_err(|_| Error::invalid("the path holds a zero byte"))?;
        let flags = ffi::SQLITE_OPEN_READWRITE | ffi::SQLITE_OPEN_CREATE | ffi::SQLITE_OPEN_NOMUTEX;
        let mut db = null_mut();
        // SAFETY: `path` outlives the call and `db` is an out parameter; the handle is closed even
        // where opening failed, as the manual asks for. The hook's state is kept with it.
        unsafe {
            let rc = ffi::sqlite3_open_v2(path.as_ptr(), &raw mut db, flags, null());
            if db.is_null() {
                return Err(Error::new(error_class(rc), "sqlite3_open_v2: no memory"));
            }
            let opened = Self { db, _checkpoints: Arc::clone(checkpoints) };
            if rc != ffi::SQLITE_OK {
                return Err(error(db, "sqlite3_open_v2"));
            }
            ffi::sqlite3_extended_result_codes(db, 1);
            Checkpoints::install_hook(checkpoints, db);
            Ok(opened)
        }
    }

    pub(crate) fn prepare(&self, sql: &str) -> Result<Statement> {
        // SAFETY: the connection is open.
        unsafe { Statement::prepare(self.db, sql) }
    }

    /// Returns the first column of the first row of a statement, as text; empty: there is no row.
    pub(crate) fn text(&self, sql: &str) -> Result<String> {
        self.prepare(sql)?.first_row(&[], |row| row.map(|row| row.text(0)).unwrap_or_default())
    }

    /// Returns the name of a column's collation, the order of its texts.
    pub(crate) fn collation(&self, table: &str, column: &str) -> Result<String> {
        let name = |name| CString::new(name).map_err(|_| Error::invalid("a zero byte in a name"));
        let (table, column) = (name(table)?, name(column)?);
        let mut collation = null();
        // SAFETY: the connection is open, the names are C strings, and the rest are out parameters
        // or null. The answer is the connection's, and is copied at once.
        unsafe {
            let rc = ffi::sqlite3_table_column_metadata(
                self.db,
                c"main".as_ptr(),
                table.as_ptr(),
                column.as_ptr(),
                null_mut(),
                &raw mut collation,
                null_mut(),
                null_mut(),
                null_mut(),
            );
            if rc != ffi::SQLITE_OK {
                return Err(self.call_error("sqlite3_table_column_metadata"));
            }
            Ok(CStr::from_ptr(collation).to_string_lossy().into_owned())
        }
    }

    /// Runs a checkpoint that does not wait. Returns the pages in the write-ahead log, and how many
    /// of them have been moved to the database. Both are -1 if there is no such log.
    pub(crate) fn checkpoint(&self) -> Result<(i32, i32)> {
        let (mut log, mut done) = (0, 0);
        let passive = ffi::SQLITE_CHECKPOINT_PASSIVE;
        // SAFETY: the connection is open, and the two last are out parameters.
        let rc = unsafe {
            ffi::sqlite3_wal_checkpoint_v2(self.db, null(), passive, &raw mut log, &raw mut done)
        };
        // SAFETY: as above.
        if rc == ffi::SQLITE_OK {
            Ok((log, done))
        } else {
            Err(unsafe { self.call_error("checkpoint") })
        }
    }

    /// Syncs the database's file and its log or journal through `SQLite`'s own handles: closing
    /// another handle would drop this process's locks on the file (POSIX).
    pub(crate) fn sync_files(&self) -> Result<()> {
        for which in [ffi::SQLITE_FCNTL_JOURNAL_POINTER, ffi::SQLITE_FCNTL_FILE_POINTER] {
            let mut file: *mut ffi::sqlite3_file = null_mut();
            // SAFETY: the connection is open; what it puts into `file` is its own, and is live as
            // long as it. One that is not open has no methods.
            unsafe {
                let name = c"main".as_ptr();
                let rc = ffi::sqlite3_file_control(self.db, name, which, (&raw mut file).cast());
                if rc != ffi::SQLITE_OK {
                    return Err(self.call_error("sqlite3_file_control"));
                }
                let methods = file.as_ref().and_then(|file| file.pMethods.as_ref());
                let Some(sync) = methods.and_then(|methods| methods.xSync) else { continue };
                let rc = sync(file, ffi::SQLITE_SYNC_FULL);
                if rc != ffi::SQLITE_OK {
                    return Err(Error::new(error_class(rc), format!("xSync: {rc}")));
                }
            }
        }
        Ok(())
    }

    /// Returns the cache counts since the last call, in the order of [`CACHE_COUNTS`].
    pub(crate) fn take_cache_counts(&self) -> [u64; CACHE_COUNTS.len()] {
        CACHE_COUNTS.map(|(_, count)| {
            let (mut now, mut highest) = (0, 0);
            // SAFETY: the connection is open, and the two are out parameters; 1: from zero again.
            unsafe { ffi::sqlite3_db_status(self.db, count, &raw mut now, &raw mut highest, 1) };
            now.max(0) as u64
        })
    }

    /// Returns whether no transaction is open.
    pub(crate) fn is_at_rest(&self) -> bool {
        // SAFETY: the connection is open.
        unsafe { ffi::sqlite3_get_autocommit(self.db) != 0 }
    }

    /// # Safety
    /// A call on the connection has just failed.
    #[cold]
    unsafe fn call_error(&self, call: &str) -> Error {
        // SAFETY: the connection is open, and its thread's alone.
        unsafe { error(self.db, call) }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // SAFETY: open, and closed once. With a statement left it would stay open and so be lost,
        // but for the state of its hook.
        unsafe {
            ffi::sqlite3_wal_hook(self.db, None, null_mut());
            ffi::sqlite3_close(self.db);
        }
    }
}

/// Turns off `SQLite`'s own count of its memory, which takes a lock that all threads share for each
/// piece. Its authors recommend that ("Recommended Compile-time Options").
fn without_memory_statistics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: before SQLite is initialised by the first connection; the argument is an int.
        unsafe { ffi::sqlite3_config(ffi::SQLITE_CONFIG_MEMSTATUS, 0 as c_int) };
    });
}

/// Returns the linked library's version, the check-in that it was built from, and its compile
/// options.
pub(crate) fn library() -> (String, String, String) {
    // SAFETY: static strings; null ends the list of options.
    unsafe {
        let text = |text| CStr::from_ptr(text).to_string_lossy().into_owned();
        let options = (0..).map(|number| ffi::sqlite3_compileoption_get(number));
        let options = options.take_while(|option| !option.is_null()).map(text);
        let options = options.collect::<Vec<_>>().join(" ");
        (text(ffi::sqlite3_libversion()), text(ffi::sqlite3_sourceid()), options)
    }
}
