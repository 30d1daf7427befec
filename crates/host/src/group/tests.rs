//! Groups of each kind: on trees of copies everywhere, and for real where this machine allows it.

use super::testing::{group_name, hybrid, v2_alone, v2_session};
use super::*;
use crate::cache::{self, residency};
use crate::child::Child;
use crate::testing::{again_as_nobody, disk_dir, is_nobody, report_skip, write_file};
use crate::{Root, Storage};
use std::process::Command;
use std::thread;
use std::time::Instant;

const MIB: u64 = 1 << 20;

#[test]
fn a_v1_group_is_made_limited_read_and_removed() {
    let fake = hybrid();
    let group = Group::create(&fake.root, "0001_lmdb", 64 * MIB).unwrap();
    let own_group = "/sys/fs/cgroup/memory/process_api/d5aec408";
    let directory = &format!("{own_group}/{}", group_name(4242, "0001_lmdb"));
    assert_eq!(fake.root.strip_base(group.directory()), Path::new(directory));
    assert_eq!(group.enforcer(), "cgroup v1");
    assert_eq!(fake.read(&format!("{directory}/memory.limit_in_bytes")), "67108864");
    assert_eq!(fake.read(&format!("{directory}/memory.memsw.limit_in_bytes")), "71303168");
    assert_eq!(fake.read(&format!("{directory}/memory.swappiness")), "0");
    let expected = GroupUsage {
        memory_bytes: 69632,
        memory_peak_bytes: Some(64 * MIB),
        file_bytes: 65536,
        anon_bytes: 4096,
        limit_hits: 795,
        oom_kills: 2,
        swap_bytes: Some(12288),
    };
    assert_eq!(group.usage().unwrap(), expected);
    join(group.procs_file()).unwrap();
    assert_eq!(fake.read(&format!("{directory}/cgroup.procs")), "0");
    group.remove().unwrap();
    assert!(!fake.root.path(directory).exists());
}

#[test]
fn a_v1_group_without_swap_accounting_is_made_all_the_same() {
    let fake = hybrid();
    std::fs::remove_file(fake.root.path("/new-group/memory.memsw.limit_in_bytes")).unwrap();
    let group = Group::create(&fake.root, "a", MIB).unwrap();
    assert!(!group.directory().join("memory.memsw.limit_in_bytes").exists());
    assert_eq!(group.check_limit(), Ok(()));
}

#[test]
fn a_v2_group_is_made_limited_read_and_removed() {
    let fake = v2_session();
    let group = Group::create(&fake.root, "a", 64 * MIB).unwrap();
    let directory = &format!("/sys/fs/cgroup/user.slice/user-1000.slice/{}", group_name(4242, "a"));
    assert_eq!(fake.root.strip_base(group.directory()), Path::new(directory));
    assert_eq!(group.enforcer(), "cgroup v2");
    assert_eq!(fake.read(&format!("{directory}/memory.max")), "67108864");
    assert_eq!(fake.read(&format!("{directory}/memory.swap.max")), "0");
    assert_eq!(fake.read(&format!("{directory}/memory.oom.group")), "1");
    let expected = GroupUsage {
        memory_bytes: 143_360,
        memory_peak_bytes: Some(64 * MIB),
        file_bytes: 131_072,
        anon_bytes: 4096,
        limit_hits: 19,
        oom_kills: 1,
        swap_bytes: None,
    };
    assert_eq!(group.usage().unwrap(), expected);
    assert_eq!(group.reclaim().unwrap(), 0);
    assert_eq!(fake.read(&format!("{directory}/memory.reclaim")), "143360");
    drop(group);
    assert!(!fake.root.path(directory).exists(), "a dropped group is removed");
}

#[test]
fn below_a_limit_there_is_swap_where_it_is_allowed() {
    let fake = hybrid();
    let group = Group::create(&fake.root, "a", 64 * MIB).unwrap();
    let allowed = group.allow_swap(36 * MIB, 100).unwrap();
    assert_eq!(allowed, Allowed { swappiness: Some(100), not_enforced: Vec::new() });
    let directory = group.directory().to_owned();
    let holds = |file: &str| std::fs::read_to_string(directory.join(file)).unwrap();
    assert_eq!(holds("memory.memsw.limit_in_bytes"), (100 * MIB).to_string());
    assert_eq!(holds("memory.swappiness"), "100");
    std::fs::remove_file(directory.join("memory.memsw.limit_in_bytes")).unwrap();
    let allowed = group.allow_swap(36 * MIB, 60).unwrap();
    assert!(allowed.not_enforced[0].ends_with("boot with swapaccount=1"), "{allowed:?}");

    let fake = v2_session().file("/proc/sys/vm/swappiness", "60\n");
    let group = Group::create(&fake.root, "a", 64 * MIB).unwrap();
    let allowed = group.allow_swap(36 * MIB, 60).unwrap();
    assert_eq!(allowed, Allowed { swappiness: Some(60), not_enforced: Vec::new() });
    let most = std::fs::read_to_string(group.directory().join("memory.swap.max")).unwrap();
    assert_eq!(most, (36 * MIB).to_string());
    let allowed = group.allow_swap(36 * MIB, 100).unwrap();
    assert_eq!(allowed.swappiness, Some(60));
    assert!(allowed.not_enforced[0].ends_with("sysctl vm.swappiness=100"), "{allowed:?}");
}

