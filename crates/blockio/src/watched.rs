//! The devices whose requests are watched: the one under the volume or, if that is made of others
//! (device mapper, MD), those others: the kernel shows requests at the lowest level only.

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
    if device.below.is_empty() || depth == 0 {
        let watched =
            watched_device(root, device).ok_or_else(|| format!("{}: no number", device.name))?;
        if !devices.contains(&watched) {
            devices.push(watched);
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

fn watched_device(root: &Root, device: &Device) -> Option<Watched> {
    let (name, disk) = (device.name.clone(), device.disk.clone());
    let sectors = if name == disk {
        None
    } else {
        let field = |field| root.number::<u64>(format!("/sys/block/{disk}/{name}/{field}"));
        let start = field("start")?;
        Some(start..start + field("size")?)
    };
    Some(Watched { number: number(root, &disk)?, name, disk, sectors })
}

/// Returns the number of a device or a partition, such as `254:0`.
fn number(root: &Root, name: &str) -> Option<(u32, u32)> {
    parse_number(&root.text(format!("/sys/class/block/{name}/dev"))?)
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
}
