//! Checks on the filesystem and the drive under it.

use super::{Check, setting};
use crate::host::settings::{NO_DEVICE, VOLUME_USED};
use crate::host::volume::Medium;
use crate::units;
use kvdyno_record::host::{Drive, Filesystem, Host};

/// More than this is read for a fault on one page.
const READAHEAD_BYTES_MAX: u64 = 128 << 10;
const FULL_SHARE_MAX: f64 = 0.8;

pub(super) fn checks(host: &Host) -> Vec<Check> {
    let mut checks = Vec::new();
    if let Some(filesystem) = &host.filesystem {
        checks.push(kind(filesystem));
        let used = setting(host, VOLUME_USED).and_then(|text| text.parse().ok());
        checks.push(free_space(filesystem, used));
        checks.extend(mount_options(filesystem));
    }
    if let Some(reason) = setting(host, NO_DEVICE) {
        const WHY: &str = "bytes at the device, write and read amplification cannot be measured";
        checks.push(
            Check::warning("device_counters", reason, WHY)
                .change("use a directory on a local ext4, xfs or btrfs, with queue/iostats at 1"),
        );
    }
    if let Some(drive) = &host.drive {
        checks.extend(drive_checks(drive));
    }
    checks
}

/// What kind of filesystem the volume is.
pub(super) fn kind(filesystem: &Filesystem) -> Check {
    let value = format!("{} at {}", filesystem.kind, filesystem.mount_point);
    let why = match Medium::of(&filesystem.kind) {
        Medium::Device => {
            return Check::ok("filesystem", value, "a filesystem on a device of this machine");
        }
        Medium::Memory => "it lies in memory: no drive is measured, and it fills the RAM limit",
        Medium::Layers => "layers copy files up and hide the drive: use a mounted volume",
        Medium::Network => "a network or a host's own cache is measured, not a drive",
        Medium::Unknown => "nothing is known of this filesystem: it may cache by itself",
    };
    Check::warning("filesystem", value, why)
        .change("choose a directory on a local ext4, xfs or btrfs")
}

/// As `df` counts: of what is in use and what is free to this user, the share in use.
fn free_space(filesystem: &Filesystem, used_bytes: Option<u64>) -> Check {
    const WHY: &str = "a full drive cleans up while it writes, and a full filesystem fragments";
    let free_bytes = filesystem.free_bytes;
    let used_bytes = used_bytes.unwrap_or(filesystem.total_bytes.saturating_sub(free_bytes));
    let used = used_bytes as f64 / (used_bytes + free_bytes).max(1) as f64;
    let value = format!("{} free, {} in use", units::bytes(free_bytes), units::percent(used));
    if used > FULL_SHARE_MAX {
        Check::warning("free_space", value, WHY).change("delete something, or use another volume")
    } else {
        Check::ok("free_space", value, WHY)
    }
}

const ATIME: &str = "with access times, reads write";

fn mount_options(filesystem: &Filesystem) -> Vec<Check> {
    let has = |option: &str| filesystem.options.split(',').any(|have| have == option);
    let point = &filesystem.mount_point;
    let mut checks = Vec::new();
    if Medium::of(&filesystem.kind) != Medium::Device {
        return checks;
    }
    if has("discard") {
        const WHY: &str = "each deleted file is discarded at once, which stalls other I/O";
        checks.push(
            Check::warning("discard", "discard", WHY)
                .change(format!("mount -o remount,nodiscard {point}, and fstrim between runs")),
        );
    }
    checks.push(if has("noatime") {
        Check::ok("atime", "noatime", ATIME)
    } else if has("relatime") {
        Check::info("atime", "relatime", "the first read of a file each day writes its inode")
            .change(format!("mount -o remount,noatime {point}"))
    } else {
        Check::warning("atime", "strictatime", ATIME)
            .change(format!("mount -o remount,noatime {point}"))
    });
    checks
}

