//! Swap of each kind for real, where this machine allows it: a process larger than its limit lives
//! on, what it swapped is counted, and nothing is left.

use super::*;
use crate::device::Device;
use crate::leftovers::{sweep, take_back};
use crate::testing::Fake;
use crate::testing::{again_as_nobody, disk_folder, is_asked_for, is_nobody, needs_root, skipped};
use crate::{Child, Group};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::process::Command;

const MIB: u64 = 1 << 20;

/// The turn of one test on this machine, whichever program it is of (`program/tiers.rs` waits for
/// the same): of two areas at once each would have pages of the other's group. None where such
/// swap is not asked for, or not to be had.
fn turn(test: &str, root: &Root, memory: &Memory) -> Option<File> {
    if !is_asked_for("swap", test) {
        return None;
    }
    if let Err(unavailable) = check(root, memory) {
        skipped("swap", test, &unavailable.to_string());
        return None;
    }
    let file = File::create(std::env::temp_dir().join("kvdyno-swap-tests.lock")).unwrap();
    file.lock().unwrap();
    Some(file)
}

fn swaps() -> String {
    std::fs::read_to_string("/proc/swaps").unwrap()
}

/// 60 MiB in a group of 32 and 64 of swap, on what is wanted.
fn assert_holds(test: &str, memory: Memory, folder: &Path) {
    let root = Root::system();
    let Some(_alone) = turn(test, &root, &memory) else { return };
    let owner = std::process::id();
    let wanted = SwapSpec { memory, folder: folder.to_owned(), owner };
    let swap = Swap::on(&root, &wanted).unwrap().unwrap();
    let path = swap.backing.path();
    let name = path.display().to_string();
    assert!(swaps().contains(&format!("{name} ")), "{}", swaps());
    let number = std::fs::metadata(&path).unwrap().rdev();
    let number = (rustix::fs::major(number), rustix::fs::minor(number));
    let device = Device::find(&root, number).unwrap();
    let before = device.usage(&root).unwrap();

    let group = Group::create(&root, test, 32 * MIB).unwrap();
    group.allow_swap(64 * MIB, 100).unwrap();
    let mut command = Command::new("dd");
    // Not of zeros: those the kernel only remembers.
    command.args(["if=/dev/urandom", "of=/dev/null", "bs=60M", "count=2", "iflag=fullblock"]);
    let exit = Child::spawn(command, Some(&group)).unwrap().wait().unwrap();
    assert!(exit.is_success(), "{exit:?}");
    let usage = group.usage().unwrap();
    assert_eq!(usage.oom_kills, 0);
    assert!(usage.memory_peak_bytes.unwrap() <= 32 * MIB, "{usage:?}");
    let after = device.usage(&root).unwrap();
    assert!(after.write_bytes - before.write_bytes >= 20 * MIB, "{before:?} {after:?}");
    assert!(after.read_bytes > before.read_bytes, "{before:?} {after:?}");
    group.remove().unwrap();

    assert_eq!(area::owner(&File::open(&path).unwrap()), Some(Owner::of(&root, owner)));
    assert!(!sweep(&root).contains(&path), "its maker lives");
    let record = swap.remove().unwrap();
    assert_eq!(record.bytes, 64 * MIB);
    assert_eq!(record.device, device.name);
    assert!(!swaps().contains(&format!("{name} ")), "{}", swaps());
    if record.compression.is_some() {
        assert!(record.memory_peak_bytes.unwrap() > 0);
        assert!(!path.exists(), "the zram device is gone");
    }
}

