//! The pages of a file that are in memory, by cachestat(2), or by mincore(2) before Linux 6.5.

#![expect(unsafe_code, reason = "neither cachestat(2) nor mincore(2) has a safe wrapper")]

use linux_raw_sys::general::{self, cachestat_range};
use rustix::fs::{Access, AtFlags, CWD, SeekFrom, accessat, fstat, seek};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::param::page_size;
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::path::Path;

/// `cachestat` has this number on every architecture that Rust builds for; libc names it on some.
const SYS_CACHESTAT: libc::c_long = 451;

/// A file is mapped in pieces of this size, so that a terabyte needs no terabyte of addresses.
const WINDOW_BYTES: u64 = 1 << 30;

/// The cached bytes of one file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cached {
    /// The bytes in memory.
    pub(super) resident_bytes: u64,
    /// The bytes not written back yet; `mincore` does not report them.
    pub(super) dirty_bytes: u64,
}

/// Reads the kernel's own count. `EPERM` for another user's file, `ENOSYS` before Linux 6.5.
pub(super) fn cachestat(file: &File) -> io::Result<Cached> {
    // A length of 0 means to the end.
    let range = cachestat_range { off: 0, len: 0 };
    let mut pages = MaybeUninit::<general::cachestat>::zeroed();
    // SAFETY: the descriptor is open while `file` lives; both structs have the kernel's layout
    // and live across the call, which reads the first and fills the second. Flags must be 0.
    let result = unsafe {
        libc::syscall(SYS_CACHESTAT, file.as_raw_fd(), &raw const range, pages.as_mut_ptr(), 0_u32)
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: zeros were a value of it, and the kernel has filled it.
    let pages = unsafe { pages.assume_init() };
    let page = page_size() as u64;
    Ok(Cached {
        resident_bytes: pages.nr_cache * page,
        dirty_bytes: (pages.nr_dirty + pages.nr_writeback) * page,
    })
}

/// Returns whether the kernel has cachestat(2).
pub(super) fn has_cachestat() -> bool {
    // The system call exists, whatever it returns for this file.
    let result = File::open("/proc/self/exe").and_then(|file| cachestat(&file));
    !result.is_err_and(|error| error.raw_os_error() == Some(libc::ENOSYS))
}

/// Maps the file and checks each page. The kernel reports every page as resident to users who
/// neither own the file nor may write to it; they get an error here.
pub(super) fn mincore(path: &Path, file: &File) -> io::Result<Cached> {
    let stat = fstat(file)?;
    let owner = rustix::process::geteuid().as_raw();
    let may_know = owner == 0
        || owner == stat.st_uid
        || accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS).is_ok();
    if !may_know {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "mincore does not report on another user's file",
        ));
    }
    let mut resident_pages = 0;
    let mut offset = 0;
    while let Some(piece) = next_data(file, offset)? {
        resident_pages += window(file, piece.start, (piece.end - piece.start) as usize)?;
        offset = piece.end.next_multiple_of(page_size() as u64);
    }
    Ok(Cached { resident_bytes: resident_pages * page_size() as u64, dirty_bytes: 0 })
}

/// Returns the next piece of a file that is no hole, at most a window long; `from` and its start
/// are multiples of the page size. (A map of a terabyte may be a hole but for its first gigabyte.)
fn next_data(file: &File, from: u64) -> io::Result<Option<Range<u64>>> {
    let data = match seek(file, SeekFrom::Data(from)) {
        Err(Errno::NXIO) => return Ok(None),
        // A device has no holes to look for.
        Err(Errno::INVAL) => {
            let size = seek(file, SeekFrom::End(0))?;
            return Ok((from < size).then(|| from..size.min(from + WINDOW_BYTES)));
        }
        result => result?,
    };
    let end = seek(file, SeekFrom::Hole(data))?;
    let start = data - data % page_size() as u64;
    Ok(Some(start..end.min(start + WINDOW_BYTES)))
}

