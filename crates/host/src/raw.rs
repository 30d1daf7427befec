//! A block device as a data directory: the conditions before anything is written to it.
//!
//! The device is named in full and twice, not in use, and carries nothing known to be of value.
//! Findings are reported with the remedy; nothing is wiped here.

pub mod label;
mod signature;

use super::Root;
use super::device::{Device, parse_number};
use super::mount;
use super::patience::retry;
use rustix::fs::{FlockOperation, OFlags, flock, major, minor};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek as _, SeekFrom};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long to wait for a short use of the device: by the kernel after its release, or by a tool
/// that reads it.
const PATIENCE: Duration = Duration::from_secs(2);

/// What the user allows to be done to a block device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Consent {
    /// It may be overwritten: the name that was typed a second time.
    Destroy(PathBuf),
    /// It may be read.
    Read,
    /// The user allowed nothing.
    None,
}

/// A block device that a run may have.
#[derive(Debug)]
pub struct Raw {
    /// The kernel's name of it, below `/dev`.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// The name as typed, with the path that it leads to.
    name: String,
    /// Whether it is only read.
    reading: bool,
    /// The label of filesystems that the run makes on it.
    own_run: Option<String>,
    /// The open device, locked as udev expects, so that nothing probes it meanwhile (systemd, Block
    /// Device Locking). It is not open exclusively: its worker does that.
    lock: Option<File>,
}

/// Why a block device is not touched, and what to do.
#[expect(missing_docs, reason = "the texts say what their fields are")]
#[derive(Debug, thiserror::Error)]
pub enum RawError {
    /// A relative path, or one that is not below `/dev`.
    #[error("{} is the block device {}: expected its full name {}",
        typed.display(), path.display(), path.display())]
    NotInFull { typed: PathBuf, path: PathBuf },
    /// A device node outside of `/dev`.
    #[error("{} is a device node outside /dev; expected a name that `lsblk -p` \
        lists", path.display())]
    NotBelowDev {
        /// The path as typed, with links followed.
        path: PathBuf,
    },
    /// The device was not named a second time.
    #[error("{name} is a block device: all its data would be lost; to allow that: \
        --destroy-data-on={}; `kvdyno drive --read-only` only reads it",
        typed.display())]
    NotConfirmed { name: String, typed: PathBuf },
    /// The second name is another one.
    #[error("--destroy-data-on={} differs from PATH, {}; both must be the same full name",
        confirmed.display(), typed.display())]
    ConfirmedAnother { confirmed: PathBuf, typed: PathBuf },
    /// The device is in use.
    #[error("{name} is in use: {by}; nothing was touched; {remedy}")]
    InUse {
        name: String,
        /// "`/dev/vda1` is mounted at /".
        by: String,
        /// The act that would free it.
        remedy: String,
    },
    /// The device carries a known signature.
    #[error("{name} contains {found}; nothing was changed; to erase it: wipefs -a {}",
        path.display())]
    Signed {
        name: String,
        /// The finding, and its offset.
        found: String,
        path: PathBuf,
    },
    /// The device is read-only.
    #[error("{name} is read-only; name another device, or make it writable: blockdev --setrw {}; \
        `kvdyno drive --read-only` reads it", path.display())]
    ReadOnly { name: String, path: PathBuf },
    /// The device cannot be opened, or read.
    #[error("failed to open {name}: {source}{}", if source.kind() == io::ErrorKind::PermissionDenied
        { "; its owner is root: sudo" } else { "" })]
    Io { name: String, source: io::Error },
}

/// Whether a path leads to a block device.
pub fn is_device(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|stat| stat.file_type().is_block_device())
}

/// The size of a block device; zero: unknown.
pub fn bytes(root: &Root, path: &Path) -> u64 {
    let Some(number) = number(path) else { return 0 };
    let sectors = root.number::<u64>(format!("{}/size", directory(number)));
    sectors.unwrap_or_default().saturating_mul(512)
}

/// Refuses a block device that cannot be written. The caller handles other files.
pub fn check_writable(root: &Root, path: &Path) -> Result<(), RawError> {
    if number(path).is_some_and(|number| is_read_only(root, number)) {
        return Err(RawError::ReadOnly { name: path.display().to_string(), path: path.to_owned() });
    }
    Ok(())
}

fn is_read_only(root: &Root, number: (u32, u32)) -> bool {
    root.number::<u8>(format!("{}/ro", directory(number))) == Some(1)
}

