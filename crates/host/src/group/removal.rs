//! Removes groups of ours: one at its end, and those that a dead kvdyno left behind, by their name
//! and their maker being gone.

use super::hierarchy::{self, Version, members};
use super::{leaf, naming};
use crate::Root;
use crate::patience::retry;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a group of the dead is given to lose its last process, which may be waiting for a
/// drive.
const BURY_LIMIT: Duration = Duration::from_secs(60);

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

/// Kills what is in this group, and nothing else: the list is the group's own. Numbers in a tree
/// of copies are nobody's.
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

/// Removes the groups of makers that are gone, where [`super::Group::create`] makes groups; gives
/// what it removed. A number may mean somebody else in another container: what has members stays.
pub(crate) fn sweep(root: &Root) -> Vec<PathBuf> {
    let dead = groups(root)
        .into_iter()
        .filter(|(_, owner, _)| !root.path(format!("/proc/{owner}")).exists());
    // The kernel refuses to remove a group with members or children; asking first keeps a tree of
    // copies as safe.
    let paths = dead.map(|(_, _, path)| path);
    let empty = paths.filter(|path| members(path) == Some(Vec::new()));
    empty.filter(|path| root.remove_group(path).is_ok()).collect()
}

/// Removes the groups of a maker that is known to have died, with the processes in them: for the
/// one who saw it die.
pub(crate) fn bury(root: &Root, owner: u32) {
    let of_owner = groups(root).into_iter().filter(|(_, maker, _)| *maker == owner);
    for (version, _, path) in of_owner.filter(|(_, _, path)| !leaf::is_leaf(path)) {
        // What is in the way of it is in the way of the next run's sweep, which says so.
        let _ = remove(root, version, &path, BURY_LIMIT);
    }
    leaf::go_back(root);
}

/// Every group of ours, with who made it.
fn groups(root: &Root) -> Vec<(Version, u32, PathBuf)> {
    let Ok(found) = hierarchy::find(root, "memory") else { return Vec::new() };
    let own = leaf::without_leaf(&found.own);
    let beside = own.parent().filter(|_| found.version == Version::V2 && own != found.top);
    let places = [Some(own.as_path()), beside];
    let entries = places.into_iter().flatten().filter_map(|place| fs::read_dir(place).ok());
    let owned = entries.flatten().flatten().filter_map(|entry| {
        let owner = entry.file_name().to_str().and_then(naming::owner)?;
        Some((found.version, owner, entry.path()))
    });
    owned.collect()
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
    fn the_groups_of_one_dead_maker_are_buried() {
        let own = "/sys/fs/cgroup/memory/process_api/d5aec408";
        let fake = testing::hybrid()
            .file(&format!("{own}/kvdyno-900-a/cgroup.procs"), "5000\n")
            .file(&format!("{own}/kvdyno-901-b/cgroup.procs"), "");
        bury(&fake.root, 900);
        assert!(!fake.root.path(format!("{own}/kvdyno-900-a")).exists());
        assert!(fake.root.path(format!("{own}/kvdyno-901-b")).exists());
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
