//! `kvdyno-wiredtiger`: the worker of engine `wiredtiger`.

mod api;
mod database;
mod describe;
mod engine;
mod events;
#[cfg(test)]
mod existing_tests;
mod library;
mod session;
mod table;

use std::process::ExitCode;

fn main() -> ExitCode {
    kvdyno_worker::main::<engine::WiredTiger>()
}

#[cfg(test)]
mod tests {
    use super::engine::WiredTiger;
    use kvdyno_engine::conformance::{self, Adjust, Adjusted, Only};
    use kvdyno_engine::{
        DataShape, Direction, Durability, Edge, Engine, EventKind, Location, Options, Range,
        Result, Session, Value, Walk, library,
    };
    use std::ops::ControlFlow;
    use std::path::Path;
    use std::time::Duration;

    const SHAPE: DataShape = DataShape { sessions: 2, ..DataShape::uniform(1000, 8, 100) };

    /// Whether there is a library to test; otherwise prints that the test is skipped.
    fn has_library(test: &str) -> bool {
        let has = !library::installed("wiredtiger").is_empty();
        if !has {
            kvdyno_testing::skipped("wiredtiger", test, "no library of WiredTiger is installed");
        }
        has
    }

    fn options(durability: Durability, set: &[(&str, &str)]) -> Options {
        let mut options = Options::defaults(&WiredTiger::describe(), durability);
        let text = |value: &&str| Value::Text((*value).to_owned());
        let set = set.iter().map(|(name, value)| ((*name).to_owned(), text(value)));
        options.values.extend(set);
        options
    }

    fn open(folder: &Path, options: &Options) -> WiredTiger {
        WiredTiger::open(&Location::Directory(folder.to_owned()), options, &SHAPE).unwrap()
    }

    fn key(number: u64) -> [u8; 8] {
        number.to_be_bytes()
    }

    fn fill(engine: &WiredTiger) {
        let mut session = engine.session().unwrap();
        for number in 0..1000 {
            session.put(&key(number), &[number as u8; 100]).unwrap();
        }
    }

    const CLASSES: [Durability; 3] = [Durability::None, Durability::Async, Durability::Commit];

    /// Log files are allocated at each open, and the kit opens a hundred times.
    struct SmallLog<const CLASS: usize>;

    impl<const CLASS: usize> Adjust for SmallLog<CLASS> {
        type Engine = Only<WiredTiger, CLASS>;

        fn configure(_: &Location, options: &mut Options) -> Result<()> {
            options.values.insert("log_file_max".to_owned(), Value::Integer(1 << 20));
            Ok(())
        }
    }

    fn check_conforms<const CLASS: usize>(test: &str) {
        if has_library(test) {
            // Where a sync takes no time: the kit tries conflicts again for a number of times.
            let memory = tempfile::tempdir_in("/dev/shm");
            let scratch = memory.or_else(|_| tempfile::tempdir()).unwrap();
            let report = conformance::run::<Adjusted<SmallLog<CLASS>>>(scratch.path());
            assert!(report.conforms(), "{report}");
        }
    }

    #[test]
    fn conforms_without_a_log() {
        check_conforms::<0>("conforms_without_a_log");
    }

    #[test]
    fn conforms_with_a_log() {
        check_conforms::<1>("conforms_with_a_log");
    }

    #[test]
    fn conforms_with_a_synced_log() {
        check_conforms::<2>("conforms_with_a_synced_log");
    }

    /// The kit reopens B-trees alone.
    #[test]
    fn every_type_keeps_what_it_was_given_in_every_class() {
        if !has_library("every_type_keeps_what_it_was_given_in_every_class") {
            return;
        }
        for kind in ["btree", "lsm"] {
            for class in CLASSES {
                let scratch = tempfile::tempdir().unwrap();
                let options = options(class, &[("type", kind)]);
                let engine = open(scratch.path(), &options);
                fill(&engine);
                engine.close().unwrap();
                let engine = open(scratch.path(), &options);
                let mut session = engine.session().unwrap();
                let all = Range::all(Direction::Forward);
                let shown = session.scan(all, |_, _| ControlFlow::Continue(())).unwrap();
                assert_eq!(shown, 1000, "{kind} {class:?}");
                drop(session);
                engine.close().unwrap();
            }
        }
    }

    /// A walk keeps its snapshot; the session's other calls do not.
    #[test]
    fn a_walk_under_way_keeps_no_get_from_the_newest_value() {
        if !has_library("a_walk_under_way_keeps_no_get_from_the_newest_value") {
            return;
        }
        let scratch = tempfile::tempdir().unwrap();
        let engine = open(scratch.path(), &options(Durability::Async, &[]));
        fill(&engine);
        let [mut walker, mut writer] = [engine.session().unwrap(), engine.session().unwrap()];
        let mut walk = Walk::new(Direction::Forward);
        let next = |_: &[u8], _: &[u8]| ControlFlow::Continue(());
        assert_eq!(walker.walk(&mut walk, 10, next), Ok(10));
        writer.put(&key(5), b"new").unwrap();
        assert_eq!(walker.get(&key(5), |value| value == Some(b"new")), Ok(true));
        assert_eq!(walker.walk(&mut walk, 2000, next), Ok(990));
        drop((walker, writer));
        engine.close().unwrap();
    }

    #[test]
    fn a_checkpoint_is_on_the_time_line_and_the_configuration_in_the_counters() {
        let test = "a_checkpoint_is_on_the_time_line_and_the_configuration_in_the_counters";
        if !has_library(test) {
            return;
        }
        let scratch = tempfile::tempdir().unwrap();
        let set = [("wiredtiger_open", "hash=(buckets=1024)"), ("session_create", "dictionary=7")];
        let engine = open(scratch.path(), &options(Durability::None, &set));
        fill(&engine);
        engine.events();
        assert!(engine.settle(Duration::from_mins(1)).unwrap().idle);
        let events: Vec<_> =
            engine.events().into_iter().map(|event| (event.kind, event.edge)).collect();
        let checkpoint = EventKind::Checkpoint;
        assert_eq!(events, [(checkpoint, Edge::Begin), (checkpoint, Edge::End)]);
        let counters = engine.counters();
        let holds = |name: &str, word: &str| match &counters[name] {
            Value::Text(text) => assert!(text.contains(word), "{name}: {text}"),
            other => panic!("{name}: {other}"),
        };
        holds("metadata file:kvdyno.wt", "dictionary=7,");
        holds("metadata file:kvdyno.wt", "leaf_page_max=32768");
        holds("wiredtiger_open", "buckets=1024");
        let cache = Value::Integer(100 << 20);
        assert_eq!(counters["cache: maximum bytes configured"], cache);
        engine.close().unwrap();
    }
}
