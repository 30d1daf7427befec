//! How many pieces a file lies in (FIEMAP): the age of a filesystem, as far as a file shows it.

use fiemap::fiemap;
use std::collections::VecDeque;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Smaller files do not show the age of a filesystem.
const BYTES_MIN: u64 = 64 << 20;

/// The most directory entries that are examined.
const ENTRIES_MAX: u32 = 10_000;

/// A file, and the pieces that it lies in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pieces {
    pub(super) bytes: u64,
    pub(super) extents: u64,
    pub(super) name: String,
}

/// The extents of the largest file below a directory; `None`: no file is large enough, or the
/// filesystem does not report them.
pub(super) fn largest_file_pieces(directory: &Path) -> Option<Pieces> {
    let (bytes, path) = find_largest_file(directory).filter(|(bytes, _)| *bytes >= BYTES_MIN)?;
    let extents = count(&path).ok()?;
    let name = path.strip_prefix(directory).unwrap_or(&path).display().to_string();
    Some(Pieces { bytes, extents, name })
}

/// Returns the largest file on the directory's own filesystem, among the first [`ENTRIES_MAX`]
/// entries from the top: a data directory may be the root of a large volume.
fn find_largest_file(directory: &Path) -> Option<(u64, PathBuf)> {
    let device = fs::metadata(directory).ok()?.dev();
    let mut directories = VecDeque::from([directory.to_owned()]);
    let (mut largest, mut count) = (None, 0);
    while let Some(directory) = directories.pop_front() {
        let Ok(entries) = fs::read_dir(&directory) else { continue };
        for entry in entries.filter_map(Result::ok) {
            // For a symbolic link, its own size.
            let Ok(stat) = entry.metadata() else { continue };
            count += 1;
            if count > ENTRIES_MAX {
                return largest;
            }
            if stat.is_dir() && stat.dev() == device {
                directories.push_back(entry.path());
            } else if stat.is_file() {
                largest = largest.max(Some((stat.len(), entry.path())));
            }
        }
    }
    largest
}

/// The extents of a file. Unwritten data is not flushed for this.
fn count(path: &Path) -> io::Result<u64> {
    fiemap(path)?.try_fold(0, |count, extent| extent.map(|_| count + 1))
}

#[cfg(test)]
mod tests {
    use super::super::testing::disk_dir;
    use super::*;
    use std::os::unix::fs::FileExt;

    #[test]
    fn a_file_with_holes_lies_in_pieces() {
        let Some(dir) = disk_dir("a_file_with_holes_lies_in_pieces") else { return };
        let path = dir.path().join("holes");
        let file = fs::File::create(&path).unwrap();
        for piece in 0..5 {
            file.write_at(&[7; 4096], piece << 20).unwrap();
        }
        file.sync_all().unwrap();
        match count(&path) {
            Ok(extents) => assert_eq!(extents, 5),
            Err(error) => assert_eq!(error.raw_os_error(), Some(libc::EOPNOTSUPP)),
        }
        assert_eq!(largest_file_pieces(dir.path()), None, "too small for a result");
        file.set_len(BYTES_MIN).unwrap();
        let pieces_of_file = largest_file_pieces(dir.path());
        assert!(
            pieces_of_file.is_none_or(|pieces| (pieces.extents, &*pieces.name) == (5, "holes"))
        );
    }

    #[test]
    fn what_has_no_extents_is_an_error() {
        let error = count(Path::new("/dev/null")).unwrap_err().raw_os_error();
        assert!(matches!(error, Some(libc::ENOTTY | libc::EOPNOTSUPP)), "{error:?}");
    }
}
