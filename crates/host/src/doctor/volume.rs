//! Checks on the filesystem: what kind, how full, how old, how mounted.

use super::rule::{Rule, diagnostic, rule, setting};
use crate::storage::FilesystemClass;
use kvdyno_record::host::settings::{JOURNAL, LARGEST_FILE, NO_DEVICE, VOLUME_USED};
use kvdyno_record::host::{Filesystem, Host};
use kvdyno_record::units;

const FULL_SHARE_MAX: f64 = 0.8;

/// If a file lies in pieces smaller than this, its filesystem is aged.
const PIECE_BYTES_MIN: u64 = 1 << 20;

pub(super) const KIND: Rule = rule("filesystem", |host| {
    let Filesystem { kind, mount_point, .. } = host.filesystem.as_ref()?;
    let class = FilesystemClass::from_kind(kind);
    let why = match class {
        FilesystemClass::Device => "a filesystem on a device of this machine",
        FilesystemClass::Memory => {
            "it is in memory: no drive is measured, and it counts in the RAM limit"
        }
        FilesystemClass::Layers => "layers copy files up and hide the drive: use a mounted volume",
        FilesystemClass::Network => "a network or a host's own cache is measured, not a drive",
        FilesystemClass::Unknown => "unknown filesystem: it may have a cache of its own",
    };
    let remedy = "choose a directory on a local ext4, xfs or btrfs";
    diagnostic(format!("{kind} at {mount_point}"), why)
        .warn_if(class != FilesystemClass::Device, remedy)
});

pub(super) const RULES: &[Rule] = &[
    KIND,
    // As `df` counts: the used share of the space that is used or free to this user.
    rule("free_space", |host| {
        let &Filesystem { total_bytes, free_bytes, .. } = host.filesystem.as_ref()?;
        let used = setting(host, VOLUME_USED).and_then(|text| text.parse().ok());
        let used: u64 = used.unwrap_or(total_bytes.saturating_sub(free_bytes));
        let share = used as f64 / (used + free_bytes).max(1) as f64;
        let value = format!("{} free, {} in use", units::bytes(free_bytes), units::percent(share));
        diagnostic(value, "a full drive cleans up while it writes, and a full filesystem fragments")
            .warn_if(share > FULL_SHARE_MAX, "delete something, or use another volume")
    }),
    rule("discard", |host| {
        let point = &device_filesystem(host)?.mount_point;
        // btrfs names the method.
        let ways = ["discard", "discard=async", "discard=sync"];
        let way = ways.into_iter().find(|way| has(host, way));
        let why = "each deleted file is discarded at once, which stalls other I/O";
        let remedy = format!("mount -o remount,nodiscard {point}, and fstrim between runs");
        diagnostic(way.unwrap_or("off"), why).warn_if(way.is_some(), remedy)
    }),
    rule("atime", |host| {
        let remedy = format!("mount -o remount,noatime {}", device_filesystem(host)?.mount_point);
        let off = has(host, "noatime");
        if has(host, "relatime") && !off {
            return diagnostic("relatime", "the first read of a file each day writes its inode")
                .info_if(true, remedy);
        }
        diagnostic(if off { "noatime" } else { "strictatime" }, "with access times, reads write")
            .warn_if(!off, remedy)
    }),
    // The cost of a commit on ext4; other filesystems do not report it, or have only one way.
    rule("journal", |host| {
        let point = &host.filesystem.as_ref()?.mount_point;
        let text = setting(host, JOURNAL)?;
        if text.contains("nobarrier") {
            return diagnostic(
                text,
                "the drive's cache is never flushed: no commit is on stable storage",
            )
            .warn_if(true, format!("mount -o remount,barrier=1 {point}"));
        }
        diagnostic(text, "decides the cost of a commit, and its durability")
            .info_if(text != "data=ordered", "mkfs.ext4 and mount with the defaults")
    }),
    // Linux does not report whether the free blocks of a drive were discarded.
    rule("trim", |host| {
        let point = &host.filesystem.as_ref()?.mount_point;
        let takes = host.drive.as_ref()?.queue.get("discard_max_bytes")? != "0";
        let not_told = "the time of the last one is unknown";
        let value = if takes { not_told } else { "this drive does not support discards" };
        diagnostic(value, "a drive that takes free blocks for data writes more inside")
            .info_if(takes, format!("fstrim -v {point}, before a run"))
    }),
    rule("device_counters", |host| {
        let why = "bytes at the device, write and read amplification cannot be measured";
        let remedy = "use a directory on a local ext4, xfs or btrfs, with queue/iostats at 1";
        diagnostic(setting(host, NO_DEVICE)?, why).warn_if(true, remedy)
    }),
    // Only if a file was found. The setting reads `SIZE in EXTENTS: NAME`.
    rule("file_extents", |host| {
        let (numbers, name) = setting(host, LARGEST_FILE)?.split_once(": ")?;
        let (bytes, extents) = numbers.split_once(" in ")?;
        let (bytes, extents): (u64, u64) = (bytes.parse().ok()?, extents.parse().ok()?);
        let pieces = if extents == 1 { "1 piece" } else { &format!("{extents} pieces") };
        let why = "on an aged filesystem files lie in many pieces, and each costs a request";
        let aged = bytes / extents.max(1) < PIECE_BYTES_MIN;
        diagnostic(format!("{name}: {} in {pieces}", units::bytes(bytes)), why)
            .info_if(aged, "copy it, or use a fresh filesystem")
    }),
];

