//! A prepared statement, and the meaning of `SQLite`'s result codes.

#![expect(unsafe_code, reason = "calls of a C API")]

use kvdyno_engine::{Error, ErrorClass, Result};
use libsqlite3_sys as ffi;
use std::ffi::{CStr, CString, c_int, c_void};
use std::ops::ControlFlow;
use std::ptr::{null_mut, slice_from_raw_parts};

/// A statement, prepared once and run many times. It is finalized before its connection is closed:
/// a connection with statements does not close.
pub(crate) struct Statement {
    raw: *mut ffi::sqlite3_stmt,
    /// The functions that bind the inputs, in order.
    binders: [Binder; 2],
}

/// The kind of a column's contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Blob,
    Text,
}

impl Kind {
    fn binder(self) -> Binder {
        match self {
            Self::Blob => ffi::sqlite3_bind_blob64,
            Self::Text => bind_text,
        }
    }
}

/// `sqlite3_bind_blob64`, or the function for text.
type Binder = unsafe extern "C" fn(
    *mut ffi::sqlite3_stmt,
    c_int,
    *const c_void,
    ffi::sqlite3_uint64,
    ffi::sqlite3_destructor_type,
) -> c_int;

/// # Safety
/// As for `sqlite3_bind_text64`.
unsafe extern "C" fn bind_text(
    statement: *mut ffi::sqlite3_stmt,
    position: c_int,
    start: *const c_void,
    length: ffi::sqlite3_uint64,
    destructor: ffi::sqlite3_destructor_type,
) -> c_int {
    const ENCODING: u8 = ffi::SQLITE_UTF8 as u8;
    // SAFETY: the caller's promise.
    unsafe {
        let start = start.cast();
        ffi::sqlite3_bind_text64(statement, position, start, length, destructor, ENCODING)
    }
}

// SAFETY: SQLite in multi-thread mode lets a connection and its statements be used by any thread,
// one at a time; all methods that touch them take `&mut self`, and the owner moves both together.
unsafe impl Send for Statement {}

/// The parameters of a statement: keys and values in order.
type Inputs<'a> = [&'a [u8]];

impl Statement {
    /// # Safety
    /// `db` is open.
    pub(crate) unsafe fn prepare(db: *mut ffi::sqlite3, sql: &str) -> Result<Self> {
        let text = CString::new(sql).map_err(|_| Error::invalid("a zero byte in a statement"))?;
        let mut raw = null_mut();
        // SAFETY: `db` is open by the caller's promise; the text ends with its zero byte, and `raw`
        // is an out parameter. Persistent: it lives as long as its session.
        unsafe {
            let flags = ffi::SQLITE_PREPARE_PERSISTENT;
            let rc =
                ffi::sqlite3_prepare_v3(db, text.as_ptr(), -1, flags, &raw mut raw, null_mut());
            if rc != ffi::SQLITE_OK {
                return Err(error(db, sql));
            }
        }
        Ok(Self { raw, binders: [Kind::Blob.binder(); 2] })
    }

    /// Returns the statement with inputs of these kinds.
    pub(crate) fn with_inputs(mut self, kinds: [Kind; 2]) -> Self {
        self.binders = kinds.map(Kind::binder);
        self
    }

