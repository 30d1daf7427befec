//! Copies of databases that cases worked on, in a line for each engine and volume.

use super::evidence::Evidence;
use crate::stats::median;
use kvdyno_record::plan::Copying;
use kvdyno_record::units;
use schemars::JsonSchema;
use serde::Serialize;

/// Copies of one engine's databases on one volume.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Copies {
    /// What tables call the engine.
    pub label: String,
    /// The suite's name of the volume; null: the place.
    pub volume: Option<String>,
    /// How they were made.
    pub by: Copying,
    /// Why not as the suite asks for; null: so they were made.
    pub instead: Option<String>,
    /// How many.
    pub copies: usize,
    /// Bytes of each, the median.
    pub bytes: f64,
    /// Until each was on the device, the median.
    pub took_ns: f64,
}

/// All copies of a run.
pub(super) fn of(evidence: &Evidence) -> Vec<Copies> {
    let mut all: Vec<(Copies, Vec<f64>, Vec<f64>)> = Vec::new();
    for (case, record) in evidence.recorded() {
        let Some(copy) = &record.database_copy else { continue };
        let volume = case.case.volume.as_ref().map(|volume| volume.name.clone());
        let (label, by) = (case.case.label.clone(), copy.by);
        let alike = |(known, ..): &&mut (Copies, Vec<f64>, Vec<f64>)| {
            (&known.label, &known.volume, known.by) == (&label, &volume, by)
        };
        let (bytes, took_ns) = (copy.bytes as f64, copy.took_ns as f64);
        if let Some((_, all_bytes, all_ns)) = all.iter_mut().find(alike) {
            all_bytes.push(bytes);
            all_ns.push(took_ns);
        } else {
            let instead = copy.instead.clone();
            let copies = Copies { label, volume, by, instead, copies: 0, bytes, took_ns };
            all.push((copies, vec![bytes], vec![took_ns]));
        }
    }
    let sum_up = |(copies, bytes, ns): (Copies, Vec<f64>, Vec<f64>)| Copies {
        copies: bytes.len(),
        bytes: median(&bytes).unwrap_or(copies.bytes),
        took_ns: median(&ns).unwrap_or(copies.took_ns),
        ..copies
    };
    all.into_iter().map(sum_up).collect()
}

impl Copies {
    /// `lmdb on xfs: each of 6 cases began on a reflink of what was loaded (6.99 MiB, made in
    /// 3.00 ms)`.
    pub fn words(&self) -> String {
        let on = self.volume.as_ref().map_or_else(String::new, |volume| format!(" on {volume}"));
        let who = match self.copies {
            1 => "1 case".to_owned(),
            n => format!("each of {n} cases"),
        };
        let (what, verb) = match self.by {
            Copying::Copy => ("a copy", "copied"),
            Copying::Reflink => ("a reflink", "made"),
        };
        let took = units::duration(self.took_ns as u64);
        let instead = self.instead.as_ref().map_or_else(String::new, |why| format!("; {why}"));
        format!(
            "{}{on}: {who} began on {what} of what was loaded ({}, {verb} in {took}{instead})",
            self.label,
            units::bytes(self.bytes as u64)
        )
    }
}