/// The group above is like that of a container without swap.
#[test]
fn a_group_above_that_allows_less_swap_is_named() {
    let note_of = |fake: &crate::testing::Fake| {
        let group = Group::create(&fake.root, "a", 64 * MIB).unwrap();
        group.allow_swap(36 * MIB, 60).unwrap().not_enforced
    };
    let slice = "/sys/fs/cgroup/user.slice";
    let fake = v2_session().file("/proc/sys/vm/swappiness", "60\n");
    let fake = fake.file(&format!("{slice}/memory.swap.max"), "0\n");
    let words = note_of(&fake);
    let expected = format!("expected 37748736 bytes of swap, found a limit of 0 on {slice}");
    assert!(words.len() == 1 && words[0].starts_with(&expected), "{words:?}");
    assert_eq!(note_of(&fake.file(&format!("{slice}/memory.swap.max"), "37748736\n")).len(), 0);

    let above = "/sys/fs/cgroup/memory/process_api";
    let both = format!("{above}/memory.memsw.limit_in_bytes");
    let words = note_of(&hybrid().file(&both, &(65 * MIB).to_string()));
    let expected = format!("found a limit of 1048576 on {above}");
    assert!(words.len() == 1 && words[0].contains(&expected), "{words:?}");
}

/// Swap that stays in memory is no swap: a v2 group switches zswap off, elsewhere it is reported.
#[test]
fn what_keeps_swapped_memory_compressed_is_switched_off_or_named() {
    let zswap = "/sys/module/zswap/parameters/enabled";
    let fake = hybrid().file(zswap, "Y\n");
    let note_of = |fake: &crate::testing::Fake| {
        let group = Group::create(&fake.root, "a", 64 * MIB).unwrap();
        group.allow_swap(MIB, 60).unwrap().not_enforced
    };
    let words = note_of(&fake);
    assert!(words.len() == 1 && words[0].ends_with(&format!("echo N > {zswap}")), "{words:?}");
    let fake = v2_session().file(zswap, "Y\n").file("/proc/sys/vm/swappiness", "60\n");
    assert_eq!(note_of(&fake), words);
    let fake = fake.file("/new-group/memory.zswap.max", "max\n");
    let group = Group::create(&fake.root, "a", 64 * MIB).unwrap();
    assert_eq!(group.allow_swap(MIB, 60).unwrap().not_enforced, Vec::<String>::new());
    let most = std::fs::read_to_string(group.directory().join("memory.zswap.max")).unwrap();
    assert_eq!(most, "0");
}

#[test]
fn a_v2_kernel_without_peak_and_swap_is_read_all_the_same() {
    let fake = v2_session();
    for file in ["memory.peak", "memory.swap.max", "memory.oom.group"] {
        std::fs::remove_file(fake.root.path(format!("/new-group/{file}"))).unwrap();
    }
    let group = Group::create(&fake.root, "a", MIB).unwrap();
    assert_eq!(group.usage().unwrap().memory_peak_bytes, None);
}

#[test]
fn alone_in_a_v2_group_we_move_into_a_leaf_first() {
    let fake = v2_alone();
    let group = Group::create(&fake.root, "a", MIB).unwrap();
    let path = |name| format!("/sys/fs/cgroup/{}", group_name(4242, name));
    assert_eq!(fake.read(&format!("{}/cgroup.procs", path("main"))), "4242");
    assert_eq!(fake.read("/sys/fs/cgroup/cgroup.subtree_control"), "+memory");
    assert_eq!(fake.root.strip_base(group.directory()), Path::new(&path("a")));
}

#[test]
fn a_limit_that_somebody_changed_is_noticed() {
    let fake = v2_session();
    let group = Group::create(&fake.root, "a", MIB).unwrap();
    assert_eq!(group.check_limit(), Ok(()));
    std::fs::write(group.directory().join("memory.max"), "max\n").unwrap();
    assert_eq!(group.check_limit().unwrap_err(), "the RAM limit that was set is gone");
    std::fs::write(group.directory().join("memory.max"), "2097152\n").unwrap();
    assert!(group.check_limit().unwrap_err().contains("2097152"));
}

#[test]
fn a_group_that_cannot_be_limited_is_not_left_behind() {
    let fake = hybrid();
    std::fs::remove_file(fake.root.path("/new-group/memory.limit_in_bytes")).unwrap();
    let unavailable = Group::create(&fake.root, "a", MIB).unwrap_err();
    assert!(unavailable.reason.contains("memory.limit_in_bytes"), "{unavailable}");
    let group = fake.root.path("/sys/fs/cgroup/memory/process_api/d5aec408");
    assert!(!group.join(group_name(4242, "a")).exists());
}

