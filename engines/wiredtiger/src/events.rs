//! Checkpoints on the time line. `WiredTiger` has no callback for them: about once a second, its
//! statistics are read for their number and the length of the last one.

use crate::database::{Database, SessionHandle};
use kvdyno_engine::{Counters, Edge, EngineEvent, EventKind, Result, Value};
use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

/// How many checkpoints have ended well, by its name in the 11 line and before.
const ENDED: [&str; 2] =
    ["checkpoint: total succeed number of checkpoints", "transaction: transaction checkpoints"];

/// How long the last one took, likewise.
const TOOK_MS: [&str; 2] = [
    "checkpoint: most recent time (msecs)",
    "transaction: transaction checkpoint most recent time (msecs)",
];

/// The last reading of the database's checkpoints.
pub(crate) struct Checkpoints(Mutex<LastCheckpoint>);

struct LastCheckpoint {
    session: SessionHandle,
    ended: i64,
}

impl Checkpoints {
    /// From now on.
    pub(crate) fn watch(database: &Database) -> Result<Self> {
        let session = database.session()?;
        let ended = figure(&session.statistics()?, ENDED);
        Ok(Self(Mutex::new(LastCheckpoint { session, ended })))
    }

    /// The checkpoints that ended since the last call. Their end may be late by the time between
    /// two calls. If several ended in that time, only the last one's length is known.
    pub(crate) fn drain(&self) -> Vec<EngineEvent> {
        let Ok(mut last) = self.0.lock() else { return Vec::new() };
        // A failed reading is repeated at the next call.
        let Ok(statistics) = last.session.statistics() else { return Vec::new() };
        let ended = figure(&statistics, ENDED);
        let new = ended - std::mem::replace(&mut last.ended, ended);
        if new <= 0 {
            return Vec::new();
        }
        let now =
            SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64;
        let took_ms = figure(&statistics, TOOK_MS) as u64;
        let event = |at_unix_ns, edge, detail| EngineEvent {
            at_unix_ns,
            kind: EventKind::Checkpoint,
            edge,
            detail,
        };
        let detail = [("took_ms", took_ms), ("ended_since_last_look", new as u64)];
        let detail = detail.map(|(name, value)| (name.to_owned(), Value::Integer(value)));
        vec![
            event(now.saturating_sub(took_ms * 1_000_000), Edge::Begin, Counters::new()),
            event(now, Edge::End, detail.into()),
        ]
    }
}

fn figure(statistics: &[(String, i64)], names: [&str; 2]) -> i64 {
    let value_of =
        |name: &&str| statistics.iter().find(|(is, _)| is == name).map(|(_, value)| *value);
    names.iter().find_map(value_of).unwrap_or_default()
}
