//! Flushes, compactions and write stalls as `RocksDB`'s own listener tells them, the moment they
//! happen.

#![expect(unsafe_code, reason = "callbacks that C++ calls")]

use kvdyno_engine::{Counters, Edge, EngineEvent, EventKind, Value};
use librocksdb_sys as ffi;
use rocksdb::{AsRawPtr, Options};
use std::ffi::c_void;
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

/// The events since the last look.
#[derive(Clone, Default)]
pub(crate) struct Events(Arc<Mutex<Vec<EngineEvent>>>);

impl Events {
    /// Has `RocksDB`, opened with `options`, tell its events from now on.
    pub(crate) fn listen(&self, options: &Options) {
        let state = Arc::into_raw(Arc::clone(&self.0)).cast_mut().cast();
        // SAFETY: the listener owns one count of the events, given back in `release`; every
        // callback is set, since RocksDB calls them unasked; the options take the listener over.
        unsafe {
            let listener = ffi::rocksdb_eventlistener_create(
                state,
                Some(release),
                Some(flush_begin),
                Some(flush_completed),
                Some(compaction_begin),
                Some(compaction_completed),
                Some(ignore_subcompaction),
                Some(ignore_subcompaction),
                Some(ignore_ingestion),
                Some(background_error),
                Some(stall_changed),
                Some(ignore_memtable),
            );
            ffi::rocksdb_options_add_eventlistener(options.as_raw_ptr(), listener);
        }
    }

    pub(crate) fn take(&self) -> Vec<EngineEvent> {
        self.0.lock().map(|mut events| std::mem::take(&mut *events)).unwrap_or_default()
    }
}

/// # Safety
/// `state` is what `listen` gave the listener.
unsafe fn tell(state: *mut c_void, kind: EventKind, edge: Edge, detail: &[(&str, Value)]) {
    // SAFETY: the listener holds a count, so the events live as long as it calls.
    let events = unsafe { &*state.cast::<Mutex<Vec<EngineEvent>>>() };
    let detail: Counters =
        detail.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    if let Ok(mut events) = events.lock() {
        // Under the lock, so that the times ascend.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        events.push(EngineEvent { at_unix_ns: now.as_nanos() as u64, kind, edge, detail });
    }
}

unsafe extern "C" fn release(state: *mut c_void) {
    // SAFETY: the count that `listen` gave away; called once, by the listener's destructor.
    drop(unsafe { Arc::from_raw(state.cast::<Mutex<Vec<EngineEvent>>>()) });
}

unsafe extern "C" fn flush_begin(
    state: *mut c_void,
    _db: *mut ffi::rocksdb_t,
    info: *const ffi::rocksdb_flushjobinfo_t,
) {
    // SAFETY: RocksDB's arguments are live during the call; so in all callbacks below.
    unsafe {
        let job = ffi::rocksdb_flushjobinfo_job_id(info) as u64;
        tell(state, EventKind::Flush, Edge::Begin, &[("job_id", job.into())]);
    }
}

unsafe extern "C" fn flush_completed(
    state: *mut c_void,
    _db: *mut ffi::rocksdb_t,
    info: *const ffi::rocksdb_flushjobinfo_t,
) {
    // SAFETY: as in `flush_begin`.
    unsafe {
        let job = ffi::rocksdb_flushjobinfo_job_id(info) as u64;
        let slowdown = ffi::rocksdb_flushjobinfo_triggered_writes_slowdown(info) != 0;
        let stop = ffi::rocksdb_flushjobinfo_triggered_writes_stop(info) != 0;
        let detail = [
            ("job_id", job.into()),
            ("triggered_writes_slowdown", Value::Boolean(slowdown)),
            ("triggered_writes_stop", Value::Boolean(stop)),
        ];
        tell(state, EventKind::Flush, Edge::End, &detail);
    }
}

