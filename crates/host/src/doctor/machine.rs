//! Checks on clocks, neighbours and the kernel.

use super::rule::{Diagnostic, Level, Rule, diagnostic, rule};
use kvdyno_record::units;

/// The largest waiting share of the last 10 s, in percent, of an idle machine.
const PRESSURE_MAX: f64 = 5.0;

/// A gap of this length in a thread that does nothing but read the clock is worth knowing.
const HICCUP_NS: u64 = 1_000_000;

pub(super) const RULES: &[Rule] = &[
    rule("kernel", |host| {
        let release = host.kernel.as_str();
        let mut parts = release.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse().ok());
        let version: Option<(u32, u32)> = parts.next().flatten().zip(parts.next().flatten());
        diagnostic(
            release,
            "from 6.5 cachestat proves what is cached; from 5.19 groups have a peak",
        )
        .info_if(version < Some((6, 5)), "use Linux 6.5 or newer")
    }),
    rule("pressure", |host| {
        let shares = &host.machine.pressure_some_avg10;
        let why = "tasks waited for a resource in the last 10 seconds: the host is not idle";
        if shares.is_empty() {
            return diagnostic("not reported here", why).info_if(true, "boot with psi=1");
        }
        let words: Vec<String> =
            shares.iter().map(|(resource, share)| format!("{resource} {share} %")).collect();
        let busy = shares.values().any(|share| *share > PRESSURE_MAX);
        diagnostic(words.join(", "), why).warn_if(busy, "wait until the machine is idle")
    }),
    rule("clocksource", |host| {
        let clock = host.machine.clocksource.as_deref()?;
        let fast =
            ["tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page", "timebase"];
        diagnostic(clock, "other clocks are read by a system call, 200 ns and more each time")
            .warn_if(
                !fast.contains(&clock),
                "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource",
            )
    }),
    rule("virtual_machine", |host| {
        let why = "tail latencies come from the host, and perhaps a cache under the drive";
        if host.machine.virtual_machine? {
            diagnostic("yes", why).info()
        } else {
            diagnostic("no", why).ok()
        }
    }),
    rule("steal", |host| {
        let stolen = host.machine.steal_ns?;
        let why = "time that the hypervisor gave to others; it is read around each phase";
        let check = diagnostic(format!("{} since boot", units::duration(stolen)), why);
        if stolen == 0 { check.ok() } else { check.info() }
    }),
    rule("load", |host| {
        let (load, cpus) = (host.machine.load_1m?, host.machine.cpus);
        let busy = load > 0.5 * f64::from(cpus.max(1));
        diagnostic(format!("{load} on {cpus} processors"), "something else runs here")
            .warn_if(busy, "wait until the machine is idle")
    }),
];

/// Checks the gaps that [`crate::hiccups`] measured now; they are not part of the recorded host.
/// `gaps` is the text to show.
pub(super) fn hiccups(gaps: &str, max_ns: u64) -> Diagnostic {
    let why = "an idle thread was stopped for so long: tails below that may be the machine's";
    let check = Diagnostic { id: "scheduling jitter", ..diagnostic(gaps, why) };
    if max_ns < HICCUP_NS {
        return check;
    }
    let remedy = "a dedicated machine, with interrupts and services kept off some processors";
    Diagnostic { severity: Level::Info, remedy: Some(remedy.to_owned()), ..check }
}

#[cfg(test)]
mod tests {
    use super::super::rule::{Level, apply, apply_rule, find_check};
    use super::*;
    use kvdyno_record::host::{Host, Machine};

    #[test]
    fn kernels() {
        let severity = |kernel: &str| {
            let host = Host { kernel: kernel.to_owned(), ..Host::default() };
            apply_rule(RULES, "kernel", &host).unwrap().severity
        };
        assert_eq!(severity("6.18.44-fc"), Level::Ok);
        assert_eq!(severity("6.1.0-13-amd64"), Level::Info);
        assert_eq!(severity("10.0"), Level::Ok);
        assert_eq!(severity(""), Level::Info);
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
        let checks = apply(RULES, &host);
        for id in ["clocksource", "load", "pressure"] {
            assert_eq!(find_check(&checks, id).unwrap().severity, Level::Warning, "{id}");
        }
        assert_eq!(find_check(&checks, "pressure").unwrap().value, "cpu 12 %, io 0 %");
        assert_eq!(find_check(&checks, "virtual_machine").unwrap().severity, Level::Ok);
        assert_eq!(find_check(&checks, "steal"), None);
    }

    #[test]
    fn a_kernel_without_pressure_says_so() {
        let check = apply_rule(RULES, "pressure", &Host::default()).unwrap();
        assert_eq!((check.severity, check.value.as_str()), (Level::Info, "not reported here"));
    }

    #[test]
    fn short_hiccups_are_as_it_should_be() {
        assert_eq!(hiccups("max 80.0 us", 80_000).severity, Level::Ok);
        assert_eq!(hiccups("max 13.4 ms", 13_400_000).severity, Level::Info);
    }
}
