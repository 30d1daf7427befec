//! `[[ram.tier]]` as typed: the memory below the RAM limit.

use super::media;
use super::mistake::Mistakes;
use super::read::{At, Fields, FromToml, Or as _, Toml, Word};
use super::scalar::{ByteSize, Count, Name};
use super::scale::{PAGE, scaled};
use kvdyno_record::tier::{self, Memory};
use kvdyno_record::units::Ratio;
use schemars::JsonSchema;
use std::path::PathBuf;

/// The kernel's default.
const SWAPPINESS: u64 = 60;
pub(super) const SWAPPINESS_MAX: u64 = 200;

/// The kernel's minimum for swap: ten pages.
const SWAP_BYTES_MIN: u64 = 10 * PAGE;

/// What is below the RAM limit.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Tier {
    /// What tables call it.
    pub(super) name: At<Name>,
    /// What it is made of.
    pub(super) kind: At<Kind>,
    /// How much: of swap and zram. Scaled as limits are.
    pub(super) size: Option<At<ByteSize>>,
    /// A block device for swap, in full. Default: an image in the run's place.
    pub(super) path: Option<At<String>>,
    /// The drive of a study that swap lies on, in place of a path; [media] says what it is here.
    pub(super) medium: Option<At<Name>>,
    /// How much rather memory of processes goes than files, from 0 to 200. Default: 60.
    pub(super) swappiness: Option<At<Count>>,
    /// The NUMA node that all memory is taken from.
    pub(super) node: Option<At<Count>>,
}

/// What a memory tier is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(rename_all = "snake_case")]
pub(super) enum Kind {
    /// Nothing: the limit is all there is.
    Dram,
    /// Swap on an image in the run's place, or on a device whose data is lost
    /// (`--destroy-data-on`). Needs root.
    Swap,
    /// Swap in compressed memory of the machine's, outside of the limit. Needs root.
    Zram,
    /// Memory of one NUMA node: CXL.
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
        let location = (kind.value == Kind::Swap).then(|| media::place_of(&mut fields, false));
        let (path, medium) = location.flatten().unwrap_or_default();
        let node = (kind.value == Kind::Node).then(|| fields.required("node")).flatten();
        fields.finish();
        Some(Self { name: name?, kind, size, path, medium, swappiness, node })
    }
}

impl Tier {
    /// The tier, with all defaults filled in.
    pub(super) fn resolve(&self, scale: Ratio, notes: &mut Vec<String>) -> tier::Tier {
        let swappiness = self.swappiness.value_or(Count(SWAPPINESS)).0 as u32;
        let mut bytes = || {
            let size = self.size.value_or(ByteSize(0)).0;
            let bytes = scaled(scale, size, "bytes of swap", notes);
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
