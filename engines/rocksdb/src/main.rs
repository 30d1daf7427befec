//! `kvdyno-rocksdb`: the worker of engine `rocksdb`.

mod api;
mod cache;
mod calls;
mod cursor;
mod database;
mod describe;
mod engine;
mod events;
mod existing;
#[cfg(test)]
mod existing_tests;
mod facts;
mod families;
mod library;
mod log;
mod owned;
mod presets;
mod samples;
mod session;
mod transactions;

use std::process::ExitCode;

fn main() -> ExitCode {
    kvdyno_worker::main::<engine::RocksDb>()
}

#[cfg(test)]
mod tests {
    use super::engine::RocksDb;
    use super::log::Log;
    use kvdyno_engine::{
        DataShape, Durability, Edge, Engine, EngineEvent, EventKind, Location, Options, Session,
        Value, conformance, library,
    };
    use std::time::Duration;

    const SHAPE: DataShape = DataShape::uniform(10, 1, 8);

    /// Whether there is a library to test; otherwise prints that the test is skipped.
    fn has_library(test: &str) -> bool {
        let has = !library::list_installed("rocksdb").is_empty();
        if !has {
            kvdyno_testing::report_skip("rocksdb", test, "no library of RocksDB is installed");
        }
        has
    }

    #[test]
    fn conforms() {
        if !has_library("conforms") {
            return;
        }
        let scratch = tempfile::tempdir().unwrap();
        let report = conformance::run::<RocksDb>(scratch.path());
        assert!(report.conforms(), "{report}");
    }

    /// The conformance kit announces long values, so this tests short ones and values that are
    /// longer than announced.
    #[test]
    fn short_values_take_the_short_way_and_longer_ones_are_whole() {
        if !has_library("short_values_take_the_short_way_and_longer_ones_are_whole") {
            return;
        }
        let scratch = tempfile::tempdir().unwrap();
        let location = Location::Directory(scratch.path().to_owned());
        let options = Options::defaults(&RocksDb::describe(), Durability::Async);
        let engine = RocksDb::open(&location, &options, &SHAPE).unwrap();
        let mut session = engine.session().unwrap();
        let values = [vec![], vec![1; 7], vec![2; 8], vec![3; 9], vec![4; 5000]];
        for (key, value) in (0..).zip(&values) {
            session.put(&[key], value).unwrap();
        }
        for (key, value) in (0..).zip(&values) {
            let actual = session.get(&[key], |actual| actual.map(<[u8]>::to_vec)).unwrap();
            assert_eq!(actual.as_ref(), Some(value));
        }
        assert_eq!(session.get(b"x", |actual| actual.is_none()), Ok(true));
    }

    #[test]
    fn options_that_lead_out_of_its_directory_are_refused() {
        if !has_library("options_that_lead_out_of_its_directory_are_refused") {
            return;
        }
        let scratch = tempfile::tempdir().unwrap();
        let location = Location::Directory(scratch.path().to_owned());
        for text in ["wal_dir=/tmp", "ttl=1; db_log_dir = /tmp", "db_paths={{path=/tmp}}"] {
            let mut options = Options::defaults(&RocksDb::describe(), Durability::Async);
            options.values.insert("options".to_owned(), Value::Text(text.to_owned()));
            let refused = RocksDb::open(&location, &options, &SHAPE).err().unwrap();
            assert_eq!(refused.class, kvdyno_engine::ErrorClass::Invalid, "{refused}");
        }
    }

    fn opened(dir: &std::path::Path, values: &[(&str, Value)]) -> RocksDb {
        let mut options = Options::defaults(&RocksDb::describe(), Durability::Async);
        for (name, value) in values {
            assert!(options.values.insert((*name).to_owned(), value.clone()).is_some(), "{name}");
        }
        RocksDb::open(&Location::Directory(dir.to_owned()), &options, &SHAPE).unwrap()
    }

