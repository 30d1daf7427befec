//! Decides where a limited group can be made: below our own group, or beside it.
//!
//! On v1, below our own. On v2 a group may have members or limited children, not both, and our
//! own group has at least one member. So, in this order: below our own group where that is
//! already arranged (or where we sit in the hierarchy's root, which is exempt); below it after
//! moving ourselves into a leaf, where we are alone in it (`systemd-run --scope`); beside it,
//! in the parent that already limits its children, where we may write there (root in a login
//! session, a desktop terminal). Other processes are never moved.

use super::hierarchy::{self, Hierarchy, Version, members};
use super::memory::is_listed;
use super::{above, leaf};
use crate::Root;
use crate::unavailable::{Unavailable, user};
use rustix::fs::{Access, AtFlags, CWD, accessat};
use rustix::io::Errno;
use std::path::{Path, PathBuf};

/// The place of a new group, and the preparation that it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ParentGroup {
    pub(super) hierarchy: Hierarchy,
    /// The group's parent.
    pub(super) directory: PathBuf,
    pub(super) preparation: Preparation,
}

/// The preparation that a group needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Preparation {
    /// Nothing: below our own group.
    Below,
    /// Give the root's children limits (v2; the root may have members as well).
    BelowRoot,
    /// Move ourselves into a leaf and give our group's children limits (v2).
    BelowAlone,
    /// Nothing: in our group's parent (v2).
    Beside,
}

/// Looks for the best parent. Changes nothing.
pub(super) fn choose(root: &Root) -> Result<ParentGroup, Unavailable> {
    let hierarchy = hierarchy::find(root, "memory")?;
    let (directory, preparation) = match hierarchy.version {
        Version::V1 => (hierarchy.own.clone(), Preparation::Below),
        Version::V2 => unified_parent(root, &hierarchy)?,
    };
    check_writable(root, hierarchy.version, &directory)?;
    Ok(ParentGroup { hierarchy, directory, preparation })
}

impl ParentGroup {
    /// Fails if a group above allows less than `limit_bytes`: our limit would not be the one in
    /// force.
    pub(super) fn check_room(&self, root: &Root, limit_bytes: u64) -> Result<(), Unavailable> {
        let version = self.hierarchy.version;
        let groups = self.directory.ancestors();
        let groups = groups.take_while(|directory| directory.starts_with(&self.hierarchy.top));
        match above::tightest(version, groups) {
            Some((group, bytes)) if bytes < limit_bytes => Err(Unavailable::new(
                format!(
                    "expected at least {limit_bytes} bytes, found a limit of {bytes} on {}",
                    root.strip_base(&group).display()
                ),
                "lower the RAM limit, or raise that limit",
            )),
            _ => Ok(()),
        }
    }

    /// Returns the group's place as text, for doctor and record.
    pub(super) fn description(&self, root: &Root) -> String {
        let parent = match self.preparation {
            Preparation::Beside => "beside our own group, in",
            _ => "below",
        };
        let directory = root.strip_base(&self.directory);
        format!("{} {parent} {}", self.hierarchy.version, directory.display())
    }
}

fn unified_parent(
    root: &Root,
    hierarchy: &Hierarchy,
) -> Result<(PathBuf, Preparation), Unavailable> {
    let own_group = &leaf::without_leaf(&hierarchy.own);
    if !is_listed(own_group, "cgroup.controllers") {
        let group = root.strip_base(own_group);
        let reason =
            format!("the memory controller is not delegated to our own group {}", group.display());
        return Err(Unavailable::new(reason, ALONE));
    }
    if is_listed(own_group, "cgroup.subtree_control") {
        return Ok((own_group.clone(), Preparation::Below));
    }
    // Only the root of the whole hierarchy has no type.
    if !own_group.join("cgroup.type").exists() {
        return Ok((own_group.clone(), Preparation::BelowRoot));
    }
    if leaf::is_ours_alone(root, own_group) && writable(own_group).is_ok() {
        return Ok((own_group.clone(), Preparation::BelowAlone));
    }
    let parent = own_group.parent().filter(|parent| parent.starts_with(&hierarchy.top));
    match parent.filter(|parent| is_listed(parent, "cgroup.subtree_control")) {
        Some(parent) => Ok((parent.to_owned(), Preparation::Beside)),
        None => Err(Unavailable::new(
            format!(
                "our own group {} holds {} processes and can have no limited groups below it",
                root.strip_base(own_group).display(),
                members(own_group).unwrap_or_default().len()
            ),
            ALONE,
        )),
    }
}

/// The remedy on v2: a group for kvdyno alone, which it may divide.
const ALONE: &str = "start in a group of its own: `systemd-run --user --scope -p Delegate=yes \
    kvdyno ...` (as root without --user)";

/// Checks that we may make a group there and move a child of ours into it.
fn check_writable(root: &Root, version: Version, directory: &Path) -> Result<(), Unavailable> {
    writable(directory).map_err(|errno| unwritable_error(root, version, directory, errno))
}

