//! The texts of switches and limits of the host that decide figures, by path.

use super::{Root, group, pages};
pub use kvdyno_record::host::settings::{
    CACHESTAT, CPUS_ABOVE, FLAWS, IO_ABOVE, JOURNAL, LARGEST_FILE, MEMORY_ABOVE, NO_DEVICE,
    NO_LIMIT, VOLUME_USED,
};
use std::collections::BTreeMap;

/// The files that are read, if they exist.
const PATHS: [&str; 34] = [
    "/proc/cmdline",
    "/proc/sys/fs/aio-max-nr",
    "/proc/sys/fs/file-max",
    "/proc/sys/kernel/io_uring_disabled",
    "/proc/sys/kernel/numa_balancing",
    "/proc/sys/kernel/perf_event_paranoid",
    "/proc/sys/vm/dirty_background_bytes",
    "/proc/sys/vm/dirty_background_ratio",
    "/proc/sys/vm/dirty_bytes",
    "/proc/sys/vm/dirty_expire_centisecs",
    "/proc/sys/vm/dirty_ratio",
    "/proc/sys/vm/dirty_writeback_centisecs",
    "/proc/sys/vm/max_map_count",
    "/proc/sys/vm/overcommit_memory",
    "/proc/sys/vm/swappiness",
    "/proc/sys/vm/vfs_cache_pressure",
    "/proc/sys/vm/zone_reclaim_mode",
    "/sys/devices/system/cpu/cpu0/cpufreq/energy_performance_preference",
    "/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver",
    "/sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq",
    "/sys/devices/system/cpu/cpufreq/boost",
    "/sys/devices/system/cpu/cpuidle/current_driver",
    "/sys/devices/system/cpu/intel_pstate/no_turbo",
    "/sys/devices/system/cpu/isolated",
    "/sys/devices/system/cpu/smt/active",
    "/sys/kernel/mm/ksm/run",
    "/sys/kernel/mm/lru_gen/enabled",
    "/sys/kernel/mm/transparent_hugepage/defrag",
    "/sys/kernel/mm/transparent_hugepage/enabled",
    "/sys/kernel/mm/transparent_hugepage/shmem_enabled",
    "/sys/module/nvme/parameters/poll_queues",
    "/sys/module/nvme_core/parameters/default_ps_max_latency_us",
    "/sys/module/pcie_aspm/parameters/policy",
    "/sys/module/zswap/parameters/enabled",
];

/// The limits of `/proc/self/limits` that engines run into.
const LIMITS: [&str; 3] = ["Max open files", "Max locked memory", "Max address space"];

/// Reads all settings.
pub(super) fn read(root: &Root) -> BTreeMap<String, String> {
    let mut settings = BTreeMap::new();
    let paths = PATHS.iter().map(|path| (*path).to_owned());
    for path in paths.chain(machine_setting_files(root)) {
        if let Some(text) = root.text(&path) {
            settings.insert(path, text);
        }
    }
    let limits = root.text("/proc/self/limits").unwrap_or_default();
    for name in LIMITS {
        if let Some((soft, hard)) = limit(&limits, name) {
            settings.insert(name.to_owned(), format!("{soft} / {hard}"));
        }
    }
    settings.extend(limits_above(root));
    let cachestat = if pages::has_cachestat() { "yes" } else { "no" };
    settings.insert(CACHESTAT.to_owned(), cachestat.to_owned());
    settings
}

/// Returns the limits that others have set on us.
fn limits_above(root: &Root) -> impl Iterator<Item = (String, String)> {
    let memory = group::memory_above(root);
    let memory = memory.map(|(group, bytes)| format!("{bytes} on {}", group.display()));
    let cpus = group::cpus_above(root);
    let cpus = cpus.map(|(group, cpus)| format!("{cpus} on {}", group.display()));
    let io = group::io_above(root).into_iter();
    let io = io.map(|(group, limits)| format!("{limits} on {}", group.display()));
    let io = io.reduce(|all, one| format!("{all}; {one}"));
    let all =
        [(MEMORY_ABOVE, "memory", memory), (CPUS_ABOVE, "cpu", cpus), (IO_ABOVE, "blkio", io)];
    all.into_iter().filter_map(|(name, controller, limit)| {
        let none = || group::is_seen(root, controller).then(|| NO_LIMIT.to_owned());
        Some((name.to_owned(), limit.or_else(none)?))
    })
}

/// Returns the files whose names depend on the machine: the states that an idle processor may fall
/// into (name, time to wake up, switched off); its flaws, and what the kernel does about each;
/// whether a DAMON thread runs, which may evict cold cache by itself.
fn machine_setting_files(root: &Root) -> Vec<String> {
    const IDLE: &str = "/sys/devices/system/cpu/cpu0/cpuidle";
    const DAMON: &str = "/sys/kernel/mm/damon/admin/kdamonds";
    let mut paths: Vec<String> =
        root.names(FLAWS).into_iter().map(|name| format!("{FLAWS}/{name}")).collect();
    for state in root.names(IDLE).iter().filter(|name| name.starts_with("state")) {
        paths.extend(["name", "latency", "disable"].map(|file| format!("{IDLE}/{state}/{file}")));
    }
    let threads = root.names(DAMON).into_iter().filter(|name| name.parse::<u32>().is_ok());
    paths.extend(threads.map(|thread| format!("{DAMON}/{thread}/state")));
    paths
}

/// Returns the soft and the hard limit: the columns after the name, which contains spaces.
fn limit<'a>(limits: &'a str, name: &str) -> Option<(&'a str, &'a str)> {
    let line = limits.lines().find_map(|line| line.strip_prefix(name))?;
    let mut fields = line.split_whitespace();
    Some((fields.next()?, fields.next()?))
}

#[cfg(test)]
mod tests {
    use super::super::testing::Fake;
    use super::*;

    #[test]
    fn what_is_there_is_read() {
        let fake = Fake::new()
            .file("/proc/sys/vm/swappiness", "60\n")
            .file("/sys/kernel/mm/damon/admin/kdamonds/0/state", "on\n")
            .file("/sys/kernel/mm/damon/admin/kdamonds/nr_kdamonds", "1\n")
            .file(
                "/proc/self/limits",
                "Limit                     Soft Limit           Hard Limit           Units     \n\
                 Max open files            20000                524288               files     \n\
                 Max locked memory         8388608              unlimited            bytes     \n",
            );
        let settings = read(&fake.root);
        assert_eq!(settings["/proc/sys/vm/swappiness"], "60");
        assert_eq!(settings["/sys/kernel/mm/damon/admin/kdamonds/0/state"], "on");
        assert_eq!(settings["Max open files"], "20000 / 524288");
        assert_eq!(settings["Max locked memory"], "8388608 / unlimited");
        assert!(!settings.contains_key("/proc/cmdline"));
    }

    #[test]
    fn the_list_is_in_order_and_without_doubles() {
        assert!(PATHS.is_sorted() && PATHS.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
