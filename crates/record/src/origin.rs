//! Databases that existed before a run. Each is copied instead of loaded, and a sample of its
//! records gives the lengths of its keys and values.

use crate::workload::Size;
use kvdyno_engine::{Location, Options};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::io::{self, Write};
use std::path::PathBuf;

/// The existing database whose records a case works on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Origin {
    /// Where it is.
    pub path: PathBuf,
    /// The state that is a copy of it.
    pub state: String,
    /// The file with the list of keys that are asked for.
    pub keys: PathBuf,
    /// Its records, and the lengths of its keys and values.
    pub sample: Sample,
}

/// The contents of a database, found by a walk over all of its records.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sample {
    /// Its records.
    pub records: u64,
    /// Number of keys in the list: all, or as many as were requested, drawn evenly.
    pub keys: u64,
    /// The lengths of its keys.
    pub key_bytes: Size,
    /// The lengths of its values.
    pub value_bytes: Size,
}

/// The job of a worker's command `sample`, on its standard input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SampleJob {
    /// The database: a copy, as the engine may write to it when it opens it.
    pub location: Location,
    /// The engine's options.
    pub options: Options,
    /// Bytes of its files.
    pub file_bytes: u64,
    /// Keys to list at most.
    pub keys_max: u64,
    /// The file for the list of keys, which does not exist yet. Each key follows its length, which
    /// is 32 bits with the lowest byte first.
    pub keys: PathBuf,
}

/// Adds a key to a list.
pub fn write_key(list: &mut impl Write, key: &[u8]) -> io::Result<()> {
    let length = u32::try_from(key.len()).map_err(io::Error::other)?;
    list.write_all(&length.to_le_bytes())?;
    list.write_all(key)
}

// Compiled here, as all JSON of a worker.
impl SampleJob {
    /// Parses the job of a line.
    pub fn from_json(line: &str) -> serde_json::Result<Self> {
        serde_json::from_str(line)
    }
}

impl Sample {
    /// Returns the sample as a line, with its line end.
    pub fn to_line(&self) -> serde_json::Result<Vec<u8>> {
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        Ok(line)
    }
}
