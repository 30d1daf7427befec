//! fjall's flushes, compactions and stalls the moment they happen: it tells them to the crate
//! `log`, in words.

use kvdyno_engine::{Edge, EngineEvent, EventKind, EventLog, Value};
use log::{LevelFilter, Log, Metadata, Record};
use std::collections::BTreeMap;
use std::sync::LazyLock;

static HEARD: LazyLock<EventLog> = LazyLock::new(EventLog::default);

/// Where a message comes from, how it begins, and what it tells.
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
        let told = MESSAGES
            .iter()
            .find(|(target, begins, ..)| *target == record.target() && text.starts_with(begins));
        if let Some((_, _, kind, edge)) = told {
            let detail = BTreeMap::from([("message".to_owned(), Value::Text(text))]);
            HEARD.record(*kind, *edge, detail);
        }
    }

    fn flush(&self) {}
}

/// From now on; a second time changes nothing.
pub(crate) fn listen() {
    if log::set_logger(&Listener).is_ok() {
        log::set_max_level(LevelFilter::Debug);
    }
}

/// Those since the last call.
pub(crate) fn drain() -> Vec<EngineEvent> {
    HEARD.drain()
}
