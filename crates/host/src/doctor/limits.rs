//! Checks on limits that others have set on us: control groups above our own, and the kernel's
//! limits of a process and of the machine.

use super::{Check, setting};
use kvdyno_record::host::Host;
use kvdyno_record::host::settings::{CPUS_ABOVE, IO_ABOVE, MEMORY_ABOVE, NO_LIMIT};
use kvdyno_record::units;

/// What the kernel comes with.
const AIO_MIN: u64 = 65_536;

const OUTSIDE: &str = "raise it, or start outside of that group";

pub(super) fn checks(host: &Host) -> Vec<Check> {
    let rules: [fn(&Host) -> Option<Check>; 5] =
        [memory_above, cpus_above, io_above, address_space, aio_requests];
    rules.iter().filter_map(|rule| rule(host)).collect()
}

fn memory_above(host: &Host) -> Option<Check> {
    const WHY: &str = "the limit binds program, workers and page cache together";
    let value = setting(host, MEMORY_ABOVE)?;
    let bytes: Option<u64> = value.split(' ').next().and_then(|bytes| bytes.parse().ok());
    let memory = host.machine.memory_bytes;
    Some(match bytes {
        Some(bytes) if bytes < memory || memory == 0 => {
            let value = value.replacen(&bytes.to_string(), &units::bytes(bytes), 1);
            Check::warning("memory_limit_above", value, WHY).change(OUTSIDE)
        }
        Some(_) => Check::ok("memory_limit_above", "more than this machine has", WHY),
        None => Check::ok("memory_limit_above", value, WHY),
    })
}

fn cpus_above(host: &Host) -> Option<Check> {
    const WHY: &str = "threads are stopped for the rest of each period once the quota is used up";
    let value = setting(host, CPUS_ABOVE)?;
    if value == NO_LIMIT {
        return Some(Check::ok("cpu_limit_above", NO_LIMIT, WHY));
    }
    let stopped = match host.machine.throttled_ns {
        Some(ns) => format!("; threads were stopped for {} so far", units::duration(ns)),
        None => String::new(),
    };
    let value = format!("{value}{stopped}");
    Some(Check::warning("cpu_limit_above", value, WHY).change(OUTSIDE))
}

fn io_above(host: &Host) -> Option<Check> {
    const WHY: &str = "the drive is not measured, but what the limit leaves of it";
    Some(match setting(host, IO_ABOVE)? {
        NO_LIMIT => Check::ok("io_limit_above", NO_LIMIT, WHY),
        value => Check::warning("io_limit_above", value, WHY).change(OUTSIDE),
    })
}

fn address_space(host: &Host) -> Option<Check> {
    const WHY: &str = "large maps, as LMDB makes them, do not fit";
    let (_, hard) = setting(host, "Max address space")?.split_once(" / ")?;
    Some(match hard.parse() {
        Ok(bytes) => Check::warning("address_space", units::bytes(bytes), WHY)
            .change("ulimit -v unlimited, as root"),
        Err(_) => Check::ok("address_space", hard, WHY),
    })
}

fn aio_requests(host: &Host) -> Option<Check> {
    const WHY: &str = "past it engines that use Linux AIO are refused or fall back in silence";
    let most: u64 = setting(host, "/proc/sys/fs/aio-max-nr")?.parse().ok()?;
    Some(if most < AIO_MIN {
        Check::info("aio_requests", most.to_string(), WHY)
            .change(format!("sysctl fs.aio-max-nr={AIO_MIN}"))
    } else {
        Check::ok("aio_requests", most.to_string(), WHY)
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Severity, of};
    use super::*;
    use kvdyno_record::host::Machine;

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
        let checks = checks(&host(&[
            (MEMORY_ABOVE, "1048576 on /sys/fs/cgroup/docker"),
            (CPUS_ABOVE, "1.5 on /sys/fs/cgroup/docker"),
            (IO_ABOVE, "254:0 rbps=1048576 on /sys/fs/cgroup/docker"),
            ("Max address space", "1073741824 / 1073741824"),
            ("/proc/sys/fs/aio-max-nr", "1024"),
        ]));
        let value = |id| of(&checks, id).unwrap().value.as_str();
        assert_eq!(value("memory_limit_above"), "1.00 MiB on /sys/fs/cgroup/docker");
        assert_eq!(
            value("cpu_limit_above"),
            "1.5 on /sys/fs/cgroup/docker; threads were stopped for 345 ms so far"
        );
        assert_eq!(value("io_limit_above"), "254:0 rbps=1048576 on /sys/fs/cgroup/docker");
        assert_eq!(value("address_space"), "1.00 GiB");
        assert_eq!(of(&checks, "aio_requests").unwrap().severity, Severity::Info);
        let warnings = checks.iter().filter(|check| check.severity == Severity::Warning);
        assert_eq!(warnings.count(), 4);
    }

    #[test]
    fn groups_without_limits_were_looked_at() {
        let checks = checks(&host(&[
            (MEMORY_ABOVE, "9223372036854771712 on /sys/fs/cgroup/memory"),
            (CPUS_ABOVE, NO_LIMIT),
            (IO_ABOVE, NO_LIMIT),
            ("Max address space", "unlimited / unlimited"),
            ("/proc/sys/fs/aio-max-nr", "65536"),
        ]));
        assert_eq!(checks.len(), 5);
        assert!(checks.iter().all(|check| check.severity == Severity::Ok), "{checks:#?}");
        assert!(super::checks(&Host::default()).is_empty());
    }
}
