//! A block device: which one, and its counters, from `/sys/dev/block/MAJ:MIN`.
//!
//! The counters are those right under the filesystem: of the partition, of the device mapper or MD
//! array (not of the drives below it), or of the loop device (the device below its file counts the
//! same I/O once more). The kernel counts flushes for whole disks only: a partition shows those of
//! its disk, a stacked device none. A namespace of `NVMe` multipath is stacked as well: the kernel
//! counts its flushes as reads.

use super::Root;
use kvdyno_record::usage::DeviceUsage;
use procfs_core::DiskStat;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A block device or a partition of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// The kernel's name: `nvme0n1p2`, `dm-0`.
    pub name: String,
    /// The kernel's name of the whole device: `nvme0n1`.
    pub disk: String,
    /// The devices right below it (device mapper, MD, `NVMe` multipath); none for a drive.
    pub below: Vec<String>,
    directory: PathBuf,
}

impl Device {
    /// The device with this number; `None`: there is none, as for the anonymous numbers of tmpfs,
    /// overlay, NFS and btrfs.
    pub fn find(root: &Root, (major, minor): (u32, u32)) -> Option<Self> {
        Self::from_link(root, &format!("/sys/dev/block/{major}:{minor}"))
    }

    /// Returns the device with this kernel name.
    pub fn from_name(root: &Root, name: &str) -> Option<Self> {
        Self::from_link(root, &format!("/sys/class/block/{name}"))
    }

    fn from_link(root: &Root, link: &str) -> Option<Self> {
        let directory = root.path(link).canonicalize().ok()?;
        let name = file_name(&directory)?;
        let whole = if directory.join("partition").exists() {
            directory.parent()?
        } else {
            directory.as_path()
        };
        let disk = file_name(whole)?;
        let below = if is_multipath(&directory) {
            nvme_paths(root, &disk)
        } else {
            root.names(format!("/sys/block/{disk}/slaves"))
        };
        Some(Self { name, disk, below, directory })
    }

    /// Returns whether it is a namespace of `NVMe` multipath: those below are paths to it.
    pub fn is_multipath(&self) -> bool {
        is_multipath(&self.directory)
    }

    /// Returns the directory of the whole device.
    pub fn disk_directory(&self) -> String {
        format!("/sys/block/{}", self.disk)
    }

    /// Fails with a reason if the kernel keeps no counters.
    pub fn check_counters(&self, root: &Root) -> Result<(), String> {
        let switch = root.switch(format!("{}/queue/iostats", self.disk_directory()));
        if switch == Some(false) && !self.counts_without_switch(root) {
            return Err(format!("{} has no I/O counters: its queue/iostats is 0", self.disk));
        }
        Ok(())
    }

    /// Returns whether the device counts although the switch is off. The switch governs requests;
    /// a device without them counts by itself, and its switch may be off from the beginning: zram,
    /// device mapper before Linux 6.6, MD before 5.14.
    fn counts_without_switch(&self, root: &Root) -> bool {
        let directory = self.disk_directory();
        let has_requests = root.path(format!("{directory}/mq")).exists();
        let stat = root.text(format!("{directory}/stat")).unwrap_or_default();
        let has_counted = stat.split_ascii_whitespace().any(|count| count != "0");
        !has_requests && (self.disk.starts_with("zram") || has_counted)
    }

    /// Returns the device's counters; `None`: it has none.
    pub fn usage(&self, root: &Root) -> Option<DeviceUsage> {
        self.check_counters(root).ok()?;
        let text = std::fs::read_to_string(self.directory.join("stat")).ok()?;
        let mut usage = parse(&self.name, &text)?;
        if !self.below.is_empty() || self.is_multipath() {
            (usage.flushes, usage.flush_ns) = (None, None);
        } else if self.name != self.disk {
            let text = root.text(format!("{}/stat", self.disk_directory()))?;
            let disk = parse(&self.disk, &text)?;
            (usage.flushes, usage.flush_ns) = (disk.flushes, disk.flush_ns);
        }
        Some(usage)
    }
}

/// A device is at rest if no request finished for this long.
const QUIET: Duration = Duration::from_millis(200);

impl Device {
    /// Waits until the device is at rest: no request in flight, and none finished for a while.
    /// Returns whether it came to rest within `limit`; a device without counters does at once.
    pub fn wait_until_idle(&self, limit: Duration) -> bool {
        let counters = || std::fs::read_to_string(self.directory.join("stat")).ok();
        let begun = Instant::now();
        let Some(mut before) = counters() else { return true };
        while begun.elapsed() < limit {
            sleep(QUIET);
            let Some(now) = counters() else { return true };
            if now == before && in_flight(&now) == 0 {
                return true;
            }
            before = now;
        }
        false
    }
}

