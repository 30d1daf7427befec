//! Moves this process, and its reaper, into a leaf of their own group and back, so that on v2
//! the group may have limited children. Only where it has no other members.

use super::control::write;
use super::hierarchy::{self, Version, members};
use super::naming;
use crate::Root;
use crate::owner::Owner;
use procfs_core::process::Stat;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const LEAF: &str = "main";

/// Returns our group without the leaf: its parent, if it is a leaf that was made by us or by the
/// process whose reaper we are; else the group itself.
pub(super) fn without_leaf(group: &Path) -> PathBuf {
    match group.parent() {
        Some(parent) if is_leaf(group) => parent.to_owned(),
        _ => group.to_owned(),
    }
}

/// Whether a group is a leaf of this program's.
pub(super) fn is_leaf(group: &Path) -> bool {
    leaf_owner(group).is_some()
}

/// Returns the owner that made this leaf; `None`: the group is no leaf.
fn leaf_owner(group: &Path) -> Option<Owner> {
    let name = group.file_name()?.to_str()?;
    naming::owner(name).filter(|owner| naming::group(*owner, LEAF) == name)
}

/// Whether the group's members are this process and children of it alone.
pub(super) fn is_ours_alone(root: &Root, group: &Path) -> bool {
    let parent = |pid| Some(root.parse_file::<Stat>(format!("/proc/{pid}/stat"))?.ppid as u32);
    let is_ours = |pid: &u32| *pid == root.pid() || parent(*pid) == Some(root.pid());
    members(group).is_some_and(|members| !members.is_empty() && members.iter().all(is_ours))
}

/// Moves this process, all threads of it, and its children from `group` into a leaf, and lets
/// `group` limit its children.
pub(super) fn enter(root: &Root, group: &Path) -> io::Result<()> {
    let leaf = group.join(naming::group(Owner::read(root, root.pid()), LEAF));
    root.make_group(&leaf)?;
    let all = members(group).unwrap_or_default();
    let moved = all.iter().try_for_each(|pid| write(&leaf, "cgroup.procs", pid));
    let limited = moved.and_then(|()| write(group, "cgroup.subtree_control", "+memory"));
    if limited.is_err() {
        // Returns to the former group; the first error is reported.
        for pid in all {
            let _ = write(group, "cgroup.procs", pid);
        }
        let _ = root.remove_group(&leaf);
    }
    limited
}

/// Undoes [`enter`] once no group of ours is left. If that fails, we stay in the leaf, which
/// vanishes with the scope that we were started in.
pub(super) fn go_back(root: &Root) {
    let Ok(hierarchy) = hierarchy::find(root, "memory") else { return };
    let Some(owner) = leaf_owner(&hierarchy.own).filter(|_| hierarchy.version == Version::V2)
    else {
        return;
    };
    let group = without_leaf(&hierarchy.own);
    if has_owned_groups(owner, &group) {
        return;
    }
    if write(&group, "cgroup.subtree_control", "-memory").is_err() {
        return;
    }
    // This process, and children that were started meanwhile and still run.
    for pid in members(&hierarchy.own).unwrap_or_default() {
        let _ = write(&group, "cgroup.procs", pid);
    }
    let _ = root.remove_group(&hierarchy.own);
}

fn has_owned_groups(owner: Owner, group: &Path) -> bool {
    let leaf = naming::group(owner, LEAF);
    let entries = fs::read_dir(group).into_iter().flatten().flatten();
    let mut names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.any(|name| naming::owner(&name) == Some(owner) && name != leaf)
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    const SCOPE: &str = "/sys/fs/cgroup/user.slice/user-1000.slice/session-3.scope";

    #[test]
    fn the_way_into_the_leaf_and_back() {
        let fake = testing::v2_session().file(&format!("{SCOPE}/cgroup.procs"), "4242\n");
        let group = fake.root.path(SCOPE);
        enter(&fake.root, &group).unwrap();
        let leaf = format!("{SCOPE}/{}", testing::group_name(4242, LEAF));
        assert_eq!(fake.read(&format!("{leaf}/cgroup.procs")), "4242");
        assert_eq!(fake.read(&format!("{SCOPE}/cgroup.subtree_control")), "+memory");

        let inside = format!("0::{}\n", &leaf["/sys/fs/cgroup".len()..]);
        let fake =
            fake.file("/proc/self/cgroup", &inside).file(&format!("{leaf}/cgroup.procs"), "4242\n");
        go_back(&fake.root);
        assert_eq!(fake.read(&format!("{SCOPE}/cgroup.subtree_control")), "-memory");
        assert_eq!(fake.read(&format!("{SCOPE}/cgroup.procs")), "4242");
        assert!(!fake.root.path(&leaf).exists());
    }

    /// The reaper of a dead process sits in the leaf that the process had made.
    #[test]
    fn the_reaper_finds_the_way_back_too() {
        let leaf = format!("{SCOPE}/{}", testing::group_name(900, LEAF));
        let inside = format!("0::{}\n", &leaf["/sys/fs/cgroup".len()..]);
        let fake = testing::v2_session()
            .file("/proc/self/cgroup", &inside)
            .file(&format!("{leaf}/cgroup.procs"), "4242\n");
        go_back(&fake.root);
        assert_eq!(fake.read(&format!("{SCOPE}/cgroup.procs")), "4242");
        assert!(!fake.root.path(&leaf).exists());
    }

    #[test]
    fn children_of_ours_are_no_strangers() {
        let stat = |name, parent| testing::stat(4243, name, parent, 78);
        let fake = testing::v2_session()
            .file(&format!("{SCOPE}/cgroup.procs"), "4242\n4243\n")
            .file("/proc/4243/stat", &stat("exe", 4242));
        assert!(is_ours_alone(&fake.root, &fake.root.path(SCOPE)));
        let fake = fake.file("/proc/4243/stat", &stat("a) b", 1));
        assert!(!is_ours_alone(&fake.root, &fake.root.path(SCOPE)));
    }
}
