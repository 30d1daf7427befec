//! One thread's handle: options, a value and a batch that keep their memory from call to call.

#![expect(unsafe_code, reason = "calls of a C API")]

use crate::api::{self, Api};
use crate::engine::Database;
use kvdyno_engine::{Direction, Durability, Range, Result, Session, Walk, Write};
use std::marker::PhantomData;
use std::ops::ControlFlow;
use std::ptr::null;

/// A session of `LevelDB`.
pub(crate) struct LevelDbSession<'e> {
    api: &'static Api,
    raw: *mut api::Session,
    /// The iterator of a walk.
    walking: Option<Cursor>,
    database: PhantomData<&'e Database>,
}

impl<'e> LevelDbSession<'e> {
    pub(crate) fn new(database: &'e Database, durability: Durability) -> Self {
        let (api, sync) = (database.api, i32::from(durability == Durability::Commit));
        // SAFETY: the database is live, and lives as long as the session.
        let raw = unsafe { (api.open_session)(database.raw, sync) };
        Self { api, raw, walking: None, database: PhantomData }
    }

    fn cursor(&self) -> Cursor {
        // SAFETY: the session is live.
        Cursor { api: self.api, raw: unsafe { (self.api.open_cursor)(self.raw) } }
    }
}

impl Drop for LevelDbSession<'_> {
    fn drop(&mut self) {
        // SAFETY: live, and gone after this.
        unsafe { (self.api.close_session)(self.raw) };
    }
}

/// An iterator, which keeps the state of the database that it was made in.
struct Cursor {
    api: &'static Api,
    raw: *mut api::Cursor,
}

impl Drop for Cursor {
    fn drop(&mut self) {
        // SAFETY: live, and gone after this.
        unsafe { (self.api.close_cursor)(self.raw) };
    }
}

impl Cursor {
    /// The current record, until the cursor moves.
    fn record(&self) -> Option<(&[u8], &[u8])> {
        let (mut key, mut key_bytes, mut value, mut bytes) = (null(), 0, null(), 0);
        // SAFETY: the cursor is live; key and value live until it moves, which takes `&mut self`.
        unsafe {
            let (key_at, value_at) = (&raw mut key, &raw mut value);
            let record = self.api.record;
            (record(self.raw, key_at, &raw mut key_bytes, value_at, &raw mut bytes) != 0)
                .then(|| (slice(key, key_bytes), slice(value, bytes)))
        }
    }

    /// To where a range begins.
    fn seek(&mut self, range: &Range<'_>) {
        let backward = backward(range.direction);
        // SAFETY: the cursor is live; the key is only read.
        unsafe {
            match range.from {
                Some(from) => (self.api.seek)(self.raw, from.as_ptr(), from.len(), backward),
                None => (self.api.end)(self.raw, backward),
            }
        }
    }

    fn step(&mut self, direction: Direction) {
        // SAFETY: the cursor is live, and stands on a record.
        unsafe { (self.api.step)(self.raw, backward(direction)) };
    }

    /// Shows the records of `range` from the current one. Also returns whether the cursor is on the
    /// last shown record, which is so after the limit or a break.
    fn show(
        &mut self,
        range: &Range<'_>,
        mut visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<(u64, bool)> {
        let mut shown = 0;
        while let Some((key, value)) = self.record().filter(|(key, _)| !range.ends_before(key)) {
            shown += 1;
            // No step after the last requested record: it would cost time for nothing.
            if visit(key, value).is_break() || shown == range.limit {
                return Ok((shown, true));
            }
            self.step(range.direction);
        }
        // SAFETY: the cursor is live.
        self.api.call_checked(unsafe { (self.api.status)(self.raw) })?;
        Ok((shown, false))
    }
}

fn backward(direction: Direction) -> i32 {
    i32::from(direction == Direction::Reverse)
}

/// # Safety
/// `start` is the first of `length` bytes that live for `'b`; null only where there are none.
#[inline]
unsafe fn slice<'b>(start: *const u8, length: usize) -> &'b [u8] {
    if length == 0 {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(start, length) }
}

impl Session for LevelDbSession<'_> {
    #[inline]
    fn get<R>(&mut self, key: &[u8], visit: impl FnOnce(Option<&[u8]>) -> R) -> Result<R> {
        let (mut value, mut bytes) = (null(), 0);
        // SAFETY: the session is live; the key is only read.
        let code = unsafe {
            (self.api.get)(self.raw, key.as_ptr(), key.len(), &raw mut value, &raw mut bytes)
        };
        let exists = self.api.check_found(code)?;
        // SAFETY: the value lies in the session until its next get.
        Ok(visit(exists.then(|| unsafe { slice(value, bytes) })))
    }

    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let (value, bytes) = (value.as_ptr(), value.len());
        // SAFETY: the session is live; key and value are only read.
        self.api.call_checked(unsafe {
            (self.api.put)(self.raw, key.as_ptr(), key.len(), value, bytes)
        })
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        // SAFETY: as above.
        self.api.call_checked(unsafe { (self.api.remove)(self.raw, key.as_ptr(), key.len()) })
    }

    fn scan(
        &mut self,
        range: Range<'_>,
        visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<u64> {
        if range.limit == 0 {
            return Ok(0);
        }
        let mut cursor = self.cursor();
        cursor.seek(&range);
        cursor.show(&range, visit).map(|(shown, _)| shown)
    }

    /// With one iterator from its beginning to its end, as `db_bench` reads in sequence.
    fn walk(
        &mut self,
        walk: &mut Walk,
        limit: u64,
        visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<u64> {
        if limit == 0 {
            return Ok(0);
        }
        let key_of = |cursor: &Cursor| cursor.record().map(|(key, _)| key.to_vec());
        let range = Range { from: walk.last(), ..Range::all(walk.direction()).limit(limit) };
        let last = walk.last();
        let walking = self.walking.take().filter(|walking| key_of(walking).as_deref() == last);
        let mut cursor = walking.unwrap_or_else(|| {
            let mut cursor = self.cursor();
            cursor.seek(&range);
            cursor
        });
        // The walk continues after the key that was shown last, if it still exists.
        if last.is_some() && cursor.record().map(|(key, _)| key) == last {
            cursor.step(range.direction);
        }
        let (shown, stands) = cursor.show(&range, visit)?;
        match cursor.record().filter(|_| stands) {
            Some((key, _)) => {
                walk.passed(key);
                self.walking = Some(cursor);
            }
            None => walk.ended(),
        }
        Ok(shown)
    }

    fn write(&mut self, writes: &[Write<'_>]) -> Result<()> {
        // SAFETY: the session is live; keys and values are copied into its batch.
        self.api.call_checked(unsafe {
            (self.api.batch_clear)(self.raw);
            for write in writes {
                let (key, key_bytes) = (write.key().as_ptr(), write.key().len());
                match write.value() {
                    Some(value) => {
                        let (value, bytes) = (value.as_ptr(), value.len());
                        (self.api.batch_put)(self.raw, key, key_bytes, value, bytes);
                    }
                    None => (self.api.batch_remove)(self.raw, key, key_bytes),
                }
            }
            (self.api.batch_write)(self.raw)
        })
    }
}
