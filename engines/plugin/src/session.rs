//! One thread's handle on a plugin's database.

#![expect(unsafe_code, reason = "calls of a C API")]

use crate::api::{self, BatchWrite, Key, KeyRange, Message, NO_MESSAGE};
use crate::callback::Callbacks;
use crate::library::{Functions, TransactionFunctions};
use kvdyno_engine::{
    Direction, Error, Range, Records, Result, Session, Transaction, ValueVisitor, Walk, Write,
};
use std::ffi::{c_int, c_void};
use std::marker::PhantomData;
use std::ops::ControlFlow;
use std::ptr::{NonNull, null, null_mut};

/// A session of a plugin.
pub struct PluginSession<'e> {
    functions: &'static Functions,
    raw: *mut c_void,
    /// Whether the plugin opened the session; if it failed to, there is nothing to close.
    is_open: bool,
    shared: NonNull<Shared>,
    rmw_get: Option<api::Get>,
    /// The keys of a multiget. This and the next three fields keep their memory from call to call.
    keys: Vec<Key>,
    shown: Vec<bool>,
    writes: Vec<BatchWrite>,
    walked: Vec<u8>,
    database: PhantomData<&'e *mut c_void>,
}

/// The memory that the plugin may write to; it stays at its address as long as the session.
struct Shared {
    message: Message,
    callbacks: Callbacks,
}

impl<'e> PluginSession<'e> {
    pub(crate) fn open(
        functions: &'static Functions,
        database: &'e *mut c_void,
        rmw_get: Option<api::Get>,
    ) -> Result<Self> {
        let shared = Box::new(Shared { message: NO_MESSAGE, callbacks: Callbacks::new() });
        let mut session = Self {
            functions,
            raw: null_mut(),
            is_open: false,
            shared: NonNull::from(Box::leak(shared)),
            rmw_get,
            keys: Vec::new(),
            shown: Vec::new(),
            writes: Vec::new(),
            walked: Vec::new(),
            database: PhantomData,
        };
        // SAFETY: the database is open, and the message lives until after `close_session`.
        let code = unsafe {
            let message = (&raw mut (*session.shared.as_ptr()).message).cast();
            (functions.open_session)(*database, message, &raw mut session.raw)
        };
        session.check("open_session", code)?;
        session.is_open = true;
        Ok(session)
    }

    #[inline]
    fn check(&self, call: &str, code: c_int) -> Result<()> {
        if code == api::OK { Ok(()) } else { Err(self.error(call, code)) }
    }

    #[cold]
    fn error(&self, call: &str, code: c_int) -> Error {
        // SAFETY: it lives as long as the session; the plugin writes to it only within calls.
        let message = unsafe { &mut (*self.shared.as_ptr()).message };
        let error = api::error(call, code, &api::message_text(message));
        // The next failure may have no message.
        message[0] = 0;
        error
    }

    #[inline]
    fn callbacks(&self) -> *mut Callbacks {
        // SAFETY: it lives as long as the session.
        unsafe { &raw mut (*self.shared.as_ptr()).callbacks }
    }

    #[inline]
    fn read<R>(
        &mut self,
        get: api::Get,
        key: &[u8],
        visit: impl FnOnce(Option<&[u8]>) -> R,
    ) -> Result<R> {
        // SAFETY: the session is open; the key is only read.
        let read = unsafe {
            Callbacks::read(self.callbacks(), visit, |value| {
                get(self.raw, address(key), key.len(), value)
            })
        };
        read?.map_err(|code| self.error("get", code))
    }

    /// Shows the records of `range` to `visit`, by the function `scan`, which `name` names in
    /// errors.
    fn show(
        &mut self,
        name: &str,
        scan: api::Scan,
        range: &Range<'_>,
        visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<u64> {
        if range.limit == 0 {
            return Ok(0);
        }
        let (from, from_size) = raw_parts(range.from);
        let (until, until_size) = raw_parts(range.until);
        let key_range = KeyRange {
            from,
            from_size,
            until,
            until_size,
            limit: range.limit,
            reverse: c_int::from(range.direction == Direction::Reverse),
        };
        // SAFETY: the session is open; the range is only read.
        let (code, count) = unsafe {
            Callbacks::scan(self.callbacks(), range.limit, visit, |records| {
                scan(self.raw, &raw const key_range, records)
            })
        };
        self.check(name, code).map(|()| count)
    }

    /// Runs `body` in a transaction, which is rolled back if `body` fails.
    fn run_in_transaction<R>(&mut self, body: impl FnOnce(&mut Self) -> Result<R>) -> Result<R> {
        let TransactionFunctions { begin, commit, rollback } = self.transaction_functions()?;
        // SAFETY: the session is open.
        self.check("begin", unsafe { begin(self.raw) })?;
        match body(self) {
            // SAFETY: the session's transaction is under way.
            Ok(result) => self.check("commit", unsafe { commit(self.raw) }).map(|()| result),
            Err(error) => {
                // SAFETY: as above.
                unsafe { rollback(self.raw) };
                Err(error)
            }
        }
    }

    fn scan_function(&self) -> Result<api::Scan> {
        self.functions.scan.ok_or_else(|| Error::unsupported("scan"))
    }

    fn transaction_functions(&self) -> Result<TransactionFunctions> {
        self.functions.transactions.ok_or_else(|| Error::unsupported("transactions"))
    }
}

/// Returns the start and the length of a key; null: there is none. An empty key is not null.
fn raw_parts(key: Option<&[u8]>) -> (*const u8, usize) {
    key.map_or((null(), 0), |key| (address(key), key.len()))
}

/// Returns the address of bytes; for no bytes, a readable address, because Go refuses invalid
/// pointers.
#[inline]
fn address(bytes: &[u8]) -> *const u8 {
    static EMPTY: u8 = 0;
    if bytes.is_empty() { &raw const EMPTY } else { bytes.as_ptr() }
}

impl Drop for PluginSession<'_> {
    fn drop(&mut self) {
        // SAFETY: open, and gone after this; then the plugin has no pointer to what is shared with
        // it, which came from a box.
        unsafe {
            if self.is_open {
                (self.functions.close_session)(self.raw);
            }
            drop(Box::from_raw(self.shared.as_ptr()));
        }
    }
}

