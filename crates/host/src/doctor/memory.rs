//! Checks on how the host manages memory.

use super::rule::{Rule, diagnostic, on_off, rule, setting};
use crate::root::bracketed_word;
use kvdyno_record::host::settings;
use kvdyno_record::units;

const ZSWAP: &str = "/sys/module/zswap/parameters/enabled";
const KSM: &str = "/sys/kernel/mm/ksm/run";
const HUGE_PAGES: &str = "/sys/kernel/mm/transparent_hugepage";

pub(super) const RULES: &[Rule] = &[
    rule("swap", |host| {
        let bytes = host.machine.swap_bytes;
        let value = if bytes == 0 { "none" } else { &units::bytes(bytes) };
        diagnostic(
            value,
            "an engine without a RAM limit could be swapped out; under a limit nothing is",
        )
        .warn_if(bytes > 0, "swapoff -a")
    }),
    // DAMON's reclaim pages out idle memory, with or without a limit.
    rule("damon", |host| {
        host.settings.keys().find(|path| path.starts_with(settings::DAMON))?;
        let on = host.damon_switch();
        diagnostic(
            on_off(on.is_some()),
            "its reclaim evicts cold page cache, whatever the RAM limit",
        )
        .warn_if(on.is_some(), format!("echo off > {}", on.unwrap_or_default()))
    }),
    rule("transparent_hugepage", |host| {
        let mode = host.machine.transparent_hugepage.as_deref()?;
        let defrag = setting(host, &format!("{HUGE_PAGES}/defrag")).map(bracketed_word);
        let defrag = defrag.map(|defrag| format!(", defrag {defrag}")).unwrap_or_default();
        let why = "`always` stalls on compaction and swells memory that is touched sparsely";
        diagnostic(format!("{mode}{defrag}"), why)
            .warn_if(mode == "always", format!("echo madvise > {HUGE_PAGES}/enabled"))
    }),
    rule("swappiness", |host| {
        let value = setting(host, "/proc/sys/vm/swappiness")?;
        let swaps = host.machine.swap_bytes > 0;
        let without = if swaps { "" } else { ", without swap" };
        let why = "how readily an engine's memory is swapped out to keep files cached";
        diagnostic(format!("{value}{without}"), why)
            .info_if(swaps && !["0", "1"].contains(&value), "sysctl vm.swappiness=1")
    }),
    rule("zswap", |host| {
        let on = ["Y", "1"].contains(&setting(host, ZSWAP)?);
        let swaps = host.machine.swap_bytes > 0;
        let value = if on && !swaps { "on, without swap" } else { on_off(on) };
        diagnostic(value, "memory that is swapped out is kept compressed in RAM")
            .warn_if(on && swaps, format!("echo N > {ZSWAP}"))
    }),
    rule("ksm", |host| {
        let on = setting(host, KSM)? == "1";
        diagnostic(on_off(on), "a kernel thread compares and merges pages while we measure")
            .warn_if(on, format!("echo 0 > {KSM}"))
    }),
    // Recorded, not judged: either kind of list is a kernel as people run it.
    rule("lru_gen", |host| {
        let value = setting(host, "/sys/kernel/mm/lru_gen/enabled")?;
        let on = !value.trim_start_matches("0x").trim_matches('0').is_empty();
        let words = if on { "generations (MGLRU)" } else { "two lists" };
        let why = "decides which page is evicted: compare only kernels that have the same";
        diagnostic(format!("{words}, {value}"), why).ok()
    }),
    rule("overcommit", |host| {
        let value = setting(host, "/proc/sys/vm/overcommit_memory")?;
        diagnostic(value, "with 2, large maps, as LMDB makes them, are refused")
            .warn_if(value == "2", "sysctl vm.overcommit_memory=0")
    }),
    rule("max_map_count", |host| {
        let maps: u64 = setting(host, "/proc/sys/vm/max_map_count")?.parse().ok()?;
        diagnostic(maps.to_string(), "engines that map many files run out of maps")
            .info_if(maps < 262_144, "sysctl vm.max_map_count=262144")
    }),
    // The amount that a short run can leave in memory, without a write to any device.
    rule("dirty_limit", |host| {
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
        let why = "as much as this is written to memory before a writer is slowed to the drive's \
                   speed";
        let remedy = "sysctl vm.dirty_bytes=268435456 vm.dirty_background_bytes=67108864";
        diagnostic(value, why).info_if(true, remedy)
    }),
    rule("numa_balancing", |host| {
        let on = setting(host, "/proc/sys/kernel/numa_balancing")? != "0";
        let several = host.machine.numa_nodes > 1;
        let value = if on && !several { "on, with one node" } else { on_off(on) };
        diagnostic(value, "the kernel moves pages between nodes while we measure")
            .warn_if(on && several, "sysctl kernel.numa_balancing=0")
    }),
    rule("zone_reclaim", |host| {
        let mode = setting(host, "/proc/sys/vm/zone_reclaim_mode")?;
        let why = "a node evicts its own page cache while another has free memory";
        let value = if mode == "0" { "off" } else { mode };
        diagnostic(value, why).warn_if(mode != "0", "sysctl vm.zone_reclaim_mode=0")
    }),
];

