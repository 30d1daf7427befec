//! Checks on the processors: how fast they run, how deep they sleep, what they share.

use super::{Check, setting};
use kvdyno_record::host::Host;
use kvdyno_record::host::settings::FLAWS;

const CPU: &str = "/sys/devices/system/cpu";

/// Deeper sleep than this, in microseconds, shows in each operation that waits for a drive.
const WAKE_US_MAX: u64 = 10;

pub(super) fn checks(host: &Host) -> Vec<Check> {
    let rules: [fn(&Host) -> Option<Check>; 8] =
        [governor, energy_preference, turbo, cpu_idle, smt, isolated_cpus, numa_nodes, mitigations];
    rules.iter().filter_map(|rule| rule(host)).collect()
}

fn governor(host: &Host) -> Option<Check> {
    const WHY: &str = "a clock that ramps up adds tens of microseconds to single operations";
    Some(match host.machine.governor.as_deref() {
        Some("performance") => Check::ok("governor", "performance", WHY),
        Some(governor) => Check::warning("governor", governor, WHY)
            .change("cpupower frequency-set -g performance"),
        // In a virtual machine the clock is the host's affair.
        None if host.machine.virtual_machine == Some(true) => return None,
        None => Check::info("governor", "not told here", WHY),
    })
}

fn energy_preference(host: &Host) -> Option<Check> {
    const WHY: &str = "the processor itself weighs speed against energy";
    let path = format!("{CPU}/cpu0/cpufreq/energy_performance_preference");
    Some(match setting(host, &path)? {
        "performance" => Check::ok("energy_preference", "performance", WHY),
        other => {
            Check::info("energy_preference", other, WHY).change("cpupower set --epp performance")
        }
    })
}

fn turbo(host: &Host) -> Option<Check> {
    const WHY: &str = "how fast the processor runs depends on its temperature";
    let (intel, others) = (format!("{CPU}/intel_pstate/no_turbo"), format!("{CPU}/cpufreq/boost"));
    let (on, remedy) = match setting(host, &intel) {
        Some(text) => (text == "0", format!("echo 1 > {intel}")),
        None => (setting(host, &others)? == "1", format!("echo 0 > {others}")),
    };
    Some(if on {
        Check::info("turbo", "on", WHY).change(remedy)
    } else {
        Check::ok("turbo", "off", WHY)
    })
}

/// The deepest state of cpu0 that is not switched off decides.
fn cpu_idle(host: &Host) -> Option<Check> {
    const WHY: &str = "a processor that sleeps while a drive works has to wake up for each answer";
    let driver = setting(host, &format!("{CPU}/cpuidle/current_driver"));
    let file = |state: u32, file| setting(host, &format!("{CPU}/cpu0/cpuidle/state{state}/{file}"));
    let states = (0..32).filter_map(|state| {
        let wake_us: u64 = file(state, "latency")?.parse().ok()?;
        let on = file(state, "disable") != Some("1");
        on.then(|| (wake_us, file(state, "name").unwrap_or("?")))
    });
    let deepest = states.max();
    Some(match (driver, deepest) {
        (None, None) if host.machine.virtual_machine == Some(true) => return None,
        (None, None) => Check::info("cpu_idle", "not told here", WHY),
        (driver, None) => Check::ok("cpu_idle", driver.unwrap_or_default(), WHY),
        (driver, Some((wake_us, name))) => {
            let value = format!("{}, down to {name}: {wake_us} us", driver.unwrap_or("no driver"));
            if wake_us > WAKE_US_MAX {
                Check::info("cpu_idle", value, WHY)
                    .change(format!("cpupower idle-set -D {WAKE_US_MAX}"))
            } else {
                Check::ok("cpu_idle", value, WHY)
            }
        }
    })
}

fn smt(host: &Host) -> Option<Check> {
    const WHY: &str = "two threads share a core: more threads than cores disturb each other";
    let on = setting(host, "/sys/devices/system/cpu/smt/active")? == "1";
    Some(if on {
        Check::info("smt", "on", WHY).change(format!("echo off > {CPU}/smt/control"))
    } else {
        Check::ok("smt", "off", WHY)
    })
}

fn isolated_cpus(host: &Host) -> Option<Check> {
    const WHY: &str = "processors that the scheduler leaves alone are used by pinned threads only";
    Some(match setting(host, &format!("{CPU}/isolated"))? {
        "" => Check::ok("isolated_cpus", "none", WHY),
        list => Check::info("isolated_cpus", list, WHY)
            .change(format!("taskset -c {list} kvdyno ..., or boot without isolcpus")),
    })
}

