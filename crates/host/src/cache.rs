//! The page cache: evicts a database's files from it, and proves how much of them is left.
//!
//! Cached pages of a file are charged to whoever read it first, so they would defeat a RAM limit.
//! Eviction comes first, with the engine closed: pages that a live process has mapped stay cached.

use super::Root;
use super::pages::{self, Cached};
use super::raw;
use super::size::files;
use kvdyno_record::usage::Residency;
use rustix::fs::{Advice, fadvise, fstatfs, fsync, syncfs};
use std::fs::File;
use std::io::{self, Seek as _, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// At most this share of a database counts as evicted.
pub const COLD_SHARE_MAX: f64 = 0.01;

/// The number of attempts: at the first, some pages are on per-CPU lists or under writeback.
const ATTEMPTS: u32 = 4;
const PAUSE: Duration = Duration::from_millis(20);

const OVERLAYFS_SUPER_MAGIC: u32 = 0x794c_7630;
const ZFS_SUPER_MAGIC: u32 = 0x2fc1_2fc1;

/// The result of an eviction.
#[derive(Clone, Debug, PartialEq)]
pub struct Eviction {
    /// The names of the methods, for the record.
    pub words: String,
    /// The part still in memory, or why it is unknown.
    pub left: Result<Residency, String>,
}

impl Eviction {
    /// Whether almost nothing is left.
    pub fn is_cold(&self) -> bool {
        self.left.as_ref().is_ok_and(|residency| resident_share(residency) < COLD_SHARE_MAX)
    }
}

/// The share of the files that is in memory, 0 to 1.
pub fn resident_share(residency: &Residency) -> f64 {
    if residency.file_bytes == 0 {
        return 0.0;
    }
    residency.resident_bytes as f64 / residency.file_bytes as f64
}

/// Evicts all files below a directory (or one file).
pub fn evict(path: &Path) -> io::Result<Eviction> {
    let mut words = "fsync and fadvise DONTNEED on each file".to_owned();
    let mut remaining = Err("not measured".to_owned());
    for attempt in 1..=ATTEMPTS {
        let unreadable = advise(path)?;
        if attempt == 1 && unreadable > 0 {
            words.push_str(&format!(" ({unreadable} files could not be opened)"));
        }
        remaining = residency(path).map_err(|error| error.to_string());
        let eviction = Eviction { words: words.clone(), left: remaining.clone() };
        if eviction.is_cold() || remaining.is_err() {
            return Ok(eviction);
        }
        std::thread::sleep(PAUSE);
    }
    Ok(Eviction { words, left: remaining })
}

/// Writes each file out and drops its pages. Returns how many files could not be opened.
fn advise(path: &Path) -> io::Result<u64> {
    let mut unreadable = 0;
    for file in files(path)? {
        match File::open(&file) {
            Ok(file) => {
                // Dirty pages cannot be dropped.
                fsync(&file)?;
                fadvise(&file, 0, None, Advice::DontNeed)?;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(_) => unreadable += 1,
        }
    }
    Ok(unreadable)
}

/// Returns how much of the files below a directory (or of one file) is in memory. Fails if one of
/// them cannot be read: a part would be taken for the whole.
pub fn residency(path: &Path) -> io::Result<Residency> {
    let mut sum = Residency { method: "cachestat".to_owned(), ..Residency::default() };
    for path in files(path)? {
        let mut file = match File::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            file => file?,
        };
        let stat = file.metadata()?;
        let cached = look(&path, &file, &mut sum.method)?;
        // Only the allocated part of a sparse file counts: 1 GiB in a map of 1 TiB is not 0.1 %
        // when all of it is cached. A device has no holes, though only the engine knows how much of
        // it is a database.
        sum.file_bytes += if raw::is_device(&path) {
            file.seek(SeekFrom::End(0))?
        } else {
            stat.len().min(stat.blocks() * 512)
        };
        sum.resident_bytes += cached.resident_bytes;
        sum.dirty_bytes += cached.dirty_bytes;
    }
    Ok(sum)
}

fn look(path: &Path, file: &File, method: &mut String) -> io::Result<Cached> {
    if !cachestat_counts(fstatfs(file)?.f_type as u32)? {
        "mincore".clone_into(method);
    }
    if method == "cachestat" {
        match pages::cachestat(file) {
            // cachestat(2) is missing before Linux 6.5, or a sandbox forbids it.
            Err(error) if matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM)) => {
                "mincore".clone_into(method);
            }
            result => return result,
        }
    }
    pages::mincore(path, file)
}

/// Returns whether cachestat(2) counts the pages of a filesystem's files. A file of an overlay has
/// none: they are those of its layer, which mincore(2) reaches through a map. Fails for ZFS.
fn cachestat_counts(magic: u32) -> io::Result<bool> {
    match magic {
        ZFS_SUPER_MAGIC => Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "ZFS has a cache of its own, which Linux cannot inspect",
        )),
        magic => Ok(magic != OVERLAYFS_SUPER_MAGIC),
    }
}

