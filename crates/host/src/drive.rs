//! The properties of a block device in `/sys/block/X`.

use super::device::Device;
use super::root::bracketed_word;
use super::{Root, health};
use kvdyno_record::host::Drive;

/// Reads the properties of a device; for a partition, those of the whole device.
pub(super) fn read(root: &Root, device: &Device) -> Drive {
    let directory = device.disk_directory();
    let queue_directory = format!("{directory}/queue");
    let queue = root.names(&queue_directory).into_iter().filter_map(|name| {
        let text = root.text(format!("{queue_directory}/{name}"))?;
        Some((name, text))
    });
    let queue: std::collections::BTreeMap<String, String> = queue.collect();
    let switch = |name: &str| queue.get(name).map(|text| text != "0");
    let kib: Option<u64> = queue.get("read_ahead_kb").and_then(|text| text.parse().ok());
    Drive {
        name: device.disk.clone(),
        model: root.text(format!("{directory}/device/model")),
        // The first is the name for NVMe, the second for SCSI and SATA.
        firmware: ["firmware_rev", "rev"]
            .iter()
            .find_map(|name| root.text(format!("{directory}/device/{name}"))),
        bytes: root.number::<u64>(format!("{directory}/size")).unwrap_or_default() * 512,
        rotational: switch("rotational"),
        scheduler: queue.get("scheduler").map(|text| bracketed_word(text).to_owned()),
        read_ahead_bytes: kib.map(|kib| kib * 1024),
        write_cache: queue.get("write_cache").cloned(),
        iostats: switch("iostats"),
        queue,
        health: health::read(root, &device.disk),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Fake;
    use super::*;

    #[test]
    fn a_virtual_disk_of_the_development_machine() {
        let fake = Fake::new()
            .file("/sys/devices/block/vda/size", "536870912\n")
            .file("/sys/devices/block/vda/device/rev", "2.5+\n")
            .file("/sys/devices/block/vda/queue/read_ahead_kb", "8192\n")
            .file("/sys/devices/block/vda/queue/scheduler", "none [mq-deadline] kyber bfq \n")
            .file("/sys/devices/block/vda/queue/rotational", "1\n")
            .file("/sys/devices/block/vda/queue/write_cache", "write back\n")
            .file("/sys/devices/block/vda/queue/iostats", "1\n")
            .link("/sys/block/vda", "../devices/block/vda")
            .link("/sys/dev/block/254:0", "../../devices/block/vda");
        let device = Device::find(&fake.root, (254, 0)).unwrap();
        let drive = read(&fake.root, &device);
        assert_eq!((drive.name.as_str(), drive.bytes), ("vda", 256 << 30));
        assert_eq!(drive.firmware.as_deref(), Some("2.5+"));
        assert_eq!(drive.scheduler.as_deref(), Some("mq-deadline"));
        assert_eq!((drive.read_ahead_bytes, drive.rotational), (Some(8 << 20), Some(true)));
        assert_eq!((drive.iostats, drive.model), (Some(true), None));
        assert_eq!(drive.queue["write_cache"], "write back");
        assert_eq!(bracketed_word("none"), "none");
    }
}
