//! Copies of databases that cases worked on, one line for each engine and volume.

use super::evidence::Evidence;
use super::lists::group_equal;
use crate::stats::median;
use kvdyno_record::case::{CopyRecord, Copying};
use kvdyno_record::units;
use schemars::JsonSchema;
use serde::Serialize;

/// Copies of one engine's databases on one volume.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Copies {
    /// The engine's name in tables.
    pub label: String,
    /// The suite's name of the volume; null: the data directory's.
    pub volume: Option<String>,
    /// How they were made.
    pub method: Copying,
    /// How many of them are of states that an earlier run made.
    pub restored: usize,
    /// The number of copies.
    pub copies: usize,
    /// The median size of a copy, in bytes.
    pub bytes: f64,
    /// The median time until a copy was on the device.
    pub took_ns: f64,
}

/// A copy with the key of its line: label, volume, method.
type KeyedCopy<'e> = ((String, Option<String>, Copying), &'e CopyRecord);

/// All copies of a run.
pub(crate) fn list_copies(evidence: &Evidence) -> Vec<Copies> {
    let results = evidence.recorded_cases().filter(|(case, _)| !case.case.is_pilot());
    let copies = results.filter_map(|(case, record)| {
        let copy = record.database_copy.as_ref()?;
        let volume = case.case.volume.as_ref().map(|volume| volume.name.clone());
        Some(((case.case.label.clone(), volume, copy.method), copy))
    });
    let groups = group_equal(copies, |(a, _), (b, _)| a == b).into_iter();
    let sum_up = |group: Vec<KeyedCopy<'_>>| {
        let middle = |figure: fn(&CopyRecord) -> u64| {
            median(&group.iter().map(|(_, copy)| figure(copy) as f64).collect::<Vec<_>>())
        };
        let (bytes, took_ns) = (middle(|copy| copy.bytes)?, middle(|copy| copy.took_ns)?);
        let restored = group.iter().filter(|(_, copy)| copy.state.is_some()).count();
        let copies = group.len();
        let ((label, volume, method), _) = group.into_iter().next()?;
        Some(Copies { label, volume, method, restored, copies, bytes, took_ns })
    };
    groups.filter_map(sum_up).collect()
}

impl Copies {
    /// `lmdb on xfs: each of 6 cases began on a reflink of what was loaded (6.99 MiB, made in
    /// 3.00 ms)`.
    pub fn description(&self) -> String {
        let volume =
            self.volume.as_ref().map_or_else(String::new, |volume| format!(" on {volume}"));
        let who = match self.copies {
            1 => "1 case".to_owned(),
            n => format!("each of {n} cases"),
        };
        let (what, verb) = match self.method {
            Copying::Copy => ("a copy", "copied"),
            Copying::Reflink => ("a reflink", "made"),
        };
        let took = units::duration(self.took_ns as u64);
        let original = match self.restored {
            0 => "what was loaded".to_owned(),
            n if n == self.copies => {
                "a state of an earlier run, so nothing was loaded (`--states 0` loads)".to_owned()
            }
            n => format!("what was loaded, in {n} of them by an earlier run"),
        };
        format!(
            "{}{volume}: {who} began on {what} of {original} ({}, {verb} in {took})",
            self.label,
            units::bytes(self.bytes as u64)
        )
    }
}
