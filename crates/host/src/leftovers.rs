//! Kernel objects that outlive a killed run and its last process: control groups, and swap.
//!
//! Their only list is the kernel's own (the groups' directories, `/proc/swaps`), which is always
//! current. Each object names its owner: a group by its name, swap by its label. The reaper reads
//! the list when its parent has died (`group::remove_dead`), and each run does before it begins.

use super::owner::Owner;
use super::{Root, group, swap};
use std::path::PathBuf;

/// Removes the groups and swap of dead runs whose reapers were killed as well, and returns their
/// paths. Groups with processes and swap in use stay: they belong to somebody.
pub fn sweep(root: &Root) -> Vec<PathBuf> {
    // Swap comes first: it may lie on a device that this run uses.
    let mut swept = swap::remove_owned(root, |owner| owner.is_gone(root));
    swept.extend(group::sweep(root));
    swept
}

/// Removes swap that a dead reaper made for this process.
pub(super) fn remove_own_swap(root: &Root) -> Vec<PathBuf> {
    let this_process = Owner::read(root, std::process::id());
    swap::remove_owned(root, |owner| owner == this_process)
}
