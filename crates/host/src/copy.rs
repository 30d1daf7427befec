//! Copies a database's directory: byte by byte, or by the filesystem, which lets both have the same
//! blocks. The runner decides what becomes of the copy.
//!
//! Byte by byte means read and written: `copy_file_range` would share blocks where it can, and on
//! xfs the first write to each shared block costs several times as much (docs/host.md).

use super::cache;
use kvdyno_record::case::{CopyRecord, Copying};
use rustix::fs::{Advice, SeekFrom, fadvise, fsync, ioctl_ficlone, seek};
use rustix::io::Errno;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{
    DirBuilderExt as _, FileExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The bytes that are read and written at once.
const BLOCK_BYTES: usize = 1 << 20;

/// After this many bytes both files are evicted from the page cache: a copy should not take away
/// the memory that the machine measures with.
const WINDOW_BYTES: u64 = 64 << 20;

/// Why the copy failed.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// The user interrupted it.
    #[error("interrupted while the database was copied")]
    Interrupted,
    /// Anything else.
    #[error("failed to copy {}: {source}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
}

fn copy_error(path: &Path) -> impl FnOnce(io::Error) -> CopyError {
    let path = path.to_owned();
    move |source| CopyError::Io { path, source }
}

/// A copy in the making.
struct Copier<'a> {
    by: Copying,
    files: u64,
    bytes: u64,
    /// Receives the bytes copied so far; the result false stops the copy.
    go_on: &'a mut dyn FnMut(u64) -> bool,
}

/// Copies all files below `from` into the empty directory `to`, on the same filesystem, and syncs
/// them. Both are removed from the page cache; what remains in it is reported. Without reflinks the
/// files are copied byte by byte. `go_on` gets the number of copied bytes, and false stops the
/// copy.
pub fn database(
    from: &Path,
    to: &Path,
    by: Copying,
    go_on: &mut dyn FnMut(u64) -> bool,
) -> Result<(CopyRecord, Option<String>), CopyError> {
    let begun = Instant::now();
    let mut copier = Copier { by, files: 0, bytes: 0, go_on };
    copier.directory(from, to)?;
    cache::sync_volume(to).map_err(copy_error(to))?;
    let Copier { by, files, bytes, .. } = copier;
    let took_ns = begun.elapsed().as_nanos() as u64;
    let warm = [from, to].into_iter().find_map(warm);
    Ok((CopyRecord { method: by, state: None, files, bytes, took_ns }, warm))
}

/// Copies a file to a path that does not exist yet, as [`database`] copies those of a directory.
pub fn file(from: &Path, to: &Path, go_on: &mut dyn FnMut(u64) -> bool) -> Result<(), CopyError> {
    let mut copier = Copier { by: Copying::Reflink, files: 0, bytes: 0, go_on };
    let done = copier.file(from, to).map_err(copy_error(from))?;
    if done { Ok(()) } else { Err(CopyError::Interrupted) }
}

/// Evicts a path from the page cache. Returns a sentence on what stays cached; `None`: it is cold.
fn warm(path: &Path) -> Option<String> {
    match cache::evict(path) {
        Ok(eviction) if eviction.is_cold() => None,
        Ok(eviction) => Some(match eviction.left {
            Ok(residency) => {
                let percent = 100.0 * cache::resident_share(&residency);
                format!("after it was copied {percent:.0} % of the database was still cached")
            }
            Err(error) => format!("cached after the database was copied: {error}"),
        }),
        Err(error) => Some(format!("the page cache was not emptied after copying: {error}")),
    }
}

