//! A raw block device for LMDB: claimed and checked before it is opened. LMDB itself overwrites a
//! mounted device without a warning, dies of SIGBUS when it maps past a device's end, writes
//! through a null pointer when it opens a blank device with `MDB_WRITEMAP`, and leaves a lock file
//! in `/dev`. This file prevents that. It never erases anything: the program decides whether a
//! device may be overwritten, and blanks it before each load.

use crate::library::{PAGE_HEADER_BYTES, ffi};
use crate::raw::{Env, Setup};
use kvdyno_engine::{Error, ErrorClass, Result};
use std::fs::{File, OpenOptions};
use std::io::{Seek as _, SeekFrom};
use std::os::unix::fs::{FileExt as _, FileTypeExt as _, OpenOptionsExt as _, symlink};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The page size in bytes. LMDB uses the system's, which is this on x86-64 and most others.
pub(crate) const PAGE: u64 = 4096;

/// LMDB rounds the map of a device up to a multiple of this (`VM_ALIGN` in mdb.c).
const MAP_STEP_BYTES: u64 = 2 << 20;

/// The bytes at a device's start that hold the signatures of filesystems, RAID and partition
/// tables.
const START_BYTES: u64 = 1 << 20;

/// A device that no other process can mount or claim while this exists.
pub(crate) struct Device {
    /// The device, opened with `O_EXCL`. On a block device this keeps out mounts, swap, RAID and
    /// other claims, but not LMDB, which opens it without that flag.
    _claim: File,
    path: PathBuf,
    bytes: u64,
    blank: bool,
}

impl Device {
    /// Claims the device, and refuses one with contents other than zeros or an LMDB database.
    pub(crate) fn claim(path: &Path) -> Result<Self> {
        let opened =
            OpenOptions::new().read(true).write(true).custom_flags(libc::O_EXCL).open(path);
        let mut claim = opened.map_err(|error| claim_error(path, &error))?;
        if !claim.metadata()?.file_type().is_block_device() {
            return Err(Error::invalid(format!(
                "{} is not a block device: LMDB takes a directory or a block device (a file can \
                 be made one with losetup)",
                path.display()
            )));
        }
        let bytes = claim.seek(SeekFrom::End(0))?;
        let blank = is_blank(path, &claim, bytes)?;
        Ok(Self { _claim: claim, path: path.canonicalize()?, bytes, blank })
    }

    /// The size of the map: `map_size`, or the whole device if that is 0. Refuses data that would
    /// not fit, before the load.
    pub(crate) fn map_bytes(&self, map_size: u64, needed: u64) -> Result<u64> {
        let room = self.bytes / MAP_STEP_BYTES * MAP_STEP_BYTES;
        let (bytes, whose) = match map_size {
            0 => (needed, "the data may take"),
            map_size => (map_size, "map_size asks for"),
        };
        let bytes = bytes.max(1).next_multiple_of(MAP_STEP_BYTES);
        if bytes > room {
            let what = format!(
                "{whose} {bytes} bytes, and {} has {room} (whole steps of {MAP_STEP_BYTES}, as \
                 LMDB maps a device): take a larger device or less data{}",
                self.path.display(),
                if map_size == 0 { ", or set map_size" } else { "" }
            );
            return Err(Error::new(ErrorClass::Full, what));
        }
        Ok(if map_size == 0 { room } else { bytes })
    }

    /// Opens the database on the device, or makes one on a blank device.
    pub(crate) fn open(&self, setup: Setup<'_>) -> Result<Env> {
        // LMDB makes its lock file beside the path it is given: here a link in a directory of our
        // own, not in /dev. An open environment needs neither, so both are removed when this
        // returns. A worker that is killed later leaves nothing; one that is killed in this
        // millisecond leaves an empty database's lock file in memory. Without a lock file
        // (MDB_NOLOCK) there would be no table of readers, and a writer would reuse pages that are
        // being read. Two processes with two lock files cannot meet here: the claim keeps the
        // second out.
        let dir = private_dir()?;
        let link = dir.path().join("device");
        symlink(&self.path, &link)?;
        if self.blank && setup.flags & ffi::MDB_WRITEMAP != 0 {
            // With the flag, LMDB would write the first meta pages into a map that is not there
            // yet.
            drop(Env::open(&link, Setup { flags: setup.flags & !ffi::MDB_WRITEMAP, ..setup })?);
        }
        let env = Env::open(&link, setup)?;
        // LMDB enlarges the map to the size in the meta page, which may be from a larger device.
        let mapped = env.info()?.me_mapsize as u64;
        if mapped > self.bytes {
            let what = format!(
                "the database on {} takes {mapped} bytes, the device has {}: it was cut off",
                self.path.display(),
                self.bytes
            );
            return Err(Error::new(ErrorClass::Corrupt, what));
        }
        Ok(env)
    }
}

#[cold]
fn claim_error(path: &Path, error: &std::io::Error) -> Error {
    let path = path.display();
    if error.raw_os_error() == Some(libc::EBUSY) {
        let what = format!(
            "{path} is in use: mounted, swap, part of a RAID or volume group, or claimed by \
             another program; see `lsblk {path}`"
        );
        return Error::invalid(what);
    }
    Error::new(ErrorClass::Io, format!("failed to open {path}: {error}"))
}

/// Returns whether the device is blank (zeros); `false`: it has an LMDB database. Other contents
/// are refused, because LMDB would take some of them for blank.
fn is_blank(path: &Path, device: &File, bytes: u64) -> Result<bool> {
    let mut start = vec![0; bytes.min(START_BYTES) as usize];
    device.read_exact_at(&mut start, 0)?;
    if start.iter().all(|byte| *byte == 0) {
        return Ok(true);
    }
    let mut pages = start.chunks_exact(PAGE as usize);
    if pages.by_ref().take(2).all(is_meta_page) {
        return Ok(false);
    }
    let path = path.display();
    Err(Error::invalid(format!(
        "{path} contains data that is not an LMDB database; if it may be lost: dd if=/dev/zero \
         of={path} bs=1M count=1 conv=fsync"
    )))
}

/// LMDB's own check (`mdb_env_read_header` in mdb.c): a flag in the page's header, and the magic
/// number at the start of the struct after it.
fn is_meta_page(page: &[u8]) -> bool {
    const META: u16 = 8;
    const MAGIC: u32 = 0xBEEF_C0DE;
    let header = PAGE_HEADER_BYTES as usize;
    // The header ends with the flags and four bytes that a meta page does not use.
    let flags = u16::from_ne_bytes([page[header - 6], page[header - 5]]);
    flags & META != 0 && page[header..].starts_with(&MAGIC.to_ne_bytes())
}

/// Creates a temporary directory, if possible in memory, as `/dev` is: every read writes to the
/// table of readers in the lock file.
fn private_dir() -> Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    let builder = builder.prefix("kvdyno-lmdb-lock-");
    Ok(builder.tempdir_in("/dev/shm").or_else(|_| builder.tempdir())?)
}
