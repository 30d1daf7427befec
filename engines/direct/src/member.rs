//! One copy of a store: a file or a device, opened past the page cache for this process alone. It
//! handles headers; other modules handle the rest of the bytes.

use crate::aligned::Aligned;
use crate::format::{HEADERS, JOURNAL_AT, PAGE, is_zero};
use crate::header::Header;
use kvdyno_drive::open_when_free;
use kvdyno_engine::{Error, ErrorClass, Location, Result};
use rustix::fs::{FallocateFlags, OFlags, SeekFrom, fallocate, seek};
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The file of a store in its directory.
pub const FILE_NAME: &str = "direct.data";

/// An open copy.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) file: File,
    pub(crate) path: PathBuf,
    /// Whether the length cannot change: that of a device, or of a file that stands in for one.
    fixed: bool,
    /// Whether the filesystem's blocks are no smaller than a page.
    whole_pages: bool,
}

/// The state of a copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MemberState {
    /// A place without a store.
    Fresh,
    /// A copy in order. `true`: one of its header's two places is damaged.
    Ours(Header, bool),
    /// A copy that cannot be used, and why.
    Damaged(String),
}

impl Member {
    /// Opens the copy at a location, or creates an empty file.
    pub(crate) fn open(location: &Location, name: &str) -> Result<Self> {
        let (path, fixed) = (location.blocks(name)?, matches!(location, Location::Device(_)));
        let device = path.metadata().is_ok_and(|metadata| metadata.file_type().is_block_device());
        // O_EXCL on a block device fails while it is mounted or in use by another program.
        let exclusive = if device { OFlags::EXCL } else { OFlags::empty() };
        let mut options = File::options();
        options.read(true).write(true).create(!fixed);
        options.custom_flags((OFlags::DIRECT | exclusive).bits() as i32);
        let file = open_when_free(&options, &path).map_err(|error| open_error(&path, error))?;
        // The run that provides a device holds its lock, which udev respects.
        if !device && file.try_lock().is_err() {
            let what = format!("{} is in use by another process", path.display());
            return Err(Error::new(ErrorClass::Unavailable, what));
        }
        let whole_pages = file.metadata()?.blksize() >= PAGE as u64;
        Ok(Self { file, path, fixed, whole_pages })
    }

    /// Returns the copy's state.
    pub(crate) fn state(&self) -> Result<MemberState> {
        let bytes = self.bytes()?;
        if bytes < JOURNAL_AT && !self.fixed && self.is_blank(bytes)? {
            return Ok(MemberState::Fresh);
        }
        let headers = HEADERS.map(|offset| self.read_header(offset, bytes));
        let [first, second] = headers;
        let (first, second) = (first?, second?);
        let damaged = first.is_none() || second.is_none();
        let newest = match (first, second) {
            (Some(a), Some(b)) => Some(if b.generation > a.generation { b } else { a }),
            (a, b) => a.or(b),
        };
        match newest {
            Some(header) if header.epoch == 0 => Ok(MemberState::Fresh),
            Some(header) if bytes < header.geometry.file_bytes() => {
                let expected = header.geometry.file_bytes();
                Ok(MemberState::Damaged(format!("expected {expected} bytes, found {bytes}")))
            }
            Some(header) => Ok(MemberState::Ours(header, damaged)),
            None if self.fixed => self.blank_device(bytes),
            None => Ok(MemberState::Damaged("both of its headers are damaged".to_owned())),
        }
    }

    /// Returns the state of a device without a header: fresh if it is blank. Other contents are
    /// refused: they may be another program's data.
    fn blank_device(&self, bytes: u64) -> Result<MemberState> {
        if self.is_blank(bytes)? {
            return Ok(MemberState::Fresh);
        }
        Err(Error::invalid(format!(
            "{} contains data that is not a direct store; zero its first MiB to give it up",
            self.path.display()
        )))
    }

    /// Returns whether all bytes before the journal are zeros.
    fn is_blank(&self, bytes: u64) -> Result<bool> {
        let mut buffer = Aligned::new(bytes.min(JOURNAL_AT) as usize);
        self.read(&mut buffer, 0)?;
        Ok(is_zero(&buffer))
    }

    fn read_header(&self, offset: u64, bytes: u64) -> Result<Option<Header>> {
        if bytes < offset + PAGE as u64 {
            return Ok(None);
        }
        let mut page = Aligned::new(PAGE);
        // A page that cannot be read counts as damaged: the header has a second place.
        match self.read(&mut page, offset) {
            Ok(()) => Header::decode(&page),
            Err(_) => Ok(None),
        }
    }

    /// Writes the header to both of its places, one after the other: a power loss in the middle
    /// leaves the other one whole.
    pub(crate) fn write_header(&self, header: &Header) -> Result<()> {
        let mut page = Aligned::new(PAGE);
        page.copy_from_slice(&header.encode());
        for offset in HEADERS {
            self.write(&page, offset)?;
            self.sync()?;
        }
        Ok(())
    }

    /// Returns the length of the file or device.
    pub(crate) fn bytes(&self) -> Result<u64> {
        seek(&self.file, SeekFrom::End(0)).map_err(|error| self.io_error("length", error.into()))
    }

