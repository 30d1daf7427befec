//! The plugin of `WiredTiger`, as `kvdyno engines get wiredtiger` has installed it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

mod installed;

use kvdyno_engine::{
    DataShape, Direction, Durability, Edge, Engine as _, Error, ErrorClass, EventKind, Location,
    Options, Range, Session, Value, Walk,
};
use kvdyno_plugin::{Plugin, PluginSession};
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

const CLASSES: [Durability; 3] = [Durability::None, Durability::Async, Durability::Commit];

/// With small files of the log, which are allocated at each open.
fn try_open(dir: &Path, class: Durability, set: &[(&str, &str)]) -> Result<Plugin, Error> {
    let mut options = Options::defaults(&Plugin::describe(), class);
    let text = |value: &&str| Value::Text((*value).to_owned());
    options.values.insert("log_file_max".to_owned(), Value::Integer(1 << 20));
    options.values.extend(set.iter().map(|(name, value)| ((*name).to_owned(), text(value))));
    let data = DataShape { sessions: 3, ..DataShape::uniform(1000, 8, 100) };
    Plugin::open(&Location::Directory(dir.to_owned()), &options, &data)
}

fn open(dir: &Path, class: Durability, set: &[(&str, &str)]) -> Plugin {
    try_open(dir, class, set).unwrap()
}

#[track_caller]
fn assert_refused(dir: &Path, set: &[(&str, &str)], message: &str) {
    let error = try_open(dir, Durability::Async, set).err().expect("it opened");
    assert_eq!(error.class, ErrorClass::Invalid, "{error}");
    assert_eq!(error.message, format!("open: {message}"));
}

fn key(number: u64) -> [u8; 8] {
    number.to_be_bytes()
}

fn fill(engine: &Plugin) {
    let mut session = engine.session().unwrap();
    for number in 0..1000 {
        session.put(&key(number), &[number as u8; 100]).unwrap();
    }
}

fn count(session: &mut PluginSession<'_>) -> u64 {
    session.scan(Range::all(Direction::Forward), |_, _| ControlFlow::Continue(())).unwrap()
}

fn text(engine: &Plugin, counter: &str) -> String {
    match &engine.counters()[counter] {
        Value::Text(text) => text.clone(),
        other => panic!("{counter}: {other}"),
    }
}

#[test]
fn every_type_keeps_what_it_was_given_in_every_class() {
    if !installed::load("wiredtiger", "every_type_keeps_what_it_was_given_in_every_class") {
        return;
    }
    let description = Plugin::describe();
    let types = description.options.iter().find(|option| option.name == "type").unwrap();
    let settings = ["enabled=false", "method=none", "method=fsync"];
    for kind in ["btree", "lsm"] {
        if types.kind.accept(&Value::Text(kind.to_owned())).is_err() {
            continue;
        }
        for (class, setting) in CLASSES.into_iter().zip(settings) {
            let scratch = tempfile::tempdir().unwrap();
            let engine = open(scratch.path(), class, &[("type", kind)]);
            let opened_with = text(&engine, "wiredtiger_open");
            assert!(opened_with.contains(setting), "{opened_with}");
            assert!(opened_with.contains("session_max=70,"), "{opened_with}");
            fill(&engine);
            engine.close().unwrap();
            let engine = open(scratch.path(), class, &[("type", kind)]);
            assert_eq!(count(&mut engine.session().unwrap()), 1000, "{kind} {class:?}");
            engine.close().unwrap();
        }
    }
}