#[test]
fn availability_says_where_or_why_not() {
    let availability = availability(&hybrid().root);
    assert!(availability.available);
    assert_eq!(availability.detail, "cgroup v1 below /sys/fs/cgroup/memory/process_api/d5aec408");
    let none = super::availability(&crate::testing::Fake::new().root);
    assert!(!none.available);
    assert_eq!(
        none.detail,
        "/proc/self/cgroup cannot be read: no control groups; use a kernel with CONFIG_MEMCG"
    );
}

/// Returns a real group, or reports why this test cannot run here (as a rule it needs root).
fn real_group(test: &str, limit_bytes: u64) -> Option<Group> {
    match Group::create(&Root::system(), test, limit_bytes) {
        Ok(group) => Some(group),
        Err(unavailable) => {
            report_skip("groups", test, &unavailable.to_string());
            None
        }
    }
}

fn run(program: &str, arguments: &[&str], group: &Group) -> crate::child::ExitStatus {
    let mut command = Command::new(program);
    command.args(arguments);
    Child::spawn(command, Some(group)).unwrap().wait().unwrap()
}

#[test]
fn a_file_four_times_the_limit_is_read_from_the_device() {
    let Some(group) = real_group("reads", 64 * MIB) else { return };
    let root = Root::system();
    let Some(dir) = disk_dir("a_file_four_times_the_limit_is_read_from_the_device") else {
        return;
    };
    let path = dir.path().join("file");
    write_file(&path, 256 << 20);
    let device = Storage::from_path(&root, dir.path()).unwrap().device;
    assert!(cache::evict(&path).unwrap().is_cold());
    let before = device.as_ref().ok().and_then(|device| device.usage(&root));
    let path_text = path.to_str().unwrap();
    let exit = run("dd", &[&format!("if={path_text}"), "of=/dev/null", "bs=64k"], &group);
    assert!(exit.is_success());
    let residency = residency(&path).unwrap();
    assert!(residency.resident_bytes <= 64 * MIB, "{residency:?}");
    assert!(residency.resident_bytes >= 16 * MIB, "the group's cache is used: {residency:?}");
    let usage = group.usage().unwrap();
    assert!(usage.memory_peak_bytes.unwrap() <= 64 * MIB, "{usage:?}");
    assert!(usage.file_bytes > 16 * MIB && usage.limit_hits > 0, "{usage:?}");
    if let (Some(before), Ok(device)) = (before, &device) {
        let read = device.usage(&root).unwrap().read_bytes - before.read_bytes;
        assert!(read >= 256 * MIB, "{read} bytes read");
    }
    // The program itself is counted, too, where it was not in memory.
    assert!(exit.usage.input_blocks_512 * 512 >= 256 * MIB);
    assert_eq!(group.check_limit(), Ok(()));
    assert!(group.reclaim().unwrap() > 16 * MIB);
    let group_directory = group.directory().to_owned();
    group.remove().unwrap();
    assert!(!group_directory.exists());
}

#[test]
fn a_child_that_needs_more_than_the_limit_is_killed_and_that_is_counted() {
    let Some(group) = real_group("oom", 32 * MIB) else { return };
    let exit = run("dd", &["if=/dev/zero", "of=/dev/null", "bs=128M", "count=1"], &group);
    assert_eq!(exit.signal, Some(libc::SIGKILL));
    assert!(group.usage().unwrap().oom_kills > 0);
    group.remove().unwrap();
}

#[test]
fn removal_kills_what_is_left_in_the_group_and_nothing_else() {
    let Some(group) = real_group("leftover", 32 * MIB) else { return };
    let mut inside = Command::new("sh");
    // A server that left its process group: only the RAM group still knows it.
    inside.args(["-c", "setsid sleep 600 & echo started; wait"]);
    let mut inside = Child::spawn(inside, Some(&group)).unwrap();
    let mut outside = Command::new("sleep");
    outside.arg("600");
    let mut outside = Child::spawn(outside, None).unwrap();
    let mut word = [0; 7];
    std::io::Read::read_exact(inside.stdout.as_mut().unwrap(), &mut word).unwrap();
    let begun = Instant::now();
    let members = |group: &Group| hierarchy::members(&group.directory).unwrap().len();
    while members(&group) < 2 && begun.elapsed() < REMOVE_LIMIT {
        thread::sleep(Duration::from_millis(5));
    }
    let directory = group.directory().to_owned();
    group.remove().unwrap();
    assert!(!directory.exists());
    assert_eq!(inside.wait().unwrap().signal, Some(libc::SIGKILL));
    assert_eq!(outside.poll().unwrap(), None, "a stranger is alive");
}

#[test]
fn nobody_is_told_honestly_that_there_is_no_limit() {
    if is_nobody() {
        let unavailable = Group::create(&Root::system(), "nobody", MIB).unwrap_err();
        assert!(!unavailable.reason.is_empty() && !unavailable.remedy.is_empty());
        assert!(!super::availability(&Root::system()).available);
    } else {
        again_as_nobody("group::tests::nobody_is_told_honestly_that_there_is_no_limit");
    }
}
