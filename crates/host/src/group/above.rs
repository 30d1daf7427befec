//! Limits that already bind us: set on our own group or on those above it, as containers and
//! service managers do.

use super::control::{number, read};
use super::hierarchy::{self, Version};
use crate::Root;
use crate::root::number_by_key;
use std::path::{Path, PathBuf};

/// The lowest memory limit in force on us, in bytes, and the group that it is set on.
pub fn memory_above(root: &Root) -> Option<(PathBuf, u64)> {
    let hierarchy = hierarchy::find(root, "memory").ok()?;
    let tightest = tightest(hierarchy.version, hierarchy.line());
    // Past `memory.high` nothing fails: everything is slowed down instead.
    let high = hierarchy.line().filter_map(|group| {
        let bytes = number(group, "memory.high").ok()?;
        Some((group.to_owned(), bytes))
    });
    let (group, bytes) = tightest.into_iter().chain(high).min_by_key(|(_, bytes)| *bytes)?;
    Some((root.strip_base(&group).into_owned(), bytes))
}

/// The lowest limit of CPU time in force on us, in processors, and the group that it is set on.
pub fn cpus_above(root: &Root) -> Option<(PathBuf, f64)> {
    let hierarchy = hierarchy::find(root, "cpu").ok()?;
    let limited =
        hierarchy.line().filter_map(|group| Some((group, cpus(hierarchy.version, group)?)));
    let (group, cpus) = limited.min_by(|(_, a), (_, b)| a.total_cmp(b))?;
    Some((root.strip_base(group).into_owned(), cpus))
}

/// Returns how long limits of CPU time have stopped threads of our own group and of those above it,
/// summed over the groups that have such a limit; `None`: none has.
pub fn throttled_ns(root: &Root) -> Option<u64> {
    let hierarchy = hierarchy::find(root, "cpu").ok()?;
    let limited = hierarchy.line().filter(|group| cpus(hierarchy.version, group).is_some());
    let stopped = limited.filter_map(|group| {
        let stat = read(group, "cpu.stat").ok()?;
        match hierarchy.version {
            Version::V1 => number_by_key(&stat, "throttled_time"),
            Version::V2 => Some(number_by_key(&stat, "throttled_usec")? * 1000),
        }
    });
    stopped.reduce(u64::saturating_add)
}

/// The I/O limits in force on us: the lines of each group, joined on one line.
pub fn io_above(root: &Root) -> Vec<(PathBuf, String)> {
    const FILES: [&str; 4] = [
        "blkio.throttle.read_bps_device",
        "blkio.throttle.write_bps_device",
        "blkio.throttle.read_iops_device",
        "blkio.throttle.write_iops_device",
    ];
    let Ok(hierarchy) = hierarchy::find(root, "blkio") else { return Vec::new() };
    let files = match hierarchy.version {
        Version::V1 => &FILES[..],
        Version::V2 => &["io.max"],
    };
    let limits = hierarchy.line().filter_map(|group| {
        let texts = files.iter().filter_map(|file| {
            let text = read(group, file).ok().filter(|text| !text.is_empty())?;
            let lines = text.lines().collect::<Vec<_>>().join(", ");
            Some(match hierarchy.version {
                Version::V1 => format!("{} {lines}", file.trim_start_matches("blkio.throttle.")),
                Version::V2 => lines,
            })
        });
        let texts: Vec<String> = texts.collect();
        (!texts.is_empty()).then(|| (root.strip_base(group).into_owned(), texts.join("; ")))
    });
    limits.collect()
}

/// Returns whether our own group can be seen, and those above it as far up as they are shown.
pub fn is_seen(root: &Root, controller: &str) -> bool {
    hierarchy::find(root, controller).is_ok()
}

/// Returns the lowest limit among these groups, and the group that has it.
pub(super) fn tightest<'a>(
    version: Version,
    groups: impl Iterator<Item = &'a Path>,
) -> Option<(PathBuf, u64)> {
    let limited = groups.filter_map(|group| Some((group.to_owned(), version.limit(group)?)));
    limited.min_by_key(|(_, bytes)| *bytes)
}

/// Returns a group's CPU limit in processors, quota over period; `None`: there is no quota (`max`,
/// or -1 on v1).
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
        assert_eq!(cpus_above(&fake.root), Some((slice.clone(), 1.5)));
        let fake = fake.file("/sys/fs/cgroup/user.slice/memory.high", "4096\n");
        assert_eq!(memory_above(&fake.root), Some((slice, 4096)));
    }

    #[test]
    fn stopped_threads_are_counted_where_there_is_a_limit() {
        let fake = v2_session()
            .file("/sys/fs/cgroup/user.slice/cpu.max", "150000 100000\n")
            .file("/sys/fs/cgroup/user.slice/cpu.stat", "nr_throttled 7\nthrottled_usec 345\n")
            .file("/sys/fs/cgroup/user.slice/user-1000.slice/cpu.stat", "throttled_usec 9\n");
        assert_eq!(throttled_ns(&fake.root), Some(345_000), "the slice below has no limit");
        assert_eq!(throttled_ns(&v2_session().root), None);
    }

    #[test]
    fn limits_of_io_are_told_as_they_are_set() {
        let fake = v2_session()
            .file("/sys/fs/cgroup/user.slice/io.max", "254:0 rbps=1048576 wbps=max\n")
            .file("/sys/fs/cgroup/user.slice/user-1000.slice/io.max", "");
        let slice = PathBuf::from("/sys/fs/cgroup/user.slice");
        let limit = "254:0 rbps=1048576 wbps=max".to_owned();
        assert_eq!(io_above(&fake.root), [(slice, limit)]);
        assert!(io_above(&v2_session().root).is_empty() && is_seen(&v2_session().root, "blkio"));
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
        assert_eq!(throttled_ns(&fake.root), None);
        let fake = fake
            .file("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n")
            .file("/sys/fs/cgroup/cpu/cpu.stat", "nr_throttled 3\nthrottled_time 12345\n");
        assert_eq!(throttled_ns(&fake.root), Some(12_345));
        assert_eq!(cpus_above(&fake.root), Some((PathBuf::from("/sys/fs/cgroup/cpu"), 0.5)));
    }
}
