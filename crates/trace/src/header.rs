//! The header of a trace: its source and its contents.

use super::formats::Format;
use super::request::Op;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version of the format that is written, and the one that is read.
pub(crate) const VERSION: u32 = 1;

/// The target of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A store of keys and values.
    Keys,
    /// A drive: a key is the first byte, a value the bytes.
    Blocks,
}

/// The precision of the times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Times {
    /// Each has its own.
    Exact,
    /// The source knows the second; those of one second were spread evenly over it.
    SpreadOverSeconds,
    /// The source has none: only the order is known.
    None,
}

/// The source of a trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Source {
    /// An imported file, in this format.
    Imported(Format),
    /// A phase of a case, while kvdyno performed it.
    Recorded(Recorded),
}

impl Source {
    /// Its name in tables.
    pub fn name(&self) -> &str {
        match self {
            Self::Imported(format) => format.name(),
            Self::Recorded(_) => "recorded",
        }
    }

    /// Where it was recorded.
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
    /// Records that were loaded: key number N is record N, and those from this on were written by
    /// the phases.
    pub records: u64,
}

/// Times to live of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TtlRange {
    /// How many requests write a record with one.
    pub requests: u64,
    /// The shortest.
    pub shortest_ns: u64,
    /// The longest.
    pub longest_ns: u64,
}

impl TtlRange {
    /// With one more.
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
    /// The file that it was imported from, without its directory; the suite that it was recorded
    /// of.
    pub file: String,
    /// The precision of the times.
    pub times: Times,
    /// How many requests.
    pub requests: u64,
    /// Numbers are below this: of what was imported the distinct keys; of what was recorded there
    /// are gaps. Of a drive, the end of the last request.
    pub keys: u64,
    /// From the first request to the last.
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
    /// Of a drive: offsets and lengths are multiples of this; 0: it has keys.
    #[serde(default)]
    pub multiple_of: u64,
    /// Of the source, how many records were left out, by what they were.
    #[serde(default)]
    pub left_out: BTreeMap<String, u64>,
    /// How many requests replace another operation of the source: `incr as rmw`.
    #[serde(default)]
    pub mapped: BTreeMap<String, u64>,
    /// How many had an earlier time than the one before, and were given that one's.
    #[serde(default)]
    pub out_of_order: u64,
    /// The source ends in the middle of a record: where, and with what.
    #[serde(default)]
    pub cut_short: Option<String>,
}

impl Header {
    /// Of a trace in which there is nothing yet.
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
        }
    }
}
