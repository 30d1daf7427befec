//! Tests of the null engine with the conformance kit, and of its misbehaviour.

use crate::engine::Null;
use kvdyno_engine::conformance::{self, Adjust, Adjusted};
use kvdyno_engine::{
    DataShape, Description, Durability, Engine, Location, Options, Result, Session, Value,
};
use std::time::{Duration, Instant};

#[test]
fn conforms() {
    let scratch = tempfile::tempdir().unwrap();
    let report = conformance::run::<Null>(scratch.path());
    assert!(report.conforms(), "{report}");
}

#[test]
fn conforms_with_contents() {
    let scratch = tempfile::tempdir().unwrap();
    let report = conformance::run::<Adjusted<Memory<0>>>(scratch.path());
    assert!(report.conforms(), "{report}");
}

/// The kit must find an engine that loses a twentieth of its keys.
#[test]
fn an_engine_that_loses_keys_does_not_conform() {
    let scratch = tempfile::tempdir().unwrap();
    let report = conformance::run::<Adjusted<Memory<50>>>(scratch.path());
    let failed: Vec<_> = report.failures().map(|check| check.name).collect();
    assert!(failed.contains(&"random load of 20000 keys"), "{report}");
    assert!(failed.contains(&"agrees with a model"), "{report}");
    assert!(failed.contains(&"scan forward"), "{report}");
}

/// The null engine with `store = memory`, which must fulfil the claims that it then makes; it loses
/// keys.
struct Memory<const LOSE_PERMILLE: u64>;

impl<const LOSE_PERMILLE: u64> Adjust for Memory<LOSE_PERMILLE> {
    type Engine = Null;

    fn describe(description: &mut Description) {
        description.capabilities.stores_nothing = false;
        description.options.retain(|option| option.name != "store");
    }

    fn configure(_: &Location, options: &mut Options) -> Result<()> {
        options.values.insert("store".to_owned(), Value::Text("memory".to_owned()));
        options.values.insert("lose_permille".to_owned(), Value::Integer(LOSE_PERMILLE));
        Ok(())
    }
}

fn open(values: &[(&str, u64)]) -> Null {
    let mut options = Options::defaults(&Null::describe(), Durability::None);
    for &(name, value) in values {
        options.values.insert(name.to_owned(), Value::Integer(value));
    }
    let options = options.resolve(&Null::describe()).unwrap();
    let data = DataShape::uniform(1000, 16, 100);
    Null::open(&Location::Directory("/nonexistent".into()), &options, &data).unwrap()
}

#[test]
fn pushes_a_value_of_the_mean_length() {
    let engine = open(&[]);
    let length = engine.session().unwrap().get(b"any", |value| value.map(<[u8]>::len));
    assert_eq!(length, Ok(Some(100)));
}

#[test]
fn loses_the_same_share_of_keys_every_time() {
    let engine = open(&[("lose_permille", 10)]);
    let mut session = engine.session().unwrap();
    let mut lost = || -> Vec<u64> {
        (0..100_000_u64)
            .filter(|number| session.get(&number.to_be_bytes(), |value| value.is_none()).unwrap())
            .collect()
    };
    let first = lost();
    assert!((900..1100).contains(&first.len()), "{}", first.len());
    assert_eq!(first, lost());
}

#[test]
fn fails_the_share_asked_for() {
    let engine = open(&[("fail_permille", 250)]);
    let mut session = engine.session().unwrap();
    let failed = (0..1000).filter(|_| session.put(b"key", b"value").is_err()).count();
    assert_eq!(failed, 250);
}

#[test]
fn pauses_once_and_tells() {
    let engine = open(&[("pause_at_op", 3), ("pause_ms", 30)]);
    let mut session = engine.session().unwrap();
    // A busy machine may delay other operations, too: the events say that only one was meant to be
    // slow.
    let slow = (0..5).filter(|_| {
        let start = Instant::now();
        session.put(b"key", b"value").unwrap();
        start.elapsed() >= Duration::from_millis(30)
    });
    assert!(slow.count() >= 1);
    assert_eq!(engine.events().len(), 2);
    assert!(engine.events().is_empty());
}
