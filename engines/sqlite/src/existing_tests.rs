//! Tests of the adapter on databases that another program made, here by `sqlite3_exec`.

#![expect(unsafe_code, reason = "calls of a C API")]

use crate::engine::Sqlite;
use kvdyno_engine::{
    DataShape, Direction, Durability, Engine, ErrorClass, Location, Options, Range, Result,
    Session, Value, Walk,
};
use libsqlite3_sys as ffi;
use std::ffi::CString;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::ptr::null_mut;
use tempfile::TempDir;

/// Returns a directory with the database `app.db` that these statements create.
fn made_by(sql: &str) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    execute(&dir.path().join("app.db"), sql);
    dir
}

fn execute(path: &Path, sql: &str) {
    let path = CString::new(path.as_os_str().as_bytes()).unwrap();
    let sql = CString::new(sql).unwrap();
    let mut db = null_mut();
    // SAFETY: C strings and an out parameter; what it opened is closed once.
    unsafe {
        assert_eq!(ffi::sqlite3_open(path.as_ptr(), &raw mut db), ffi::SQLITE_OK);
        let rc = ffi::sqlite3_exec(db, sql.as_ptr(), None, null_mut(), null_mut());
        assert_eq!(rc, ffi::SQLITE_OK);
        assert_eq!(ffi::sqlite3_close(db), ffi::SQLITE_OK);
    }
}

fn open(dir: &TempDir, changes: &[(&str, &str)]) -> Result<Sqlite> {
    let description = Sqlite::describe();
    let mut options = Options::defaults(&description, Durability::Async);
    for (name, value) in [("file", "app.db")].iter().chain(changes) {
        options.values.insert((*name).to_owned(), Value::Text((*value).to_owned()));
    }
    let options = options.resolve(&description).unwrap();
    let location = Location::Directory(dir.path().to_owned());
    Sqlite::open(&location, &options, &DataShape::uniform(10, 3, 8))
}

const USERS: [(&str, &str); 3] =
    [("table_name", "users"), ("key_column", "name"), ("value_column", "data")];

#[track_caller]
fn assert_refused(dir: &TempDir, changes: &[(&str, &str)], message: &str) {
    let error = open(dir, changes).err().expect("it opened");
    assert_eq!((error.class, error.message.as_str()), (ErrorClass::Invalid, message));
}

fn keys(session: &mut impl Session, range: Range<'_>) -> Vec<String> {
    let mut keys = Vec::new();
    let count = session.scan(range, |key, _| {
        keys.push(String::from_utf8(key.to_vec()).unwrap());
        ControlFlow::Continue(())
    });
    assert_eq!(count.unwrap(), keys.len() as u64);
    keys
}

fn value(session: &mut impl Session, key: &[u8]) -> Option<Vec<u8>> {
    session.get(key, |value| value.map(<[u8]>::to_vec)).unwrap()
}

/// Reads and changes the records ann, bob, and zoe.
fn use_users(dir: &TempDir) {
    let engine = open(dir, &USERS).unwrap();
    let mut session = engine.session().unwrap();
    let forward = Range::all(Direction::Forward);
    assert_eq!(value(&mut session, b"bob").as_deref(), Some(&b"22"[..]));
    assert_eq!(value(&mut session, b"bo"), None);
    assert_eq!(keys(&mut session, forward), ["ann", "bob", "zoe"]);
    assert_eq!(keys(&mut session, Range::all(Direction::Reverse)), ["zoe", "bob", "ann"]);
    assert_eq!(keys(&mut session, forward.from(b"b").until(b"zoe")), ["bob"]);
    let mut walk = Walk::new(Direction::Reverse);
    assert_eq!(session.walk(&mut walk, 2, |_, _| ControlFlow::Continue(())), Ok(2));
    assert_eq!(walk.last_key(), Some(&b"bob"[..]));
    session.put(b"bob", b"two").unwrap();
    session.put(b"eve", b"4").unwrap();
    session.delete(b"ann").unwrap();
    let body = |transaction: &mut dyn kvdyno_engine::Transaction| transaction.put(b"fay", b"5");
    session.transaction(body).unwrap();
    assert_eq!(value(&mut session, b"bob").as_deref(), Some(&b"two"[..]));
    assert_eq!(keys(&mut session, forward), ["bob", "eve", "fay", "zoe"]);
    drop(session);
    engine.close().unwrap();
}

/// Returns the first column of the statement's first row, as text.
fn ask(dir: &TempDir, sql: &str) -> String {
    let path = dir.path().join("app.db");
    let checkpoints = std::sync::Arc::new(crate::checkpoints::Checkpoints {
        after_pages: 0,
        events: kvdyno_engine::EventLog::default(),
    });
    crate::connection::Connection::open(&path, &checkpoints).unwrap().text(sql).unwrap()
}

#[test]
fn text_keys_are_read_and_written_as_text() {
    let dir = made_by(
        "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT UNIQUE, data TEXT, age INT); \
         INSERT INTO users (name, data, age) VALUES ('zoe', '333', 9), ('ann', '1', 7), \
         ('bob', '22', 8); CREATE TABLE others (k TEXT)",
    );
    use_users(&dir);
    let types = "SELECT group_concat(typeof(name) || typeof(data), ' ') FROM users";
    assert_eq!(ask(&dir, types), "texttext texttext texttext texttext");
    assert_eq!(ask(&dir, "SELECT id || age FROM users WHERE name = 'bob'"), "38");
}

