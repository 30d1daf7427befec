//! A server whose records are on a block device, which is locked for the server. Its other files
//! are in memory, in a directory without a name that vanishes with the last process that has it
//! open.

use kvdyno_engine::{Error, ErrorClass, Result};
use rustix::fs::OFlags;
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long to wait for a device: a program that examines it has it open for a moment, a killed
/// server until it has ended.
const PATIENCE: Duration = Duration::from_secs(30);

/// A device and the directory for its server, held by the supervisor for as long as it may start
/// the server anew.
pub(crate) struct OnDevice {
    /// The device, opened exclusively: it cannot be mounted meanwhile.
    _device: File,
    dir: OwnedFd,
}

impl OnDevice {
    pub(crate) fn acquire(device: &Path) -> Result<Self> {
        let refused = |what: &str, error: io::Error| {
            let what = format!("failed to {what}: {error}");
            Error::new(ErrorClass::Unavailable, what)
        };
        let file = open_exclusive(device)
            .map_err(|error| refused(&format!("open {}", device.display()), error))?;
        // The server inherits the open file, so the device stays locked until the server has ended.
        fcntl_setfd(&file, FdFlags::empty()).map_err(io::Error::from)?;
        let dir = mount_tmpfs()
            .map_err(|error| refused("make a directory in memory (root, Linux 5.2)", error))?;
        Ok(Self { _device: file, dir })
    }

    /// The path of the directory, for this process and for its children until they execute another
    /// program. It may stay their working directory.
    pub(crate) fn dir(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.dir.as_raw_fd()))
    }
}

fn open_exclusive(device: &Path) -> io::Result<File> {
    let (begun, exclusive) = (Instant::now(), OFlags::EXCL.bits().cast_signed());
    loop {
        match File::options().read(true).write(true).custom_flags(exclusive).open(device) {
            Err(error)
                if error.kind() == io::ErrorKind::ResourceBusy && begun.elapsed() < PATIENCE =>
            {
                sleep(Duration::from_millis(10));
            }
            opened => return opened,
        }
    }
}

/// Makes a filesystem in memory that is mounted nowhere.
fn mount_tmpfs() -> io::Result<OwnedFd> {
    let files = fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(files.as_fd())?;
    let whole = MountAttrFlags::empty();
    Ok(fsmount(files.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, whole)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kvdyno_testing::needs_root;
    use std::process::{Command, Stdio};

    #[test]
    fn a_child_works_in_the_directory_and_nothing_is_mounted() {
        if !needs_root("a_child_works_in_the_directory_and_nothing_is_mounted") {
            return;
        }
        let mounts = || std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        let before = mounts();
        let on_device =
            OnDevice { _device: tempfile::tempfile().unwrap(), dir: mount_tmpfs().unwrap() };
        std::fs::create_dir(on_device.dir().join("below")).unwrap();
        let mut child = Command::new("sh");
        child.args(["-c", "read x; echo kept > below/file; cat below/file"]);
        child.stdin(Stdio::piped()).stdout(Stdio::piped()).current_dir(on_device.dir());
        let child = child.spawn().unwrap();
        assert_eq!(mounts(), before);
        drop(on_device);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.stdout, b"kept\n", "it outlives whoever made it");
    }
}
