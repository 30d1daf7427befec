//! The callbacks of a plugin: it shows a value or records, on the thread of the call that asked for
//! them, and before that call returns. Any other callback ends the process with a message.
//!
//! A session's callbacks stay at their address as long as the session, so that a callback that
//! comes too late finds that no call is under way.

#![expect(unsafe_code, reason = "callbacks of a C API")]

use crate::api::{self, Record, Records, Value, Values};
use crate::library;
use kvdyno_engine::{Error, ErrorClass, Result};
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::ops::ControlFlow;
use std::ptr::{null, null_mut};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

thread_local! {
    /// A variable whose address identifies the thread, which costs no call.
    static HERE: Cell<u8> = const { Cell::new(0) };
}

/// The marker of no thread: no call is under way.
const NOWHERE: usize = 0;

/// The size of a value that was neither shown nor left in the session.
const NOT_SHOWN: usize = usize::MAX;

fn thread_marker() -> usize {
    HERE.with(|here| here.as_ptr().addr())
}

/// A struct of the header, followed by the data that the callback needs.
#[repr(C)]
pub(crate) struct Callback<T> {
    /// The struct that the plugin gets; it must be the first field.
    call: T,
    /// The marker of the thread whose call is under way. A plugin's callback may read it on any
    /// thread.
    thread: AtomicUsize,
    /// The data of the call under way, of the type that its `show` expects.
    frame: *mut c_void,
}

impl<T> Callback<T> {
    pub(crate) fn new(call: T) -> Self {
        Self { call, thread: AtomicUsize::new(NOWHERE), frame: null_mut() }
    }

    /// Returns the frame of the call that `callback` belongs to; ends the process if there is none.
    ///
    /// # Safety
    /// `callback` is live, and its `call` belongs to frames of type `F`.
    #[inline]
    pub(crate) unsafe fn frame<'f, F>(callback: *mut T) -> &'f mut F {
        let callback = callback.cast::<Self>();
        // SAFETY: the caller's promise: `call` is its first field.
        let thread = unsafe { (*callback).thread.load(Relaxed) };
        if thread != thread_marker() {
            end_process(if thread == NOWHERE {
                "it called back after the call had returned"
            } else {
                "it called back from another thread than that of the call"
            });
        }
        // SAFETY: the call is under way on this thread and waits for the plugin, so its frame lives
        // and nobody else uses it.
        unsafe { &mut *(*callback).frame.cast::<F>() }
    }

    /// Calls the plugin; its callbacks find `frame` during the call.
    #[inline]
    pub(crate) fn call_with_frame<F>(
        callback: *mut Self,
        frame: &mut F,
        call: impl FnOnce(*mut T) -> c_int,
    ) -> c_int {
        // SAFETY: no other call uses it: sessions are of one thread, and a database's are locked.
        unsafe {
            (*callback).frame = (&raw mut *frame).cast();
            (*callback).thread.store(thread_marker(), Relaxed);
            let code = call(callback.cast());
            (*callback).thread.store(NOWHERE, Relaxed);
            code
        }
    }
}

/// The callbacks that a plugin may use during the calls of one session.
pub(crate) struct Callbacks {
    value: Callback<Value>,
    values: Callback<Values>,
    records: Callback<Records>,
}

impl Callbacks {
    pub(crate) fn new() -> Self {
        Self {
            value: Callback::new(Value { show: None, data: null(), size: NOT_SHOWN }),
            values: Callback::new(Values { show: None }),
            records: Callback::new(Records { show: None }),
        }
    }

    /// Makes a call that reads a value, and shows the value to `visit`. The inner `Err` is the
    /// call's result code.
    ///
    /// # Safety
    /// `this` is live, and `call` passes what it gets to a function of the plugin.
    #[inline]
    pub(crate) unsafe fn read<R, F: FnOnce(Option<&[u8]>) -> R>(
        this: *mut Self,
        visit: F,
        call: impl FnOnce(*mut Value) -> c_int,
    ) -> Result<Result<R, c_int>> {
        // SAFETY: `this` is live.
        let callback = unsafe { &raw mut (*this).value };
        let mut frame = ReadFrame { visit: Some(visit), shown: None };
        // SAFETY: as above.
        unsafe {
            (*callback).call =
                Value { show: Some(show_value::<R, F>), data: null(), size: NOT_SHOWN };
        }
        let code = Callback::call_with_frame(callback, &mut frame, call);
        match (code, frame.shown, frame.visit) {
            (api::OK, Some(shown), _) => Ok(Ok(shown)),
            (api::OK, None, Some(visit)) => {
                // SAFETY: as above.
                let Value { data, size, .. } = unsafe { &(*callback).call };
                if *size == NOT_SHOWN {
                    return Err(contract_error("`get` returned KVDYNO_OK, and showed no value"));
                }
                // SAFETY: by the header, it lives until the next call of the session.
                Ok(Ok(visit(Some(unsafe { api::bytes(*data, *size) }))))
            }
            (api::NOT_FOUND, None, Some(visit)) => Ok(Ok(visit(None))),
            (api::NOT_FOUND, ..) => {
                Err(contract_error("`get` returned KVDYNO_NOT_FOUND, and showed a value"))
            }
            (code, ..) => Ok(Err(code)),
        }
    }

