//! `kvdyno-leveldb`: the worker of engine `leveldb`.

mod api;
mod describe;
mod engine;
#[cfg(test)]
mod existing_tests;
mod library;
mod session;

use std::process::ExitCode;

fn main() -> ExitCode {
    kvdyno_worker::main::<engine::LevelDb>()
}

#[cfg(test)]
mod tests {
    use super::engine::LevelDb;
    use kvdyno_engine::{
        DataShape, Durability, Engine, Location, Options, Session, Value, conformance, library,
    };
    use std::time::Duration;

    /// Whether there is a library to test; otherwise prints that the test is skipped.
    fn has_library(test: &str) -> bool {
        let has = !library::installed("leveldb").is_empty();
        if !has {
            kvdyno_testing::skipped("leveldb", test, "no library of LevelDB is installed");
        }
        has
    }

    #[test]
    fn conforms() {
        if !has_library("conforms") {
            return;
        }
        let scratch = tempfile::tempdir().unwrap();
        let report = conformance::run::<LevelDb>(scratch.path());
        assert!(report.conforms(), "{report}");
    }

    /// What `sync` promises: all is in tables, which are synced, and nothing waits in a log.
    #[test]
    fn sync_and_settling_leave_tables() {
        if !has_library("sync_and_settling_leave_tables") {
            return;
        }
        let scratch = tempfile::tempdir().unwrap();
        let location = Location::Directory(scratch.path().to_owned());
        let mut options = Options::defaults(&LevelDb::describe(), Durability::Async);
        options.values.insert("write_buffer_size".to_owned(), Value::Integer(1 << 20));
        options.values.insert("settle".to_owned(), Value::Text("compact".to_owned()));
        let shape = DataShape::uniform(20_000, 8, 1000);
        let engine = LevelDb::open(&location, &options, &shape).unwrap();
        let mut session = engine.session().unwrap();
        let tables = |engine: &LevelDb| match &engine.counters()["leveldb.sstables"] {
            Value::Text(text) => text.lines().filter(|line| line.starts_with(' ')).count(),
            other => panic!("{other}"),
        };
        session.put(b"one", &[1; 1000]).unwrap();
        assert_eq!(tables(&engine), 0);
        engine.sync().unwrap();
        assert_eq!(tables(&engine), 1);
        for number in 0..20_000_u64 {
            let key = number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes();
            let noise: Vec<u8> =
                (0..1000).map(|index| (key[index % 8] as usize * index) as u8).collect();
            session.put(&key, &noise).unwrap();
        }
        assert!(engine.settle(Duration::from_mins(1)).unwrap().idle);
        assert_eq!(engine.counters()["leveldb.num-files-at-level0"], Value::Integer(0));
        drop(session);
        engine.close().unwrap();
    }
}