fn drive_checks(drive: &Drive) -> Vec<Check> {
    let queue = format!("/sys/block/{}/queue", drive.name);
    let mut checks = Vec::new();
    checks.extend(drive.read_ahead_bytes.map(|bytes| readahead(bytes, &drive.name)));
    if drive.iostats == Some(false) {
        const WHY: &str = "the kernel counts no I/O of this device";
        checks
            .push(Check::warning("iostats", "0", WHY).change(format!("echo 1 > {queue}/iostats")));
    }
    if let Some(rotational) = drive.rotational {
        const WHY: &str = "what the kernel takes the drive for; virtual drives are often wrong";
        let value = if rotational { "1 (a disk that turns)" } else { "0 (flash)" };
        checks.push(Check::info("rotational", value, WHY));
    }
    if let Some(scheduler) = &drive.scheduler {
        const WHY: &str = "a scheduler costs CPU and merges requests; fast drives need none";
        let fast = drive.name.starts_with("nvme") || drive.name.starts_with("vd");
        checks.push(match scheduler.as_str() {
            "none" => Check::ok("scheduler", "none", WHY),
            other if fast => Check::info("scheduler", other, WHY)
                .change(format!("echo none > {queue}/scheduler")),
            other => Check::info("scheduler", other, WHY),
        });
    }
    let throttle =
        drive.queue.get("wbt_lat_usec").filter(|us| us.parse().is_ok_and(|us: u64| us > 0));
    if let Some(us) = throttle {
        const WHY: &str = "writes in the background are throttled for the sake of reads";
        let check = Check::info("write_throttling", format!("{us} us"), WHY);
        checks.push(check.change(format!("echo 0 > {queue}/wbt_lat_usec")));
    }
    if let Some(cache) = &drive.write_cache {
        const WHY: &str = "with a write-back cache a commit costs a flush";
        checks.push(Check::info("write_cache", cache.as_str(), WHY));
    }
    checks
}

fn readahead(bytes: u64, drive: &str) -> Check {
    const WHY: &str = "a fault on one page of a mapped file reads this much unless the engine \
         says MADV_RANDOM: 110 times slower at 8 MiB";
    let value = units::bytes(bytes);
    if bytes > READAHEAD_BYTES_MAX {
        Check::warning("readahead", value, WHY)
            .change(format!("echo 128 > /sys/block/{drive}/queue/read_ahead_kb"))
    } else {
        Check::ok("readahead", value, WHY)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Severity, of};
    use super::*;

    fn filesystem(kind: &str, options: &str, free_bytes: u64) -> Filesystem {
        Filesystem {
            kind: kind.to_owned(),
            mount_point: "/data".to_owned(),
            options: options.to_owned(),
            source: String::new(),
            total_bytes: 100 << 30,
            free_bytes,
        }
    }

    fn severities(host: &Host) -> Vec<(&'static str, Severity)> {
        checks(host).iter().map(|check| (check.id, check.severity)).collect()
    }

    #[test]
    fn a_good_volume() {
        let host = Host {
            filesystem: Some(filesystem("ext4", "rw,noatime", 50 << 30)),
            ..Host::default()
        };
        let ok = ["filesystem", "free_space", "atime"].map(|id| (id, Severity::Ok));
        assert_eq!(severities(&host), ok);
    }

    #[test]
    fn what_is_held_back_is_not_in_use() {
        let check = free_space(&filesystem("ext4", "rw", 40 << 30), Some(10 << 30));
        assert_eq!(check.value, "40.0 GiB free, 20.0 % in use");
        assert_eq!(check.severity, Severity::Ok);
    }

    #[test]
    fn a_bad_volume() {
        let filesystem = filesystem("ext4", "rw,relatime,discard", 10 << 30);
        let host = Host { filesystem: Some(filesystem), ..Host::default() };
        assert_eq!(
            severities(&host),
            [
                ("filesystem", Severity::Ok),
                ("free_space", Severity::Warning),
                ("discard", Severity::Warning),
                ("atime", Severity::Info),
            ]
        );
    }

    #[test]
    fn filesystems_that_are_no_drive() {
        for kind in ["tmpfs", "overlay", "9p", "nfs4", "fuse.something"] {
            assert_eq!(super::kind(&filesystem(kind, "rw", 1)).severity, Severity::Warning);
        }
    }

    #[test]
    fn the_development_machines_drive() {
        let drive = Drive {
            name: "vda".to_owned(),
            read_ahead_bytes: Some(8 << 20),
            rotational: Some(true),
            scheduler: Some("mq-deadline".to_owned()),
            iostats: Some(false),
            queue: [("wbt_lat_usec".to_owned(), "75000".to_owned())].into(),
            ..Drive::default()
        };
        let checks = drive_checks(&drive);
        let readahead = of(&checks, "readahead").unwrap();
        assert_eq!(readahead.severity, Severity::Warning);
        assert_eq!(readahead.value, "8.00 MiB");
        assert_eq!(
            readahead.remedy.as_deref(),
            Some("echo 128 > /sys/block/vda/queue/read_ahead_kb")
        );
        assert_eq!(of(&checks, "iostats").unwrap().severity, Severity::Warning);
        assert_eq!(of(&checks, "write_throttling").unwrap().value, "75000 us");
        assert_eq!(super::readahead(128 << 10, "sda").severity, Severity::Ok);
    }
}
