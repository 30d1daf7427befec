//! An open database of `WiredTiger`'s and its sessions, and everything about it but the operations
//! on records.

#![expect(unsafe_code, reason = "calls of a C API")]

use crate::api::{self, Api, text};
use crate::table;
use kvdyno_engine::{Error, Result};
use std::ffi::{CStr, CString, c_char, c_void};
use std::path::Path;
use std::ptr::null_mut;

/// An open database. Any thread may use it.
pub(crate) struct Database {
    pub(crate) api: &'static Api,
    /// Null once it is closed.
    connection: *mut api::Connection,
    /// The URI of the table with the records.
    table: CString,
}

// SAFETY: WiredTiger's connection is for all threads at once.
unsafe impl Send for Database {}
// SAFETY: as above.
unsafe impl Sync for Database {}

impl Database {
    /// Opens the database in `folder` and its table `name`, or makes them.
    pub(crate) fn open(
        api: &'static Api,
        folder: &Path,
        config: &str,
        name: &str,
        table_config: &str,
    ) -> Result<Self> {
        let (folder, config) = (c_string(&folder.to_string_lossy())?, c_string(config)?);
        let table = c_string(&format!("table:{name}"))?;
        let table_config = c_string(table_config)?;
        let mut connection = null_mut();
        // SAFETY: C strings, and an out parameter.
        let opened = unsafe { (api.open)(folder.as_ptr(), config.as_ptr(), &raw mut connection) };
        api.call_checked(opened)?;
        let database = Self { api, connection, table };
        let session = database.session()?;
        if table::is_missing(&session, name)? {
            let (uri, config) = (database.table.as_ptr(), table_config.as_ptr());
            // SAFETY: the session is live; C strings.
            api.call_checked(unsafe { (api.create)(session.raw, uri, config) })?;
        }
        drop(session);
        Ok(database)
    }

    /// The URI of the table with the records.
    pub(crate) fn table(&self) -> &CStr {
        &self.table
    }

    /// For one thread at a time.
    pub(crate) fn session(&self) -> Result<SessionHandle> {
        let mut raw = null_mut();
        // The default of some versions is read-committed.
        let config = c"isolation=snapshot".as_ptr();
        // SAFETY: the connection is live; an out parameter.
        let opened = unsafe { (self.api.open_session)(self.connection, config, &raw mut raw) };
        self.api.call_checked(opened)?;
        Ok(SessionHandle { api: self.api, raw })
    }

    /// With a last checkpoint. No session is left.
    pub(crate) fn close(mut self) -> Result<()> {
        self.end()
    }

    fn end(&mut self) -> Result<()> {
        let connection = std::mem::replace(&mut self.connection, null_mut());
        if connection.is_null() {
            return Ok(());
        }
        // SAFETY: live, and closed once; sessions borrow what holds the database, or are gone.
        self.api.call_checked(unsafe { (self.api.close)(connection) })
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // The caller does not need the error of a failed close.
        let _ = self.end();
    }
}

/// A `WT_SESSION`.
pub(crate) struct SessionHandle {
    api: &'static Api,
    raw: *mut api::Session,
}

// SAFETY: a session may go from thread to thread, as long as one uses it at a time.
unsafe impl Send for SessionHandle {}

impl SessionHandle {
    /// A cursor on a table, for the session's life. Its writes replace existing values.
    pub(crate) fn table(&self, uri: &CStr) -> Result<*mut api::Cursor> {
        self.cursor(uri, c"overwrite=true")
    }

    pub(crate) fn begin(&self) -> Result<()> {
        // SAFETY: the session is live; so in all calls below.
        self.api.call_checked(unsafe { (self.api.begin)(self.raw) })
    }

    pub(crate) fn commit(&self) -> Result<()> {
        // SAFETY: as above.
        self.api.call_checked(unsafe { (self.api.commit)(self.raw) })
    }

    pub(crate) fn rollback(&self) -> Result<()> {
        // SAFETY: as above.
        self.api.call_checked(unsafe { (self.api.rollback)(self.raw) })
    }