#[cfg(test)]
mod tests {
    use super::super::rule::{Level, apply, apply_rule, find_check};
    use super::*;
    use kvdyno_record::host::{Host, Machine};

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
        let check = apply_rule(RULES, "damon", &host(&[(path, "on")])).unwrap();
        assert_eq!(check.severity, Level::Warning);
        assert_eq!(check.remedy.unwrap(), format!("echo off > {path}"));
        assert_eq!(
            apply_rule(RULES, "damon", &host(&[(path, "off")])).unwrap().severity,
            Level::Ok
        );
        assert_eq!(apply_rule(RULES, "damon", &host(&[])), None);
    }

    #[test]
    fn a_share_of_memory_may_be_dirty() {
        let ratio = [("/proc/sys/vm/dirty_bytes", "0"), ("/proc/sys/vm/dirty_ratio", "25")];
        assert_eq!(apply_rule(RULES, "dirty_limit", &host(&ratio)).unwrap().value, "6.00 GiB");
        let bytes = [("/proc/sys/vm/dirty_bytes", "1048576")];
        assert_eq!(apply_rule(RULES, "dirty_limit", &host(&bytes)).unwrap().value, "1.00 MiB");
        let defaults = [
            ("/proc/sys/vm/dirty_bytes", "0"),
            ("/proc/sys/vm/dirty_ratio", "20"),
            ("/proc/sys/vm/dirty_background_bytes", "0"),
            ("/proc/sys/vm/dirty_background_ratio", "10"),
            ("/proc/sys/vm/dirty_expire_centisecs", "3000"),
        ];
        let value = apply_rule(RULES, "dirty_limit", &host(&defaults)).unwrap().value;
        assert_eq!(value, "4.80 GiB, written back from 2.40 GiB or after 30.0 s");
    }

    #[test]
    fn swap_and_huge_pages() {
        let mut host = host(&[("/proc/sys/vm/max_map_count", "65530")]);
        host.machine.swap_bytes = 1 << 30;
        host.machine.transparent_hugepage = Some("always".to_owned());
        let checks = apply(RULES, &host);
        assert_eq!(find_check(&checks, "swap").unwrap().severity, Level::Warning);
        assert_eq!(find_check(&checks, "transparent_hugepage").unwrap().severity, Level::Warning);
        assert_eq!(find_check(&checks, "max_map_count").unwrap().severity, Level::Info);
        assert_eq!(find_check(&checks, "numa_balancing"), None);
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
        let checks = apply(RULES, &off);
        assert_eq!(checks.len(), 8);
        assert!(checks.iter().all(|check| check.severity == Level::Ok), "{checks:#?}");
        assert_eq!(find_check(&checks, "lru_gen").unwrap().value, "two lists, 0x0000");
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
        let checks = apply(RULES, &on);
        for id in ["ksm", "zswap", "overcommit", "numa_balancing", "zone_reclaim"] {
            assert_eq!(find_check(&checks, id).unwrap().severity, Level::Warning, "{id}");
        }
        assert_eq!(find_check(&checks, "swappiness").unwrap().severity, Level::Info);
        assert_eq!(find_check(&checks, "lru_gen").unwrap().value, "generations (MGLRU), 0x0007");
    }
}
