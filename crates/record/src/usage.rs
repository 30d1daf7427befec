//! Resource usage: raw readings of growing counters, before and after a phase. Readers of the
//! record compute differences, shares and amplifications.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One process's counters, from getrusage(2) or wait4(2) and `/proc/PID/io`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessUsage {
    /// CPU time in user mode.
    pub user_ns: u64,
    /// CPU time in the kernel.
    pub system_ns: u64,
    /// Context switches because it waited for something.
    pub voluntary_switches: u64,
    /// Context switches because it was pushed off its CPU.
    pub involuntary_switches: u64,
    /// Page faults served from memory.
    pub minor_faults: u64,
    /// Page faults that read from a device.
    pub major_faults: u64,
    /// `ru_inblock`: 512-byte units read. Not operations.
    pub input_blocks_512: u64,
    /// `ru_oublock`: 512-byte units *dirtied*, whole folios at a time. Not what the device wrote;
    /// kept because published studies quote it.
    pub output_blocks_512: u64,
    /// `ru_maxrss`: most memory ever resident, mapped files included.
    pub rss_peak_bytes: u64,
    /// `/proc/PID/io`; null where it cannot be read.
    pub io: Option<ProcessIo>,
}

impl ProcessUsage {
    /// Two processes' usage together. Their peaks of memory are added: each has its own.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        Self {
            user_ns: self.user_ns + other.user_ns,
            system_ns: self.system_ns + other.system_ns,
            voluntary_switches: self.voluntary_switches + other.voluntary_switches,
            involuntary_switches: self.involuntary_switches + other.involuntary_switches,
            minor_faults: self.minor_faults + other.minor_faults,
            major_faults: self.major_faults + other.major_faults,
            input_blocks_512: self.input_blocks_512 + other.input_blocks_512,
            output_blocks_512: self.output_blocks_512 + other.output_blocks_512,
            rss_peak_bytes: self.rss_peak_bytes + other.rss_peak_bytes,
            io: self.io.zip(other.io).map(|(one, other)| one.and(&other)),
        }
    }
}

/// `/proc/PID/io`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessIo {
    /// Bytes through read-like system calls.
    pub read_chars: u64,
    /// Bytes through write-like system calls.
    pub write_chars: u64,
    /// Read-like system calls.
    pub read_calls: u64,
    /// Write-like system calls.
    pub write_calls: u64,
    /// Bytes fetched from a device on its behalf.
    pub read_bytes: u64,
    /// Bytes of pages it dirtied.
    pub write_bytes: u64,
    /// Bytes of these pages that were truncated away before they were written.
    pub cancelled_write_bytes: u64,
}

impl ProcessIo {
    fn and(&self, other: &Self) -> Self {
        Self {
            read_chars: self.read_chars + other.read_chars,
            write_chars: self.write_chars + other.write_chars,
            read_calls: self.read_calls + other.read_calls,
            write_calls: self.write_calls + other.write_calls,
            read_bytes: self.read_bytes + other.read_bytes,
            write_bytes: self.write_bytes + other.write_bytes,
            cancelled_write_bytes: self.cancelled_write_bytes + other.cancelled_write_bytes,
        }
    }
}

/// A block device's counters, from `/sys/block/X/stat` (or the partition's).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceUsage {
    /// The kernel's name: `nvme0n1`.
    pub device: String,
    /// Reads completed.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Time reads waited and were served, summed (milliseconds in the kernel).
    pub read_ns: u64,
    /// Writes completed.
    pub writes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Time writes waited and were served, summed.
    pub write_ns: u64,
    /// Time in which at least one request was in flight.
    pub busy_ns: u64,
    /// Time-weighted sum of requests in flight: divided by wall time, the mean queue depth.
    pub queue_ns: u64,
    /// Discards completed.
    pub discards: u64,
    /// Bytes discarded.
    pub discard_bytes: u64,
    /// Flushes completed; null before Linux 5.5.
    pub flushes: Option<u64>,
    /// Time flushes waited and were served, summed; null before Linux 5.5.
    pub flush_ns: Option<u64>,
}