fn numa_nodes(host: &Host) -> Option<Check> {
    const WHY: &str = "memory of another node is slower, and where it comes from is chance";
    Some(match host.machine.numa_nodes {
        0 => return None,
        1 => Check::ok("numa_nodes", "1", WHY),
        nodes => Check::info("numa_nodes", nodes.to_string(), WHY)
            .change("numactl --cpunodebind=0 --membind=0 kvdyno ..."),
    })
}

fn mitigations(host: &Host) -> Option<Check> {
    const WHY: &str = "guarding against the processor's flaws makes system calls dearer";
    let states = host.settings.iter().filter(|(path, _)| path.starts_with(FLAWS));
    let states: Vec<&str> = states.map(|(_, state)| state.as_str()).collect();
    let count = |word: &str| states.iter().filter(|state| state.starts_with(word)).count();
    let off = setting(host, "/proc/cmdline").is_some_and(|line| {
        line.split(' ').any(|word| word == "mitigations=off" || word == "nopti")
    });
    if states.is_empty() {
        return None;
    }
    let (guarded, open) = (count("Mitigation"), count("Vulnerable"));
    let value = format!("{guarded} flaws guarded against, {open} left open");
    Some(if off {
        Check::info("mitigations", format!("switched off at boot; {value}"), WHY)
            .change("boot without mitigations=off, as machines in use are")
    } else {
        Check::ok("mitigations", value, WHY)
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Severity, of};
    use super::*;
    use kvdyno_record::host::Machine;

    fn host(settings: &[(&str, &str)]) -> Host {
        let settings =
            settings.iter().map(|(path, text)| (format!("{CPU}/{path}"), (*text).into()));
        let machine = Machine { virtual_machine: Some(false), ..Machine::default() };
        Host { settings: settings.collect(), machine, ..Host::default() }
    }

    #[test]
    fn a_laptop() {
        let mut host = host(&[
            ("intel_pstate/no_turbo", "0"),
            ("smt/active", "1"),
            ("isolated", "2-3"),
            ("cpu0/cpufreq/energy_performance_preference", "balance_power"),
            ("cpuidle/current_driver", "intel_idle"),
            ("cpu0/cpuidle/state0/name", "POLL"),
            ("cpu0/cpuidle/state0/latency", "0"),
            ("cpu0/cpuidle/state2/name", "C6"),
            ("cpu0/cpuidle/state2/latency", "133"),
            ("cpu0/cpuidle/state2/disable", "0"),
        ]);
        host.machine.governor = Some("powersave".to_owned());
        host.machine.numa_nodes = 2;
        let checks = checks(&host);
        assert_eq!(of(&checks, "governor").unwrap().severity, Severity::Warning);
        for id in ["turbo", "smt", "isolated_cpus", "energy_preference", "cpu_idle", "numa_nodes"] {
            let check = of(&checks, id).unwrap();
            assert_eq!(check.severity, Severity::Info, "{id}");
            assert!(check.remedy.is_some(), "{id}");
        }
        assert_eq!(of(&checks, "cpu_idle").unwrap().value, "intel_idle, down to C6: 133 us");
    }

    #[test]
    fn a_machine_made_ready() {
        let mut host = host(&[
            ("intel_pstate/no_turbo", "1"),
            ("smt/active", "0"),
            ("isolated", ""),
            ("cpuidle/current_driver", "intel_idle"),
            ("cpu0/cpuidle/state1/latency", "2"),
            ("cpu0/cpuidle/state2/latency", "133"),
            ("cpu0/cpuidle/state2/disable", "1"),
        ]);
        host.machine.governor = Some("performance".to_owned());
        host.machine.numa_nodes = 1;
        let checks = checks(&host);
        assert!(checks.iter().all(|check| check.severity == Severity::Ok), "{checks:#?}");
        assert_eq!(checks.len(), 6);
    }

    #[test]
    fn what_is_not_told_is_said_where_it_matters() {
        let bare = checks(&host(&[]));
        let ids: Vec<&str> = bare.iter().map(|check| check.id).collect();
        assert_eq!(ids, ["governor", "cpu_idle"]);
        assert!(bare.iter().all(|check| check.value == "not told here"));
        let mut guest = host(&[]);
        guest.machine.virtual_machine = Some(true);
        assert!(checks(&guest).is_empty());
    }

    #[test]
    fn flaws_are_counted() {
        let flaws = [
            ("vulnerabilities/meltdown", "Not affected"),
            ("vulnerabilities/spectre_v1", "Mitigation: usercopy barriers"),
            ("vulnerabilities/tsa", "Vulnerable: no microcode"),
        ];
        let mut host = host(&flaws);
        let check = mitigations(&host).unwrap();
        assert_eq!(check.value, "1 flaws guarded against, 1 left open");
        assert_eq!(check.severity, Severity::Ok);
        host.settings.insert("/proc/cmdline".to_owned(), "quiet mitigations=off".to_owned());
        assert_eq!(mitigations(&host).unwrap().severity, Severity::Info);
    }
}
