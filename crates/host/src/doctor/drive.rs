//! Checks on the drive: its queue, its health, and the way to it.

use super::rule::{Rule, diagnostic, rule, setting};
use crate::root::bracketed_word;
use kvdyno_record::host::settings::NO_DEVICE;
use kvdyno_record::host::{Drive, Host};
use kvdyno_record::units;

/// The largest readahead without a warning: a fault on one page reads as much.
const READAHEAD_BYTES_MAX: u64 = 128 << 10;

const ASPM: &str = "/sys/module/pcie_aspm/parameters/policy";

pub(super) const RULES: &[Rule] = &[
    rule("readahead", |host| {
        let bytes = host.drive.as_ref()?.read_ahead_bytes?;
        let why = "a fault on one page of a mapped file reads this much unless the engine says \
                   MADV_RANDOM: 110 times slower at 8 MiB";
        let remedy = echo(host, "128", "read_ahead_kb")?;
        diagnostic(units::bytes(bytes), why).warn_if(bytes > READAHEAD_BYTES_MAX, remedy)
    }),
    rule("iostats", |host| {
        let drive = host.drive.as_ref()?;
        let on = drive.iostats?;
        // Some devices count with the switch at 0: zram, and device mapper and MD in older kernels.
        if !on && setting(host, NO_DEVICE).is_none() {
            return None;
        }
        let why = "without them the kernel counts no I/O of this device";
        diagnostic(if on { "1" } else { "0" }, why).warn_if(!on, echo(host, "1", "iostats")?)
    }),
    rule("rotational", |host| {
        let turns = host.drive.as_ref()?.rotational?;
        let why = "as the kernel reports it; often wrong for virtual drives";
        diagnostic(if turns { "1 (a disk that turns)" } else { "0 (flash)" }, why).info()
    }),
    rule("scheduler", |host| {
        let drive = host.drive.as_ref()?;
        let scheduler = drive.scheduler.as_deref()?;
        let fast = drive.name.starts_with("nvme") || drive.name.starts_with("vd");
        let why = "a scheduler costs CPU and merges requests; fast drives need none";
        match diagnostic(scheduler, why) {
            slow if !fast && scheduler != "none" => slow.info(),
            check => check.info_if(scheduler != "none", echo(host, "none", "scheduler")?),
        }
    }),
    rule("write_throttling", |host| {
        let us = queue(host, "wbt_lat_usec")?;
        let value = if us == "0" { "off" } else { &format!("{us} us") };
        diagnostic(value, "writes in the background are throttled for the sake of reads")
            .info_if(us != "0", echo(host, "0", "wbt_lat_usec")?)
    }),
    rule("write_cache", |host| {
        let cache = host.drive.as_ref()?.write_cache.as_deref()?;
        diagnostic(cache, "with a write-back cache a commit costs a flush").info()
    }),
    rule("fua", |host| {
        let value = if queue(host, "fua")? == "0" { "no" } else { "yes" };
        diagnostic(
            value,
            "without forced unit access a commit flushes all that the drive has cached",
        )
        .ok()
    }),
    rule("request_queue", |host| {
        let requests = queue(host, "nr_requests")?;
        let most = queue(host, "max_sectors_kb").map(|kib| format!(" of at most {kib} KiB"));
        let value = format!("{requests} requests{}", most.unwrap_or_default());
        diagnostic(value, "requests above this limit wait in the kernel, not in the drive").ok()
    }),
    rule("block_size", |host| {
        let logical = queue(host, "logical_block_size")?;
        let value = format!("{logical} logical, {} physical", queue(host, "physical_block_size")?);
        diagnostic(value, "a smaller or unaligned write makes the drive read first").ok()
    }),
    rule("zoned", |host| {
        let why = "zones are written from their beginning to their end only";
        match queue(host, "zoned")? {
            "none" => diagnostic("no", why).ok(),
            kind => diagnostic(kind, why).info(),
        }
    }),
    rule("drive_health", |host| {
        let drive = host.drive.as_ref()?;
        let why = "a worn drive cleans up more, and a hot one slows itself down";
        let not_told = "not reported by this drive";
        match (&drive.health, &drive.name) {
            (Some(health), _) => {
                diagnostic(format!("{} ({})", health.to_text(), health.source), why)
                    .warn_if(health.is_unwell(), "cool it; replace a worn or failing drive")
            }
            (None, name) if name.starts_with("nvme") && !host.root => {
                diagnostic("not readable by this user", why).info_if(true, "run as root")
            }
            (None, name) if name.starts_with("sd") => {
                diagnostic(not_told, why).info_if(true, "install smartmontools, and run as root")
            }
            _ => diagnostic(not_told, why).info(),
        }
    }),
    rule("io_poll", |host| {
        nvme(host)?;
        let queues = setting(host, "/sys/module/nvme/parameters/poll_queues")?;
        let value = format!("{} poll queues", if queues == "0" { "no" } else { queues });
        diagnostic(value, "an engine that polls for answers needs queues without interrupts")
            .info_if(queues == "0", "boot with nvme.poll_queues=2, for engines that poll")
    }),
    rule("nvme_power", |host| {
        nvme(host)?;
        let us = setting(host, "/sys/module/nvme_core/parameters/default_ps_max_latency_us")?;
        let asleep = format!("sleeps if it wakes within {us} us");
        let value = if us == "0" { "stays awake" } else { &asleep };
        diagnostic(value, "a drive that sleeps between requests takes as long to wake up")
            .info_if(us != "0", "boot with nvme_core.default_ps_max_latency_us=0")
    }),
    rule("pcie_power", |host| {
        nvme(host)?;
        let policy = bracketed_word(setting(host, ASPM)?);
        diagnostic(
            policy,
            "a link that sleeps adds microseconds to the first request after a pause",
        )
        .info_if(policy != "performance", format!("echo performance > {ASPM}"))
    }),
    rule("pcie_link", |host| {
        let path = format!("/sys/block/{}/device/device", nvme(host)?.name);
        let file = |file| setting(host, &format!("{path}/{file}"));
        let (speed, width) = (file("current_link_speed")?, file("current_link_width")?);
        let best = file("max_link_speed").zip(file("max_link_width"))?;
        let slow = (speed, width) != best;
        let best_text = if slow { format!(", of {} x{}", best.0, best.1) } else { String::new() };
        let why = "a drive in a slower or narrower slot is not as fast as it could be";
        diagnostic(format!("{speed} x{width}{best_text}"), why)
            .warn_if(slow, "put it into a slot of its speed and width")
    }),
];

