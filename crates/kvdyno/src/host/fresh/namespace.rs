//! A mount namespace of our own: what is mounted in it nobody else sees, and it is gone with the
//! last process in it.

#![expect(unsafe_code, reason = "unshare(2) with flags that a caller could get wrong")]

use rustix::mount::{MountPropagationFlags, mount_change};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::io;

/// Takes this thread, and all that it starts from now on, into a mount namespace of its own. What
/// others mount and unmount still shows in it, so that it holds on to none of their drives; what is
/// mounted in it shows nowhere else.
pub fn enter() -> io::Result<()> {
    // SAFETY: NEWNS unshares mounts, working directory and umask; what makes the call unsafe is
    // unsharing file descriptors, and none are.
    unsafe { unshare_unsafe(UnshareFlags::NEWNS) }?;
    let downstream = MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC;
    mount_change("/", downstream)?;
    Ok(())
}
