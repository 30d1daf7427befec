//! The case key: equal keys, equal work.
//!
//! It is a readable beginning and the checksum of everything that makes two cases comparable:
//! engine, label, options as resolved, data, RAM limit, phases (those that made the database
//! included) and threads. Left out are the trial, the place, the host, the engine's version, and
//! what only watches: budget, slices, error limit.

use crate::units;
use kvdyno_record::engine::Options;
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
    /// Other thread counts worked on the database before.
    pub(super) shared: bool,
    /// The swept threads, or none for the case that only loads.
    pub(super) threads: Option<u32>,
    /// From the load on, whichever case ran them.
    pub(super) phases: &'a [Phase],
}

impl Comparable<'_> {
    /// `rocksdb/async/80Mx16+4000/ram64GiB/t4/3fa9c1d2e0b1`.
    pub(super) fn key(&self) -> String {
        let data = self.data;
        let values = match data.value.size {
            Size::Fixed { bytes } => bytes.to_string(),
            _ => format!("~{}", self.value_bytes_mean),
        };
        let ram = self.ram_limit_bytes.map_or("all".to_owned(), units::exact_bytes);
        let part = self.threads.map_or("load".to_owned(), |threads| format!("t{threads}"));
        format!(
            "{}/{}/{}x{}+{values}/ram-{ram}/{part}/{}",
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
