//! Names of a host's settings that are not files of `/proc` or `/sys`.

/// The limit on memory of our own group or one above it.
pub const MEMORY_ABOVE: &str = "cgroup memory limit above";
/// The limit on CPU time of our own group or one above it, in processors.
pub const CPUS_ABOVE: &str = "cgroup cpu limit above";
/// The limits of I/O on our own group and those above it, as they are set.
pub const IO_ABOVE: &str = "cgroup io limit above";
/// The value where no group has a limit.
pub const NO_LIMIT: &str = "none";
/// The largest file below the data directory: its size and extents. Only where a doctor looked for
/// it.
pub const LARGEST_FILE: &str = "largest file";
/// How ext4 keeps its journal: `data=ordered`, `no journal`; and `nobarrier`, where that is so.
pub const JOURNAL: &str = "journal";
/// Whether the kernel has cachestat(2).
pub const CACHESTAT: &str = "cachestat";
/// Why there is no device to be metered.
pub const NO_DEVICE: &str = "no device counters";
/// Bytes in use on the volume. What is neither in use nor free to this user is held back.
pub const VOLUME_USED: &str = "volume used bytes";
/// Where the kernel lists the processor's flaws.
pub const FLAWS: &str = "/sys/devices/system/cpu/vulnerabilities";
/// The directory of DAMON's settings.
pub const DAMON: &str = "/sys/kernel/mm/damon/";
