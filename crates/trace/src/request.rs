//! A request, in the terms that all trace formats share.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The operation.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    /// Look one key up.
    Get,
    /// Write a key, whether it is there or not.
    Put,
    /// Remove a key.
    Delete,
    /// Read from a key on, in ascending order.
    Scan,
    /// Read from a key on, in descending order.
    ScanReverse,
    /// Read a key and write it anew: counters, appends, merges.
    Rmw,
    /// Read bytes of a drive.
    Read,
    /// Write bytes of a drive.
    Write,
    /// Make a drive's completed writes durable.
    Flush,
    /// Declare bytes of a drive as no longer needed.
    Discard,
}

impl Op {
    /// All operations, in the order of their codes.
    pub const ALL: [Self; 10] = [
        Self::Get,
        Self::Put,
        Self::Delete,
        Self::Scan,
        Self::ScanReverse,
        Self::Rmw,
        Self::Read,
        Self::Write,
        Self::Flush,
        Self::Discard,
    ];

    /// Returns the operation's name in tables and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Put => "put",
            Self::Delete => "delete",
            Self::Scan => "scan",
            Self::ScanReverse => "scan_reverse",
            Self::Rmw => "rmw",
            Self::Read => "read",
            Self::Write => "write",
            Self::Flush => "flush",
            Self::Discard => "discard",
        }
    }

    /// Returns whether the operation gives bytes to the store.
    pub fn writes(self) -> bool {
        matches!(self, Self::Put | Self::Rmw | Self::Write)
    }

    /// Returns whether the operation reads existing data.
    pub(crate) fn reads(self) -> bool {
        !matches!(self, Self::Put | Self::Write | Self::Delete | Self::Discard)
    }

    pub(crate) fn code(self) -> u8 {
        self as u8
    }

    pub(crate) fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }
}

/// One request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The time since the first request.
    pub at_ns: u64,
    /// The operation.
    pub op: Op,
    /// True: it came in the same call as the request before: a batch, or a lookup of several keys.
    pub joined: bool,
    /// The key's number in the order of the keys' bytes, from 0 and without a gap. In a recorded
    /// trace, the record's number in `[data]`; on a drive, the offset of the first byte.
    pub key: u64,
    /// Bytes of the key; 0: unknown.
    pub key_bytes: u32,
    /// Bytes of the value, or of the range on the drive; 0: unknown or none.
    pub value_bytes: u64,
    /// The client, where the trace has it.
    pub client: u32,
    /// The time to live of the record that is written; 0: until it is removed, or unknown.
    pub ttl_ns: u64,
}
