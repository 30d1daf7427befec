//! `[[ram.tier]]` as typed: the memory below the RAM limit.

use crate::written::media;
use crate::written::mistake::Mistakes;
use crate::written::read::{At, Fields, FromToml, Or as _, Toml, Word};
use crate::written::scalar::{ByteSize, Count, Name};
use crate::written::scale::{PAGE, scale_number};
use kvdyno_record::tier::{self, Memory};
use kvdyno_record::units::Ratio;
use schemars::JsonSchema;
use std::path::PathBuf;

/// The kernel's default swappiness.
const SWAPPINESS: u64 = 60;
pub(crate) const SWAPPINESS_MAX: u64 = 200;

/// The kernel's minimum for swap: ten pages.
const SWAP_BYTES_MIN: u64 = 10 * PAGE;

/// Memory below the RAM limit. kvdyno creates the swap for a case and removes it afterwards, also
/// after kill -9. The swap serves the whole machine while it is on.
///
/// An option with a share counts limit and swap together: with 256 GiB of swap below 64 GiB,
/// `block_cache = "50%"` is 160 GiB. `data_to_ram` counts the limit alone. The page cache never
/// goes to swap, so swap does not help an engine that reads through it (LMDB).
///
/// kvdyno refuses a tier that the host lacks before the run starts: no root, no zram, no such node,
/// or no RAM limit. Case names and tables show the tier: `0009_rocksdb_64gib_with-optane_t4_r1`.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Tier {
    /// The name of the tier in tables.
    pub(crate) name: At<Name>,
    /// The kind of memory.
    pub(crate) kind: At<Kind>,
    /// The size of swap or zram, and the most that may be swapped. `--scale` scales it. Required
    /// for `swap` and `zram`.
    pub(crate) size: Option<At<ByteSize>>,
    /// A block device for swap, by its full path. It must be unmounted and without a signature, and
    /// needs `--destroy-data-on=PATH`. Default: an image in the data directory.
    pub(crate) path: Option<At<String>>,
    /// The medium for swap in place of a path, from `[media]`.
    pub(crate) medium: Option<At<Name>>,
    /// The kernel's preference for swapping processes over dropping cached files, from 0 to 200. On
    /// cgroup v2 it is a setting of the machine, and kvdyno leaves it. Tables show `NOT HELD` if it
    /// differs. Default: 60.
    pub(crate) swappiness: Option<At<Count>>,
    /// The NUMA node of all memory. Required for `node`.
    pub(crate) node: Option<At<Count>>,
}

/// The kind of a memory tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(rename_all = "snake_case", rename = "TierKind")]
pub(crate) enum Kind {
    /// No memory below the limit.
    Dram,
    /// Swap on an image in the data directory or on a block device. Needs root and a RAM limit.
    Swap,
    /// Swap in compressed memory of the machine, outside of the limit. Needs root and a RAM limit.
    /// Values that do not compress gain nothing.
    Zram,
    /// All memory from one NUMA node, such as CXL memory.
    Node,
}

impl Word for Kind {
    const WHAT: &'static str = "a kind of memory";
    const ALL: &'static [(&'static str, Self)] =
        &[("dram", Self::Dram), ("swap", Self::Swap), ("zram", Self::Zram), ("node", Self::Node)];
}

impl FromToml for Tier {
    fn from_toml(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Self> {
        let mut fields = Fields::read(toml, "[[ram.tier]]", mistakes)?;
        let name = fields.required("name");
        // The other keys depend on the kind.
        let kind: At<Kind> = fields.required("kind")?;
        let (what, swaps) = match kind.value {
            Kind::Dram => ("memory without a tier", false),
            Kind::Swap => ("swap as memory tier", true),
            Kind::Zram => ("zram as memory tier", true),
            Kind::Node => ("a node as memory tier", false),
        };
        fields.call(what);
        let size = swaps.then(|| fields.required("size")).flatten();
        let swappiness = swaps.then(|| fields.optional("swappiness")).flatten();
        let location = (kind.value == Kind::Swap).then(|| media::read_location(&mut fields, false));
        let (path, medium) = location.flatten().unwrap_or_default();
        let node = (kind.value == Kind::Node).then(|| fields.required("node")).flatten();
        fields.finish();
        Some(Self { name: name?, kind, size, path, medium, swappiness, node })
    }
}

impl Tier {
    /// Returns the tier, with all defaults filled in.
    pub(crate) fn resolve(&self, scale: Ratio, notes: &mut Vec<String>) -> tier::Tier {
        let swappiness = self.swappiness.value_or(Count(SWAPPINESS)).0 as u32;
        let mut bytes = || {
            let size = self.size.value_or(ByteSize(0)).0;
            let bytes = scale_number(scale, size, "bytes of swap", notes);
            bytes.max(SWAP_BYTES_MIN).div_ceil(PAGE).saturating_mul(PAGE)
        };
        let memory = match self.kind.value {
            Kind::Dram => Memory::Dram,
            Kind::Swap => {
                let path = self.path.as_ref().map(|path| PathBuf::from(&path.value));
                Memory::Swap { path, bytes: bytes(), swappiness }
            }
            Kind::Zram => Memory::Zram { bytes: bytes(), swappiness },
            Kind::Node => Memory::Node { node: self.node.value_or(Count(0)).0 as u32 },
        };
        tier::Tier { name: self.name.0.clone(), memory }
    }
}
