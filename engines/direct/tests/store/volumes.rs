//! Locations that are full, too small, or used by others.

use crate::bench_location::{
    Bench, assert_all, event_texts, get, key, options, put_all, shape, value,
};
use kvdyno_direct::Direct;
use kvdyno_engine::{Durability, Engine, ErrorClass, Location, Session, Value};
use kvdyno_testing::report_skip;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// A small ext4 on a loop device, unmounted on drop; the loop device goes with it.
struct SmallVolume(TempDir);

impl SmallVolume {
    /// `None`, and the reason printed, where this is not allowed.
    fn mount(mib: u64) -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let image = dir.path().join("image");
        File::create_new(&image).unwrap().set_len(mib << 20).unwrap();
        let volume = Self(dir);
        std::fs::create_dir(volume.path()).unwrap();
        let image = image.to_str().unwrap();
        let made = run("mkfs.ext4", &["-q", "-F", "-O", "^has_journal", "-m", "0", image]);
        let mounted = made && run("mount", &["-o", "loop", image, volume.path().to_str().unwrap()]);
        if !mounted {
            report_skip("loop", "a small volume", "no loop devices, or not allowed to mount");
        }
        mounted.then_some(volume)
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("mounted")
    }
}

impl Drop for SmallVolume {
    fn drop(&mut self) {
        run("umount", &["-l", self.path().to_str().unwrap()]);
    }
}

fn run(program: &str, arguments: &[&str]) -> bool {
    Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success())
}

/// More than fit into the small volumes.
const RECORDS: u64 = 300_000;

#[test]
fn a_full_volume_is_said_and_nothing_is_lost() {
    let Some(volume) = SmallVolume::mount(24) else { return };
    let both = [Durability::Async, Durability::Commit];
    for (durability, pack) in both.into_iter().flat_map(|each| [(each, 1), (each, 64)]) {
        let dir =
            volume.path().join(format!("{durability}-{pack}", durability = durability.as_str()));
        std::fs::create_dir(&dir).unwrap();
        let open = || {
            let options = options(durability, pack, Path::new(""));
            Direct::open(&Location::Directory(dir.clone()), &options, &shape(RECORDS, 1))
        };
        let engine = open().unwrap();
        let mut session = engine.session().unwrap();
        let mut put = |number: &u64| session.put(&key(*number), &value(*number, 1));
        let (full, error) = (0..RECORDS)
            .step_by(pack as usize)
            .find_map(|number| put(&number).err().map(|error| (number, error)))
            .unwrap();
        drop(session);
        assert_eq!(error.class, ErrorClass::Full, "{error}");
        assert!(full > 500, "{full} records fitted");
        let all = |engine: &Direct, from: u64, to: u64| {
            (from..to)
                .step_by(pack as usize)
                .for_each(|first| assert_all(engine, first..first + 1, 1));
        };
        all(&engine, 0, full);
        // What has its room already can still be written.
        put_all(&engine, 0..10, 2);
        engine.close().unwrap();
        let engine = open().unwrap();
        assert_all(&engine, 0..10, 2);
        all(&engine, pack * 10, full);
        assert_eq!(get(&mut engine.session().unwrap(), full), Ok(None));
        engine.close().unwrap();
        std::fs::remove_dir_all(&dir).unwrap();
    }
}

/// A file stands in for a device, on a volume that another file fills: the journal, which has its
/// room, takes the image, and the write in place fails.
#[test]
fn a_commit_that_cannot_be_placed_stops_the_store_and_is_placed_later() {
    let Some(volume) = SmallVolume::mount(16) else { return };
    let (path, filler) = (volume.path().join("device"), volume.path().join("filler"));
    File::create_new(&path).unwrap().set_len(8 << 20).unwrap();
    let options = options(Durability::Commit, 1, Path::new(""));
    let open = || Direct::open(&Location::Device(path.clone()), &options, &shape(500, 1));
    let engine = open().unwrap();
    put_all(&engine, 0..10, 1);
    let mut zeros = std::io::repeat(0);
    std::io::copy(&mut zeros, &mut File::create_new(&filler).unwrap()).unwrap_err();
    let mut session = engine.session().unwrap();
    session.put(&key(400), &value(400, 1)).unwrap_err();
    session.put(&key(5), &value(5, 2)).unwrap_err();
    assert_eq!(get(&mut session, 5), Ok(Some(value(5, 1))), "lookups go on");
    drop(session);
    engine.close().unwrap_err();
    std::fs::remove_file(&filler).unwrap();
    let engine = open().unwrap();
    assert_all(&engine, 0..10, 1);
    assert_all(&engine, 400..401, 1);
    put_all(&engine, 5..6, 2);
    engine.close().unwrap();
}

/// A copy that refuses a write is given up with an event; the store continues with the other.
#[test]
fn a_full_mirror_is_given_up() {
    let Some(volume) = SmallVolume::mount(12) else { return };
    let mut bench = Bench::new(Durability::Async, 1, false);
    bench.shape.records_max = 4000;
    let options = options(Durability::Async, 1, &volume.path());
    let engine =
        Direct::open(&Location::Directory(bench.store_dir()), &options, &bench.shape).unwrap();
    put_all(&engine, 0..4000, 1);
    assert_all(&engine, 0..4000, 1);
    assert_eq!(engine.counters()["copies_in_use"], Value::Integer(1));
    assert_eq!(event_texts(&engine, "copies_given_up").len(), 1);
    engine.close().unwrap();
    // Alone now, and newer than the copy that was given up.
    assert_all(&bench.open().unwrap(), 0..4000, 1);
}

fn stand_in(dir: &TempDir, bytes: u64) -> PathBuf {
    let path = dir.path().join("device");
    File::create_new(&path).unwrap().set_len(bytes).unwrap();
    path
}

fn open_device(path: &Path) -> kvdyno_engine::Result<Direct> {
    let options = options(Durability::Async, 16, Path::new(""));
    Direct::open(&Location::Device(path.to_owned()), &options, &shape(1000, 1))
}

#[test]
fn a_device_with_something_else_on_it_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = stand_in(&dir, 64 << 20);
    if !run("mkfs.ext4", &["-q", "-F", path.to_str().unwrap()]) {
        report_skip("mkfs", "a_device_with_something_else_on_it_is_refused", "no mkfs.ext4");
        return;
    }
    let before = std::fs::read(&path).unwrap();
    let error = open_device(&path).unwrap_err();
    assert_eq!(error.class, ErrorClass::Invalid);
    assert!(std::fs::read(&path).unwrap() == before, "it was written");
}

/// What an earlier owner left past the first MiB must not be read as blocks.
#[test]
fn a_device_that_was_given_up_is_emptied() {
    let dir = tempfile::tempdir().unwrap();
    let path = stand_in(&dir, 0);
    std::fs::write(&path, [vec![0; 1 << 20], vec![0xee; 15 << 20]].concat()).unwrap();
    let engine = open_device(&path).unwrap();
    assert_eq!(get(&mut engine.session().unwrap(), 7), Ok(None));
    put_all(&engine, 0..1000, 1);
    engine.close().unwrap();
    assert_eq!(path.metadata().unwrap().len(), 16 << 20, "its length is given");
    assert_all(&open_device(&path).unwrap(), 0..1000, 1);
}

#[test]
fn a_device_that_is_too_small_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let error = open_device(&stand_in(&dir, 5 << 20)).unwrap_err();
    assert_eq!(error.class, ErrorClass::Full);
}
