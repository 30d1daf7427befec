//! A filesystem on a loop device over the caller's file: new, or existing.

use super::DIR;
use super::error::FreshError;
use super::filesystem::{self, Mounted};
use super::loops::{self, LoopDevice};
use crate::{Root, Unavailable};
use kvdyno_record::volume::FilesystemKind;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// The smallest size that drives write atomically: filesystems must not rely on more.
const SECTOR_BYTES: u32 = 512;

/// A mounted filesystem. Dropping it unmounts it.
#[derive(Debug)]
pub struct Looped {
    // Dropped in this order: a device that is still mounted would stay.
    mounted: Mounted,
    device: LoopDevice,
    data: PathBuf,
}

impl Looped {
    /// Checks that this user could make one on this machine. Changes nothing.
    pub fn check(root: &Root, kind: FilesystemKind) -> Result<(), FreshError> {
        if !rustix::process::geteuid().is_root() {
            return Err(FreshError::NotRoot);
        }
        filesystem::find_tool(kind)?;
        let missing = |missing: Unavailable| io::Error::other(missing.to_string());
        loops::check(root).map_err(missing).map_err(FreshError::io("make a loop device"))
    }

    /// Makes a filesystem on the file, and mounts it on an empty directory, in this thread's mount
    /// namespace.
    pub fn make(
        kind: FilesystemKind,
        mkfs: &[String],
        file: &File,
        dir: &Path,
    ) -> Result<Self, FreshError> {
        let device = attach(file)?;
        filesystem::make(kind, mkfs, None, &device.path())?;
        let looped = Self::mount_device(device, kind, &[], dir)?;
        let making = format!("make {}", looped.data.display());
        fs::create_dir(&looped.data).map_err(FreshError::io(making))?;
        Ok(looped)
    }

    /// Mounts the filesystem in the file, with its journal replayed, for reading that need not
    /// survive a power loss. The same filesystem may be mounted several times, each from its own
    /// file.
    pub fn mount(kind: FilesystemKind, file: &File, dir: &Path) -> Result<Self, FreshError> {
        let options: &[&str] = match kind {
            FilesystemKind::Ext4 => &["barrier=0"],
            FilesystemKind::Xfs => &["nouuid"],
            FilesystemKind::Btrfs => &[],
        };
        Self::mount_device(attach(file)?, kind, options, dir)
    }

    fn mount_device(
        device: LoopDevice,
        kind: FilesystemKind,
        options: &[&str],
        dir: &Path,
    ) -> Result<Self, FreshError> {
        let options: Vec<String> = options.iter().map(|&option| option.to_owned()).collect();
        let mounted = Mounted::new(&device.path(), dir, kind, &options)?;
        Ok(Self { mounted, device, data: dir.join(DIR) })
    }

    /// The directory for a database.
    pub fn data(&self) -> &Path {
        &self.data
    }

    /// The loop device's kernel name.
    pub fn device(&self) -> String {
        self.device.name()
    }

    /// Removes the filesystem; an error: it is still in use.
    pub fn remove(self) -> Result<(), FreshError> {
        self.mounted.unmount()
    }
}

fn attach(file: &File) -> Result<LoopDevice, FreshError> {
    LoopDevice::attach_with(file, SECTOR_BYTES).map_err(FreshError::io("make a loop device"))
}
