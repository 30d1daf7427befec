//! A raw device in place of a server's file: its requirements, and how it is cleared before the
//! first start.

use crate::server::{check_room, servers};
use kvdyno_engine::{DataShape, Error, Options, Result};
use rustix::fs::{FallocateFlags, fallocate};
use std::fs::File;
use std::io::{self, Seek as _, SeekFrom};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

/// The bytes at the start that hold a server's header; they are zeros if no server has used the
/// device.
const HEADER_BYTES: usize = 1 << 20;

/// Bytes zeroed at a time, so that a kill takes effect between two of them.
const PIECE_BYTES: u64 = 1 << 30;

/// Refuses a device that is not for these servers, and clears an unused one.
pub(crate) fn prepare(path: &Path, options: &Options, data: &DataShape) -> Result<()> {
    let about = |error: Error| error.context(&path.display().to_string());
    // The worker already has the device exclusively: nothing is mounted from it.
    let opened = File::options().read(true).write(true).open(path);
    let mut file = opened.map_err(|error| about(error.into()))?;
    let bytes = file.seek(SeekFrom::End(0))?;
    check(bytes, options, data).map_err(about)?;
    if is_new(&file)? {
        empty(&file, bytes).map_err(|error| about(error.into()))?;
    }
    Ok(())
}

fn check(bytes: u64, options: &Options, data: &DataShape) -> Result<()> {
    if servers(options)? > 1 {
        return Err(Error::invalid(
            "a raw device serves one server, found replication_factor = 2: use 1, or a volume \
             with a filesystem",
        ));
    }
    if options.integer("filesize")? > 0 {
        return Err(Error::invalid(
            "filesize is for files, a raw device is used whole: remove filesize",
        ));
    }
    check_room("the device", bytes, data)
}

fn is_new(file: &File) -> io::Result<bool> {
    let mut header = vec![0; HEADER_BYTES];
    file.read_exact_at(&mut header, 0)?;
    Ok(header.iter().all(|byte| *byte == 0))
}

/// Zeroes the whole device. A server takes up anything that looks like a record, even if another
/// server wrote it, in a block that it has begun to write and in those behind.
fn empty(file: &File, bytes: u64) -> io::Result<()> {
    let zeros = FallocateFlags::ZERO_RANGE | FallocateFlags::KEEP_SIZE;
    for offset in (0..bytes).step_by(PIECE_BYTES as usize) {
        fallocate(file, zeros, offset, PIECE_BYTES.min(bytes - offset))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::tests::shape;
    use kvdyno_engine::Durability;

    #[test]
    fn a_device_is_one_servers_and_taken_whole() {
        let description = crate::describe::description(Err(Error::invalid("none")));
        let mut options = Options::defaults(&description, Durability::None);
        let refused = |bytes, options: &Options| {
            check(bytes, options, &shape()).map_err(|error| error.message)
        };
        assert_eq!(refused(1 << 30, &options), Ok(()));
        assert!(refused(512 << 20, &options).unwrap_err().contains("at least 696 MiB"));
        options.values.insert("filesize".to_owned(), (1_u64 << 30).into());
        assert!(refused(1 << 30, &options).unwrap_err().contains("remove filesize"));
        options.values.insert("replication_factor".to_owned(), 2_u64.into());
        assert!(refused(1 << 30, &options).unwrap_err().contains("raw device"));
    }
}
