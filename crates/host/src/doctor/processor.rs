//! Checks on the processors: how fast they run, how deep they sleep, what they share.

use super::rule::{Rule, diagnostic, on_off, rule, setting};
use kvdyno_record::host::settings::FLAWS;

const CPU: &str = "/sys/devices/system/cpu";

/// The longest wake-up without a hint, in microseconds: a longer one shows in each operation that
/// waits for a drive.
const WAKE_US_MAX: u64 = 10;

pub(super) const RULES: &[Rule] = &[
    rule("governor", |host| {
        let why = "a clock that ramps up adds tens of microseconds to single operations";
        match host.machine.governor.as_deref() {
            Some(governor) => diagnostic(governor, why)
                .warn_if(governor != "performance", "cpupower frequency-set -g performance"),
            // In a virtual machine the clock is the host's affair.
            None if host.machine.virtual_machine == Some(true) => None,
            None => diagnostic("not reported here", why).info(),
        }
    }),
    rule("energy_preference", |host| {
        let path = format!("{CPU}/cpu0/cpufreq/energy_performance_preference");
        let preference = setting(host, &path)?;
        diagnostic(preference, "the processor itself weighs speed against energy")
            .info_if(preference != "performance", "cpupower set --epp performance")
    }),
    rule("turbo", |host| {
        let intel = format!("{CPU}/intel_pstate/no_turbo");
        let others = format!("{CPU}/cpufreq/boost");
        let (on, remedy) = match setting(host, &intel) {
            Some(text) => (text == "0", format!("echo 1 > {intel}")),
            None => (setting(host, &others)? == "1", format!("echo 0 > {others}")),
        };
        diagnostic(on_off(on), "how fast the processor runs depends on its temperature")
            .info_if(on, remedy)
    }),
    // The deepest state of cpu0 that is not switched off decides.
    rule("cpu_idle", |host| {
        let why = "a processor that sleeps while a drive works has to wake up for each answer";
        let driver = setting(host, &format!("{CPU}/cpuidle/current_driver"));
        let states = (0..32).filter_map(|state| {
            let path = format!("{CPU}/cpu0/cpuidle/state{state}");
            let file = |file| setting(host, &format!("{path}/{file}"));
            let wake_us: u64 = file("latency")?.parse().ok()?;
            let on = file("disable") != Some("1");
            on.then(|| (wake_us, file("name").unwrap_or("?")))
        });
        match (driver, states.max()) {
            (None, None) if host.machine.virtual_machine == Some(true) => None,
            (None, None) => diagnostic("not reported here", why).info(),
            (driver, None) => diagnostic(driver.unwrap_or_default(), why).ok(),
            (driver, Some((wake_us, name))) => {
                let driver = driver.unwrap_or("no driver");
                diagnostic(format!("{driver}, down to {name}: {wake_us} us"), why)
                    .info_if(wake_us > WAKE_US_MAX, format!("cpupower idle-set -D {WAKE_US_MAX}"))
            }
        }
    }),
    rule("smt", |host| {
        let on = setting(host, "/sys/devices/system/cpu/smt/active")? == "1";
        diagnostic(
            on_off(on),
            "two threads share a core: more threads than cores disturb each other",
        )
        .info_if(on, format!("echo off > {CPU}/smt/control"))
    }),
    rule("isolated_cpus", |host| {
        let list = setting(host, &format!("{CPU}/isolated"))?;
        let why = "only pinned threads run on isolated processors";
        let remedy = format!("taskset -c {list} kvdyno ..., or boot without isolcpus");
        diagnostic(if list.is_empty() { "none" } else { list }, why)
            .info_if(!list.is_empty(), remedy)
    }),
    rule("numa_nodes", |host| {
        let nodes = Some(host.machine.numa_nodes).filter(|nodes| *nodes > 0)?;
        diagnostic(
            nodes.to_string(),
            "memory of another node is slower, and the node is chosen by chance",
        )
        .info_if(nodes > 1, "numactl --cpunodebind=0 --membind=0 kvdyno ...")
    }),
    rule("mitigations", |host| {
        let states = host.settings.iter().filter(|(path, _)| path.starts_with(FLAWS));
        let states: Vec<&str> = states.map(|(_, state)| state.as_str()).collect();
        states.first()?;
        let count = |word: &str| states.iter().filter(|state| state.starts_with(word)).count();
        let (guarded, open) = (count("Mitigation"), count("Vulnerable"));
        let is_off = |word| word == "mitigations=off" || word == "nopti";
        let off = setting(host, "/proc/cmdline").is_some_and(|line| line.split(' ').any(is_off));
        let at_boot = if off { "switched off at boot; " } else { "" };
        let value = format!("{at_boot}{guarded} flaws guarded against, {open} left open");
        diagnostic(value, "guarding against the processor's flaws makes system calls dearer")
            .info_if(off, "boot without mitigations=off, as machines in use are")
    }),
];

#[cfg(test)]
mod tests {
    use super::super::rule::{Level, apply, apply_rule, find_check};
    use super::*;
    use kvdyno_record::host::{Host, Machine};

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
        let checks = apply(RULES, &host);
        assert_eq!(find_check(&checks, "governor").unwrap().severity, Level::Warning);
        for id in ["turbo", "smt", "isolated_cpus", "energy_preference", "cpu_idle", "numa_nodes"] {
            let check = find_check(&checks, id).unwrap();
            assert_eq!(check.severity, Level::Info, "{id}");
            assert!(check.remedy.is_some(), "{id}");
        }
        assert_eq!(
            find_check(&checks, "cpu_idle").unwrap().value,
            "intel_idle, down to C6: 133 us"
        );
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
        let checks = apply(RULES, &host);
        assert!(checks.iter().all(|check| check.severity == Level::Ok), "{checks:#?}");
        assert_eq!(checks.len(), 6);
    }

    #[test]
    fn what_is_not_told_is_said_where_it_matters() {
        let bare = apply(RULES, &host(&[]));
        let ids: Vec<&str> = bare.iter().map(|check| check.id).collect();
        assert_eq!(ids, ["governor", "cpu_idle"]);
        assert!(bare.iter().all(|check| check.value == "not reported here"));
        let mut guest = host(&[]);
        guest.machine.virtual_machine = Some(true);
        assert!(apply(RULES, &guest).is_empty());
    }

    #[test]
    fn flaws_are_counted() {
        let flaws = [
            ("vulnerabilities/meltdown", "Not affected"),
            ("vulnerabilities/spectre_v1", "Mitigation: usercopy barriers"),
            ("vulnerabilities/tsa", "Vulnerable: no microcode"),
        ];
        let mut host = host(&flaws);
        let check = apply_rule(RULES, "mitigations", &host).unwrap();
        assert_eq!(check.value, "1 flaws guarded against, 1 left open");
        assert_eq!(check.severity, Level::Ok);
        host.settings.insert("/proc/cmdline".to_owned(), "quiet mitigations=off".to_owned());
        assert_eq!(apply_rule(RULES, "mitigations", &host).unwrap().severity, Level::Info);
    }
}
