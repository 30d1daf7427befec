//! The file or device whose blocks are the records: how it is made, what it must be to be opened,
//! and whether all of it was written.

use crate::extents::{Proof, prove};
use kvdyno_engine::{Error, ErrorClass, Place, Result};
use rustix::fs::{AtFlags, FallocateFlags, OFlags, StatxFlags, fallocate, ioctl_blksszget, statx};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Seek};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The file in a directory.
const FILE: &str = "drive";

/// What offsets and lengths must be multiples of where nobody says.
const ALIGNMENT: u32 = 4096;

/// How often a device that is busy is tried, and how long apart.
const BUSY_ATTEMPTS: u32 = 20;
const BUSY_PAUSE: Duration = Duration::from_millis(25);

/// An open file or device with at least as many bytes as the plan has.
#[derive(Debug)]
pub(crate) struct Blocks {
    pub(crate) file: File,
    path: PathBuf,
    bytes: u64,
    /// A file whose blocks may not be written yet: this process is to load it.
    pub(crate) fresh: bool,
}

impl Blocks {
    /// Opens `place`; in a directory without the file, makes it, with room for `bytes`.
    pub(crate) fn open(place: &Place, bytes: u64, direct: bool) -> Result<Self> {
        match place {
            Place::Directory(folder) => {
                let path = folder.join(FILE);
                if path.exists() {
                    let blocks = Self::existing(path, bytes, direct)?;
                    blocks.demand_whole()?;
                    return Ok(blocks);
                }
                Self::made(path, bytes, direct)
            }
            Place::Device(path) => {
                let mut blocks = Self::existing(path.clone(), bytes, direct)?;
                // A file that stands in for a device may be loaded in place.
                blocks.fresh = matches!(blocks.proof()?, Proof::NotWritten { .. });
                Ok(blocks)
            }
            Place::Server(_) => Err(Error::new(
                ErrorClass::Invalid,
                "a drive is a device, or a file in a directory",
            )),
        }
    }

    fn existing(path: PathBuf, bytes: u64, direct: bool) -> Result<Self> {
        let device = std::fs::metadata(&path)?.file_type().is_block_device();
        let alone = if device { OFlags::EXCL } else { OFlags::empty() };
        let mut file = opened(&path, direct, alone)?;
        let there = file.seek(io::SeekFrom::End(0))?;
        if there < bytes {
            let what = format!(
                "{} is shorter than the plan: {there} bytes, and the plan has {bytes}; plan for at \
                 most {there} bytes, or load again into an empty directory",
                path.display()
            );
            return Err(Error::new(ErrorClass::Invalid, what));
        }
        Ok(Self { file, path, bytes, fresh: false })
    }

    /// Room is taken at once, so that a volume that is too small ends the run here, and so that the
    /// file lies in few pieces. It is not written by that, which the proof shows.
    fn made(path: PathBuf, bytes: u64, direct: bool) -> Result<Self> {
        let file = opened(&path, direct, OFlags::CREATE)?;
        let room = match fallocate(&file, FallocateFlags::empty(), 0, bytes) {
            Err(Errno::OPNOTSUPP) => file.set_len(bytes),
            room => room.map_err(io::Error::from),
        };
        if let Err(error) = room {
            // The file is ours, and made a moment ago.
            let _ = std::fs::remove_file(&path);
            let what = format!("making room for {bytes} bytes in {}", path.display());
            return Err(Error::from(error).context(&what));
        }
        Ok(Self { file, path, bytes, fresh: true })
    }

    /// What the file system says of the blocks of the plan.
    pub(crate) fn proof(&self) -> Result<Proof> {
        if self.file.metadata()?.file_type().is_block_device() {
            let what = "a block device does not tell which blocks were ever written";
            return Ok(Proof::Unknown(what.to_owned()));
        }
        prove(&self.file, self.bytes)
    }

    /// Refuses where a block was not written; else how that is known.
    pub(crate) fn demand_whole(&self) -> Result<String> {
        match self.proof()? {
            Proof::Whole(how) | Proof::Unknown(how) => Ok(how),
            Proof::NotWritten { at, why } => {
                let what = format!(
                    "{} is not written in full: {why} at byte {at} of {}; reads of it would never \
                     reach the drive; load all of it first, into an empty directory",
                    self.path.display(),
                    self.bytes
                );
                Err(Error::new(ErrorClass::Invalid, what))
            }
        }
    }
}

/// Opens for reading and writing; `CREATE` only where there is nothing.
fn opened(path: &Path, direct: bool, flags: OFlags) -> Result<File> {
    let mut options = File::options();
    options.read(true).write(true).create_new(flags.contains(OFlags::CREATE));
    let flags = if direct { flags | OFlags::DIRECT } else { flags };
    options.custom_flags(flags.difference(OFlags::CREATE).bits() as i32);
    let busy = |error: &io::Error| error.kind() == io::ErrorKind::ResourceBusy;
    let mut attempts = 1;
    let mut file = options.open(path);
    // The kernel closes the rings of a process that was killed some time after it is gone.
    while file.as_ref().is_err_and(busy) && attempts < BUSY_ATTEMPTS {
        std::thread::sleep(BUSY_PAUSE);
        attempts += 1;
        file = options.open(path);
    }
    file.map_err(|error| {
        let hint = match error.kind() {
            io::ErrorKind::ResourceBusy => ": it is mounted, or part of something that is in use",
            io::ErrorKind::InvalidInput => {
                ": this file system has no O_DIRECT; option direct = false is the page cache's way"
            }
            _ => "",
        };
        let class = Error::from(io::Error::from(error.kind())).class;
        Error::new(class, format!("opening {}: {error}{hint}", path.display()))
    })
}

/// What offsets and lengths of operations past the page cache must be multiples of, in bytes:
/// `STATX_DIOALIGN`, else the device's logical block, else 4096. Zero: the file refuses them.
pub fn alignment(file: &File) -> u32 {
    let told = statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN).ok();
    let told = told.filter(|told| told.stx_mask & StatxFlags::DIOALIGN.bits() != 0);
    let block = || ioctl_blksszget(file).unwrap_or(ALIGNMENT);
    told.map_or_else(block, |told| told.stx_dio_offset_align)
}