impl DeviceUsage {
    /// Returns what was counted after `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        self.continue_times(before).with(before, u64::saturating_sub)
    }

    /// Continues the times of `before`: the kernel has 32 bits for their milliseconds, so that they
    /// begin anew after 49.7 days. A device that was made anew has fewer requests as well: its
    /// times are left as they are.
    #[must_use]
    pub fn continue_times(&self, before: &Self) -> Self {
        const WRAP_NS: u64 = (1 << 32) * 1_000_000;
        if self.reads < before.reads || self.writes < before.writes {
            return self.clone();
        }
        let continued = |ns: u64, before_ns: u64| if ns < before_ns { ns + WRAP_NS } else { ns };
        Self {
            read_ns: continued(self.read_ns, before.read_ns),
            write_ns: continued(self.write_ns, before.write_ns),
            busy_ns: continued(self.busy_ns, before.busy_ns),
            queue_ns: continued(self.queue_ns, before.queue_ns),
            flush_ns: self.flush_ns.map(|ns| continued(ns, before.flush_ns.unwrap_or(0))),
            ..self.clone()
        }
    }

    /// Adds the counts of another time.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        self.with(other, |one, other| one + other)
    }

    fn with(&self, other: &Self, combine: fn(u64, u64) -> u64) -> Self {
        Self {
            device: self.device.clone(),
            reads: combine(self.reads, other.reads),
            read_bytes: combine(self.read_bytes, other.read_bytes),
            read_ns: combine(self.read_ns, other.read_ns),
            writes: combine(self.writes, other.writes),
            write_bytes: combine(self.write_bytes, other.write_bytes),
            write_ns: combine(self.write_ns, other.write_ns),
            busy_ns: combine(self.busy_ns, other.busy_ns),
            queue_ns: combine(self.queue_ns, other.queue_ns),
            discards: combine(self.discards, other.discards),
            discard_bytes: combine(self.discard_bytes, other.discard_bytes),
            flushes: self.flushes.zip(other.flushes).map(|(a, b)| combine(a, b)),
            flush_ns: self.flush_ns.zip(other.flush_ns).map(|(a, b)| combine(a, b)),
        }
    }
}

/// Usage of a role's threads alone, from the common start to the end of each thread's last
/// operation. [`ProcessUsage`] includes the engine's own threads as well.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadsUsage {
    /// Time from the first reading, at the latest from the common start, to the last, summed over
    /// the threads. The other times are parts of it.
    pub time_ns: u64,
    /// CPU time in user mode.
    pub user_ns: u64,
    /// CPU time in the kernel.
    pub system_ns: u64,
    /// Time that they were runnable without a CPU (`schedstat`); null where the kernel does not
    /// report it.
    pub runqueue_ns: Option<u64>,
    /// Context switches because they waited for something.
    pub voluntary_switches: u64,
    /// Context switches because they were pushed off their CPU.
    pub involuntary_switches: u64,
    /// Page faults served from memory.
    pub minor_faults: u64,
    /// Page faults that read from a device.
    pub major_faults: u64,
}

impl ThreadsUsage {
    /// The usage since an earlier reading of the same thread.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        self.with(before, u64::saturating_sub)
    }

    /// Two threads' usage together.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        self.with(other, |one, other| one + other)
    }

    fn with(&self, other: &Self, combine: fn(u64, u64) -> u64) -> Self {
        Self {
            time_ns: combine(self.time_ns, other.time_ns),
            user_ns: combine(self.user_ns, other.user_ns),
            system_ns: combine(self.system_ns, other.system_ns),
            runqueue_ns: self.runqueue_ns.zip(other.runqueue_ns).map(|(a, b)| combine(a, b)),
            voluntary_switches: combine(self.voluntary_switches, other.voluntary_switches),
            involuntary_switches: combine(self.involuntary_switches, other.involuntary_switches),
            minor_faults: combine(self.minor_faults, other.minor_faults),
            major_faults: combine(self.major_faults, other.major_faults),
        }
    }
}

/// The prefix of the names of a worker's threads: `kvdyno-0` drives the first role of its phase.
pub const THREAD_NAME: &str = "kvdyno-";

/// Wait-state samples of a role's threads (`/proc/PID/task/TID/syscall`, some twenty times a
/// second), counted since the case began. A thread waits in a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WaitSamples {
    /// On a CPU, or ready and without one.
    pub running: u64,
    /// Waiting in a call that reads a file, or for a page of a mapped one.
    pub read: u64,
    /// Waiting in a call that writes to a file.
    pub write: u64,
    /// Waiting in a call that makes writes durable: fsync, fdatasync, msync, `sync_file_range`.
    pub sync: u64,
    /// Waiting for completions of a ring or of asynchronous I/O.
    pub ring: u64,
    /// Waiting for another thread (futex).
    pub lock: u64,
    /// Asleep until a time.
    pub sleep: u64,
    /// Waiting for another process: sockets, pipes, polls.
    pub network: u64,
    /// Waiting in any other call.
    pub other: u64,
}

/// A memory cgroup's counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GroupUsage {
    /// Memory charged now.
    pub memory_bytes: u64,
    /// The peak; null where the kernel does not report it.
    pub memory_peak_bytes: Option<u64>,
    /// Page cache in the charged memory.
    pub file_bytes: u64,
    /// Anonymous memory in the charged memory.
    pub anon_bytes: u64,
    /// How often the limit was hit.
    pub limit_hits: u64,
    /// Processes killed at the limit.
    pub oom_kills: u64,
    /// Swapped out now; null where the kernel does not report it.
    pub swap_bytes: Option<u64>,
}

/// Counts of the processor for a process and all that it started, in user mode
/// (`perf_event_open(2)`); null: the processor does not count this.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessorUsage {
    /// Instructions retired.
    pub instructions: Option<EventCount>,
    /// Cycles.
    pub cycles: Option<EventCount>,
    /// Accesses that the caches did not have; of the last level, where the processor has several.
    pub cache_misses: Option<EventCount>,
    /// Branches predicted wrongly.
    pub branch_misses: Option<EventCount>,
}