/// The number of a block device.
pub(super) fn number(path: &Path) -> Option<(u32, u32)> {
    let stat = fs::metadata(path).ok().filter(|stat| stat.file_type().is_block_device())?;
    Some((major(stat.rdev()), minor(stat.rdev())))
}

fn directory((major, minor): (u32, u32)) -> String {
    format!("/sys/dev/block/{major}:{minor}")
}

impl Raw {
    /// Checks a block device, and claims it. Nothing is written. A filesystem with the label
    /// `own_run` is accepted: the run left it when it was killed.
    pub fn acquire(
        root: &Root,
        typed: &Path,
        consent: &Consent,
        own_run: Option<&str>,
    ) -> Result<Self, RawError> {
        let name = typed.display().to_string();
        let path = typed.canonicalize().map_err(|source| RawError::Io { name, source })?;
        if !path.starts_with("/dev") {
            return Err(RawError::NotBelowDev { path });
        }
        let typed = typed.to_owned();
        if !typed.starts_with("/dev") || typed.components().any(|c| c.as_os_str() == "..") {
            return Err(RawError::NotInFull { typed, path });
        }
        let is =
            if path == typed { String::new() } else { format!(" (which is {})", path.display()) };
        let name = format!("{}{is}", typed.display());
        match consent {
            Consent::Destroy(confirmed) if *confirmed != typed => {
                return Err(RawError::ConfirmedAnother { confirmed: confirmed.clone(), typed });
            }
            Consent::None => return Err(RawError::NotConfirmed { name, typed }),
            Consent::Destroy(_) | Consent::Read => {}
        }
        let reading = *consent == Consent::Read;
        let own_run = own_run.map(str::to_owned);
        let mut raw = Self { path, bytes: 0, name, reading, own_run, lock: None };
        let number = raw.number()?;
        if !reading {
            if is_read_only(root, number) {
                return Err(RawError::ReadOnly { name: raw.name, path: raw.path });
            }
            raw.check_unused(root, number)?;
        }
        let file = if reading { File::open(&raw.path) } else { open_to_write(&raw.path) };
        let mut file = file.map_err(|error| raw.open_error(error))?;
        raw.bytes = file.seek(SeekFrom::End(0)).map_err(|error| raw.io(error))?;
        if !reading {
            raw.check_strangers(&file)?;
        }
        drop(file);
        raw.lock = Some(raw.lock()?);
        Ok(raw)
    }

    /// Checks the device again between two cases: nothing holds it exclusively then, and it may
    /// have come into use. Short marks are left to `blkid`: the run's blocks are noise, in which
    /// two given bytes are common.
    pub fn check(&self, root: &Root) -> Result<(), RawError> {
        if self.reading {
            return Ok(());
        }
        self.check_unused(root, self.number()?)?;
        // Only an exclusive open detects mounts in other namespaces.
        let options = File::options().read(true).clone();
        let file = open_exclusively(&self.path, options).map_err(|error| self.open_error(error))?;
        if self.own_run.is_some() {
            // Between two cases the device has none of our data, or our label.
            return self.check_strangers(&file);
        }
        let signature =
            signature::find_in_noise(&file, self.bytes).map_err(|error| self.io(error))?;
        self.check_unsigned(signature)
    }

    fn number(&self) -> Result<(u32, u32), RawError> {
        let gone = || self.io(io::Error::other("it is not a block device any more"));
        number(&self.path).ok_or_else(gone)
    }

    fn io(&self, source: io::Error) -> RawError {
        RawError::Io { name: self.name.clone(), source }
    }

    fn in_use_error(&self, by: impl Into<String>, remedy: impl Into<String>) -> RawError {
        RawError::InUse { name: self.name.clone(), by: by.into(), remedy: remedy.into() }
    }

    /// Returns the error of a device that could not be opened exclusively.
    fn open_error(&self, error: io::Error) -> RawError {
        if error.kind() != io::ErrorKind::ResourceBusy {
            return self.io(error);
        }
        // It is mounted in another namespace, part of a pool, or held by a program.
        let remedy =
            format!("`lsblk {0}` and `fuser -v {0}` may show its users", self.path.display());
        self.in_use_error("another program has it open exclusively", remedy)
    }

