//! The types of `include/kvdyno_engine.h`, in its order. The header has their documentation.

#![expect(unsafe_code, reason = "types of a C API")]

use kvdyno_engine::{Error, ErrorClass, Result, library::dynamic};
use std::ffi::{c_char, c_int, c_void};

/// `KVDYNO_ENGINE_VERSION`.
pub(crate) const VERSION: u32 = 1;

/// `KVDYNO_MESSAGE_BYTES`.
pub(crate) const MESSAGE_BYTES: usize = 512;

/// `KVDYNO_OK`.
pub(crate) const OK: c_int = 0;

/// `KVDYNO_NOT_FOUND`.
pub(crate) const NOT_FOUND: c_int = 1;

/// `kvdyno_option`.
#[repr(C)]
pub(crate) struct OptionValue {
    pub(crate) name: *const c_char,
    pub(crate) kind: c_int,
    pub(crate) integer: u64,
    pub(crate) number: f64,
    pub(crate) text: *const c_char,
}

/// `kvdyno_opening`.
#[repr(C)]
pub(crate) struct Opening {
    pub(crate) dir: *const c_char,
    pub(crate) durability: c_int,
    pub(crate) options: *const OptionValue,
    pub(crate) option_count: usize,
    pub(crate) records: u64,
    pub(crate) records_max: u64,
    pub(crate) key_bytes: u64,
    pub(crate) value_bytes_mean: u64,
    pub(crate) value_bytes_max: u64,
    pub(crate) sessions: u64,
}

/// `kvdyno_value`.
#[repr(C)]
pub(crate) struct Value {
    pub(crate) show: Option<unsafe extern "C" fn(*mut Self, *const u8, usize)>,
    pub(crate) data: *const u8,
    pub(crate) size: usize,
}

/// `kvdyno_values`.
#[repr(C)]
pub(crate) struct Values {
    pub(crate) show: Option<unsafe extern "C" fn(*mut Self, usize, *const u8, usize)>,
}

/// `kvdyno_key`.
#[repr(C)]
pub(crate) struct Key {
    pub(crate) data: *const u8,
    pub(crate) size: usize,
}

/// `kvdyno_record`.
#[repr(C)]
pub(crate) struct Record {
    pub(crate) key: *const u8,
    pub(crate) key_size: usize,
    pub(crate) value: *const u8,
    pub(crate) value_size: usize,
}

/// `kvdyno_records`.
#[repr(C)]
pub(crate) struct Records {
    pub(crate) show: Option<unsafe extern "C" fn(*mut Self, *const Record, usize) -> c_int>,
}

/// `kvdyno_range`.
#[repr(C)]
pub(crate) struct KeyRange {
    pub(crate) from: *const u8,
    pub(crate) from_size: usize,
    pub(crate) until: *const u8,
    pub(crate) until_size: usize,
    pub(crate) limit: u64,
    pub(crate) reverse: c_int,
}

/// `kvdyno_write`.
#[repr(C)]
pub(crate) struct BatchWrite {
    pub(crate) removes: c_int,
    pub(crate) key: *const u8,
    pub(crate) key_size: usize,
    pub(crate) value: *const u8,
    pub(crate) value_size: usize,
}

/// `kvdyno_counters`.
#[repr(C)]
pub(crate) struct CounterSink {
    pub(crate) integer: unsafe extern "C" fn(*mut Self, *const c_char, u64),
    pub(crate) number: unsafe extern "C" fn(*mut Self, *const c_char, f64),
    pub(crate) text: unsafe extern "C" fn(*mut Self, *const c_char, *const c_char),
}

/// `kvdyno_events`.
#[repr(C)]
pub(crate) struct EventSink {
    pub(crate) add: unsafe extern "C" fn(*mut Self, u64, c_int, c_int, *const c_char),
}

pub(crate) type Describe = unsafe extern "C" fn() -> *const c_char;
pub(crate) type Open = unsafe extern "C" fn(*const Opening, *mut *mut c_void, *mut c_char) -> c_int;
pub(crate) type OpenSession =
    unsafe extern "C" fn(*mut c_void, *mut c_char, *mut *mut c_void) -> c_int;
pub(crate) type OnSession = unsafe extern "C" fn(*mut c_void) -> c_int;
pub(crate) type EndSession = unsafe extern "C" fn(*mut c_void);
pub(crate) type Get = unsafe extern "C" fn(*mut c_void, *const u8, usize, *mut Value) -> c_int;
pub(crate) type Put =
    unsafe extern "C" fn(*mut c_void, *const u8, usize, *const u8, usize) -> c_int;
