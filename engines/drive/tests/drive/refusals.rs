//! What the engine does not take, and a volume without room.

use super::{BLOCK, block, dir, io, load, open, options, shape};
use kvdyno_drive::{Drive, Ring, Setup};
use kvdyno_engine::{DataShape, Engine, ErrorClass, Location, Session, Value, Write};
use kvdyno_testing::report_skip;
use std::fs::File;
use std::path::Path;
use std::process::Command;

#[test]
fn keys_and_values_that_are_no_blocks_are_refused() {
    let dir = dir();
    let drive = open(dir.path(), &[], 64).unwrap();
    load(&drive, 64).unwrap();
    let mut session = drive.session().unwrap();
    for key in [&64_u64.to_be_bytes()[..], &[], &[1, 0, 0, 0, 0, 0, 0, 0, 0]] {
        let error = session.put(key, &block(1, 1)).unwrap_err();
        assert_eq!(error.class, ErrorClass::Invalid, "{error}");
    }
    for bytes in [0, BLOCK - 1, BLOCK + 1] {
        let error = session.put(&1_u64.to_be_bytes(), &vec![0; bytes]).unwrap_err();
        assert_eq!(error.class, ErrorClass::Invalid, "{error}");
    }
    session.submit_get(0, &1_u64.to_be_bytes()).unwrap();
    session.get(&1_u64.to_be_bytes(), |_| ()).unwrap_err();
}

#[test]
fn calls_that_wait_say_that_they_are_no_pipeline() {
    for calls in ["psync", "mmap"] {
        let dir = dir();
        let drive = open(dir.path(), &[io(calls)], 64).unwrap();
        load(&drive, 64).unwrap();
        let mut session = drive.session().unwrap();
        let error = session.submit_get(0, &1_u64.to_be_bytes()).unwrap_err();
        assert_eq!(error.class, ErrorClass::Unsupported);
        assert!(error.message.contains(&format!("io = {calls}")), "{error}");
    }
}

#[test]
fn what_was_opened_for_reading_is_not_written() {
    let read_only = ("read_only", Value::Boolean(true));
    let dir = dir();
    let error = open(dir.path(), std::slice::from_ref(&read_only), 64).unwrap_err();
    assert_eq!(error.class, ErrorClass::Invalid);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "a file was made");
    load(&open(dir.path(), &[], 64).unwrap(), 64).unwrap();
    let key = 5_u64.to_be_bytes();
    for calls in ["io_uring", "psync", "mmap"] {
        let drive = open(dir.path(), &[io(calls), read_only.clone()], 64).unwrap();
        let mut session = drive.session().unwrap();
        let write = Write::Put { key: &key, value: &block(5, 1) };
        for refused in [
            session.put(&key, &block(5, 1)),
            session.write(&[write]),
            session.submit_put(0, &key, &block(5, 1)),
        ] {
            let error = refused.unwrap_err();
            assert_eq!(error.class, ErrorClass::Invalid, "{calls}: {error}");
        }
        assert!(session.get(&key, |value| value == Some(&block(5, 0)[..])).unwrap());
        drop(session);
        drive.close().unwrap();
    }
}

#[test]
fn options_and_shapes_that_do_not_fit_are_refused() {
    let yes = Value::Boolean(true);
    let refused = |words: &[(&str, Value)], shape: DataShape| {
        let dir = dir();
        let location = Location::Directory(dir.path().to_owned());
        Drive::open(&location, &options(words), &shape).unwrap_err().message
    };
    let message = refused(&[io("psync"), ("sqpoll", yes.clone())], shape(64));
    assert!(message.contains("io = io_uring"), "{message}");
    let message = refused(&[("iopoll", yes), ("direct", Value::Boolean(false))], shape(64));
    assert!(message.contains("direct = true"), "{message}");
    refused(&[], DataShape { records_max: 65, ..shape(64) });
    refused(&[], DataShape { value_bytes_mean: 4000, ..shape(64) });
    let odd = DataShape { value_bytes_mean: 1000, value_bytes_max: 1000, ..shape(64) };
    assert!(refused(&[], odd).contains("1000"));
}

/// A small volume in memory; nothing where this process may not mount.
struct Volume(tempfile::TempDir);

impl Volume {
    fn new(bytes: u64) -> Option<Self> {
        let dir = dir();
        let size = format!("size={bytes}");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &size, "kvdyno-drive-test"]).arg(dir.path());
        let mounted = mount.status().is_ok_and(|status| status.success());
        if !mounted {
            report_skip("mount", "a small volume", "it cannot be mounted");
        }
        mounted.then(|| Self(dir))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Volume {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.path()).status();
    }
}

#[test]
fn a_volume_without_room_is_full_before_anything_is_loaded() {
    let Some(volume) = Volume::new(1 << 20) else { return };
    let error = open(volume.path(), &[("direct", Value::Boolean(false))], 1024).unwrap_err();
    assert_eq!(error.class, ErrorClass::Full, "{error}");
    assert_eq!(std::fs::read_dir(volume.path()).unwrap().count(), 0, "the file is left behind");
}

/// Where no room can be taken beforehand, the write that finds none says so.
#[test]
fn a_write_without_room_is_full() {
    let Some(volume) = Volume::new(1 << 20) else { return };
    let path = volume.path().join("drive");
    File::create_new(&path).unwrap().set_len(4 << 20).unwrap();
    for calls in ["io_uring", "psync"] {
        let location = Location::Device(path.clone());
        let words = [io(calls), ("direct", Value::Boolean(false))];
        let drive = Drive::open(&location, &options(&words), &shape(1024)).unwrap();
        let error = load(&drive, 1024).unwrap_err();
        assert_eq!(error.class, ErrorClass::Full, "{error}");
    }
}

#[test]
fn a_ring_names_the_operation_that_failed() {
    let dir = dir();
    let path = dir.path().join("read-only");
    File::create_new(&path).unwrap().set_len(1 << 20).unwrap();
    let mut ring = Ring::new(&[File::open(&path).unwrap()], &Setup::default()).unwrap();
    ring.write(0, 0, 8192, BLOCK).unwrap();
    let mut answer = Ok(0);
    ring.complete(|_, result| answer = result).unwrap();
    let error = answer.unwrap_err();
    assert!(error.message.contains("write of 4096 bytes at 8192: Bad file"), "{error}");
}