    /// Makes a call that reads several values. Shows each to `visit`, then `None` for each missing
    /// one. `shown` has a `false` for each key.
    ///
    /// # Safety
    /// As for [`Self::read`].
    pub(crate) unsafe fn read_several<F: FnMut(usize, Option<&[u8]>)>(
        this: *mut Self,
        shown: &mut [bool],
        visit: F,
        call: impl FnOnce(*mut Values) -> c_int,
    ) -> c_int {
        let mut frame = SeveralFrame { visit, shown };
        // SAFETY: `this` is live.
        let callback = unsafe { &raw mut (*this).values };
        // SAFETY: as above.
        unsafe { (*callback).call = Values { show: Some(show_one_of_several::<F>) } };
        let code = Callback::call_with_frame(callback, &mut frame, call);
        if code == api::OK {
            let missing = frame.shown.iter().enumerate().filter(|(_, shown)| !**shown);
            missing.for_each(|(index, _)| (frame.visit)(index, None));
        }
        code
    }

    /// Makes a call that scans, and shows at most `limit` records to `visit`. Returns the call's
    /// result code, and how many records were shown.
    ///
    /// # Safety
    /// As for [`Self::read`].
    pub(crate) unsafe fn scan<F: FnMut(&[u8], &[u8]) -> ControlFlow<()>>(
        this: *mut Self,
        limit: u64,
        visit: F,
        call: impl FnOnce(*mut Records) -> c_int,
    ) -> (c_int, u64) {
        let mut frame = ScanFrame { visit, shown: 0, limit, ended: false };
        // SAFETY: `this` is live.
        let callback = unsafe { &raw mut (*this).records };
        // SAFETY: as above.
        unsafe { (*callback).call = Records { show: Some(show_records::<F>) } };
        (Callback::call_with_frame(callback, &mut frame, call), frame.shown)
    }
}

struct ReadFrame<R, F> {
    visit: Option<F>,
    shown: Option<R>,
}

unsafe extern "C" fn show_value<R, F: FnOnce(Option<&[u8]>) -> R>(
    value: *mut Value,
    data: *const u8,
    size: usize,
) {
    // SAFETY: the header has the plugin pass on what it got, and `show` is of these frames.
    let frame = unsafe { Callback::frame::<ReadFrame<R, F>>(value) };
    let Some(visit) = frame.visit.take() else { end_process("it showed a value twice") };
    // SAFETY: by the header, the bytes live until this returns.
    frame.shown = Some(visit(Some(unsafe { api::bytes(data, size) })));
}

struct SeveralFrame<'s, F> {
    visit: F,
    shown: &'s mut [bool],
}

unsafe extern "C" fn show_one_of_several<F: FnMut(usize, Option<&[u8]>)>(
    values: *mut Values,
    index: usize,
    data: *const u8,
    size: usize,
) {
    // SAFETY: as in `show_value`.
    let frame = unsafe { Callback::frame::<SeveralFrame<'_, F>>(values) };
    match frame.shown.get_mut(index) {
        None => end_process("it showed a value of a key that it was not asked for"),
        Some(true) => end_process("it showed a value twice"),
        Some(shown) => *shown = true,
    }
    // SAFETY: as in `show_value`.
    (frame.visit)(index, Some(unsafe { api::bytes(data, size) }));
}

struct ScanFrame<F> {
    visit: F,
    shown: u64,
    limit: u64,
    ended: bool,
}

unsafe extern "C" fn show_records<F: FnMut(&[u8], &[u8]) -> ControlFlow<()>>(
    records: *mut Records,
    batch: *const Record,
    count: usize,
) -> c_int {
    // SAFETY: as in `show_value`.
    let frame = unsafe { Callback::frame::<ScanFrame<F>>(records) };
    if frame.ended {
        end_process("it showed records after `show` had returned 1, which ends a scan");
    }
    for index in 0..count {
        if frame.ended {
            break;
        }
        // SAFETY: by the header, so many records, and their bytes, live until this returns.
        let (key, value) = unsafe {
            let record = &*batch.add(index);
            (api::bytes(record.key, record.key_size), api::bytes(record.value, record.value_size))
        };
        frame.shown += 1;
        frame.ended = (frame.visit)(key, value).is_break() || frame.shown == frame.limit;
    }
    c_int::from(frame.ended)
}

fn contract_error(what: &str) -> Error {
    Error::new(ErrorClass::Other, format!("the plugin broke its contract: {what}"))
}

/// Ends this process, and with it only the current case: the plugin cannot be trusted any more.
#[cold]
fn end_process(what: &str) -> ! {
    let plugin = library::loaded_path().display();
    let what = format!("{plugin} broke the contract of kvdyno_engine.h: {what}");
    kvdyno_worker::end_process(&Error::new(ErrorClass::Other, what))
}
