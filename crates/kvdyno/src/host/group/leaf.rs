//! Moves this process into a leaf of its own group and back, so that on v2 the group may have
//! limited children. Only where this process is the group's only member.

use super::control::write;
use super::hierarchy::{self, members};
use super::{Version, naming};
use crate::host::Root;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const LEAF: &str = "main";

/// Our group; its parent where we sit in the leaf we made.
pub(super) fn without_leaf(root: &Root, own: &Path) -> PathBuf {
    let leaf = naming::group(root.pid(), LEAF);
    match own.parent() {
        Some(parent) if own.ends_with(leaf) => parent.to_owned(),
        _ => own.to_owned(),
    }
}

/// Moves this process, all threads of it, from `own` into a leaf and lets `own` limit its
/// children.
pub(super) fn enter(root: &Root, own: &Path) -> io::Result<()> {
    let leaf = own.join(naming::group(root.pid(), LEAF));
    root.make_group(&leaf)?;
    let moved = write(&leaf, "cgroup.procs", 0);
    let limited = moved.and_then(|()| write(own, "cgroup.subtree_control", "+memory"));
    if limited.is_err() {
        // Back to where we were; what went wrong first is what is told.
        let _ = write(own, "cgroup.procs", 0);
        let _ = root.remove_group(&leaf);
    }
    limited
}

/// Undoes [`enter`] once no group of ours is left. Where that fails we stay in the leaf: it
/// vanishes with the scope that we were started in.
pub(super) fn go_back(root: &Root) {
    let Ok(found) = hierarchy::find(root, "memory") else { return };
    let own = without_leaf(root, &found.own);
    if found.version != Version::V2 || own == found.own || has_groups_of_ours(root, &own) {
        return;
    }
    if write(&own, "cgroup.subtree_control", "-memory").is_err() {
        return;
    }
    // Ourselves, and children that were started meanwhile and live on.
    for pid in members(&found.own).unwrap_or_default() {
        let _ = write(&own, "cgroup.procs", pid);
    }
    let _ = root.remove_group(&found.own);
}

fn has_groups_of_ours(root: &Root, own: &Path) -> bool {
    let leaf = naming::group(root.pid(), LEAF);
    let entries = fs::read_dir(own).into_iter().flatten().flatten();
    let mut names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.any(|name| naming::owner(&name) == Some(root.pid()) && name != leaf)
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    const SCOPE: &str = "/sys/fs/cgroup/user.slice/user-1000.slice/session-3.scope";

    #[test]
    fn the_way_into_the_leaf_and_back() {
        let fake = testing::v2_session().file(&format!("{SCOPE}/cgroup.procs"), "4242\n");
        let own = fake.root.path(SCOPE);
        enter(&fake.root, &own).unwrap();
        let leaf = format!("{SCOPE}/kvdyno-4242-main");
        assert_eq!(fake.read(&format!("{leaf}/cgroup.procs")), "0");
        assert_eq!(fake.read(&format!("{SCOPE}/cgroup.subtree_control")), "+memory");

        let inside = format!("0::{}\n", &leaf["/sys/fs/cgroup".len()..]);
        let fake =
            fake.file("/proc/self/cgroup", &inside).file(&format!("{leaf}/cgroup.procs"), "4242\n");
        go_back(&fake.root);
        assert_eq!(fake.read(&format!("{SCOPE}/cgroup.subtree_control")), "-memory");
        assert_eq!(fake.read(&format!("{SCOPE}/cgroup.procs")), "4242");
        assert!(!fake.root.path(&leaf).exists());
    }
}
