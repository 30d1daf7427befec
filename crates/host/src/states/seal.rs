//! The seal of a database's directory: its contents are recorded once and compared later. Symbolic
//! links are never followed.
//!
//! The cheap comparison is of names, lengths and times; the full one reads every file. Files are
//! left writable: copies have their originals' modes and must be writable, and a mode stops neither
//! root nor an engine that changes it. A write is found out by the time that it leaves.

use super::StateError;
use kvdyno_record::state::{Seal, SealedFile, SealedLink};
use rustix::fs::{Advice, SeekFrom, fadvise, seek};
use rustix::io::Errno;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, Metadata, OpenOptions};
use std::hash::Hasher as _;
use std::io;
use std::num::NonZeroU64;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Component, Path, PathBuf};
use twox_hash::XxHash3_64;

/// The bytes that are read at once.
const BLOCK_BYTES: usize = 1 << 20;

/// After this many bytes a file's pages are dropped: reading a database should not take away the
/// memory that the machine measures with.
const WINDOW_BYTES: u64 = 64 << 20;

/// A function that receives the bytes read so far; its result false stops the reading.
pub(super) type GoOn<'a> = &'a mut dyn FnMut(u64) -> bool;

/// An entry below a database's directory.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Entry {
    File {
        length: u64,
        mtime_ns: i64,
    },
    Directory,
    Link {
        target: PathBuf,
    },
    /// A socket, a pipe or a device.
    Special,
}

impl Entry {
    fn read(path: &Path) -> io::Result<Self> {
        let stat = fs::symlink_metadata(path)?;
        Ok(match stat.file_type() {
            kind if kind.is_dir() => Self::Directory,
            kind if kind.is_symlink() => Self::Link { target: fs::read_link(path)? },
            kind if kind.is_file() => Self::File { length: stat.len(), mtime_ns: mtime_ns(&stat) },
            _ => Self::Special,
        })
    }

    fn description(&self) -> String {
        match self {
            Self::File { length, mtime_ns } => {
                let (s, ns) =
                    (mtime_ns.div_euclid(1_000_000_000), mtime_ns.rem_euclid(1_000_000_000));
                format!("a file of {length} bytes, modified {s}.{ns:09} s after 1970")
            }
            Self::Directory => "a directory".to_owned(),
            Self::Link { target } => format!("a symbolic link to {}", target.display()),
            Self::Special => "a socket, pipe or device".to_owned(),
        }
    }
}

fn mtime_ns(stat: &Metadata) -> i64 {
    stat.mtime().saturating_mul(1_000_000_000).saturating_add(stat.mtime_nsec())
}

/// Lists everything below a directory, by its path relative to the directory.
fn entries(database: &Path) -> Result<BTreeMap<PathBuf, Entry>, StateError> {
    let mut entries = BTreeMap::new();
    let mut directories = vec![PathBuf::new()];
    while let Some(directory) = directories.pop() {
        let full = database.join(&directory);
        for entry in fs::read_dir(&full).map_err(StateError::io("list", &full))? {
            let path = directory.join(entry.map_err(StateError::io("list", &full))?.file_name());
            let full = database.join(&path);
            let entry = Entry::read(&full).map_err(StateError::io("look at", &full))?;
            if entry == Entry::Directory {
                directories.push(path.clone());
            }
            entries.insert(path, entry);
        }
    }
    Ok(entries)
}

/// Removes the sockets and pipes of a server that has ended, as [`crate::copy`] leaves them out.
pub(super) fn remove_special(database: &Path) -> Result<(), StateError> {
    for (path, entry) in entries(database)? {
        if entry == Entry::Special {
            let path = database.join(path);
            fs::remove_file(&path).map_err(StateError::io("remove", &path))?;
        }
    }
    Ok(())
}