    /// Runs the statement with `inputs`, and shows each row until `row` breaks off.
    #[inline]
    pub(crate) fn run(
        &mut self,
        inputs: &Inputs<'_>,
        mut row: impl FnMut(&Row<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        // SAFETY: the inputs live until the reset below, past which SQLite does not look at them.
        unsafe { self.bind(inputs, ffi::SQLITE_STATIC())? };
        // A row that panics leaves the statement under way: so it is reset by a guard.
        let running = Running(self);
        while running.0.step()? {
            if row(&Row(running.0)).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Runs the statement with `inputs` to its first row, and shows that or `None`.
    #[inline]
    pub(crate) fn first_row<R>(
        &mut self,
        inputs: &Inputs<'_>,
        visit: impl FnOnce(Option<Row<'_>>) -> R,
    ) -> Result<R> {
        // SAFETY: as in `run`.
        unsafe { self.bind(inputs, ffi::SQLITE_STATIC())? };
        let running = Running(self);
        let has_row = running.0.step()?;
        Ok(visit(has_row.then_some(Row(running.0))))
    }

    /// Runs the statement without reading rows.
    #[inline]
    pub(crate) fn execute(&mut self, inputs: &Inputs<'_>) -> Result<()> {
        self.first_row(inputs, |_| ())
    }

    /// Begins a run that [`Self::step`] continues.
    pub(crate) fn begin(&mut self, inputs: &Inputs<'_>) -> Result<()> {
        // SAFETY: SQLite copies the inputs.
        unsafe { self.bind(inputs, ffi::SQLITE_TRANSIENT()) }
    }

    /// Moves to the next row; `false`: there is none.
    #[inline]
    pub(crate) fn step(&mut self) -> Result<bool> {
        // SAFETY: the statement is live.
        match unsafe { ffi::sqlite3_step(self.raw) } {
            ffi::SQLITE_ROW => Ok(true),
            ffi::SQLITE_DONE => Ok(false),
            // SAFETY: as above.
            _ => Err(unsafe { error(ffi::sqlite3_db_handle(self.raw), "sqlite3_step") }),
        }
    }

    /// Returns the current row; only after a step to one.
    #[inline]
    pub(crate) fn row(&mut self) -> Row<'_> {
        Row(self)
    }

    /// Ends the run, and the read transaction that it may hold.
    #[inline]
    pub(crate) fn reset(&mut self) {
        // SAFETY: the statement is live. The answer repeats that of the last step.
        unsafe { ffi::sqlite3_reset(self.raw) };
    }

    /// # Safety
    /// With a destructor of `SQLITE_STATIC` the inputs live until the statement is reset.
    #[inline]
    unsafe fn bind(
        &mut self,
        inputs: &Inputs<'_>,
        destructor: ffi::sqlite3_destructor_type,
    ) -> Result<()> {
        for (position, (input, bind)) in (1..).zip(inputs.iter().zip(self.binders)) {
            let bytes = input.as_ptr().cast();
            // SAFETY: the caller's promise; an empty slice's pointer is not null, which would bind
            // NULL in place of an empty blob.
            let rc = unsafe {
                let length = input.len() as u64;
                bind(self.raw, position, bytes, length, destructor)
            };
            if rc != ffi::SQLITE_OK {
                // SAFETY: the statement is live.
                return Err(unsafe { error(ffi::sqlite3_db_handle(self.raw), "sqlite3_bind") });
            }
        }
        Ok(())
    }
}

impl Drop for Statement {
    fn drop(&mut self) {
        // SAFETY: live, and finalized once.
        unsafe { ffi::sqlite3_finalize(self.raw) };
    }
}

/// A run of a statement, which ends when this is dropped.
struct Running<'s>(&'s mut Statement);

impl Drop for Running<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.reset();
    }
}

/// A row, which is valid until the next step.
pub(crate) struct Row<'s>(&'s Statement);

impl<'s> Row<'s> {
    /// Returns the bytes of a column, where they lie.
    #[inline]
    pub(crate) fn bytes(&self, column: c_int) -> &'s [u8] {
        // SAFETY: the statement stands on a row; the bytes live until the next step or reset, which
        // need the statement mutably. The length is asked for after the blob, as the manual says.
        unsafe {
            let start = ffi::sqlite3_column_blob(self.0.raw, column).cast::<u8>();
            let length = ffi::sqlite3_column_bytes(self.0.raw, column) as usize;
            // A null pointer would bind NULL, not an empty blob.
            if start.is_null() { &[] } else { &*slice_from_raw_parts(start, length) }
        }
    }

    /// Returns a column as text, whatever its type is.
    pub(crate) fn text(&self, column: c_int) -> String {
        // SAFETY: as in `bytes`; the text ends with a zero byte, and is copied.
        unsafe {
            let text = ffi::sqlite3_column_text(self.0.raw, column);
            if text.is_null() {
                return String::new();
            }
            CStr::from_ptr(text.cast()).to_string_lossy().into_owned()
        }
    }
}

/// Returns the error of the last call on `db`.
///
/// # Safety
/// `db` is live, and not in use elsewhere.
#[cold]
pub(crate) unsafe fn error(db: *mut ffi::sqlite3, call: &str) -> Error {
    // SAFETY: the caller's promise; the message is copied at once.
    let (code, message) = unsafe {
        let message = CStr::from_ptr(ffi::sqlite3_errmsg(db)).to_string_lossy().into_owned();
        (ffi::sqlite3_extended_errcode(db), message)
    };
    let hint = match code {
        ffi::SQLITE_CONSTRAINT_NOTNULL => {
            "; hint: kvdyno can read this table but not write to it, since a column beside key and \
             value is NOT NULL and has no default"
        }
        _ => "",
    };
    Error::new(error_class(code), format!("{call}: {message} ({code}){hint}"))
}

/// Returns the class of a result code. Its low byte is its kind, the rest is more specific.
pub(crate) fn error_class(code: c_int) -> ErrorClass {
    match (code & 0xff, code) {
        (ffi::SQLITE_FULL, _) => ErrorClass::Full,
        (ffi::SQLITE_NOMEM, _) | (_, ffi::SQLITE_IOERR_NOMEM) => ErrorClass::Memory,
        (ffi::SQLITE_CORRUPT | ffi::SQLITE_NOTADB, _) => ErrorClass::Corrupt,
        (ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED | ffi::SQLITE_PROTOCOL, _) => ErrorClass::Conflict,
        (
            ffi::SQLITE_TOOBIG
            | ffi::SQLITE_MISUSE
            | ffi::SQLITE_RANGE
            | ffi::SQLITE_CONSTRAINT
            | ffi::SQLITE_MISMATCH,
            _,
        ) => ErrorClass::Invalid,
        (ffi::SQLITE_IOERR | ffi::SQLITE_CANTOPEN | ffi::SQLITE_READONLY, _) => ErrorClass::Io,
        _ => ErrorClass::Other,
    }
}