unsafe extern "C" fn compaction_begin(
    state: *mut c_void,
    _db: *mut ffi::rocksdb_t,
    info: *const ffi::rocksdb_compactionjobinfo_t,
) {
    // SAFETY: as in `flush_begin`.
    unsafe { tell(state, EventKind::Compaction, Edge::Begin, &compaction(info)) };
}

unsafe extern "C" fn compaction_completed(
    state: *mut c_void,
    _db: *mut ffi::rocksdb_t,
    info: *const ffi::rocksdb_compactionjobinfo_t,
) {
    // SAFETY: as in `flush_begin`.
    unsafe {
        let mut detail = compaction(info).to_vec();
        let (read, written) = (
            ffi::rocksdb_compactionjobinfo_total_input_bytes(info),
            ffi::rocksdb_compactionjobinfo_total_output_bytes(info),
        );
        detail.push(("total_input_bytes", read.into()));
        detail.push(("total_output_bytes", written.into()));
        tell(state, EventKind::Compaction, Edge::End, &detail);
    }
}

/// # Safety
/// `info` is live.
unsafe fn compaction(info: *const ffi::rocksdb_compactionjobinfo_t) -> [(&'static str, Value); 5] {
    // SAFETY: the caller's promise.
    let (job, from, to, reason, files) = unsafe {
        (
            ffi::rocksdb_compactionjobinfo_job_id(info),
            ffi::rocksdb_compactionjobinfo_base_input_level(info),
            ffi::rocksdb_compactionjobinfo_output_level(info),
            ffi::rocksdb_compactionjobinfo_compaction_reason(info),
            ffi::rocksdb_compactionjobinfo_num_input_files(info),
        )
    };
    [
        ("job_id", Value::Integer(job as u64)),
        ("base_input_level", Value::Integer(from as u64)),
        ("output_level", Value::Integer(to as u64)),
        ("compaction_reason", Value::Integer(reason.into())),
        ("num_input_files", Value::Integer(files as u64)),
    ]
}

/// `WriteStallCondition` in types.h, which the C API hands out without a call to read it.
const STALL_CONDITIONS: [&str; 3] = ["delayed", "stopped", "normal"];

unsafe extern "C" fn stall_changed(state: *mut c_void, info: *const ffi::rocksdb_writestallinfo_t) {
    // SAFETY: as in `flush_begin`; the pointers are to a C++ `enum class`, which is an `int`.
    unsafe {
        let cur: i32 = ffi::rocksdb_writestallinfo_cur(info).cast::<i32>().read();
        let prev: i32 = ffi::rocksdb_writestallinfo_prev(info).cast::<i32>().read();
        let word = |condition: i32| {
            let known = usize::try_from(condition).ok().and_then(|at| STALL_CONDITIONS.get(at));
            Value::Text((*known.unwrap_or(&"unknown")).to_owned())
        };
        let edge = if word(cur) == word(2) { Edge::End } else { Edge::Begin };
        tell(state, EventKind::Stall, edge, &[("cur", word(cur)), ("prev", word(prev))]);
    }
}

unsafe extern "C" fn background_error(
    state: *mut c_void,
    reason: u32,
    _status: *mut ffi::rocksdb_status_ptr_t,
) {
    // SAFETY: as in `flush_begin`.
    unsafe {
        let detail = [("background_error", Value::Integer(reason.into()))];
        tell(state, EventKind::Other, Edge::Point, &detail);
    };
}

unsafe extern "C" fn ignore_subcompaction(
    _state: *mut c_void,
    _info: *const ffi::rocksdb_subcompactionjobinfo_t,
) {
}

unsafe extern "C" fn ignore_ingestion(
    _state: *mut c_void,
    _db: *mut ffi::rocksdb_t,
    _info: *const ffi::rocksdb_externalfileingestioninfo_t,
) {
}

unsafe extern "C" fn ignore_memtable(
    _state: *mut c_void,
    _info: *const ffi::rocksdb_memtableinfo_t,
) {
}