fn writable(directory: &Path) -> Result<(), Errno> {
    let may_write = |path: &Path, access| accessat(CWD, path, access, AtFlags::EACCESS);
    may_write(directory, Access::WRITE_OK | Access::EXEC_OK)?;
    // Moving a process needs write access to the nearest common group of both locations.
    may_write(&directory.join("cgroup.procs"), Access::WRITE_OK)
}

fn unwritable_error(root: &Root, version: Version, directory: &Path, errno: Errno) -> Unavailable {
    let group = root.strip_base(directory);
    let group = group.display();
    match (errno, version) {
        (Errno::ROFS, _) => Unavailable::new(
            format!("{group} is mounted read-only"),
            "start the container with a writable /sys/fs/cgroup (docker: --privileged)",
        ),
        (Errno::ACCESS | Errno::PERM, Version::V1) => Unavailable::new(
            format!("{group} belongs to another user"),
            format!("run as root, or let root do: chown -R {} {group}", user()),
        ),
        (Errno::ACCESS | Errno::PERM, Version::V2) => {
            Unavailable::new(format!("{group} belongs to another user"), ALONE)
        }
        (errno, _) => Unavailable::new(format!("{group}: {errno}"), "run as root"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;
    use crate::testing::Fake;

    fn chosen_parent(fake: &Fake) -> (PathBuf, Preparation) {
        let parent = choose(&fake.root).unwrap();
        (fake.root.strip_base(&parent.directory).into_owned(), parent.preparation)
    }

    const SESSION: &str = "/sys/fs/cgroup/user.slice/user-1000.slice/session-3.scope";

    #[test]
    fn v1_nests_below_our_own_group() {
        let group = PathBuf::from("/sys/fs/cgroup/memory/process_api/d5aec408");
        assert_eq!(chosen_parent(&testing::hybrid()), (group, Preparation::Below));
    }

    #[test]
    fn v2_alone_in_a_scope_nests_below_it() {
        let fake = testing::v2_session().file(&format!("{SESSION}/cgroup.procs"), "4242\n");
        assert_eq!(chosen_parent(&fake), (PathBuf::from(SESSION), Preparation::BelowAlone));
    }

    #[test]
    fn v2_with_others_in_the_session_goes_beside() {
        let parent = PathBuf::from("/sys/fs/cgroup/user.slice/user-1000.slice");
        assert_eq!(chosen_parent(&testing::v2_session()), (parent, Preparation::Beside));
    }

    #[test]
    fn v2_with_others_and_a_parent_without_limits_says_what_helps() {
        let fake = testing::v2_session()
            .file("/sys/fs/cgroup/user.slice/user-1000.slice/cgroup.subtree_control", "pids\n");
        let unavailable = choose(&fake.root).unwrap_err();
        assert_eq!(
            unavailable.reason,
            format!(
                "our own group {SESSION} holds 3 processes and can have no limited groups below it"
            )
        );
        assert!(unavailable.remedy.contains("systemd-run --user --scope -p Delegate=yes"));
    }

    #[test]
    fn v2_in_the_root_group_is_exempt() {
        let fake = Fake::new()
            .file("/proc/self/cgroup", "0::/\n")
            .file("/proc/self/mountinfo", testing::V2_MOUNT)
            .file("/sys/fs/cgroup/cgroup.procs", "1\n4242\n")
            .file("/sys/fs/cgroup/cgroup.controllers", "cpu memory pids\n")
            .file("/sys/fs/cgroup/cgroup.subtree_control", "\n");
        assert_eq!(chosen_parent(&fake), (PathBuf::from("/sys/fs/cgroup"), Preparation::BelowRoot));
    }

    #[test]
    fn v2_inside_our_own_leaf_goes_on_beside_the_leaf() {
        let leaf = format!("{SESSION}/{}", testing::group_name(4242, "main"));
        let fake = testing::v2_session()
            .file("/proc/self/cgroup", &format!("0::{}\n", &leaf["/sys/fs/cgroup".len()..]))
            .file(&format!("{leaf}/cgroup.procs"), "4242\n")
            .file(&format!("{SESSION}/cgroup.subtree_control"), "memory\n");
        assert_eq!(chosen_parent(&fake), (PathBuf::from(SESSION), Preparation::Below));
    }

    #[test]
    fn v2_without_the_controller_is_refused() {
        let fake =
            testing::v2_session().file(&format!("{SESSION}/cgroup.controllers"), "hugetlb\n");
        let reason = choose(&fake.root).unwrap_err().reason;
        assert_eq!(
            reason,
            format!("the memory controller is not delegated to our own group {SESSION}")
        );
    }

    #[test]
    fn a_tighter_limit_above_is_named() {
        let fake = testing::v2_session().file("/sys/fs/cgroup/user.slice/memory.max", "1048576\n");
        let parent = choose(&fake.root).unwrap();
        assert_eq!(parent.check_room(&fake.root, 1 << 20), Ok(()));
        assert_eq!(
            parent.check_room(&fake.root, 1 << 21).unwrap_err().reason,
            "expected at least 2097152 bytes, found a limit of 1048576 on /sys/fs/cgroup/user.slice"
        );
    }
}
