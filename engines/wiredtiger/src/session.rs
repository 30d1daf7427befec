//! One thread's handle: a `WT_SESSION` with a cursor on the table.
//!
//! A positioned cursor pins a page and its snapshot, which delays eviction and other sessions'
//! writes. So it is reset as soon as the value was shown.

#![expect(unsafe_code, reason = "calls of a C API")]

use crate::api::{self, Api};
use crate::database::{Database, SessionHandle};
use kvdyno_engine::{
    Direction, Range, Records, Result, Session, Transaction, ValueVisitor, Walk, Write,
};
use std::ops::ControlFlow;
use std::ptr::null;

/// A session of `WiredTiger`.
pub(crate) struct WiredTigerSession<'e> {
    database: &'e Database,
    handle: SessionHandle,
    cursor: Table,
    /// The open walk has its own session, since it keeps its snapshot and other calls must not.
    walking: Option<Walking>,
}

struct Walking {
    cursor: Table,
    /// After its cursor, which it ends.
    _handle: SessionHandle,
}

/// A cursor on the table; its session ends it.
#[derive(Clone, Copy)]
struct Table {
    api: &'static Api,
    raw: *mut api::Cursor,
}

impl<'e> WiredTigerSession<'e> {
    pub(crate) fn new(database: &'e Database) -> Result<Self> {
        let handle = database.session()?;
        let cursor = Table { api: database.api, raw: handle.table(database.table())? };
        Ok(Self { database, handle, cursor, walking: None })
    }

    /// Runs `body` between the beginning and the end of a transaction.
    fn within<R>(&mut self, body: impl FnOnce(&mut Table) -> Result<R>) -> Result<R> {
        self.handle.begin()?;
        let done = body(&mut self.cursor);
        match done {
            // A commit that fails has rolled back.
            Ok(result) => self.handle.commit().map(|()| result),
            Err(error) => self.handle.rollback().and(Err(error)),
        }
    }
}

impl Table {
    #[inline]
    fn show<R>(self, key: &[u8], visit: impl FnOnce(Option<&[u8]>) -> R) -> Result<R> {
        let (mut value, mut length) = (null(), 0);
        // SAFETY: the cursor is live and the key is only read.
        let code = unsafe {
            (self.api.get)(self.raw, key.as_ptr(), key.len(), &raw mut value, &raw mut length)
        };
        let exists = self.api.check_found(code)?;
        // SAFETY: the value lies in a page that the cursor holds until it is reset, below.
        let given = visit(exists.then(|| unsafe { bytes(value, length) }));
        self.reset()?;
        Ok(given)
    }

    /// Resets the cursor.
    #[inline]
    fn reset(self) -> Result<()> {
        // SAFETY: the cursor is live.
        self.api.call_checked(unsafe { (self.api.reset)(self.raw) })
    }

    #[inline]
    fn put(self, key: &[u8], value: &[u8]) -> Result<()> {
        // SAFETY: the cursor is live; key and value are only read, and live until this returns.
        self.api.call_checked(unsafe {
            (self.api.put)(self.raw, key.as_ptr(), key.len(), value.as_ptr(), value.len())
        })
    }

    fn delete(self, key: &[u8]) -> Result<()> {
        // SAFETY: as in `put`.
        let removed = unsafe { (self.api.remove)(self.raw, key.as_ptr(), key.len()) };
        self.api.check_found(removed)?;
        self.reset()
    }

    fn apply(self, write: &Write<'_>) -> Result<()> {
        match *write {
            Write::Put { key, value } => self.put(key, value),
            Write::Delete { key } => self.delete(key),
        }
    }

    /// The current key.
    fn key<'c>(self) -> Result<&'c [u8]> {
        let (mut key, mut length) = (null(), 0);
        // SAFETY: the cursor is live; the callers are done with the key before it moves.
        unsafe {
            self.api.call_checked((self.api.key)(self.raw, &raw mut key, &raw mut length))?;
            Ok(bytes(key, length))
        }
    }

    /// The current value.
    fn value<'c>(self) -> Result<&'c [u8]> {
        let (mut value, mut length) = (null(), 0);
        // SAFETY: as in `key`.
        unsafe {
            self.api.call_checked((self.api.value)(self.raw, &raw mut value, &raw mut length))?;
            Ok(bytes(value, length))
        }
    }

    /// To the next record this way; from nowhere, to the first.
    fn step(self, direction: Direction) -> Result<bool> {
        // SAFETY: the cursor is live.
        self.api.check_found(unsafe { (self.api.step)(self.raw, backward(direction)) })
    }

    /// To where a range begins.
    fn seek(self, range: &Range<'_>) -> Result<bool> {
        let Some(from) = range.from else { return self.step(range.direction) };
        let backward = backward(range.direction);
        // SAFETY: the cursor is live; the key is only read.
        self.api
            .check_found(unsafe { (self.api.seek)(self.raw, from.as_ptr(), from.len(), backward) })
    }

