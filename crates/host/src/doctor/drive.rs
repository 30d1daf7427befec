//! Checks on the drive: its queue, its health, and the way to it.

use super::{Check, setting};
use crate::drive::chosen;
use kvdyno_record::host::{Drive, Host};
use kvdyno_record::units;

/// More than this is read for a fault on one page.
const READAHEAD_BYTES_MAX: u64 = 128 << 10;

pub(super) fn checks(host: &Host, drive: &Drive) -> Vec<Check> {
    let rules: [fn(&Drive) -> Option<Check>; 10] = [
        readahead,
        iostats,
        rotational,
        scheduler,
        write_throttling,
        write_cache,
        fua,
        request_queue,
        block_size,
        zoned,
    ];
    let mut checks: Vec<Check> = rules.iter().filter_map(|rule| rule(drive)).collect();
    checks.push(drive_health(host, drive));
    if drive.name.starts_with("nvme") {
        let rules: [fn(&Host, &Drive) -> Option<Check>; 4] =
            [io_poll, nvme_power, pcie_power, pcie_link];
        checks.extend(rules.iter().filter_map(|rule| rule(host, drive)));
    }
    checks
}

/// A file of `queue/`, as it reads.
fn queue<'d>(drive: &'d Drive, file: &str) -> Option<&'d str> {
    drive.queue.get(file).map(String::as_str)
}

fn switch(drive: &Drive, file: &str) -> String {
    format!("/sys/block/{}/queue/{file}", drive.name)
}

fn readahead(drive: &Drive) -> Option<Check> {
    const WHY: &str = "a fault on one page of a mapped file reads this much unless the engine \
         says MADV_RANDOM: 110 times slower at 8 MiB";
    let bytes = drive.read_ahead_bytes?;
    let value = units::bytes(bytes);
    Some(if bytes > READAHEAD_BYTES_MAX {
        Check::warning("readahead", value, WHY)
            .change(format!("echo 128 > {}", switch(drive, "read_ahead_kb")))
    } else {
        Check::ok("readahead", value, WHY)
    })
}

fn iostats(drive: &Drive) -> Option<Check> {
    const WHY: &str = "without them the kernel counts no I/O of this device";
    Some(if drive.iostats? {
        Check::ok("iostats", "1", WHY)
    } else {
        Check::warning("iostats", "0", WHY).change(format!("echo 1 > {}", switch(drive, "iostats")))
    })
}

fn rotational(drive: &Drive) -> Option<Check> {
    const WHY: &str = "what the kernel takes the drive for; virtual drives are often wrong";
    let value = if drive.rotational? { "1 (a disk that turns)" } else { "0 (flash)" };
    Some(Check::info("rotational", value, WHY))
}

fn scheduler(drive: &Drive) -> Option<Check> {
    const WHY: &str = "a scheduler costs CPU and merges requests; fast drives need none";
    let fast = drive.name.starts_with("nvme") || drive.name.starts_with("vd");
    Some(match drive.scheduler.as_deref()? {
        "none" => Check::ok("scheduler", "none", WHY),
        other if fast => Check::info("scheduler", other, WHY)
            .change(format!("echo none > {}", switch(drive, "scheduler"))),
        other => Check::info("scheduler", other, WHY),
    })
}

fn write_throttling(drive: &Drive) -> Option<Check> {
    const WHY: &str = "writes in the background are throttled for the sake of reads";
    Some(match queue(drive, "wbt_lat_usec")? {
        "0" => Check::ok("write_throttling", "off", WHY),
        us => Check::info("write_throttling", format!("{us} us"), WHY)
            .change(format!("echo 0 > {}", switch(drive, "wbt_lat_usec"))),
    })
}

fn write_cache(drive: &Drive) -> Option<Check> {
    const WHY: &str = "with a write-back cache a commit costs a flush";
    Some(Check::info("write_cache", drive.write_cache.as_deref()?, WHY))
}

fn fua(drive: &Drive) -> Option<Check> {
    const WHY: &str = "without forced unit access a commit flushes all that the drive has cached";
    Some(match queue(drive, "fua")? {
        "0" => Check::ok("fua", "no", WHY),
        _ => Check::ok("fua", "yes", WHY),
    })
}

fn request_queue(drive: &Drive) -> Option<Check> {
    const WHY: &str = "what is over that waits outside of the drive's sight";
    let requests = queue(drive, "nr_requests")?;
    let value = match queue(drive, "max_sectors_kb") {
        Some(kib) => format!("{requests} requests of at most {kib} KiB"),
        None => format!("{requests} requests"),
    };
    Some(Check::ok("request_queue", value, WHY))
}

fn block_size(drive: &Drive) -> Option<Check> {
    const WHY: &str = "a smaller or unaligned write makes the drive read first";
    let logical = queue(drive, "logical_block_size")?;
    let physical = queue(drive, "physical_block_size")?;
    Some(Check::ok("block_size", format!("{logical} logical, {physical} physical"), WHY))
}

fn zoned(drive: &Drive) -> Option<Check> {
    const WHY: &str = "zones are written from their beginning to their end only";
    Some(match queue(drive, "zoned")? {
        "none" => Check::ok("zoned", "no", WHY),
        kind => Check::info("zoned", kind, WHY),
    })
}