/// One of the processor's counters: its name, and a function that returns its count.
pub type CounterOf = (&'static str, fn(&ProcessorUsage) -> Option<EventCount>);

/// The text between the names of counters and the reason why they do not count.
const BY_PROCESSOR: &str = " by the processor: ";

impl ProcessorUsage {
    /// All counters, by name.
    pub const ALL: [CounterOf; 4] = [
        ("instructions", |usage| usage.instructions),
        ("cycles", |usage| usage.cycles),
        ("cache misses", |usage| usage.cache_misses),
        ("branch misses", |usage| usage.branch_misses),
    ];

    /// Formats the sentence, for what was not measured, that some counters do not count.
    pub fn format_uncounted(names: &[&str], why: &str) -> String {
        format!("{}{BY_PROCESSOR}{why}", names.join(", "))
    }

    /// Returns why a counter does not count, from those sentences.
    pub fn uncounted_reason<'s>(name: &str, not_measured: &'s [String]) -> Option<&'s str> {
        let reasons = not_measured.iter().filter_map(|sentence| sentence.split_once(BY_PROCESSOR));
        let mut its_own = reasons.filter(|(names, _)| names.split(", ").any(|other| other == name));
        its_own.next().map(|(_, why)| why)
    }
}

/// A counter of the processor. Where there are more of them than the processor has room for, each
/// runs for a part of the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EventCount {
    /// Events counted while it ran.
    pub count: u64,
    /// Time that it was to run, summed over the threads.
    pub enabled_ns: u64,
    /// Time that it did run, summed over the threads.
    pub running_ns: u64,
}

/// All counters at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Snapshot {
    /// Time of the readings by the system's clock, in nanoseconds since 1970.
    pub at_unix_ns: u64,
    /// Usage of the worker.
    pub process: Option<ProcessUsage>,
    /// A server's processes summed, with those that have ended; null: the engine is in the worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ProcessUsage>,
    /// Whether the engine is an attached server, whose usage is unknown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub elsewhere: bool,
    /// The processor's counters of the engine's process; null where not requested or not available.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processor: Option<ProcessorUsage>,
    /// The device under the volume; null where there is none or it has no counters.
    pub device: Option<DeviceUsage>,
    /// The group with the RAM limit; null where there is none.
    pub group: Option<GroupUsage>,
    /// The device that the case may swap to: its reads are memory swapped in; null: it has none.
    pub swap: Option<DeviceUsage>,
    /// CPU time of the whole machine stolen by the hypervisor.
    pub steal_ns: Option<u64>,
    /// Wait-state samples by role; null where they cannot be read.
    pub wait_samples: Option<BTreeMap<String, WaitSamples>>,
}

impl Snapshot {
    /// The usage of the engine: its server, or the worker that it is in.
    pub fn engine(&self) -> Option<&ProcessUsage> {
        if self.elsewhere {
            return None;
        }
        self.server.as_ref().or(self.process.as_ref())
    }
}

impl ProcessUsage {
    /// Returns each count as it is here, or as it is in `before` where that is more.
    #[must_use]
    pub fn at_least(&self, before: &Self) -> Self {
        let io = match (&self.io, &before.io) {
            (Some(now), Some(before)) => Some(ProcessIo {
                read_chars: now.read_chars.max(before.read_chars),
                write_chars: now.write_chars.max(before.write_chars),
                read_calls: now.read_calls.max(before.read_calls),
                write_calls: now.write_calls.max(before.write_calls),
                read_bytes: now.read_bytes.max(before.read_bytes),
                write_bytes: now.write_bytes.max(before.write_bytes),
                cancelled_write_bytes: now.cancelled_write_bytes.max(before.cancelled_write_bytes),
            }),
            (now, _) => *now,
        };
        Self {
            user_ns: self.user_ns.max(before.user_ns),
            system_ns: self.system_ns.max(before.system_ns),
            voluntary_switches: self.voluntary_switches.max(before.voluntary_switches),
            involuntary_switches: self.involuntary_switches.max(before.involuntary_switches),
            minor_faults: self.minor_faults.max(before.minor_faults),
            major_faults: self.major_faults.max(before.major_faults),
            input_blocks_512: self.input_blocks_512.max(before.input_blocks_512),
            output_blocks_512: self.output_blocks_512.max(before.output_blocks_512),
            rss_peak_bytes: self.rss_peak_bytes.max(before.rss_peak_bytes),
            io,
        }
    }
}

/// How large a database is on its volume.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DatabaseSize {
    /// Bytes that hold data: of each file the smaller of its length and its allocated and written
    /// blocks.
    pub used_bytes: u64,
    /// Bytes allocated beyond that: set aside for later writes.
    #[serde(default)]
    pub reserved_bytes: u64,
    /// Sum of file lengths.
    pub apparent_bytes: u64,
    /// Number of files.
    pub files: u64,
}

/// How much of a database is in the page cache.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Residency {
    /// Bytes of the files that were looked at.
    pub file_bytes: u64,
    /// Bytes of these files in memory.
    pub resident_bytes: u64,
    /// Bytes of these files in memory that are not yet written back.
    pub dirty_bytes: u64,
    /// The source: `cachestat` or `mincore`.
    pub method: String,
}
