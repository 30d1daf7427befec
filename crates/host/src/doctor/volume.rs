//! Checks on the filesystem: what kind, how full, how old, how mounted.

use super::{Check, setting};
use crate::volume::Medium;
use kvdyno_record::host::settings::{JOURNAL, LARGEST_FILE, NO_DEVICE, VOLUME_USED};
use kvdyno_record::host::{Filesystem, Host};
use kvdyno_record::units;

const FULL_SHARE_MAX: f64 = 0.8;

pub(super) fn checks(host: &Host) -> Vec<Check> {
    let mut checks = Vec::new();
    if let Some(filesystem) = &host.filesystem {
        checks.push(kind(filesystem));
        let used = setting(host, VOLUME_USED).and_then(|text| text.parse().ok());
        checks.push(free_space(filesystem, used));
        checks.extend(mount_options(filesystem));
        checks.extend(journal(host, filesystem));
        checks.extend(trim(host, filesystem));
    }
    if let Some(reason) = setting(host, NO_DEVICE) {
        const WHY: &str = "bytes at the device, write and read amplification cannot be measured";
        checks.push(
            Check::warning("device_counters", reason, WHY)
                .change("use a directory on a local ext4, xfs or btrfs, with queue/iostats at 1"),
        );
    }
    checks.extend(file_extents(host));
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

const DISCARD: &str = "each deleted file is discarded at once, which stalls other I/O";
const ATIME: &str = "with access times, reads write";

fn mount_options(filesystem: &Filesystem) -> Vec<Check> {
    let has = |option: &str| filesystem.options.split(',').any(|have| have == option);
    let point = &filesystem.mount_point;
    let mut checks = Vec::new();
    if Medium::of(&filesystem.kind) != Medium::Device {
        return checks;
    }
    // btrfs says which way.
    let discards = ["discard", "discard=async", "discard=sync"].into_iter().find(|way| has(way));
    checks.push(match discards {
        Some(way) => Check::warning("discard", way, DISCARD)
            .change(format!("mount -o remount,nodiscard {point}, and fstrim between runs")),
        None => Check::ok("discard", "off", DISCARD),
    });
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

/// What a commit costs on ext4; other filesystems do not say, or have one way only.
fn journal(host: &Host, filesystem: &Filesystem) -> Option<Check> {
    const WHY: &str = "decides what a commit costs, and what it is worth";
    let text = setting(host, JOURNAL)?;
    let point = &filesystem.mount_point;
    Some(match text {
        text if text.contains("nobarrier") => {
            const WHY: &str = "the drive's cache is never flushed: no commit is on stable storage";
            Check::warning("journal", text, WHY)
                .change(format!("mount -o remount,barrier=1 {point}"))
        }
        "data=ordered" => Check::ok("journal", text, WHY),
        text => Check::info("journal", text, WHY).change("mkfs.ext4 and mount with the defaults"),
    })
}

/// Whether the free blocks of a drive were given back cannot be asked.
fn trim(host: &Host, filesystem: &Filesystem) -> Option<Check> {
    const WHY: &str = "a drive that takes free blocks for data writes more inside";
    let takes = host.drive.as_ref()?.queue.get("discard_max_bytes")? != "0";
    Some(if takes {
        Check::info("trim", "when it was last done is not told", WHY)
            .change(format!("fstrim -v {}, before a run", filesystem.mount_point))
    } else {
        Check::ok("trim", "this drive takes no discards", WHY)
    })
}

/// A file that lies in pieces of less than this has an old filesystem around it.
const PIECE_BYTES_MIN: u64 = 1 << 20;

/// Only where there was a file to look at: `SIZE in EXTENTS: NAME`.
fn file_extents(host: &Host) -> Option<Check> {
    const WHY: &str = "on an aged filesystem files lie in many pieces, and each costs a request";
    let (numbers, name) = setting(host, LARGEST_FILE)?.split_once(": ")?;
    let (bytes, extents) = numbers.split_once(" in ")?;
    let (bytes, extents): (u64, u64) = (bytes.parse().ok()?, extents.parse().ok()?);
    let pieces = if extents == 1 { "1 piece" } else { &format!("{extents} pieces") };
    let value = format!("{name}: {} in {pieces}", units::bytes(bytes));
    Some(if bytes / extents.max(1) < PIECE_BYTES_MIN {
        Check::info("file_extents", value, WHY).change("copy it, or use a fresh filesystem")
    } else {
        Check::ok("file_extents", value, WHY)
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Severity, of};
    use super::*;
    use kvdyno_record::host::Drive;

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
        let ok = ["filesystem", "free_space", "discard", "atime"].map(|id| (id, Severity::Ok));
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
    fn journals() {
        let filesystem = filesystem("ext4", "rw", 1);
        let host = |text: &str| Host {
            settings: [(JOURNAL.to_owned(), text.to_owned())].into(),
            ..Host::default()
        };
        let severity = |text| journal(&host(text), &filesystem).unwrap().severity;
        assert_eq!(severity("data=ordered"), Severity::Ok);
        assert_eq!(severity("data=writeback"), Severity::Info);
        assert_eq!(severity("no journal"), Severity::Info);
        assert_eq!(severity("data=ordered, nobarrier"), Severity::Warning);
        assert_eq!(journal(&Host::default(), &filesystem), None);
    }

    #[test]
    fn a_file_in_pieces() {
        let told = |text: &str| {
            let settings = [(LARGEST_FILE.to_owned(), text.to_owned())].into();
            file_extents(&Host { settings, ..Host::default() }).unwrap()
        };
        let young = told("1073741824 in 8: db/data.mdb");
        assert_eq!(young.value, "db/data.mdb: 1.00 GiB in 8 pieces");
        assert_eq!(young.severity, Severity::Ok);
        assert_eq!(told("1073741824 in 20000: data.mdb").severity, Severity::Info);
    }

    #[test]
    fn trimming_is_a_hint() {
        let told = |bytes: &str| {
            let queue = [("discard_max_bytes".to_owned(), bytes.to_owned())].into();
            let drive = Some(Drive { queue, ..Drive::default() });
            let filesystem = Some(filesystem("ext4", "rw,noatime", 50 << 30));
            let checks = checks(&Host { filesystem, drive, ..Host::default() });
            of(&checks, "trim").unwrap().clone()
        };
        let remedy = told("2147450880").remedy;
        assert_eq!(remedy.as_deref(), Some("fstrim -v /data, before a run"));
        assert_eq!(told("0").severity, Severity::Ok);
    }
}
