//! Checks on processors, clocks, neighbours and the kernel.

use super::{Check, setting};
use kvdyno_record::host::Host;

/// A waiting share of the last 10 s, in percent, that is not idle.
const PRESSURE_MAX: f64 = 5.0;

pub(super) fn checks(host: &Host) -> Vec<Check> {
    let mut checks = vec![kernel(&host.kernel)];
    let rules: [fn(&Host) -> Option<Check>; 8] =
        [governor, turbo, clocksource, virtual_machine, steal, smt, load, pressure];
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

fn governor(host: &Host) -> Option<Check> {
    const WHY: &str = "a clock that ramps up adds tens of microseconds to single operations";
    let governor = host.machine.governor.as_deref()?;
    Some(match governor {
        "performance" => Check::ok("governor", governor, WHY),
        _ => Check::warning("governor", governor, WHY)
            .change("cpupower frequency-set -g performance"),
    })
}

fn turbo(host: &Host) -> Option<Check> {
    const INTEL: &str = "/sys/devices/system/cpu/intel_pstate/no_turbo";
    const OTHERS: &str = "/sys/devices/system/cpu/cpufreq/boost";
    const WHY: &str = "how fast the processor runs depends on its temperature";
    let (on, remedy) = match setting(host, INTEL) {
        Some(text) => (text == "0", format!("echo 1 > {INTEL}")),
        None => (setting(host, OTHERS)? == "1", format!("echo 0 > {OTHERS}")),
    };
    Some(if on {
        Check::info("turbo", "on", WHY).change(remedy)
    } else {
        Check::ok("turbo", "off", WHY)
    })
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
    let value = format!("{} since boot", crate::units::duration(stolen));
    Some(match stolen {
        0 => Check::ok("steal", value, WHY),
        _ => Check::info("steal", value, WHY),
    })
}

fn smt(host: &Host) -> Option<Check> {
    const WHY: &str = "two threads share a core: more threads than cores disturb each other";
    let on = setting(host, "/sys/devices/system/cpu/smt/active")? == "1";
    on.then(|| {
        Check::info("smt", "on", WHY).change("echo off > /sys/devices/system/cpu/smt/control")
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

fn pressure(host: &Host) -> Option<Check> {
    const WHY: &str = "tasks waited for a resource in the last 10 seconds: the host is not idle";
    let shares = &host.machine.pressure_some_avg10;
    let worst = shares.values().copied().fold(0.0, f64::max);
    let words: Vec<String> =
        shares.iter().map(|(resource, share)| format!("{resource} {share} %")).collect();
    let value = words.join(", ");
    (!shares.is_empty()).then(|| {
        if worst > PRESSURE_MAX {
            Check::warning("pressure", value, WHY).change("wait until the machine is idle")
        } else {
            Check::ok("pressure", value, WHY)
        }
    })
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
                governor: Some("powersave".to_owned()),
                clocksource: Some("hpet".to_owned()),
                virtual_machine: Some(false),
                load_1m: Some(3.5),
                pressure_some_avg10: [("cpu".to_owned(), 12.0), ("io".to_owned(), 0.0)].into(),
                ..Machine::default()
            },
            settings: [
                ("/sys/devices/system/cpu/intel_pstate/no_turbo".to_owned(), "0".to_owned()),
                ("/sys/devices/system/cpu/smt/active".to_owned(), "1".to_owned()),
            ]
            .into(),
            ..Host::default()
        };
        let checks = checks(&host);
        for id in ["governor", "clocksource", "load", "pressure"] {
            assert_eq!(of(&checks, id).unwrap().severity, Severity::Warning, "{id}");
        }
        assert_eq!(of(&checks, "turbo").unwrap().severity, Severity::Info);
        assert_eq!(of(&checks, "smt").unwrap().severity, Severity::Info);
        assert_eq!(of(&checks, "pressure").unwrap().value, "cpu 12 %, io 0 %");
        assert_eq!(of(&checks, "virtual_machine").unwrap().severity, Severity::Ok);
        assert_eq!(of(&checks, "steal"), None);
    }
}
