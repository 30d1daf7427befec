//! Limits that already bind us: set on our own group or on those above it, as containers and
//! service managers do.

use super::control::{number, read};
use super::{Version, hierarchy, v1, v2};
use crate::host::Root;
use std::path::{Path, PathBuf};

/// The lowest memory limit in force on us, in bytes, and the group that it is set on.
pub fn memory_above(root: &Root) -> Option<(PathBuf, u64)> {
    let found = hierarchy::find(root, "memory").ok()?;
    let (group, bytes) = tightest(found.version, found.line())?;
    Some((root.shown(&group).into_owned(), bytes))
}

/// The lowest limit of CPU time in force on us, in processors, and the group that it is set on.
pub fn cpus_above(root: &Root) -> Option<(PathBuf, f64)> {
    let found = hierarchy::find(root, "cpu").ok()?;
    let limited = found.line().filter_map(|group| Some((group, cpus(found.version, group)?)));
    let (group, cpus) = limited.min_by(|(_, a), (_, b)| a.total_cmp(b))?;
    Some((root.shown(group).into_owned(), cpus))
}

/// The lowest limit among these groups, and whose it is.
pub(super) fn tightest<'a>(
    version: Version,
    groups: impl Iterator<Item = &'a Path>,
) -> Option<(PathBuf, u64)> {
    let limited = groups.filter_map(|group| {
        let bytes = match version {
            Version::V1 => v1::limit(group),
            Version::V2 => v2::limit(group),
        };
        Some((group.to_owned(), bytes?))
    });
    limited.min_by_key(|(_, bytes)| *bytes)
}

/// Quota over period; `None` where there is no quota (`max`, or -1 on v1).
fn cpus(version: Version, group: &Path) -> Option<f64> {
    let (quota, period) = match version {
        Version::V1 => {
            let quota = number(group, "cpu.cfs_quota_us").ok()?;
            (quota, number(group, "cpu.cfs_period_us").ok()?)
        }
        Version::V2 => {
            let text = read(group, "cpu.max").ok()?;
            let (quota, period) = text.split_once(' ')?;
            (quota.parse().ok()?, period.parse().ok()?)
        }
    };
    Some(quota as f64 / period.max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{hybrid, v2_session};
    use super::*;

    #[test]
    fn the_lowest_limit_of_all_above_is_found() {
        let fake = v2_session()
            .file("/sys/fs/cgroup/user.slice/memory.max", "1048576\n")
            .file("/sys/fs/cgroup/user.slice/user-1000.slice/memory.max", "2097152\n")
            .file("/sys/fs/cgroup/user.slice/cpu.max", "150000 100000\n")
            .file("/sys/fs/cgroup/user.slice/user-1000.slice/cpu.max", "max 100000\n");
        let slice = PathBuf::from("/sys/fs/cgroup/user.slice");
        assert_eq!(memory_above(&fake.root), Some((slice.clone(), 1 << 20)));
        assert_eq!(cpus_above(&fake.root), Some((slice, 1.5)));
    }

    #[test]
    fn v1_has_a_hierarchy_for_each() {
        let fake = hybrid();
        assert_eq!(memory_above(&fake.root), None);
        let mounts = fake.read("/proc/self/mountinfo");
        let fake = fake
            .file(
                "/proc/self/mountinfo",
                &format!("{mounts}32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"),
            )
            .file("/sys/fs/cgroup/cpu/cgroup.procs", "4242\n")
            .file("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n")
            .file("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
        assert_eq!(cpus_above(&fake.root), None);
        let fake = fake.file("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n");
        assert_eq!(cpus_above(&fake.root), Some((PathBuf::from("/sys/fs/cgroup/cpu"), 0.5)));
    }
}
