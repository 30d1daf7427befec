//! A block device that the user gave up, and that was looked at and taken for the run before
//! (`host/raw.rs`): discarded where that is asked for, and given back without anything of ours that
//! would be taken for somebody's data.

use super::{FreshError, ioctl};
use std::fs::{File, OpenOptions};
use std::io::{Seek as _, SeekFrom};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

/// Where a filesystem or an engine says what it is: at the beginning; the second, at 64 KiB, is
/// btrfs's.
const SIGNATURES_BYTES: u64 = 1 << 20;

/// The device.
#[derive(Debug)]
pub(super) struct Given {
    pub(super) path: PathBuf,
    file: File,
    bytes: u64,
    left: bool,
}

impl Given {
    /// Opens it, and takes off what is left of a run of ours that was killed: the next engine would
    /// find its database.
    pub(super) fn open(path: &Path) -> Result<Self, FreshError> {
        let opening = FreshError::io(format!("open {}", path.display()));
        let mut file = OpenOptions::new().read(true).write(true).open(path).map_err(opening)?;
        let measuring = FreshError::io(format!("find the size of {}", path.display()));
        let bytes = file.seek(SeekFrom::End(0)).map_err(measuring)?;
        let given = Self { path: path.to_owned(), file, bytes, left: false };
        given.blank()?;
        Ok(given)
    }

    /// Tells the drive that nothing on it is needed any more.
    pub(super) fn discard(&self) -> Result<(), FreshError> {
        ioctl::discard(&self.file, self.bytes)
            .map_err(FreshError::io(format!("discard {}", self.path.display())))
    }

    /// Gives it back: the next run, and anybody else, finds a device with nothing on it, as we did.
    pub(super) fn leave_blank(mut self) -> Result<(), FreshError> {
        self.left = true;
        self.blank()
    }

    fn blank(&self) -> Result<(), FreshError> {
        let zeros = vec![0; SIGNATURES_BYTES.min(self.bytes) as usize];
        let blank = self.file.write_all_at(&zeros, 0).and_then(|()| self.file.sync_all());
        blank.map_err(FreshError::io(format!("take what was made off {}", self.path.display())))
    }
}

impl Drop for Given {
    /// What could not be made, or mounted, is taken off as well.
    fn drop(&mut self) {
        if !self.left {
            let _ = self.blank();
        }
    }
}
