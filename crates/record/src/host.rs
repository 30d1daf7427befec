//! The machine: facts that decide figures, read before and after a run. Null where the host does
//! not report them. Their source files are copied to `host/`.

pub mod settings;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Host {
    /// Time of the reading by the system's clock, in nanoseconds since 1970.
    pub at_unix_ns: u64,
    /// `uname -n`.
    pub hostname: String,
    /// Identity of the machine: a one-way hash of its machine-id(5); null where it has none, and in
    /// old records.
    pub machine_id: Option<String>,
    /// `uname -r`.
    pub kernel: String,
    /// Name of the operating system, from os-release.
    pub os: String,
    /// `x86_64`, `aarch64`.
    pub architecture: String,
    /// Processor, memory and clocks.
    pub machine: Machine,
    /// The volume's filesystem.
    pub filesystem: Option<Filesystem>,
    /// The block device under it.
    pub drive: Option<Drive>,
    /// Whether the effective user is root.
    pub root: bool,
    /// `cgroup v1`, `cgroup v2`, or why a RAM limit cannot be set here.
    pub ram_limit: Availability,
    /// Whether the whole machine's caches can be dropped.
    pub drop_caches: Availability,
    /// Whether block I/O can be watched in the kernel; null in old records.
    pub block_io: Option<Availability>,
    /// Everything else, by path or name: sysctls, sysfs switches, limits.
    pub settings: BTreeMap<String, String>,
}

/// Whether something is available here, and by what means or why not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Availability {
    /// Whether it is available.
    pub available: bool,
    /// The means, or why it is not available and the remedy.
    pub detail: String,
}

/// Processor, memory and clocks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Machine {
    /// As `/proc/cpuinfo` names it.
    pub cpu_model: String,
    /// Processors this process may use.
    pub cpus: u32,
    /// Memory of the machine.
    pub memory_bytes: u64,
    /// Memory of the machine that is not in use.
    pub memory_available_bytes: u64,
    /// Swap space.
    pub swap_bytes: u64,
    /// NUMA nodes.
    pub numa_nodes: u32,
    /// Whether it runs under a hypervisor.
    pub virtual_machine: Option<bool>,
    /// The kernel's clock source: `tsc`, `kvm-clock`, `hpet`.
    pub clocksource: Option<String>,
    /// Frequency governor of cpu0.
    pub governor: Option<String>,
    /// Transparent huge pages: `always`, `madvise`, `never`.
    pub transparent_hugepage: Option<String>,
    /// Time stolen by the hypervisor since boot.
    pub steal_ns: Option<u64>,
    /// 1-minute load average.
    pub load_1m: Option<f64>,
    /// `/proc/pressure/{cpu,io,memory}`: share of the last 10 s in which some task waited, percent.
    pub pressure_some_avg10: BTreeMap<String, f64>,
    /// How long limits of CPU time have stopped threads since the cgroups were made: the sum over
    /// our own group and those above it; null where none has such a limit.
    pub throttled_ns: Option<u64>,
}

/// A filesystem.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Filesystem {
    /// `ext4`, `xfs`, `tmpfs`.
    pub kind: String,
    /// Where it is mounted.
    pub mount_point: String,
    /// Per-mount and superblock options, comma-separated.
    pub options: String,
    /// The device or other source that is mounted.
    pub source: String,
    /// Its size.
    pub total_bytes: u64,
    /// Free to this user.
    pub free_bytes: u64,
}

/// A block device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Drive {
    /// The kernel's name of the whole device.
    pub name: String,
    /// As the device reports it.
    pub model: Option<String>,
    /// Its firmware's revision, as the device reports it; null in old records.
    pub firmware: Option<String>,
    /// Its size.
    pub bytes: u64,
    /// `queue/rotational`.
    pub rotational: Option<bool>,
    /// The scheduler in force.
    pub scheduler: Option<String>,
    /// `queue/read_ahead_kb`, in bytes.
    pub read_ahead_bytes: Option<u64>,
    /// Its write cache: `write back`, `write through`.
    pub write_cache: Option<String>,
    /// Whether the kernel counts its requests.
    pub iostats: Option<bool>,
    /// All of `queue/`, verbatim.
    pub queue: BTreeMap<String, String>,
    /// Its report on wear and temperature; null where it has none, or not for this user.
    pub health: Option<DriveHealth>,
}

/// The health report of a drive (SMART): null where it does not report it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DriveHealth {
    /// The source: `NVMe log 2`, `smartctl`.
    pub source: String,
    /// Its own verdict: nothing is critical (`NVMe`), the self-assessment passed (SATA).
    pub healthy: Option<bool>,
    /// Share of the writes that it was made for, in percent; may be over 100.
    pub percentage_used: Option<u64>,
    /// In whole degrees Celsius.
    pub temperature_c: Option<i64>,
    /// Bytes that hosts wrote to it in its life, in steps of 512,000.
    pub written_bytes: Option<u64>,
    /// Times that data could not be read back.
    pub media_errors: Option<u64>,
    /// Minutes in its life in which it was too hot for full speed.
    pub hot_minutes: Option<u64>,
}

impl DriveHealth {
    /// Whether it is failing, worn or hot, by its own account.
    pub fn is_unwell(&self) -> bool {
        // From here on a drive is worn, or so warm that it may slow itself down.
        const USED_PERCENT_MAX: u64 = 80;
        const TEMPERATURE_C_MAX: i64 = 70;
        self.healthy == Some(false)
            || self.percentage_used.is_some_and(|percent| percent >= USED_PERCENT_MAX)
            || self.temperature_c.is_some_and(|degrees| degrees >= TEMPERATURE_C_MAX)
    }

    /// `healthy, 3 % of its life used, 41 C`: as much of it as is reported.
    pub fn to_text(&self) -> String {
        let verdict = self.healthy.map(|well| if well { "healthy" } else { "FAILING" }.to_owned());
        let used = self.percentage_used.map(|percent| format!("{percent} % of its life used"));
        let warm = self.temperature_c.map(|degrees| format!("{degrees} C"));
        let errors = self.media_errors.filter(|n| *n > 0).map(|n| format!("{n} media errors"));
        let hot = self.hot_minutes.filter(|n| *n > 0).map(|n| format!("{n} minutes too hot"));
        let words = [verdict, used, warm, errors, hot].into_iter().flatten();
        words.collect::<Vec<_>>().join(", ")
    }
}

impl Host {
    /// The switch of a DAMON thread that runs.
    pub fn damon_switch(&self) -> Option<&str> {
        let damon = |path: &str| path.starts_with(settings::DAMON);
        let mut switches = self.settings.iter().filter(|(path, _)| damon(path));
        switches.find(|(_, state)| *state == "on").map(|(path, _)| path.as_str())
    }
}
