//! Removes groups of ours: one at its end, and those of dead runs, by their name and their missing
//! owner.

use super::hierarchy::{self, Version, members};
use super::{leaf, naming};
use crate::Root;
use crate::owner::Owner;
use crate::patience::retry;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The time that a dead run's group has to lose its last process, which may be waiting for a drive.
const REMOVE_LIMIT: Duration = Duration::from_secs(60);

/// Removes a group of ours, with the processes in it and its page cache.
pub(super) fn remove(
    root: &Root,
    version: Version,
    directory: &Path,
    patience: Duration,
) -> io::Result<()> {
    kill_members(root, directory);
    let _ = version.reclaim(directory);
    let has_members = |error: &io::Error| error.kind() == io::ErrorKind::ResourceBusy;
    let removed = retry(patience, Duration::from_millis(5), has_members, || {
        kill_members(root, directory);
        root.remove_group(directory)
    });
    removed.or_else(|error| match error.kind() {
        io::ErrorKind::NotFound => Ok(()),
        _ => Err(error),
    })
}

/// Kills the members of this group, and nothing else: the list is the group's own. Pids in a tree
/// of copies are not processes.
fn kill_members(root: &Root, directory: &Path) {
    if !root.is_system() {
        return;
    }
    let members = members(directory).unwrap_or_default();
    for pid in members.into_iter().filter(|&pid| pid != root.pid()) {
        if let Some(pid) = Pid::from_raw(pid as i32) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// Removes the groups of dead owners, where [`super::Group::create`] makes groups; returns them. A
/// group with members stays.
pub(crate) fn sweep(root: &Root) -> Vec<PathBuf> {
    let dead = groups(root).into_iter().filter(|(_, owner, _)| owner.is_gone(root));
    // The kernel refuses to remove a group with members or children. The check before it protects a
    // tree of copies as well.
    let paths = dead.map(|(_, _, path)| path);
    let empty = paths.filter(|path| members(path) == Some(Vec::new()));
    empty.filter(|path| root.remove_group(path).is_ok()).collect()
}

/// Removes the groups of a process that is known to have died, with the processes in them. The
/// owner's start time is 0 if the process was dead before it could be read.
pub(crate) fn remove_dead(root: &Root, owner: Owner) {
    let is_of_owner = |maker: &Owner| match owner.began {
        0 => maker.pid == owner.pid && maker.is_gone(root),
        _ => *maker == owner,
    };
    let of_owner = groups(root).into_iter().filter(|(_, maker, _)| is_of_owner(maker));
    for (version, _, path) in of_owner.filter(|(_, _, path)| !leaf::is_leaf(path)) {
        // The next run's sweep reports what prevents the removal.
        let _ = remove(root, version, &path, REMOVE_LIMIT);
    }
    leaf::go_back(root);
}

/// Returns every group of this program, with its owner.
fn groups(root: &Root) -> Vec<(Version, Owner, PathBuf)> {
    let Ok(hierarchy) = hierarchy::find(root, "memory") else { return Vec::new() };
    let group = leaf::without_leaf(&hierarchy.own);
    let parent =
        group.parent().filter(|_| hierarchy.version == Version::V2 && group != hierarchy.top);
    let places = [Some(group.as_path()), parent];
    let entries = places.into_iter().flatten().filter_map(|directory| fs::read_dir(directory).ok());
    let owned = entries.flatten().flatten().filter_map(|entry| {
        let owner = entry.file_name().to_str().and_then(naming::owner)?;
        Some((hierarchy.version, owner, entry.path()))
    });
    owned.collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{NAMESPACE, group_name, hybrid, stat, v2_session};
    use super::*;
    use crate::testing::Fake;

    const OWN: &str = "/sys/fs/cgroup/memory/process_api/d5aec408";

    fn group(pid: u32, name: &str) -> String {
        format!("{OWN}/{}", group_name(pid, name))
    }

    fn empty(fake: Fake, group: &str) -> Fake {
        fake.file(&format!("{group}/cgroup.procs"), "")
    }

    #[test]
    fn only_empty_groups_of_the_dead_are_removed() {
        let mut fake = hybrid()
            .file(&format!("{}/cgroup.procs", group(901, "b")), "5000\n")
            .file("/proc/902/stat", &stat(902, "kvdyno", 1, 77));
        let elsewhere = format!("/sys/fs/cgroup/memory/process_api/{}", group_name(904, "d"));
        for name in [&group(900, "a"), &group(902, "c"), &format!("{OWN}/docker-903"), &elsewhere] {
            fake = empty(fake, name);
        }
        assert_eq!(sweep(&fake.root), [fake.root.path(group(900, "a"))]);
        assert!(!fake.root.path(group(900, "a")).exists());
        assert!(fake.root.path(elsewhere).exists());
    }

    /// A process number does not identify a maker: containers have their own, and numbers are
    /// reused.
    #[test]
    fn a_number_that_was_used_again_or_is_of_another_container_says_nothing() {
        let other = format!("{OWN}/kvdyno-900-4026532222-77-a");
        let fake = empty(empty(hybrid(), &other), &group(901, "b"))
            .file("/proc/901/stat", &stat(901, "bash", 1, 99));
        assert_eq!(sweep(&fake.root), [fake.root.path(group(901, "b"))], "901 is another by now");
        assert!(fake.root.path(&other).exists(), "its maker cannot be seen from here");
    }

    /// Only the first namespace sees all processes.
    #[test]
    fn the_first_namespace_knows_when_nobody_is_left_in_another() {
        let other = format!("{OWN}/kvdyno-900-4026532222-77-a");
        let fake = empty(hybrid(), &other).link("/proc/7/ns/pid", "pid:[4026532222]");
        fs::remove_file(fake.root.path("/proc/self/ns/pid")).unwrap();
        let fake = fake.link("/proc/self/ns/pid", "pid:[4026531836]");
        assert!(sweep(&fake.root).is_empty());
        fs::remove_dir_all(fake.root.path("/proc/7")).unwrap();
        assert_eq!(sweep(&fake.root), [fake.root.path(&other)]);
    }

    #[test]
    fn the_groups_of_one_dead_maker_are_buried() {
        let before = format!("{OWN}/kvdyno-900-{NAMESPACE}-76-c");
        let fake = hybrid().file(&format!("{}/cgroup.procs", group(900, "a")), "5000\n");
        let fake = empty(empty(fake, &group(901, "b")), &before);
        let maker = Owner { pid: 900, namespace: NAMESPACE, began: 77 };
        remove_dead(&fake.root, maker);
        assert!(!fake.root.path(group(900, "a")).exists());
        assert!(fake.root.path(group(901, "b")).exists());
        assert!(fake.root.path(&before).exists(), "it is of one who had the number before");
        remove_dead(&fake.root, Owner { began: 0, ..maker });
        assert!(!fake.root.path(&before).exists(), "when it began is not known, and it is gone");
    }

    #[test]
    fn on_v2_groups_beside_ours_are_swept_too() {
        let slice = "/sys/fs/cgroup/user.slice/user-1000.slice";
        let dead = format!("{slice}/{}", group_name(900, "a"));
        let fake = empty(empty(v2_session(), &dead), &format!("{slice}/session-9.scope"));
        assert_eq!(sweep(&fake.root), [fake.root.path(dead)]);
    }
}