fn drive_health(host: &Host, drive: &Drive) -> Check {
    const WHY: &str = "a worn drive cleans up more, and a hot one slows itself down";
    let Some(health) = &drive.health else {
        return match drive.name.as_str() {
            name if name.starts_with("nvme") && !host.root => {
                Check::info("drive_health", "not told to this user", WHY).change("run as root")
            }
            name if name.starts_with("sd") => {
                Check::info("drive_health", "not told by this drive", WHY)
                    .change("install smartmontools, and run as root")
            }
            _ => Check::info("drive_health", "not told by this drive", WHY),
        };
    };
    let value = format!("{} ({})", health.in_words(), health.source);
    if health.is_unwell() {
        Check::warning("drive_health", value, WHY)
            .change("cool it; replace a drive that is worn or says that it is failing")
    } else {
        Check::ok("drive_health", value, WHY)
    }
}

fn io_poll(host: &Host, _: &Drive) -> Option<Check> {
    const WHY: &str = "an engine that polls for answers needs queues without interrupts";
    Some(match setting(host, "/sys/module/nvme/parameters/poll_queues")? {
        "0" => Check::info("io_poll", "no poll queues", WHY)
            .change("boot with nvme.poll_queues=2, for engines that poll"),
        queues => Check::ok("io_poll", format!("{queues} poll queues"), WHY),
    })
}

fn nvme_power(host: &Host, _: &Drive) -> Option<Check> {
    const WHY: &str = "a drive that sleeps between requests takes as long to wake up";
    let path = "/sys/module/nvme_core/parameters/default_ps_max_latency_us";
    Some(match setting(host, path)? {
        "0" => Check::ok("nvme_power", "stays awake", WHY),
        us => Check::info("nvme_power", format!("sleeps if it wakes within {us} us"), WHY)
            .change("boot with nvme_core.default_ps_max_latency_us=0"),
    })
}

fn pcie_power(host: &Host, _: &Drive) -> Option<Check> {
    const PATH: &str = "/sys/module/pcie_aspm/parameters/policy";
    const WHY: &str = "a link that sleeps adds microseconds to the first request after a pause";
    Some(match chosen(setting(host, PATH)?) {
        "performance" => Check::ok("pcie_power", "performance", WHY),
        policy => {
            Check::info("pcie_power", policy, WHY).change(format!("echo performance > {PATH}"))
        }
    })
}

fn pcie_link(host: &Host, drive: &Drive) -> Option<Check> {
    const WHY: &str = "a drive in a slower or narrower slot is not as fast as it could be";
    let file = |file| setting(host, &format!("/sys/block/{}/device/device/{file}", drive.name));
    let (speed, width) = (file("current_link_speed")?, file("current_link_width")?);
    let best = file("max_link_speed").zip(file("max_link_width"))?;
    let value = format!("{speed} x{width}");
    Some(if (speed, width) == best {
        Check::ok("pcie_link", value, WHY)
    } else {
        let (speed, width) = best;
        Check::warning("pcie_link", format!("{value}, of {speed} x{width}"), WHY)
            .change("put it into a slot of its speed and width")
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Severity, of};
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
        let checks = checks(&Host::default(), &drive);
        let readahead = of(&checks, "readahead").unwrap();
        assert_eq!(readahead.severity, Severity::Warning);
        assert_eq!(readahead.value, "8.00 MiB");
        assert_eq!(
            readahead.remedy.as_deref(),
            Some("echo 128 > /sys/block/vda/queue/read_ahead_kb")
        );
        assert_eq!(of(&checks, "iostats").unwrap().severity, Severity::Warning);
        let value = |id| of(&checks, id).unwrap().value.as_str();
        assert_eq!(value("write_throttling"), "75000 us");
        assert_eq!(value("request_queue"), "256 requests of at most 1280 KiB");
        assert_eq!(value("block_size"), "512 logical, 4096 physical");
        assert_eq!((value("fua"), value("zoned")), ("no", "no"));
        assert_eq!(value("drive_health"), "not told by this drive");
        assert_eq!(of(&checks, "io_poll"), None);
        let drive = Drive { read_ahead_bytes: Some(128 << 10), ..drive };
        assert_eq!(super::readahead(&drive).unwrap().severity, Severity::Ok);
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
            ..Host::default()
        };
        let drive = Drive { name: "nvme0n1".to_owned(), ..Drive::default() };
        let checks = checks(&host, &drive);
        for id in ["io_poll", "nvme_power", "pcie_power", "drive_health"] {
            let check = of(&checks, id).unwrap();
            assert_eq!((check.severity, check.remedy.is_some()), (Severity::Info, true), "{id}");
        }
        let link = of(&checks, "pcie_link").unwrap();
        assert_eq!(link.value, "16.0 GT/s PCIe x2, of 16.0 GT/s PCIe x4");
        assert_eq!(link.severity, Severity::Warning);
    }

    #[test]
    fn wear_and_warmth() {
        let told = |health: DriveHealth| {
            let drive = Drive { health: Some(health), ..Drive::default() };
            drive_health(&Host::default(), &drive)
        };
        let well = DriveHealth {
            source: "NVMe log 2".to_owned(),
            healthy: Some(true),
            percentage_used: Some(3),
            temperature_c: Some(41),
            media_errors: Some(0),
            ..DriveHealth::default()
        };
        let check = told(well.clone());
        assert_eq!(check.value, "healthy, 3 % of its life used, 41 C (NVMe log 2)");
        assert_eq!(check.severity, Severity::Ok);
        for unwell in [
            DriveHealth { healthy: Some(false), ..well.clone() },
            DriveHealth { percentage_used: Some(80), ..well.clone() },
            DriveHealth { temperature_c: Some(70), ..well.clone() },
        ] {
            assert_eq!(told(unwell).severity, Severity::Warning);
        }
    }
}
