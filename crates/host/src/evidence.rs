//! Keeps the files that [`super::facts`] reads, verbatim, under their own paths: the directory is a
//! tree of copies for [`Root::from_directory`], also years later.
//!
//! It contains no environment variables, and no processes except ours.

use super::{Root, Storage, settings};
use std::fs;
use std::io;
use std::path::Path;

const FILES: [&str; 24] = [
    "/etc/os-release",
    "/proc/cgroups",
    "/proc/diskstats",
    "/proc/filesystems",
    "/proc/loadavg",
    "/proc/meminfo",
    "/proc/pressure/cpu",
    "/proc/pressure/io",
    "/proc/pressure/memory",
    "/proc/self/cgroup",
    "/proc/self/limits",
    "/proc/self/mountinfo",
    "/proc/self/status",
    "/proc/stat",
    "/proc/swaps",
    "/proc/sys/kernel/hostname",
    "/proc/sys/kernel/osrelease",
    "/proc/uptime",
    "/proc/version",
    "/proc/vmstat",
    "/sys/devices/system/clocksource/clocksource0/current_clocksource",
    "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
    "/sys/devices/system/cpu/online",
    "/sys/devices/system/node/online",
];

const DIRECTORIES: [&str; 2] = ["/sys/class/dmi/id", "/sys/devices/system/cpu/vulnerabilities"];

/// The endings of files with serial numbers and the like: they are not needed to judge a figure,
/// and not ours to publish.
const PRIVATE: [&str; 4] = ["serial", "uuid", "asset_tag", "modalias"];

/// Copies existing files into `dir`; files that this user may not read are left out.
pub fn save(root: &Root, volume: Option<&Storage>, dir: &Path) -> io::Result<()> {
    for path in FILES {
        copy(root, path, dir)?;
    }
    for path in settings::read(root).keys().filter(|path| path.starts_with('/')) {
        copy(root, path, dir)?;
    }
    for source in DIRECTORIES {
        copy_directory(root, source, dir)?;
    }
    copy_first_cpu(root, dir)?;
    if let Some(volume) = volume {
        copy_device(root, volume, dir)?;
    }
    Ok(())
}

fn copy_device(root: &Root, volume: &Storage, dir: &Path) -> io::Result<()> {
    let Ok(device) = &volume.device else { return Ok(()) };
    let disk = device.disk_directory();
    for file in ["stat", "size", "device/model"] {
        copy(root, &format!("{disk}/{file}"), dir)?;
    }
    copy_directory(root, &format!("{disk}/queue"), dir)?;
    if volume.kind() == "ext4" {
        copy(root, &format!("/proc/fs/ext4/{}/options", device.name), dir)?;
    }
    Ok(())
}

/// Copies the first processor's part of `/proc/cpuinfo`: all processors of a machine look alike,
/// and hundreds of them would be megabytes.
fn copy_first_cpu(root: &Root, dir: &Path) -> io::Result<()> {
    let Some(text) = root.text("/proc/cpuinfo") else { return Ok(()) };
    let first = text.split("\n\n").next().unwrap_or_default();
    put(dir, "/proc/cpuinfo", format!("{first}\n").as_bytes())
}

fn copy_directory(root: &Root, source: &str, dir: &Path) -> io::Result<()> {
    for name in root.names(source) {
        if !PRIVATE.iter().any(|private| name.ends_with(private)) {
            copy(root, &format!("{source}/{name}"), dir)?;
        }
    }
    Ok(())
}

fn copy(root: &Root, path: &str, dir: &Path) -> io::Result<()> {
    match fs::read(root.path(path)) {
        Ok(bytes) => put(dir, path, &bytes),
        Err(_) => Ok(()),
    }
}

fn put(dir: &Path, path: &str, bytes: &[u8]) -> io::Result<()> {
    let path = dir.join(path.trim_start_matches('/'));
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::write(path, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts;

    #[test]
    fn a_saved_host_can_be_read_again() {
        let dir = tempfile::tempdir().unwrap();
        let system = Root::system();
        let volume = Storage::from_path(&system, Path::new("/var/tmp")).unwrap();
        save(&system, Some(&volume), dir.path()).unwrap();
        let copies = Root::from_directory(dir.path(), system.pid());
        let (now, then) =
            (facts::read(&system, &volume.directory), facts::read(&copies, Path::new("/")));
        assert_eq!(now.kernel, then.kernel);
        assert_eq!(now.os, then.os);
        assert_eq!(now.machine.cpu_model, then.machine.cpu_model);
        assert_eq!(now.machine.memory_bytes, then.machine.memory_bytes);
        assert_eq!(now.machine.cpus, then.machine.cpus);
        let swappiness = "/proc/sys/vm/swappiness";
        assert_eq!(now.settings.get(swappiness), then.settings.get(swappiness));
        let copy = fs::read_to_string(copies.path("/proc/cpuinfo")).unwrap();
        assert_eq!(copy.matches("processor").count(), 1);
        assert!(!copies.path("/proc/self/environ").exists());
    }
}
