//! A database that is made once and kept for later runs: its `state.json`.

use crate::files::{read_versioned, write_json};
use crate::lines::Result;
use crate::origin::Sample;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// `state.json`: what a kept database is, and what its files were when it was kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StateRecord {
    /// Version of this file's format, as `major.minor`.
    pub format: String,
    /// The description of the kept database.
    #[serde(flatten)]
    pub description: StateDescription,
    /// When it was kept, in nanoseconds since 1970.
    pub made_unix_ns: u64,
    /// Space that its files take on the volume, in bytes.
    pub bytes: u64,
    /// Its files as they were kept.
    pub seal: Seal,
}

/// What a kept database is, as its maker describes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StateDescription {
    /// A lower-case hexadecimal digest of all that determines the database: engine, version, build,
    /// options, data and phases. The name of its directory.
    pub id: String,
    /// The engine's name.
    pub engine: String,
    /// The database in words: its data, options and phases.
    pub label: String,
    /// The engine's version.
    pub engine_version: String,
    /// SHA-256 of the engine's library, in hexadecimal; null: it is part of the worker.
    pub library_sha256: Option<String>,
    /// Number of records.
    pub records: u64,
    /// The run that made it.
    pub run: String,
    /// How long that took, in nanoseconds: all phases before the first measured one.
    pub took_ns: u64,
    /// The contents of a copy of an existing database; null: kvdyno loaded the database.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample: Option<Sample>,
}

/// All that is in a database's directory, each list in the order of its paths.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Seal {
    /// Its files.
    pub files: Vec<SealedFile>,
    /// Its directories, relative to the database's directory: an engine may expect an empty one.
    pub directories: Vec<PathBuf>,
    /// Its symbolic links.
    pub links: Vec<SealedLink>,
}

/// A file as it was sealed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SealedFile {
    /// Its path, relative to the database's directory.
    pub path: PathBuf,
    /// Its length in bytes, holes included.
    pub length: u64,
    /// Its last modification, in nanoseconds since 1970.
    pub mtime_ns: i64,
    /// XXH3 of all of its bytes (`xxhsum -H3`), as 16 hexadecimal digits.
    pub xxh3_64: String,
}

/// A symbolic link as it was sealed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SealedLink {
    /// Its path, relative to the database's directory.
    pub path: PathBuf,
    /// Where it leads, as it is written in the link.
    pub target: PathBuf,
}

impl StateRecord {
    /// Reads a `state.json`; one of a newer format is an error.
    pub fn read(path: &Path) -> Result<Self> {
        read_versioned(path, |record: &Self| &record.format)
    }

    /// Writes a `state.json`.
    pub fn write(&self, path: &Path) -> Result<()> {
        write_json(path, self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> StateRecord {
        let description = StateDescription {
            id: "00ff00ff00ff00ff".to_owned(),
            engine: "lmdb".to_owned(),
            label: "1 M records".to_owned(),
            engine_version: "0.9.70".to_owned(),
            library_sha256: None,
            records: 1_000_000,
            run: "r1".to_owned(),
            took_ns: 1_500_000_000,
            sample: None,
        };
        let file = SealedFile {
            path: "data.mdb".into(),
            length: 4096,
            mtime_ns: -1,
            xxh3_64: format!("{:016x}", u64::MAX),
        };
        let seal = Seal { files: vec![file], ..Seal::default() };
        let format = crate::FORMAT.to_owned();
        StateRecord { format, description, made_unix_ns: 1, bytes: 4096, seal }
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state.json");
        record().write(&path).unwrap();
        assert_eq!(StateRecord::read(&path).unwrap(), record());
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains("\n  \"id\": \"00ff00ff00ff00ff\""), "{text}");
    }

    #[test]
    fn a_newer_format_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state.json");
        StateRecord { format: "2.0".to_owned(), ..record() }.write(&path).unwrap();
        let text = StateRecord::read(&path).unwrap_err().to_string();
        assert!(text.contains("format 2.0 is newer"), "{text}");
    }
}
