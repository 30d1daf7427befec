//! Checks on what we are allowed to do here.

use super::rule::{Rule, diagnostic, rule, setting};
use kvdyno_record::host::settings::CACHESTAT;
use kvdyno_record::units;

const FILES_MIN: u64 = 65_536;

pub(super) const RULES: &[Rule] = &[
    rule("ram_limit", |host| {
        let why = "without a limit a small data set is read from memory, whatever its planned \
            ratio to RAM";
        let detail = host.ram_limit.detail.as_str();
        if host.ram_limit.available {
            return diagnostic(detail, why).ok();
        }
        let (reason, remedy) = detail.split_once("; ").unwrap_or((detail, "run as root"));
        diagnostic(reason, why).warn_if(true, remedy)
    }),
    rule("drop_caches", |host| {
        let facility = &host.drop_caches;
        let value = if facility.available { "available" } else { &facility.detail };
        diagnostic(value, "without it a file's metadata stays cached when the file is evicted")
            .info_if(!facility.available, "run as root, outside of a container")
    }),
    rule("block_io", |host| {
        let why = "`--io-latency` shows the drive's requests by process, and whether commits are \
            flushed";
        let facility = host.block_io.as_ref()?;
        if facility.available {
            return diagnostic(&facility.detail, why).ok();
        }
        let parts = facility.detail.rsplit_once("; ");
        let (reason, remedy) = parts.unwrap_or((&facility.detail, "run as root"));
        diagnostic(reason, why).info_if(true, remedy)
    }),
    rule("cachestat", |host| {
        let has_cachestat = setting(host, CACHESTAT)? == "yes";
        let why = "without it mincore measures residency, which counts no dirty pages";
        diagnostic(if has_cachestat { "available" } else { "not in this kernel" }, why)
            .info_if(!has_cachestat, "use Linux 6.5 or newer")
    }),
    // Workers get the hard limit.
    rule("open_files", |host| {
        let (soft, hard) = setting(host, "Max open files")?.split_once(" / ")?;
        let few = hard.parse().is_ok_and(|files: u64| files < FILES_MIN);
        diagnostic(format!("{hard} (soft {soft})"), "engines keep all their files open")
            .info_if(few, format!("ulimit -Hn {FILES_MIN}, as root"))
    }),
    rule("locked_memory", |host| {
        let (_, hard) = setting(host, "Max locked memory")?.split_once(" / ")?;
        let why = "engines that lock memory or register buffers may be refused";
        match hard {
            "unlimited" => diagnostic(hard, why).ok(),
            bytes => diagnostic(units::bytes(bytes.parse().ok()?), why).info(),
        }
    }),
    rule("io_uring", |host| {
        let why = "engines fall back to slower I/O without a message";
        match setting(host, "/proc/sys/kernel/io_uring_disabled")? {
            "0" => diagnostic("enabled", why).ok(),
            value => diagnostic(format!("io_uring_disabled = {value}"), why)
                .info_if(true, "sysctl kernel.io_uring_disabled=0"),
        }
    }),
];

#[cfg(test)]
mod tests {
    use super::super::rule::{Level, apply, find_check};
    use super::*;
    use crate::unavailable::Unavailable;
    use kvdyno_record::host::{Availability, Host};

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
        let checks = apply(RULES, &host);
        let limit = find_check(&checks, "ram_limit").unwrap();
        assert_eq!(limit.severity, Level::Warning);
        assert_eq!(limit.value, "/sys/fs/cgroup/x belongs to another user");
        assert_eq!(limit.remedy.as_deref(), Some("run as root"));
        assert_eq!(find_check(&checks, "open_files").unwrap().severity, Level::Info);
        let block_io = find_check(&checks, "block_io").unwrap();
        assert_eq!(block_io.value, "bpf(2) is not permitted");
        assert_eq!(block_io.remedy.as_deref(), Some("run as root"));
        assert_eq!(find_check(&checks, "cachestat").unwrap().severity, Level::Info);
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
        assert!(apply(RULES, &host).iter().all(|check| check.severity == Level::Ok));
    }
}
