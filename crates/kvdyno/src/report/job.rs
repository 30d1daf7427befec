//! What a bare drive was asked for, and how that ran: the words in which people speak of a drive's
//! figures (random read, 4 KiB, queue depth 32).

use super::evidence::CaseEvidence;
use kvdyno_record::engine::Value;
use kvdyno_record::plan::Case;
use kvdyno_record::workload::{Choice, Drive};
use schemars::JsonSchema;
use serde::Serialize;

/// The option of a drive's worker that says by which calls it works.
const METHOD: &str = "io";

/// A job of a bare drive.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Job {
    /// `rand read`, `seq write`, `rand 70/30` (reads before writes).
    pub io: String,
    /// The calls that were asked for: `psync`, `mmap`, `io_uring`.
    pub method: String,
    /// Bytes of each I/O.
    pub block_bytes: u64,
    /// I/Os that each thread keeps in flight.
    pub depth: u32,
    /// Each thread waits for its I/O.
    pub blocking: bool,
    /// How it really ran, in the worker's own words; null: it did not say.
    pub ran: Option<String>,
}

impl Job {
    /// That of a drive's case; none of an engine's.
    pub(super) fn of(case: &Case, ran: &CaseEvidence, phase: &str, drive: &Drive) -> Option<Self> {
        if !(case.ceiling || ran.is_bare_drive()) {
            return None;
        }
        let role = drive.roles.first()?;
        Some(Self {
            io: io(drive),
            method: case.options.values.get(METHOD).map_or_else(String::new, ToString::to_string),
            block_bytes: case.shape.value_bytes_mean,
            depth: role.depth.unwrap_or(1),
            blocking: role.depth.is_none(),
            ran: how_it_ran(ran, phase),
        })
    }
}

/// `rand read`, `seq write`, `rand 70/30`.
fn io(drive: &Drive) -> String {
    let mixes = || drive.roles.iter().flat_map(|role| &role.mix);
    let (mut reads, mut writes) = (0.0, 0.0);
    for entry in mixes() {
        let weight = if entry.op.writes() { &mut writes } else { &mut reads };
        *weight += entry.weight;
    }
    let order = match mixes().next().map(|entry| &entry.keys) {
        Some(Choice::Sequential) => "seq",
        Some(Choice::Uniform) | None => "rand",
        Some(_) => "skewed",
    };
    let percent = (100.0 * reads / f64::max(reads + writes, f64::MIN_POSITIVE)).round();
    match (reads > 0.0, writes > 0.0) {
        (true, true) => format!("{order} {percent:.0}/{:.0}", 100.0 - percent),
        (true, false) => format!("{order} read"),
        _ => format!("{order} write"),
    }
}

/// The worker's counters that are words: what it asked of the kernel, and what it got.
fn how_it_ran(case: &CaseEvidence, phase: &str) -> Option<String> {
    let counters = case.counters().ok()?.phases.remove(phase)?.after;
    let words: Vec<String> = counters
        .iter()
        .filter_map(|(name, value)| match value {
            Value::Text(text) => Some(format!("{name}: {text}")),
            _ => None,
        })
        .collect();
    (!words.is_empty()).then(|| words.join("; "))
}
