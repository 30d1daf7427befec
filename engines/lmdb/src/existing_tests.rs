//! Tests of the adapter on environments that another program made, here with direct calls of LMDB.

#![expect(unsafe_code, reason = "calls of a C API")]

use crate::engine::Lmdb;
use crate::library::ffi;
use crate::value::{check, val};
use kvdyno_engine::{
    DataShape, Direction, Durability, Engine, ErrorClass, Location, Options, Range, Result,
    Session, Value,
};
use std::ffi::CString;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::ptr::{null, null_mut};

const MAP_BYTES: usize = 1 << 30;

/// Puts records into the database `name` of the environment in `dir`, as any program would.
fn make(dir: &Path, name: Option<&str>, flags: u32, records: &[(&[u8], &[u8])]) {
    let path = CString::new(dir.as_os_str().as_bytes()).unwrap();
    let name = name.map(|name| CString::new(name).unwrap());
    let c_name = name.as_ref().map_or(null(), |name| name.as_ptr());
    let (mut env, mut txn, mut dbi) = (null_mut(), null_mut(), 0);
    // SAFETY: each handle is live from its out parameter on until it is committed or closed.
    unsafe {
        check("create", ffi::mdb_env_create(&raw mut env)).unwrap();
        check("map", ffi::mdb_env_set_mapsize(env, MAP_BYTES)).unwrap();
        check("maxdbs", ffi::mdb_env_set_maxdbs(env, 8)).unwrap();
        check("open", ffi::mdb_env_open(env, path.as_ptr(), ffi::MDB_NOSYNC, 0o644)).unwrap();
        check("begin", ffi::mdb_txn_begin(env, null_mut(), 0, &raw mut txn)).unwrap();
        let opened = ffi::mdb_dbi_open(txn, c_name, flags | ffi::MDB_CREATE, &raw mut dbi);
        check("dbi", opened).unwrap();
        for (key, value) in records {
            let (mut key, mut value) = (val(key), val(value));
            check("put", ffi::mdb_put(txn, dbi, &raw mut key, &raw mut value, 0)).unwrap();
        }
        check("commit", ffi::mdb_txn_commit(txn)).unwrap();
        ffi::mdb_env_close(env);
    }
}

const USERS: [(&[u8], &[u8]); 3] = [(b"ann", b"1"), (b"bob", b"22"), (b"zoe", b"333")];

fn open_with(dir: &Path, database: &str, durability: Durability) -> Result<Lmdb> {
    let description = Lmdb::describe();
    let mut options = Options::defaults(&description, durability);
    options.values.insert("database".to_owned(), Value::Text(database.to_owned()));
    let options = options.resolve(&description).unwrap();
    Lmdb::open(&Location::Directory(dir.to_owned()), &options, &DataShape::uniform(10, 3, 8))
}

fn open(dir: &Path, database: &str) -> Result<Lmdb> {
    open_with(dir, database, Durability::Commit)
}

fn keys(engine: &Lmdb) -> Vec<String> {
    let mut keys = Vec::new();
    let count = engine.session().unwrap().scan(Range::all(Direction::Forward), |key, _| {
        keys.push(String::from_utf8_lossy(key).into_owned());
        ControlFlow::Continue(())
    });
    assert_eq!(count.unwrap(), keys.len() as u64);
    keys
}

#[track_caller]
fn assert_refused(dir: &Path, database: &str, message: &str) {
    let error = open(dir, database).err().expect("it opened");
    assert_eq!((error.class, error.message.as_str()), (ErrorClass::Invalid, message));
}

#[test]
fn a_named_database_is_read_and_written() {
    let dir = tempfile::tempdir().unwrap();
    make(dir.path(), Some("users"), 0, &USERS);
    make(dir.path(), Some("others"), 0, &[(b"bob", b"of the others")]);
    for class in [Durability::Commit, Durability::None] {
        let engine = open_with(dir.path(), "users", class).unwrap();
        let mut session = engine.session().unwrap();
        let bob = session.get(b"bob", |value| value.map(<[u8]>::to_vec)).unwrap();
        assert_eq!(bob.as_deref(), Some(b"22".as_slice()));
        assert_eq!(keys(&engine), ["ann", "bob", "zoe"]);
        session.put(b"eve", b"4").unwrap();
        assert_eq!(keys(&engine), ["ann", "bob", "eve", "zoe"]);
        assert_eq!(engine.counters()["ms_entries"], Value::Integer(4));
        session.delete(b"eve").unwrap();
        drop(session);
        engine.close().unwrap();
    }
    assert_eq!(keys(&open(dir.path(), "others").unwrap()), ["bob"]);
}