    /// Makes a file at least this long, without writing; refuses a device that is shorter.
    pub(crate) fn ensure_length(&self, bytes: u64) -> Result<()> {
        let length = self.bytes()?;
        if length >= bytes {
            return Ok(());
        }
        if self.fixed {
            let what = format!(
                "{} has {length} bytes, the records take {bytes}: fewer records, a smaller value, \
                 or a larger device",
                self.path.display()
            );
            return Err(Error::new(ErrorClass::Full, what));
        }
        self.file.set_len(bytes).map_err(|error| match error.kind() {
            io::ErrorKind::FileTooLarge => Error::invalid(format!(
                "{} cannot grow to {bytes} bytes on this filesystem (ext4: 16 TiB): use xfs, a \
                 device, a larger pack or fewer records",
                self.path.display()
            )),
            _ => self.io_error("set_len", error),
        })
    }

    /// Empties the part that the store will use, so that every block counts as never written.
    /// `header` has epoch zero: until the real header is written, the copy counts as missing.
    pub(crate) fn wipe(&self, header: &Header) -> Result<()> {
        let bytes = header.geometry.file_bytes();
        if !self.fixed {
            self.file.set_len(0).map_err(|error| self.io_error("set_len", error))?;
            self.write_header(header)?;
            return self.ensure_length(bytes);
        }
        self.ensure_length(bytes)?;
        self.write_header(header)?;
        let zero = |flags| {
            let flags = flags | FallocateFlags::KEEP_SIZE;
            fallocate(&self.file, flags, JOURNAL_AT, bytes - JOURNAL_AT)
        };
        zero(FallocateFlags::PUNCH_HOLE)
            .or_else(|_| zero(FallocateFlags::ZERO_RANGE))
            .map_err(|error| self.io_error("zero", error.into()))
    }

    /// Returns the next range at or after `from`, below `end`, that may hold data: files have
    /// holes, devices do not.
    pub(crate) fn next_data(&self, from: u64, end: u64) -> Result<Option<(u64, u64)>> {
        let whence = |to: Result<u64, rustix::io::Errno>| match to {
            Ok(offset) => Ok(Some(offset)),
            Err(rustix::io::Errno::NXIO) => Ok(None),
            Err(error) => Err(self.io_error("seek", error.into())),
        };
        if from >= end {
            return Ok(None);
        }
        let Ok(data) = whence(seek(&self.file, SeekFrom::Data(from))) else {
            return Ok(Some((from, end)));
        };
        let Some(data) = data.filter(|&data| data < end) else { return Ok(None) };
        let hole = whence(seek(&self.file, SeekFrom::Hole(data)))?.unwrap_or(end);
        Ok(Some((data, hole.min(end))))
    }

    pub(crate) fn read(&self, buffer: &mut [u8], offset: u64) -> Result<()> {
        self.file.read_exact_at(buffer, offset).map_err(|error| self.io_error("read", error))
    }

    pub(crate) fn write(&self, bytes: &[u8], offset: u64) -> Result<()> {
        self.file.write_all_at(bytes, offset).map_err(|error| self.io_error("write", error))
    }

    /// Allocates a range, so that a full filesystem cannot cut a write to it short. Existing data
    /// stays; a device needs no allocation. With `pages` it does so even for a single page, which a
    /// filesystem writes as a whole or not at all.
    pub(crate) fn make_room(&self, offset: u64, bytes: u64, pages: bool) -> Result<()> {
        use rustix::io::Errno;
        let has_room =
            || seek(&self.file, SeekFrom::Hole(offset)).is_ok_and(|hole| hole >= offset + bytes);
        let whole = !pages && self.whole_pages && bytes <= PAGE as u64;
        if self.fixed || whole || has_room() {
            return Ok(());
        }
        match fallocate(&self.file, FallocateFlags::KEEP_SIZE, offset, bytes) {
            // A filesystem without this call: its writes may be cut short.
            Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
            Err(error) => Err(self.io_error("fallocate", error.into())),
        }
    }

    pub(crate) fn sync(&self) -> Result<()> {
        self.file.sync_data().map_err(|error| self.io_error("fdatasync", error))
    }

    /// Makes the file's name durable, too.
    pub(crate) fn sync_name(&self) -> Result<()> {
        match self.path.parent() {
            Some(directory) if !self.fixed => {
                let opened = File::open(directory).and_then(|directory| directory.sync_all());
                opened.map_err(|error| self.io_error("sync of its directory", error))
            }
            _ => Ok(()),
        }
    }

    fn io_error(&self, what: &str, error: io::Error) -> Error {
        io_error(what, &self.path, error)
    }
}

impl Drop for Member {
    /// Releases the lock. It belongs to all duplicates of the file, including those of rings that
    /// are being torn down, so without this it would outlive the store.
    fn drop(&mut self) {
        drop(self.file.unlock());
    }
}

/// Returns the error of an open. Only a failing drive has class I/O. A missing name, missing rights
/// and a device in use are for the user to put right: no copy is given up for them.
fn open_error(path: &Path, error: io::Error) -> Error {
    use rustix::io::Errno;
    let drive = [Errno::IO, Errno::NXIO, Errno::NODEV]
        .iter()
        .any(|errno| error.raw_os_error() == Some(errno.raw_os_error()));
    let mut error = io_error("open", path, error);
    if error.class == ErrorClass::Io && !drive {
        error.class = ErrorClass::Invalid;
    }
    error
}

fn io_error(what: &str, path: &Path, error: io::Error) -> Error {
    Error::from(error).context(&format!("{what} of {}", path.display()))
}
