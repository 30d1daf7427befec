//! Volumes as a suite names them, and as they were made: what a case's database lay on.

use crate::host::{Drive, Filesystem};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A volume that a suite names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Volume {
    /// What tables call it.
    pub name: String,
    /// What it lies on.
    #[serde(flatten)]
    pub medium: Medium,
}

/// What a volume lies on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Medium {
    /// A directory, on whatever filesystem it is.
    Directory {
        /// Absolute, or from where the program is started.
        path: PathBuf,
    },
    /// A loop device on an image, made for each load.
    Loop {
        /// Where the image lies; null: in the run's place.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        directory: Option<PathBuf>,
        /// Size of the image.
        bytes: u64,
        /// What is made on it.
        format: Format,
    },
    /// A block device that the user gave up to be overwritten.
    Device {
        /// Its full name.
        path: PathBuf,
        /// It is told that nothing on it is needed any more, before each load.
        discard: bool,
        /// What is made on it.
        format: Format,
    },
}

/// What is made on a block device before a load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// Nothing: the engine works on the device itself.
    Raw,
    /// A filesystem.
    Filesystem {
        /// Which.
        filesystem: FilesystemKind,
        /// Arguments of its mkfs beside those that are always given.
        mkfs: Vec<String>,
        /// Mount options beside noatime.
        mount: Vec<String>,
    },
}

/// Filesystems that can be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "their own names")]
pub enum FilesystemKind {
    Ext4,
    Xfs,
    Btrfs,
}

impl FilesystemKind {
    /// As mount(8) calls it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ext4 => "ext4",
            Self::Xfs => "xfs",
            Self::Btrfs => "btrfs",
        }
    }
}

/// A volume as it was made for the load of a case's database.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VolumeRecord {
    /// The suite's name of it.
    pub name: String,
    /// The kernel's name of the device whose counters are its; null: it has none.
    pub device: Option<String>,
    /// Under a loop device.
    pub image: Option<ImageRecord>,
    /// What was done to make it, as a shell would.
    pub commands: Vec<String>,
    /// What the kernel says is mounted; null for a raw device.
    pub filesystem: Option<Filesystem>,
    /// What that device says of itself; null: it says nothing.
    pub drive: Option<Drive>,
}

/// The file under a loop device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImageRecord {
    /// Its size, all of it set aside before.
    pub bytes: u64,
    /// The loop device reads and writes it past the page cache. Where it does not, its data is
    /// cached once more, outside of any RAM limit.
    pub direct_io: bool,
    /// What it lies on: `ext4 on vda`.
    pub lies_on: String,
}
