//! The conformance kit on directories and on a loop device, and each mistake that a raw device
//! allows. Loop devices need root; without it these tests report that they are skipped.

use crate::engine::Lmdb;
use kvdyno_engine::{
    DataShape, Durability, Engine, ErrorClass, Location, Options, Result, Session, Value,
    conformance,
};
use kvdyno_testing::report_skip;
use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

const MIB: u64 = 1 << 20;

/// A loop device that the kernel detaches when its last user is gone, however this process ends.
struct LoopDevice {
    path: PathBuf,
    file: File,
    /// The lock that lets one test run at a time: tests look at the whole process's maps and
    /// mounts.
    _alone: MutexGuard<'static, ()>,
}

impl LoopDevice {
    /// Creates a loop device. `None`, after a report of the skip: this user may not create any.
    fn new(bytes: u64) -> Option<Self> {
        static ALONE: Mutex<()> = Mutex::new(());
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let (path, file) = attach(bytes)?;
        Some(Self { path, file, _alone: alone })
    }

    fn place(&self) -> Location {
        Location::Device(self.path.clone())
    }

    /// Blanks the device's start, as the program does before a load.
    fn blank(&self) {
        self.write(&vec![0; MIB as usize]);
    }

    fn write(&self, start: &[u8]) {
        self.file.write_all_at(start, 0).unwrap();
        self.file.sync_all().unwrap();
    }
}

fn attach(bytes: u64) -> Option<(PathBuf, File)> {
    let image = tempfile::NamedTempFile::new().unwrap();
    image.as_file().set_len(bytes).unwrap();
    let output = Command::new("losetup").args(["--find", "--show"]).arg(image.path()).output();
    let output = output.ok().filter(|output| output.status.success());
    let Some(output) = output else {
        report_skip("loop", "a raw device", "no loop device can be made here");
        return None;
    };
    let path = PathBuf::from(String::from_utf8(output.stdout).unwrap().trim());
    let file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
    // The device is in use, so the kernel detaches it at its last close.
    assert!(Command::new("losetup").arg("-d").arg(&path).status().unwrap().success());
    Some((path, file))
}

/// A mount of the device in a namespace of its own, which ends no later than this process.
struct Mounted(Child);

impl Mounted {
    fn new(device: &Path, dir: &Path) -> Option<Self> {
        let script = "mount \"$0\" \"$1\" && echo mounted && read end; umount \"$1\"";
        let mut child = Command::new("unshare")
            .args(["--mount", "--propagation", "private", "sh", "-c", script])
            .args([device, dir])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        if line == "mounted\n" {
            return Some(Self(child));
        }
        child.wait().unwrap();
        None
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        self.0.wait().unwrap();
    }
}

fn shape(records: u64) -> DataShape {
    DataShape { sessions: 2, ..DataShape::uniform(records, 8, 1000) }
}

fn options(changes: &[(&str, Value)]) -> Options {
    let description = Lmdb::describe();
    let mut options = Options::defaults(&description, Durability::Async);
    for (name, value) in changes {
        options.values.insert((*name).to_owned(), value.clone());
    }
    options.resolve(&description).unwrap()
}

fn writemap(word: &str) -> (&'static str, Value) {
    ("writemap", Value::Text(word.to_owned()))
}

fn map_size(bytes: u64) -> (&'static str, Value) {
    ("map_size", Value::Integer(bytes))
}

fn open(device: &LoopDevice, changes: &[(&str, Value)]) -> Result<Lmdb> {
    Lmdb::open(&device.place(), &options(changes), &shape(1000))
}

#[track_caller]
fn assert_refused<E: Engine>(opened: Result<E>, class: ErrorClass, words: &[&str]) {
    let error = opened.err().expect("it opened");
    assert_eq!(error.class, class, "{}", error.message);
    for word in words {
        assert!(error.message.contains(word), "no `{word}` in: {}", error.message);
    }
}

/// Puts `records` records, or stops at the first failure. Returns how many succeeded, and the
/// result.
fn fill(engine: &Lmdb, records: u64) -> (u64, Result<()>) {
    let mut session = engine.session().unwrap();
    for number in 0..records {
        if let Err(error) = session.put(&number.to_be_bytes(), &[7; 1000]) {
            return (number, Err(error));
        }
    }
    (records, Ok(()))
}

fn count_found(engine: &Lmdb, records: u64) -> u64 {
    let mut session = engine.session().unwrap();
    let is_there = |number: &u64| {
        session.get(&number.to_be_bytes(), |value| value == Some(&[7; 1000])).unwrap()
    };
    (0..records).filter(is_there).count() as u64
}

#[test]
fn conforms_in_directories() {
    let scratch = tempfile::tempdir().unwrap();
    let report = conformance::run::<Lmdb>(scratch.path());
    println!("{report}");
    assert!(report.conforms(), "{report}");
}

#[test]
fn conforms_on_a_raw_device() {
    let Some(device) = LoopDevice::new(1024 * MIB) else { return };
    let report = conformance::run_at::<Lmdb>(|_| {
        device.blank();
        Ok(device.place())
    });
    println!("{report}");
    assert!(report.conforms(), "{report}");
}

#[test]
fn it_is_the_library_that_it_says() {
    let description = Lmdb::describe();
    assert_eq!((description.name.as_str(), description.version.as_str()), ("lmdb1", "0.9.90"));
}

/// LMDB crashes on a blank device with `MDB_WRITEMAP`, but not without it, nor on a database.
#[test]
fn a_blank_device_becomes_a_database_that_opens_again() {
    let Some(device) = LoopDevice::new(64 * MIB) else { return };
    for word in ["on", "off"] {
        device.blank();
        let engine = open(&device, &[writemap(word)]).unwrap();
        assert_eq!(fill(&engine, 1000).0, 1000);
        engine.close().unwrap();
        for word in ["off", "on"] {
            let engine = open(&device, &[writemap(word)]).unwrap();
            assert_eq!(count_found(&engine, 1000), 1000);
        }
    }
}

