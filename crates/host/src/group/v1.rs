//! The memory controller's files of cgroup v1.

use super::above::less_swap;
use super::control::{number, read, write};
use super::{Allowed, Version, in_front};
use crate::Root;
use crate::root::keyed;
use kvdyno_record::usage::GroupUsage;
use std::io;
use std::path::Path;

/// Memory and swap together may be this much more than memory. With both limits equal the kernel
/// would run into that of both, whose hits Linux 6.15 and later no longer count; so there is room
/// for the largest folio.
const SWAP_SLACK_BYTES: u64 = 4 << 20;

/// Sets the limit, page cache included, and keeps memory from escaping into swap.
pub(super) fn set_limit(directory: &Path, bytes: u64) -> io::Result<()> {
    write(directory, "memory.limit_in_bytes", bytes)?;
    // The group's own reclaim does not swap at all; that of a whole machine short of memory may,
    // up to the second limit, where the kernel has it (boot option swapaccount=1).
    write(directory, "memory.swappiness", 0)?;
    if directory.join("memory.memsw.limit_in_bytes").exists() {
        let both = bytes.saturating_add(SWAP_SLACK_BYTES);
        write(directory, "memory.memsw.limit_in_bytes", both)?;
    }
    Ok(())
}

/// Lets as much of the group's memory go into swap, as readily as is asked for; what of that is not
/// in force.
pub(super) fn allow_swap(
    root: &Root,
    directory: &Path,
    bytes: u64,
    swappiness: u32,
) -> io::Result<Allowed> {
    write(directory, "memory.swappiness", swappiness)?;
    let both = "memory.memsw.limit_in_bytes";
    let mut not_enforced: Vec<String> = in_front(root).into_iter().collect();
    if directory.join(both).exists() {
        let limit = number(directory, "memory.limit_in_bytes")?;
        write(directory, both, limit.saturating_add(bytes))?;
        not_enforced.extend(less_swap(root, Version::V1, directory, (limit, bytes)));
    } else {
        not_enforced.push(
            "this kernel does not count the swap of a group, whose only bound is the size of the \
             swap: boot with swapaccount=1"
                .to_owned(),
        );
    }
    Ok(Allowed { swappiness: Some(swappiness), not_enforced })
}

/// The limit in force; an unlimited group shows a number near 2^63.
pub(super) fn limit(directory: &Path) -> Option<u64> {
    let bytes = number(directory, "memory.limit_in_bytes").ok()?;
    (bytes < 1 << 60).then_some(bytes)
}

/// Its counters.
pub(super) fn usage(directory: &Path) -> io::Result<GroupUsage> {
    let stat = read(directory, "memory.stat")?;
    let oom = read(directory, "memory.oom_control")?;
    Ok(GroupUsage {
        memory_bytes: number(directory, "memory.usage_in_bytes")?,
        memory_peak_bytes: number(directory, "memory.max_usage_in_bytes").ok(),
        file_bytes: keyed(&stat, "total_cache").unwrap_or_default(),
        anon_bytes: keyed(&stat, "total_rss").unwrap_or_default(),
        limit_hits: number(directory, "memory.failcnt")?,
        // Since Linux 4.13.
        oom_kills: keyed(&oom, "oom_kill").unwrap_or_default(),
        swap_bytes: keyed(&stat, "total_swap"),
    })
}

/// Frees all page cache of the group that can be freed.
pub(super) fn reclaim(directory: &Path) -> io::Result<()> {
    write(directory, "memory.force_empty", 0)
}
