//! Results of API calls: an object that the adapter must destroy, or an error message.

#![expect(unsafe_code, reason = "calls of a C API")]

use crate::api::Api;
use kvdyno_engine::{Error, ErrorClass, Result};
use std::ffi::{CStr, c_char};
use std::ptr::null_mut;

/// An object of `RocksDB` that the adapter must destroy.
pub(crate) struct Owned<T> {
    raw: *mut T,
    destroy: unsafe extern "C" fn(*mut T),
}

impl<T> Owned<T> {
    /// # Safety
    /// `raw` came from the API, is not null, and `destroy` is what ends it.
    #[inline]
    pub(crate) unsafe fn new(raw: *mut T, destroy: unsafe extern "C" fn(*mut T)) -> Self {
        Self { raw, destroy }
    }

    #[inline]
    pub(crate) fn raw(&self) -> *mut T {
        self.raw
    }
}

impl<T> Drop for Owned<T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the promise of `new`; once, since the value is gone after it.
        unsafe { (self.destroy)(self.raw) };
    }
}

/// Makes a call with an error argument, and checks the error.
#[inline]
pub(crate) fn call_checked<R>(api: &Api, call: impl FnOnce(*mut *mut c_char) -> R) -> Result<R> {
    let mut error = null_mut();
    let result = call(&raw mut error);
    check_error(api, error).map(|()| result)
}

/// Checks the error of a call: null, or a C string from malloc, which this frees.
#[inline]
pub(crate) fn check_error(api: &Api, error: *mut c_char) -> Result<()> {
    if error.is_null() { Ok(()) } else { Err(failure(api, error)) }
}

#[cold]
fn failure(api: &Api, error: *mut c_char) -> Error {
    error_from_message(&owned_text(api, error).unwrap_or_default())
}

pub(crate) fn owned_text(api: &Api, text: *mut c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: not null, from RocksDB's malloc, and freed here once.
    unsafe {
        let words = CStr::from_ptr(text).to_string_lossy().into_owned();
        (api.free)(text.cast());
        Some(words)
    }
}

/// Returns the error of a message of `RocksDB`, which begins with the error's class.
fn error_from_message(message: &str) -> Error {
    let class = match message.split(':').next().unwrap_or_default() {
        _ if message.contains("No space left") => ErrorClass::Full,
        _ if message.contains("Cannot allocate memory") => ErrorClass::Memory,
        "IO error" => ErrorClass::Io,
        "Corruption" => ErrorClass::Corrupt,
        "Invalid argument" => ErrorClass::Invalid,
        "Not implemented" => ErrorClass::Unsupported,
        "Operation timed out" if message.contains("lock") => ErrorClass::Conflict,
        "Operation timed out" => ErrorClass::Unavailable,
        "Resource busy" | "Operation failed. Try again." => ErrorClass::Conflict,
        _ => ErrorClass::Other,
    };
    Error::new(class, message)
}
