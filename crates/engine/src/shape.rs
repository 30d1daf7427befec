//! Where an engine's data lies, and what data is to come.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

use crate::{Error, Result};

/// Where an engine's data lies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Location {
    /// A directory that belongs to this database alone; it exists.
    Directory(PathBuf),
    /// A block device, or a file in its place, that may be overwritten.
    Device(PathBuf),
    /// A server's address. It may hold a secret: it is never printed or recorded whole.
    Server(String),
}

impl Location {
    /// Returns the directory, for engines that accept nothing else.
    pub fn directory(&self) -> Result<&Path> {
        match self {
            Self::Directory(path) => Ok(path),
            Self::Device(_) | Self::Server(_) => {
                Err(Error::invalid("expected a directory, found a device or a server"))
            }
        }
    }

    /// Returns the path of a file of raw blocks: `name` in the directory, or the device itself.
    pub fn blocks(&self, name: &str) -> Result<PathBuf> {
        match self {
            Self::Directory(dir) => Ok(dir.join(name)),
            Self::Device(path) => Ok(path.clone()),
            Self::Server(_) => {
                Err(Error::invalid("expected a directory or a device, found a server"))
            }
        }
    }
}

/// The data that a database is going to hold, and the number of sessions that use it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DataShape {
    /// Records after the load.
    pub records: u64,
    /// The most records there can be, inserts of the later phases included.
    pub records_max: u64,
    /// Length of the longest key.
    pub key_bytes: u32,
    /// Mean length of a value.
    pub value_bytes_mean: u64,
    /// Length of the longest value.
    pub value_bytes_max: u64,
    /// The most sessions open at the same time.
    pub sessions: u32,
    /// The most operations of one session in flight; 1 where none is pipelined.
    #[serde(default = "one")]
    pub depth: u32,
    /// Requests by offset and length that are to come; none: all requests are for whole records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<Requests>,
}

/// All requests by offset and length, summed up. A drive makes room for them and checks that it can
/// serve them before anything is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Requests {
    /// Bytes of the longest read or write.
    pub bytes_max: u64,
    /// All offsets and lengths are multiples of this.
    pub multiple_of: u64,
    /// Whether some of them write or discard.
    pub writes: bool,
}

fn one() -> u32 {
    1
}

impl DataShape {
    /// Records of equal length, for one session with one operation in flight.
    pub const fn uniform(records: u64, key_bytes: u32, value_bytes: u64) -> Self {
        Self {
            records,
            records_max: records,
            key_bytes,
            value_bytes_mean: value_bytes,
            value_bytes_max: value_bytes,
            sessions: 1,
            depth: 1,
            requests: None,
        }
    }

    /// Returns the number that a key stands for, for engines with the capability
    /// [`numbered_keys_only`](crate::Capabilities::numbered_keys_only) and `records` records.
    #[inline]
    pub fn number(key: &[u8], records: u64) -> Result<u64> {
        let (zeros, number) = match key.split_last_chunk() {
            Some((zeros, digits)) => (zeros, u64::from_be_bytes(*digits)),
            None => (&[][..], key.iter().fold(0, |number, &byte| number << 8 | u64::from(byte))),
        };
        if number < records && zeros.iter().all(|&byte| byte == 0) && !key.is_empty() {
            return Ok(number);
        }
        Err(Error::invalid(format!(
            "expected a big-endian number below {records} (the number of records), found key \
             {key:02x?}"
        )))
    }

    /// Bytes of keys and values of all records after the load: what the user calls "my data".
    pub fn user_bytes(&self) -> u64 {
        self.records.saturating_mul(u64::from(self.key_bytes) + self.value_bytes_mean)
    }
}