impl Session for PluginSession<'_> {
    #[inline]
    fn get<R>(&mut self, key: &[u8], visit: impl FnOnce(Option<&[u8]>) -> R) -> Result<R> {
        self.read(self.functions.get, key, visit)
    }

    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let (value, value_size) = (address(value), value.len());
        // SAFETY: the session is open; key and value are only read.
        let code =
            unsafe { (self.functions.put)(self.raw, address(key), key.len(), value, value_size) };
        self.check("put", code)
    }

    #[inline]
    fn delete(&mut self, key: &[u8]) -> Result<()> {
        let Some(remove) = self.functions.remove else { return Err(Error::unsupported("delete")) };
        // SAFETY: as above.
        let code = unsafe { remove(self.raw, address(key), key.len()) };
        self.check("remove", code)
    }

    fn scan(
        &mut self,
        range: Range<'_>,
        visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<u64> {
        let scan = self.scan_function()?;
        self.show("scan", scan, &range, visit)
    }

    fn walk(
        &mut self,
        walk: &mut Walk,
        limit: u64,
        mut visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<u64> {
        let Some(function) = self.functions.walk else {
            return walk.continue_by_scan(self, limit, visit);
        };
        let mut walked = std::mem::take(&mut self.walked);
        walked.clear();
        walked.extend_from_slice(walk.last_key().unwrap_or_default());
        let from = walk.last_key().map(|_| walked.as_slice());
        let range = Range { from, ..Range::all(walk.direction()).limit(limit) };
        let mut broke_off = false;
        let count = self.show("walk", function, &range, |key, value| {
            walk.advance_to(key);
            let flow = visit(key, value);
            broke_off = flow.is_break();
            flow
        });
        self.walked = walked;
        if matches!(count, Ok(count) if count < limit && !broke_off) {
            walk.restart();
        }
        count
    }

    fn transaction<R>(
        &mut self,
        body: impl FnOnce(&mut dyn Transaction) -> Result<R>,
    ) -> Result<R> {
        self.run_in_transaction(|session| body(&mut UnderWay(session)))
    }

    fn multiget(
        &mut self,
        keys: &[&[u8]],
        mut visit: impl FnMut(usize, Option<&[u8]>),
    ) -> Result<()> {
        let Some(multiget) = self.functions.multiget else {
            let mut keys = keys.iter().enumerate();
            return keys.try_for_each(|(at, key)| self.get(key, |value| visit(at, value)));
        };
        self.keys.clear();
        self.keys.extend(keys.iter().map(|key| Key { data: address(key), size: key.len() }));
        self.shown.clear();
        self.shown.resize(keys.len(), false);
        let (callbacks, raw) = (self.callbacks(), self.raw);
        let (asked, shown) = (&self.keys, &mut self.shown);
        // SAFETY: the session is open; the keys are only read.
        let code = unsafe {
            Callbacks::read_several(callbacks, shown, visit, |values| {
                multiget(raw, asked.as_ptr(), asked.len(), values)
            })
        };
        self.check("multiget", code)
    }

    fn write(&mut self, writes: &[Write<'_>]) -> Result<()> {
        let Some(write) = self.functions.write else {
            return writes.iter().try_for_each(|write| match *write {
                Write::Put { key, value } => self.put(key, value),
                Write::Delete { key } => self.delete(key),
            });
        };
        self.writes.clear();
        self.writes.extend(writes.iter().map(|write| {
            let (key, (value, value_size)) = (write.key(), raw_parts(write.value()));
            let removes = c_int::from(write.value().is_none());
            BatchWrite { removes, key: address(key), key_size: key.len(), value, value_size }
        }));
        // SAFETY: the session is open; the writes are only read.
        let code = unsafe { write(self.raw, self.writes.as_ptr(), self.writes.len()) };
        self.check("write", code)
    }

    fn read_modify_write(
        &mut self,
        key: &[u8],
        buffer: &mut Vec<u8>,
        change: impl FnOnce(Option<&[u8]>, &mut Vec<u8>),
    ) -> Result<bool> {
        buffer.clear();
        let get = self.rmw_get.unwrap_or(self.functions.get);
        let update = |session: &mut Self| {
            let existed = session.read(get, key, |value| {
                change(value, buffer);
                value.is_some()
            })?;
            session.put(key, buffer)?;
            Ok(existed)
        };
        if self.rmw_get.is_some() { self.run_in_transaction(update) } else { update(self) }
    }
}

/// A session whose transaction is under way: its calls belong to the transaction.
struct UnderWay<'s, 'e>(&'s mut PluginSession<'e>);

impl Transaction for UnderWay<'_, '_> {
    fn get(&mut self, key: &[u8], visit: &mut ValueVisitor<'_>) -> Result<()> {
        self.0.get(key, visit)
    }

    fn get_for_update(&mut self, key: &[u8], visit: &mut ValueVisitor<'_>) -> Result<()> {
        self.0.read(self.0.functions.get_for_update, key, visit)
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.0.put(key, value)
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.0.delete(key)
    }

    fn scan(&mut self, range: Range<'_>, visit: &mut Records<'_>) -> Result<u64> {
        self.0.scan(range, visit)
    }
}