/// Refuses a database that is not all in its directory. Nothing is read or changed.
pub(super) fn check_keepable(database: &Path) -> Result<(), StateError> {
    let kind = Entry::read(database).map_err(StateError::io("look at", database))?;
    let refuse =
        |path: PathBuf, expected, actual| Err(StateError::NotKeepable { path, expected, actual });
    if kind != Entry::Directory {
        return refuse(database.to_owned(), "a database's directory", kind.description());
    }
    for (path, entry) in entries(database)? {
        let is_text = |path: &Path| path.to_str().is_some();
        if !is_text(&path) || matches!(&entry, Entry::Link { target } if !is_text(target)) {
            let actual = "other bytes in it".to_owned();
            return refuse(database.join(path), "names in UTF-8", actual);
        }
        if matches!(&entry, Entry::Link { target } if points_outside(&path, target)) {
            let expected = "links to what is in the database's directory";
            return refuse(database.join(path), expected, entry.description());
        }
    }
    Ok(())
}

/// Whether a link may lead out of the database's directory. `..` counts only at the beginning:
/// behind a name it would depend on the links that the name leads through.
fn points_outside(link: &Path, target: &Path) -> bool {
    let (mut depth, mut is_named) = (link.components().count() - 1, false);
    for part in target.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if !is_named && depth > 0 => depth -= 1,
            Component::Normal(_) => is_named = true,
            _ => return true,
        }
    }
    false
}

/// Reads all files of a finished database and seals them.
pub(super) fn seal(database: &Path, go_on: GoOn) -> Result<Seal, StateError> {
    let mut seal = Seal::default();
    let mut bytes_read = 0;
    for (path, entry) in entries(database)? {
        let full = database.join(&path);
        match entry {
            Entry::File { length, mtime_ns } => {
                let xxh3_64 = checksum(&full, &mut bytes_read, go_on)?;
                // This also detects a process that writes where we have read already.
                if Entry::read(&full).ok() != Some(entry) {
                    return Err(StateError::BeingWritten { path: full });
                }
                seal.files.push(SealedFile { path, length, mtime_ns, xxh3_64 });
            }
            Entry::Directory => seal.directories.push(path),
            Entry::Link { target } => seal.links.push(SealedLink { path, target }),
            Entry::Special => return Err(StateError::BeingWritten { path: full }),
        }
    }
    Ok(seal)
}

/// Compares names, lengths and times with a seal.
pub(super) fn check_unchanged(id: &str, database: &Path, seal: &Seal) -> Result<(), StateError> {
    let file = |file: &SealedFile| {
        let SealedFile { length, mtime_ns, .. } = *file;
        (file.path.clone(), Entry::File { length, mtime_ns })
    };
    let link = |link: &SealedLink| (link.path.clone(), Entry::Link { target: link.target.clone() });
    let mut sealed: BTreeMap<PathBuf, Entry> = seal.files.iter().map(file).collect();
    sealed.extend(seal.links.iter().map(link));
    sealed.extend(seal.directories.iter().map(|path| (path.clone(), Entry::Directory)));
    let current = entries(database)?;
    let paths: BTreeSet<&PathBuf> = sealed.keys().chain(current.keys()).collect();
    let differs = |path: &&&PathBuf| sealed.get(**path) != current.get(**path);
    let Some(path) = paths.iter().find(differs) else { return Ok(()) };
    let words = |entry: Option<&Entry>| entry.map_or("nothing".to_owned(), Entry::description);
    Err(StateError::Changed {
        id: id.to_owned(),
        path: database.join(path),
        expected: words(sealed.get(*path)),
        actual: words(current.get(*path)),
    })
}

/// Reads all files and compares their checksums with a seal.
pub(super) fn check_contents(
    id: &str,
    database: &Path,
    seal: &Seal,
    go_on: GoOn,
) -> Result<(), StateError> {
    let mut bytes_read = 0;
    for file in &seal.files {
        let path = database.join(&file.path);
        let actual = checksum(&path, &mut bytes_read, go_on)?;
        if actual != file.xxh3_64 {
            let expected = format!("a checksum (XXH3) of {}", file.xxh3_64);
            return Err(StateError::Changed { id: id.to_owned(), path, expected, actual });
        }
    }
    Ok(())
}

