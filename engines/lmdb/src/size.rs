//! The sizes of the file and of the map that the data can need.

use crate::library::{self, FILE, WRITEMAP};
use kvdyno_engine::{DataShape, Error, ErrorClass, Result};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Returns the most bytes that the records can take in the file, from LMDB's page layout (mdb.c:
/// `NODESIZE` 8, two bytes of index per node, values over half a page on overflow pages of their
/// own), with leaf pages half full as random inserts leave them at worst.
pub(crate) fn file_bytes(data: &DataShape, page: u64) -> u64 {
    const NODE: u64 = 8 + 2;
    use library::{OVERFLOW_NODE_BYTES, PAGE_HEADER_BYTES};
    let key = u64::from(data.key_bytes);
    let node_max = (page - PAGE_HEADER_BYTES) / 2 - 2;
    let inline = |value: u64| 2 * (NODE + key + value);
    let overflow = |value: u64| {
        (value + PAGE_HEADER_BYTES).div_ceil(page) * page + inline(OVERFLOW_NODE_BYTES)
    };
    // A mean below the threshold says little about lengths on both sides of it: take the worse
    // case.
    let spread = data.value_bytes_max > data.value_bytes_mean;
    let mean = data.value_bytes_mean;
    let bytes_per_record = if NODE + key + mean > node_max {
        overflow(mean) + if spread { page / 2 } else { 0 }
    } else if spread && NODE + key + data.value_bytes_max > node_max {
        inline(mean).max(overflow(mean))
    } else {
        inline(mean)
    };
    // Branch pages: a node per leaf page, also half full.
    let branches = (NODE + key) * 2 * bytes_per_record / page;
    data.records_max.saturating_mul(bytes_per_record + branches)
}

/// Returns the size of the map. It is address space, not memory or disk, so room is cheap: as much
/// again as the data, for copies that readers hold back and for values that grow.
pub(crate) fn map_bytes(data: &DataShape, page: u64) -> u64 {
    const SPARE: u64 = 1 << 30;
    const ADDRESS_SPACE: u64 = 1 << 46;
    let bytes = file_bytes(data, page).saturating_mul(2).saturating_add(SPARE);
    bytes.min(ADDRESS_SPACE).next_multiple_of(page)
}

/// Refuses data for which the volume may have too little space. Writing through the map to a block
/// that the volume cannot give kills the process with SIGBUS, where a write call would return
/// ENOSPC.
pub(crate) fn refuse_sigbus(directory: &Path, file_bytes: u64) -> Result<()> {
    const BLOCK: u64 = 512;
    let allocated = directory.join(FILE).metadata().map_or(0, |file| file.blocks() * BLOCK);
    let free = free_bytes(directory)?;
    if file_bytes.saturating_sub(allocated) <= free {
        return Ok(());
    }
    let what = format!(
        "the data may take {file_bytes} bytes, {free} are free, and under {WRITEMAP} a full \
         volume is a SIGBUS: use writemap = off, or a larger volume"
    );
    Err(Error::new(ErrorClass::Full, what))
}

/// Returns the bytes that an unprivileged process may still write on the volume of `path`.
pub(crate) fn free_bytes(path: &Path) -> Result<u64> {
    let volume = rustix::fs::statvfs(path).map_err(std::io::Error::from)?;
    Ok(volume.f_bavail * volume.f_frsize)
}