    /// Checks that nothing is on the device, except a filesystem with the run's own label.
    fn check_strangers(&self, file: &File) -> Result<(), RawError> {
        let label = label::find(file).map_err(|error| self.io(error))?;
        if label.is_some() && label == self.own_run {
            return Ok(());
        }
        let signature = signature::find(file, self.bytes).map_err(|error| self.io(error))?;
        self.check_unsigned(match label.filter(|label| label::is_ours(label)) {
            Some(label) => {
                let kind = signature.unwrap_or_else(|| "a filesystem".to_owned());
                Some(format!(
                    "{kind}, labelled {label}, of a killed run, which `kvdyno resume` continues"
                ))
            }
            None => signature,
        })
    }

    fn check_unsigned(&self, signature: Option<String>) -> Result<(), RawError> {
        match signature.or_else(|| signature::probe_with_blkid(&self.path)) {
            Some(kind) => {
                let (name, path) = (self.name.clone(), self.path.clone());
                Err(RawError::Signed { name, found: kind, path })
            }
            None => Ok(()),
        }
    }

    /// Checks that nothing uses the device, its partitions or its disk, and that nothing is built
    /// on them. Goes by number, so that names do not matter.
    fn check_unused(&self, root: &Root, number: (u32, u32)) -> Result<(), RawError> {
        let disk = root.path(directory(number)).join("../dev");
        let disk = fs::read_to_string(disk).ok().and_then(|text| parse_number(&text));
        let is_partition = root.path(directory(number)).join("partition").exists();
        let whole = disk.filter(|_| is_partition).into_iter();
        for number in std::iter::once(number).chain(partitions(root, number)).chain(whole) {
            let device = Device::find(root, number).map_or("?".to_owned(), |device| device.name);
            let node = Path::new("/dev").join(&device);
            if let Some(mount) = mount::all(root).into_iter().find(|mount| mount.device == number) {
                let point = mount.point.display();
                let by = format!("/dev/{device} is mounted at {point}");
                return Err(self.in_use_error(by, format!("if it is not needed: umount {point}")));
            }
            let mut areas = mount::swaps(root).into_keys();
            if areas.any(|area| area.canonicalize().unwrap_or(area) == node) {
                let remedy = format!("if it is not needed: swapoff /dev/{device}");
                return Err(self.in_use_error(format!("/dev/{device} is swap space"), remedy));
            }
            if let Some(holder) = root.names(format!("{}/holders", directory(number))).first() {
                let remedy = "take that apart first (dmsetup, vgchange -an, mdadm --stop)";
                return Err(
                    self.in_use_error(format!("{holder} is built on /dev/{device}"), remedy)
                );
            }
            let has_it = |other: &String| {
                let file = root.text(format!("/sys/block/{other}/loop/backing_file"));
                file.is_some_and(|file| Path::new(&file) == node)
            };
            if let Some(other) = root.names("/sys/block").into_iter().find(has_it) {
                let by = format!("/dev/{other} has /dev/{device} as its file");
                let remedy = format!("if it is not needed: losetup -d /dev/{other}");
                return Err(self.in_use_error(by, remedy));
            }
        }
        Ok(())
    }

    /// Takes the lock that udev respects. Other runs of this program take it as well.
    fn lock(&self) -> Result<File, RawError> {
        let file = File::open(&self.path).map_err(|error| self.io(error))?;
        let locked = flock(&file, FlockOperation::NonBlockingLockExclusive);
        let by = "another run, or a program that partitions it, has it locked";
        locked.map_err(|_| self.in_use_error(by, "wait for its end"))?;
        Ok(file)
    }
}

/// The partitions of a whole device.
fn partitions(root: &Root, number: (u32, u32)) -> Vec<(u32, u32)> {
    let directory = directory(number);
    let is_partition = |name: &String| root.text(format!("{directory}/{name}/partition")).is_some();
    let names = root.names(&directory).into_iter().filter(is_partition);
    names.filter_map(|name| parse_number(&root.text(format!("{directory}/{name}/dev"))?)).collect()
}

/// Opens a device for writing, exclusively: this fails if a filesystem, swap, a volume manager or a
/// program holds it, and prevents that meanwhile.
pub(super) fn open_to_write(path: &Path) -> io::Result<File> {
    open_exclusively(path, File::options().read(true).write(true).clone())
}

fn open_exclusively(path: &Path, mut options: OpenOptions) -> io::Result<File> {
    options.custom_flags(OFlags::EXCL.bits().cast_signed());
    let is_held = |error: &io::Error| error.kind() == io::ErrorKind::ResourceBusy;
    retry(PATIENCE, Duration::from_millis(10), is_held, || options.open(path))
}
