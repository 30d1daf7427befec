//! Flushes, compactions and write stalls the moment they happen, as `RocksDB`'s own listener tells
//! them; from the LOG where the library has none.

#![expect(unsafe_code, reason = "callbacks that C++ calls")]

use crate::api::{Api, CompactionInfo, Db, FlushInfo, StallInfo, Unused};
use crate::database::OpenOptions;
use crate::log::Log;
use kvdyno_engine::{Counters, Edge, EngineEvent, EventKind, Value};
use std::ffi::{c_int, c_void};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

/// The events since the last look.
pub(crate) enum Events {
    Told(Arc<Heard>),
    Logged(Mutex<Log>),
}

/// What the listener was told.
pub(crate) struct Heard {
    api: &'static Api,
    events: Mutex<Vec<EngineEvent>>,
}

impl Events {
    /// Has `RocksDB`, opened in `folder` with `options`, tell its events from now on.
    pub(crate) fn of(api: &'static Api, options: &OpenOptions, folder: &Path) -> Self {
        let listener = api.eventlistener_create.zip(api.options_add_eventlistener);
        let Some((create, add)) = listener else {
            return Self::Logged(Mutex::new(Log::of(folder)));
        };
        let heard = Arc::new(Heard { api, events: Mutex::default() });
        let state = Arc::into_raw(Arc::clone(&heard)).cast_mut().cast();
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
        Self::Told(heard)
    }

    pub(crate) fn take(&self) -> Vec<EngineEvent> {
        let taken = match self {
            Self::Told(heard) => heard.events.lock().map(|mut events| std::mem::take(&mut *events)),
            Self::Logged(log) => return log.lock().map(|mut log| log.take()).unwrap_or_default(),
        };
        taken.unwrap_or_default()
    }
}

/// # Safety
/// `state` is what `of` gave the listener.
unsafe fn heard<'h>(state: *mut c_void) -> &'h Heard {
    // SAFETY: the listener holds a count, so it lives as long as the listener calls.
    unsafe { &*state.cast::<Heard>() }
}

impl Heard {
    fn tell(&self, kind: EventKind, edge: Edge, detail: Vec<(&str, Value)>) {
        let detail: Counters =
            detail.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        if let Ok(mut events) = self.events.lock() {
            // Under the lock, so that the times ascend.
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            events.push(EngineEvent { at_unix_ns: now.as_nanos() as u64, kind, edge, detail });
        }
    }
}

/// Adds what a function of the library says of `info`; without the function, nothing.
macro_rules! add {
    ($detail:ident, $heard:ident, $info:ident: $($name:literal $function:ident $value:expr;)*) => {
        $(if let Some(function) = $heard.api.$function {
            $detail.push(($name, $value(function($info))));
        })*
    };
}

fn whole(number: c_int) -> Value {
    Value::Integer(number as u64)
}

fn flag(flag: u8) -> Value {
    Value::Boolean(flag != 0)
}

fn code(code: u32) -> Value {
    Value::Integer(code.into())
}

fn size(files: usize) -> Value {
    Value::Integer(files as u64)
}

unsafe extern "C" fn release(state: *mut c_void) {
    // SAFETY: the count that `of` gave away; called once, by the listener's destructor.
    drop(unsafe { Arc::from_raw(state.cast::<Heard>()) });
}

unsafe extern "C" fn flush_begin(state: *mut c_void, _db: *mut Db, info: *const FlushInfo) {
    let mut detail = Vec::new();
    // SAFETY: RocksDB's arguments are live during the call; so in all callbacks below.
    let heard = unsafe {
        let heard = heard(state);
        add!(detail, heard, info: "job_id" flushjobinfo_job_id whole;);
        heard
    };
    heard.tell(EventKind::Flush, Edge::Begin, detail);
}

unsafe extern "C" fn flush_completed(state: *mut c_void, _db: *mut Db, info: *const FlushInfo) {
    let mut detail = Vec::new();
    // SAFETY: as in `flush_begin`.
    let heard = unsafe {
        let heard = heard(state);
        add!(detail, heard, info:
            "job_id" flushjobinfo_job_id whole;
            "triggered_writes_slowdown" flushjobinfo_triggered_writes_slowdown flag;
            "triggered_writes_stop" flushjobinfo_triggered_writes_stop flag;
        );
        heard
    };
    heard.tell(EventKind::Flush, Edge::End, detail);
}

unsafe extern "C" fn compaction_begin(state: *mut c_void, _: *mut Db, info: *const CompactionInfo) {
    // SAFETY: as in `flush_begin`.
    let (heard, detail) = unsafe { (heard(state), compaction(heard(state), info)) };
    heard.tell(EventKind::Compaction, Edge::Begin, detail);
}

unsafe extern "C" fn compaction_completed(
    state: *mut c_void,
    _db: *mut Db,
    info: *const CompactionInfo,
) {
    // SAFETY: as in `flush_begin`.
    let (heard, detail) = unsafe {
        let heard = heard(state);
        let mut detail = compaction(heard, info);
        add!(detail, heard, info:
            "total_input_bytes" compactionjobinfo_total_input_bytes Value::Integer;
            "total_output_bytes" compactionjobinfo_total_output_bytes Value::Integer;
        );
        (heard, detail)
    };
    heard.tell(EventKind::Compaction, Edge::End, detail);
}

/// # Safety
/// `info` is live.
unsafe fn compaction(heard: &Heard, info: *const CompactionInfo) -> Vec<(&'static str, Value)> {
    let mut detail = Vec::new();
    // SAFETY: the caller's promise.
    unsafe {
        add!(detail, heard, info:
            "job_id" compactionjobinfo_job_id whole;
            "base_input_level" compactionjobinfo_base_input_level whole;
            "output_level" compactionjobinfo_output_level whole;
            "compaction_reason" compactionjobinfo_compaction_reason code;
            "num_input_files" compactionjobinfo_num_input_files size;
        );
    }
    detail
}

/// `WriteStallCondition` in types.h, which the C API hands out without a call to read it.
const STALL_CONDITIONS: [&str; 3] = ["delayed", "stopped", "normal"];

unsafe extern "C" fn stall_changed(state: *mut c_void, info: *const StallInfo) {
    let word = |condition: &i32| {
        let known = usize::try_from(*condition).ok().and_then(|at| STALL_CONDITIONS.get(at));
        Value::Text((*known.unwrap_or(&"unknown")).to_owned())
    };
    // SAFETY: as in `flush_begin`; the pointers are to a C++ `enum class`, which is an `int`.
    let (heard, cur, prev) = unsafe {
        let heard = heard(state);
        let (Some(cur), Some(prev)) = (heard.api.writestallinfo_cur, heard.api.writestallinfo_prev)
        else {
            return;
        };
        (heard, word(&*cur(info)), word(&*prev(info)))
    };
    let edge = if cur == word(&2) { Edge::End } else { Edge::Begin };
    heard.tell(EventKind::Stall, edge, vec![("cur", cur), ("prev", prev)]);
}

unsafe extern "C" fn background_error(state: *mut c_void, reason: u32, _status: *mut Unused) {
    // SAFETY: as in `flush_begin`.
    let heard = unsafe { heard(state) };
    let detail = vec![("background_error", Value::Integer(reason.into()))];
    heard.tell(EventKind::Other, Edge::Point, detail);
}

unsafe extern "C" fn ignore(_state: *mut c_void, _info: *const Unused) {}

unsafe extern "C" fn ignore_ingestion(_: *mut c_void, _: *mut Db, _: *const Unused) {}
