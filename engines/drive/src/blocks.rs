//! The file or device whose blocks are the records: how it is made, the conditions to open it, and
//! the proof that all of it was written.

use crate::describe::DriveOptions;
use crate::extents::{Proof, prove};
use kvdyno_engine::{Error, Location, Result};
use rustix::fs::{AtFlags, FallocateFlags, OFlags, StatxFlags, fallocate, ioctl_blksszget, statx};
use rustix::io::Errno;
use std::fs::{File, OpenOptions};
use std::io::{self, Seek};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The file in a directory.
const FILE: &str = "drive";

/// The default alignment of offsets and lengths.
const ALIGNMENT: u32 = 4096;

/// An open file or device with at least as many bytes as the plan has.
#[derive(Debug)]
pub(crate) struct Blocks {
    pub(crate) file: File,
    path: PathBuf,
    bytes: u64,
    /// Whether blocks of the file may not be written yet: this process is to load it.
    pub(crate) fresh: bool,
}

impl Blocks {
    /// Opens `location`; in a directory without the file, makes it, with room for `bytes`.
    pub(crate) fn open(
        location: &Location,
        bytes: u64,
        drive_options: DriveOptions,
    ) -> Result<Self> {
        let path = location.blocks(FILE)?;
        let in_directory = matches!(location, Location::Directory(_));
        if in_directory && !path.exists() {
            if drive_options.read_only {
                let what = format!("{} does not exist: load it first", path.display());
                return Err(Error::invalid(what));
            }
            return Self::create(path, bytes, drive_options.direct);
        }
        let mut blocks = Self::open_existing(path, bytes, drive_options)?;
        if in_directory {
            blocks.demand_whole()?;
        } else {
            // A file used like a device may be loaded in place.
            let unwritten = matches!(blocks.proof()?, Proof::NotWritten { .. });
            blocks.fresh = unwritten && !drive_options.read_only;
        }
        Ok(blocks)
    }

    fn open_existing(path: PathBuf, bytes: u64, drive_options: DriveOptions) -> Result<Self> {
        let device = std::fs::metadata(&path)?.file_type().is_block_device();
        let how = match (drive_options.read_only, device) {
            (true, _) => OFlags::RDONLY,
            (false, true) => OFlags::RDWR | OFlags::EXCL,
            (false, false) => OFlags::RDWR,
        };
        let mut file = open_file(&path, drive_options.direct, how)?;
        let length = file.seek(io::SeekFrom::End(0))?;
        if length < bytes {
            return Err(Error::invalid(format!(
                "{}: expected at least {bytes} bytes, found {length}; plan for at most {length} \
                 bytes, or load again into an empty directory",
                path.display()
            )));
        }
        Ok(Self { file, path, bytes, fresh: false })
    }

    /// Creates the file with all of its room. A volume that is too small ends the run here, and the
    /// file lies in few pieces. The room is not written by that, which the proof shows.
    fn create(path: PathBuf, bytes: u64, direct: bool) -> Result<Self> {
        let file = open_file(&path, direct, OFlags::RDWR | OFlags::CREATE)?;
        let room = match fallocate(&file, FallocateFlags::empty(), 0, bytes) {
            Err(Errno::OPNOTSUPP) => file.set_len(bytes),
            room => room.map_err(io::Error::from),
        };
        if let Err(error) = room {
            // This call has just created the file.
            let _ = std::fs::remove_file(&path);
            let what = format!("making room for {bytes} bytes in {}", path.display());
            return Err(Error::from(error).context(&what));
        }
        Ok(Self { file, path, bytes, fresh: true })
    }

    /// Returns the file system's report on the blocks of the plan.
    pub(crate) fn proof(&self) -> Result<Proof> {
        if self.file.metadata()?.file_type().is_block_device() {
            let what = "a block device does not report which blocks were ever written";
            return Ok(Proof::Unknown(what.to_owned()));
        }
        prove(&self.file, self.bytes)
    }

    /// Fails if a block was not written; else returns how that is known.
    pub(crate) fn demand_whole(&self) -> Result<String> {
        match self.proof()? {
            Proof::Whole(how) | Proof::Unknown(how) => Ok(how),
            Proof::NotWritten { at, why } => Err(Error::invalid(format!(
                "{} is not written in full: {why} at byte {at} of {}; reads of it would never \
                     reach the drive; load all of it first, into an empty directory",
                self.path.display(),
                self.bytes
            ))),
        }
    }
}

/// Opens a file or device, and retries for half a second while it is busy: the kernel releases a
/// ring's files shortly after the ring is closed or its process is killed.
pub fn open_when_free(options: &OpenOptions, path: &Path) -> io::Result<File> {
    const ATTEMPTS: u32 = 20;
    let busy = |error: &io::Error| error.kind() == io::ErrorKind::ResourceBusy;
    for _ in 1..ATTEMPTS {
        match options.open(path) {
            Err(error) if busy(&error) => std::thread::sleep(Duration::from_millis(25)),
            opened => return opened,
        }
    }
    options.open(path)
}

/// Opens a file for reading, with `RDWR` also for writing. `CREATE` creates it, and fails if it
/// exists.
fn open_file(path: &Path, direct: bool, flags: OFlags) -> Result<File> {
    let mut options = File::options();
    options.read(true).write(flags.contains(OFlags::RDWR));
    options.create_new(flags.contains(OFlags::CREATE));
    let flags = if direct { flags | OFlags::DIRECT } else { flags };
    options.custom_flags(flags.difference(OFlags::CREATE | OFlags::RDWR).bits() as i32);
    open_when_free(&options, path).map_err(|error| {
        let hint = match error.kind() {
            io::ErrorKind::ResourceBusy => ": it is mounted or in use",
            io::ErrorKind::InvalidInput => {
                ": this file system has no O_DIRECT; direct = false uses the page cache"
            }
            _ => "",
        };
        let class = Error::from(io::Error::from(error.kind())).class;
        Error::new(class, format!("opening {}: {error}{hint}", path.display()))
    })
}

/// Returns the alignment of offsets and lengths of direct I/O in bytes: `STATX_DIOALIGN`, else the
/// device's logical block, else 4096. Zero: the file does not support it.
pub fn alignment(file: &File) -> u32 {
    let stat = statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN).ok();
    let stat = stat.filter(|stat| stat.stx_mask & StatxFlags::DIOALIGN.bits() != 0);
    let block = || ioctl_blksszget(file).unwrap_or(ALIGNMENT);
    stat.map_or_else(block, |stat| stat.stx_dio_offset_align)
}