/// Writes all dirty data of a path's volume to its device, and returns the time taken.
pub fn sync_volume(path: &Path) -> io::Result<Duration> {
    let directory = File::open(path)?;
    let begun = Instant::now();
    if raw::is_device(path) {
        // A device's node lies on another filesystem than its data.
        fsync(&directory)?;
    } else {
        syncfs(&directory)?;
    }
    Ok(begun.elapsed())
}

/// Whether the whole machine's caches can be dropped.
pub fn drop_caches_availability(root: &Root) -> kvdyno_record::host::Availability {
    use rustix::fs::{Access, AtFlags, CWD, accessat};
    let file = "/proc/sys/vm/drop_caches";
    let (available, detail) =
        match accessat(CWD, root.path(file), Access::WRITE_OK, AtFlags::EACCESS) {
            Ok(()) => (true, file.to_owned()),
            Err(error) => (false, format!("{file}: {error}; run as root")),
        };
    kvdyno_record::host::Availability { available, detail }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{disk_dir, needs_root, report_skip, write_file};
    use super::*;
    use crate::fresh::namespace;
    use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
    use std::ffi::CString;
    use std::fs;
    use std::io::Read;

    #[test]
    fn evicted_files_are_cold() {
        let Some(dir) = disk_dir("evicted_files_are_cold") else { return };
        fs::create_dir(dir.path().join("below")).unwrap();
        write_file(&dir.path().join("a"), 16 << 20);
        write_file(&dir.path().join("below/b"), 4 << 20);
        let warm = residency(dir.path()).unwrap();
        assert!(resident_share(&warm) > 0.9, "{warm:?}");
        let eviction = evict(dir.path()).unwrap();
        assert!(eviction.is_cold(), "{eviction:?}");
        let remaining = eviction.left.unwrap();
        assert_eq!((remaining.file_bytes, remaining.dirty_bytes), (20 << 20, 0));
        assert_eq!(eviction.words, "fsync and fadvise DONTNEED on each file");
    }

    #[test]
    fn dirty_pages_are_written_out_first() {
        let Some(dir) = disk_dir("dirty_pages_are_written_out_first") else { return };
        let path = dir.path().join("a");
        fs::write(&path, vec![1; 4 << 20]).unwrap();
        assert!(evict(&path).unwrap().is_cold());
    }

    #[test]
    fn holes_do_not_dilute_the_share() {
        let Some(dir) = disk_dir("holes_do_not_dilute_the_share") else { return };
        let path = dir.path().join("a");
        write_file(&path, 1 << 20);
        fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(1 << 40).unwrap();
        let mut start = vec![0; 1 << 20];
        File::open(&path).unwrap().read_exact(&mut start).unwrap();
        assert!(resident_share(&residency(&path).unwrap()) > 0.9);
    }

    #[test]
    fn the_volume_is_synced() {
        let Some(dir) = disk_dir("the_volume_is_synced") else { return };
        let path = dir.path().join("a");
        fs::write(&path, vec![1; 1 << 20]).unwrap();
        assert!(sync_volume(dir.path()).unwrap() > Duration::ZERO);
        assert_eq!(residency(&path).unwrap().dirty_bytes, 0);
    }

    #[test]
    fn pages_of_an_overlay_are_those_of_its_layers() {
        let test = "pages_of_an_overlay_are_those_of_its_layers";
        let Some(dir) = disk_dir(test).filter(|_| needs_root(test)) else { return };
        let part = |name: &str| dir.path().join(name);
        for name in ["lower", "upper", "work", "all"] {
            fs::create_dir(part(name)).unwrap();
        }
        write_file(&part("lower/a"), 4 << 20);
        namespace::enter(&[]).unwrap();
        let layers = ["lower", "upper", "work"]
            .map(|name| format!("{name}dir={}", part(name).display()))
            .join(",");
        let options = CString::new(layers).unwrap();
        let point = part("all");
        let mounted = mount("none", &point, "overlay", MountFlags::empty(), options.as_c_str());
        if let Err(error) = mounted {
            return report_skip("overlay", test, &error.to_string());
        }
        write_file(&point.join("b"), 4 << 20);
        let warm = residency(&point).unwrap();
        let eviction = evict(&point).unwrap();
        unmount(&point, UnmountFlags::DETACH).unwrap();
        assert!(resident_share(&warm) > 0.9, "{warm:?}");
        assert_eq!((warm.method.as_str(), warm.file_bytes), ("mincore", 8 << 20));
        assert!(eviction.is_cold(), "{eviction:?}");
    }

    #[test]
    fn a_cache_that_nothing_reports_is_not_empty() {
        assert!(cachestat_counts(0xef53).unwrap());
        assert!(cachestat_counts(ZFS_SUPER_MAGIC).is_err());
    }

    #[test]
    fn nothing_is_all_evicted() {
        let Some(dir) = disk_dir("nothing_is_all_evicted") else { return };
        assert!(evict(dir.path()).unwrap().is_cold());
        assert!(evict(&dir.path().join("no")).is_err());
    }
}
