//! A place to put stores, and the few calls that the tests are written in.

use kvdyno_direct::header::Header;
use kvdyno_direct::{Direct, FILE_NAME};
use kvdyno_engine::{DataShape, Durability, Engine, Location, Options, Result, Session, Value};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Two directories, a store in one of them, and perhaps its mirror in the other.
pub(crate) struct Bench {
    pub(crate) root: TempDir,
    pub(crate) durability: Durability,
    pub(crate) pack: u64,
    pub(crate) mirrored: bool,
    pub(crate) rebuild: bool,
    pub(crate) shape: DataShape,
}

pub(crate) const VALUE_BYTES: u64 = 100;

impl Bench {
    pub(crate) fn new(durability: Durability, pack: u64, mirrored: bool) -> Self {
        let root = tempfile::tempdir().unwrap();
        for name in ["place", "mirror"] {
            std::fs::create_dir(root.path().join(name)).unwrap();
        }
        Self { root, durability, pack, mirrored, rebuild: false, shape: shape(1000, 4) }
    }

    pub(crate) fn store_dir(&self) -> PathBuf {
        self.root.path().join("place")
    }

    pub(crate) fn mirror(&self) -> PathBuf {
        self.root.path().join("mirror")
    }

    pub(crate) fn open(&self) -> Result<Direct> {
        let mirror = if self.mirrored { self.mirror() } else { PathBuf::new() };
        let mut options = options(self.durability, self.pack, &mirror);
        options.values.insert("rebuild".to_owned(), Value::Boolean(self.rebuild));
        Direct::open(&Location::Directory(self.store_dir()), &options, &self.shape)
    }

    /// The file of the first copy, or of the mirror.
    pub(crate) fn file(&self, copy: usize) -> PathBuf {
        match copy {
            0 => self.store_dir().join(FILE_NAME),
            _ => {
                let mut files = std::fs::read_dir(self.mirror()).unwrap();
                files.next().unwrap().unwrap().path()
            }
        }
    }

    /// Fills all records with version 1 and closes.
    pub(crate) fn filled(self) -> Self {
        let engine = self.open().unwrap();
        put_all(&engine, 0..self.shape.records, 1);
        engine.close().unwrap();
        self
    }
}

pub(crate) fn shape(records: u64, depth: u32) -> DataShape {
    DataShape { sessions: 4, depth, ..DataShape::uniform(records, 8, VALUE_BYTES) }
}

pub(crate) fn options(durability: Durability, pack: u64, mirror: &Path) -> Options {
    let mut options = Options::defaults(&Direct::describe(), durability);
    options.values.insert("pack".to_owned(), Value::Integer(pack));
    let mirror = mirror.to_str().unwrap().to_owned();
    options.values.insert("mirror".to_owned(), Value::Text(mirror));
    options
}

pub(crate) fn key(number: u64) -> [u8; 8] {
    number.to_be_bytes()
}

/// A value of full length that tells its record and its version.
pub(crate) fn value(number: u64, version: u64) -> Vec<u8> {
    let both = [number.to_le_bytes(), version.to_le_bytes()].concat();
    both.into_iter().cycle().take(VALUE_BYTES as usize).collect()
}

pub(crate) fn put_all(engine: &Direct, records: std::ops::Range<u64>, version: u64) {
    let mut session = engine.session().unwrap();
    for number in records {
        session.put(&key(number), &value(number, version)).unwrap();
    }
}

pub(crate) fn get(session: &mut impl Session, number: u64) -> Result<Option<Vec<u8>>> {
    session.get(&key(number), |value| value.map(<[u8]>::to_vec))
}

#[track_caller]
pub(crate) fn assert_all(engine: &Direct, records: std::ops::Range<u64>, version: u64) {
    let mut session = engine.session().unwrap();
    for number in records {
        let actual = get(&mut session, number).unwrap();
        assert_eq!(actual, Some(value(number, version)), "record {number}");
    }
}

#[track_caller]
pub(crate) fn assert_counter(engine: &Direct, name: &str, expected: u64) {
    assert_eq!(engine.counters()[name], Value::Integer(expected), "counter {name}");
}

/// The words of all events under this name.
pub(crate) fn event_texts(engine: &Direct, name: &str) -> Vec<String> {
    let events = engine.events().into_iter();
    events.filter_map(|event| Some(event.detail.get(name)?.to_string())).collect()
}

/// The fields of a copy's header.
pub(crate) fn header(path: &Path) -> Header {
    let mut page = vec![0; 4096];
    File::open(path).unwrap().read_exact_at(&mut page, 0).unwrap();
    Header::decode(&page).unwrap().unwrap()
}

/// Overwrites bytes of a copy behind the store's back.
pub(crate) fn scribble(path: &Path, offset: u64, bytes: &[u8]) {
    let file = File::options().write(true).open(path).unwrap();
    file.write_all_at(bytes, offset).unwrap();
    file.sync_all().unwrap();
}

/// Flips one bit of a copy.
pub(crate) fn flip(path: &Path, offset: u64) {
    let mut byte = [0];
    File::open(path).unwrap().read_exact_at(&mut byte, offset).unwrap();
    scribble(path, offset, &[byte[0] ^ 4]);
}

/// Bytes of a copy.
pub(crate) fn bytes_at(path: &Path, offset: u64, bytes: usize) -> Vec<u8> {
    let mut content = vec![0; bytes];
    File::open(path).unwrap().read_exact_at(&mut content, offset).unwrap();
    content
}
