//! Checks on how the host manages memory.

use super::{Check, setting};
use crate::drive::chosen;
use kvdyno_record::host::{Host, settings};
use kvdyno_record::units;

pub(super) fn checks(host: &Host) -> Vec<Check> {
    let mut checks = vec![swap(host)];
    checks.extend(damon(host));
    checks.extend(huge_pages(host));
    let rules: [fn(&Host) -> Option<Check>; 9] = [
        swappiness,
        zswap,
        ksm,
        lru_gen,
        overcommit,
        map_count,
        dirty_limit,
        numa_balancing,
        zone_reclaim,
    ];
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

fn swappiness(host: &Host) -> Option<Check> {
    const WHY: &str = "how readily an engine's memory is swapped out to keep files cached";
    let value = setting(host, "/proc/sys/vm/swappiness")?;
    Some(match value {
        value if host.machine.swap_bytes == 0 => {
            Check::ok("swappiness", format!("{value}, without swap"), WHY)
        }
        "0" | "1" => Check::ok("swappiness", value, WHY),
        value => Check::info("swappiness", value, WHY).change("sysctl vm.swappiness=1"),
    })
}

/// DAMON's reclaim pages out what was not touched for a while, limit or no limit.
fn damon(host: &Host) -> Option<Check> {
    const WHY: &str = "its reclaim evicts cold page cache by itself, whatever the RAM limit";
    if !host.settings.keys().any(|path| path.starts_with(settings::DAMON)) {
        return None;
    }
    Some(match host.damon_switch() {
        None => Check::ok("damon", "off", WHY),
        Some(path) => Check::warning("damon", "on", WHY).change(format!("echo off > {path}")),
    })
}

fn huge_pages(host: &Host) -> Option<Check> {
    const WHY: &str = "`always` stalls on compaction and swells memory that is touched sparsely";
    let mode = host.machine.transparent_hugepage.as_deref()?;
    let defrag = setting(host, "/sys/kernel/mm/transparent_hugepage/defrag").map(chosen);
    let value = match defrag {
        Some(defrag) => format!("{mode}, defrag {defrag}"),
        None => mode.to_owned(),
    };
    Some(match mode {
        "always" => Check::warning("transparent_hugepage", value, WHY)
            .change("echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"),
        _ => Check::ok("transparent_hugepage", value, WHY),
    })
}

fn zswap(host: &Host) -> Option<Check> {
    const PATH: &str = "/sys/module/zswap/parameters/enabled";
    const WHY: &str = "memory that is swapped out is kept compressed in RAM";
    Some(match setting(host, PATH)? {
        "Y" | "1" if host.machine.swap_bytes > 0 => {
            Check::warning("zswap", "on", WHY).change(format!("echo N > {PATH}"))
        }
        "Y" | "1" => Check::ok("zswap", "on, without swap", WHY),
        _ => Check::ok("zswap", "off", WHY),
    })
}

fn ksm(host: &Host) -> Option<Check> {
    const PATH: &str = "/sys/kernel/mm/ksm/run";
    const WHY: &str = "a kernel thread compares and merges pages while we measure";
    Some(match setting(host, PATH)? {
        "1" => Check::warning("ksm", "on", WHY).change(format!("echo 0 > {PATH}")),
        _ => Check::ok("ksm", "off", WHY),
    })
}

/// Recorded, not judged: either kind of list is a kernel as people run it.
fn lru_gen(host: &Host) -> Option<Check> {
    const WHY: &str = "decides which page is evicted: compare only kernels that have the same";
    let value = setting(host, "/sys/kernel/mm/lru_gen/enabled")?;
    let on = !value.trim_start_matches("0x").trim_matches('0').is_empty();
    let words = if on { "generations (MGLRU)" } else { "two lists" };
    Some(Check::ok("lru_gen", format!("{words}, {value}"), WHY))
}

fn overcommit(host: &Host) -> Option<Check> {
    const WHY: &str = "with 2, large maps, as LMDB makes them, are refused";
    Some(match setting(host, "/proc/sys/vm/overcommit_memory")? {
        "2" => Check::warning("overcommit", "2", WHY).change("sysctl vm.overcommit_memory=0"),
        value => Check::ok("overcommit", value, WHY),
    })
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
    let number = |name| setting(host, &format!("/proc/sys/vm/{name}"))?.parse::<u64>().ok();
    let limit = |bytes, ratio| match number(bytes)? {
        0 => Some(host.machine.memory_bytes / 100 * number(ratio)?),
        bytes => Some(bytes),
    };
    let mut value = units::bytes(limit("dirty_bytes", "dirty_ratio")?);
    if let Some(bytes) = limit("dirty_background_bytes", "dirty_background_ratio") {
        value += &format!(", written back from {}", units::bytes(bytes));
    }
    if let Some(centiseconds) = number("dirty_expire_centisecs") {
        value += &format!(" or after {}", units::duration(centiseconds * 10_000_000));
    }
    let remedy = "sysctl vm.dirty_bytes=268435456 vm.dirty_background_bytes=67108864";
    Some(Check::info("dirty_limit", value, WHY).change(remedy))
}

fn numa_balancing(host: &Host) -> Option<Check> {
    const WHY: &str = "the kernel moves pages between nodes while we measure";
    let on = setting(host, "/proc/sys/kernel/numa_balancing")? != "0";
    Some(if on && host.machine.numa_nodes > 1 {
        Check::warning("numa_balancing", "on", WHY).change("sysctl kernel.numa_balancing=0")
    } else {
        Check::ok("numa_balancing", if on { "on, with one node" } else { "off" }, WHY)
    })
}

fn zone_reclaim(host: &Host) -> Option<Check> {
    const WHY: &str = "a node evicts its own page cache while another has free memory";
    Some(match setting(host, "/proc/sys/vm/zone_reclaim_mode")? {
        "0" => Check::ok("zone_reclaim", "off", WHY),
        mode => Check::warning("zone_reclaim", mode, WHY).change("sysctl vm.zone_reclaim_mode=0"),
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
        let defaults = [
            ("/proc/sys/vm/dirty_bytes", "0"),
            ("/proc/sys/vm/dirty_ratio", "20"),
            ("/proc/sys/vm/dirty_background_bytes", "0"),
            ("/proc/sys/vm/dirty_background_ratio", "10"),
            ("/proc/sys/vm/dirty_expire_centisecs", "3000"),
        ];
        let value = dirty_limit(&host(&defaults)).unwrap().value;
        assert_eq!(value, "4.80 GiB, written back from 2.40 GiB or after 30.0 s");
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

    #[test]
    fn switches_are_told_in_both_positions() {
        let off = host(&[
            ("/sys/kernel/mm/ksm/run", "0"),
            ("/sys/module/zswap/parameters/enabled", "Y"),
            ("/sys/kernel/mm/lru_gen/enabled", "0x0000"),
            ("/proc/sys/vm/overcommit_memory", "1"),
            ("/proc/sys/vm/swappiness", "60"),
            ("/proc/sys/kernel/numa_balancing", "1"),
            ("/proc/sys/vm/zone_reclaim_mode", "0"),
        ]);
        let told = checks(&off);
        assert_eq!(told.len(), 8);
        assert!(told.iter().all(|check| check.severity == Severity::Ok), "{told:#?}");
        assert_eq!(of(&told, "lru_gen").unwrap().value, "two lists, 0x0000");
        let mut on = host(&[
            ("/sys/kernel/mm/ksm/run", "1"),
            ("/sys/module/zswap/parameters/enabled", "Y"),
            ("/sys/kernel/mm/lru_gen/enabled", "0x0007"),
            ("/proc/sys/vm/overcommit_memory", "2"),
            ("/proc/sys/vm/swappiness", "60"),
            ("/proc/sys/kernel/numa_balancing", "1"),
            ("/proc/sys/vm/zone_reclaim_mode", "1"),
        ]);
        (on.machine.swap_bytes, on.machine.numa_nodes) = (1 << 30, 2);
        let told = checks(&on);
        for id in ["ksm", "zswap", "overcommit", "numa_balancing", "zone_reclaim"] {
            assert_eq!(of(&told, id).unwrap().severity, Severity::Warning, "{id}");
        }
        assert_eq!(of(&told, "swappiness").unwrap().severity, Severity::Info);
        assert_eq!(of(&told, "lru_gen").unwrap().value, "generations (MGLRU), 0x0007");
    }
}
