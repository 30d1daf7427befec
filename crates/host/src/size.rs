//! How large a database is on its volume.

use super::raw;
use kvdyno_record::usage::DatabaseSize;
use std::collections::HashSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

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
            size.allocated_bytes += stat.blocks() * 512;
            size.apparent_bytes += stat.len();
            size.files += 1;
        }
    }
    Ok(size)
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
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn holes_take_no_space_and_names_do_not_count_twice() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        fs::create_dir(path.join("wal")).unwrap();
        fs::write(path.join("data"), vec![7; 8192]).unwrap();
        fs::hard_link(path.join("data"), path.join("wal/same")).unwrap();
        fs::File::create(path.join("hole")).unwrap().set_len(1 << 20).unwrap();
        symlink("/proc/cpuinfo", path.join("link")).unwrap();
        let size = measure(path).unwrap();
        assert_eq!((size.files, size.apparent_bytes), (2, (1 << 20) + 8192));
        assert!((8192..1 << 20).contains(&size.allocated_bytes), "{size:?}");
        assert_eq!(measure(&path.join("data")).unwrap().files, 1);
        assert!(measure(&path.join("nothing")).is_err());
    }
}
