//! Tests with the conformance kit, with journals of both kinds, and tests of the options.

use super::engine::Sqlite;
use kvdyno_engine::{
    DataShape, Durability, Edge, Engine, ErrorClass, EventKind, Location, Options, PowerLoss,
    Session, Value, conformance,
};

const SHAPE: DataShape = DataShape::uniform(1000, 8, 100);

fn with(class: Durability, values: &[(&str, &str)]) -> Options {
    let mut options = Options::defaults(&Sqlite::describe(), class);
    for (name, value) in values {
        let number = value.parse().map(Value::Integer);
        let value = number.unwrap_or_else(|_| Value::Text((*value).to_owned()));
        options.values.insert((*name).to_owned(), value);
    }
    options
}

#[test]
fn conforms() {
    let scratch = tempfile::tempdir().unwrap();
    let report = conformance::run::<Sqlite>(scratch.path());
    assert!(report.conforms(), "{report}");
}

/// The kit takes the weakest class, whose journal is in memory; this one has a log.
#[test]
fn conforms_with_a_log() {
    let scratch = tempfile::tempdir().unwrap();
    let report = conformance::run::<conformance::Only<Sqlite, 1>>(scratch.path());
    assert!(report.conforms(), "{report}");
}

#[test]
fn less_than_a_class_promises_is_refused() {
    let scratch = tempfile::tempdir().unwrap();
    let location = Location::Directory(scratch.path().to_owned());
    let (async_, commit) = (Durability::Async, Durability::Commit);
    for (class, values) in [
        (async_, &[("journal_mode", "memory")][..]),
        (async_, &[("journal_mode", "off")]),
        (commit, &[("synchronous", "normal")]),
        (commit, &[("journal_mode", "delete"), ("synchronous", "full")]),
        (commit, &[("page_size", "1000")]),
    ] {
        let refused = Sqlite::open(&location, &with(class, values), &SHAPE).err().unwrap();
        assert_eq!(refused.class, ErrorClass::Invalid, "{values:?}: {refused}");
    }
    let many = DataShape { sessions: 2, ..SHAPE };
    let exclusive = with(async_, &[("locking_mode", "exclusive")]);
    assert!(Sqlite::open(&location, &exclusive, &many).is_err());
}

/// Class async accepts a log that no checkpoint syncs, and says what that costs.
#[test]
fn a_log_that_is_never_synced_may_be_damaged() {
    let power_loss = |values| Sqlite::describe().power_loss(&with(Durability::Async, values));
    assert_eq!(power_loss(&[("synchronous", "normal")]), Some(PowerLoss::LosesLast));
    assert_eq!(power_loss(&[("synchronous", "off")]), Some(PowerLoss::Damages));
}

/// `SQLite` reports that it runs with the settings of each class.
#[test]
fn pragmas_are_read_back() {
    let (none, async_, commit) = (Durability::None, Durability::Async, Durability::Commit);
    for (class, journal, expected, synchronous) in [
        (none, "auto", "memory", 0),
        (none, "off", "off", 0),
        (async_, "auto", "wal", 1),
        (async_, "truncate", "truncate", 0),
        (commit, "auto", "wal", 2),
        (commit, "delete", "delete", 3),
        (commit, "persist", "persist", 3),
    ] {
        let scratch = tempfile::tempdir().unwrap();
        let location = Location::Directory(scratch.path().to_owned());
        let sizes = [("journal_mode", journal), ("cache_size", "8388608"), ("page_size", "8192")];
        let engine =
            Sqlite::open(&location, &with(class, &sizes), &DataShape { sessions: 4, ..SHAPE });
        let counters = engine.unwrap().counters();
        assert_eq!(counters["journal_mode"], expected.into(), "{class:?} {journal}");
        assert_eq!(counters["synchronous"], Value::Integer(synchronous), "{class:?} {journal}");
        assert_eq!(counters["page_size"], Value::Integer(8192));
        // Two of eight MiB for each of four sessions.
        assert_eq!(counters["cache_size"], "-2048".into());
    }
}

/// There is one connection, whose locks and log are its own.
#[test]
fn a_session_alone_may_lock_the_file_for_good() {
    let scratch = tempfile::tempdir().unwrap();
    let location = Location::Directory(scratch.path().to_owned());
    let options = with(Durability::Commit, &[("locking_mode", "exclusive")]);
    let engine = Sqlite::open(&location, &options, &SHAPE).unwrap();
    for round in 0..2 {
        let mut session = engine.session().unwrap();
        session.put(b"key", &[round]).unwrap();
        assert_eq!(session.get(b"key", |value| value.map(<[u8]>::to_vec)), Ok(Some(vec![round])));
        drop(session);
        engine.sync().unwrap();
        assert_eq!(engine.counters()["locking_mode"], "exclusive".into());
    }
    assert!(!scratch.path().join("kv.sqlite-shm").exists());
    engine.close().unwrap();
}

#[test]
fn checkpoints_are_told_with_their_pages() {
    let scratch = tempfile::tempdir().unwrap();
    let location = Location::Directory(scratch.path().to_owned());
    let options = with(Durability::Async, &[("wal_autocheckpoint", "20")]);
    let engine = Sqlite::open(&location, &options, &SHAPE).unwrap();
    let mut session = engine.session().unwrap();
    for number in 0..100_u64 {
        session.put(&number.to_be_bytes(), &[1; 3000]).unwrap();
    }
    let events = engine.events();
    assert!(events.iter().all(|event| event.kind == EventKind::Checkpoint));
    let edges: Vec<_> = events.iter().map(|event| event.edge).collect();
    assert!(edges.len() >= 4 && edges[..2] == [Edge::Begin, Edge::End], "{edges:?}");
    let Value::Integer(pages) = events[1].detail["checkpointed_pages"] else { panic!() };
    assert!((20..60).contains(&pages), "{pages} pages");
}

/// A transaction that is left by a panic is undone, and does not block later writers.
#[test]
fn a_panic_inside_a_transaction_undoes_it() {
    let scratch = tempfile::tempdir().unwrap();
    let location = Location::Directory(scratch.path().to_owned());
    let engine = Sqlite::open(&location, &with(Durability::Async, &[]), &SHAPE).unwrap();
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let mut session = engine.session().unwrap();
        session.transaction(|within| {
            within.put(b"key", b"value")?;
            panic!("the body's own");
            #[expect(unreachable_code, reason = "the body's type")]
            Ok(())
        })
    }));
    assert!(panicked.is_err());
    let mut session = engine.session().unwrap();
    session.put(b"other", b"value").unwrap();
    assert_eq!(session.get(b"key", |value| value.is_none()), Ok(true));
}
