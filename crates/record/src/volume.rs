//! Volumes as a suite names them, and as they were made: what a case's database lay on.

use crate::host::{Drive, Filesystem};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A volume that a suite names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Volume {
    /// Its name in tables.
    pub name: String,
    /// Its device.
    #[serde(flatten)]
    pub medium: Medium,
}

/// The device of a volume.
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
        /// The directory of the image; null: in the run's directory.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        directory: Option<PathBuf>,
        /// Size of the image.
        bytes: u64,
        /// Its format.
        format: Format,
    },
    /// A block device that the user gave up to be overwritten.
    Device {
        /// Its full path.
        path: PathBuf,
        /// Whether it is discarded before each load.
        discard: bool,
        /// Its format.
        format: Format,
    },
}

/// The format of a block device before a load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// Nothing: the engine works on the device itself.
    Raw,
    /// A filesystem.
    Filesystem {
        /// The kind of filesystem.
        filesystem: FilesystemKind,
        /// Additional arguments of its mkfs.
        mkfs: Vec<String>,
        /// Mount options besides noatime.
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
    /// Returns the name that mount(8) uses.
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
    /// The volume's name in the suite.
    pub name: String,
    /// The kernel's name of the device whose counters are the volume's; null: it has none.
    pub device: Option<String>,
    /// The image under a loop device; null: no loop device.
    pub image: Option<ImageRecord>,
    /// The commands that made it.
    pub commands: Vec<String>,
    /// The mount as the kernel reports it; null for a raw device.
    pub filesystem: Option<Filesystem>,
    /// The device's own description; null: none.
    pub drive: Option<Drive>,
}

/// The file under a loop device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImageRecord {
    /// Its size, all of it set aside before.
    pub bytes: u64,
    /// Whether the loop device reads and writes it past the page cache. Where it does not, its data
    /// is cached once more, outside of any RAM limit.
    pub direct_io: bool,
    /// The filesystem and device that it lies on: `ext4 on vda`.
    pub storage: String,
}
