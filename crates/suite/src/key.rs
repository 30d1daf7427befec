//! The case key: equal keys, equal work.
//!
//! It is a readable beginning and the checksum of everything that makes two cases comparable:
//! engine, label, options as resolved, data, RAM limit and memory tier, volume (both: what is made,
//! not on what), phases (those that made the database included) and threads. Left out are the
//! trial, the place, the host, the engine's version, and what only watches: budget, slices, error
//! limit.

use kvdyno_record::engine::Options;
use kvdyno_record::plan::Copying;
use kvdyno_record::tier::{Memory, Tier};
use kvdyno_record::units;
use kvdyno_record::volume::{Format, Medium, Volume};
use kvdyno_record::workload::{Data, Phase, Size};
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;

/// What makes two cases comparable.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Comparable<'a> {
    pub(super) engine: &'a str,
    pub(super) label: &'a str,
    pub(super) options: &'a Options,
    pub(super) data: &'a Data,
    pub(super) value_bytes_mean: u64,
    pub(super) ram_limit_bytes: Option<u64>,
    /// Left out where the suite names none, as before there were any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tier: Option<TierKey<'a>>,
    /// As above.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) volume: Option<VolumeKey<'a>>,
    /// Other thread counts worked on the database before.
    pub(super) shared: bool,
    /// It works on a copy of the database, which begins cold. Left out where it does not, as before
    /// there were any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) copy: Option<Copying>,
    /// The swept threads, or none for the case that only loads.
    pub(super) threads: Option<u32>,
    /// From the load on, whichever case ran them.
    pub(super) phases: &'a [Phase],
}

/// Of a volume what makes two of them alike. Where a directory is, which device it is and how large
/// an image is belong to the host.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct VolumeKey<'a> {
    name: &'a str,
    kind: &'static str,
    discard: bool,
    format: Option<&'a Format>,
}

impl<'a> VolumeKey<'a> {
    pub(super) fn of(volume: &'a Volume) -> Self {
        let (kind, discard, format) = match &volume.medium {
            Medium::Directory { .. } => ("directory", false, None),
            Medium::Loop { format, .. } => ("loop", false, Some(format)),
            Medium::Device { discard, format, .. } => ("device", *discard, Some(format)),
        };
        Self { name: &volume.name, kind, discard, format }
    }
}

/// Of a memory tier what makes two of them alike. On which device it is belongs to the host.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct TierKey<'a> {
    name: &'a str,
    kind: &'static str,
    swap: Option<(u64, u32)>,
    node: Option<u32>,
}

impl<'a> TierKey<'a> {
    pub(super) fn of(tier: &'a Tier) -> Self {
        let (kind, node) = match &tier.memory {
            Memory::Dram => ("dram", None),
            Memory::Swap { .. } => ("swap", None),
            Memory::Zram { .. } => ("zram", None),
            Memory::Node { node } => ("node", Some(*node)),
        };
        Self { name: &tier.name, kind, swap: tier.memory.swap(), node }
    }
}

impl Comparable<'_> {
    /// `rocksdb/async/80Mx16+4000/ram64GiB/t4/3fa9c1d2e0b1`; with a volume
    /// `rocksdb/async/on-xfs/...`.
    pub(super) fn key(&self) -> String {
        let data = self.data;
        let values = match data.value.size {
            Size::Fixed { bytes } => bytes.to_string(),
            _ => format!("~{}", self.value_bytes_mean),
        };
        let ram = self.ram_limit_bytes.map_or("all".to_owned(), units::exact_bytes);
        let tier = self.tier.map_or(String::new(), |tier| format!("+{}", tier.name));
        let volume = self.volume.map_or(String::new(), |volume| format!("on-{}/", volume.name));
        let part = self.threads.map_or("load".to_owned(), |threads| format!("t{threads}"));
        format!(
            "{}/{}/{volume}{}x{}+{values}/ram-{ram}{tier}/{part}/{}",
            self.label,
            self.options.durability.as_str(),
            units::exact_count(data.records),
            data.key.bytes,
            self.checksum()
        )
    }

    fn checksum(&self) -> String {
        // These types have no map with keys other than text, so nothing can fail.
        let canonical = serde_json::to_vec(self).unwrap_or_default();
        let digest = Sha256::digest(&canonical);
        digest.iter().take(6).fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
    }
}
