//! Tests of swap that switch none on; the others are in `soak`.

mod soak;

use super::*;
use crate::testing::Fake;
use crate::testing::{again_as_nobody, disk_dir, is_nobody, needs_root, report_skip};
use std::os::unix::fs::FileExt as _;

const MIB: u64 = 1 << 20;

/// The machine would stand still: memory that is short would be swapped to memory.
#[test]
fn an_image_in_memory_is_refused() {
    let shared = Path::new("/dev/shm");
    if !shared.exists() || Storage::from_path(&Root::system(), shared).unwrap().kind() != "tmpfs" {
        return report_skip("shm", "an_image_in_memory_is_refused", "/dev/shm is no tmpfs here");
    }
    let memory = Memory::Swap { path: None, bytes: MIB, swappiness: 60 };
    let spec = SwapSpec { memory, dir: shared.to_owned(), owner: std::process::id() };
    let error = Swap::make(&Root::system(), &spec).unwrap_err().to_string();
    assert!(error.starts_with("no swap on an image in /dev/shm, which is tmpfs"), "{error}");
}

#[test]
fn files_that_are_swapped_to_are_not_looked_at() {
    let fake = Fake::new().file(
        "/proc/swaps",
        "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n\
         /swap.img                               file\t\t8388604\t\t52\t\t-2\n\
         /dev/zram1                              partition\t65532\t\t7\t\t32767\n",
    );
    assert_eq!(mount::swaps(&fake.root), [(PathBuf::from("/dev/zram1"), 7)].into());
}

/// The device was free when it was checked; then another process opened it first.
#[test]
fn a_device_that_others_have_come_to_hold_is_left_as_it_is() {
    let test = "a_device_that_others_have_come_to_hold_is_left_as_it_is";
    let Some(dir) = disk_dir(test) else { return };
    if !needs_root(test) {
        return;
    }
    let image = image::make(dir.path(), MIB).unwrap();
    let Ok(device) = LoopDevice::attach(&image) else {
        return report_skip("loop", test, "no loop device");
    };
    let holder = raw::open_to_write(&device.path()).unwrap();
    holder.write_all_at(b"precious", 0).unwrap();
    let memory = Memory::Swap { path: Some(device.path()), bytes: MIB, swappiness: 60 };
    let spec = SwapSpec { memory, dir: PathBuf::new(), owner: std::process::id() };
    let error = Swap::make(&Root::system(), &spec).unwrap_err().to_string();
    assert!(error.starts_with("failed to make swap of /dev/loop"), "{error}");
    let mut content = [0; 8];
    holder.read_exact_at(&mut content, 0).unwrap();
    assert_eq!(&content, b"precious");
}

#[test]
fn what_a_host_does_not_have_is_refused_with_what_would_help() {
    let test = "swap::tests::what_a_host_does_not_have_is_refused_with_what_would_help";
    let zram = Memory::Zram { bytes: MIB, swappiness: 60 };
    if is_nobody() {
        let message = check(&Root::system(), &zram).unwrap_err().to_string();
        assert_eq!(message, "switching swap on needs root; run as root");
        return;
    }
    again_as_nobody(test);
    if !needs_root(test) {
        return;
    }
    let reason = |root: &Root, memory: &Memory| check(root, memory).unwrap_err().reason;
    let fake = crate::group::testing::hybrid();
    assert!(reason(&fake.root, &zram).starts_with("this kernel has no swap"));
    let fake = fake.file("/proc/swaps", "Filename\n");
    assert!(reason(&fake.root, &zram).starts_with("this kernel has no zram here"));
    let image = Memory::Swap { path: None, bytes: MIB, swappiness: 60 };
    assert!(reason(&fake.root, &image).starts_with("this kernel has no loop devices here"));
    let none = PathBuf::from("/dev/kvdyno-none");
    let device = Memory::Swap { path: Some(none), bytes: MIB, swappiness: 60 };
    assert_eq!(reason(&fake.root, &device), "/dev/kvdyno-none is not a block device");
    let fake = Fake::new().file("/proc/swaps", "Filename\n");
    assert!(reason(&fake.root, &zram).starts_with("without a RAM limit nothing would be swapped"));
    check(&fake.root, &Memory::Dram).unwrap();
}
