//! The machine's boot, as a program sees it. A power loss is followed by another one, and libmdbx
//! for one asks which it is: what was not flushed it keeps after a crash of its process, and not
//! after one of the machine.

use anyhow::Context as _;
use rustix::mount::UnmountFlags;
use std::fs;
use std::io::Write as _;
use tempfile::NamedTempFile;

/// Of the mount namespace that this process is alone in.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";
const NEW_ID: &str = "/proc/sys/kernel/random/uuid";

/// From now on the machine is another boot's, until this process ends.
pub(super) fn again() -> anyhow::Result<()> {
    let bound = || -> anyhow::Result<()> {
        let mut file = NamedTempFile::new()?;
        file.write_all(fs::read_to_string(NEW_ID)?.as_bytes())?;
        // The one of the boot before, if any: nothing can be bound over what has lost its name.
        let _ = rustix::mount::unmount(BOOT_ID, UnmountFlags::DETACH);
        // What is bound lasts without its name.
        rustix::mount::mount_bind(file.path(), BOOT_ID)?;
        Ok(())
    };
    bound().with_context(|| format!("failed to stand another boot in {BOOT_ID}"))
}
