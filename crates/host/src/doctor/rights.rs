//! Checks on what we are allowed to do here.

use super::{Check, setting};
use kvdyno_record::host::Host;
use kvdyno_record::host::settings::CACHESTAT;
use kvdyno_record::units;

const FILES_MIN: u64 = 65_536;

pub(super) fn checks(host: &Host) -> Vec<Check> {
    let mut checks = vec![ram_limit(host), drop_caches(host)];
    let rules: [fn(&Host) -> Option<Check>; 5] =
        [block_io, cachestat, open_files, locked_memory, io_uring];
    checks.extend(rules.iter().filter_map(|rule| rule(host)));
    checks
}

fn ram_limit(host: &Host) -> Check {
    const WHY: &str = "without a limit a small data set is read from memory, whatever its ratio \
         to RAM was meant to be";
    let detail = host.ram_limit.detail.as_str();
    if host.ram_limit.available {
        return Check::ok("ram_limit", detail, WHY);
    }
    let (reason, remedy) = detail.split_once("; ").unwrap_or((detail, "run as root"));
    Check::warning("ram_limit", reason, WHY).change(remedy)
}

fn drop_caches(host: &Host) -> Check {
    const WHY: &str = "without it a file's metadata stays cached when the file is evicted";
    let detail = host.drop_caches.detail.as_str();
    if host.drop_caches.available {
        Check::ok("drop_caches", "available", WHY)
    } else {
        Check::info("drop_caches", detail, WHY).change("run as root, outside of a container")
    }
}

fn block_io(host: &Host) -> Option<Check> {
    const WHY: &str = "`--io-latency` shows what the drive did for whom, and whether commits are \
         flushed";
    let found = host.block_io.as_ref()?;
    if found.available {
        return Some(Check::ok("block_io", found.detail.as_str(), WHY));
    }
    let (reason, remedy) = found.detail.rsplit_once("; ").unwrap_or((&found.detail, "run as root"));
    Some(Check::info("block_io", reason, WHY).change(remedy))
}

fn cachestat(host: &Host) -> Option<Check> {
    const WHY: &str = "without it residency is found by mincore, which sees no dirty pages";
    Some(match setting(host, CACHESTAT)? {
        "yes" => Check::ok("cachestat", "available", WHY),
        _ => Check::info("cachestat", "not in this kernel", WHY).change("use Linux 6.5 or newer"),
    })
}

/// Workers get the hard limit.
fn open_files(host: &Host) -> Option<Check> {
    const WHY: &str = "engines keep each of their files open";
    let (soft, hard) = setting(host, "Max open files")?.split_once(" / ")?;
    let value = format!("{hard} (soft {soft})");
    let few = hard.parse().is_ok_and(|files: u64| files < FILES_MIN);
    Some(if few {
        Check::info("open_files", value, WHY).change(format!("ulimit -Hn {FILES_MIN}, as root"))
    } else {
        Check::ok("open_files", value, WHY)
    })
}

fn locked_memory(host: &Host) -> Option<Check> {
    const WHY: &str = "engines that lock memory or register buffers may be refused";
    let (_, hard) = setting(host, "Max locked memory")?.split_once(" / ")?;
    Some(match hard {
        "unlimited" => Check::ok("locked_memory", hard, WHY),
        bytes => Check::info("locked_memory", units::bytes(bytes.parse().ok()?), WHY),
    })
}

fn io_uring(host: &Host) -> Option<Check> {
    const WHY: &str = "engines fall back to slower I/O without a word";
    match setting(host, "/proc/sys/kernel/io_uring_disabled")? {
        "0" => Some(Check::ok("io_uring", "enabled", WHY)),
        value => Some(
            Check::info("io_uring", format!("io_uring_disabled = {value}"), WHY)
                .change("sysctl kernel.io_uring_disabled=0"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Severity, of};
    use super::*;
    use crate::group::Unavailable;
    use kvdyno_record::host::Availability;

    #[test]
    fn a_user_without_rights_is_told_what_helps() {
        let none = Unavailable::new("/sys/fs/cgroup/x belongs to another user", "run as root");
        let host = Host {
            ram_limit: none.into(),
            drop_caches: Availability { available: false, detail: "denied".to_owned() },
            block_io: Some(Unavailable::new("bpf(2) is not permitted", "run as root").into()),
            settings: [
                ("Max open files".to_owned(), "1024 / 4096".to_owned()),
                (CACHESTAT.to_owned(), "no".to_owned()),
            ]
            .into(),
            ..Host::default()
        };
        let checks = checks(&host);
        let limit = of(&checks, "ram_limit").unwrap();
        assert_eq!(limit.severity, Severity::Warning);
        assert_eq!(limit.value, "/sys/fs/cgroup/x belongs to another user");
        assert_eq!(limit.remedy.as_deref(), Some("run as root"));
        assert_eq!(of(&checks, "open_files").unwrap().severity, Severity::Info);
        let block_io = of(&checks, "block_io").unwrap();
        assert_eq!(block_io.value, "bpf(2) is not permitted");
        assert_eq!(block_io.remedy.as_deref(), Some("run as root"));
        assert_eq!(of(&checks, "cachestat").unwrap().severity, Severity::Info);
    }

    #[test]
    fn root_on_a_large_host() {
        let available = |detail: &str| Availability { available: true, detail: detail.to_owned() };
        let host = Host {
            ram_limit: available("cgroup v2 below /sys/fs/cgroup"),
            block_io: Some(available("available")),
            drop_caches: available("/proc/sys/vm/drop_caches"),
            settings: [("Max open files".to_owned(), "1024 / 1048576".to_owned())].into(),
            ..Host::default()
        };
        assert!(checks(&host).iter().all(|check| check.severity == Severity::Ok));
    }
}
