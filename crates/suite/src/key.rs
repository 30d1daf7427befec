//! The case key: equal keys, equal work.
//!
//! It is a readable beginning and the checksum of everything that makes two cases comparable:
//! engine, label, options as resolved, data, RAM limit and memory tier, volume (both: what is made,
//! not on what), phases (those that made the database included) and threads. Left out are the
//! trial, the place, the host, the engine's version, and what only watches: budget, slices, error
//! limit.

use kvdyno_record::engine::Options;
use kvdyno_record::plan::Copying;
use kvdyno_record::units;
use kvdyno_record::workload::{Data, Phase, Size};
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;

/// What makes two cases comparable.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Comparable<'a> {
    pub(super) engine: &'a str,
    pub(super) label: &'a str,
    pub(super) options: &'a Options,
    pub(super) data: &'a Data,
    pub(super) value_bytes_mean: u64,
    pub(super) ram_limit_bytes: Option<u64>,
    /// Left out where the suite names none, as before there were any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tier: Option<Value>,
    /// As above.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) volume: Option<Value>,
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

/// What makes two volumes or memory tiers alike: where a directory is, which device it is and how
/// large an image is belong to the host.
pub(super) fn alike(of: &impl Serialize) -> Value {
    // These types have no map with keys other than text, so nothing can fail.
    let mut value = serde_json::to_value(of).unwrap_or_default();
    if let Some(fields) = value.as_object_mut() {
        // An image's size; that of swap is what it does.
        let sized = fields.contains_key("swappiness");
        fields.retain(|name, _| name != "path" && (name != "bytes" || sized));
    }
    value
}

impl Comparable<'_> {
    /// `rocksdb/async/80Mx16+4000/ram64GiB/t4/3fa9c1d2e0b1`; with a volume
    /// `rocksdb/async/on-xfs/...`.
    pub(super) fn key(&self) -> String {
        let name = |of: &Value| of["name"].as_str().unwrap_or_default().to_owned();
        let data = self.data;
        let values = match data.value.size {
            Size::Fixed { bytes } => bytes.to_string(),
            _ => format!("~{}", self.value_bytes_mean),
        };
        let ram = self.ram_limit_bytes.map_or("all".to_owned(), units::exact_bytes);
        let tier = self.tier.as_ref().map_or(String::new(), |tier| format!("+{}", name(tier)));
        let volume = self.volume.as_ref().map_or(String::new(), |on| format!("on-{}/", name(on)));
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
