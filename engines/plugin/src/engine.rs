//! The `Engine` trait for plugins.

#![expect(unsafe_code, reason = "calls of a C API")]

use crate::api::{self, Message, NO_MESSAGE, OptionValue};
use crate::library::{self, Functions};
use crate::session::PluginSession;
use crate::sinks::Sinks;
use kvdyno_engine::{
    Counters, DataShape, Description, Durability, Engine, EngineEvent, Error, ErrorClass, Location,
    Options, Result, Settled, Transactions, Value,
};
use std::ffi::{CString, c_int, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::ptr::{null, null_mut};
use std::time::Duration;

/// An open database of a plugin.
pub struct Plugin {
    functions: &'static Functions,
    database: *mut c_void,
    /// The function that reads in a read-modify-write; `None`: a read-modify-write is no
    /// transaction.
    rmw_get: Option<api::Get>,
    sinks: Sinks,
    closed: bool,
}

// SAFETY: by the header, a plugin's database is for all threads.
unsafe impl Send for Plugin {}
// SAFETY: as above.
unsafe impl Sync for Plugin {}

impl Engine for Plugin {
    type Session<'e> = PluginSession<'e>;

    fn use_library(path: Option<&Path>) -> Result<()> {
        library::load(path).map(drop)
    }

    /// Returns the plugin's description. The worker has called `use_library` before, with success:
    /// otherwise it runs no command.
    #[expect(clippy::expect_used, reason = "the worker calls `use_library` first")]
    fn describe() -> Description {
        library::load(None).expect("a plugin that was loaded").description.clone()
    }

    fn open(location: &Location, options: &Options, data: &DataShape) -> Result<Self> {
        let plugin = library::load(None)?;
        let dir = c_string(location.directory()?.as_os_str().as_bytes())?;
        let names: Vec<CString> = try_map(options.values.keys(), |name| c_string(name.as_bytes()))?;
        let texts: Vec<CString> = try_map(options.values.values(), |value| match value {
            Value::Text(text) => c_string(text.as_bytes()),
            _ => Ok(CString::default()),
        })?;
        let of_values = options.values.values().zip(&names).zip(&texts);
        let values: Vec<OptionValue> =
            of_values.map(|((value, name), text)| option(value, name, text)).collect();
        let opening = api::Opening {
            dir: dir.as_ptr(),
            durability: match options.durability {
                Durability::None => 0,
                Durability::Async => 1,
                Durability::Commit => 2,
            },
            options: values.as_ptr(),
            option_count: values.len(),
            records: data.records,
            records_max: data.records_max,
            key_bytes: u64::from(data.key_bytes),
            value_bytes_mean: data.value_bytes_mean,
            value_bytes_max: data.value_bytes_max,
            sessions: u64::from(data.sessions),
        };
        let functions = &plugin.functions;
        let (mut database, mut message) = (null_mut(), NO_MESSAGE);
        // SAFETY: what `opening` points to lives until after the call, and so do the results.
        let code = unsafe {
            (functions.open)(&raw const opening, &raw mut database, message.as_mut_ptr())
        };
        api::check("open", code, &message)?;
        if database.is_null() {
            let what = "`open` of the plugin returned KVDYNO_OK and set no database";
            return Err(Error::new(ErrorClass::Other, what));
        }
        let rmw_get = match plugin.description.transactions(options) {
            // The database was opened without them.
            Transactions::None => None,
            // The write conflicts if the value that was read has changed.
            Transactions::Optimistic => Some(functions.get),
            Transactions::Serial | Transactions::Locking => Some(functions.get_for_update),
        };
        let claims = &plugin.description.capabilities;
        let rmw_get = rmw_get.filter(|_| claims.atomic_read_modify_write);
        Ok(Self { functions, database, rmw_get, sinks: Sinks::new(), closed: false })
    }

    fn session(&self) -> Result<PluginSession<'_>> {
        PluginSession::open(self.functions, &self.database, self.rmw_get)
    }

    fn settle(&self, limit: Duration) -> Result<Settled> {
        let Some(settle) = self.functions.settle else { return Ok(Settled::at_once()) };
        let (mut idle, mut note, mut message) = (0, NO_MESSAGE, NO_MESSAGE);
        let limit = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
        let idle_at: *mut c_int = &raw mut idle;
        // SAFETY: the database is open; the room for results is of the header's size.
        let code = unsafe {
            settle(self.database, limit, idle_at, note.as_mut_ptr(), message.as_mut_ptr())
        };
        api::check("settle", code, &message)?;
        Ok(Settled { idle: idle != 0, note: api::message_text(&note) })
    }

    fn sync(&self) -> Result<()> {
        self.functions.sync.map_or(Ok(()), |sync| self.call("sync", sync))
    }

    fn close(mut self) -> Result<()> {
        self.closed = true;
        self.call("close", self.functions.close)
    }

    fn counters(&self) -> Counters {
        let Some(counters) = self.functions.counters else { return Counters::new() };
        // SAFETY: the database is open.
        self.sinks.counters(|sink| unsafe { counters(self.database, sink) })
    }

    fn events(&self) -> Vec<EngineEvent> {
        let Some(events) = self.functions.events else { return Vec::new() };
        // SAFETY: as above.
        self.sinks.events(|sink| unsafe { events(self.database, sink) })
    }
}

/// Closes the database also after a failure, because a plugin has only one database open at a time.
impl Drop for Plugin {
    fn drop(&mut self) {
        if !self.closed {
            // The failure before this one is reported.
            let _ = self.call("close", self.functions.close);
        }
    }
}

impl Plugin {
    fn call(&self, name: &str, function: api::OnDatabase) -> Result<()> {
        let mut message: Message = NO_MESSAGE;
        // SAFETY: the database is open; the message has the room that the header promises.
        let code = unsafe { function(self.database, message.as_mut_ptr()) };
        api::check(name, code, &message)
    }
}

fn option(value: &Value, name: &CString, text: &CString) -> OptionValue {
    let none = OptionValue { name: name.as_ptr(), kind: 0, integer: 0, number: 0.0, text: null() };
    match value {
        Value::Boolean(on) => OptionValue { integer: u64::from(*on), ..none },
        Value::Integer(integer) => OptionValue { kind: 1, integer: *integer, ..none },
        Value::Number(number) => OptionValue { kind: 2, number: *number, ..none },
        Value::Text(_) => OptionValue { kind: 3, text: text.as_ptr(), ..none },
    }
}

fn try_map<I, O>(items: impl Iterator<Item = I>, make: impl Fn(I) -> Result<O>) -> Result<Vec<O>> {
    items.map(make).collect()
}

fn c_string(text: &[u8]) -> Result<CString> {
    CString::new(text).map_err(|_| {
        let text = String::from_utf8_lossy(text);
        Error::invalid(format!("expected text without a zero byte, found {text:?}"))
    })
}