/// Counts the resident pages of one piece of a file; `offset` is a multiple of the page size.
fn window(file: &File, offset: u64, length: usize) -> io::Result<u64> {
    let mut pages = vec![0_u8; length.div_ceil(page_size())];
    // SAFETY: a new mapping at an address of the kernel's choice, never read or written through,
    // so that a file that shrinks meanwhile does no harm.
    let address = unsafe {
        mmap(std::ptr::null_mut(), length, ProtFlags::READ, MapFlags::SHARED, file, offset)?
    };
    // SAFETY: the mapping is `length` bytes long, and `pages` has a byte for each of its pages.
    let result = unsafe { libc::mincore(address, length, pages.as_mut_ptr()) };
    let error = io::Error::last_os_error();
    // SAFETY: the mapping made above, whole, and nothing refers to it.
    unsafe { munmap(address, length)? };
    if result != 0 {
        return Err(error);
    }
    Ok(pages.iter().filter(|&&page| page & 1 == 1).count() as u64)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{self, again_as_nobody, disk_dir, is_nobody, write_file};
    use super::*;
    use crate::fresh::{image, loops::LoopDevice};
    use std::io::Write as _;

    #[test]
    fn cachestat_and_mincore_agree() {
        let Some(dir) = disk_dir("cachestat_and_mincore_agree") else { return };
        let path = dir.path().join("file");
        write_file(&path, 3 << 20);
        let file = File::open(&path).unwrap();
        let by_mincore = mincore(&path, &file).unwrap();
        assert!(by_mincore.resident_bytes <= 3 << 20);
        match cachestat(&file) {
            Ok(by_cachestat) => {
                assert_eq!(by_cachestat.resident_bytes, by_mincore.resident_bytes);
            }
            Err(error) => {
                testing::report_skip(
                    "cachestat",
                    "cachestat_and_mincore_agree",
                    &error.to_string(),
                );
            }
        }
    }

    #[test]
    fn a_device_is_counted_as_a_whole() {
        let test = "a_device_is_counted_as_a_whole";
        let Some(dir) = disk_dir(test).filter(|_| testing::needs_root(test)) else { return };
        let image = image::make(dir.path(), 8 << 20).unwrap();
        let Ok(device) = LoopDevice::attach(&image) else {
            return testing::report_skip("loop", test, "no loop device");
        };
        let path = device.path();
        let mut file = File::options().read(true).write(true).open(&path).unwrap();
        file.write_all(&vec![1; 4 << 20]).unwrap();
        file.sync_all().unwrap();
        let resident_bytes = mincore(&path, &file).unwrap().resident_bytes;
        assert!((4 << 20..8 << 20).contains(&resident_bytes), "{resident_bytes}");
        assert_eq!(next_data(&file, 4 << 20).unwrap(), Some(4 << 20..8 << 20));
        assert_eq!(next_data(&file, 8 << 20).unwrap(), None);
    }

    #[test]
    fn an_empty_file_is_not_resident() {
        let Some(dir) = disk_dir("an_empty_file_is_not_resident") else { return };
        let path = dir.path().join("file");
        let file = File::create_new(&path).unwrap();
        assert_eq!(mincore(&path, &file).unwrap(), Cached::default());
    }

    /// Bug 4 of the measurements: mincore calls a cold file of another user resident.
    #[test]
    fn another_users_file_gives_an_error_and_no_number() {
        if !is_nobody() {
            again_as_nobody("pages::tests::another_users_file_gives_an_error_and_no_number");
            return;
        }
        let path = Path::new("/etc/passwd");
        let file = File::open(path).unwrap();
        assert_eq!(mincore(path, &file).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        let error = cachestat(&file).unwrap_err().raw_os_error();
        assert!(matches!(error, Some(libc::EPERM | libc::ENOSYS)), "{error:?}");
    }
}
