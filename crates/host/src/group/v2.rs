//! The memory controller's files of cgroup v2.

use super::above::less_swap;
use super::control::{number, read, write};
use super::{Allowed, Version, in_front};
use crate::Root;
use crate::root::keyed;
use kvdyno_record::usage::GroupUsage;
use std::io;
use std::path::Path;

/// Sets the limit, page cache included, and keeps memory from escaping into swap.
pub(super) fn set_limit(directory: &Path, bytes: u64) -> io::Result<()> {
    write(directory, "memory.max", bytes)?;
    // Both are missing on kernels without swap or before 4.19.
    if directory.join("memory.swap.max").exists() {
        write(directory, "memory.swap.max", 0)?;
    }
    // A server of several processes dies as a whole: half a server would measure nonsense.
    if directory.join("memory.oom.group").exists() {
        write(directory, "memory.oom.group", 1)?;
    }
    Ok(())
}

/// Lets as much of the group's memory go into swap. How readily is one setting of the whole
/// machine's, which is read and left alone.
pub(super) fn allow_swap(
    root: &Root,
    directory: &Path,
    bytes: u64,
    swappiness: u32,
) -> io::Result<Allowed> {
    write(directory, "memory.swap.max", bytes)?;
    let in_force = root.number("/proc/sys/vm/swappiness");
    // Its own memory does not count there.
    let less = less_swap(root, Version::V2, directory, (0, bytes));
    let mut not_enforced: Vec<String> = less.into_iter().collect();
    // Since Linux 5.19 a group can do without it.
    if directory.join("memory.zswap.max").exists() {
        write(directory, "memory.zswap.max", 0)?;
    } else {
        not_enforced.extend(in_front(root));
    }
    if in_force != Some(swappiness) {
        let shown = in_force.map_or("not known".to_owned(), |number: u32| number.to_string());
        not_enforced.push(format!(
            "swappiness {swappiness} was asked for and is {shown}: on cgroup v2 it is the \
             machine's: sysctl vm.swappiness={swappiness}"
        ));
    }
    Ok(Allowed { swappiness: in_force, not_enforced })
}

/// The limit in force; `max` means none.
pub(super) fn limit(directory: &Path) -> Option<u64> {
    number(directory, "memory.max").ok()
}

/// Its counters.
pub(super) fn usage(directory: &Path) -> io::Result<GroupUsage> {
    let stat = read(directory, "memory.stat")?;
    let events = read(directory, "memory.events")?;
    Ok(GroupUsage {
        memory_bytes: number(directory, "memory.current")?,
        // Since Linux 5.19.
        memory_peak_bytes: number(directory, "memory.peak").ok(),
        file_bytes: keyed(&stat, "file").unwrap_or_default(),
        anon_bytes: keyed(&stat, "anon").unwrap_or_default(),
        limit_hits: keyed(&events, "max").unwrap_or_default(),
        oom_kills: keyed(&events, "oom_kill").unwrap_or_default(),
        swap_bytes: number(directory, "memory.swap.current").ok(),
    })
}

/// Frees all page cache of the group that can be freed (Linux 5.19).
pub(super) fn reclaim(directory: &Path) -> io::Result<()> {
    let bytes = number(directory, "memory.current")?;
    match write(directory, "memory.reclaim", bytes) {
        // It freed less than was asked for, which was everything.
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
        other => other,
    }
}

/// Its children may have limits of their own.
pub(super) fn limits_children(directory: &Path) -> bool {
    lists_memory(directory, "cgroup.subtree_control")
}

/// The controller is at hand in this group.
pub(super) fn has_controller(directory: &Path) -> bool {
    lists_memory(directory, "cgroup.controllers")
}

fn lists_memory(directory: &Path, file: &str) -> bool {
    let list = read(directory, file).unwrap_or_default();
    list.split_whitespace().any(|controller| controller == "memory")
}