#[test]
fn blob_keys_are_read_and_written_as_blobs() {
    for kind in ["", "WITHOUT ROWID"] {
        let dir = made_by(&format!(
            "CREATE TABLE users (data BLOB, name BLOB PRIMARY KEY) {kind}; \
             INSERT INTO users (name, data) VALUES (x'7a6f65', x'333333'), (x'616e6e', x'31'), \
             (x'626f62', x'3232')"
        ));
        use_users(&dir);
        let types = "SELECT group_concat(typeof(name) || typeof(data), ' ') FROM users";
        assert_eq!(ask(&dir, types), "blobblob blobblob blobblob blobblob");
    }
}

#[test]
fn names_are_quoted() {
    let dir = made_by(
        "CREATE TABLE \"a \"\"table\" (\"the 'key'\" TEXT PRIMARY KEY, \"order\" TEXT); \
         INSERT INTO \"a \"\"table\" VALUES ('ann', '1')",
    );
    let names =
        [("table_name", "a \"table"), ("key_column", "the 'key'"), ("value_column", "order")];
    let engine = open(&dir, &names).unwrap();
    let mut session = engine.session().unwrap();
    session.put(b"bob", b"2").unwrap();
    assert_eq!(value(&mut session, b"ann").as_deref(), Some(&b"1"[..]));
    assert_eq!(keys(&mut session, Range::all(Direction::Forward)), ["ann", "bob"]);
}

#[test]
fn names_that_are_missing_are_refused_with_those_that_are_there() {
    let dir = made_by("CREATE TABLE users (name TEXT PRIMARY KEY, data); CREATE TABLE b (x)");
    assert_refused(
        &dir,
        &[],
        "expected a table `kv` in the database, found `b`, `users`; choose one with option \
         `table_name`",
    );
    assert_refused(
        &dir,
        &[("table_name", "users")],
        "expected a column `k` in table `users`, found `name`, `data`; choose one with option \
         `key_column`",
    );
    assert_refused(
        &dir,
        &[("table_name", "users"), ("key_column", "name")],
        "expected a column `v` in table `users`, found `name`, `data`; choose one with option \
         `value_column`",
    );
    assert_refused(
        &dir,
        &[("file", "../app.db")],
        "file: expected a name without `/`, found `../app.db`",
    );
}

#[test]
fn keys_must_be_unique_and_no_numbers() {
    let needs = "column `name` of table `users`: expected a primary key or a unique index of this \
                 column alone, found none";
    for schema in [
        "CREATE TABLE users (name TEXT, data)",
        "CREATE TABLE users (name TEXT, data); CREATE INDEX i ON users (name)",
        "CREATE TABLE users (name TEXT, data, PRIMARY KEY (name, data))",
        "CREATE TABLE users (name TEXT, data); CREATE UNIQUE INDEX i ON users (name) WHERE data",
    ] {
        assert_refused(&made_by(schema), &USERS, needs);
    }
    for (schema, content) in [
        ("CREATE TABLE users (name INTEGER PRIMARY KEY, data)", "type INTEGER"),
        (
            "CREATE TABLE users (name INTEGER PRIMARY KEY, data); INSERT INTO users VALUES (1, 2)",
            "integer keys",
        ),
        (
            "CREATE TABLE users (name PRIMARY KEY, data); INSERT INTO users VALUES (1.5, 2)",
            "real keys",
        ),
    ] {
        let message = format!(
            "column `name` of table `users` has {content}: expected keys that are BLOB or TEXT"
        );
        assert_refused(&made_by(schema), &USERS, &message);
    }
    assert_refused(
        &made_by("CREATE TABLE users (name TEXT PRIMARY KEY COLLATE NOCASE, data)"),
        &USERS,
        "column `name` of table `users` has collation NOCASE: expected BINARY",
    );
    assert_refused(
        &made_by("PRAGMA encoding = 'UTF-16le'; CREATE TABLE users (name TEXT PRIMARY KEY, data)"),
        &USERS,
        "column `name` of table `users` has text in UTF-16le: expected UTF-8",
    );
}

#[test]
fn a_column_that_no_put_can_fill_is_named_by_the_put() {
    let dir = made_by(
        "CREATE TABLE users (name TEXT PRIMARY KEY, data, age INT NOT NULL); \
         INSERT INTO users VALUES ('ann', '1', 7)",
    );
    let engine = open(&dir, &USERS).unwrap();
    let mut session = engine.session().unwrap();
    assert_eq!(value(&mut session, b"ann").as_deref(), Some(&b"1"[..]));
    let error = session.put(b"bob", b"2").unwrap_err();
    assert_eq!(error.class, ErrorClass::Invalid);
    for part in ["NOT NULL constraint failed: users.age", "can read this table but not write"] {
        assert!(error.message.contains(part), "{error}");
    }
}

#[test]
fn an_empty_database_gets_the_table() {
    let dir = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        let engine = open(&dir, &USERS).unwrap();
        engine.session().unwrap().put(b"key", b"value").unwrap();
        engine.close().unwrap();
    }
    assert_eq!(ask(&dir, "SELECT count(*) || typeof(name) FROM users"), "1blob");
}
