//! Locks on directories (flock(2)).

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// An open directory that can be locked. It is unlocked when this is dropped, and when the process
/// ends. Closing alone would not unlock it: a child between fork and exec has the file open, too.
#[derive(Debug)]
pub(super) struct DirLock(File);

impl DirLock {
    /// Opens a directory, and does not lock it yet; a link in its place is an error.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(libc::O_NOFOLLOW | libc::O_DIRECTORY);
        Ok(Self(options.open(path)?))
    }

    /// Opens a directory, or what a link to one leads to, and waits until nobody else has it
    /// locked.
    pub(super) fn wait(path: &Path) -> io::Result<Self> {
        let dir = Self(File::open(path)?);
        dir.0.lock()?;
        Ok(dir)
    }

    /// Tries to lock the directory exclusively; false: somebody else has it locked.
    pub(super) fn try_exclusive(&self) -> io::Result<bool> {
        is_locked(self.0.try_lock())
    }

    /// Tries to share a lock on the directory; false: somebody else has it locked exclusively.
    pub(super) fn try_shared(&self) -> io::Result<bool> {
        is_locked(self.0.try_lock_shared())
    }

    /// Writes the names in the directory to the device.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.0.sync_all()
    }
}

impl Drop for DirLock {
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

fn is_locked(result: Result<(), TryLockError>) -> io::Result<bool> {
    match result {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn children_do_not_prolong_a_lock() {
        let dir = tempfile::tempdir().unwrap();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !done.load(Ordering::Relaxed) {
                        Command::new("true").status().unwrap();
                    }
                });
            }
            let locked = (0..2000).filter(|_| {
                let lock = DirLock::open(dir.path()).unwrap();
                lock.try_exclusive().unwrap()
            });
            let locked = locked.count();
            done.store(true, Ordering::Relaxed);
            assert_eq!(locked, 2000);
        });
    }
}