    /// Shows the records of `range`; with `there`, the cursor is on the first of them. Also returns
    /// whether the cursor is on the last shown record, which is so after the limit or a break.
    ///
    /// The end is compared with each key: a bound of the cursor (`WT_CURSOR::bound`) does not exist
    /// for LSM trees and in older versions, and parses a configuration for each scan.
    fn records(
        self,
        range: &Range<'_>,
        stands_on_record: bool,
        mut visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<(u64, bool)> {
        let (mut shown, mut stands_on_record) = (0, stands_on_record);
        while stands_on_record && shown < range.limit {
            let key = self.key()?;
            if range.ends_before(key) {
                return Ok((shown, false));
            }
            shown += 1;
            // No step after the last requested record: it would cost time for nothing.
            if visit(key, self.value()?).is_break() || shown == range.limit {
                return Ok((shown, true));
            }
            stands_on_record = self.step(range.direction)?;
        }
        Ok((shown, false))
    }

    fn scan(
        self,
        range: &Range<'_>,
        visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<u64> {
        if range.limit == 0 {
            return Ok(0);
        }
        let shown = self
            .seek(range)
            .and_then(|stands_on_record| self.records(range, stands_on_record, visit));
        self.reset()?;
        Ok(shown?.0)
    }
}

fn backward(direction: Direction) -> i32 {
    i32::from(direction == Direction::Reverse)
}

/// # Safety
/// `start` is the first of `length` bytes that live for `'b`; null only where there are none.
#[inline]
unsafe fn bytes<'b>(start: *const u8, length: usize) -> &'b [u8] {
    if length == 0 {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(start, length) }
}

impl Session for WiredTigerSession<'_> {
    #[inline]
    fn get<R>(&mut self, key: &[u8], visit: impl FnOnce(Option<&[u8]>) -> R) -> Result<R> {
        self.cursor.show(key, visit)
    }

    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.cursor.put(key, value)
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.cursor.delete(key)
    }

    fn scan(
        &mut self,
        range: Range<'_>,
        visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<u64> {
        self.cursor.scan(&range, visit)
    }

    /// With one cursor from its beginning to its end, in the snapshot that it began with.
    fn walk(
        &mut self,
        walk: &mut Walk,
        limit: u64,
        visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<u64> {
        if limit == 0 {
            return Ok(0);
        }
        let range = Range { from: walk.last(), ..Range::all(walk.direction()).limit(limit) };
        let previous =
            self.walking.take().filter(|previous| previous.cursor.key().ok() == walk.last());
        let stands = previous.is_some();
        let walking = previous.map_or_else(|| Walking::begin(self.database), Ok)?;
        let cursor = walking.cursor;
        let mut stands_on_record =
            if stands { cursor.step(range.direction)? } else { cursor.seek(&range)? };
        // It may begin with the key that was shown last, if that is still there.
        if stands_on_record && !stands && range.from == Some(cursor.key()?) {
            stands_on_record = cursor.step(range.direction)?;
        }
        let (shown, stands) = cursor.records(&range, stands_on_record, visit)?;
        if stands {
            walk.passed(cursor.key()?);
            self.walking = Some(walking);
        } else {
            walk.ended();
        }
        Ok(shown)
    }

    fn transaction<R>(
        &mut self,
        body: impl FnOnce(&mut dyn Transaction) -> Result<R>,
    ) -> Result<R> {
        self.within(|table| body(table))
    }

    fn write(&mut self, writes: &[Write<'_>]) -> Result<()> {
        self.within(|table| writes.iter().try_for_each(|write| table.apply(write)))
    }

    fn read_modify_write(
        &mut self,
        key: &[u8],
        buffer: &mut Vec<u8>,
        change: impl FnOnce(Option<&[u8]>, &mut Vec<u8>),
    ) -> Result<bool> {
        self.within(|table| {
            buffer.clear();
            let existed = table.show(key, |value| {
                change(value, buffer);
                value.is_some()
            })?;
            table.put(key, buffer)?;
            Ok(existed)
        })
    }
}

impl Walking {
    fn begin(database: &Database) -> Result<Self> {
        let handle = database.session()?;
        Ok(Self {
            cursor: Table { api: database.api, raw: handle.table(database.table())? },
            _handle: handle,
        })
    }
}

/// Within a transaction of its session: it sees the snapshot of the transaction's first read, and
/// its own writes.
impl Transaction for Table {
    fn get(&mut self, key: &[u8], visit: &mut ValueVisitor<'_>) -> Result<()> {
        self.show(key, visit)
    }

    /// With `WT_CURSOR::reserve`, which is a write to everybody else.
    fn get_for_update(&mut self, key: &[u8], visit: &mut ValueVisitor<'_>) -> Result<()> {
        // SAFETY: the cursor is live; the key is only read.
        let reserved = unsafe { (self.api.reserve)(self.raw, key.as_ptr(), key.len()) };
        if !self.api.check_found(reserved)? {
            // A missing record cannot be reserved. Writing and removing it has the same effect.
            self.put(key, &[])?;
            self.delete(key)?;
        }
        self.show(key, visit)
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        Self::put(*self, key, value)
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        Self::delete(*self, key)
    }

    fn scan(&mut self, range: Range<'_>, visit: &mut Records<'_>) -> Result<u64> {
        Self::scan(*self, &range, |key, value| visit(key, value))
    }
}
