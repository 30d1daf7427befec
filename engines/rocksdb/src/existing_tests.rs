//! Tests of the adapter on databases that another program made, here with calls of the C API.

#![expect(unsafe_code, reason = "calls of a C API")]

use crate::database::{OpenOptions, c_string};
use crate::engine::RocksDb;
use crate::library;
use crate::owned::{Owned, call_checked};
use crate::session::RocksDbSession;
use kvdyno_engine::{
    DataShape, Direction, Durability, Engine, ErrorClass, Location, OptionKind, Options, Range,
    Result, Session, Value, Write,
};
use std::ffi::{CString, c_int};
use std::ops::ControlFlow;
use std::path::Path;
use std::ptr::null_mut;
use std::time::Duration;

fn has_library(test: &str) -> bool {
    let has = !kvdyno_engine::library::list_installed("rocksdb").is_empty();
    if !has {
        kvdyno_testing::report_skip("rocksdb", test, "no library of RocksDB is installed");
    }
    has
}

/// Creates a database with these column families, the default one first. Each has the keys `a` to
/// `c`, whose values are the name of the family.
fn make(dir: &Path, families: &[&str], options: &str) {
    let library = library::load(None).unwrap();
    let (api, calls) = (&library.api, library.families.as_ref().unwrap());
    let options = OpenOptions::new(api, None)
        .unwrap()
        .with(&format!("create_if_missing=true;create_missing_column_families=true;{options}"));
    let options = options.unwrap();
    let dir = c_string(&dir.to_string_lossy()).unwrap();
    let names: Vec<CString> = families.iter().map(|name| CString::new(*name).unwrap()).collect();
    let names: Vec<_> = names.iter().map(|name| name.as_ptr()).collect();
    let each = vec![options.raw().cast_const(); names.len()];
    let mut handles = vec![null_mut(); names.len()];
    // SAFETY: as many names, options and handles as families; each handle is destroyed once, before
    // the database is closed.
    unsafe {
        let db = call_checked(api, |error| {
            (api.open_column_families)(
                options.raw(),
                dir.as_ptr(),
                names.len() as c_int,
                names.as_ptr(),
                each.as_ptr(),
                handles.as_mut_ptr(),
                error,
            )
        });
        let db = db.unwrap();
        let write = Owned::new((api.writeoptions_create)(), api.writeoptions_destroy);
        for (handle, family) in handles.iter().zip(families) {
            for key in [c"a", c"b", c"c"] {
                let (value, bytes) = (family.as_ptr().cast(), family.len());
                call_checked(api, |error| {
                    let put = calls.put_cf;
                    put(db, write.raw(), *handle, key.as_ptr(), 1, value, bytes, error);
                })
                .unwrap();
            }
            (api.column_family_handle_destroy)(*handle);
        }
        (api.close)(db);
    }
}

fn open(dir: &Path, changes: &[(&str, &str)]) -> Result<RocksDb> {
    let description = RocksDb::describe();
    let mut options = Options::defaults(&description, Durability::Async);
    for (name, value) in changes {
        options.values.insert((*name).to_owned(), Value::Text((*value).to_owned()));
    }
    let options = options.resolve(&description)?;
    RocksDb::open(&Location::Directory(dir.to_owned()), &options, &DataShape::uniform(10, 1, 8))
}

fn keys(session: &mut impl Session) -> String {
    let mut keys = String::new();
    let count = session.scan(Range::all(Direction::Forward), |key, _| {
        keys.push_str(std::str::from_utf8(key).unwrap());
        ControlFlow::Continue(())
    });
    assert_eq!(count.unwrap(), keys.len() as u64);
    keys
}

fn value(session: &mut impl Session, key: &[u8]) -> Option<String> {
    let text = |value: &[u8]| String::from_utf8(value.to_vec()).unwrap();
    session.get(key, |value| value.map(text)).unwrap()
}

#[track_caller]
fn assert_refused(dir: &Path, family: &str, message: &str) {
    let error = open(dir, &[("column_family", family)]).err().expect("it opened");
    assert_eq!((error.class, error.message.as_str()), (ErrorClass::Invalid, message));
}