impl Copier<'_> {
    /// Copies a directory, without sockets and pipes of a server that has ended.
    fn directory(&mut self, from: &Path, to: &Path) -> Result<(), CopyError> {
        for entry in fs::read_dir(from).map_err(copy_error(from))? {
            let entry = entry.map_err(copy_error(from))?;
            let (path, copy) = (entry.path(), to.join(entry.file_name()));
            let kind = entry.file_type().map_err(copy_error(&path))?;
            if kind.is_dir() {
                let mode = entry.metadata().map_err(copy_error(&path))?.permissions().mode();
                DirBuilder::new().mode(mode).create(&copy).map_err(copy_error(&copy))?;
                self.directory(&path, &copy)?;
            } else if kind.is_symlink() {
                let target = fs::read_link(&path).map_err(copy_error(&path))?;
                std::os::unix::fs::symlink(target, &copy).map_err(copy_error(&copy))?;
            } else if kind.is_file() {
                let done = self.file(&path, &copy).map_err(copy_error(&path))?;
                if !done {
                    return Err(CopyError::Interrupted);
                }
            }
        }
        Ok(())
    }

    /// Copies a file; false: the copy was stopped.
    fn file(&mut self, from: &Path, to: &Path) -> io::Result<bool> {
        let original = File::open(from)?;
        let stat = original.metadata()?;
        let mode = stat.permissions().mode();
        let copy = OpenOptions::new().write(true).create_new(true).mode(mode).open(to)?;
        self.files += 1;
        if self.by == Copying::Reflink {
            match ioctl_ficlone(&copy, &original) {
                Ok(()) => {
                    self.bytes += stat.len().min(stat.blocks() * 512);
                    return Ok((self.go_on)(self.bytes));
                }
                // Without reflinks this file and all later ones are copied byte by byte.
                Err(_) => self.by = Copying::Copy,
            }
        }
        let done = self.data(&original, &copy, stat.len())?;
        copy.set_len(stat.len())?;
        evict_both(&original, &copy)?;
        Ok(done)
    }

    /// Copies the data between the holes; false: the copy was stopped.
    fn data(&mut self, original: &File, copy: &File, length: u64) -> io::Result<bool> {
        let mut block = vec![0; BLOCK_BYTES];
        let (mut end, mut in_window) = (0, 0);
        while end < length {
            let begin = match seek(original, SeekFrom::Data(end)) {
                Ok(begin) => begin,
                // A hole up to the end.
                Err(Errno::NXIO) => break,
                Err(errno) => return Err(errno.into()),
            };
            end = seek(original, SeekFrom::Hole(begin))?;
            let mut offset = begin;
            while offset < end {
                let piece = ((end - offset) as usize).min(BLOCK_BYTES);
                let n = original.read_at(&mut block[..piece], offset)?;
                if n == 0 {
                    // It became shorter: another process still writes to it.
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                copy.write_all_at(&block[..n], offset)?;
                offset += n as u64;
                self.bytes += n as u64;
                in_window += n as u64;
                if in_window >= WINDOW_BYTES {
                    in_window = 0;
                    evict_both(original, copy)?;
                }
                if !(self.go_on)(self.bytes) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}

/// Evicts both files from the page cache, after a sync: dirty pages cannot be evicted.
fn evict_both(original: &File, copy: &File) -> io::Result<()> {
    fsync(copy)?;
    for file in [original, copy] {
        fadvise(file, 0, None, Advice::DontNeed)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{disk_dir, write_file};
    use super::*;

    /// A file of 8 MiB with a hole of 1 GiB behind it, one below, and a link.
    fn database_in(dir: &Path) -> (PathBuf, PathBuf) {
        let [from, to] = ["from", "to"].map(|name| dir.join(name));
        for path in [&from.join("below"), &to] {
            fs::create_dir_all(path).unwrap();
        }
        write_file(&from.join("data"), 8 << 20);
        let data = OpenOptions::new().write(true).open(from.join("data")).unwrap();
        data.set_len(1 << 30).unwrap();
        data.write_all_at(b"end", (1 << 30) - 3).unwrap();
        fs::write(from.join("below/log"), "log").unwrap();
        std::os::unix::fs::symlink("data", from.join("link")).unwrap();
        (from, to)
    }

    #[test]
    fn a_copy_is_the_same_holes_included_and_neither_is_cached() {
        let test = "a_copy_is_the_same_holes_included_and_neither_is_cached";
        let Some(dir) = disk_dir(test) else { return };
        let (from, to) = database_in(dir.path());
        let mut reported = Vec::new();
        let mut go_on = |bytes| {
            reported.push(bytes);
            true
        };
        let (record, warm) = database(&from, &to, Copying::Copy, &mut go_on).unwrap();
        assert_eq!((record.method, record.files), (Copying::Copy, 2));
        assert!(reported.is_sorted() && reported.len() >= 9, "{reported:?}");
        assert_eq!(warm, None);
        for path in [&from, &to] {
            assert!(
                cache::resident_share(&cache::residency(path).unwrap()) < cache::COLD_SHARE_MAX
            );
        }
        let assert_same = |name: &str| {
            let [a, b] = [&from, &to].map(|dir| File::open(dir.join(name)).unwrap());
            let [a, b] = [a, b].map(|file| {
                let mut bytes = vec![0; 9 << 20];
                let n = file.read_at(&mut bytes, 0).unwrap();
                bytes.truncate(n);
                (bytes, file.metadata().unwrap().len())
            });
            assert!(a == b, "{name}");
        };
        assert_same("data");
        assert_same("below/log");
        let mut end = [0; 3];
        let copied = File::open(to.join("data")).unwrap();
        copied.read_exact_at(&mut end, (1 << 30) - 3).unwrap();
        assert_eq!(&end, b"end");
        let allocated = copied.metadata().unwrap().blocks() * 512;
        assert!(allocated < 16 << 20, "the hole is filled: {allocated}");
        assert_eq!(fs::read_link(to.join("link")).unwrap(), Path::new("data"));
    }

    #[test]
    fn where_there_are_no_reflinks_it_is_copied() {
        let test = "where_there_are_no_reflinks_it_is_copied";
        let Some(dir) = disk_dir(test) else { return };
        let (from, to) = database_in(dir.path());
        let (record, _) = database(&from, &to, Copying::Reflink, &mut |_| true).unwrap();
        assert_eq!(record.files, 2);
        assert_eq!(fs::read(to.join("below/log")).unwrap(), b"log");
    }

    #[test]
    fn it_stops_when_it_is_told_to() {
        let Some(dir) = disk_dir("it_stops_when_it_is_told_to") else { return };
        let (from, to) = database_in(dir.path());
        let stopped = database(&from, &to, Copying::Copy, &mut |_| false);
        assert!(matches!(stopped, Err(CopyError::Interrupted)));
    }
}
