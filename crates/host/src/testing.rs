//! Helpers for tests: trees of copies, directories on a real filesystem, and visible skips.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::missing_panics_doc,
    reason = "a test's helpers fail as it does"
)]

use super::storage::FilesystemClass;
use super::{Root, Storage};
pub use kvdyno_testing::{needs_root, report_skip};
use std::fs;
#[cfg(test)]
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// This process's number in a fake tree.
pub const PID: u32 = 4242;

/// A directory that stands for `/`.
pub struct Fake {
    _directory: tempfile::TempDir,
    pub root: Root,
}

impl Default for Fake {
    fn default() -> Self {
        Self::new()
    }
}

impl Fake {
    pub fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = Root::from_directory(directory.path(), PID);
        Self { _directory: directory, root }
    }

    /// Adds a file to the tree.
    #[must_use]
    pub fn file(self, path: &str, text: &str) -> Self {
        let path = self.root.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    /// Adds a symbolic link to the tree.
    #[must_use]
    pub fn link(self, path: &str, to: &str) -> Self {
        let path = self.root.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(to, path).unwrap();
        self
    }

    /// Returns the current text of a file.
    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.root.path(path)).unwrap()
    }
}

/// Makes a directory on a real filesystem (`/tmp` is often in memory), or prints a line with the
/// reason to skip the test.
pub fn disk_dir(test: &str) -> Option<tempfile::TempDir> {
    let directory = Path::new("/var/tmp");
    let volume = Storage::from_path(&Root::system(), directory).unwrap();
    if volume.class() != FilesystemClass::Device {
        report_skip("disk", test, &format!("/var/tmp is on {}", volume.kind()));
        return None;
    }
    Some(tempfile::Builder::new().prefix("kvdyno-test-").tempdir_in(directory).unwrap())
}

#[cfg(test)]
/// Writes a file of this many bytes, all of them to the device.
pub(super) fn write_file(path: &Path, bytes: usize) {
    let mut file = std::fs::File::create(path).unwrap();
    let block = vec![0x5a; 1 << 20];
    for _ in 0..bytes >> 20 {
        file.write_all(&block).unwrap();
    }
    file.sync_all().unwrap();
}

/// The user that owns nothing.
pub(super) const NOBODY: u32 = 65534;

/// Runs one test of this binary again as user `nobody`, which it detects by [`is_nobody`]. Returns
/// `false` with a printed line if this process may not change its user, or if that user may not run
/// the binary.
pub fn again_as_nobody(test: &str) -> bool {
    use std::os::unix::process::CommandExt;
    if !needs_root(test) {
        return false;
    }
    let (_open, binary) = where_all_may_read();
    let mut command = Command::new(binary);
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]);
    command.uid(NOBODY).gid(NOBODY).current_dir("/").stdin(Stdio::null());
    match command.output() {
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stdout);
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "as nobody: {text}{errors}");
            assert!(text.contains("1 passed"), "the test was not found: {text}");
            true
        }
        Err(error) => {
            report_skip("user", test, &format!("cannot be run as another user: {error}"));
            false
        }
    }
}

/// Links or copies this binary to a path that any user may walk: build output often lies in root's
/// home.
fn where_all_may_read() -> (tempfile::TempDir, PathBuf) {
    use std::os::unix::fs::PermissionsExt;
    let program = std::env::current_exe().unwrap();
    let dir = tempfile::Builder::new().prefix("kvdyno-test-").tempdir_in("/var/tmp").unwrap();
    std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o755)).unwrap();
    let binary = dir.path().join("tests");
    if std::fs::hard_link(&program, &binary).is_err() {
        std::fs::copy(&program, &binary).unwrap();
    }
    (dir, binary)
}

/// Returns whether this process is the one that [`again_as_nobody`] started.
pub fn is_nobody() -> bool {
    rustix::process::geteuid().as_raw() == NOBODY
}