#[test]
fn nothing_is_left_beside_the_device_or_for_a_killed_worker() {
    let Some(device) = LoopDevice::new(64 * MIB) else { return };
    // Another program may have left its lock file there.
    let lock = PathBuf::from(format!("{}-lock", device.path.display()));
    let was_there = lock.exists();
    let engine = open(&device, &[]).unwrap();
    let mapped = std::fs::read_to_string("/proc/self/maps").unwrap();
    let locks: Vec<&str> =
        mapped.lines().filter(|line| line.contains("kvdyno-lmdb-lock-")).collect();
    assert!(!locks.is_empty(), "LMDB has no lock file: {mapped}");
    assert!(locks.iter().all(|line| line.ends_with("(deleted)")), "{locks:?}");
    assert_eq!(lock.exists(), was_there, "{}", lock.display());
    engine.close().unwrap();
    assert_eq!(lock.exists(), was_there, "{}", lock.display());
}

/// 17 MiB are no whole number of LMDB's steps: rounded up, the map would end past the device.
#[test]
fn a_full_device_is_an_error_and_not_a_signal() {
    let Some(device) = LoopDevice::new(17 * MIB) else { return };
    for word in ["on", "off"] {
        device.blank();
        let engine = open(&device, &[writemap(word)]).unwrap();
        assert_eq!(engine.counters()["me_mapsize"], Value::Integer(16 * MIB));
        let (records, ended) = fill(&engine, 100_000);
        assert_eq!(ended.unwrap_err().class, ErrorClass::Full);
        assert!(records > 10_000, "full after {records} records");
        assert_eq!(count_found(&engine, records), records);
        engine.close().unwrap();
        assert_eq!(count_found(&open(&device, &[]).unwrap(), records), records);
    }
}

#[test]
fn more_than_the_device_is_refused_with_sizes() {
    let Some(device) = LoopDevice::new(17 * MIB) else { return };
    let room = (16 * MIB).to_string();
    let opened = open(&device, &[map_size(17 * MIB)]);
    assert_refused(opened, ErrorClass::Full, &["map_size", &(18 * MIB).to_string(), &room]);
    let opened = Lmdb::open(&device.place(), &options(&[]), &shape(100_000));
    assert_refused(opened, ErrorClass::Full, &["the data may take", &room]);
    // The user may set less than the worst case.
    let changes = options(&[map_size(9 * MIB)]);
    let engine = Lmdb::open(&device.place(), &changes, &shape(100_000)).unwrap();
    assert_eq!(engine.counters()["me_mapsize"], Value::Integer(10 * MIB));
}

#[test]
fn a_database_that_was_cut_off_is_refused() {
    let Some(device) = LoopDevice::new(64 * MIB) else { return };
    let engine = open(&device, &[]).unwrap();
    assert_eq!(fill(&engine, 30_000).0, 30_000);
    engine.close().unwrap();
    let mut start = vec![0; 16 * MIB as usize];
    device.file.read_exact_at(&mut start, 0).unwrap();
    drop(device);
    let Some(smaller) = LoopDevice::new(start.len() as u64) else { return };
    smaller.write(&start);
    assert_refused(open(&smaller, &[]), ErrorClass::Corrupt, &["cut off"]);
}

#[test]
fn what_is_not_blank_is_refused_with_the_remedy() {
    let Some(device) = LoopDevice::new(64 * MIB) else { return };
    let (invalid, remedy) =
        (ErrorClass::Invalid, ["not an LMDB database", "dd if=/dev/zero of=/dev"]);
    device.write(&[0xA5; 4096]);
    assert_refused(open(&device, &[]), invalid, &remedy);
    // LMDB would take this device for blank: there are zeros where it looks for a flag.
    let mut signed = vec![0; MIB as usize];
    signed[65_600..65_608].copy_from_slice(b"_BHRfS_M");
    device.write(&signed);
    assert_refused(open(&device, &[]), invalid, &remedy);
    device.blank();
    open(&device, &[]).unwrap();
}

#[test]
fn a_mounted_device_is_refused_and_an_open_one_cannot_be_mounted() {
    let Some(device) = LoopDevice::new(64 * MIB) else { return };
    let dir = tempfile::tempdir().unwrap();
    let status = Command::new("mkfs.ext4").args(["-q", "-F"]).arg(&device.path).status();
    assert!(status.unwrap().success());

    let mounted = Mounted::new(&device.path, dir.path()).expect("cannot mount");
    assert_refused(open(&device, &[]), ErrorClass::Invalid, &["in use", "lsblk"]);
    drop(mounted);
    assert_refused(open(&device, &[]), ErrorClass::Invalid, &["if it may be lost"]);

    device.blank();
    let engine = open(&device, &[]).unwrap();
    assert_refused(open(&device, &[]), ErrorClass::Invalid, &["in use"]);
    assert!(Mounted::new(&device.path, dir.path()).is_none(), "it was mounted");
    assert_eq!(fill(&engine, 10).0, 10);
    engine.close().unwrap();
    assert_eq!(count_found(&open(&device, &[]).unwrap(), 10), 10);
}

#[test]
fn a_file_is_no_device() {
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().set_len(64 * MIB).unwrap();
    let opened = Lmdb::open(&Location::Device(file.path().to_owned()), &options(&[]), &shape(1000));
    assert_refused(opened, ErrorClass::Invalid, &["not a block device", "losetup"]);
}
