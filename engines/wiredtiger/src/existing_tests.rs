//! Databases that another program made, here by calls of `WiredTiger`'s own, opened by the adapter.

#![expect(unsafe_code, reason = "calls of a C API")]

use crate::database::c_string;
use crate::engine::WiredTiger;
use crate::library;
use kvdyno_engine::{
    DataShape, Direction, Durability, Engine, ErrorClass, Location, Options, Range, Result,
    Session, Value,
};
use std::ops::ControlFlow;
use std::path::Path;
use std::ptr::null_mut;

fn has_library(test: &str) -> bool {
    let has = !kvdyno_engine::library::installed("wiredtiger").is_empty();
    if !has {
        kvdyno_testing::skipped("wiredtiger", test, "no library of WiredTiger is installed");
    }
    has
}

/// Makes a table, with the keys `a` to `c` where they are bytes; the values are the table's name.
fn make(folder: &Path, name: &str, config: &str) {
    let api = &library::load(None).unwrap().api;
    let folder = c_string(&folder.to_string_lossy()).unwrap();
    let uri = c_string(&format!("table:{name}")).unwrap();
    let c_config = c_string(config).unwrap();
    let (mut connection, mut session, mut cursor) = (null_mut(), null_mut(), null_mut());
    // SAFETY: each handle is live from its out parameter on until the connection is closed.
    unsafe {
        let check = |code| api.call_checked(code).unwrap();
        check((api.open)(folder.as_ptr(), c"create".as_ptr(), &raw mut connection));
        check((api.open_session)(connection, c"".as_ptr(), &raw mut session));
        check((api.create)(session, uri.as_ptr(), c_config.as_ptr()));
        if config == "key_format=u,value_format=u" {
            check((api.open_cursor)(session, uri.as_ptr(), c"".as_ptr(), &raw mut cursor));
            for key in [b"a", b"b", b"c"] {
                check((api.put)(cursor, key.as_ptr(), 1, name.as_ptr(), name.len()));
            }
        }
        check((api.close)(connection));
    }
}

fn open(folder: &Path, table: &str, class: Durability) -> Result<WiredTiger> {
    let description = WiredTiger::describe();
    let mut options = Options::defaults(&description, class);
    options.values.insert("table".to_owned(), Value::Text(table.to_owned()));
    options.values.insert("log_file_max".to_owned(), Value::Integer(1 << 20));
    let options = options.resolve(&description).unwrap();
    let location = Location::Directory(folder.to_owned());
    WiredTiger::open(&location, &options, &DataShape::uniform(10, 1, 8))
}

fn keys(session: &mut impl Session) -> String {
    let mut keys = String::new();
    let shown = session.scan(Range::all(Direction::Forward), |key, _| {
        keys.push_str(std::str::from_utf8(key).unwrap());
        ControlFlow::Continue(())
    });
    assert_eq!(shown.unwrap(), keys.len() as u64);
    keys
}

#[track_caller]
fn assert_refused(folder: &Path, table: &str, message: &str) {
    let error = open(folder, table, Durability::Async).err().expect("it opened");
    assert_eq!((error.class, error.message.as_str()), (ErrorClass::Invalid, message));
}

const BYTES: &str = "key_format=u,value_format=u";

#[test]
fn a_table_is_read_and_written() {
    if !has_library("a_table_is_read_and_written") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    make(folder.path(), "users", BYTES);
    make(folder.path(), "others", BYTES);
    for class in [Durability::Async, Durability::Commit, Durability::None] {
        let engine = open(folder.path(), "users", class).unwrap();
        let mut session = engine.session().unwrap();
        assert_eq!(session.get(b"b", |value| value == Some(&b"users"[..])), Ok(true));
        assert_eq!(session.get(b"x", |value| value.is_none()), Ok(true));
        assert_eq!(keys(&mut session), "abc");
        session.put(b"d", b"1").unwrap();
        assert_eq!(keys(&mut session), "abcd");
        session.delete(b"d").unwrap();
        assert!(engine.counters().contains_key("metadata file:users.wt"));
        drop(session);
        engine.close().unwrap();
    }
    let engine = open(folder.path(), "others", Durability::Async).unwrap();
    assert_eq!(keys(&mut engine.session().unwrap()), "abc");
    engine.close().unwrap();
}

#[test]
fn a_missing_table_is_refused_with_those_that_are_there() {
    if !has_library("a_missing_table_is_refused_with_those_that_are_there") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    make(folder.path(), "users", BYTES);
    make(folder.path(), "others", BYTES);
    assert_refused(
        folder.path(),
        "kvdyno",
        "expected a table `kvdyno` in the database, found `others`, `users`; choose one with \
         option `table`",
    );
}

#[test]
fn other_formats_are_refused_by_name_and_value() {
    if !has_library("other_formats_are_refused_by_name_and_value") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    make(folder.path(), "texts", "key_format=S,value_format=u");
    make(folder.path(), "numbers", "key_format=u,value_format=q");
    make(folder.path(), "columns", "key_format=u,value_format=uu,columns=(k,a,b)");
    for (table, format) in
        [("texts", "key_format=S"), ("numbers", "value_format=q"), ("columns", "value_format=uu")]
    {
        let message = format!("table `{table}` has {format}: expected u");
        assert_refused(folder.path(), table, &message);
    }
}

#[test]
fn a_new_database_gets_the_table() {
    if !has_library("a_new_database_gets_the_table") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path(), "new", Durability::Async).unwrap();
    engine.session().unwrap().put(b"k", b"v").unwrap();
    engine.close().unwrap();
    let engine = open(folder.path(), "new", Durability::Async).unwrap();
    assert_eq!(keys(&mut engine.session().unwrap()), "k");
    engine.close().unwrap();
}
