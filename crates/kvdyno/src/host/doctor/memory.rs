//! Checks on how the host manages memory.

use super::{Check, setting};
use crate::units;
use kvdyno_record::host::Host;

const DAMON: &str = "/sys/kernel/mm/damon/";

pub(super) fn checks(host: &Host) -> Vec<Check> {
    let mut checks = vec![swap(host)];
    checks.extend(damon(host));
    checks.extend(huge_pages(host));
    let rules: [fn(&Host) -> Option<Check>; 6] =
        [zswap, ksm, overcommit, map_count, dirty_limit, numa_balancing];
    checks.extend(rules.iter().filter_map(|rule| rule(host)));
    checks
}

fn swap(host: &Host) -> Check {
    const WHY: &str = "what does not fit could go to swap instead of failing";
    match host.machine.swap_bytes {
        0 => Check::ok("swap", "none", WHY),
        bytes => Check::warning("swap", units::bytes(bytes), WHY).change("swapoff -a"),
    }
}

/// DAMON's reclaim pages out what was not touched for a while, limit or no limit.
fn damon(host: &Host) -> Option<Check> {
    const WHY: &str = "its reclaim evicts cold page cache by itself, whatever the RAM limit";
    let mut threads = host.settings.iter().filter(|(path, _)| path.starts_with(DAMON)).peekable();
    threads.peek()?;
    let on: Vec<&str> =
        threads.filter(|(_, state)| *state == "on").map(|(path, _)| path.as_str()).collect();
    Some(match on.first() {
        None => Check::ok("damon", "off", WHY),
        Some(path) => Check::warning("damon", "on", WHY).change(format!("echo off > {path}")),
    })
}

fn huge_pages(host: &Host) -> Option<Check> {
    const WHY: &str = "`always` stalls on compaction and swells memory that is touched sparsely";
    let mode = host.machine.transparent_hugepage.as_deref()?;
    Some(match mode {
        "always" => Check::warning("transparent_hugepage", mode, WHY)
            .change("echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"),
        _ => Check::ok("transparent_hugepage", mode, WHY),
    })
}

fn zswap(host: &Host) -> Option<Check> {
    const PATH: &str = "/sys/module/zswap/parameters/enabled";
    const WHY: &str = "memory that is swapped out is kept compressed in RAM";
    match setting(host, PATH)? {
        "Y" | "1" if host.machine.swap_bytes > 0 => {
            Some(Check::warning("zswap", "on", WHY).change(format!("echo N > {PATH}")))
        }
        _ => None,
    }
}

fn ksm(host: &Host) -> Option<Check> {
    const PATH: &str = "/sys/kernel/mm/ksm/run";
    const WHY: &str = "a kernel thread compares and merges pages while we measure";
    let running = setting(host, PATH)? == "1";
    running.then(|| Check::warning("ksm", "on", WHY).change(format!("echo 0 > {PATH}")))
}

fn overcommit(host: &Host) -> Option<Check> {
    const WHY: &str = "large maps, as LMDB makes them, are refused";
    let strict = setting(host, "/proc/sys/vm/overcommit_memory")? == "2";
    strict.then(|| Check::warning("overcommit", "2", WHY).change("sysctl vm.overcommit_memory=0"))
}

fn map_count(host: &Host) -> Option<Check> {
    const WHY: &str = "engines that map many files run out of maps";
    let maps: u64 = setting(host, "/proc/sys/vm/max_map_count")?.parse().ok()?;
    Some(match maps {
        262_144.. => Check::ok("max_map_count", maps.to_string(), WHY),
        _ => Check::info("max_map_count", maps.to_string(), WHY)
            .change("sysctl vm.max_map_count=262144"),
    })
}

/// How much a short run can leave in memory without any device seeing it.
fn dirty_limit(host: &Host) -> Option<Check> {
    const WHY: &str = "as much as this is written to memory before a writer is slowed to the \
         drive's speed";
    let number = |path| setting(host, path)?.parse::<u64>().ok();
    let bytes = match number("/proc/sys/vm/dirty_bytes")? {
        0 => host.machine.memory_bytes / 100 * number("/proc/sys/vm/dirty_ratio")?,
        bytes => bytes,
    };
    Some(Check::info("dirty_limit", units::bytes(bytes), WHY))
}

fn numa_balancing(host: &Host) -> Option<Check> {
    const WHY: &str = "the kernel moves pages between nodes while we measure";
    let on = setting(host, "/proc/sys/kernel/numa_balancing")? != "0";
    (on && host.machine.numa_nodes > 1).then(|| {
        Check::warning("numa_balancing", "on", WHY).change("sysctl kernel.numa_balancing=0")
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Severity, of};
    use super::*;
    use kvdyno_record::host::Machine;

    fn host(settings: &[(&str, &str)]) -> Host {
        let settings = settings.iter().map(|(path, text)| ((*path).into(), (*text).into()));
        Host {
            settings: settings.collect(),
            machine: Machine { memory_bytes: 24 << 30, ..Machine::default() },
            ..Host::default()
        }
    }

    #[test]
    fn damon_on_is_a_warning_that_names_its_switch() {
        let path = "/sys/kernel/mm/damon/admin/kdamonds/0/state";
        let check = damon(&host(&[(path, "on")])).unwrap();
        assert_eq!(check.severity, Severity::Warning);
        assert_eq!(check.remedy.unwrap(), format!("echo off > {path}"));
        assert_eq!(damon(&host(&[(path, "off")])).unwrap().severity, Severity::Ok);
        assert_eq!(damon(&host(&[])), None);
    }

    #[test]
    fn a_share_of_memory_may_be_dirty() {
        let ratio = [("/proc/sys/vm/dirty_bytes", "0"), ("/proc/sys/vm/dirty_ratio", "25")];
        assert_eq!(dirty_limit(&host(&ratio)).unwrap().value, "6.00 GiB");
        let bytes = [("/proc/sys/vm/dirty_bytes", "1048576")];
        assert_eq!(dirty_limit(&host(&bytes)).unwrap().value, "1.00 MiB");
    }

    #[test]
    fn swap_and_huge_pages() {
        let mut host = host(&[("/proc/sys/vm/max_map_count", "65530")]);
        host.machine.swap_bytes = 1 << 30;
        host.machine.transparent_hugepage = Some("always".to_owned());
        let checks = checks(&host);
        assert_eq!(of(&checks, "swap").unwrap().severity, Severity::Warning);
        assert_eq!(of(&checks, "transparent_hugepage").unwrap().severity, Severity::Warning);
        assert_eq!(of(&checks, "max_map_count").unwrap().severity, Severity::Info);
        assert_eq!(of(&checks, "numa_balancing"), None);
    }
}
