//! What can limit a role, with its words for tables and answers.

use schemars::JsonSchema;
use serde::Serialize;

/// What limits a role: the part that took most of its threads' time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// Computing in user mode.
    CpuUser,
    /// Computing in the kernel.
    CpuSystem,
    /// Ready to run, with no CPU free.
    NoCpu,
    /// Writes that each wait for a flush of the drive's cache.
    Flushes,
    /// Syncs of earlier writes, many writes at a time.
    Syncs,
    /// Reads, one after the other.
    Reads,
    /// Calls that write.
    Writes,
    /// A drive at its limit.
    DriveFull,
    /// The device, by an unknown kind of request.
    Device,
    /// The engine stalled its writers.
    Stalls,
    /// Waiting for other threads.
    Lock,
    /// Nothing was due.
    Schedule,
    /// Waiting for a server.
    Server,
    /// No part took half of the time.
    Turns,
}

impl Cause {
    /// In a table cell.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::CpuUser => "CPU user",
            Self::CpuSystem => "CPU sys",
            Self::NoCpu => "CPU wait",
            Self::Flushes => "flushes",
            Self::Syncs => "syncs",
            Self::Reads => "reads",
            Self::Writes => "writes",
            Self::DriveFull => "drive full",
            Self::Device => "device",
            Self::Stalls => "stalls",
            Self::Lock => "lock",
            Self::Schedule => "schedule",
            Self::Server => "server",
            Self::Turns => "mixed",
        }
    }

    /// In an answer, after the share of the drive that an engine reaches.
    pub fn clause(self) -> &'static str {
        match self {
            Self::CpuUser | Self::CpuSystem => "limited by the CPU",
            Self::NoCpu => "limited by other users of the CPUs",
            Self::Flushes => "limited by the drive's flushes",
            Self::Syncs => "limited by syncs to the drive",
            Self::Reads => "limited by the latency of single reads",
            Self::Writes => "limited by the latency of single writes",
            Self::DriveFull => "limited by the drive",
            Self::Device => "limited by the latency of the drive",
            Self::Stalls => "limited by the engine's stalls",
            Self::Lock => "limited by waits for other threads",
            Self::Schedule => "at its offered rate",
            Self::Server => "limited by the server",
            Self::Turns => "no single bottleneck",
        }
    }

    /// Whether it is computing, in either mode.
    pub fn is_cpu(self) -> bool {
        matches!(self, Self::CpuUser | Self::CpuSystem)
    }
}
