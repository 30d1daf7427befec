//! Tests of volumes on this machine's own loop devices, as root.

use super::*;
use crate::device::Device;
use crate::raw;
use crate::testing::{disk_dir, needs_root, report_skip};
use kvdyno_record::volume::FilesystemKind;
use std::io::Write;
use std::os::unix::fs::FileExt as _;
use std::time::{Duration, Instant};

const MIB: u64 = 1 << 20;

fn filesystem(filesystem: FilesystemKind, mkfs: &[&str], mount: &[&str]) -> Format {
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
    Format::Filesystem { filesystem, mkfs: words(mkfs), mount: words(mount) }
}

fn spec<'a>(format: &'a Format, dir: &'a Path) -> VolumeSpec<'a> {
    VolumeSpec { name: "it", format, dir }
}

/// Returns a directory if the machine has what a test of volumes needs. The thread is then in a
/// mount namespace of its own.
fn set_up(test: &str, kind: Option<FilesystemKind>) -> Option<tempfile::TempDir> {
    if !needs_root(test) {
        return None;
    }
    if let Some(Err(error)) = kind.map(filesystem::find_tool) {
        report_skip("mkfs", test, &error.to_string());
        return None;
    }
    namespace::enter(&[]).unwrap();
    disk_dir(test)
}

/// Returns the loop devices whose image lies in this directory.
fn loops_in(dir: &Path) -> Vec<String> {
    let root = Root::system();
    let file = |name: &String| root.text(format!("/sys/block/{name}/loop/backing_file"));
    let has_image_here = |name: &String| file(name).is_some_and(|path| path.contains(&shown(dir)));
    root.names("/sys/block").into_iter().filter(has_image_here).collect()
}

fn shown(dir: &Path) -> String {
    dir.canonicalize().unwrap().display().to_string()
}

/// Makes and mounts a filesystem, writes to it, and checks that it is gone afterwards. Returns its
/// mount options.
fn round_trip(test: &str, kind: FilesystemKind, mkfs: &[&str], mount: &[&str]) -> Option<String> {
    let dir = set_up(test, Some(kind))?;
    let root = Root::system();
    let format = filesystem(kind, mkfs, mount);
    let fresh = Fresh::make_on_loop(&root, spec(&format, dir.path()), 320 * MIB).unwrap();
    let record = fresh.record().clone();
    let image = record.image.as_ref().unwrap();
    assert!(image.direct_io && image.bytes == 320 * MIB, "{image:?}");
    let Location::Directory(data) = fresh.location().clone() else {
        panic!("{:?}", fresh.location())
    };
    assert_eq!(fs::read_dir(&data).unwrap().count(), 0);
    let volume = Storage::from_path(&root, &data).unwrap();
    let device: Device = volume.device.unwrap();
    assert_eq!(Some(&device.name), record.device.as_ref());
    let before = device.usage(&root).unwrap();
    let mut file = fs::File::create(data.join("file")).unwrap();
    file.write_all(&vec![0x5a; 8 << 20]).unwrap();
    file.sync_all().unwrap();
    drop(file);
    let after = device.usage(&root).unwrap();
    assert!(after.write_bytes - before.write_bytes >= 8 * MIB, "{before:?} {after:?}");
    assert!(after.flushes > before.flushes);
    let mounted = record.filesystem.unwrap();
    assert_eq!(mounted.kind, kind.as_str());
    let outside = fs::read_to_string("/proc/1/mountinfo").unwrap_or_default();
    assert!(!outside.contains(&shown(dir.path())), "others see it");
    assert_eq!(loops_in(dir.path()), [record.device.unwrap()]);
    fresh.remove().unwrap();
    assert_eq!(left_in(dir.path()), Vec::<String>::new());
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    Some(mounted.options)
}

