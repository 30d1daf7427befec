//! The questions that engines are ranked by, in the order of the tables.

use crate::figures::catalogue as c;
use crate::figures::group::Does;
use crate::figures::metric::Definition;
use schemars::JsonSchema;
use serde::Serialize;

/// A question that engines are ranked by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Question {
    /// Records loaded per second.
    Loading,
    /// Lookups per second.
    Reads,
    /// Writes per second: inserts, updates, deletes.
    Writes,
    /// Scans per second.
    Scans,
    /// Operations per second of roles that read and write.
    Mixed,
    /// p99 of an operation that reads, in roles that do several.
    ReadLatency,
    /// p99 of an operation that writes, in roles that do several.
    WriteLatency,
    /// Bytes on the volume over bytes of user data.
    Space,
    /// Bytes written at the device over bytes written by the user.
    WriteAmplification,
    /// p99.9 of reads while others write.
    Tail,
    /// Mean time to open a database that was closed, up to the first answer.
    Opening,
    /// Mean time to open a database whose last process was killed, up to the first answer.
    Recovery,
}

impl Question {
    /// All of them, in their order.
    pub const ALL: [Self; 12] = [
        Self::Loading,
        Self::Reads,
        Self::Writes,
        Self::Scans,
        Self::Mixed,
        Self::ReadLatency,
        Self::WriteLatency,
        Self::Space,
        Self::WriteAmplification,
        Self::Tail,
        Self::Opening,
        Self::Recovery,
    ];

    /// A column head, with its unit.
    pub fn title(self) -> &'static str {
        match self {
            Self::Loading => "load/s",
            Self::Reads => "reads/s",
            Self::Writes => "writes/s",
            Self::Scans => "scans/s",
            Self::Mixed => "mixed/s",
            Self::ReadLatency => "read p99 us",
            Self::WriteLatency => "write p99 us",
            Self::Space => "space",
            Self::WriteAmplification => "write amp",
            Self::Tail => "p99.9 us",
            Self::Opening => "open us",
            Self::Recovery => "recover us",
        }
    }

    /// The figure that answers it for a role's operations.
    pub(super) fn figure(self) -> &'static Definition {
        match self {
            Self::Opening | Self::Recovery => &c::SERVICE_MEAN,
            _ => &c::OPS_PER_S,
        }
    }

    /// The question for a role's operations.
    pub(super) fn from_mix(does: Does, mix: &str) -> Self {
        match (does.reads, does.writes) {
            _ if mix == "open" => Self::Opening,
            _ if mix == "recover" => Self::Recovery,
            (true, true) => Self::Mixed,
            (_, true) => Self::Writes,
            _ if mix.split('+').all(|op| ["scan", "walk"].contains(&op)) => Self::Scans,
            _ => Self::Reads,
        }
    }
}
