//! Finds the hierarchy that a controller is in, and our own group in it.
//!
//! On a v2 host that is the unified hierarchy; on a v1 or hybrid host, where the controller is
//! bound to v1, the one mounted with it. Containers show a part of the tree, or give it another
//! root.

use crate::Root;
use crate::mount::{self, Mount};
use crate::root::text;
use crate::unavailable::Unavailable;
use procfs_core::{CGroupControllers, ProcessCGroup, ProcessCGroups};
use std::fmt;
use std::path::{Component, Path, PathBuf};

/// The two interfaces of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    V1,
    V2,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::V1 => "cgroup v1",
            Self::V2 => "cgroup v2",
        })
    }
}

/// A controller's hierarchy as this process sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hierarchy {
    /// The interface of its files.
    pub(super) version: Version,
    /// Where it is mounted.
    pub(super) top: PathBuf,
    /// Our own group's directory.
    pub(super) own: PathBuf,
}

impl Hierarchy {
    /// Our own group and those above it, as far up as can be seen.
    pub(super) fn line(&self) -> impl Iterator<Item = &Path> {
        self.own.ancestors().take_while(|directory| directory.starts_with(&self.top))
    }
}

/// Finds a controller's hierarchy by `/proc/self/cgroup` and `/proc/self/mountinfo`.
pub(super) fn find(root: &Root, controller: &str) -> Result<Hierarchy, Unavailable> {
    let groups = root.parse_file::<ProcessCGroups>("/proc/self/cgroup");
    let groups = groups.map(|groups| groups.0).filter(|groups| !groups.is_empty());
    let groups = groups.ok_or_else(|| {
        Unavailable::new(
            "/proc/self/cgroup cannot be read: no control groups",
            "use a kernel with CONFIG_MEMCG",
        )
    })?;
    if switched_off(root, controller) {
        return Err(Unavailable::new(
            format!("the {controller} controller was switched off at boot"),
            format!("boot with cgroup_enable={controller}"),
        ));
    }
    let (version, path) = own_path(&groups, controller).ok_or_else(|| {
        Unavailable::new(
            format!("no hierarchy has the {controller} controller"),
            "use a kernel with CONFIG_MEMCG",
        )
    })?;
    locate(root, controller, version, path)
}

/// Returns whether `/proc/cgroups` lists the controller as disabled (as on Raspberry Pi OS).
fn switched_off(root: &Root, controller: &str) -> bool {
    let table = root.parse_file::<CGroupControllers>("/proc/cgroups");
    table.is_some_and(|table| table.0.iter().any(|row| row.name == controller && !row.enabled))
}

/// Returns our path in the controller's hierarchy: the v1 one that names it, otherwise v2.
fn own_path<'a>(groups: &'a [ProcessCGroup], controller: &str) -> Option<(Version, &'a str)> {
    let by_name =
        groups.iter().find(|group| group.controllers.iter().any(|name| name == controller));
    let unified = groups.iter().find(|group| group.hierarchy == 0 && group.controllers.is_empty());
    let group_v1 = by_name.map(|group| (Version::V1, group));
    let (version, group) = group_v1.or(unified.map(|group| (Version::V2, group)))?;
    Some((version, &group.pathname))
}

/// Finds the directory of our own group, proved by our own process being listed in it.
fn locate(
    root: &Root,
    controller: &str,
    version: Version,
    path: &str,
) -> Result<Hierarchy, Unavailable> {
    let mounts: Vec<Mount> = mount::all(root)
        .into_iter()
        .filter(|mount| match version {
            Version::V1 => mount.kind == "cgroup" && mount.has_option(controller),
            Version::V2 => mount.kind == "cgroup2",
        })
        .collect();
    if mounts.is_empty() {
        return Err(Unavailable::new(
            format!("{version} is not mounted here"),
            "mount it (containers: start with a writable /sys/fs/cgroup)",
        ));
    }
    let places = mounts.iter().filter_map(|mount| {
        let top = root.path(&mount.point);
        Some(Hierarchy { version, own: top.join(below(&mount.root, path)?), top })
    });
    let has_us = |candidate: &Hierarchy| {
        members(&candidate.own).is_some_and(|all| all.contains(&root.pid()))
    };
    let mut places = places.filter(has_us);
    places.next().ok_or_else(|| {
        Unavailable::new(
            format!("our own group {path} is not visible where {version} is mounted"),
            "mount the control groups inside this namespace, or run outside of the container",
        )
    })
}

