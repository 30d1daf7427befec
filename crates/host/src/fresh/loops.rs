//! A loop device that releases its file by itself: the kernel removes it when it is closed for the
//! last time. So nothing is left of it however this process ends.

use super::ioctl;
use crate::Root;
use crate::unavailable::Unavailable;
use linux_raw_sys::loop_device;
use rustix::fs::{major, minor};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::PathBuf;

/// The device releases its file at the last close.
const AUTOCLEAR: u32 = loop_device::LO_FLAGS_AUTOCLEAR as u32;

/// The file is read and written past the page cache.
const DIRECT_IO: u32 = loop_device::LO_FLAGS_DIRECT_IO as u32;

const CONTROL: &str = "/dev/loop-control";

/// The size of the device's blocks, and of reads and writes in the file: that of drives.
const BLOCK_BYTES: u32 = 4096;

/// The number of attempts: other processes may take a free device first.
const ATTEMPTS: u32 = 64;

/// A loop device of ours. After a drop it disappears with its last user.
#[derive(Debug)]
pub(crate) struct LoopDevice {
    /// The open device: the kernel keeps the loop device as long as it is open, and no longer.
    _file: File,
    number: u32,
    /// Whether I/O bypasses the page cache, so that the kernel does not cache the file twice.
    pub(crate) direct_io: bool,
}

/// Fails if this kernel has no loop devices.
pub(crate) fn check(root: &Root) -> Result<(), Unavailable> {
    if root.path(CONTROL).exists() {
        return Ok(());
    }
    let reason = format!("this kernel has no loop devices here: there is no {CONTROL}");
    Err(Unavailable::new(reason, "modprobe loop"))
}

impl LoopDevice {
    /// Attaches a file to a free loop device.
    pub(crate) fn attach(image: &File) -> io::Result<Self> {
        Self::attach_with(image, BLOCK_BYTES)
    }

    /// Attaches a file to a free loop device with sectors of this size.
    pub(crate) fn attach_with(image: &File, sector_bytes: u32) -> io::Result<Self> {
        let control = open(CONTROL)?;
        for _ in 0..ATTEMPTS {
            let number = ioctl::free_loop(&control)?;
            let file = open(&loop_path(number))?;
            check_node(&file, number)?;
            match configure(&file, image, sector_bytes) {
                Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {}
                Err(error) => return Err(error),
                Ok(direct_io) => return Ok(Self { _file: file, number, direct_io }),
            }
        }
        Err(io::Error::other("others took every free loop device first"))
    }

    /// Returns the kernel's name of the device.
    pub(crate) fn name(&self) -> String {
        format!("loop{}", self.number)
    }

    /// Returns the device's node. It names this device while `self` exists: the kernel does not
    /// reuse an open device.
    pub(crate) fn path(&self) -> PathBuf {
        PathBuf::from(loop_path(self.number))
    }
}

/// Returns the path of the node that udev or devtmpfs makes.
fn loop_path(number: u32) -> String {
    format!("/dev/loop{number}")
}

fn open(path: &str) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).open(path).map_err(|error| {
        let hint = match error.kind() {
            io::ErrorKind::NotFound => "; the kernel has no loop devices here: modprobe loop",
            io::ErrorKind::PermissionDenied => "; loop devices need root",
            _ => "",
        };
        io::Error::new(error.kind(), format!("{path}: {error}{hint}"))
    })
}

/// Checks that the node is the device of its name, which `/dev` does not guarantee.
fn check_node(file: &File, number: u32) -> io::Result<()> {
    let stat = file.metadata()?;
    let number_of_node = format!("{}:{}", major(stat.rdev()), minor(stat.rdev()));
    let number_of_device = std::fs::read_to_string(format!("/sys/block/loop{number}/dev"))?;
    if stat.file_type().is_block_device() && number_of_device.trim() == number_of_node {
        return Ok(());
    }
    Err(io::Error::other(format!("/dev/loop{number} is something else")))
}

/// Attaches the file to the device, and reads back that it is this file. Returns whether I/O
/// bypasses the page cache, which a filesystem may refuse (tmpfs).
fn configure(device: &File, image: &File, sector_bytes: u32) -> io::Result<bool> {
    let put = |flags| ioctl::configure_loop(device, image.as_fd(), sector_bytes, flags);
    match put(AUTOCLEAR | DIRECT_IO) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => put(AUTOCLEAR)?,
        done => done?,
    }
    let info = ioctl::loop_status(device)?;
    let image = image.metadata()?;
    if info.lo_inode != image.ino() || info.lo_flags & AUTOCLEAR == 0 {
        return Err(io::Error::other("the loop device has another file than ours"));
    }
    Ok(info.lo_flags & DIRECT_IO != 0)
}
