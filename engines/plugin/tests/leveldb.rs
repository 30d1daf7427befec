//! The plugin of `LevelDB`, as `kvdyno engines get leveldb` has installed it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

mod installed;

use kvdyno_engine::{
    Counters, DataShape, Durability, Engine as _, Error, ErrorClass, Location, Options, Session,
    Value,
};
use kvdyno_plugin::Plugin;
use std::path::Path;
use std::time::Duration;

fn open(dir: &Path, options: &[(&str, Value)]) -> Result<Plugin, Error> {
    let mut all = Options::defaults(&Plugin::describe(), Durability::Async);
    all.values.extend(options.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
    let data = DataShape::uniform(20_000, 8, 1000);
    Plugin::open(&Location::Directory(dir.to_owned()), &all, &data)
}

fn put(session: &mut impl Session, number: u64) {
    let key = number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes();
    session.put(&key, &[number as u8; 1000]).unwrap();
}

/// The bytes of the tables in each level.
fn levels(counters: &Counters) -> Vec<Vec<u64>> {
    let Value::Text(text) = &counters["leveldb.sstables"] else { panic!("{counters:?}") };
    let mut levels: Vec<Vec<u64>> = Vec::new();
    for line in text.lines() {
        match line.strip_prefix(' ') {
            None => levels.push(Vec::new()),
            // ` 17:2123456['a' @ 5 : 1 .. 'd' @ 9 : 1]`
            Some(table) => {
                let bytes = table.split([':', '[']).nth(1).unwrap();
                levels.last_mut().unwrap().push(bytes.parse().unwrap());
            }
        }
    }
    levels
}

/// What `sync` promises: all is in tables, which are synced, and nothing waits in a log.
#[test]
fn a_sync_leaves_tables_and_settling_leaves_levels_within_their_sizes() {
    if !installed::load(
        "leveldb",
        "a_sync_leaves_tables_and_settling_leaves_levels_within_their_sizes",
    ) {
        return;
    }
    for settle in ["wait", "compact"] {
        let scratch = tempfile::tempdir().unwrap();
        let text = |text: &str| Value::Text(text.to_owned());
        let options = [
            ("write_buffer_size", Value::Integer(1 << 20)),
            ("compression", text("none")),
            ("settle", text(settle)),
        ];
        let engine = open(scratch.path(), &options).unwrap();
        let mut session = engine.session().unwrap();
        put(&mut session, 0);
        assert_eq!(levels(&engine.counters()).concat().len(), 0);
        engine.sync().unwrap();
        assert_eq!(levels(&engine.counters()).concat().len(), 1);
        for number in 1..20_000 {
            put(&mut session, number);
        }
        let settled = engine.settle(Duration::from_mins(1)).unwrap();
        assert!(settled.idle, "{settled:?}");
        assert_eq!(settled.note.contains("CompactRange"), settle == "compact", "{settled:?}");
        let levels = levels(&engine.counters());
        assert!(levels.concat().iter().sum::<u64>() > 10 << 20, "{levels:?}");
        assert!(levels[0].len() < 4, "{levels:?}");
        assert!(levels[1].iter().sum::<u64>() < 10 << 20, "{levels:?}");
        if settle == "compact" {
            assert_eq!(engine.counters()["leveldb.num-files-at-level0"], Value::Integer(0));
        }
        drop(session);
        engine.close().unwrap();
    }
}

/// `LevelDB` cannot write a table under a name that is a directory's.
#[test]
fn a_memtable_that_could_not_be_written_is_an_error() {
    if !installed::load("leveldb", "a_memtable_that_could_not_be_written_is_an_error") {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let engine = open(scratch.path(), &[]).unwrap();
    put(&mut engine.session().unwrap(), 1);
    for number in 1..20 {
        std::fs::create_dir(scratch.path().join(format!("{number:06}.ldb"))).unwrap();
    }
    assert!(engine.sync().unwrap_err().message.contains("Is a directory"));
    assert!(engine.settle(Duration::from_mins(1)).is_err());
    engine.close().unwrap();
}

/// Compactions that take longer than a limit end before the database is closed.
#[test]
fn settling_within_a_limit_says_that_it_was_too_short() {
    if !installed::load("leveldb", "settling_within_a_limit_says_that_it_was_too_short") {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let engine = open(scratch.path(), &[]).unwrap();
    assert!(!engine.settle(Duration::ZERO).unwrap().idle);
    put(&mut engine.session().unwrap(), 1);
    engine.close().unwrap();
}

/// Otherwise it would count as a thread of the role that wrote first.
#[test]
fn the_thread_that_compacts_has_a_name_of_its_own() {
    if !installed::load("leveldb", "the_thread_that_compacts_has_a_name_of_its_own") {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let engine = open(scratch.path(), &[]).unwrap();
    engine.sync().unwrap();
    let threads = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let names =
        threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("comm")).ok());
    let names: Vec<String> = names.collect();
    assert!(names.iter().any(|name| name == "leveldb\n"), "{names:?}");
    engine.close().unwrap();
}

/// Header of a record in a log of `LevelDB`: a checksum, a length, and a type.
const HEADER_BYTES: usize = 7;

/// Puts another name of the same length into the first record of the MANIFEST, as `LevelDB` itself
/// would have with that comparator. The plugin sets none.
fn rename_comparator(dir: &Path, old: &str, new: &str) {
    assert_eq!(old.len(), new.len());
    let current = std::fs::read_to_string(dir.join("CURRENT")).unwrap();
    let manifest = dir.join(current.trim());
    let mut bytes = std::fs::read(&manifest).unwrap();
    let length = usize::from(u16::from_le_bytes([bytes[4], bytes[5]]));
    let record = &mut bytes[..HEADER_BYTES + length];
    let at = record.windows(old.len()).position(|window| window == old.as_bytes()).unwrap();
    record[at..at + new.len()].copy_from_slice(new.as_bytes());
    // Of the type and what is behind it, changed as in util/crc32c.h.
    let checksum = crc32c(&record[HEADER_BYTES - 1..]).rotate_right(15).wrapping_add(0xa282_ead8);
    record[..4].copy_from_slice(&checksum.to_le_bytes());
    std::fs::write(manifest, bytes).unwrap();
}

fn crc32c(bytes: &[u8]) -> u32 {
    const POLYNOMIAL: u32 = 0x82f6_3b78;
    let byte = |crc: u32, byte: &u8| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ if crc & 1 == 1 { POLYNOMIAL } else { 0 }
        })
    };
    !bytes.iter().fold(!0, byte)
}