/// Returns the XXH3 of a file, as `xxhsum -H3` computes it. Holes are not read: a map of 1 TiB may
/// hold 1 GiB.
fn checksum(path: &Path, bytes_read: &mut u64, go_on: GoOn) -> Result<String, StateError> {
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW).open(path);
    let file = file.map_err(StateError::io("open", path))?;
    let mut hasher = XxHash3_64::new();
    match hash_data(&file, &mut hasher, bytes_read, go_on) {
        Ok(true) => Ok(format!("{:016x}", hasher.finish())),
        Ok(false) => Err(StateError::Interrupted),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            Err(StateError::BeingWritten { path: path.to_owned() })
        }
        Err(error) => Err(StateError::io("read", path)(error)),
    }
}

/// Hashes a file, its holes as zeros; false: it was stopped.
fn hash_data(
    file: &File,
    hasher: &mut XxHash3_64,
    bytes_read: &mut u64,
    go_on: GoOn,
) -> io::Result<bool> {
    let length = file.metadata()?.len();
    let zeros = vec![0; BLOCK_BYTES];
    let mut block = vec![0; BLOCK_BYTES];
    let (mut offset, mut window_begin) = (0, 0);
    while offset < length {
        let begin = match seek(file, SeekFrom::Data(offset)) {
            Ok(begin) => begin,
            // A hole up to the end.
            Err(Errno::NXIO) => length,
            Err(errno) => return Err(errno.into()),
        };
        while offset < begin {
            let piece = (begin - offset).min(BLOCK_BYTES as u64);
            hasher.write(&zeros[..piece as usize]);
            offset += piece;
            if !go_on(*bytes_read) {
                return Ok(false);
            }
        }
        let end = if begin < length { seek(file, SeekFrom::Hole(begin))? } else { length };
        while offset < end {
            let piece = ((end - offset) as usize).min(BLOCK_BYTES);
            file.read_exact_at(&mut block[..piece], offset)?;
            hasher.write(&block[..piece]);
            offset += piece as u64;
            *bytes_read += piece as u64;
            if offset - window_begin >= WINDOW_BYTES {
                fadvise(
                    file,
                    window_begin,
                    NonZeroU64::new(offset - window_begin),
                    Advice::DontNeed,
                )?;
                window_begin = offset;
            }
            if !go_on(*bytes_read) {
                return Ok(false);
            }
        }
    }
    fadvise(file, 0, None, Advice::DontNeed)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_may_lead_only_to_what_is_in_the_directory() {
        for (link, target) in
            [("link", "file"), ("link", "./a/b"), ("a/link", "../file"), ("a/b/link", "../../c")]
        {
            assert!(!points_outside(Path::new(link), Path::new(target)), "{link} {target}");
        }
        for (link, target) in [
            ("link", "/etc"),
            ("link", ".."),
            ("a/link", "../../x"),
            ("a/link", "b/../.."),
            ("link", "b/.."),
        ] {
            assert!(points_outside(Path::new(link), Path::new(target)), "{link} {target}");
        }
    }

    #[test]
    fn a_checksum_is_that_of_the_whole_file_with_holes_or_without() {
        let dir = tempfile::tempdir().unwrap();
        let [sparse, full, empty] = ["sparse", "full", "empty"].map(|n| dir.path().join(n));
        let file = File::create(&sparse).unwrap();
        file.set_len(5 << 20).unwrap();
        file.write_all_at(b"data", (2 << 20) + 7).unwrap();
        fs::write(&full, fs::read(&sparse).unwrap()).unwrap();
        fs::write(&empty, "").unwrap();
        let (mut read, mut go_on) = (0, |_| true);
        let mut sum = |path: &Path, read: &mut u64| checksum(path, read, &mut go_on).unwrap();
        let expected = format!("{:016x}", XxHash3_64::oneshot(&fs::read(&full).unwrap()));
        assert_eq!(sum(&sparse, &mut read), expected);
        assert!(read < 1 << 20, "the holes were read: {read}");
        assert_eq!(sum(&full, &mut read), expected);
        // The reference implementation has this result.
        assert_eq!(sum(&empty, &mut read), "2d06800538d394c2");
        let stopped = checksum(&full, &mut read, &mut |_| false);
        assert!(matches!(stopped, Err(StateError::Interrupted)));
    }
}