fn device_filesystem(host: &Host) -> Option<&Filesystem> {
    host.filesystem.as_ref().filter(|Filesystem { kind, .. }| {
        // ZFS has a cache of its own, and a drive and mount options as well.
        FilesystemClass::from_kind(kind) == FilesystemClass::Device || kind == "zfs"
    })
}

fn has(host: &Host, option: &str) -> bool {
    let options = host.filesystem.as_ref().map_or("", |filesystem| &filesystem.options);
    options.split(',').any(|have| have == option)
}

#[cfg(test)]
mod tests {
    use super::super::rule::{Level, apply, apply_rule, find_check};
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

    fn severities(host: &Host) -> Vec<(&'static str, Level)> {
        apply(RULES, host).iter().map(|check| (check.id, check.severity)).collect()
    }

    #[test]
    fn a_good_volume() {
        let host = Host {
            filesystem: Some(filesystem("ext4", "rw,noatime", 50 << 30)),
            ..Host::default()
        };
        let ok = ["filesystem", "free_space", "discard", "atime"].map(|id| (id, Level::Ok));
        assert_eq!(severities(&host), ok);
    }

    #[test]
    fn what_is_held_back_is_not_in_use() {
        let settings = [(VOLUME_USED.to_owned(), (10_u64 << 30).to_string())].into();
        let filesystem = Some(filesystem("ext4", "rw", 40 << 30));
        let host = Host { filesystem, settings, ..Host::default() };
        let check = apply_rule(RULES, "free_space", &host).unwrap();
        assert_eq!(check.value, "40.0 GiB free, 20.0 % in use");
        assert_eq!(check.severity, Level::Ok);
    }

    #[test]
    fn a_bad_volume() {
        let filesystem = filesystem("ext4", "rw,relatime,discard", 10 << 30);
        let host = Host { filesystem: Some(filesystem), ..Host::default() };
        assert_eq!(
            severities(&host),
            [
                ("filesystem", Level::Ok),
                ("free_space", Level::Warning),
                ("discard", Level::Warning),
                ("atime", Level::Info),
            ]
        );
    }

    #[test]
    fn filesystems_that_are_no_drive() {
        for kind in ["tmpfs", "overlay", "9p", "nfs4", "fuse.something"] {
            let host = Host { filesystem: Some(filesystem(kind, "rw", 1)), ..Host::default() };
            assert_eq!(apply_rule(RULES, "filesystem", &host).unwrap().severity, Level::Warning);
        }
    }

    #[test]
    fn journals() {
        let host = |text: &str| Host {
            filesystem: Some(filesystem("ext4", "rw", 1)),
            settings: [(JOURNAL.to_owned(), text.to_owned())].into(),
            ..Host::default()
        };
        let severity = |text| apply_rule(RULES, "journal", &host(text)).unwrap().severity;
        assert_eq!(severity("data=ordered"), Level::Ok);
        assert_eq!(severity("data=writeback"), Level::Info);
        assert_eq!(severity("no journal"), Level::Info);
        assert_eq!(severity("data=ordered, nobarrier"), Level::Warning);
        let unknown = Host { settings: [].into(), ..host("") };
        assert_eq!(apply_rule(RULES, "journal", &unknown), None);
    }

    #[test]
    fn a_file_in_pieces() {
        let check_of = |text: &str| {
            let settings = [(LARGEST_FILE.to_owned(), text.to_owned())].into();
            apply_rule(RULES, "file_extents", &Host { settings, ..Host::default() }).unwrap()
        };
        let young = check_of("1073741824 in 8: db/data.mdb");
        assert_eq!(young.value, "db/data.mdb: 1.00 GiB in 8 pieces");
        assert_eq!(young.severity, Level::Ok);
        assert_eq!(check_of("1073741824 in 20000: data.mdb").severity, Level::Info);
    }

    #[test]
    fn trimming_is_a_hint() {
        let check_of = |bytes: &str| {
            let queue = [("discard_max_bytes".to_owned(), bytes.to_owned())].into();
            let drive = Some(Drive { queue, ..Drive::default() });
            let filesystem = Some(filesystem("ext4", "rw,noatime", 50 << 30));
            let checks = apply(RULES, &Host { filesystem, drive, ..Host::default() });
            find_check(&checks, "trim").unwrap().clone()
        };
        let remedy = check_of("2147450880").remedy;
        assert_eq!(remedy.as_deref(), Some("fstrim -v /data, before a run"));
        assert_eq!(check_of("0").severity, Level::Ok);
    }
}
