//! Slower memory below a RAM limit, as a suite names it and as a case had it.

use crate::volume::ImageRecord;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A memory tier that a suite names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tier {
    /// Its name in tables.
    pub name: String,
    /// Its kind.
    #[serde(flatten)]
    pub memory: Memory,
}

/// The kind of a memory tier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Memory {
    /// Nothing is below the limit: what does not fit is dropped or refused.
    Dram,
    /// Swap on a device.
    Swap {
        /// A block device that the user gave up; null: an image in the run's data directory, under
        /// a loop device.
        path: Option<PathBuf>,
        /// Bytes of swap.
        bytes: u64,
        /// The swappiness: 0 to 200.
        swappiness: u32,
    },
    /// Swap that is compressed memory of the machine's, outside of the limit.
    Zram {
        /// Bytes that go into it, before they are compressed.
        bytes: u64,
        /// The swappiness: 0 to 200.
        swappiness: u32,
    },
    /// All memory is taken from one NUMA node (CXL).
    Node {
        /// Its number.
        node: u32,
    },
}

impl Memory {
    /// The swap that a case may use, and its swappiness.
    pub fn swap(&self) -> Option<(u64, u32)> {
        match self {
            Self::Swap { bytes, swappiness, .. } | Self::Zram { bytes, swappiness } => {
                Some((*bytes, *swappiness))
            }
            Self::Dram | Self::Node { .. } => None,
        }
    }

    /// Bytes of it in the run's data directory.
    pub fn image_bytes(&self) -> u64 {
        match self {
            Self::Swap { path: None, bytes, .. } => *bytes,
            _ => 0,
        }
    }

    /// The block device whose data is lost for it.
    pub fn device(&self) -> Option<&PathBuf> {
        match self {
            Self::Swap { path, .. } => path.as_ref(),
            _ => None,
        }
    }
}

/// A memory tier as a case had it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TierRecord {
    /// The tier's name in the suite.
    pub name: String,
    /// The swap that was on; null: none.
    pub swap: Option<SwapRecord>,
    /// The swappiness in force; null: no swap, or unknown.
    pub swappiness: Option<u32>,
    /// The NUMA node that all memory came from.
    pub node: Option<u32>,
    /// Settings that are not in force, each as a sentence with its remedy. Empty is good.
    pub not_enforced: Vec<String>,
}

/// Swap that was on for a case, and for nothing else of the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SwapRecord {
    /// The kernel's name of the device, whose counters are the traffic.
    pub device: String,
    /// Bytes of swap.
    pub bytes: u64,
    /// The image under a loop device; null: no loop device.
    pub image: Option<ImageRecord>,
    /// How zram compresses; null: not zram, or unknown.
    pub compression: Option<String>,
    /// The most memory of the machine that zram took; null: not zram, or unknown.
    pub memory_peak_bytes: Option<u64>,
}
