//! A block device that the user gave up, and that was looked at and taken for the run before
//! (`host/raw.rs`): discarded where that is asked for, and given back without our filesystem.

use super::{FreshError, ioctl};
use std::fs::{File, OpenOptions};
use std::io::{Seek as _, SeekFrom};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

/// Where a filesystem says what it is: at the beginning; the second, at 64 KiB, is btrfs's.
const SIGNATURES_BYTES: u64 = 1 << 20;

/// The device.
#[derive(Debug)]
pub(super) struct Given {
    pub(super) path: PathBuf,
    file: File,
    bytes: u64,
    /// A filesystem of ours comes onto it.
    formatted: bool,
}

impl Given {
    /// Opens it.
    pub(super) fn open(path: &Path, formatted: bool) -> Result<Self, FreshError> {
        let opening = FreshError::io(format!("open {}", path.display()));
        let mut file = OpenOptions::new().read(true).write(true).open(path).map_err(opening)?;
        let measuring = FreshError::io(format!("find the size of {}", path.display()));
        let bytes = file.seek(SeekFrom::End(0)).map_err(measuring)?;
        Ok(Self { path: path.to_owned(), file, bytes, formatted })
    }

    /// Tells the drive that nothing on it is needed any more.
    pub(super) fn discard(&self) -> Result<(), FreshError> {
        ioctl::discard(&self.file, self.bytes)
            .map_err(FreshError::io(format!("discard {}", self.path.display())))
    }

    /// Takes our filesystem's signature away: the next run, and anybody else, finds a device with
    /// nothing on it, as we did.
    pub(super) fn leave_blank(&self) -> Result<(), FreshError> {
        if !self.formatted {
            return Ok(());
        }
        let zeros = vec![0; SIGNATURES_BYTES.min(self.bytes) as usize];
        let blank = self.file.write_all_at(&zeros, 0).and_then(|()| self.file.sync_all());
        blank.map_err(FreshError::io(format!("take the filesystem off {}", self.path.display())))
    }
}
