//! Flushes, compactions and write stalls, recorded as they happen: from `RocksDB`'s listener, or
//! from the LOG if the library has none.

#![expect(unsafe_code, reason = "callbacks that C++ calls")]

use crate::api::{Api, CompactionInfo, Db, FlushInfo, StallInfo, Unused};
use crate::database::OpenOptions;
use crate::log::Log;
use kvdyno_engine::{Edge, EngineEvent, EventKind, EventLog, Value};
use std::ffi::{c_int, c_void};
use std::path::Path;
use std::sync::{Arc, Mutex};

/// The source of the events since the last call of `drain`.
pub(crate) enum Events {
    Listener(Arc<ListenerState>),
    Logged(Mutex<Log>),
}

/// The listener's state: the library and the events that it has reported.
pub(crate) struct ListenerState {
    api: &'static Api,
    events: EventLog,
}

impl Events {
    /// Records the events of a `RocksDB` that is opened in `dir` with `options`.
    pub(crate) fn listen(api: &'static Api, options: &OpenOptions, dir: &Path) -> Self {
        let listener = api.eventlistener_create.zip(api.options_add_eventlistener);
        let Some((create, add)) = listener else {
            return Self::Logged(Mutex::new(Log::follow(dir)));
        };
        let state_of_listener = Arc::new(ListenerState { api, events: EventLog::default() });
        let state = Arc::into_raw(Arc::clone(&state_of_listener)).cast_mut().cast();
        // SAFETY: the listener owns one count of what it tells to, given back in `release`; every
        // callback is set, since RocksDB calls them unasked; the options take the listener over.
        unsafe {
            let listener = create(
                state,
                release,
                flush_begin,
                flush_completed,
                compaction_begin,
                compaction_completed,
                ignore,
                ignore,
                ignore_ingestion,
                background_error,
                stall_changed,
                ignore,
            );
            add(options.raw(), listener);
        }
        Self::Listener(state_of_listener)
    }

    pub(crate) fn drain(&self) -> Vec<EngineEvent> {
        match self {
            Self::Listener(listener) => listener.events.drain(),
            Self::Logged(log) => log.lock().map(|mut log| log.drain()).unwrap_or_default(),
        }
    }
}

