//! surrealkv's flushes, compactions and stalls, recorded as they happen. It reports them only as
//! messages of the crate `tracing`.

use kvdyno_engine::{Counters, Edge, EngineEvent, EventKind, EventLog, Value};
use std::fmt::Debug;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tracing_core::field::{Field, Visit};
use tracing_core::metadata::LevelFilter;
use tracing_core::span::{Attributes, Id, Record};
use tracing_core::{Dispatch, Event, Metadata, Subscriber, dispatcher};

static HEARD: LazyLock<EventLog> = LazyLock::new(EventLog::default);

/// The state of surrealkv's two background tasks.
static TASKS: Mutex<Tasks> = Mutex::new(Tasks { flushing: false, compacting: false, last: None });

struct Tasks {
    flushing: bool,
    compacting: bool,
    /// The time of the last message; `None`: none has come yet.
    last: Option<Instant>,
}

/// The sources of messages.
const TARGETS: [&str; 2] = ["surrealkv::task", "surrealkv::stall"];

/// The beginning of each message, and its event.
const MESSAGES: [(&str, EventKind, Edge); 8] = [
    ("Memtable flush task starting", EventKind::Flush, Edge::Begin),
    ("Memtable flush task completed", EventKind::Flush, Edge::End),
    ("Memtable flush task: no immutables", EventKind::Flush, Edge::End),
    ("Level compaction task starting", EventKind::Compaction, Edge::Begin),
    ("Level compaction completed", EventKind::Compaction, Edge::End),
    ("Level compaction task error", EventKind::Compaction, Edge::End),
    ("Write stall cleared", EventKind::Stall, Edge::End),
    ("Write stall: ", EventKind::Stall, Edge::Begin),
];

struct Listener;

impl Subscriber for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && TARGETS.contains(&metadata.target())
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::DEBUG)
    }

    fn event(&self, event: &Event<'_>) {
        let mut message = Message(String::new());
        event.record(&mut message);
        let entry = MESSAGES.iter().find(|(begins, ..)| message.0.starts_with(begins));
        let Some(&(_, kind, edge)) = entry else { return };
        let mut tasks = TASKS.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.last = Some(Instant::now());
        match kind {
            EventKind::Flush => tasks.flushing = edge == Edge::Begin,
            EventKind::Compaction => tasks.compacting = edge == Edge::Begin,
            _ => {}
        }
        drop(tasks);
        HEARD.record(kind, edge, Counters::from([("message".to_owned(), Value::Text(message.0))]));
    }

    // No spans are listened to.
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            self.0 = format!("{value:?}");
        }
    }
}

/// Records events from now on. A second call forgets which tasks are at work.
pub(crate) fn listen() {
    // An error means that the listener is set already.
    let _ = dispatcher::set_global_default(Dispatch::new(Listener));
    *TASKS.lock().unwrap_or_else(PoisonError::into_inner) =
        Tasks { flushing: false, compacting: false, last: None };
}

/// Waits until no task has been at work for a while; `false`: the deadline came first.
pub(crate) fn wait_until_idle(deadline: Instant) -> bool {
    const PAUSE: Duration = Duration::from_millis(10);
    const QUIET: Duration = Duration::from_millis(100);
    let begun = Instant::now();
    loop {
        let remaining = deadline.saturating_duration_since(Instant::now());
        if remaining.is_zero() {
            return false;
        }
        std::thread::sleep(PAUSE.min(remaining));
        let tasks = TASKS.lock().unwrap_or_else(PoisonError::into_inner);
        let since = tasks.last.unwrap_or(begun).max(begun);
        if !tasks.flushing && !tasks.compacting && since.elapsed() >= QUIET {
            return true;
        }
    }
}

/// Returns the events since the last call.
pub(crate) fn drain() -> Vec<EngineEvent> {
    HEARD.drain()
}
