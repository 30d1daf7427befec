//! What the kernel keeps of a run that is killed, and that is not gone with the last process that
//! had it open: control groups, and swap.
//!
//! The one list of them is the kernel's own (the groups' folders, `/proc/swaps`), which is never
//! out of date: each thing says itself whose it is, a group by its name, swap by its label. The
//! reaper reads it when it has seen its maker die (`group::bury`), and each run before it
//! begins.

use super::owner::Owner;
use super::{Root, group, swap};
use std::path::PathBuf;

/// Takes away what those left that are gone, and whose reaper was killed as well; what that
/// was. What has a process in it, or is used, stays all the same: it is somebody's still.
pub fn sweep(root: &Root) -> Vec<PathBuf> {
    // First swap: a device that it lies on may be this run's.
    let mut swept = swap::take_away(root, |owner| owner.is_gone(root));
    swept.extend(group::sweep(root));
    swept
}

/// Removes swap that a dead reaper made for this process.
pub(super) fn take_back(root: &Root) -> Vec<PathBuf> {
    let ours = Owner::read(root, std::process::id());
    swap::take_away(root, |owner| owner == ours)
}
