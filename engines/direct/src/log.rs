//! Counters and events of the store, for its owner.

use kvdyno_engine::{Counters, Edge, EventKind, EventLog, Value};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Count {
    /// Blocks of one copy rewritten from the other.
    Repaired,
    /// Blocks without a sound copy, counted at each read.
    Corrupt,
    /// Blocks that were sound when they were read again: the first read met a write.
    Reread,
    /// Blocks put in place from the journal at open.
    Restored,
    /// Bytes copied to a copy that was missing or outdated.
    Resilvered,
    /// Headers that were damaged in one of their two places.
    HeadersRepaired,
    /// Copies that could not be used at open, or refused a write.
    GivenUp,
    /// Block images written to the journal.
    Journaled,
    /// Flushes of each copy.
    Flushes,
    /// Times that writes waited for room in the journal.
    JournalFull,
}

const NAMES: [&str; 10] = [
    "repaired",
    "corrupt",
    "reread",
    "restored_from_journal",
    "resilvered_bytes",
    "headers_repaired",
    "copies_given_up",
    "journaled",
    "flushes",
    "journal_full",
];

#[derive(Debug, Default)]
pub(crate) struct Log {
    counts: [AtomicU64; NAMES.len()],
    pub(crate) events: EventLog,
}

impl Log {
    pub(crate) fn count(&self, what: Count, times: u64) {
        self.counts[what as usize].fetch_add(times, Relaxed);
    }

    /// Counts, and logs an event.
    pub(crate) fn record(&self, what: Count, times: u64, words: String) {
        self.count(what, times);
        let detail = Counters::from([(NAMES[what as usize].to_owned(), Value::Text(words))]);
        self.events.record(EventKind::Other, Edge::Point, detail);
    }

    pub(crate) fn counters(&self) -> Counters {
        let counts = NAMES.iter().zip(&self.counts);
        counts.map(|(name, count)| ((*name).to_owned(), count.load(Relaxed).into())).collect()
    }
}
