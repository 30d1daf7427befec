//! The functions of `shim/wiredtiger.c`, by name and type, and what their return values mean.

#![expect(unsafe_code, reason = "the types of C functions, and looking them up")]

pub(crate) use kvdyno_engine::library::dynamic::text;
use kvdyno_engine::{Error, ErrorClass, Result, library_functions, opaque_types};
use std::ffi::{c_char, c_int, c_void};

opaque_types! { Connection Session Cursor }

type Text = *const c_char;
type Bytes = *const u8;
pub(crate) type StatisticVisitor = unsafe extern "C" fn(*mut c_void, Text, i64);

library_functions! {
    /// The functions, without the `kvdyno_wiredtiger_` before each name.
    struct Api: "kvdyno_wiredtiger_"
    required {
        fn version(*mut c_int, *mut c_int, *mut c_int) -> Text;
        fn header(*mut c_int, *mut c_int, *mut c_int);
        fn has_lsm() -> c_int;
        fn has_compressor(Text) -> c_int;
        fn strerror(c_int) -> Text;
        fn last_error(*mut c_char, usize);

        fn open(Text, Text, *mut *mut Connection) -> c_int;
        fn close(*mut Connection) -> c_int;
        fn open_session(*mut Connection, Text, *mut *mut Session) -> c_int;
        fn close_session(*mut Session) -> c_int;
        fn create(*mut Session, Text, Text) -> c_int;
        fn open_cursor(*mut Session, Text, Text, *mut *mut Cursor) -> c_int;
        fn close_cursor(*mut Cursor) -> c_int;

        fn begin(*mut Session) -> c_int;
        fn commit(*mut Session) -> c_int;
        fn rollback(*mut Session) -> c_int;
        fn checkpoint(*mut Session) -> c_int;
        fn log_flush(*mut Session) -> c_int;

        fn get(*mut Cursor, Bytes, usize, *mut Bytes, *mut usize) -> c_int;
        fn reset(*mut Cursor) -> c_int;
        fn put(*mut Cursor, Bytes, usize, Bytes, usize) -> c_int;
        fn remove(*mut Cursor, Bytes, usize) -> c_int;
        fn reserve(*mut Cursor, Bytes, usize) -> c_int;
        fn seek(*mut Cursor, Bytes, usize, c_int) -> c_int;
        fn step(*mut Cursor, c_int) -> c_int;
        fn key(*mut Cursor, *mut Bytes, *mut usize) -> c_int;
        fn value(*mut Cursor, *mut Bytes, *mut usize) -> c_int;

        fn statistics(*mut Cursor, StatisticVisitor, *mut c_void) -> c_int;
        fn metadata(*mut Cursor, Text, *mut Text) -> c_int;
    }
    optional {}
}

/// Error codes of `wiredtiger.h`.
const ROLLBACK: c_int = -31800;
const NOTFOUND: c_int = -31803;
const CACHE_FULL: c_int = -31807;
const PREPARE_CONFLICT: c_int = -31808;
const TRY_SALVAGE: c_int = -31809;
/// `EINVAL`.
const INVALID: c_int = 22;

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
            NOTFOUND => Ok(false),
            code => Err(self.failure(code)),
        }
    }

    #[cold]
    fn failure(&self, code: c_int) -> Error {
        let mut message = [0; 1024];
        // SAFETY: a static text; the buffer has room for so many bytes and is ended by a zero.
        let (name, message) = unsafe {
            (self.last_error)(message.as_mut_ptr(), message.len());
            (text((self.strerror)(code)), text(message.as_ptr()))
        };
        let class = match code {
            ROLLBACK | PREPARE_CONFLICT => ErrorClass::Conflict,
            CACHE_FULL => ErrorClass::Memory,
            TRY_SALVAGE => ErrorClass::Corrupt,
            INVALID => ErrorClass::Invalid,
            1.. => Error::from(std::io::Error::from_raw_os_error(code)).class,
            // After a panic, calls return only that there was one.
            _ => ErrorClass::from_volume_words(&message).unwrap_or(ErrorClass::Other),
        };
        let message = if message.is_empty() { name } else { format!("{name}: {message}") };
        Error::new(class, message)
    }
}