const OURS: &str = "leveldb.BytewiseComparator";
const OTHER: &str = "example.BackwardComparator";

#[test]
fn another_comparator_is_refused_by_name() {
    if !installed::load("leveldb", "another_comparator_is_refused_by_name") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let engine = open(dir.path(), &[]).unwrap();
    engine.session().unwrap().put(b"k", b"v").unwrap();
    engine.close().unwrap();
    rename_comparator(dir.path(), OURS, OTHER);
    let error = open(dir.path(), &[]).err().expect("it opened");
    assert_eq!(error.class, ErrorClass::Invalid, "{error}");
    let positions = [OTHER, OURS, "kvdyno opens databases with the second alone"]
        .map(|part| error.message.find(part).unwrap_or_else(|| panic!("no `{part}`: {error}")));
    assert!(positions.is_sorted(), "{error}");
    rename_comparator(dir.path(), OTHER, OURS);
    let engine = open(dir.path(), &[]).unwrap();
    let mut session = engine.session().unwrap();
    assert_eq!(session.get(b"k", |value| value == Some(&b"v"[..])), Ok(true));
    drop(session);
    engine.close().unwrap();
}

/// Debian's package has them.
#[test]
fn assertions_in_the_systems_library_are_reported() {
    if !installed::load("leveldb", "assertions_in_the_systems_library_are_reported") {
        return;
    }
    let build = Plugin::describe().build;
    if build.get("source").is_some_and(|source| source.starts_with("libleveldb-dev ")) {
        assert_eq!(build["assertions"], "on: figures are not LevelDB's");
    }
}
