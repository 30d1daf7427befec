//! The library that an engine was loaded from, where it is not part of its worker.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The file that an engine was loaded from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Library {
    /// The engine's version, as in the file itself.
    pub version: String,
    /// Who built it: `official`, `native`, `system` or `yours`.
    pub build: String,
    /// SHA-256 of the file, in hexadecimal.
    pub sha256: String,
    /// Where it was fetched from (`org.rocksdb:rocksdbjni:11.8.1`); null: nowhere.
    pub source: Option<String>,
    /// Where the file lay.
    pub path: PathBuf,
}

impl Library {
    /// Whether others can get this build by its version, without this file.
    pub fn is_official(&self) -> bool {
        self.build == "official"
    }

    /// `11.8.1 (official)`.
    pub fn to_text(&self) -> String {
        format!("{} ({})", self.version, self.build)
    }

    /// The first letters of its checksum: enough to tell two builds apart.
    pub fn checksum(&self) -> &str {
        self.sha256.get(..12).unwrap_or(&self.sha256)
    }
}

/// Whether a text can be a version: it becomes part of file names and of other programs' arguments.
pub fn is_version(text: &str) -> bool {
    let letter = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    text.len() <= 32 && text.starts_with(|c: char| c.is_ascii_digit()) && text.chars().all(letter)
}

#[cfg(test)]
mod tests {
    use super::is_version;

    #[test]
    fn a_version_is_no_path_and_no_option() {
        for good in ["9.10.0", "11.8.1", "0.9.70", "9.0.0-rc1"] {
            assert!(is_version(good), "{good}");
        }
        for bad in ["", "v9", "-9", "../9", "9/1", "9 1", "9:1", "9.10.0\n"] {
            assert!(!is_version(bad), "{bad:?}");
        }
    }
}