/// Returns the loop devices left after a moment: a process that looks at all devices may hold one a
/// little longer.
fn left_in(dir: &Path) -> Vec<String> {
    let deadline = Instant::now() + Duration::from_secs(5);
    loop {
        let loops = loops_in(dir);
        if loops.is_empty() || Instant::now() > deadline {
            return loops;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn ext4() {
    let Some(options) = round_trip("ext4", FilesystemKind::Ext4, &[], &[]) else { return };
    assert!(options.contains("noatime"), "{options}");
}

#[test]
fn ext4_without_journal() {
    let mkfs = ["-O", "^has_journal"];
    round_trip("ext4_without_journal", FilesystemKind::Ext4, &mkfs, &[]);
}

#[test]
fn ext4_with_data_in_no_order() {
    let mount = ["data=writeback"];
    let options = round_trip("ext4_with_data_in_no_order", FilesystemKind::Ext4, &[], &mount);
    assert!(options.is_none_or(|options| options.contains("data=writeback")));
}

#[test]
fn xfs() {
    round_trip("xfs", FilesystemKind::Xfs, &[], &[]);
}

#[test]
fn btrfs() {
    let options = round_trip("btrfs", FilesystemKind::Btrfs, &[], &[]);
    assert!(options.is_none_or(|options| !options.contains(",discard")));
}

#[test]
fn a_raw_device() {
    let Some(dir) = set_up("a_raw_device", None) else { return };
    let root = Root::system();
    let fresh = Fresh::make_on_loop(&root, spec(&Format::Raw, dir.path()), 8 * MIB).unwrap();
    let Location::Device(path) = fresh.location().clone() else { panic!("{:?}", fresh.location()) };
    fs::OpenOptions::new().write(true).open(path).unwrap().write_all(&[1; 4096]).unwrap();
    assert!(fresh.record().commands.is_empty());
    fresh.remove().unwrap();
    assert_eq!(left_in(dir.path()), Vec::<String>::new());
}

#[test]
fn what_mkfs_and_mount_refuse_leaves_nothing() {
    let test = "what_mkfs_and_mount_refuse_leaves_nothing";
    let Some(dir) = set_up(test, Some(FilesystemKind::Ext4)) else { return };
    let make = |mkfs: &[&str], mount: &[&str]| {
        let format = filesystem(FilesystemKind::Ext4, mkfs, mount);
        let fresh = Fresh::make_on_loop(&Root::system(), spec(&format, dir.path()), 16 * MIB);
        fresh.unwrap_err().to_string()
    };
    let text = make(&["-O", "nonsense"], &[]);
    assert!(text.contains("mkfs.ext4") && text.contains("nonsense"), "{text}");
    let text = make(&[], &["nonsense=1"]);
    assert!(text.contains("failed to mount /dev/loop") && text.contains("nonsense=1"), "{text}");
    assert_eq!(left_in(dir.path()), Vec::<String>::new());
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

/// The device was free when it was checked; then another process opened it first.
#[test]
fn a_device_that_others_have_come_to_hold_is_left_as_it_is() {
    let test = "a_device_that_others_have_come_to_hold_is_left_as_it_is";
    let Some(dir) = set_up(test, Some(FilesystemKind::Ext4)) else { return };
    let (root, format) = (Root::system(), filesystem(FilesystemKind::Ext4, &[], &[]));
    let image = image::make(dir.path(), 16 * MIB).unwrap();
    let device = LoopDevice::attach(&image).unwrap();
    let holder = raw::open_to_write(&device.path()).unwrap();
    holder.write_all_at(b"precious", 0).unwrap();
    let volume = spec(&format, dir.path());
    let refused = Fresh::make_on_device(&root, volume, &device.path(), true, "kvdyno-abcde");
    assert!(refused.unwrap_err().to_string().contains("busy"));
    let mut content = [0; 8];
    holder.read_exact_at(&mut content, 0).unwrap();
    assert_eq!(&content, b"precious");
}

/// An open file keeps the volume busy: the error says so, and the mount is off the tree anyway.
#[test]
fn a_busy_volume_goes_with_its_last_user() {
    let test = "a_busy_volume_goes_with_its_last_user";
    let Some(dir) = set_up(test, Some(FilesystemKind::Ext4)) else { return };
    let format = filesystem(FilesystemKind::Ext4, &[], &[]);
    let fresh = Fresh::make_on_loop(&Root::system(), spec(&format, dir.path()), 16 * MIB).unwrap();
    let Location::Directory(data) = fresh.location().clone() else {
        panic!("{:?}", fresh.location())
    };
    let file = fs::File::create(data.join("file")).unwrap();
    let text = fresh.remove().unwrap_err().to_string();
    assert!(text.contains("disappears when the last process"), "{text}");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "it is off the tree");
    assert_eq!(loops_in(dir.path()).len(), 1);
    drop(file);
    assert_eq!(left_in(dir.path()), Vec::<String>::new());
}