/// The details of an event, by name.
type Detail = Vec<(&'static str, Value)>;

/// Records an event, whose details `detail` asks the library for.
///
/// # Safety
/// `state` is what `listen` gave the listener, which holds a count of it as long as it calls.
unsafe fn record(
    state: *mut c_void,
    kind: EventKind,
    edge: Edge,
    detail: impl FnOnce(&Api) -> Detail,
) {
    // SAFETY: the caller's promise.
    let listener = unsafe { &*state.cast::<ListenerState>() };
    let detail = detail(listener.api).into_iter().map(|(name, value)| (name.to_owned(), value));
    listener.events.record(kind, edge, detail.collect());
}

/// Returns the results of the library's functions for `info`, without those of functions that the
/// library lacks.
macro_rules! details {
    ($api:ident, $info:ident: $($name:literal $function:ident $value:expr;)*) => {{
        let mut detail = Detail::new();
        $(if let Some(function) = $api.$function {
            // SAFETY: RocksDB's arguments are live during the call.
            detail.push(($name, $value(unsafe { function($info) })));
        })*
        detail
    }};
}

fn integer(number: c_int) -> Value {
    Value::Integer(number as u64)
}

fn flag(flag: u8) -> Value {
    Value::Boolean(flag != 0)
}

unsafe extern "C" fn release(state: *mut c_void) {
    // SAFETY: the count that `listen` gave away; called once, by the listener's destructor.
    drop(unsafe { Arc::from_raw(state.cast::<ListenerState>()) });
}

unsafe extern "C" fn flush_begin(state: *mut c_void, _db: *mut Db, info: *const FlushInfo) {
    let detail = |api: &Api| details!(api, info: "job_id" flushjobinfo_job_id integer;);
    // SAFETY: the listener calls this with its state; so in all callbacks below.
    unsafe { record(state, EventKind::Flush, Edge::Begin, detail) };
}

unsafe extern "C" fn flush_completed(state: *mut c_void, _db: *mut Db, info: *const FlushInfo) {
    let detail = |api: &Api| {
        details!(api, info:
            "job_id" flushjobinfo_job_id integer;
            "triggered_writes_slowdown" flushjobinfo_triggered_writes_slowdown flag;
            "triggered_writes_stop" flushjobinfo_triggered_writes_stop flag;
        )
    };
    // SAFETY: as in `flush_begin`.
    unsafe { record(state, EventKind::Flush, Edge::End, detail) };
}

unsafe extern "C" fn compaction_begin(state: *mut c_void, _: *mut Db, info: *const CompactionInfo) {
    // SAFETY: as in `flush_begin`.
    unsafe { record(state, EventKind::Compaction, Edge::Begin, |api| compaction(api, info)) };
}

unsafe extern "C" fn compaction_completed(
    state: *mut c_void,
    _db: *mut Db,
    info: *const CompactionInfo,
) {
    let detail = |api: &Api| {
        let bytes = details!(api, info:
            "total_input_bytes" compactionjobinfo_total_input_bytes Value::Integer;
            "total_output_bytes" compactionjobinfo_total_output_bytes Value::Integer;
        );
        [compaction(api, info), bytes].concat()
    };
    // SAFETY: as in `flush_begin`.
    unsafe { record(state, EventKind::Compaction, Edge::End, detail) };
}

/// Returns the details of a compaction. Only the compaction callbacks call this, while `info` is
/// live.
fn compaction(api: &Api, info: *const CompactionInfo) -> Detail {
    details!(api, info:
        "job_id" compactionjobinfo_job_id integer;
        "base_input_level" compactionjobinfo_base_input_level integer;
        "output_level" compactionjobinfo_output_level integer;
        "compaction_reason" compactionjobinfo_compaction_reason
            |code| Value::Integer(u64::from(code));
        "num_input_files" compactionjobinfo_num_input_files |files| Value::Integer(files as u64);
    )
}

/// `WriteStallCondition` in types.h, which the C API hands out without a call to read it.
const STALL_CONDITIONS: [&str; 3] = ["delayed", "stopped", "normal"];

unsafe extern "C" fn stall_changed(state: *mut c_void, info: *const StallInfo) {
    let word = |condition: &i32| {
        let condition_name =
            usize::try_from(*condition).ok().and_then(|index| STALL_CONDITIONS.get(index));
        Value::Text((*condition_name.unwrap_or(&"unknown")).to_owned())
    };
    // SAFETY: as in `flush_begin`; the pointers are to a C++ `enum class`, which is an `int`.
    unsafe {
        let api = (*state.cast::<ListenerState>()).api;
        let (Some(cur), Some(prev)) = (api.writestallinfo_cur, api.writestallinfo_prev) else {
            return;
        };
        let (cur, prev) = (word(&*cur(info)), word(&*prev(info)));
        let edge = if cur == word(&2) { Edge::End } else { Edge::Begin };
        record(state, EventKind::Stall, edge, |_| vec![("cur", cur), ("prev", prev)]);
    }
}

unsafe extern "C" fn background_error(state: *mut c_void, reason: u32, _status: *mut Unused) {
    let detail = |_: &Api| vec![("background_error", Value::Integer(reason.into()))];
    // SAFETY: as in `flush_begin`.
    unsafe { record(state, EventKind::Other, Edge::Point, detail) };
}

unsafe extern "C" fn ignore(_state: *mut c_void, _info: *const Unused) {}

unsafe extern "C" fn ignore_ingestion(_: *mut c_void, _: *mut Db, _: *const Unused) {}
