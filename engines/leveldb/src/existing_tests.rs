//! A database with another comparator. The shim sets none, so the test writes its name into the
//! MANIFEST of a database that `LevelDB` made, as `LevelDB` itself would have.

use crate::engine::LevelDb;
use kvdyno_engine::{DataShape, Durability, Engine, Error, ErrorClass, Location, Options, Session};
use std::path::Path;

fn open(folder: &Path) -> Result<LevelDb, Error> {
    let options = Options::defaults(&LevelDb::describe(), Durability::Async);
    LevelDb::open(&Location::Directory(folder.to_owned()), &options, &DataShape::uniform(10, 1, 8))
}

/// Header of a record in a log of `LevelDB`: a checksum, a length, and a type.
const HEADER_BYTES: usize = 7;

/// Puts another name of the same length into the first record of the MANIFEST.
fn rename_comparator(folder: &Path, old: &str, new: &str) {
    assert_eq!(old.len(), new.len());
    let current = std::fs::read_to_string(folder.join("CURRENT")).unwrap();
    let manifest = folder.join(current.trim());
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
    if kvdyno_engine::library::installed("leveldb").is_empty() {
        let test = "another_comparator_is_refused_by_name";
        kvdyno_testing::skipped("leveldb", test, "no library of LevelDB is installed");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path()).unwrap();
    engine.session().unwrap().put(b"k", b"v").unwrap();
    engine.close().unwrap();
    rename_comparator(folder.path(), OURS, OTHER);
    let error = open(folder.path()).err().expect("it opened");
    assert_eq!(error.class, ErrorClass::Invalid, "{error}");
    let positions = [OTHER, OURS, "kvdyno opens databases with the second alone"]
        .map(|part| error.message.find(part).unwrap_or_else(|| panic!("no `{part}`: {error}")));
    assert!(positions.is_sorted(), "{error}");
    rename_comparator(folder.path(), OTHER, OURS);
    let engine = open(folder.path()).unwrap();
    let mut session = engine.session().unwrap();
    assert_eq!(session.get(b"k", |value| value == Some(&b"v"[..])), Ok(true));
}