/// Requests that a device has begun and not finished.
fn in_flight(stat: &str) -> u64 {
    stat.split_ascii_whitespace().nth(8).and_then(|count| count.parse().ok()).unwrap_or(0)
}

/// Parses a device number, such as `254:0`.
pub fn parse_number(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.trim().split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

fn file_name(directory: &Path) -> Option<String> {
    Some(directory.file_name()?.to_str()?.to_owned())
}

/// A namespace of `NVMe` multipath belongs to the subsystem, any other to its controller.
fn is_multipath(directory: &Path) -> bool {
    directory.components().any(|component| component.as_os_str() == "nvme-subsystem")
}

/// Returns the paths to a namespace of `NVMe` multipath: `nvme0c0n1`, `nvme0c1n1` for `nvme0n1`.
fn nvme_paths(root: &Root, head: &str) -> Vec<String> {
    let Some((subsystem, namespace)) = head.rsplit_once('n') else { return Vec::new() };
    let is_path = |name: &String| {
        let below = name.strip_prefix(subsystem).and_then(|rest| rest.strip_prefix('c'));
        below.and_then(|path| path.split_once('n')).is_some_and(|(_, number)| number == namespace)
    };
    root.names("/sys/block").into_iter().filter(is_path).collect()
}

/// Parses the line of `/sys/block/X/stat` (Documentation/block/stat.rst), which is that of
/// `/proc/diskstats` without number and name. Its sectors are of 512 bytes whatever the device's
/// are, and its times are in milliseconds.
fn parse(name: &str, text: &str) -> Option<DeviceUsage> {
    const SECTOR_BYTES: u64 = 512;
    const MS_NS: u64 = 1_000_000;
    let stat = DiskStat::from_line(&format!("0 0 {name} {text}")).ok()?;
    Some(DeviceUsage {
        reads: stat.reads,
        read_bytes: stat.sectors_read * SECTOR_BYTES,
        read_ns: stat.time_reading * MS_NS,
        writes: stat.writes,
        write_bytes: stat.sectors_written * SECTOR_BYTES,
        write_ns: stat.time_writing * MS_NS,
        busy_ns: stat.time_in_progress * MS_NS,
        queue_ns: stat.weighted_time_in_progress * MS_NS,
        // Since Linux 4.18.
        discards: stat.discards.unwrap_or_default(),
        discard_bytes: stat.sectors_discarded.unwrap_or_default() * SECTOR_BYTES,
        // Since Linux 5.5.
        flushes: stat.flushes,
        flush_ns: stat.time_flushing.map(|ms| ms * MS_NS),
        device: stat.name,
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::Fake;
    use super::*;

    /// The counters of the development machine's disk, from kernel 6.18.
    const VDA: &str = "   36293     8232  4619762    55162    10769    23388  4253992    17844 \
         0    16012    74409     4546       64  1038496     1374      540       28\n";

    fn disk() -> Fake {
        Fake::new()
            .file("/sys/devices/pci/block/vda/stat", VDA)
            .file("/sys/devices/pci/block/vda/queue/iostats", "1\n")
            .file("/sys/devices/pci/block/vda/vda1/partition", "1\n")
            .file(
                "/sys/devices/pci/block/vda/vda1/stat",
                "10 0 80 5 20 0 160 7 0 9 12 0 0 0 0 0 0\n",
            )
            .link("/sys/dev/block/254:0", "../../devices/pci/block/vda")
            .link("/sys/dev/block/254:1", "../../devices/pci/block/vda/vda1")
            .link("/sys/block/vda", "../devices/pci/block/vda")
    }

    #[test]
    fn a_whole_disk() {
        let fake = disk();
        let device = Device::find(&fake.root, (254, 0)).unwrap();
        let usage = device.usage(&fake.root).unwrap();
        assert_eq!((usage.device.as_str(), usage.reads, usage.writes), ("vda", 36293, 10769));
        assert_eq!(usage.read_bytes, 4_619_762 * 512);
        assert_eq!(usage.write_bytes, 4_253_992 * 512);
        assert_eq!(usage.read_ns, 55_162_000_000);
        assert_eq!((usage.busy_ns, usage.queue_ns), (16_012_000_000, 74_409_000_000));
        assert_eq!((usage.discards, usage.discard_bytes), (4546, 1_038_496 * 512));
        assert_eq!((usage.flushes, usage.flush_ns), (Some(540), Some(28_000_000)));
    }

    #[test]
    fn a_partition_has_its_own_counts_and_its_disks_flushes() {
        let fake = disk();
        let device = Device::find(&fake.root, (254, 1)).unwrap();
        assert_eq!((device.name.as_str(), device.disk.as_str()), ("vda1", "vda"));
        let usage = device.usage(&fake.root).unwrap();
        assert_eq!((usage.reads, usage.write_bytes), (10, 160 * 512));
        assert_eq!(usage.flushes, Some(540));
    }

    #[test]
    fn a_stacked_device_names_what_is_below_and_counts_no_flushes() {
        let fake = disk()
            .file("/sys/devices/virtual/block/dm-0/stat", VDA)
            .file("/sys/devices/virtual/block/dm-0/slaves/vda1", "")
            .link("/sys/block/dm-0", "../devices/virtual/block/dm-0")
            .link("/sys/dev/block/252:0", "../../devices/virtual/block/dm-0");
        let device = Device::find(&fake.root, (252, 0)).unwrap();
        assert_eq!(device.below, ["vda1"]);
        assert_eq!(device.usage(&fake.root).unwrap().flushes, None);
    }

    #[test]
    fn a_namespace_of_nvme_multipath_is_made_of_its_paths() {
        let head = "/sys/devices/virtual/nvme-subsystem/nvme-subsys0/nvme0n1";
        let fake = Fake::new()
            .file(&format!("{head}/stat"), VDA)
            .file(&format!("{head}/nvme0n1p1/partition"), "1\n")
            .file(&format!("{head}/nvme0n1p1/stat"), VDA)
            .link("/sys/block/nvme0n1", &format!("../..{head}"))
            .link("/sys/dev/block/259:0", &format!("../../..{head}"))
            .link("/sys/dev/block/259:1", &format!("../../..{head}/nvme0n1p1"))
            .file("/sys/block/nvme0c0n1/stat", VDA)
            .file("/sys/block/nvme0c1n1/stat", VDA)
            .file("/sys/block/nvme0c1n11/stat", VDA)
            .file("/sys/block/nvme1c0n1/stat", VDA);
        for number in [(259, 0), (259, 1)] {
            let device = Device::find(&fake.root, number).unwrap();
            assert!(device.is_multipath());
            assert_eq!(device.below, ["nvme0c0n1", "nvme0c1n1"]);
            let usage = device.usage(&fake.root).unwrap();
            assert_eq!((usage.reads, usage.flushes, usage.flush_ns), (36293, None, None));
        }
    }

    #[test]
    fn old_kernels_have_fewer_fields() {
        let usage = parse("sda", "1 0 8 5 2 0 16 7 0 9 12").unwrap();
        assert_eq!((usage.discards, usage.flushes), (0, None));
        assert_eq!(parse("sda", "1 0 8"), None);
    }

    #[test]
    fn without_iostats_there_are_no_counters_and_it_is_said() {
        let fake = disk()
            .file("/sys/devices/pci/block/vda/queue/iostats", "0\n")
            .file("/sys/devices/pci/block/vda/mq/0/nr_tags", "256\n");
        let device = Device::find(&fake.root, (254, 0)).unwrap();
        assert_eq!(device.usage(&fake.root), None);
        assert_eq!(
            device.check_counters(&fake.root).unwrap_err(),
            "vda has no I/O counters: its queue/iostats is 0"
        );
    }

    /// Before Linux 6.6 a device mapper counts with its switch at 0; a device that counts nothing
    /// (`NVMe` multipath before 6.5) has zeros.
    #[test]
    fn a_device_without_requests_may_count_with_its_switch_off() {
        let with_stat = |stat: &str| {
            let fake = Fake::new()
                .file("/sys/devices/virtual/block/dm-0/stat", stat)
                .file("/sys/devices/virtual/block/dm-0/queue/iostats", "0\n")
                .link("/sys/block/dm-0", "../devices/virtual/block/dm-0")
                .link("/sys/dev/block/252:0", "../../devices/virtual/block/dm-0");
            Device::find(&fake.root, (252, 0)).unwrap().usage(&fake.root)
        };
        assert_eq!(with_stat(VDA).unwrap().reads, 36293);
        assert_eq!(with_stat("0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"), None);
    }
}
