//! Finds out which bytes of a file are really on the volume. The file system alone answers reads of
//! holes, and of extents that were allocated and never written: such reads give false figures in
//! the millions.

use fiemap::{Fiemap, FiemapExtentFlags, FiemapFlags};
use kvdyno_engine::{Error, Result};
use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;
use std::fs::File;
use std::io;

/// The file system's report on the first bytes of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Proof {
    /// All are written. The text names the evidence.
    Whole(String),
    /// A byte that is not written, and why.
    NotWritten { at: u64, why: &'static str },
    /// No report, with the reason.
    Unknown(String),
}

/// Proves that the first `bytes` of a file are written.
pub(crate) fn prove(file: &File, bytes: u64) -> Result<Proof> {
    prove_by_fiemap(file, bytes).or_else(|error| match Errno::from_io_error(&error) {
        Some(Errno::OPNOTSUPP | Errno::NOTTY | Errno::INVAL) => Ok(prove_by_seeking(file, bytes)),
        _ => Err(Error::from(error).context("FIEMAP")),
    })
}

fn prove_by_fiemap(file: &File, bytes: u64) -> io::Result<Proof> {
    let not_there =
        FiemapExtentFlags::UNWRITTEN | FiemapExtentFlags::DELALLOC | FiemapExtentFlags::UNKNOWN;
    let (mut offset, mut extents) = (0, 0_u64);
    let mut map = Fiemap::with_flags(file, FiemapFlags::SYNC);
    while offset < bytes {
        match map.next().transpose()? {
            Some(extent) if extent.fe_logical <= offset => {
                if extent.fe_flags.intersects(not_there) {
                    return Ok(Proof::NotWritten { at: offset, why: "allocated and not written" });
                }
                offset = offset.max(extent.fe_logical + extent.fe_length);
                extents += 1;
            }
            _ => return Ok(Proof::NotWritten { at: offset, why: "a hole" }),
        }
    }
    Ok(Proof::Whole(format!("FIEMAP: {extents} extents, all written")))
}

/// Reports holes, but not ranges that are allocated and unwritten.
fn prove_by_seeking(file: &File, bytes: u64) -> Proof {
    match seek(file, SeekFrom::Hole(0)) {
        Ok(offset) if offset < bytes => Proof::NotWritten { at: offset, why: "a hole" },
        Ok(_) => Proof::Unknown(
            "no FIEMAP here: no holes (SEEK_HOLE), but blocks that were allocated and never \
             written would not show"
                .to_owned(),
        ),
        Err(_) => Proof::Unknown("neither FIEMAP nor SEEK_HOLE here".to_owned()),
    }
}
