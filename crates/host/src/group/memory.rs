//! The memory controller's files, as cgroup v1 and v2 name them.

use super::control::{number, read, write};
use super::hierarchy::Version;
use crate::Root;
use crate::root::number_by_key;
use kvdyno_record::usage::GroupUsage;
use std::io;
use std::path::Path;

/// Memory and swap together may be this much more than memory (v1). With both limits equal the
/// kernel would run into that of both, whose hits Linux 6.15 and later no longer count; so there is
/// room for the largest folio.
const SWAP_SLACK_BYTES: u64 = 4 << 20;

/// The file with the limit on memory and swap together, on v1.
const BOTH: &str = "memory.memsw.limit_in_bytes";

/// The swap settings of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allowed {
    /// The swappiness; `None` where it cannot be read.
    pub swappiness: Option<u32>,
    /// Settings that are not in force, each as a sentence with its remedy.
    pub not_enforced: Vec<String>,
}

impl Version {
    fn select<T>(self, v1: T, v2: T) -> T {
        match self {
            Self::V1 => v1,
            Self::V2 => v2,
        }
    }

    /// Sets the limit, page cache included, and keeps memory from escaping into swap.
    pub(super) fn set_limit(self, directory: &Path, bytes: u64) -> io::Result<()> {
        write(directory, self.select("memory.limit_in_bytes", "memory.max"), bytes)?;
        let also: &[(&str, u64)] = match self {
            // The group's own reclaim does not swap at all; that of a whole machine short of memory
            // may, up to the second limit, where the kernel has it (boot option swapaccount=1).
            Self::V1 => {
                write(directory, "memory.swappiness", 0)?;
                &[(BOTH, bytes.saturating_add(SWAP_SLACK_BYTES))]
            }
            // Both are missing on kernels without swap or before 4.19. A server with several
            // processes is killed as a whole: half a server would distort the measurement.
            Self::V2 => &[("memory.swap.max", 0), ("memory.oom.group", 1)],
        };
        let mut existing = also.iter().filter(|(file, _)| directory.join(file).exists());
        existing.try_for_each(|(file, value)| write(directory, file, value))
    }

    /// Lets this much of the group's memory go into swap, with this swappiness. Returns the
    /// settings that are not in force. On v2 swappiness is a setting of the whole machine, which is
    /// read and not changed.
    pub(super) fn allow_swap(
        self,
        root: &Root,
        directory: &Path,
        bytes: u64,
        swappiness: u32,
    ) -> io::Result<Allowed> {
        let mut not_enforced = Vec::new();
        if self == Self::V1 {
            write(directory, "memory.swappiness", swappiness)?;
            not_enforced.extend(find_zswap(root));
            if directory.join(BOTH).exists() {
                let limit = number(directory, "memory.limit_in_bytes")?;
                write(directory, BOTH, limit.saturating_add(bytes))?;
                not_enforced.extend(less_swap(root, self, directory, (limit, bytes)));
            } else {
                not_enforced.push(
                    "this kernel does not limit the swap of a group: boot with swapaccount=1"
                        .to_owned(),
                );
            }
            return Ok(Allowed { swappiness: Some(swappiness), not_enforced });
        }
        write(directory, "memory.swap.max", bytes)?;
        // A v2 limit is on swap alone: the group's memory does not count.
        not_enforced.extend(less_swap(root, self, directory, (0, bytes)));
        // Since Linux 5.19 a group can do without zswap.
        if directory.join("memory.zswap.max").exists() {
            write(directory, "memory.zswap.max", 0)?;
        } else {
            not_enforced.extend(find_zswap(root));
        }
        let in_force = root.number("/proc/sys/vm/swappiness");
        if in_force != Some(swappiness) {
            let found = in_force.map_or("not known".to_owned(), |number: u32| number.to_string());
            not_enforced.push(format!(
                "expected swappiness {swappiness}, found {found}: cgroup v2 uses the machine's: \
                 sysctl vm.swappiness={swappiness}"
            ));
        }
        Ok(Allowed { swappiness: in_force, not_enforced })
    }