pub(crate) type Remove = unsafe extern "C" fn(*mut c_void, *const u8, usize) -> c_int;
pub(crate) type Scan = unsafe extern "C" fn(*mut c_void, *const KeyRange, *mut Records) -> c_int;
pub(crate) type MultiGet =
    unsafe extern "C" fn(*mut c_void, *const Key, usize, *mut Values) -> c_int;
pub(crate) type WriteBatch = unsafe extern "C" fn(*mut c_void, *const BatchWrite, usize) -> c_int;
pub(crate) type Settle =
    unsafe extern "C" fn(*mut c_void, u64, *mut c_int, *mut c_char, *mut c_char) -> c_int;
pub(crate) type OnDatabase = unsafe extern "C" fn(*mut c_void, *mut c_char) -> c_int;
pub(crate) type GetCounters = unsafe extern "C" fn(*mut c_void, *mut CounterSink);
pub(crate) type GetEvents = unsafe extern "C" fn(*mut c_void, *mut EventSink);

/// `kvdyno_engine`, as a plugin returns it: any function may be null.
#[repr(C)]
pub(crate) struct EngineTable {
    pub(crate) version: u32,
    pub(crate) describe: Option<Describe>,
    pub(crate) open: Option<Open>,
    pub(crate) open_session: Option<OpenSession>,
    pub(crate) close_session: Option<EndSession>,
    pub(crate) get: Option<Get>,
    pub(crate) put: Option<Put>,
    pub(crate) remove: Option<Remove>,
    pub(crate) scan: Option<Scan>,
    pub(crate) walk: Option<Scan>,
    pub(crate) multiget: Option<MultiGet>,
    pub(crate) write: Option<WriteBatch>,
    pub(crate) begin: Option<OnSession>,
    pub(crate) commit: Option<OnSession>,
    pub(crate) rollback: Option<EndSession>,
    pub(crate) get_for_update: Option<Get>,
    pub(crate) settle: Option<Settle>,
    pub(crate) sync: Option<OnDatabase>,
    pub(crate) counters: Option<GetCounters>,
    pub(crate) events: Option<GetEvents>,
    pub(crate) close: Option<OnDatabase>,
}

/// Room for a message of the plugin, with its final zero.
pub(crate) type Message = [c_char; MESSAGE_BYTES];

/// An empty message.
pub(crate) const NO_MESSAGE: Message = [0; MESSAGE_BYTES];

/// Returns the text of a message.
pub(crate) fn message_text(message: &Message) -> String {
    let bytes = message.map(|byte| byte as u8);
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(MESSAGE_BYTES);
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// Returns the result of a call that wrote `message` if it failed.
pub(crate) fn check(call: &str, code: c_int, message: &Message) -> Result<()> {
    if code == OK { Ok(()) } else { Err(error(call, code, &message_text(message))) }
}

/// Returns the error of a call that returned `code`.
#[cold]
pub(crate) fn error(call: &str, code: c_int, message: &str) -> Error {
    let class = match code {
        2 => ErrorClass::Unsupported,
        3 => ErrorClass::Invalid,
        4 => ErrorClass::Full,
        5 => ErrorClass::Memory,
        6 => ErrorClass::Corrupt,
        7 => ErrorClass::Conflict,
        8 => ErrorClass::Unavailable,
        9 => ErrorClass::from_volume_words(message).unwrap_or(ErrorClass::Io),
        10 => ErrorClass::from_volume_words(message).unwrap_or(ErrorClass::Other),
        _ => {
            let what = format!(
                "`{call}` of the plugin returned {code}: expected a KVDYNO_ result that it may \
                 return; its message: {}",
                if message.is_empty() { "none" } else { message }
            );
            return Error::new(ErrorClass::Other, what);
        }
    };
    let message = if message.is_empty() { "it failed without a message" } else { message };
    Error::new(class, format!("{call}: {message}"))
}

/// # Safety
/// `start` is the first of `size` bytes that live for `'b`; it may be null if there are none.
#[inline]
pub(crate) unsafe fn bytes<'b>(start: *const u8, size: usize) -> &'b [u8] {
    if size == 0 {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(start, size) }
}

/// Returns a copy of a C string; empty for null.
///
/// # Safety
/// `text` is null or a C string.
pub(crate) unsafe fn text(text: *const c_char) -> String {
    // SAFETY: the caller's promise.
    unsafe { dynamic::text(text) }
}
