//! The header of a trace: its source and its contents.

use super::formats::Format;
use super::request::Op;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version of the format: the one that is written, and the only one that is read.
pub(crate) const VERSION: u32 = 1;

/// The target of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A store of keys and values.
    Keys,
    /// A drive: a key is the offset of the first byte, a value's length is the number of bytes.
    Blocks,
}

/// The precision of the times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Times {
    /// Each request has its own time.
    Exact,
    /// The source has whole seconds; requests of one second were spread evenly over it.
    SpreadOverSeconds,
    /// The source has no times: only the order is known.
    None,
}

/// The source of a trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Source {
    /// An imported file of this format.
    Imported(Format),
    /// A phase of a case, while kvdyno performed it.
    Recorded(Recorded),
}

impl Source {
    /// Returns the source's name in tables.
    pub fn name(&self) -> &str {
        match self {
            Self::Imported(format) => format.name(),
            Self::Recorded(_) => "recorded",
        }
    }

    /// Returns where it was recorded; `None`: it was imported.
    pub fn as_recorded(&self) -> Option<&Recorded> {
        match self {
            Self::Imported(_) => None,
            Self::Recorded(recorded) => Some(recorded),
        }
    }
}

impl From<Format> for Source {
    fn from(format: Format) -> Self {
        Self::Imported(format)
    }
}

impl From<Recorded> for Source {
    fn from(recorded: Recorded) -> Self {
        Self::Recorded(recorded)
    }
}

/// Where a trace was recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Recorded {
    /// The phase whose requests they are.
    pub phase: String,
    /// The engine's name in the suite.
    pub engine: String,
    /// The number of loaded records. Key number N is record N; the phases wrote the records from
    /// this number on.
    pub records: u64,
}

/// Times to live of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TtlRange {
    /// The number of requests that write a record with a time to live.
    pub requests: u64,
    /// The shortest.
    pub shortest_ns: u64,
    /// The longest.
    pub longest_ns: u64,
}

impl TtlRange {
    /// Returns the range extended by one more time to live.
    pub(crate) fn with(range: Option<Self>, ttl_ns: u64) -> Self {
        let Self { requests, shortest_ns, longest_ns } =
            range.unwrap_or(Self { requests: 0, shortest_ns: ttl_ns, longest_ns: ttl_ns });
        Self {
            requests: requests + 1,
            shortest_ns: shortest_ns.min(ttl_ns),
            longest_ns: longest_ns.max(ttl_ns),
        }
    }
}

/// The front of a trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Header {
    /// The version of the format.
    pub version: u32,
    /// The target of requests.
    pub kind: Kind,
    /// The format that it was imported from, or where it was recorded.
    pub source: Source,
    /// The name of the imported file, without its directory; of a recorded trace, the suite's
    /// name.
    pub file: String,
    /// The precision of the times.
    pub times: Times,
    /// The number of requests.
    pub requests: u64,
    /// All key numbers are below this: in an imported trace it is the number of distinct keys; a
    /// recorded trace has gaps. Of a drive, the end of its highest request.
    pub keys: u64,
    /// The time from the first request to the last.
    pub span_ns: u64,
    /// Requests by operation.
    pub ops: BTreeMap<Op, u64>,
    /// Requests that came in the same call as the one before.
    pub joined: u64,
    /// Bytes of the longest key.
    pub key_bytes_max: u32,
    /// Bytes of the longest value; of a drive, of the longest read or write.
    pub value_bytes_max: u64,
    /// The times to live of the records that it writes; null: none has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<TtlRange>,
    /// The unit of offsets and lengths on a drive: all are multiples of it; 0: the trace has keys.
    #[serde(default)]
    pub multiple_of: u64,
    /// The number of the source's records that were left out, by their kind.
    #[serde(default)]
    pub left_out: BTreeMap<String, u64>,
    /// The number of requests that replace another operation of the source: `incr as rmw`.
    #[serde(default)]
    pub mapped: BTreeMap<String, u64>,
    /// The number of requests whose time was before the previous request's; they have that
    /// request's time.
    #[serde(default)]
    pub out_of_order: u64,
    /// Where and how the source ends inside a record; null: it ends with a whole one.
    #[serde(default)]
    pub cut_short: Option<String>,
    /// The source's last line, if it was imported and has no end. Only the import knows it.
    #[serde(skip)]
    pub unended: Option<String>,
}

impl Header {
    /// Returns the header of an empty trace.
    pub fn new(kind: Kind, source: impl Into<Source>, file: &str, times: Times) -> Self {
        let source = source.into();
        Self {
            version: VERSION,
            kind,
            source,
            file: file.chars().take(200).collect(),
            times,
            requests: 0,
            keys: 0,
            span_ns: 0,
            ops: BTreeMap::new(),
            joined: 0,
            key_bytes_max: 0,
            value_bytes_max: 0,
            ttl: None,
            multiple_of: 0,
            left_out: BTreeMap::new(),
            mapped: BTreeMap::new(),
            out_of_order: 0,
            cut_short: None,
            unended: None,
        }
    }
}