/// Tries every call that reads or writes, in every kind of database.
#[test]
fn a_column_family_is_read_and_written() {
    if !has_library("a_column_family_is_read_and_written") {
        return;
    }
    for transactions in ["off", "optimistic", "pessimistic"] {
        for (short_gets, multigets) in
            [("get_into_buffer", "batched_multi_get_cf"), ("get_pinned", "multi_get")]
        {
            let dir = tempfile::tempdir().unwrap();
            make(dir.path(), &["default", "users", "others"], "");
            let calls = [
                ("column_family", "users"),
                ("transactions", transactions),
                ("short_gets", short_gets),
                ("multigets", multigets),
            ];
            let engine = open(dir.path(), &calls).unwrap();
            use_family(&engine, transactions != "off");
            engine.close().unwrap();
            for (family, expected) in [("users", "bcdfg"), ("default", "abc"), ("others", "abc")] {
                let engine = open(dir.path(), &[("column_family", family)]).unwrap();
                assert_eq!(keys(&mut engine.session().unwrap()), expected, "{family}");
                engine.close().unwrap();
            }
        }
    }
}

/// Changes the keys of the column family from `abc` to `bcdfg`.
fn use_family(engine: &RocksDb, has_transactions: bool) {
    let mut session = engine.session().unwrap();
    assert_eq!(value(&mut session, b"b").as_deref(), Some("users"));
    assert_eq!(value(&mut session, b"x"), None);
    assert_eq!(keys(&mut session), "abc");
    session.delete(b"a").unwrap();
    session.put(b"d", b"1").unwrap();
    session.put(b"e", &[b'2'; 9]).unwrap();
    assert_eq!(value(&mut session, b"e").as_deref(), Some("222222222"));
    let put = Write::Put { key: b"f", value: b"3" };
    session.write(&[put, Write::Delete { key: b"e" }]).unwrap();
    let mut values = Vec::new();
    session.multiget(&[b"b", b"x", b"f"], |_, value| values.push(value.map(<[u8]>::len))).unwrap();
    assert_eq!(values, [Some(5), None, Some(1)]);
    if has_transactions {
        let body = |transaction: &mut dyn kvdyno_engine::Transaction| {
            transaction.get(b"c", &mut |value| assert_eq!(value, Some(&b"users"[..])))?;
            transaction.get_for_update(b"f", &mut |value| assert_eq!(value, Some(&b"3"[..])))?;
            transaction.put(b"g", b"4")?;
            transaction.put(b"h", b"5")?;
            transaction.delete(b"h")?;
            transaction.scan(Range::all(Direction::Forward), &mut |_, _| ControlFlow::Continue(()))
        };
        assert_eq!(session.transaction(body), Ok(5));
    } else {
        session.put(b"g", b"4").unwrap();
    }
    assert!(engine.settle(Duration::from_mins(1)).unwrap().idle);
    assert_eq!(keys(&mut session), "bcdfg");
    let counters = engine.counters();
    assert_ne!(counters["rocksdb.total-sst-files-size"], Value::Integer(0));
}

#[test]
fn a_missing_column_family_is_refused_with_those_that_are_there() {
    if !has_library("a_missing_column_family_is_refused_with_those_that_are_there") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    make(dir.path(), &["default", "users"], "");
    assert_refused(
        dir.path(),
        "user",
        "expected a column family `user` in the database, found `default`, `users`",
    );
}

#[test]
fn a_new_database_gets_the_column_family() {
    if !has_library("a_new_database_gets_the_column_family") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let engine = open(dir.path(), &[("column_family", "new")]).unwrap();
    engine.session().unwrap().put(b"k", b"v").unwrap();
    engine.close().unwrap();
    for (family, expected) in [("new", "k"), ("default", "")] {
        let engine = open(dir.path(), &[("column_family", family)]).unwrap();
        assert_eq!(keys(&mut engine.session().unwrap()), expected);
        engine.close().unwrap();
    }
}

