//! A file for a loop device: all of its space set aside, and without a name.

use rustix::fs::{FallocateFlags, fallocate};
use std::fs::File;
use std::io;
use std::path::Path;

/// Creates a file of this many bytes in a directory. It has no name, so it is gone once it is
/// closed. Its space is allocated, because a loop device on a file that cannot grow fails in the
/// middle of a filesystem that counts on the space.
pub(crate) fn make(directory: &Path, bytes: u64) -> io::Result<File> {
    let file = tempfile::tempfile_in(directory)?;
    fallocate(&file, FallocateFlags::empty(), 0, bytes)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::disk_dir;
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn it_has_all_its_space_and_no_name() {
        let Some(dir) = disk_dir("it_has_all_its_space_and_no_name") else { return };
        let image = make(dir.path(), 4 << 20).unwrap();
        let stat = image.metadata().unwrap();
        assert_eq!((stat.nlink(), stat.len()), (0, 4 << 20));
        assert!(stat.blocks() * 512 >= 4 << 20);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn more_than_there_is_room_for_is_refused() {
        let Some(dir) = disk_dir("more_than_there_is_room_for_is_refused") else { return };
        assert!(make(dir.path(), 1 << 60).is_err());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
