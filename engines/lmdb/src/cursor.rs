//! An LMDB cursor and its way through a range.

#![expect(unsafe_code, reason = "calls of a C API")]

use crate::library::ffi;
use crate::value::{bytes, error, val};
use kvdyno_engine::{Direction, Range, Result};
use std::ffi::c_int;
use std::ops::ControlFlow;

/// A cursor and its current record.
pub(crate) struct Steps {
    cursor: *mut ffi::MDB_cursor,
    pub(crate) key: ffi::MDB_val,
    value: ffi::MDB_val,
}

/// The result of a scan.
pub(crate) struct ScanResult {
    pub(crate) count: u64,
    /// Whether the scan ended because the database has no further record.
    pub(crate) at_end: bool,
}

impl Steps {
    /// Wraps a cursor that is not on a record yet.
    pub(crate) fn new(cursor: *mut ffi::MDB_cursor) -> Self {
        Self { cursor, key: val(&[]), value: val(&[]) }
    }

    /// Shows the records of `range`, but not the one with the key `skip`. With `goes_on` the cursor
    /// is on the record before the first.
    ///
    /// # Safety
    /// The cursor's transaction is live, and is not written in while this runs.
    #[inline]
    pub(crate) unsafe fn show(
        &mut self,
        range: &Range<'_>,
        skip: Option<&[u8]>,
        goes_on: bool,
        visit: &mut impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<ScanResult> {
        let mut result = ScanResult { count: 0, at_end: false };
        if range.limit == 0 {
            return Ok(result);
        }
        let step = match range.direction {
            Direction::Forward => ffi::MDB_NEXT,
            Direction::Reverse => ffi::MDB_PREV,
        };
        // SAFETY: the caller's promise; LMDB leaves in `key` and `value` slices of the map that
        // last until the next call on the cursor.
        unsafe {
            let mut rc = if goes_on { self.go(step) } else { self.seek(range) };
            if rc == 0 && !goes_on && skip == Some(bytes(&self.key)) {
                rc = self.go(step);
            }
            while rc == 0 {
                let key = bytes(&self.key);
                if range.ends_before(key) {
                    return Ok(result);
                }
                result.count += 1;
                if visit(key, bytes(&self.value)).is_break() || result.count == range.limit {
                    return Ok(result);
                }
                rc = self.go(step);
            }
            result.at_end = true;
            if rc == ffi::MDB_NOTFOUND { Ok(result) } else { Err(error("mdb_cursor_get", rc)) }
        }
    }

    /// Moves to the first record of `range`.
    ///
    /// # Safety
    /// The cursor's transaction is live.
    unsafe fn seek(&mut self, range: &Range<'_>) -> c_int {
        // SAFETY: the caller's promise.
        unsafe {
            let Some(from) = range.from else {
                return self.go(match range.direction {
                    Direction::Forward => ffi::MDB_FIRST,
                    Direction::Reverse => ffi::MDB_LAST,
                });
            };
            self.key = val(from);
            let rc = self.go(ffi::MDB_SET_RANGE);
            match (range.direction, rc) {
                // The first key >= from is the start only if it is `from`; else the one before it,
                // which past the end is the last of all.
                (Direction::Reverse, ffi::MDB_NOTFOUND) => self.go(ffi::MDB_LAST),
                (Direction::Reverse, 0) if bytes(&self.key) != from => self.go(ffi::MDB_PREV),
                _ => rc,
            }
        }
    }

    /// # Safety
    /// The cursor's transaction is live.
    #[inline]
    pub(crate) unsafe fn go(&mut self, op: ffi::MDB_cursor_op) -> c_int {
        // SAFETY: the caller's promise.
        unsafe { ffi::mdb_cursor_get(self.cursor, &raw mut self.key, &raw mut self.value, op) }
    }
}
