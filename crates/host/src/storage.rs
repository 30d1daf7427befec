//! The filesystem and the block device under a path.
//!
//! The device is found by `st_dev`, and by the mount's source where that number is anonymous
//! (btrfs). Filesystems in memory, in layers or over a network have no device that could be
//! metered.

use super::device::Device;
use super::mount::{self, Mount};
use super::raw;
use super::{Root, drive};
use kvdyno_record::host::{Drive, Filesystem};
use rustix::fs::{StatVfsMountFlags, major, minor, statvfs};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The kind of a bare device, which has no filesystem.
const RAW: &str = "raw";

/// The filesystem and the device under a path.
#[derive(Clone, Debug)]
pub struct Storage {
    /// The path or, if it does not exist, its nearest parent that does.
    pub directory: PathBuf,
    /// The mount it lies on.
    pub mount: Option<Mount>,
    /// The device whose I/O is the volume's, or the reason why there is none. It need not have
    /// counters.
    pub device: Result<Device, String>,
    /// The size of the volume.
    pub total_bytes: u64,
    /// The bytes free to this user.
    pub free_bytes: u64,
    /// The bytes in use: fewer than those that are not free, if some are reserved for root.
    pub used_bytes: u64,
    /// Whether the volume is mounted read-only.
    pub read_only: bool,
}

/// How suitable a filesystem is for measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilesystemClass {
    /// A device of this machine.
    Device,
    /// This machine's memory: no device is measured.
    Memory,
    /// Layers over another filesystem: files are copied up, the device is hidden.
    Layers,
    /// Another machine, or the host of this one.
    Network,
    /// Something in user space or unknown to us.
    Unknown,
}

impl FilesystemClass {
    /// Returns the class of a filesystem, by the kernel's name of it.
    pub fn from_kind(kind: &str) -> Self {
        match kind {
            "ext2" | "ext3" | "ext4" | "xfs" | "btrfs" | "f2fs" | "bcachefs" | "jfs" | RAW
            | "nilfs2" | "exfat" | "vfat" | "ntfs3" => Self::Device,
            "tmpfs" | "ramfs" | "hugetlbfs" | "devtmpfs" => Self::Memory,
            "overlay" | "aufs" | "unionfs" | "ecryptfs" => Self::Layers,
            "nfs" | "nfs4" | "cifs" | "smb3" | "9p" | "virtiofs" | "ceph" | "afs" | "lustre"
            | "gpfs" | "glusterfs" | "fuse.glusterfs" | "fuse.sshfs" | "gfs2" | "ocfs2" => {
                Self::Network
            }
            _ => Self::Unknown,
        }
    }
}

impl Storage {
    /// Examines a path, which need not exist.
    pub fn from_path(root: &Root, path: &Path) -> io::Result<Self> {
        let directory = nearest_existing(path)?;
        if let Some(number) = raw::number(&directory) {
            return Ok(Self::raw(root, directory, number));
        }
        let stat = fs::metadata(&directory)?;
        let number = (major(stat.dev()), minor(stat.dev()));
        let space = statvfs(&directory)?;
        let blocks = |count: u64| count.saturating_mul(space.f_frsize);
        let mount = mount::find_mount(root, &directory);
        let device = device(root, number, mount.as_ref());
        Ok(Self {
            directory,
            mount,
            device,
            total_bytes: blocks(space.f_blocks),
            free_bytes: blocks(space.f_bavail),
            used_bytes: blocks(space.f_blocks.saturating_sub(space.f_bfree)),
            read_only: space.f_flag.contains(StatVfsMountFlags::RDONLY),
        })
    }

    /// Describes a bare block device: all of it is free.
    fn raw(root: &Root, path: PathBuf, number: (u32, u32)) -> Self {
        let bytes = raw::bytes(root, &path);
        let (point, kind) = (path.clone(), RAW.to_owned());
        let source = path.display().to_string();
        let mount = Mount { device: number, point, kind, source, ..Mount::default() };
        Self {
            device: device(root, number, Some(&mount)),
            mount: Some(mount),
            directory: path,
            total_bytes: bytes,
            free_bytes: bytes,
            used_bytes: 0,
            read_only: false,
        }
    }

    /// Returns the kind, such as `ext4` or `tmpfs`; `unknown`: mountinfo cannot be read.
    pub fn kind(&self) -> &str {
        self.mount.as_ref().map_or("unknown", |mount| &mount.kind)
    }

    /// How suitable the filesystem is.
    pub fn class(&self) -> FilesystemClass {
        FilesystemClass::from_kind(self.kind())
    }

    /// Fails with a reason if the kernel counts no I/O of the volume.
    pub fn check_counters(&self, root: &Root) -> Result<(), String> {
        self.device.as_ref().map_err(Clone::clone)?.check_counters(root)
    }