/// Returns a group's path below a mount of `mount_root`. `None` also if either contains `/..`, a
/// place above the root of our namespace: its name cannot be known here.
fn below(mount_root: &str, path: &str) -> Option<PathBuf> {
    let below = Path::new(path).strip_prefix(mount_root).ok()?;
    let plain = |path: &Path| !path.components().any(|part| part == Component::ParentDir);
    (plain(below) && plain(Path::new(mount_root))).then(|| below.to_owned())
}

/// Returns the processes in a group; `None`: they cannot be read.
pub(super) fn members(directory: &Path) -> Option<Vec<u32>> {
    let list = text(&directory.join("cgroup.procs"))?;
    Some(list.lines().filter_map(|line| line.parse().ok()).collect())
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;
    use crate::testing::Fake;

    fn own(fake: &Fake) -> (Version, PathBuf) {
        let hierarchy = find(&fake.root, "memory").unwrap();
        (hierarchy.version, fake.root.strip_base(&hierarchy.own).into_owned())
    }

    #[test]
    fn hybrid_hosts_have_memory_on_v1() {
        let own_path = PathBuf::from("/sys/fs/cgroup/memory/process_api/d5aec408");
        assert_eq!(own(&testing::hybrid()), (Version::V1, own_path));
    }

    #[test]
    fn v2_hosts_have_one_hierarchy() {
        let own_path = "/sys/fs/cgroup/user.slice/user-1000.slice/session-3.scope";
        assert_eq!(own(&testing::v2_session()), (Version::V2, PathBuf::from(own_path)));
    }

    #[test]
    fn v1_containers_without_a_namespace_show_a_part_of_the_tree() {
        let fake = Fake::new()
            .file("/proc/self/cgroup", "11:memory:/docker/abc\n1:name=systemd:/docker/abc\n")
            .file(
                "/proc/self/mountinfo",
                "900 899 0:36 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
            )
            .file("/sys/fs/cgroup/memory/cgroup.procs", "1\n4242\n");
        assert_eq!(own(&fake), (Version::V1, PathBuf::from("/sys/fs/cgroup/memory")));
    }

    #[test]
    fn v2_containers_with_a_namespace_are_their_own_root() {
        assert_eq!(own(&testing::v2_alone()).1, Path::new("/sys/fs/cgroup"));
    }

    #[test]
    fn places_above_the_namespace_are_refused() {
        assert_eq!(below("/..", "/"), None);
        assert_eq!(below("/", "/../other"), None);
        assert_eq!(below("/docker/abc", "/docker/abc/x"), Some(PathBuf::from("x")));
        assert_eq!(below("/docker/abc", "/docker/abcd"), None);
    }

    #[test]
    fn a_directory_that_does_not_list_us_is_not_ours() {
        let fake = testing::hybrid()
            .file("/sys/fs/cgroup/memory/process_api/d5aec408/cgroup.procs", "77\n");
        let reason = find(&fake.root, "memory").unwrap_err().reason;
        assert_eq!(
            reason,
            "our own group /process_api/d5aec408 is not visible where cgroup v1 is mounted"
        );
    }

    #[test]
    fn a_controller_switched_off_at_boot_is_named() {
        let fake = testing::v2_session().file(
            "/proc/cgroups",
            "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpu\t0\t1\t1\nmemory\t0\t93\t0\n",
        );
        assert_eq!(
            find(&fake.root, "memory").unwrap_err().remedy,
            "boot with cgroup_enable=memory"
        );
    }
}
