//! The engine's own numbers and events: verbatim, and never mixed with the load generator's.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

/// An option's or a counter's value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Value {
    /// On or off.
    Boolean(bool),
    /// A count or a number of bytes.
    Integer(u64),
    /// Any other number.
    Number(f64),
    /// Text.
    Text(String),
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Boolean(value) => write!(f, "{value}"),
            Self::Integer(value) => write!(f, "{value}"),
            Self::Number(value) => write!(f, "{value}"),
            Self::Text(value) => write!(f, "{value}"),
        }
    }
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Self::Integer(value)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Boolean(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

/// An engine's statistics by its own names.
pub type Counters = BTreeMap<String, Value>;

/// Something that happened inside the engine while it ran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EngineEvent {
    /// The time by the system's clock, in nanoseconds of Unix time.
    pub at_unix_ns: u64,
    /// The kind of work.
    pub kind: EventKind,
    /// Whether the work began, ended, or has no length.
    pub edge: Edge,
    /// The engine's own words or fields.
    pub detail: Counters,
}

/// Events of this process, until they are drained.
#[derive(Debug, Default)]
pub struct EventLog(Mutex<Vec<EngineEvent>>);

impl EventLog {
    /// Limit of undrained events; later ones are dropped.
    const UNTOLD_MAX: usize = 1 << 16;

    /// Records an event with the current time.
    pub fn record(&self, kind: EventKind, edge: Edge, detail: Counters) {
        let mut events = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if events.len() < Self::UNTOLD_MAX {
            // Under the lock, so that the times ascend.
            let since = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
            events.push(EngineEvent { at_unix_ns: since.as_nanos() as u64, kind, edge, detail });
        }
    }

    /// Returns the events since the last call.
    pub fn drain(&self) -> Vec<EngineEvent> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Kinds of background work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// A memory table or dirty pages written out.
    Flush,
    /// Files merged.
    Compaction,
    /// A consistent point written.
    Checkpoint,
    /// Writers slowed or stopped.
    Stall,
    /// Anything else worth a mark.
    Other,
}

/// The part of a stretch of work that an event marks on the time line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Edge {
    /// The work began.
    Begin,
    /// The work ended.
    End,
    /// The event has no length.
    Point,
}