/// A walk keeps its snapshot; the session's other calls do not.
#[test]
fn a_walk_under_way_keeps_no_get_from_the_newest_value() {
    if !installed::load("wiredtiger", "a_walk_under_way_keeps_no_get_from_the_newest_value") {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let engine = open(scratch.path(), Durability::Async, &[]);
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
    if !installed::load(
        "wiredtiger",
        "a_checkpoint_is_on_the_time_line_and_the_configuration_in_the_counters",
    ) {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let set = [("wiredtiger_open", "hash=(buckets=1024)"), ("session_create", "dictionary=7")];
    let engine = open(scratch.path(), Durability::None, &set);
    fill(&engine);
    engine.events();
    assert!(engine.settle(Duration::from_mins(1)).unwrap().idle);
    let events: Vec<_> =
        engine.events().into_iter().map(|event| (event.kind, event.edge)).collect();
    let checkpoint = EventKind::Checkpoint;
    assert_eq!(events, [(checkpoint, Edge::Begin), (checkpoint, Edge::End)]);
    let table = text(&engine, "metadata file:kvdyno.wt");
    assert!(table.contains("dictionary=7,") && table.contains("leaf_page_max=32768"), "{table}");
    assert!(text(&engine, "wiredtiger_open").contains("buckets=1024"));
    let cache = &engine.counters()["cache: maximum bytes configured"];
    assert_eq!(cache, &Value::Integer(100 << 20));
    engine.close().unwrap();
}

#[test]
fn what_leads_elsewhere_or_breaks_a_promise_is_refused() {
    if !installed::load("wiredtiger", "what_leads_elsewhere_or_breaks_a_promise_is_refused") {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    for (option, text, key) in [
        ("wiredtiger_open", "statistics_log=(wait=1,path=/tmp)", "path would put files outside"),
        ("wiredtiger_open", "statistics_log={\"path\" : \"/tmp\"}", "path would put files outside"),
        ("wiredtiger_open", "extensions=[/tmp/x.so]", "extensions would put files outside"),
        ("wiredtiger_open", "log=(file_max=1MB)", "log would break the durability class"),
        ("wiredtiger_open", "hash=(buckets=512),in_memory", "in_memory would break"),
        ("wiredtiger_open", "transaction_sync = (enabled=false)", "transaction_sync would break"),
        ("wiredtiger_open", "use_environment", "use_environment would put files outside"),
        ("wiredtiger_open", "cache_size=1GB", "cache_size is set by an option of its own"),
        ("session_create", "type=lsm", "type is set by an option of its own"),
    ] {
        let error = try_open(scratch.path(), Durability::Async, &[(option, text)]).err().unwrap();
        assert_eq!(error.class, ErrorClass::Invalid, "{error}");
        assert!(error.message.starts_with(&format!("open: {option}: {key}")), "{error}");
    }
    assert_eq!(scratch.path().read_dir().unwrap().count(), 0, "nothing was made");
    let set = [
        ("wiredtiger_open", "io_capacity=(total=100MB),mmap=false"),
        ("session_create", "dictionary=1000,app_metadata=(key_format=x)"),
    ];
    open(scratch.path(), Durability::Async, &set).close().unwrap();
}

/// As one that another program made.
#[test]
fn a_table_that_is_there_is_read_and_written() {
    if !installed::load("wiredtiger", "a_table_that_is_there_is_read_and_written") {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let engine = open(scratch.path(), Durability::Async, &[("table", "users")]);
    fill(&engine);
    engine.close().unwrap();
    for class in CLASSES {
        let engine = open(scratch.path(), class, &[("table", "users"), ("type", "lsm")]);
        let mut session = engine.session().unwrap();
        assert_eq!(session.get(&key(7), |value| value == Some(&[7; 100])), Ok(true));
        assert_eq!(session.get(&key(1001), |value| value.is_none()), Ok(true));
        session.put(&key(1001), b"").unwrap();
        assert_eq!(count(&mut session), 1001);
        session.delete(&key(1001)).unwrap();
        assert_eq!(count(&mut session), 1000);
        assert!(text(&engine, "metadata file:users.wt").contains("key_format=u"));
        drop(session);
        engine.close().unwrap();
    }
    let message = "expected a table `kvdyno` in the database, found `users`; choose one with \
                   option `table`";
    assert_refused(scratch.path(), &[], message);
}

#[test]
fn other_formats_are_refused_by_name_and_value() {
    if !installed::load("wiredtiger", "other_formats_are_refused_by_name_and_value") {
        return;
    }
    for (table, format) in
        [("texts", "key_format=S"), ("numbers", "value_format=q"), ("rows", "value_format=uu")]
    {
        let scratch = tempfile::tempdir().unwrap();
        let message = format!("table `{table}` has {format}: expected u");
        // Where it is made, and where it is there.
        let created = [("table", table), ("session_create", format)];
        assert_refused(scratch.path(), &created, &message);
        assert_refused(scratch.path(), &[("table", table)], &message);
    }
}