/// Returns the text of a file in `queue/`.
fn queue<'h>(host: &'h Host, file: &str) -> Option<&'h str> {
    host.drive.as_ref()?.queue.get(file).map(String::as_str)
}

/// The command that sets a file of `queue/`.
fn echo(host: &Host, value: &str, file: &str) -> Option<String> {
    Some(format!("echo {value} > /sys/block/{}/queue/{file}", host.drive.as_ref()?.name))
}

fn nvme(host: &Host) -> Option<&Drive> {
    host.drive.as_ref().filter(|drive| drive.name.starts_with("nvme"))
}

#[cfg(test)]
mod tests {
    use super::super::rule::{Level, apply, apply_rule, find_check};
    use super::*;
    use kvdyno_record::host::DriveHealth;

    fn strings(pairs: &[(&str, &str)]) -> std::collections::BTreeMap<String, String> {
        pairs.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
    }

    #[test]
    fn the_development_machines_drive() {
        let drive = Drive {
            name: "vda".to_owned(),
            read_ahead_bytes: Some(8 << 20),
            rotational: Some(true),
            scheduler: Some("mq-deadline".to_owned()),
            iostats: Some(false),
            queue: strings(&[
                ("wbt_lat_usec", "75000"),
                ("fua", "0"),
                ("nr_requests", "256"),
                ("max_sectors_kb", "1280"),
                ("logical_block_size", "512"),
                ("physical_block_size", "4096"),
                ("zoned", "none"),
            ]),
            ..Drive::default()
        };
        let settings = strings(&[(NO_DEVICE, "vda has no I/O counters")]);
        let checks =
            apply(RULES, &Host { drive: Some(drive.clone()), settings, ..Host::default() });
        let readahead = find_check(&checks, "readahead").unwrap();
        assert_eq!(readahead.severity, Level::Warning);
        assert_eq!(readahead.value, "8.00 MiB");
        assert_eq!(
            readahead.remedy.as_deref(),
            Some("echo 128 > /sys/block/vda/queue/read_ahead_kb")
        );
        assert_eq!(find_check(&checks, "iostats").unwrap().severity, Level::Warning);
        let counts = Host { drive: Some(drive.clone()), ..Host::default() };
        assert_eq!(apply_rule(RULES, "iostats", &counts), None, "it counts with the switch at 0");
        let value = |id| find_check(&checks, id).unwrap().value.as_str();
        assert_eq!(value("write_throttling"), "75000 us");
        assert_eq!(value("request_queue"), "256 requests of at most 1280 KiB");
        assert_eq!(value("block_size"), "512 logical, 4096 physical");
        assert_eq!((value("fua"), value("zoned")), ("no", "no"));
        assert_eq!(value("drive_health"), "not reported by this drive");
        assert_eq!(find_check(&checks, "io_poll"), None);
        let drive = Drive { read_ahead_bytes: Some(128 << 10), ..drive };
        assert_eq!(
            apply_rule(RULES, "readahead", &Host { drive: Some(drive), ..Host::default() })
                .unwrap()
                .severity,
            Level::Ok
        );
    }

