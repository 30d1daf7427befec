//! Reads: pinned values, ranges, and iterators under way.

#![expect(unsafe_code, reason = "calls of a C API")]

use crate::api::{self, Api};
use crate::owned::{Owned, check_error};
use kvdyno_engine::{Direction, Range, Result};
use std::ffi::c_char;
use std::ops::ControlFlow;
use std::ptr::{null, null_mut};

/// Returns the value that a lookup found; it is unpinned when it is dropped.
#[inline]
pub(crate) fn pinned_value(api: &Api, pinned: *mut api::Pinned) -> Option<Owned<api::Pinned>> {
    // SAFETY: null, or ours.
    (!pinned.is_null()).then(|| unsafe { Owned::new(pinned, api.pinnableslice_destroy) })
}

#[inline]
pub(crate) fn pinned_bytes<'p>(api: &Api, pinned: &'p Owned<api::Pinned>) -> &'p [u8] {
    let mut length = 0;
    // SAFETY: the value lives as long as it is pinned.
    unsafe {
        let value = (api.pinnableslice_value)(pinned.raw(), &raw mut length);
        bytes(value, length).unwrap_or_default()
    }
}

/// # Safety
/// `start` is null, or the first of `length` bytes that live for `'b`.
#[inline]
pub(crate) unsafe fn bytes<'b>(start: *const c_char, length: usize) -> Option<&'b [u8]> {
    // SAFETY: the caller's promise.
    (!start.is_null()).then(|| unsafe { std::slice::from_raw_parts(start.cast(), length) })
}

/// Read options that are set anew for each range.
pub(crate) struct Ranged {
    api: &'static Api,
    options: Owned<api::ReadOptions>,
}

impl Ranged {
    pub(crate) fn new(api: &'static Api) -> Self {
        // SAFETY: a constructor that does not fail, and what ends its value.
        let options = unsafe { Owned::new((api.readoptions_create)(), api.readoptions_destroy) };
        Self { api, options }
    }

    /// Returns the options for a read without a range.
    pub(crate) fn unbounded_options(&mut self) -> *mut api::ReadOptions {
        self.bounded_options(&Range::all(Direction::Forward))
    }

    /// Returns the options for an iterator over `range`. The iterator must not outlive `range`,
    /// because it reads the bound in place.
    pub(crate) fn bounded_options(&mut self, range: &Range<'_>) -> *mut api::ReadOptions {
        let (set, unset) = match range.direction {
            Direction::Forward => (
                self.api.readoptions_set_iterate_upper_bound,
                self.api.readoptions_set_iterate_lower_bound,
            ),
            Direction::Reverse => (
                self.api.readoptions_set_iterate_lower_bound,
                self.api.readoptions_set_iterate_upper_bound,
            ),
        };
        let bound = range.until.map_or((null(), 0), |key| (key.as_ptr().cast(), key.len()));
        // SAFETY: the options are live; a null key means no bound.
        unsafe {
            set(self.options.raw(), bound.0, bound.1);
            unset(self.options.raw(), null(), 0);
        }
        self.options.raw()
    }
}

/// The position of a walk's iterator when the walk continues.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum WalkPosition {
    /// The iterator is on the last record that was visited.
    Stands,
    /// The iterator is on no record: the range begins with the last record that was visited, if it
    /// is still there.
    Skips,
}

/// Shows the records of `range`, whose end is the cursor's bound, to `visit`. Returns how many.
/// Afterwards the cursor is on the last of them, or on none at the end.
pub(crate) fn show(
    api: &Api,
    cursor: &Owned<api::Cursor>,
    range: &Range<'_>,
    begun: Option<WalkPosition>,
    visit: &mut impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
) -> Result<u64> {
    let raw = cursor.raw();
    let (seek, end, step) = match range.direction {
        Direction::Forward => (api.iter_seek, api.iter_seek_to_first, api.iter_next),
        Direction::Reverse => (api.iter_seek_for_prev, api.iter_seek_to_last, api.iter_prev),
    };
    let (mut count, mut error) = (0, null_mut());
    // SAFETY: the iterator is live and was sought before it is read; key and value live until it
    // moves.
    unsafe {
        match (begun, range.from) {
            (Some(WalkPosition::Stands), _) => step(raw),
            (_, Some(from)) => seek(raw, from.as_ptr().cast(), from.len()),
            (_, None) => end(raw),
        }
        if begun == Some(WalkPosition::Skips)
            && range.from.is_some()
            && current_key(api, cursor) == range.from
        {
            step(raw);
        }
        while count < range.limit && (api.iter_valid)(raw) != 0 {
            let (mut key_length, mut value_length) = (0, 0);
            let key = (api.iter_key)(raw, &raw mut key_length);
            let value = (api.iter_value)(raw, &raw mut value_length);
            let shows = |start, length| bytes(start, length).unwrap_or_default();
            count += 1;
            // No step after the last requested record: it would cost time for nothing.
            if visit(shows(key, key_length), shows(value, value_length)).is_break()
                || count == range.limit
            {
                break;
            }
            step(raw);
        }
        (api.iter_get_error)(raw, &raw mut error);
    }
    check_error(api, error)?;
    Ok(count)
}

/// Returns the current key, if any.
pub(crate) fn current_key<'c>(api: &Api, cursor: &'c Owned<api::Cursor>) -> Option<&'c [u8]> {
    let mut length = 0;
    // SAFETY: the iterator is live, and was sought before.
    unsafe {
        if (api.iter_valid)(cursor.raw()) == 0 {
            return None;
        }
        bytes((api.iter_key)(cursor.raw(), &raw mut length), length)
    }
}
