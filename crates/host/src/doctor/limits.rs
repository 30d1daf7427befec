//! Checks on limits that others have set on us: control groups above our own, and the kernel's
//! limits of a process and of the machine.

use super::rule::{Rule, diagnostic, rule, setting};
use kvdyno_record::host::settings::{CPUS_ABOVE, IO_ABOVE, MEMORY_ABOVE, NO_LIMIT};
use kvdyno_record::units;

/// The kernel's default for `fs.aio-max-nr`.
const AIO_MIN: u64 = 65_536;

const OUTSIDE: &str = "raise it, or start outside of that group";

pub(super) const RULES: &[Rule] = &[
    rule("memory_limit_above", |host| {
        let value = setting(host, MEMORY_ABOVE)?;
        let why = "the limit binds program, workers and page cache together";
        let memory = host.machine.memory_bytes;
        match value.split(' ').next()?.parse::<u64>() {
            Ok(bytes) if bytes < memory || memory == 0 => {
                let value = value.replacen(&bytes.to_string(), &units::bytes(bytes), 1);
                diagnostic(value, why).warn_if(true, OUTSIDE)
            }
            Ok(_) => diagnostic("more than this machine has", why).ok(),
            Err(_) => diagnostic(value, why).ok(),
        }
    }),
    rule("cpu_limit_above", |host| {
        let value = setting(host, CPUS_ABOVE)?;
        let limited = value != NO_LIMIT;
        let stopped = host.machine.throttled_ns.filter(|_| limited);
        let stopped = stopped
            .map(units::duration)
            .map_or(String::new(), |time| format!("; threads were stopped for {time} so far"));
        let why = "threads are stopped for the rest of each period once the quota is used up";
        diagnostic(format!("{value}{stopped}"), why).warn_if(limited, OUTSIDE)
    }),
    rule("io_limit_above", |host| {
        let value = setting(host, IO_ABOVE)?;
        diagnostic(value, "the limit is measured, not the drive")
            .warn_if(value != NO_LIMIT, OUTSIDE)
    }),
    rule("address_space", |host| {
        let (_, hard) = setting(host, "Max address space")?.split_once(" / ")?;
        let limit = hard.parse().map(units::bytes);
        diagnostic(limit.as_deref().unwrap_or(hard), "large maps, as LMDB makes them, do not fit")
            .warn_if(limit.is_ok(), "ulimit -v unlimited, as root")
    }),
    rule("aio_requests", |host| {
        let most: u64 = setting(host, "/proc/sys/fs/aio-max-nr")?.parse().ok()?;
        let why = "above it, engines that use Linux AIO fail or fall back without a message";
        diagnostic(most.to_string(), why)
            .info_if(most < AIO_MIN, format!("sysctl fs.aio-max-nr={AIO_MIN}"))
    }),
];

#[cfg(test)]
mod tests {
    use super::super::rule::{Level, apply, find_check};
    use super::*;
    use kvdyno_record::host::{Host, Machine};

    fn host(settings: &[(&str, &str)]) -> Host {
        let settings = settings.iter().map(|(name, text)| ((*name).into(), (*text).into()));
        let machine = Machine {
            memory_bytes: 24 << 30,
            throttled_ns: Some(345_000_000),
            ..Machine::default()
        };
        Host { settings: settings.collect(), machine, ..Host::default() }
    }

    #[test]
    fn a_container_with_limits() {
        let checks = apply(
            RULES,
            &host(&[
                (MEMORY_ABOVE, "1048576 on /sys/fs/cgroup/docker"),
                (CPUS_ABOVE, "1.5 on /sys/fs/cgroup/docker"),
                (IO_ABOVE, "254:0 rbps=1048576 on /sys/fs/cgroup/docker"),
                ("Max address space", "1073741824 / 1073741824"),
                ("/proc/sys/fs/aio-max-nr", "1024"),
            ]),
        );
        let value = |id| find_check(&checks, id).unwrap().value.as_str();
        assert_eq!(value("memory_limit_above"), "1.00 MiB on /sys/fs/cgroup/docker");
        assert_eq!(
            value("cpu_limit_above"),
            "1.5 on /sys/fs/cgroup/docker; threads were stopped for 345 ms so far"
        );
        assert_eq!(value("io_limit_above"), "254:0 rbps=1048576 on /sys/fs/cgroup/docker");
        assert_eq!(value("address_space"), "1.00 GiB");
        assert_eq!(find_check(&checks, "aio_requests").unwrap().severity, Level::Info);
        let warnings = checks.iter().filter(|check| check.severity == Level::Warning);
        assert_eq!(warnings.count(), 4);
    }

    #[test]
    fn groups_without_limits_were_looked_at() {
        let checks = apply(
            RULES,
            &host(&[
                (MEMORY_ABOVE, "9223372036854771712 on /sys/fs/cgroup/memory"),
                (CPUS_ABOVE, NO_LIMIT),
                (IO_ABOVE, NO_LIMIT),
                ("Max address space", "unlimited / unlimited"),
                ("/proc/sys/fs/aio-max-nr", "65536"),
            ]),
        );
        assert_eq!(checks.len(), 5);
        assert!(checks.iter().all(|check| check.severity == Level::Ok), "{checks:#?}");
        assert!(apply(RULES, &Host::default()).is_empty());
    }
}