    #[test]
    fn an_nvme_drive_in_a_narrow_slot() {
        let link = "/sys/block/nvme0n1/device/device";
        let host = Host {
            settings: strings(&[
                ("/sys/module/nvme/parameters/poll_queues", "0"),
                ("/sys/module/nvme_core/parameters/default_ps_max_latency_us", "100000"),
                ("/sys/module/pcie_aspm/parameters/policy", "[default] performance powersave"),
                (&format!("{link}/current_link_speed"), "16.0 GT/s PCIe"),
                (&format!("{link}/max_link_speed"), "16.0 GT/s PCIe"),
                (&format!("{link}/current_link_width"), "2"),
                (&format!("{link}/max_link_width"), "4"),
            ]),
            drive: Some(Drive { name: "nvme0n1".to_owned(), ..Drive::default() }),
            ..Host::default()
        };
        let checks = apply(RULES, &host);
        for id in ["io_poll", "nvme_power", "pcie_power", "drive_health"] {
            let check = find_check(&checks, id).unwrap();
            assert_eq!((check.severity, check.remedy.is_some()), (Level::Info, true), "{id}");
        }
        let link = find_check(&checks, "pcie_link").unwrap();
        assert_eq!(link.value, "16.0 GT/s PCIe x2, of 16.0 GT/s PCIe x4");
        assert_eq!(link.severity, Level::Warning);
    }

    #[test]
    fn wear_and_warmth() {
        let check_of = |health: DriveHealth| {
            let drive = Drive { health: Some(health), ..Drive::default() };
            apply_rule(RULES, "drive_health", &Host { drive: Some(drive), ..Host::default() })
                .unwrap()
        };
        let well = DriveHealth {
            source: "NVMe log 2".to_owned(),
            healthy: Some(true),
            percentage_used: Some(3),
            temperature_c: Some(41),
            media_errors: Some(0),
            ..DriveHealth::default()
        };
        let check = check_of(well.clone());
        assert_eq!(check.value, "healthy, 3 % of its life used, 41 C (NVMe log 2)");
        assert_eq!(check.severity, Level::Ok);
        for unwell in [
            DriveHealth { healthy: Some(false), ..well.clone() },
            DriveHealth { percentage_used: Some(80), ..well.clone() },
            DriveHealth { temperature_c: Some(70), ..well.clone() },
        ] {
            assert_eq!(check_of(unwell).severity, Level::Warning);
        }
    }
}
