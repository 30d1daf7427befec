//! The functions of `shim/leveldb.cc`, by name and type, and what their return values mean.

#![expect(unsafe_code, reason = "the types of C functions, and looking them up")]

pub(crate) use kvdyno_engine::library::dynamic::text;
use kvdyno_engine::{Error, ErrorClass, Result, library_functions, opaque_types};
use std::ffi::{c_char, c_int};

opaque_types! { Database Session Cursor }

type Text = *const c_char;
type Bytes = *const u8;

/// Options for opening a database, in the shim's order.
#[repr(C)]
pub(crate) struct Settings {
    pub(crate) write_buffer_size: u64,
    pub(crate) max_file_size: u64,
    pub(crate) block_cache: u64,
    pub(crate) block_size: u64,
    pub(crate) block_restart_interval: u64,
    pub(crate) max_open_files: u64,
    pub(crate) bloom_bits: u64,
    pub(crate) compression: u64,
    pub(crate) paranoid_checks: u64,
}

library_functions! {
    /// The functions, without the `kvdyno_leveldb_` before each name.
    struct Api: "kvdyno_leveldb_"
    required {
        fn version(*mut c_int, *mut c_int);
        fn last_error() -> Text;

        fn open(Text, *const Settings, *mut *mut Database) -> c_int;
        fn close(*mut Database);
        fn compact(*mut Database, c_int);
        fn property(*mut Database, Text) -> Text;
        fn open_session(*mut Database, c_int) -> *mut Session;
        fn close_session(*mut Session);

        fn get(*mut Session, Bytes, usize, *mut Bytes, *mut usize) -> c_int;
        fn put(*mut Session, Bytes, usize, Bytes, usize) -> c_int;
        fn remove(*mut Session, Bytes, usize) -> c_int;
        fn batch_clear(*mut Session);
        fn batch_put(*mut Session, Bytes, usize, Bytes, usize);
        fn batch_remove(*mut Session, Bytes, usize);
        fn batch_write(*mut Session) -> c_int;

        fn open_cursor(*mut Session) -> *mut Cursor;
        fn close_cursor(*mut Cursor);
        fn end(*mut Cursor, c_int);
        fn seek(*mut Cursor, Bytes, usize, c_int);
        fn step(*mut Cursor, c_int);
        fn record(*const Cursor, *mut Bytes, *mut usize, *mut Bytes, *mut usize) -> c_int;
        fn status(*const Cursor) -> c_int;
    }
    optional {}
}

impl Api {
    /// Checks the result of a call.
    #[inline]
    pub(crate) fn call_checked(&self, code: c_int) -> Result<()> {
        if code == 0 { Ok(()) } else { Err(self.failure(code)) }
    }

    /// Checks the result of a lookup: whether it found something.
    #[inline]
    pub(crate) fn check_found(&self, code: c_int) -> Result<bool> {
        match code {
            0 => Ok(true),
            1 => Ok(false),
            code => Err(self.failure(code)),
        }
    }

    #[cold]
    fn failure(&self, code: c_int) -> Error {
        // SAFETY: this thread's last message, until its next call.
        let message = unsafe { text((self.last_error)()) };
        // The shim's `Code`.
        let class = match code {
            _ if message.contains("No space left") => ErrorClass::Full,
            _ if message.contains("Cannot allocate memory") => ErrorClass::Memory,
            2 => ErrorClass::Corrupt,
            3 => ErrorClass::Unsupported,
            4 => ErrorClass::Invalid,
            5 => ErrorClass::Io,
            _ => ErrorClass::Other,
        };
        Error::new(class, message)
    }
}