    /// The device's properties, if there is one.
    pub fn drive(&self, root: &Root) -> Option<Drive> {
        self.device.as_ref().ok().map(|device| drive::read(root, device))
    }

    /// Returns the filesystem's properties, for the record.
    pub fn filesystem(&self) -> Filesystem {
        let mount = self.mount.as_ref();
        Filesystem {
            kind: self.kind().to_owned(),
            mount_point: mount.map_or(String::new(), |m| m.point.display().to_string()),
            options: mount.map_or(String::new(), Mount::all_options),
            source: mount.map_or(String::new(), |m| m.source.clone()),
            total_bytes: self.total_bytes,
            free_bytes: self.free_bytes,
        }
    }
}

/// Returns whether there is nothing at a path: not even what cannot be read, or a broken link.
pub fn is_missing(path: &Path) -> bool {
    path.symlink_metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

/// Returns the path without symbolic links, or its nearest parent that exists.
pub(super) fn nearest_existing(path: &Path) -> io::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    let mut existing = path.ancestors().filter_map(|ancestor| ancestor.canonicalize().ok());
    existing.next().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
}

fn device(root: &Root, number: (u32, u32), mount: Option<&Mount>) -> Result<Device, String> {
    if let Some(device) = Device::find(root, number) {
        return Ok(device);
    }
    let kind = mount.map_or("unknown", |mount| mount.kind.as_str());
    match FilesystemClass::from_kind(kind) {
        FilesystemClass::Memory => return Err(format!("{kind} is in memory: no device is used")),
        FilesystemClass::Layers => return Err(format!("{kind} hides its device")),
        FilesystemClass::Network => return Err(format!("{kind} is on another machine")),
        FilesystemClass::Device | FilesystemClass::Unknown => {}
    }
    let source = mount.map_or("", |mount| mount.source.as_str());
    let device_number = fs::metadata(root.path(source)).ok().filter(|_| source.starts_with('/'));
    let device_number =
        device_number.and_then(|stat| Device::find(root, (major(stat.rdev()), minor(stat.rdev()))));
    device_number.ok_or_else(|| format!("{kind} on `{source}`: unknown device"))
}

#[cfg(test)]
mod tests {
    use super::super::testing::Fake;
    use super::*;

    fn disk(fake: Fake) -> Fake {
        fake.file("/sys/devices/block/sda/stat", "1 0 8 5 2 0 16 7 0 9 12")
            .link("/sys/dev/block/8:0", "../../devices/block/sda")
            .link("/sys/block/sda", "../devices/block/sda")
    }

    fn mounted(kind: &str, source: &str) -> Mount {
        Mount::parse(&format!("40 27 0:50 / /data rw - {kind} {source} rw")).unwrap()
    }

    #[test]
    fn an_ordinary_filesystem_is_found_by_its_number() {
        let fake = disk(Fake::new());
        let mount = mounted("ext4", "/dev/root");
        assert_eq!(device(&fake.root, (8, 0), Some(&mount)).unwrap().name, "sda");
    }

    #[test]
    fn filesystems_without_a_device_say_so() {
        let fake = disk(Fake::new());
        let reason =
            |kind, source| device(&fake.root, (0, 50), Some(&mounted(kind, source))).unwrap_err();
        assert_eq!(reason("tmpfs", "tmpfs"), "tmpfs is in memory: no device is used");
        assert_eq!(reason("overlay", "overlay"), "overlay hides its device");
        assert_eq!(reason("nfs4", "server:/export"), "nfs4 is on another machine");
        assert_eq!(reason("zfs", "tank/db"), "zfs on `tank/db`: unknown device");
    }

    #[test]
    fn btrfs_is_found_by_its_mounts_source() {
        // The number of a real device node of this machine, whatever it is; without one the
        // fallback cannot be shown.
        let root = Root::system();
        let nodes = ["/dev/vda", "/dev/sda", "/dev/nvme0n1"];
        let Some(node) = nodes.into_iter().find(|node| Path::new(node).exists()) else { return };
        let device = device(&root, (0, 50), Some(&mounted("btrfs", node))).unwrap();
        assert_eq!(format!("/dev/{}", device.name), node);
    }

    #[test]
    fn a_path_that_is_not_there_yet_lies_on_its_parents_volume() {
        let dir = tempfile::tempdir().unwrap();
        let volume = Storage::from_path(&Root::system(), &dir.path().join("a/b/c")).unwrap();
        assert_eq!(volume.directory, dir.path().canonicalize().unwrap());
        assert!(volume.total_bytes >= volume.free_bytes && volume.total_bytes > 0);
        assert!(!volume.read_only);
        assert_eq!(volume.filesystem().kind, volume.kind());
    }
}
