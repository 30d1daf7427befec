//! The size of a database on its volume.

use super::raw;
use fiemap::{FiemapExtentFlags, fiemap};
use kvdyno_record::usage::DatabaseSize;
use std::collections::HashSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The extents of files with less space than this are not read.
const RESERVED_MIN: u64 = 1 << 20;

/// Sums up all regular files below a directory (or one file). Files that vanish meanwhile, as
/// compactions make them, are left out; a file with two names counts once.
pub fn measure(path: &Path) -> io::Result<DatabaseSize> {
    if raw::is_device(path) {
        // Only the engine knows how much of it is in use; zero would be wrong.
        return Err(io::Error::new(io::ErrorKind::Unsupported, "a device has no files"));
    }
    let mut size = DatabaseSize::default();
    let mut inodes = HashSet::new();
    for file in files(path)? {
        let Ok(stat) = fs::symlink_metadata(&file) else { continue };
        if stat.nlink() == 1 || inodes.insert((stat.dev(), stat.ino())) {
            // `st_blocks` is in units of 512 bytes whatever the filesystem's blocks are.
            let allocated = stat.blocks() * 512;
            let used = stat.len().min(allocated.saturating_sub(unwritten_bytes(&file, allocated)));
            size.used_bytes += used;
            size.reserved_bytes += allocated - used;
            size.apparent_bytes += stat.len();
            size.files += 1;
        }
    }
    Ok(size)
}

/// Returns the bytes that `fallocate` set aside in a file and nobody has written; 0 if the
/// filesystem cannot list extents.
fn unwritten_bytes(file: &Path, allocated: u64) -> u64 {
    if allocated < RESERVED_MIN {
        return 0;
    }
    let Ok(extents) = fiemap(file) else { return 0 };
    let unwritten = extents
        .map_while(Result::ok)
        .filter(|extent| extent.fe_flags.contains(FiemapExtentFlags::UNWRITTEN));
    unwritten.map(|extent| extent.fe_length).sum()
}

/// All regular files below a directory (or the one file), in order. Symbolic links are not
/// followed: what they point to need not be the database's.
pub(super) fn files(path: &Path) -> io::Result<Vec<PathBuf>> {
    if !fs::metadata(path)?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    let mut directories = vec![path.to_owned()];
    while let Some(directory) = directories.pop() {
        let entries = match fs::read_dir(&directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && directory != path => continue,
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => directories.push(entry.path()),
                Ok(kind) if kind.is_file() => files.push(entry.path()),
                _ => {}
            }
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::super::testing::disk_dir;
    use super::*;
    use std::os::unix::fs::{FileExt, symlink};

    #[test]
    fn holes_take_no_space_and_names_do_not_count_twice() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path();
        fs::create_dir(path.join("wal")).unwrap();
        fs::write(path.join("data"), vec![7; 8192]).unwrap();
        fs::hard_link(path.join("data"), path.join("wal/same")).unwrap();
        fs::File::create(path.join("hole")).unwrap().set_len(1 << 20).unwrap();
        symlink("/proc/cpuinfo", path.join("link")).unwrap();
        let size = measure(path).unwrap();
        assert_eq!((size.files, size.apparent_bytes), (2, (1 << 20) + 8192));
        assert_eq!(size.used_bytes, 8192, "{size:?}");
        assert_eq!(measure(&path.join("data")).unwrap().files, 1);
        assert!(measure(&path.join("nothing")).is_err());
    }

    #[test]
    fn space_set_aside_is_not_used() {
        let Some(dir) = disk_dir("space_set_aside_is_not_used") else { return };
        for keep_size in [0, libc::FALLOC_FL_KEEP_SIZE] {
            let path = dir.path().join(format!("log{keep_size}"));
            let file = fs::File::create(&path).unwrap();
            rustix::fs::fallocate(
                &file,
                rustix::fs::FallocateFlags::from_bits_retain(keep_size.cast_unsigned()),
                0,
                64 << 20,
            )
            .unwrap();
            file.write_at(&vec![7; 1 << 20], 0).unwrap();
            file.sync_all().unwrap();
            let size = measure(&path).unwrap();
            assert_eq!((size.used_bytes, size.reserved_bytes), (1 << 20, 63 << 20), "{size:?}");
        }
    }
}
