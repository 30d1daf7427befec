//! Which bytes of a file are really on the volume. Holes, and extents that were allocated and never
//! written, are answered by the file system alone: reads of them are false millions.
#![expect(unsafe_code, reason = "FIEMAP is an ioctl that no crate wraps")]

use kvdyno_engine::{Error, Result};
use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;
use std::fs::File;
use std::os::fd::AsRawFd;

/// linux/fs.h and linux/fiemap.h.
const FS_IOC_FIEMAP: libc::c_ulong = 0xc020_660b;
const FIEMAP_FLAG_SYNC: u32 = 0x1;
const FIEMAP_EXTENT_LAST: u32 = 0x1;
const FIEMAP_EXTENT_UNKNOWN: u32 = 0x2;
const FIEMAP_EXTENT_DELALLOC: u32 = 0x4;
const FIEMAP_EXTENT_UNWRITTEN: u32 = 0x800;

/// Extents asked for in one call.
const EXTENTS: usize = 256;

#[derive(Clone, Copy, Default)]
#[repr(C)]
struct Extent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved64: [u64; 2],
    flags: u32,
    reserved: [u32; 3],
}

#[repr(C)]
struct Fiemap {
    start: u64,
    length: u64,
    flags: u32,
    mapped_extents: u32,
    extent_count: u32,
    reserved: u32,
    extents: [Extent; EXTENTS],
}

/// What the file system says of the first bytes of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Proof {
    /// All are written; in these words.
    Whole(String),
    /// A byte that is not, and why.
    NotWritten { at: u64, why: &'static str },
    /// It does not say; in these words.
    Unknown(String),
}

/// Proves that the first `bytes` of a file are written.
pub(crate) fn prove(file: &File, bytes: u64) -> Result<Proof> {
    match by_fiemap(file, bytes) {
        Ok(proof) => Ok(proof),
        Err(Errno::OPNOTSUPP | Errno::NOTTY | Errno::INVAL) => Ok(by_seeking(file, bytes)),
        Err(error) => Err(Error::from(std::io::Error::from(error)).context("FIEMAP")),
    }
}

fn by_fiemap(file: &File, bytes: u64) -> Result<Proof, Errno> {
    let (mut at, mut extents) = (0, 0_u64);
    while at < bytes {
        let map = fiemap(file, at, bytes - at)?;
        let found = &map.extents[..(map.mapped_extents as usize).min(EXTENTS)];
        for extent in found {
            if extent.logical > at {
                break;
            }
            let unwritten =
                FIEMAP_EXTENT_UNWRITTEN | FIEMAP_EXTENT_DELALLOC | FIEMAP_EXTENT_UNKNOWN;
            if extent.flags & unwritten != 0 {
                let why = "allocated and not written";
                return Ok(Proof::NotWritten { at, why });
            }
            at = at.max(extent.logical + extent.length);
            extents += 1;
        }
        let ended = found.last().is_none_or(|last| last.flags & FIEMAP_EXTENT_LAST != 0);
        let hole = found.first().is_none_or(|first| first.logical > at);
        if at < bytes && (ended || hole) {
            return Ok(Proof::NotWritten { at, why: "a hole" });
        }
    }
    Ok(Proof::Whole(format!("FIEMAP: {extents} extents, all written")))
}

fn fiemap(file: &File, start: u64, length: u64) -> Result<Box<Fiemap>, Errno> {
    let mut map = Box::new(Fiemap {
        start,
        length,
        flags: FIEMAP_FLAG_SYNC,
        mapped_extents: 0,
        extent_count: EXTENTS as u32,
        reserved: 0,
        extents: [Extent::default(); EXTENTS],
    });
    // SAFETY: the structure is as linux/fiemap.h has it, with room for as many extents as it says.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), FS_IOC_FIEMAP, &raw mut *map) };
    if result == 0 {
        return Ok(map);
    }
    let number = std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO);
    Err(Errno::from_raw_os_error(number))
}

/// Tells holes, and not what was allocated and never written.
fn by_seeking(file: &File, bytes: u64) -> Proof {
    match seek(file, SeekFrom::Hole(0)) {
        Ok(at) if at < bytes => Proof::NotWritten { at, why: "a hole" },
        Ok(_) => Proof::Unknown(
            "no FIEMAP here: no holes (SEEK_HOLE), but blocks that were allocated and never \
             written would not show"
                .to_owned(),
        ),
        Err(_) => Proof::Unknown("neither FIEMAP nor SEEK_HOLE here".to_owned()),
    }
}
