//! Swap switched on for real, on this machine: a process larger than its limit lives on, what it
//! swapped is counted, and nothing is left.

use super::{MIB, *};
use crate::device::Device;
use crate::leftovers::{remove_own_swap, sweep};
use crate::{Child, Group};
use std::os::unix::fs::MetadataExt as _;
use std::process::Command;

/// Takes the lock that lets one test at a time run on this machine, whichever program it is of
/// (`program/tiers.rs` waits for the same): of two areas at once each would have pages of the
/// other's group. `None`: there can be no such swap.
fn turn(test: &str, root: &Root, memory: &Memory) -> Option<File> {
    if let Err(unavailable) = check(root, memory) {
        report_skip("swap", test, &unavailable.to_string());
        return None;
    }
    let file = File::create(std::env::temp_dir().join("kvdyno-swap-tests.lock")).unwrap();
    file.lock().unwrap();
    Some(file)
}

fn swaps() -> String {
    std::fs::read_to_string("/proc/swaps").unwrap()
}

/// Asserts that a process with 60 MiB lives in a group of 32 MiB with 64 MiB of such swap.
fn assert_holds(test: &str, memory: Memory, dir: &Path) {
    let root = Root::system();
    let Some(_alone) = turn(test, &root, &memory) else { return };
    let owner = std::process::id();
    let spec = SwapSpec { memory, dir: dir.to_owned(), owner };
    let swap = Swap::make(&root, &spec).unwrap().unwrap();
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
    // Random data: of zeros the kernel stores no pages.
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

    assert_eq!(area::owner(&File::open(&path).unwrap()), Some(Owner::read(&root, owner)));
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
#[ignore = "calls swapon on this machine: `make soak`"]
fn an_image_of_ours() {
    let Some(dir) = disk_dir("an_image_of_ours") else { return };
    let memory = Memory::Swap { path: None, bytes: 64 * MIB, swappiness: 100 };
    assert_holds("an_image_of_ours", memory, dir.path());
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
#[ignore = "calls swapon on this machine: `make soak`"]
fn compressed_memory() {
    let memory = Memory::Zram { bytes: 64 * MIB, swappiness: 100 };
    assert_holds("compressed_memory", memory, Path::new("/"));
}

#[test]
#[ignore = "calls swapon on this machine: `make soak`"]
fn a_given_device_is_left_blank() {
    let test = "a_given_device_is_left_blank";
    let Some(dir) = disk_dir(test) else { return };
    if !needs_root(test) {
        return;
    }
    let image = image::make(dir.path(), 64 * MIB).unwrap();
    let Ok(device) = LoopDevice::attach(&image) else {
        return report_skip("loop", test, "no loop device");
    };
    let memory = |bytes| Memory::Swap { path: Some(device.path()), bytes, swappiness: 100 };
    let reason = check(&Root::system(), &memory(65 * MIB)).unwrap_err().reason;
    assert!(reason.ends_with("expected 68157440 bytes, found 67108864"), "{reason}");
    assert_holds(test, memory(64 * MIB), dir.path());
    assert_eq!(area::owner(&File::open(device.path()).unwrap()), None);
}

/// The swap's maker was killed, and the reaper too.
#[test]
#[ignore = "calls swapon on this machine: `make soak`"]
fn what_the_dead_left_is_swept() {
    let test = "what_the_dead_left_is_swept";
    let (root, memory) = (Root::system(), Memory::Zram { bytes: 4 * MIB, swappiness: 60 });
    let Some(_alone) = turn(test, &root, &memory) else { return };
    // No process has a number so high.
    let spec = SwapSpec { memory, dir: PathBuf::new(), owner: 9_999_999 };
    let swap = Swap::make(&root, &spec).unwrap().unwrap();
    let path = swap.backing.path();
    std::mem::forget(swap);
    assert!(!remove_own_swap(&root).contains(&path), "it is another's");
    assert!(sweep(&root).contains(&path));
    assert!(!path.exists() && !swaps().contains(path.to_str().unwrap()));
}

/// The whole machine swaps to an area while it is on.
#[test]
#[ignore = "calls swapon on this machine: `make soak`"]
fn what_others_have_in_swap_of_the_dead_comes_back() {
    let test = "what_others_have_in_swap_of_the_dead_comes_back";
    let (root, memory) = (Root::system(), Memory::Zram { bytes: 8 * MIB, swappiness: 60 });
    let Some(_alone) = turn(test, &root, &memory) else { return };
    let swap = SwapSpec { memory, dir: PathBuf::new(), owner: 9_999_999 };
    let swap = Swap::make(&root, &swap).unwrap().unwrap();
    let path = swap.backing.path();
    std::mem::forget(swap);
    let mut pages = memmap2::MmapMut::map_anon(4 * MIB as usize).unwrap();
    pages.fill(7);
    let (start, length) = (pages.as_mut_ptr().cast(), pages.len());
    #[expect(unsafe_code, reason = "rustix has madvise so")]
    // SAFETY: the mapping is this one, whole; what is paged out comes back as it was.
    unsafe {
        rustix::mm::madvise(start, length, rustix::mm::Advice::LinuxPageOut).unwrap();
    };
    let used = || crate::mount::swaps(&root).get(&path).copied();
    assert!(used() > Some(0), "nothing was swapped: {}", swaps());
    assert!(sweep(&root).contains(&path));
    assert_eq!(used(), None);
    assert!(pages.iter().all(|&byte| byte == 7));
}

/// The reaper was killed, and the swap's owner goes on.
#[test]
#[ignore = "calls swapon on this machine: `make soak`"]
fn what_our_reaper_left_is_taken_away() {
    let test = "what_our_reaper_left_is_taken_away";
    let (root, memory) = (Root::system(), Memory::Zram { bytes: 4 * MIB, swappiness: 60 });
    let Some(_alone) = turn(test, &root, &memory) else { return };
    let spec = SwapSpec { memory, dir: PathBuf::new(), owner: std::process::id() };
    let swap = Swap::make(&root, &spec).unwrap().unwrap();
    let path = swap.backing.path();
    std::mem::forget(swap);
    assert!(remove_own_swap(&root).contains(&path));
    assert!(!path.exists() && !swaps().contains(path.to_str().unwrap()));
}
