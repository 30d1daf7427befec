//! The devices whose requests are watched: the one under the volume or, if that is made of others
//! (device mapper, MD, `NVMe` multipath), those others: the kernel shows requests at the lowest
//! level only.

use kvdyno_host::Root;
use kvdyno_host::device::{Device, parse_number};
use std::ops::Range;

/// A device whose requests are watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Watched {
    pub(super) name: String,
    pub(super) disk: String,
    /// Major and minor number of the whole disk.
    pub(super) number: (u32, u32),
    /// The sectors (of 512 bytes) of a partition; `None`: the whole disk.
    pub(super) sectors: Option<Range<u64>>,
}

/// Deeper than any real stack of devices.
const DEPTH_MAX: u32 = 8;

/// Returns the lowest devices that a device is made of, right above the drives.
pub(super) fn find(root: &Root, device: &Device) -> Result<Vec<Watched>, String> {
    let mut devices = Vec::new();
    descend(root, device, DEPTH_MAX, &mut devices)?;
    Ok(devices)
}

fn descend(
    root: &Root,
    device: &Device,
    depth: u32,
    devices: &mut Vec<Watched>,
) -> Result<(), String> {
    if device.below.is_empty() || device.is_multipath() || depth == 0 {
        for watched in watched_devices(root, device)? {
            if !devices.contains(&watched) {
                devices.push(watched);
            }
        }
        return Ok(());
    }
    for name in &device.below {
        let number = number(root, name).ok_or_else(|| format!("{name}: no number"))?;
        let below = Device::find(root, number).ok_or_else(|| format!("{name}: not found"))?;
        descend(root, &below, depth - 1, devices)?;
    }
    Ok(())
}

/// Returns a device, or each path to it.
fn watched_devices(root: &Root, device: &Device) -> Result<Vec<Watched>, String> {
    let (name, disk) = (&device.name, &device.disk);
    let sectors = if name == disk {
        None
    } else {
        let field = |field| {
            let number = root.number::<u64>(format!("/sys/block/{disk}/{name}/{field}"));
            number.ok_or_else(|| format!("{name}: no {field}"))
        };
        let start = field("start")?;
        Some(start..start + field("size")?)
    };
    let watched = |name: &String, disk: &String| {
        let number = number(root, disk).ok_or_else(|| format!("{disk}: no number"))?;
        Ok(Watched { name: name.clone(), disk: disk.clone(), number, sectors: sectors.clone() })
    };
    if !device.is_multipath() {
        return Ok(vec![watched(name, disk)?]);
    }
    // Without a path none of its requests would be seen.
    if device.below.is_empty() {
        return Err(format!("found no path of {disk} in /sys/block"));
    }
    device.below.iter().map(|path| watched(path, path)).collect()
}

/// Returns the number of a device or a partition, such as `254:0`. A path of `NVMe` multipath is
/// hidden: it has its number in `/proc/diskstats` only.
fn number(root: &Root, name: &str) -> Option<(u32, u32)> {
    if let Some(text) = root.text(format!("/sys/class/block/{name}/dev")) {
        return parse_number(&text);
    }
    let text = root.text("/proc/diskstats")?;
    text.lines().find_map(|line| {
        let mut words = line.split_ascii_whitespace();
        let (major, minor) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        (words.next()? == name && major != 0).then_some((major, minor))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use kvdyno_host::testing::Fake;

    fn disk() -> Fake {
        Fake::new()
            .file("/sys/devices/block/sda/dev", "8:0\n")
            .file("/sys/devices/block/sda/sda1/partition", "1\n")
            .file("/sys/devices/block/sda/sda1/dev", "8:1\n")
            .file("/sys/devices/block/sda/sda1/start", "2048\n")
            .file("/sys/devices/block/sda/sda1/size", "1000\n")
            .link("/sys/block/sda", "../devices/block/sda")
            .link("/sys/dev/block/8:1", "../../devices/block/sda/sda1")
            .link("/sys/class/block/sda", "../../devices/block/sda")
            .link("/sys/class/block/sda1", "../../devices/block/sda/sda1")
    }

    #[test]
    fn a_partition_is_a_range_of_its_disk() {
        let fake = disk();
        let device = Device::find(&fake.root, (8, 1)).unwrap();
        let [watched] = find(&fake.root, &device).unwrap().try_into().unwrap();
        assert_eq!((watched.name.as_str(), watched.disk.as_str()), ("sda1", "sda"));
        assert_eq!((watched.number, watched.sectors), ((8, 0), Some(2048..3048)));
    }

    #[test]
    fn of_a_stack_the_lowest_are_watched() {
        let fake = disk()
            .file("/sys/devices/virtual/block/dm-0/slaves/sda1", "")
            .file("/sys/devices/virtual/block/dm-0/dev", "252:0\n")
            .file("/sys/devices/virtual/block/dm-1/slaves/dm-0", "")
            .link("/sys/block/dm-0", "../devices/virtual/block/dm-0")
            .link("/sys/block/dm-1", "../devices/virtual/block/dm-1")
            .link("/sys/class/block/dm-0", "../../devices/virtual/block/dm-0")
            .link("/sys/dev/block/252:0", "../../devices/virtual/block/dm-0")
            .link("/sys/dev/block/252:1", "../../devices/virtual/block/dm-1");
        let device = Device::find(&fake.root, (252, 1)).unwrap();
        let names: Vec<String> =
            find(&fake.root, &device).unwrap().into_iter().map(|watched| watched.name).collect();
        assert_eq!(names, ["sda1"]);
    }

    #[test]
    fn of_nvme_multipath_the_paths_are_watched() {
        let head = "/sys/devices/virtual/nvme-subsystem/nvme-subsys0/nvme0n1";
        let fake = Fake::new()
            .file(&format!("{head}/dev"), "259:1\n")
            .file(&format!("{head}/nvme0n1p1/partition"), "1\n")
            .file(&format!("{head}/nvme0n1p1/start"), "2048\n")
            .file(&format!("{head}/nvme0n1p1/size"), "1000\n")
            .link("/sys/block/nvme0n1", &format!("../..{head}"))
            .link("/sys/dev/block/259:2", &format!("../../..{head}/nvme0n1p1"));
        let device = Device::find(&fake.root, (259, 2)).unwrap();
        let no_path = "found no path of nvme0n1 in /sys/block";
        assert_eq!(find(&fake.root, &device).unwrap_err(), no_path);
        let stats = " 259       0 nvme0c0n1 1 0 8 5\n 259       3 nvme0c1n1 1 0 8 5\n";
        let fake = fake
            .file("/sys/block/nvme0c0n1/stat", "")
            .file("/sys/block/nvme0c1n1/stat", "")
            .file("/proc/diskstats", stats);
        let device = Device::find(&fake.root, (259, 2)).unwrap();
        let watched = find(&fake.root, &device).unwrap();
        let parts: Vec<_> =
            watched.into_iter().map(|one| (one.name, one.number, one.sectors)).collect();
        assert_eq!(
            parts,
            [
                ("nvme0c0n1".to_owned(), (259, 0), Some(2048..3048)),
                ("nvme0c1n1".to_owned(), (259, 3), Some(2048..3048)),
            ]
        );
    }
}
