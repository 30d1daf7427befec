//! Simulates another boot of the machine. After a power loss the machine boots again. libmdbx, for
//! one, compares boots: it keeps unflushed data after a crash of its process, but not after a
//! reboot.

use anyhow::Context as _;
use rustix::mount::UnmountFlags;
use std::fs;
use std::io::Write as _;
use tempfile::NamedTempFile;

/// The file of the boot id, which is replaced in this process's own mount namespace.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";
const NEW_ID: &str = "/proc/sys/kernel/random/uuid";

/// A simulated boot of the machine. When it is dropped, the machine has its own boot id again.
pub(super) struct Boot(());

impl Boot {
    pub(super) fn simulate() -> anyhow::Result<Self> {
        let bound = || -> anyhow::Result<()> {
            let mut file = NamedTempFile::new()?;
            file.write_all(fs::read_to_string(NEW_ID)?.as_bytes())?;
            // A bind mount works without the file's name.
            rustix::mount::mount_bind(file.path(), BOOT_ID)?;
            Ok(())
        };
        bound().with_context(|| format!("failed to mount another boot id on {BOOT_ID}"))?;
        Ok(Self(()))
    }
}

impl Drop for Boot {
    fn drop(&mut self) {
        let _ = rustix::mount::unmount(BOOT_ID, UnmountFlags::DETACH);
    }
}
