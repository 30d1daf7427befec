//! Checkpoints of the write-ahead log: they run in commits, as `SQLite`'s do by default, and are
//! recorded.

#![expect(unsafe_code, reason = "a callback that C calls")]

use kvdyno_engine::{Counters, Edge, EventKind, EventLog};
use libsqlite3_sys as ffi;
use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;

/// The rule for checkpoints of the log, and their record.
pub(crate) struct Checkpoints {
    /// Pages in the log from which on a commit checkpoints it; 0: never.
    pub(crate) after_pages: u64,
    pub(crate) events: EventLog,
}

impl Checkpoints {
    /// Makes the connection's commits run checkpoints as with `PRAGMA wal_autocheckpoint`, and
    /// records them. The PRAGMA is a hook of the same kind, and a connection has only one.
    ///
    /// # Safety
    /// `db` is open, and is closed before `checkpoints` is dropped.
    pub(crate) unsafe fn install_hook(checkpoints: &Arc<Self>, db: *mut ffi::sqlite3) {
        let state = Arc::as_ptr(checkpoints).cast_mut().cast();
        // SAFETY: the caller's promise: the state lives as long as the hook can be called.
        unsafe { ffi::sqlite3_wal_hook(db, Some(checkpoint_after_commit), state) };
    }
}

/// Runs a checkpoint that does not wait, after a commit that left `pages` in the log. Its failure
/// does not fail the commit, as in `SQLite`'s own hook.
unsafe extern "C" fn checkpoint_after_commit(
    state: *mut c_void,
    db: *mut ffi::sqlite3,
    schema: *const c_char,
    pages: c_int,
) -> c_int {
    // SAFETY: `install_hook` gave it, and it lives as long as the connection.
    let checkpoints = unsafe { &*state.cast::<Checkpoints>() };
    if checkpoints.after_pages == 0 || (pages as u64) < checkpoints.after_pages {
        return ffi::SQLITE_OK;
    }
    let tell = |edge, detail: [(&str, c_int); 2]| {
        let detail = detail.map(|(name, pages)| (name.to_owned(), (pages.max(0) as u64).into()));
        checkpoints.events.record(EventKind::Checkpoint, edge, Counters::from(detail));
    };
    tell(Edge::Begin, [("log_pages", pages), ("checkpointed_pages", 0)]);
    let (mut log, mut done) = (0, 0);
    let passive = ffi::SQLITE_CHECKPOINT_PASSIVE;
    // SAFETY: the connection is the caller's, and the two last are out parameters.
    unsafe {
        ffi::sqlite3_wal_checkpoint_v2(db, schema, passive, &raw mut log, &raw mut done);
    }
    tell(Edge::End, [("log_pages", log), ("checkpointed_pages", done)]);
    ffi::SQLITE_OK
}