#[test]
fn the_unnamed_database_is_read() {
    let dir = tempfile::tempdir().unwrap();
    make(dir.path(), None, 0, &USERS);
    assert_eq!(keys(&open(dir.path(), "").unwrap()), ["ann", "bob", "zoe"]);
}

/// A value may be as long as the record of a database; looking at it changes nothing.
#[test]
fn values_of_48_bytes_are_no_databases() {
    let dir = tempfile::tempdir().unwrap();
    make(dir.path(), None, 0, &[(b"a", &[7; 48]), (b"b", &[0; 48])]);
    let engine = open(dir.path(), "").unwrap();
    assert_eq!(keys(&engine), ["a", "b"]);
    engine.close().unwrap();
    assert_eq!(keys(&open(dir.path(), "").unwrap()), ["a", "b"]);
}

#[test]
fn a_database_must_be_chosen_and_must_be_there() {
    let dir = tempfile::tempdir().unwrap();
    make(dir.path(), Some("users"), 0, &USERS);
    make(dir.path(), Some("others"), 0, &[]);
    make(dir.path(), None, 0, &[(b"plain", b"a record"), (b"plain\0", b"of the 1.0 line")]);
    assert_refused(
        dir.path(),
        "",
        "the unnamed database holds databases: choose one with option `database`; there are \
         `others`, `users`",
    );
    assert_refused(
        dir.path(),
        "user",
        "expected a database `user` in the environment, found `others`, `users`",
    );
    assert_refused(
        dir.path(),
        "plain",
        "expected a database `plain`, found a record of that key in the unnamed database",
    );
    let dir = tempfile::tempdir().unwrap();
    make(dir.path(), None, 0, &USERS);
    assert_refused(
        dir.path(),
        "users",
        "expected a database `users` in the environment, found none",
    );
}

#[test]
fn an_empty_environment_gets_the_named_database() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(dir.path(), "new").unwrap();
    engine.session().unwrap().put(b"key", b"value").unwrap();
    engine.close().unwrap();
    assert_eq!(keys(&open(dir.path(), "new").unwrap()), ["key"]);
    assert!(open(dir.path(), "").is_err());
}

#[test]
fn databases_that_order_or_hold_keys_otherwise_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let number = 7_usize.to_ne_bytes();
    make(dir.path(), Some("tags"), ffi::MDB_DUPSORT, &[(b"a", b"1"), (b"a", b"2")]);
    make(dir.path(), Some("numbers"), ffi::MDB_INTEGERKEY, &[(&number, b"1")]);
    make(dir.path(), Some("ends"), ffi::MDB_REVERSEKEY, &USERS);
    for (name, refusal) in [
        ("tags", "database `tags` has MDB_DUPSORT: several values per key cannot be measured"),
        ("numbers", "database `numbers` has MDB_INTEGERKEY: integer keys cannot be measured"),
        ("ends", "database `ends` has MDB_REVERSEKEY: keys in reverse order cannot be measured"),
    ] {
        assert_refused(dir.path(), name, refusal);
    }
    let dir = tempfile::tempdir().unwrap();
    make(dir.path(), None, ffi::MDB_DUPSORT, &[(b"a", b"1"), (b"a", b"2")]);
    assert_refused(
        dir.path(),
        "",
        "the unnamed database has MDB_DUPSORT: several values per key cannot be measured",
    );
}

#[test]
fn the_map_has_room_for_a_larger_file() {
    let dir = tempfile::tempdir().unwrap();
    make(dir.path(), Some("users"), 0, &USERS);
    let bytes = 3 << 30;
    std::fs::File::options()
        .write(true)
        .open(dir.path().join("data.mdb"))
        .unwrap()
        .set_len(bytes)
        .unwrap();
    let engine = open(dir.path(), "users").unwrap();
    let Value::Integer(mapped) = engine.counters()["me_mapsize"] else { panic!() };
    assert!(mapped > bytes, "{mapped}");
}