#[test]
fn other_orders_and_merge_operators_are_refused_by_name() {
    if !has_library("other_orders_and_merge_operators_are_refused_by_name") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    make(dir.path(), &["default"], "comparator=rocksdb.ReverseBytewiseComparator");
    assert_refused(
        dir.path(),
        "default",
        "column family `default` has comparator `rocksdb.ReverseBytewiseComparator`: expected \
         leveldb.BytewiseComparator",
    );
    let dir = tempfile::tempdir().unwrap();
    make(dir.path(), &["default", "sums"], "merge_operator=uint64add");
    assert_refused(
        dir.path(),
        "sums",
        "column family `default` has merge operator `UInt64AddOperator`: expected none; hint: name \
         it in option `options` if it is one of RocksDB's own",
    );
    let changes = [("column_family", "sums"), ("options", "merge_operator=uint64add")];
    let engine = open(dir.path(), &changes).unwrap();
    assert_eq!(keys(&mut engine.session().unwrap()), "abc");
    engine.close().unwrap();
}

/// Records of a database with a time to live are there until a compaction finds that it is over.
#[test]
fn records_end_with_the_time_to_live_of_their_database() {
    if !has_library("records_end_with_the_time_to_live_of_their_database") {
        return;
    }
    let description = RocksDb::describe();
    if !description.options.iter().any(|option| option.name == "db_ttl") {
        assert!(description.version.split('.').next().unwrap().parse::<u64>().unwrap() < 9);
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let open = |changes: &[(&str, Value)]| {
        let mut options = Options::defaults(&RocksDb::describe(), Durability::Async);
        for (name, value) in changes {
            options.values.insert((*name).to_owned(), value.clone());
        }
        let location = Location::Directory(scratch.path().to_owned());
        RocksDb::open(&location, &options, &DataShape::uniform(10, 1, 8))
    };
    let expiring = [("db_ttl", Value::Integer(1)), ("settle", Value::Text("compact".to_owned()))];
    let engine = open(&expiring).unwrap();
    let mut session = engine.session().unwrap();
    let keys = [b"a", b"b"];
    for key in keys {
        session.put(key, b"value").unwrap();
    }
    let count = |session: &mut RocksDbSession<'_>| {
        let mut values = Vec::new();
        let mut show = |value: Option<&[u8]>| values.extend(value.map(<[u8]>::to_vec));
        session.get(keys[0], &mut show).unwrap();
        session.multiget(&keys.map(|key| &key[..]), |_, value| show(value)).unwrap();
        assert!(values.iter().all(|value| value == b"value"), "without its time: {values:?}");
        values.len()
    };
    assert_eq!(count(&mut session), 3);
    std::thread::sleep(Duration::from_millis(2_100));
    assert_eq!(count(&mut session), 3, "no compaction has looked");
    assert!(engine.settle(Duration::from_mins(1)).unwrap().idle);
    assert_eq!(count(&mut session), 0);
    drop(session);
    engine.close().unwrap();
    let refused = open(&[]).err().unwrap();
    assert!(refused.message.contains("made with a time to live"), "{refused}");
    let both = [("db_ttl", Value::Integer(1)), ("transactions", "optimistic".into())];
    let refused = open(&both).err().unwrap();
    assert!(refused.message.contains("transactions = off"), "{refused}");
    std::fs::remove_dir_all(scratch.path()).unwrap();
    std::fs::create_dir(scratch.path()).unwrap();
    open(&[]).unwrap().close().unwrap();
    let refused = open(&expiring).err().unwrap();
    assert!(refused.message.contains("made without a time to live"), "{refused}");
}

/// `RocksDB` writes the options of its cache into its LOG.
#[test]
fn the_cache_has_the_shards_that_are_asked_for() {
    if !has_library("the_cache_has_the_shards_that_are_asked_for") {
        return;
    }
    for cache in ["lru_cache", "hyper_clock_cache"] {
        let scratch = tempfile::tempdir().unwrap();
        let shards = [("cache_numshardbits", "3"), ("cache_type", cache)];
        let Ok(engine) = open(scratch.path(), &shards) else {
            let description = RocksDb::describe();
            let shards = description.options.iter().find(|one| one.name == "cache_numshardbits");
            let OptionKind::Choice { of } = &shards.unwrap().kind else { panic!("no choice") };
            assert_eq!(of, &["auto"], "{} has the call", description.version);
            return;
        };
        engine.close().unwrap();
        let log = std::fs::read_to_string(scratch.path().join("LOG")).unwrap();
        let words = log.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("num_shard_bits : 3"), "{cache}: {log}");
    }
}
