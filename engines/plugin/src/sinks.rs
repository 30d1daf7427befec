//! Callbacks by which a plugin adds its counters and events: as all callbacks, they run on the
//! thread of the call, and before it returns.

#![expect(unsafe_code, reason = "callbacks of a C API")]

use crate::api::{self, CounterSink, EventSink, OK};
use crate::callback::Callback;
use kvdyno_engine::{Counters, Edge, EngineEvent, EventKind, Value};
use std::ffi::{c_char, c_int};
use std::sync::{Mutex, PoisonError};

/// The callbacks of one database; they stay at their address as long as it is open.
pub(crate) struct Sinks {
    counters: Mutex<Box<Callback<CounterSink>>>,
    events: Mutex<Box<Callback<EventSink>>>,
}

impl Sinks {
    pub(crate) fn new() -> Self {
        let counters = CounterSink { integer: add_integer, number: add_number, text: add_text };
        Self {
            counters: Mutex::new(Box::new(Callback::new(counters))),
            events: Mutex::new(Box::new(Callback::new(EventSink { add: add_event }))),
        }
    }

    /// Returns what a call adds.
    pub(crate) fn counters(&self, call: impl FnOnce(*mut CounterSink)) -> Counters {
        collect(&self.counters, call)
    }

    /// Returns what a call adds.
    pub(crate) fn events(&self, call: impl FnOnce(*mut EventSink)) -> Vec<EngineEvent> {
        collect(&self.events, call)
    }
}

fn collect<S, L: Default>(sink: &Mutex<Box<Callback<S>>>, call: impl FnOnce(*mut S)) -> L {
    let mut list = L::default();
    let mut sink = sink.lock().unwrap_or_else(PoisonError::into_inner);
    Callback::call_with_frame(&raw mut **sink, &mut list, |sink| {
        call(sink);
        OK
    });
    list
}

/// # Safety
/// As for [`Callback::frame`].
unsafe fn list<'l>(sink: *mut CounterSink) -> &'l mut Counters {
    // SAFETY: the caller's promise: its frames are of this type.
    unsafe { Callback::frame(sink) }
}

unsafe extern "C" fn add_integer(sink: *mut CounterSink, name: *const c_char, value: u64) {
    // SAFETY: the header has the plugin pass on what it got, and C strings.
    unsafe { list(sink).insert(api::text(name), Value::Integer(value)) };
}

unsafe extern "C" fn add_number(sink: *mut CounterSink, name: *const c_char, value: f64) {
    // SAFETY: as above.
    unsafe { list(sink).insert(api::text(name), Value::Number(value)) };
}

unsafe extern "C" fn add_text(sink: *mut CounterSink, name: *const c_char, value: *const c_char) {
    // SAFETY: as above.
    unsafe {
        let value = Value::Text(api::text(value));
        list(sink).insert(api::text(name), value);
    }
}

unsafe extern "C" fn add_event(
    sink: *mut EventSink,
    at_unix_ns: u64,
    kind: c_int,
    edge: c_int,
    detail: *const c_char,
) {
    let kind = match kind {
        0 => EventKind::Flush,
        1 => EventKind::Compaction,
        2 => EventKind::Checkpoint,
        3 => EventKind::Stall,
        _ => EventKind::Other,
    };
    let edge = match edge {
        0 => Edge::Begin,
        1 => Edge::End,
        _ => Edge::Point,
    };
    // SAFETY: as above.
    let text = unsafe { api::text(detail) };
    let mut detail = Counters::new();
    if !text.is_empty() {
        detail.insert("detail".to_owned(), Value::Text(text));
    }
    let event = EngineEvent { at_unix_ns, kind, edge, detail };
    // SAFETY: as above.
    unsafe { Callback::frame::<Vec<EngineEvent>>(sink) }.push(event);
}
