//! Fills [`Host`]: the machine's properties, before and after a run.

use super::device::Device;
use super::root::{bracketed_word, number_by_key, ranges};
use super::{Root, Storage, cache, group, machine_id, meter, settings};
use kvdyno_record::host::{Host, Machine};
use std::collections::BTreeMap;
use std::path::Path;

/// Reads the host, with the filesystem and drive under `directory`, which need not exist yet.
pub fn read(root: &Root, directory: &Path) -> Host {
    let volume = Storage::from_path(root, directory).ok();
    let device = volume.as_ref().and_then(|volume| volume.device.as_ref().ok());
    let mut settings = settings::read(root);
    if let Some(volume) = &volume {
        settings.insert(settings::VOLUME_USED.to_owned(), volume.used_bytes.to_string());
    }
    if let Some(device) = device {
        settings.extend(device_facts(root, device));
    }
    if let Some(Err(reason)) = volume.as_ref().map(|volume| volume.check_counters(root)) {
        settings.insert(settings::NO_DEVICE.to_owned(), reason);
    }
    Host {
        at_unix_ns: meter::unix_ns(),
        hostname: root.text("/proc/sys/kernel/hostname").unwrap_or_default(),
        machine_id: machine_id::hash_id(root),
        kernel: root.text("/proc/sys/kernel/osrelease").unwrap_or_default(),
        os: os(root).unwrap_or_default(),
        architecture: std::env::consts::ARCH.to_owned(),
        machine: machine(root),
        filesystem: volume.as_ref().map(Storage::filesystem),
        drive: volume.as_ref().and_then(|volume| volume.drive(root)),
        root: rustix::process::geteuid().is_root(),
        ram_limit: group::availability(root),
        drop_caches: cache::drop_caches_availability(root),
        // Known only if block I/O is recorded.
        block_io: None,
        settings,
    }
}

/// Further facts of the device below the volume, if known: ext4's journal mode, and the width of
/// its link.
fn device_facts(root: &Root, device: &Device) -> impl Iterator<Item = (String, String)> {
    let journal = root.text(format!("/proc/fs/ext4/{}/options", device.name)).map(|options| {
        let has = |option: &str| options.lines().any(|line| line == option);
        let data = options.lines().find(|line| line.starts_with("data="));
        let barrier = if has("nobarrier") { ", nobarrier" } else { "" };
        (settings::JOURNAL.to_owned(), format!("{}{barrier}", data.unwrap_or("no journal")))
    });
    // The NVMe controller is above its namespace, its PCIe function above that.
    let links = ["current_link_speed", "max_link_speed", "current_link_width", "max_link_width"];
    let links = links.into_iter().filter_map(move |file| {
        let path = format!("{}/device/device/{file}", device.disk_directory());
        let text = root.text(&path)?;
        Some((path, text))
    });
    journal.into_iter().chain(links)
}

fn os(root: &Root) -> Option<String> {
    let text = root.text("/etc/os-release").or_else(|| root.text("/usr/lib/os-release"))?;
    let name = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(name.trim_matches('"').to_owned())
}

fn machine(root: &Root) -> Machine {
    let cpuinfo = root.text("/proc/cpuinfo").unwrap_or_default();
    let meminfo = root.text("/proc/meminfo").unwrap_or_default();
    let memory = |key| number_by_key(&meminfo, key).unwrap_or_default() * 1024;
    let thp = root.text("/sys/kernel/mm/transparent_hugepage/enabled");
    let load = root.text("/proc/loadavg");
    Machine {
        cpu_model: cpu_model(&cpuinfo).unwrap_or_default(),
        cpus: cpus(root).unwrap_or(1),
        memory_bytes: memory("MemTotal"),
        memory_available_bytes: memory("MemAvailable"),
        swap_bytes: memory("SwapTotal"),
        numa_nodes: root
            .text("/sys/devices/system/node/online")
            .map_or(1, |list| count_numbers(&list)),
        virtual_machine: virtual_machine(root, &cpuinfo),
        clocksource: root.text("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        governor: root.text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        transparent_hugepage: thp.map(|text| bracketed_word(&text).to_owned()),
        steal_ns: meter::steal_ns(root),
        load_1m: load.and_then(|text| text.split(' ').next()?.parse().ok()),
        pressure_some_avg10: pressure(root),
        throttled_ns: group::throttled_ns(root),
    }
}

/// The first value of a key of `/proc/cpuinfo`.
fn cpu_field<'a>(cpuinfo: &'a str, key: &str) -> Option<&'a str> {
    let mut fields = cpuinfo.lines().filter_map(|line| line.split_once(':'));
    fields.find(|(name, _)| name.trim() == key).map(|(_, value)| value.trim())
}