    /// Returns the limit in force. Without one v1 shows a number near 2^63, and v2 `max`.
    pub(super) fn limit(self, directory: &Path) -> Option<u64> {
        let bytes = number(directory, self.select("memory.limit_in_bytes", "memory.max")).ok()?;
        (bytes < 1 << 60).then_some(bytes)
    }

    /// The group's counters.
    pub(super) fn usage(self, directory: &Path) -> io::Result<GroupUsage> {
        let stat = read(directory, "memory.stat")?;
        let events = read(directory, self.select("memory.oom_control", "memory.events"))?;
        let counted = |v1, v2| number_by_key(&stat, self.select(v1, v2)).unwrap_or_default();
        let value_of = |v1, v2| number(directory, self.select(v1, v2));
        Ok(GroupUsage {
            memory_bytes: value_of("memory.usage_in_bytes", "memory.current")?,
            // On v2 since Linux 5.19.
            memory_peak_bytes: value_of("memory.max_usage_in_bytes", "memory.peak").ok(),
            file_bytes: counted("total_cache", "file"),
            anon_bytes: counted("total_rss", "anon"),
            limit_hits: match self {
                Self::V1 => number(directory, "memory.failcnt")?,
                Self::V2 => number_by_key(&events, "max").unwrap_or_default(),
            },
            // On v1 since Linux 4.13.
            oom_kills: number_by_key(&events, "oom_kill").unwrap_or_default(),
            swap_bytes: match self {
                Self::V1 => number_by_key(&stat, "total_swap"),
                Self::V2 => number(directory, "memory.swap.current").ok(),
            },
        })
    }

    /// Resets the recorded peak, on v1 only.
    pub(super) fn forget_peak(self, directory: &Path) {
        if self == Self::V1 {
            let _ = write(directory, "memory.max_usage_in_bytes", 0);
        }
    }

    /// Frees all page cache of the group that can be freed (on v2 since Linux 5.19).
    pub(super) fn reclaim(self, directory: &Path) -> io::Result<()> {
        if self == Self::V1 {
            return write(directory, "memory.force_empty", 0);
        }
        let bytes = number(directory, "memory.current")?;
        match write(directory, "memory.reclaim", bytes) {
            // The kernel freed less than everything.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            other => other,
        }
    }
}

/// Whether a v2 list of controllers names memory. `cgroup.controllers` lists those available in
/// this group, `cgroup.subtree_control` those for its children.
pub(super) fn is_listed(directory: &Path, list: &str) -> bool {
    let list = read(directory, list).unwrap_or_default();
    list.split_whitespace().any(|controller| controller == "memory")
}

/// Returns a sentence if zswap is on: it keeps swapped pages compressed in memory, not on a device.
fn find_zswap(root: &Root) -> Option<String> {
    const SWITCH: &str = "/sys/module/zswap/parameters/enabled";
    let on = root.text(SWITCH).is_some_and(|text| text == "Y");
    on.then(|| format!("zswap keeps swapped memory compressed in RAM: echo N > {SWITCH}"))
}

/// Returns a sentence with a remedy if a group above allows less than `bytes` of swap to a group
/// with `limit_bytes` of memory.
fn less_swap(
    root: &Root,
    version: Version,
    group: &Path,
    (limit_bytes, bytes): (u64, u64),
) -> Option<String> {
    let allowed = group.ancestors().skip(1).filter_map(|above| {
        let swap = match version {
            // This limit is on memory and swap together.
            Version::V1 => number(above, BOTH).ok()?.saturating_sub(limit_bytes),
            Version::V2 => number(above, "memory.swap.max").ok()?,
        };
        Some((above, swap))
    });
    let (above, least) = allowed.min_by_key(|(_, swap)| *swap).filter(|(_, swap)| *swap < bytes)?;
    Some(format!(
        "expected {bytes} bytes of swap, found a limit of {least} on {}: raise it (docker: \
         --memory-swap, systemd: MemorySwapMax)",
        root.strip_base(above).display()
    ))
}
