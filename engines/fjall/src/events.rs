//! fjall's flushes, compactions and stalls, recorded as they happen: fjall logs them with the crate
//! `log`.

use kvdyno_engine::{Edge, EngineEvent, EventKind, EventLog, Value};
use log::{LevelFilter, Log, Metadata, Record};
use std::collections::BTreeMap;
use std::sync::LazyLock;

static HEARD: LazyLock<EventLog> = LazyLock::new(EventLog::default);

/// The source of each message, its prefix, and its event.
const MESSAGES: [(&str, &str, EventKind, Edge); 6] = [
    ("lsm_tree::abstract_tree", "Flushing sealed memtables", EventKind::Flush, Edge::Begin),
    ("lsm_tree::tree", "Flushed memtable(s)", EventKind::Flush, Edge::End),
    ("lsm_tree::compaction::flavour", "Compacting tables", EventKind::Compaction, Edge::Begin),
    ("lsm_tree::compaction::flavour", "Compaction done", EventKind::Compaction, Edge::End),
    (
        "lsm_tree::compaction::flavour",
        "Relocating compaction done",
        EventKind::Compaction,
        Edge::End,
    ),
    ("fjall::keyspace", "Halting writes", EventKind::Stall, Edge::Point),
];

struct Listener;

impl Log for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        MESSAGES.iter().any(|(target, ..)| *target == metadata.target())
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let text = record.args().to_string();
        let message = MESSAGES
            .iter()
            .find(|(target, begins, ..)| *target == record.target() && text.starts_with(begins));
        if let Some((_, _, kind, edge)) = message {
            let detail = BTreeMap::from([("message".to_owned(), Value::Text(text))]);
            HEARD.record(*kind, *edge, detail);
        }
    }

    fn flush(&self) {}
}

/// Records events from now on; a second call changes nothing.
pub(crate) fn listen() {
    if log::set_logger(&Listener).is_ok() {
        log::set_max_level(LevelFilter::Debug);
    }
}

/// Returns the events since the last call.
pub(crate) fn drain() -> Vec<EngineEvent> {
    HEARD.drain()
}
