//! A block device: taken alone, and flushed where a write is to be durable. A loop device stands in
//! for a drive.

use super::{block, dir, io, load, options, shape};
use kvdyno_drive::Drive;
use kvdyno_engine::{Durability, Engine, Location, Session};
use kvdyno_testing::report_skip;
use std::fs::File;
use std::path::Path;
use std::process::Command;

/// A loop device of 16 MiB; nothing where this process may not make one.
struct Loop {
    device: String,
    _dir: tempfile::TempDir,
}

impl Loop {
    fn new() -> Option<Self> {
        let dir = dir();
        let image = dir.path().join("image");
        File::create_new(&image).unwrap().set_len(16 << 20).unwrap();
        let losetup = Command::new("losetup").args(["--find", "--show"]).arg(&image).output();
        let Some(output) = losetup.ok().filter(|output| output.status.success()) else {
            report_skip("loop", "a device", "no loop device can be made");
            return None;
        };
        let device = String::from_utf8(output.stdout).unwrap().trim().to_owned();
        Some(Self { device, _dir: dir })
    }

    fn place(&self) -> Location {
        Location::Device(self.device.clone().into())
    }

    /// Flushes that the device has answered (Documentation/block/stat.rst, the sixteenth number).
    fn flushes(&self) -> u64 {
        let name = Path::new(&self.device).file_name().unwrap().to_str().unwrap();
        let stat = std::fs::read_to_string(format!("/sys/block/{name}/stat")).unwrap();
        stat.split_whitespace().nth(15).unwrap().parse().unwrap()
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.device]).status();
    }
}

#[test]
fn a_device_is_taken_alone_and_not_beyond_its_end() {
    let Some(device) = Loop::new() else { return };
    let location = device.place();
    let first = Drive::open(&location, &options(&[]), &shape(64)).unwrap();
    load(&first, 64).unwrap();
    let right = |value: Option<&[u8]>| value == Some(&block(9, 0)[..]);
    assert!(first.session().unwrap().get(&9_u64.to_be_bytes(), right).unwrap());
    let error = Drive::open(&location, &options(&[]), &shape(64)).unwrap_err();
    assert!(error.message.contains("in use"), "{error}");
    first.close().unwrap();
    let error = Drive::open(&location, &options(&[]), &shape(4097)).unwrap_err();
    let both = ["16781312", "16777216"].map(|bytes| error.message.contains(bytes));
    assert_eq!(both, [true, true], "{error}");
}

#[test]
fn a_durable_write_is_flushed_and_another_is_not() {
    const WRITES: u64 = 40;
    let Some(device) = Loop::new() else { return };
    for calls in ["io_uring", "psync", "mmap"] {
        for (class, expected) in [(Durability::Async, 0), (Durability::Commit, WRITES)] {
            let mut options = options(&[io(calls)]);
            options.durability = class;
            let drive = Drive::open(&device.place(), &options, &shape(64)).unwrap();
            let mut session = drive.session().unwrap();
            let before = device.flushes();
            for number in 0..WRITES {
                session.put(&number.to_be_bytes(), &block(number, 5)).unwrap();
            }
            let flushes = device.flushes() - before;
            let what = format!("{calls}, {class:?}: {flushes} flushes for {WRITES} writes");
            assert!((flushes >= expected) && (expected > 0 || flushes == 0), "{what}");
            drop(session);
            drive.close().unwrap();
        }
    }
}
