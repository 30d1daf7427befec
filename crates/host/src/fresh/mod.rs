//! Volumes that exist for one load: a filesystem on a loop device or on a device that the user gave
//! to the run, or the bare device.
//!
//! However this process ends, the kernel removes all of it: the image has no name, the loop device
//! releases it at its close, and mounts are visible only to this process and its children
//! ([`namespace`]). Filesystems are created only on devices that were attached here to our image,
//! or that were checked and claimed for the run ([`Raw`](super::raw::Raw)).

mod arguments;
mod error;
mod filesystem;
mod given;
pub(super) mod image;
mod ioctl;
mod looped;
pub(super) mod loops;
pub mod namespace;
#[cfg(test)]
mod tests;

use super::{Root, Storage};
pub use error::FreshError;
use filesystem::Mounted;
use given::GivenDevice;
use kvdyno_record::engine::Location;
use kvdyno_record::volume::{Format, ImageRecord, Medium, VolumeRecord};
pub use looped::Looped;
use loops::LoopDevice;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The database's directory on a volume: a filesystem's root is not empty.
const DIR: &str = "data";

/// The directory of a copy, beside that of the database.
const COPY: &str = "copy";

/// A volume that was created here. Dropping it removes it.
#[derive(Debug)]
pub struct Fresh {
    // Dropped in this order: a device that is still mounted would stay.
    mounted: Option<Mounted>,
    device: BlockDevice,
    location: Location,
    record: VolumeRecord,
}

/// A volume to be made.
#[derive(Clone, Copy, Debug)]
pub struct VolumeSpec<'a> {
    /// The suite's name of it.
    pub name: &'a str,
    /// The contents of its device.
    pub format: &'a Format,
    /// An empty directory to mount it on.
    pub dir: &'a Path,
}

/// The device below a volume.
#[derive(Debug)]
enum BlockDevice {
    Loop(LoopDevice),
    Given(GivenDevice),
}

impl BlockDevice {
    fn path(&self) -> PathBuf {
        match self {
            Self::Loop(device) => device.path(),
            Self::Given(whole) => whole.path.clone(),
        }
    }
}

/// Checks that this user could make such a volume on this machine. Changes nothing.
pub fn check(medium: &Medium) -> Result<(), FreshError> {
    let format = match medium {
        Medium::Directory { .. } => return Ok(()),
        Medium::Loop { format, .. } | Medium::Device { format, .. } => format,
    };
    arguments::check(format)?;
    if !rustix::process::geteuid().is_root() {
        return Err(FreshError::NotRoot);
    }
    match format {
        Format::Raw => Ok(()),
        Format::Filesystem { filesystem, .. } => filesystem::find_tool(*filesystem).map(drop),
    }
}

impl Fresh {
    /// Makes a volume on a loop device. The image lies on the directory's filesystem, and the
    /// volume is mounted on the directory, in this thread's mount namespace: call
    /// [`namespace::enter`] before.
    pub fn make_on_loop(root: &Root, spec: VolumeSpec<'_>, bytes: u64) -> Result<Self, FreshError> {
        let VolumeSpec { name, dir, .. } = spec;
        let storage =
            describe_storage(root, dir).map_err(FreshError::io("look at the data directory"))?;
        let making = format!("set {bytes} bytes aside in {}", dir.display());
        let image = image::make(dir, bytes).map_err(FreshError::io(making))?;
        let device = LoopDevice::attach(&image).map_err(FreshError::io("make a loop device"))?;
        let image = ImageRecord { bytes, direct_io: device.direct_io, storage };
        let record = VolumeRecord {
            name: name.to_owned(),
            device: Some(device.name()),
            image: Some(image),
            ..VolumeRecord::default()
        };
        let location = Location::Device(device.path());
        let fresh = Self { mounted: None, device: BlockDevice::Loop(device), location, record };
        fresh.format(root, spec, None)
    }

    /// Makes a volume on a block device that was taken for this run
    /// ([`super::raw::Raw::acquire`]) and whose data may be lost.
    pub fn make_on_device(
        root: &Root,
        spec: VolumeSpec<'_>,
        device: &Path,
        discard: bool,
        label: &str,
    ) -> Result<Self, FreshError> {
        let name = spec.name;
        let acquired = GivenDevice::acquire(device, discard)?;
        let mut record = VolumeRecord { name: name.to_owned(), ..VolumeRecord::default() };
        let storage =
            Storage::from_path(root, device).map_err(FreshError::io("look at the device"))?;
        record.device = storage.device.ok().map(|device| device.name);
        if discard {
            record.commands.push(format!("blkdiscard {}", device.display()));
        }
        let location = Location::Device(device.to_owned());
        let fresh = Self { mounted: None, device: BlockDevice::Given(acquired), location, record };
        fresh.format(root, spec, Some(label))
    }

    /// Creates the device's contents.
    fn format(
        mut self,
        root: &Root,
        spec: VolumeSpec<'_>,
        label: Option<&str>,
    ) -> Result<Self, FreshError> {
        let VolumeSpec { format, dir, .. } = spec;
        arguments::check(format)?;
        let device = self.device.path();
        let storage =
            Storage::from_path(root, &device).map_err(FreshError::io("look at the device"))?;
        self.record.drive = storage.drive(root);
        let Format::Filesystem { filesystem, mkfs, mount } = format else { return Ok(self) };
        let command = filesystem::make(*filesystem, mkfs, label, &device)?;
        let mounted = Mounted::new(&device, dir, *filesystem, mount)?;
        self.mounted = Some(mounted);
        let data = dir.join(DIR);
        let making = format!("make {}", data.display());
        fs::create_dir(&data).map_err(FreshError::io(making))?;
        let storage =
            Storage::from_path(root, &data).map_err(FreshError::io("look at the volume"))?;
        self.record.commands.push(command);
        self.record.filesystem = Some(storage.filesystem());
        self.location = Location::Directory(data);
        Ok(self)
    }

    /// The location of the database.
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// The directory for a copy of the database, which need not exist; none on a bare device.
    pub fn copy(&self) -> Option<PathBuf> {
        match &self.location {
            Location::Directory(data) => Some(data.with_file_name(COPY)),
            Location::Device(_) | Location::Server(_) => None,
        }
    }

    /// The volume, for the record.
    pub fn record(&self) -> &VolumeRecord {
        &self.record
    }

    /// Removes the volume; an error: it is still in use, or could not be removed.
    pub fn remove(mut self) -> Result<(), FreshError> {
        self.mounted.take().map_or(Ok(()), Mounted::unmount)?;
        match self.device {
            BlockDevice::Loop(_) => Ok(()),
            BlockDevice::Given(device) => device.leave_blank(),
        }
    }
}

/// Returns a directory's filesystem and device, such as `ext4 on vda`.
pub(super) fn describe_storage(root: &Root, dir: &Path) -> io::Result<String> {
    let volume = Storage::from_path(root, dir)?;
    let device = match &volume.device {
        Ok(device) => device.name.as_str(),
        Err(reason) => reason,
    };
    Ok(format!("{} on {device}", volume.kind()))
}
