//! A block device that the user gave to the run, already checked and claimed (`host/raw.rs`):
//! discarded on request, and returned without contents that look like somebody's data.

use super::error::FreshError;
use super::ioctl;
use crate::raw;
use std::fs::File;
use std::io::{Seek as _, SeekFrom};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

/// The bytes at the beginning of a device that may hold signatures; btrfs's is at 64 KiB.
const SIGNATURES_BYTES: u64 = 1 << 20;

/// The device. It is open only while it is written here, and then exclusively, so a device in use
/// is not touched.
#[derive(Debug)]
pub(super) struct GivenDevice {
    pub(super) path: PathBuf,
    is_left: bool,
}

impl GivenDevice {
    /// Blanks the device: otherwise the next engine would find the database of a killed run. If
    /// `discard` is set, the whole device is discarded as well.
    pub(super) fn acquire(path: &Path, discard: bool) -> Result<Self, FreshError> {
        let opening = FreshError::io(format!("open {}", path.display()));
        let mut file = raw::open_to_write(path).map_err(opening)?;
        blank(path, &mut file)?;
        if discard {
            let discarding = FreshError::io(format!("discard {}", path.display()));
            let bytes = file.seek(SeekFrom::End(0));
            bytes.and_then(|bytes| ioctl::discard(&file, bytes)).map_err(discarding)?;
        }
        Ok(Self { path: path.to_owned(), is_left: false })
    }

    /// Blanks and releases the device: it is empty, as it was before.
    pub(super) fn leave_blank(mut self) -> Result<(), FreshError> {
        self.is_left = true;
        self.blank()
    }

    fn blank(&self) -> Result<(), FreshError> {
        let opening = FreshError::io(format!("open {}", self.path.display()));
        blank(&self.path, &mut raw::open_to_write(&self.path).map_err(opening)?)
    }
}

impl Drop for GivenDevice {
    /// Blanks the device, so that a failed filesystem is removed as well.
    fn drop(&mut self) {
        if !self.is_left {
            let _ = self.blank();
        }
    }
}

fn blank(path: &Path, file: &mut File) -> Result<(), FreshError> {
    let bytes = file.seek(SeekFrom::End(0));
    let blank = bytes.and_then(|bytes| {
        let zeros = vec![0; SIGNATURES_BYTES.min(bytes) as usize];
        file.write_all_at(&zeros, 0)?;
        file.sync_all()
    });
    blank.map_err(FreshError::io(format!("take what was made off {}", path.display())))
}
