//! One request, in the words that all traces have in common.

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
    /// Of a drive: read bytes.
    Read,
    /// Of a drive: write bytes.
    Write,
    /// Of a drive: make what was written durable.
    Flush,
    /// Of a drive: bytes are no longer needed.
    Discard,
}

impl Op {
    /// All of them, in the order of their codes.
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

    /// Its name in tables and files.
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

    /// It gives bytes to the store.
    pub fn writes(self) -> bool {
        matches!(self, Self::Put | Self::Rmw | Self::Write)
    }

    /// It reads existing data.
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
    /// When, since the first.
    pub at_ns: u64,
    /// What.
    pub op: Op,
    /// It came in the same call as the one before: a batch, or a lookup of several keys.
    pub joined: bool,
    /// The key's number in the order of the keys' bytes, from 0 and without a gap; where it was
    /// recorded, the record's of `[data]`; of a drive the first byte.
    pub key: u64,
    /// Bytes of the key; 0: unknown.
    pub key_bytes: u32,
    /// Bytes of the value, or of the drive; 0: unknown or none.
    pub value_bytes: u64,
    /// The client, where the trace has it.
    pub client: u32,
    /// How long the record lives that is written; 0: until it is removed, or unknown.
    pub ttl_ns: u64,
}