    /// Writes a consistent state of all that is committed to the files, and syncs them.
    pub(crate) fn checkpoint(&self) -> Result<()> {
        // SAFETY: as above.
        self.api.call_checked(unsafe { (self.api.checkpoint)(self.raw) })
    }

    /// Writes and syncs the log.
    pub(crate) fn log_flush(&self) -> Result<()> {
        // SAFETY: as above.
        self.api.call_checked(unsafe { (self.api.log_flush)(self.raw) })
    }

    /// The database's statistics by the names that `WiredTiger` has.
    pub(crate) fn statistics(&self) -> Result<Vec<(String, i64)>> {
        unsafe extern "C" fn store_counter(state: *mut c_void, name: *const c_char, value: i64) {
            // SAFETY: the state is the list below, the name a C string.
            unsafe { (*state.cast::<Vec<(String, i64)>>()).push((text(name), value)) };
        }
        let mut figures: Vec<(String, i64)> = Vec::new();
        let cursor = self.cursor(c"statistics:", c"statistics=(fast)")?;
        // SAFETY: the cursor is live until it is closed, here and once.
        unsafe {
            let done = (self.api.statistics)(cursor, store_counter, (&raw mut figures).cast());
            self.api.call_checked((self.api.close_cursor)(cursor))?;
            self.api.call_checked(done)?;
        }
        Ok(figures)
    }

    /// The whole configuration that an object has, defaults written out; none: there is no such
    /// object.
    pub(crate) fn metadata(&self, uri: &CStr) -> Result<Option<String>> {
        let cursor = self.cursor(c"metadata:", c"")?;
        let mut config = std::ptr::null();
        // SAFETY: the cursor is live until it is closed, here and once; what it shows is copied
        // before.
        unsafe {
            let code = (self.api.metadata)(cursor, uri.as_ptr(), &raw mut config);
            let exists = self.api.check_found(code).map(|exists| exists.then(|| text(config)));
            self.api.call_checked((self.api.close_cursor)(cursor))?;
            exists
        }
    }

    /// The URIs of all objects.
    pub(crate) fn uris(&self) -> Result<Vec<String>> {
        // Raw: keys are texts with the zero byte at their end.
        let cursor = self.cursor(c"metadata:", c"raw")?;
        let mut uris = Vec::new();
        // SAFETY: the cursor is live until it is closed, here and once; what it shows is copied
        // before.
        unsafe {
            let ended = loop {
                match self.api.check_found((self.api.step)(cursor, 0)) {
                    Ok(true) => {}
                    ended => break ended,
                }
                let (mut uri, mut length) = (std::ptr::null(), 0);
                let key = (self.api.key)(cursor, &raw mut uri, &raw mut length);
                if let Err(error) = self.api.call_checked(key) {
                    break Err(error);
                }
                let uri = std::slice::from_raw_parts(uri, length);
                uris.push(String::from_utf8_lossy(uri).trim_end_matches('\0').to_owned());
            };
            self.api.call_checked((self.api.close_cursor)(cursor))?;
            ended.map(|_| uris)
        }
    }

    fn cursor(&self, uri: &CStr, config: &CStr) -> Result<*mut api::Cursor> {
        let mut cursor = null_mut();
        // SAFETY: the session is live; C strings, and an out parameter.
        self.api.call_checked(unsafe {
            (self.api.open_cursor)(self.raw, uri.as_ptr(), config.as_ptr(), &raw mut cursor)
        })?;
        Ok(cursor)
    }
}

impl Drop for SessionHandle {
    fn drop(&mut self) {
        // SAFETY: live, and closed once, with its cursors; what is not committed is rolled back.
        let _ = unsafe { (self.api.close_session)(self.raw) };
    }
}

pub(crate) fn c_string(text: &str) -> Result<CString> {
    CString::new(text)
        .map_err(|_| Error::invalid("an option or the database's folder holds a zero byte"))
}