/// Returns the processor's model. Arm processors have numbers where others have names.
fn cpu_model(cpuinfo: &str) -> Option<String> {
    let name = cpu_field(cpuinfo, "model name").or_else(|| cpu_field(cpuinfo, "cpu"));
    name.map(str::to_owned).or_else(|| {
        let maker = cpu_field(cpuinfo, "CPU implementer")?;
        let part = cpu_field(cpuinfo, "CPU part")?;
        Some(format!("implementer {maker}, part {part}"))
    })
}

/// The processors that this process may use.
fn cpus(root: &Root) -> Option<u32> {
    let status = root.text("/proc/self/status")?;
    status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).map(count_numbers)
}

/// How many numbers a kernel list holds: `0-3,8` has five.
fn count_numbers(list: &str) -> u32 {
    ranges(list).map(|range| range.count() as u32).sum()
}

/// Makers that the firmware of virtual machines names.
const HYPERVISORS: [&str; 6] =
    ["QEMU", "KVM", "VMware", "Xen", "Microsoft Corporation", "Amazon EC2"];

/// Returns whether the machine is virtual; `None`: not known. On x86 the processor reports it,
/// elsewhere the firmware may.
fn virtual_machine(root: &Root, cpuinfo: &str) -> Option<bool> {
    if let Some(flags) = cpu_field(cpuinfo, "flags") {
        return Some(flags.split(' ').any(|flag| flag == "hypervisor"));
    }
    let vendor = root.text("/sys/class/dmi/id/sys_vendor");
    let is_hypervisor = vendor.is_some_and(|vendor| HYPERVISORS.contains(&vendor.as_str()));
    (is_hypervisor || root.text("/sys/hypervisor/type").is_some()).then_some(true)
}

/// Share of the last 10 seconds in which some task waited, in percent, by resource.
fn pressure(root: &Root) -> BTreeMap<String, f64> {
    let resources = ["cpu", "io", "memory"].into_iter().filter_map(|resource| {
        let text = root.text(format!("/proc/pressure/{resource}"))?;
        let some = text.lines().find_map(|line| line.strip_prefix("some "))?;
        let share = some.split(' ').find_map(|field| field.strip_prefix("avg10="))?;
        Some((resource.to_owned(), share.parse().ok()?))
    });
    resources.collect()
}

#[cfg(test)]
mod tests {
    use super::super::doctor::{self, Level};
    use super::super::testing::Fake;
    use super::*;
    use rustix::fs::{major, minor};
    use std::os::unix::fs::MetadataExt as _;

    #[test]
    fn the_development_machine_is_read_from_copies() {
        let fake = Fake::new()
            .file("/proc/sys/kernel/hostname", "vm\n")
            .file("/proc/sys/kernel/osrelease", "6.18.44\n")
            .file("/etc/os-release", "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nID=debian\n")
            .file(
                "/proc/cpuinfo",
                "processor\t: 0\nmodel name\t: AMD EPYC\nflags\t\t: fpu hypervisor sse\n\n\
                 processor\t: 1\nmodel name\t: AMD EPYC\n",
            )
            .file(
                "/proc/meminfo",
                "MemTotal:       24684084 kB\nMemAvailable:   23061972 kB\nSwapTotal: 0 kB\n",
            )
            .file("/proc/self/status", "Name:\tx\nCpus_allowed_list:\t0-1\n")
            .file("/proc/loadavg", "2.55 2.48 1.62 3/100 26267\n")
            .file("/proc/pressure/io", "some avg10=0.14 avg60=0.19 total=1\nfull avg10=0.10\n")
            .file("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n")
            .file("/sys/devices/system/node/online", "0-1,4\n");
        let host = read(&fake.root, Path::new("/"));
        assert_eq!((host.hostname.as_str(), host.kernel.as_str()), ("vm", "6.18.44"));
        assert_eq!(host.os, "Debian GNU/Linux 12 (bookworm)");
        let machine = host.machine;
        assert_eq!((machine.cpu_model.as_str(), machine.cpus), ("AMD EPYC", 2));
        assert_eq!(machine.memory_bytes, 24_684_084 * 1024);
        assert_eq!((machine.swap_bytes, machine.numa_nodes), (0, 3));
        assert_eq!(machine.virtual_machine, Some(true));
        assert_eq!(machine.transparent_hugepage.as_deref(), Some("madvise"));
        assert_eq!(machine.load_1m, Some(2.55));
        assert_eq!(machine.pressure_some_avg10, BTreeMap::from([("io".to_owned(), 0.14)]));
        assert_eq!(machine.governor, None);
        assert!(!host.ram_limit.available);
    }

