//! Removes groups that a dead kvdyno left behind: ours by name, empty, and their maker gone.

use super::hierarchy::{self, members};
use super::{Version, leaf, naming};
use crate::host::Root;
use std::fs;
use std::path::PathBuf;

/// Sweeps the places where [`super::Group::create`] makes groups; gives what it removed.
pub fn sweep(root: &Root) -> Vec<PathBuf> {
    let Ok(found) = hierarchy::find(root, "memory") else { return Vec::new() };
    let own = leaf::without_leaf(root, &found.own);
    let beside = own.parent().filter(|_| found.version == Version::V2 && own != found.top);
    let places = [Some(own.as_path()), beside];
    let entries = places.into_iter().flatten().filter_map(|place| fs::read_dir(place).ok());
    let entries = entries.flatten().flatten();
    let dead = entries.filter(|entry| {
        let owner = entry.file_name().to_str().and_then(naming::owner);
        owner.is_some_and(|pid| !root.path(format!("/proc/{pid}")).exists())
    });
    // The kernel refuses to remove a group with members or children; asking first keeps a tree of
    // copies as safe.
    let empty = dead.map(|entry| entry.path()).filter(|path| members(path) == Some(Vec::new()));
    empty.filter(|path| root.remove_group(path).is_ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    #[test]
    fn only_empty_groups_of_the_dead_are_removed() {
        let own = "/sys/fs/cgroup/memory/process_api/d5aec408";
        let fake = testing::hybrid()
            .file(&format!("{own}/kvdyno-900-a/cgroup.procs"), "")
            .file(&format!("{own}/kvdyno-901-b/cgroup.procs"), "5000\n")
            .file(&format!("{own}/kvdyno-902-c/cgroup.procs"), "")
            .file("/proc/902/stat", "")
            .file(&format!("{own}/docker-903/cgroup.procs"), "")
            .file("/sys/fs/cgroup/memory/process_api/kvdyno-904-d/cgroup.procs", "");
        let removed = sweep(&fake.root);
        assert_eq!(removed, [fake.root.path(format!("{own}/kvdyno-900-a"))]);
        assert!(!fake.root.path(format!("{own}/kvdyno-900-a")).exists());
        assert!(fake.root.path("/sys/fs/cgroup/memory/process_api/kvdyno-904-d").exists());
    }

    #[test]
    fn on_v2_groups_beside_ours_are_swept_too() {
        let slice = "/sys/fs/cgroup/user.slice/user-1000.slice";
        let fake = testing::v2_session()
            .file(&format!("{slice}/kvdyno-900-a/cgroup.procs"), "")
            .file(&format!("{slice}/session-9.scope/cgroup.procs"), "");
        assert_eq!(sweep(&fake.root), [fake.root.path(format!("{slice}/kvdyno-900-a"))]);
    }
}