#[test]
fn an_image_of_ours() {
    let Some(folder) = disk_folder("an_image_of_ours") else { return };
    let memory = Memory::Swap { path: None, bytes: 64 * MIB, swappiness: 100 };
    assert_holds("an_image_of_ours", memory, folder.path());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn compressed_memory() {
    let memory = Memory::Zram { bytes: 64 * MIB, swappiness: 100 };
    assert_holds("compressed_memory", memory, Path::new("/"));
}

#[test]
fn a_given_device_is_left_blank() {
    let test = "a_given_device_is_left_blank";
    let Some(folder) = disk_folder(test) else { return };
    if !needs_root(test) {
        return;
    }
    let image = image::make(folder.path(), 64 * MIB).unwrap();
    let Ok(device) = LoopDevice::attach(&image) else {
        return skipped("loop", test, "no loop device");
    };
    let memory = |bytes| Memory::Swap { path: Some(device.path()), bytes, swappiness: 100 };
    let reason = check(&Root::system(), &memory(65 * MIB)).unwrap_err().reason;
    assert!(reason.ends_with("has 67108864 bytes, and 68157440 are asked for"), "{reason}");
    assert_holds(test, memory(64 * MIB), folder.path());
    assert_eq!(area::owner(&File::open(device.path()).unwrap()), None);
}

/// The machine would stand still: memory that is short would be swapped to memory.
#[test]
fn an_image_in_memory_is_refused() {
    let shared = Path::new("/dev/shm");
    if !shared.exists() || Storage::at(&Root::system(), shared).unwrap().kind() != "tmpfs" {
        return skipped("shm", "an_image_in_memory_is_refused", "/dev/shm is no tmpfs here");
    }
    let memory = Memory::Swap { path: None, bytes: MIB, swappiness: 60 };
    let wanted = SwapSpec { memory, folder: shared.to_owned(), owner: std::process::id() };
    let error = Swap::on(&Root::system(), &wanted).unwrap_err().to_string();
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

/// It was looked at and was free; then somebody was faster.
#[test]
fn a_device_that_others_have_come_to_hold_is_left_as_it_is() {
    let test = "a_device_that_others_have_come_to_hold_is_left_as_it_is";
    let Some(folder) = disk_folder(test) else { return };
    if !needs_root(test) {
        return;
    }
    let image = image::make(folder.path(), MIB).unwrap();
    let Ok(device) = LoopDevice::attach(&image) else {
        return skipped("loop", test, "no loop device");
    };
    let theirs = raw::open_to_write(&device.path()).unwrap();
    theirs.write_all_at(b"precious", 0).unwrap();
    let memory = Memory::Swap { path: Some(device.path()), bytes: MIB, swappiness: 60 };
    let wanted = SwapSpec { memory, folder: PathBuf::new(), owner: std::process::id() };
    let error = Swap::on(&Root::system(), &wanted).unwrap_err().to_string();
    assert!(error.starts_with("failed to make swap of /dev/loop"), "{error}");
    let mut there = [0; 8];
    theirs.read_exact_at(&mut there, 0).unwrap();
    assert_eq!(&there, b"precious");
}

/// Its maker was killed, and the undertaker too.
#[test]
fn what_the_dead_left_is_swept() {
    let test = "what_the_dead_left_is_swept";
    let (root, memory) = (Root::system(), Memory::Zram { bytes: 4 * MIB, swappiness: 60 });
    let Some(_alone) = turn(test, &root, &memory) else { return };
    // No process has a number so high.
    let wanted = SwapSpec { memory, folder: PathBuf::new(), owner: 9_999_999 };
    let swap = Swap::on(&root, &wanted).unwrap().unwrap();
    let path = swap.backing.path();
    std::mem::forget(swap);
    assert!(!take_back(&root).contains(&path), "it is another's");
    assert!(sweep(&root).contains(&path));
    assert!(!path.exists() && !swaps().contains(path.to_str().unwrap()));
}

/// The whole machine swaps to it while it is there.
#[test]
fn what_others_have_in_swap_of_the_dead_comes_back() {
    let test = "what_others_have_in_swap_of_the_dead_comes_back";
    let (root, memory) = (Root::system(), Memory::Zram { bytes: 8 * MIB, swappiness: 60 });
    let Some(_alone) = turn(test, &root, &memory) else { return };
    let swap = SwapSpec { memory, folder: PathBuf::new(), owner: 9_999_999 };
    let swap = Swap::on(&root, &swap).unwrap().unwrap();
    let path = swap.backing.path();
    std::mem::forget(swap);
    let mut ours = memmap2::MmapMut::map_anon(4 * MIB as usize).unwrap();
    ours.fill(7);
    let (start, length) = (ours.as_mut_ptr().cast(), ours.len());
    #[expect(unsafe_code, reason = "rustix has madvise so")]
    // SAFETY: the mapping is this one, whole; what is paged out comes back as it was.
    unsafe {
        rustix::mm::madvise(start, length, rustix::mm::Advice::LinuxPageOut).unwrap();
    };
    let used = || crate::mount::swaps(&root).get(&path).copied();
    assert!(used() > Some(0), "nothing was swapped: {}", swaps());
    assert!(sweep(&root).contains(&path));
    assert_eq!(used(), None);
    assert!(ours.iter().all(|&byte| byte == 7));
}

/// The undertaker was killed, and its maker goes on.
#[test]
fn what_our_undertaker_left_is_taken_away() {
    let test = "what_our_undertaker_left_is_taken_away";
    let (root, memory) = (Root::system(), Memory::Zram { bytes: 4 * MIB, swappiness: 60 });
    let Some(_alone) = turn(test, &root, &memory) else { return };
    let wanted = SwapSpec { memory, folder: PathBuf::new(), owner: std::process::id() };
    let swap = Swap::on(&root, &wanted).unwrap().unwrap();
    let path = swap.backing.path();
    std::mem::forget(swap);
    assert!(take_back(&root).contains(&path));
    assert!(!path.exists() && !swaps().contains(path.to_str().unwrap()));
}

#[test]
fn what_a_host_does_not_have_is_refused_with_what_would_help() {
    let test = "swap::tests::what_a_host_does_not_have_is_refused_with_what_would_help";
    let zram = Memory::Zram { bytes: MIB, swappiness: 60 };
    if is_nobody() {
        let told = check(&Root::system(), &zram).unwrap_err().to_string();
        assert_eq!(told, "switching swap on needs root; run as root");
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
    assert_eq!(reason(&fake.root, &device), "/dev/kvdyno-none is no block device");
    let fake = Fake::new().file("/proc/swaps", "Filename\n");
    assert!(reason(&fake.root, &zram).starts_with("without a RAM limit nothing would be swapped"));
    check(&fake.root, &Memory::Dram).unwrap();
}