    #[test]
    fn an_arm_processor_has_numbers() {
        let model = cpu_model("processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n");
        assert_eq!(model.as_deref(), Some("implementer 0x41, part 0xd0c"));
        let fake = Fake::new().file("/sys/class/dmi/id/sys_vendor", "Amazon EC2\n");
        assert_eq!(virtual_machine(&fake.root, ""), Some(true));
        assert_eq!(virtual_machine(&Fake::new().root, ""), None);
        assert_eq!(virtual_machine(&Fake::new().root, "flags : fpu"), Some(false));
    }

    #[test]
    fn this_machine_is_read() {
        let host = read(&Root::system(), Path::new("/var/tmp/not/there"));
        assert!(host.machine.memory_bytes > 1 << 28);
        assert!(host.machine.cpus >= 1 && !host.kernel.is_empty());
        assert!(host.filesystem.is_some());
        assert!(host.drive.is_some() || host.settings.contains_key(settings::NO_DEVICE));
    }

    /// The device of this machine's temporary files, in a tree of copies.
    fn disk(name: &str, queue: &[(&str, &str)]) -> Host {
        let directory = tempfile::tempdir().unwrap();
        let number = std::fs::metadata(directory.path()).unwrap().dev();
        let device = format!("/sys/devices/block/{name}");
        let (major, minor) = (major(number), minor(number));
        let fake = Fake::new()
            .file(&format!("{device}/stat"), "1 0 8 5 2 0 16 7 0 9 12")
            .link(
                &format!("/sys/dev/block/{major}:{minor}"),
                &format!("../../devices/block/{name}"),
            )
            .link(&format!("/sys/block/{name}"), &format!("../devices/block/{name}"));
        let fake = queue
            .iter()
            .fold(fake, |fake, (file, text)| fake.file(&format!("{device}/{file}"), text));
        read(&fake.root, directory.path())
    }

    fn find_severity(host: &Host, id: &str) -> Option<Level> {
        let checks = doctor::judge(host);
        checks.into_iter().find(|check| check.id == id).map(|check| check.severity)
    }

    #[test]
    fn a_drive_without_counters_is_a_drive() {
        let off = [("queue/iostats", "0\n"), ("queue/read_ahead_kb", "8192\n"), ("mq/0", "")];
        let host = disk("sda", &off);
        assert_eq!(
            host.settings[settings::NO_DEVICE],
            "sda has no I/O counters: its queue/iostats is 0"
        );
        assert_eq!(host.drive.as_ref().unwrap().name, "sda");
        for id in ["iostats", "readahead", "device_counters"] {
            assert_eq!(find_severity(&host, id), Some(Level::Warning), "{id}");
        }
    }

    #[test]
    fn a_switch_that_decides_nothing_is_no_warning() {
        let off = [("queue/iostats", "0\n")];
        assert_eq!(find_severity(&disk("zram0", &off), "iostats"), None);
        assert_eq!(find_severity(&disk("dm-0", &off), "iostats"), None);
        let on = [("queue/iostats", "1\n")];
        assert_eq!(find_severity(&disk("sda", &on), "iostats"), Some(Level::Ok));
    }
}