    /// `RocksDB` reports the options that were set, and long values are in blob files.
    #[test]
    fn blob_files_and_tiered_compaction_are_as_they_are_set() {
        if !has_library("blob_files_and_tiered_compaction_are_as_they_are_set") {
            return;
        }
        let scratch = tempfile::tempdir().unwrap();
        let engine = opened(
            scratch.path(),
            &[
                ("enable_blob_files", true.into()),
                ("min_blob_size", 1000.into()),
                ("blob_compression_type", "lz4".into()),
                ("enable_blob_garbage_collection", true.into()),
                ("blob_garbage_collection_age_cutoff_percent", 50.into()),
                ("compaction_style", "universal".into()),
                ("universal_max_size_amplification_percent", 100.into()),
                ("universal_max_merge_width", 7.into()),
                ("use_direct_reads", true.into()),
            ],
        );
        let mut session = engine.session().unwrap();
        session.put(b"short", &[1; 999]).unwrap();
        session.put(b"long", &[2; 1000]).unwrap();
        assert!(engine.settle(Duration::from_mins(1)).unwrap().idle);
        let counters = engine.counters();
        assert_eq!(counters["rocksdb.num-blob-files"], Value::Integer(1));
        let Value::Text(effective) = &counters["OPTIONS"] else { panic!("no OPTIONS") };
        for set in [
            "min_blob_size=1000",
            "blob_compression_type=kLZ4Compression",
            "blob_garbage_collection_age_cutoff=0.5",
            "compaction_style=kCompactionStyleUniversal",
            "max_size_amplification_percent=100;",
            "max_merge_width=7;",
            "min_merge_width=2;",
            "use_direct_reads=true",
        ] {
            assert!(effective.contains(set), "{set} is not in {effective}");
        }
        for (key, byte, length) in [(&b"short"[..], 1, 999), (b"long", 2, 1000)] {
            let actual = session.get(key, |actual| actual.map(<[u8]>::to_vec)).unwrap();
            assert_eq!(actual, Some(vec![byte; length]));
        }
    }

    #[test]
    fn statistics_are_told_as_events_only_where_they_are_on() {
        if !has_library("statistics_are_told_as_events_only_where_they_are_on") {
            return;
        }
        let sampled = |engine: &RocksDb| -> Vec<u64> {
            let events = engine.events();
            let hits = |event: &EngineEvent| event.detail.get("rocksdb.memtable.hit").cloned();
            let hits = events.iter().filter_map(hits);
            hits.map(|hits| hits.to_string().parse().unwrap()).collect()
        };
        for on in [false, true] {
            let scratch = tempfile::tempdir().unwrap();
            let engine = opened(scratch.path(), &[("statistics", on.into())]);
            let mut session = engine.session().unwrap();
            session.put(b"k", b"v").unwrap();
            for gets in [3, 1, 0] {
                for _ in 0..gets {
                    session.get(b"k", |value| assert!(value.is_some())).unwrap();
                }
                assert_eq!(sampled(&engine), if on { vec![gets] } else { vec![] });
            }
        }
    }

    /// Tests the events of versions without a listener; every version writes the same LOG.
    #[test]
    fn the_log_tells_of_flushes() {
        if !has_library("the_log_tells_of_flushes") {
            return;
        }
        let scratch = tempfile::tempdir().unwrap();
        let location = Location::Directory(scratch.path().to_owned());
        let options = Options::defaults(&RocksDb::describe(), Durability::Async);
        let mut log = Log::follow(scratch.path());
        let engine = RocksDb::open(&location, &options, &SHAPE).unwrap();
        engine.session().unwrap().put(b"k", b"v").unwrap();
        assert!(engine.settle(Duration::from_mins(1)).unwrap().idle);
        let flushes = |events: Vec<EngineEvent>| -> Vec<(Edge, u64)> {
            let flushes = events.iter().filter(|event| event.kind == EventKind::Flush);
            flushes.map(|event| (event.edge, event.at_unix_ns / 1_000_000_000)).collect()
        };
        let (logged, reported) = (flushes(log.drain()), flushes(engine.events()));
        assert_eq!(logged.len(), 2, "{logged:?}");
        assert_eq!(
            logged.iter().map(|flush| flush.0).collect::<Vec<_>>(),
            [Edge::Begin, Edge::End]
        );
        for (logged, reported) in logged.iter().zip(&reported) {
            assert!(
                logged.0 == reported.0 && logged.1.abs_diff(reported.1) <= 60,
                "{logged:?} {reported:?}"
            );
        }
        assert_eq!(flushes(log.drain()), []);
    }
}
