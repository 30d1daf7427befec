//! Checks on clocks, neighbours and the kernel.

use super::Check;
use kvdyno_record::host::Host;

/// A waiting share of the last 10 s, in percent, that is not idle.
const PRESSURE_MAX: f64 = 5.0;

pub(super) fn checks(host: &Host) -> Vec<Check> {
    let mut checks = vec![kernel(&host.kernel), pressure(host)];
    let rules: [fn(&Host) -> Option<Check>; 4] = [clocksource, virtual_machine, steal, load];
    checks.extend(rules.iter().filter_map(|rule| rule(host)));
    checks
}

fn kernel(release: &str) -> Check {
    const WHY: &str = "from 6.5 cachestat proves what is cached; from 5.19 groups have a peak";
    let mut parts = release.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse().ok());
    let version: Option<(u32, u32)> = parts.next().flatten().zip(parts.next().flatten());
    match version {
        Some(version) if version >= (6, 5) => Check::ok("kernel", release, WHY),
        _ => Check::info("kernel", release, WHY).change("use Linux 6.5 or newer"),
    }
}

fn clocksource(host: &Host) -> Option<Check> {
    const WHY: &str = "other clocks are read by a system call, 200 ns and more each time";
    let clock = host.machine.clocksource.as_deref()?;
    let fast = ["tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page", "timebase"];
    Some(if fast.contains(&clock) {
        Check::ok("clocksource", clock, WHY)
    } else {
        Check::warning("clocksource", clock, WHY)
            .change("echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource")
    })
}

fn virtual_machine(host: &Host) -> Option<Check> {
    const WHY: &str = "tails are the host's, and so may be the cache under the drive";
    Some(if host.machine.virtual_machine? {
        Check::info("virtual_machine", "yes", WHY)
    } else {
        Check::ok("virtual_machine", "no", WHY)
    })
}

fn steal(host: &Host) -> Option<Check> {
    const WHY: &str = "time that the hypervisor gave to others; it is read around each phase";
    let stolen = host.machine.steal_ns?;
    let value = format!("{} since boot", kvdyno_record::units::duration(stolen));
    Some(match stolen {
        0 => Check::ok("steal", value, WHY),
        _ => Check::info("steal", value, WHY),
    })
}

fn load(host: &Host) -> Option<Check> {
    const WHY: &str = "something else runs here";
    let load = host.machine.load_1m?;
    let busy = load > 0.5 * f64::from(host.machine.cpus.max(1));
    let value = format!("{load} on {} processors", host.machine.cpus);
    Some(if busy {
        Check::warning("load", value, WHY).change("wait until the machine is idle")
    } else {
        Check::ok("load", value, WHY)
    })
}

fn pressure(host: &Host) -> Check {
    const WHY: &str = "tasks waited for a resource in the last 10 seconds: the host is not idle";
    let shares = &host.machine.pressure_some_avg10;
    let worst = shares.values().copied().fold(0.0, f64::max);
    let words: Vec<String> =
        shares.iter().map(|(resource, share)| format!("{resource} {share} %")).collect();
    let value = words.join(", ");
    if shares.is_empty() {
        Check::info("pressure", "not told here", WHY).change("boot with psi=1")
    } else if worst > PRESSURE_MAX {
        Check::warning("pressure", value, WHY).change("wait until the machine is idle")
    } else {
        Check::ok("pressure", value, WHY)
    }
}

/// A gap of this length in a thread that does nothing but read the clock is worth knowing.
const HICCUP_NS: u64 = 1_000_000;

/// Not of the recorded host: taken now, by [`crate::hiccups`], and told in words by whoever
/// read them.
pub(super) fn hiccups(gaps: &str, max_ns: u64) -> Check {
    const WHY: &str = "an idle thread was stopped for so long: latencies below this are noise";
    if max_ns < HICCUP_NS {
        Check::ok("scheduling jitter", gaps, WHY)
    } else {
        Check::info("scheduling jitter", gaps, WHY)
            .change("a machine of one's own, its interrupts and services kept off some processors")
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Severity, of};
    use super::*;
    use kvdyno_record::host::Machine;

    #[test]
    fn kernels() {
        assert_eq!(kernel("6.18.44-fc").severity, Severity::Ok);
        assert_eq!(kernel("6.1.0-13-amd64").severity, Severity::Info);
        assert_eq!(kernel("10.0").severity, Severity::Ok);
        assert_eq!(kernel("").severity, Severity::Info);
    }

    #[test]
    fn a_laptop_in_use() {
        let host = Host {
            machine: Machine {
                cpus: 4,
                clocksource: Some("hpet".to_owned()),
                virtual_machine: Some(false),
                load_1m: Some(3.5),
                pressure_some_avg10: [("cpu".to_owned(), 12.0), ("io".to_owned(), 0.0)].into(),
                ..Machine::default()
            },
            ..Host::default()
        };
        let checks = checks(&host);
        for id in ["clocksource", "load", "pressure"] {
            assert_eq!(of(&checks, id).unwrap().severity, Severity::Warning, "{id}");
        }
        assert_eq!(of(&checks, "pressure").unwrap().value, "cpu 12 %, io 0 %");
        assert_eq!(of(&checks, "virtual_machine").unwrap().severity, Severity::Ok);
        assert_eq!(of(&checks, "steal"), None);
    }

    #[test]
    fn a_kernel_without_pressure_says_so() {
        let check = pressure(&Host::default());
        assert_eq!((check.severity, check.value.as_str()), (Severity::Info, "not told here"));
    }

    #[test]
    fn short_hiccups_are_as_it_should_be() {
        assert_eq!(hiccups("max 80.0 us", 80_000).severity, Severity::Ok);
        assert_eq!(hiccups("max 13.4 ms", 13_400_000).severity, Severity::Info);
    }
}
