//! The engine as the program uses it: on real files, past the page cache.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]
#![expect(clippy::print_stdout, reason = "the kit says what it passed")]

mod conformance;
mod device;
mod forbidden;
mod pieces;
mod refusals;
mod whole;

use kvdyno_drive::Drive;
use kvdyno_engine::{
    DataShape, Durability, Engine, Location, Options, Result, Session, Value, Write,
};
use std::path::Path;

const BLOCK: usize = 4096;

/// A directory on a file system that has `O_DIRECT`: /tmp may be memory, /var/tmp never is.
fn dir() -> tempfile::TempDir {
    tempfile::Builder::new().prefix("kvdyno-drive-").tempdir_in("/var/tmp").unwrap()
}

fn options(words: &[(&str, Value)]) -> Options {
    let mut options = Options::defaults(&Drive::describe(), Durability::Async);
    for (name, value) in words {
        options.values.insert((*name).to_owned(), value.clone());
    }
    options.resolve(&Drive::describe()).unwrap()
}

fn io(word: &str) -> (&'static str, Value) {
    ("io", Value::Text(word.to_owned()))
}

fn shape(records: u64) -> DataShape {
    DataShape { sessions: 4, depth: 64, ..DataShape::uniform(records, 8, BLOCK as u64) }
}

fn open(dir: &Path, words: &[(&str, Value)], records: u64) -> Result<Drive> {
    Drive::open(&Location::Directory(dir.to_owned()), &options(words), &shape(records))
}

/// A block that repeats its number.
fn block(number: u64, version: u64) -> Vec<u8> {
    (number << 16 | version).to_le_bytes().repeat(BLOCK / 8)
}

/// Loads every block, in batches.
fn load(drive: &Drive, records: u64) -> Result<()> {
    let mut session = drive.session()?;
    let numbers: Vec<u64> = (0..records).collect();
    for part in numbers.chunks(300) {
        let blocks: Vec<_> = part.iter().map(|&n| (n.to_be_bytes(), block(n, 0))).collect();
        let writes: Vec<_> = blocks.iter().map(|(key, value)| Write::Put { key, value }).collect();
        session.write(&writes)?;
    }
    drive.sync()
}
