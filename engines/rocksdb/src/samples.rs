//! `RocksDB`'s own statistics on the time line: each sample is one event, with the growth of the
//! tickers since the last one.

use crate::database::Database;
use kvdyno_engine::{Counters, Edge, EngineEvent, EventKind, EventLog, Value};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// The tickers of stalls, the block cache, and bytes of flushes and compactions. Compactions also
/// have events with their levels.
const TICKERS: [&str; 13] = [
    "rocksdb.stall.micros",
    "rocksdb.block.cache.hit",
    "rocksdb.block.cache.miss",
    "rocksdb.block.cache.data.hit",
    "rocksdb.block.cache.data.miss",
    "rocksdb.memtable.hit",
    "rocksdb.memtable.miss",
    "rocksdb.bloom.filter.useful",
    "rocksdb.flush.write.bytes",
    "rocksdb.compact.read.bytes",
    "rocksdb.compact.write.bytes",
    "rocksdb.blobdb.blob.file.bytes.read",
    "rocksdb.blobdb.blob.file.bytes.written",
];

/// The tickers' last values.
#[derive(Default)]
pub(crate) struct Samples {
    last: Mutex<BTreeMap<&'static str, u64>>,
}

impl Samples {
    /// Returns an event of this moment; `None`: the statistics are off.
    pub(crate) fn sample(&self, database: &Database) -> Option<EngineEvent> {
        let statistics = database.statistics()?;
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let log = EventLog::default();
        log.record(EventKind::Other, Edge::Point, growth(&statistics, &mut last));
        log.drain().pop()
    }
}

/// Returns the growth of each ticker since `last`, which then has the current values.
fn growth(statistics: &str, last: &mut BTreeMap<&'static str, u64>) -> Counters {
    let mut growth = Counters::new();
    for line in statistics.lines() {
        let Some((name, count)) = line.split_once(" COUNT : ") else { continue };
        let Some(name) = TICKERS.into_iter().find(|ticker| *ticker == name) else { continue };
        let Ok(count) = count.trim().parse::<u64>() else { continue };
        let before = last.insert(name, count).unwrap_or_default();
        growth.insert(name.to_owned(), Value::Integer(count.saturating_sub(before)));
    }
    growth
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tickers_are_told_by_what_they_grew() {
        let mut last = BTreeMap::new();
        let text = |hits: u64| {
            format!(
                "rocksdb.block.cache.hit COUNT : {hits}\nrocksdb.no.keys.read COUNT : 9\n\
                 rocksdb.db.get.micros P50 : 1.5 P95 : 2.0 COUNT : 7 SUM : 9\n"
            )
        };
        for (hits, expected) in [(5, 5), (12, 7), (12, 0)] {
            let counters = growth(&text(hits), &mut last);
            let names: Vec<_> = counters.keys().map(String::as_str).collect();
            assert_eq!(names, ["rocksdb.block.cache.hit"]);
            assert_eq!(counters["rocksdb.block.cache.hit"], Value::Integer(expected));
        }
    }
}
