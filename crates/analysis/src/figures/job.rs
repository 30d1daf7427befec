//! The job of a bare drive, and how it ran, in the usual words for drives (random read, 4 KiB,
//! queue depth 32).

use super::evidence::CaseEvidence;
use kvdyno_record::case::OpResult;
use kvdyno_record::engine::Value;
use kvdyno_record::plan::Case;
use kvdyno_record::workload::{Choice, Mix, Op, Role};
use schemars::JsonSchema;
use serde::Serialize;

/// The option of a drive's worker that selects the calls for its I/O.
const METHOD: &str = "io";

/// How the I/O of a trace begins, in words.
const REPLAY: &str = "replay";

/// Names of the drive worker's own reports, among its counters.
const HOW: &str = "how";
const WRITTEN: &str = "written_in_full";

/// A job of a bare drive.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct DriveJob {
    /// `rand read`, `seq write`, `rand trim`, `rand 70/30` (reads before writes and trims); for a
    /// trace `replay 70/30`.
    pub io: String,
    /// The requested calls: `psync`, `mmap`, `io_uring`.
    pub method: String,
    /// Bytes of each I/O; for a trace, the mean of its I/Os.
    pub block_bytes: u64,
    /// I/Os that each thread keeps in flight.
    pub depth: u32,
    /// Whether each thread waits for its I/O.
    pub blocking: bool,
    /// How it really ran, in the worker's own words; null: not reported.
    pub executed_as: Option<String>,
    /// The evidence that its file was written in full, in the worker's words; null: not reported.
    pub written: Option<String>,
}

impl DriveJob {
    /// Whether it replays a trace.
    pub fn is_replay(&self) -> bool {
        self.io.starts_with(REPLAY)
    }

    /// The job of a drive's case; none for an engine's.
    pub(crate) fn from_case(
        case: &Case,
        evidence: &CaseEvidence,
        phase: &str,
        mix: &Mix,
    ) -> Option<Self> {
        if !(case.ceiling || evidence.is_bare_drive()) {
            return None;
        }
        // Flushes in a role of their own have no depth.
        let moves = |role: &&Role| role.mix.iter().any(|entry| entry.op != Op::Flush);
        let role = mix.roles.iter().find(moves).or(mix.roles.first())?;
        Some(Self {
            io: io(mix),
            method: case.options.values.get(METHOD).map_or_else(String::new, ToString::to_string),
            block_bytes: match role.replay {
                Some(_) => mean_bytes(evidence, phase),
                None => case.shape.value_bytes_mean,
            },
            depth: role.depth.unwrap_or(1),
            blocking: role.depth.is_none(),
            executed_as: reported_text(evidence, phase, HOW),
            written: reported_text(evidence, phase, WRITTEN),
        })
    }
}

/// `rand read`, `seq write`, `rand 70/30`.
fn io(mix: &Mix) -> String {
    let (mut reads, mut writes, mut trims) = (0.0, 0.0, 0.0);
    for entry in mix.entries().filter(|entry| entry.op != Op::Flush) {
        let weight = if entry.op.writes() { &mut writes } else { &mut reads };
        *weight += entry.weight;
        trims += if entry.op == Op::Delete { entry.weight } else { 0.0 };
    }
    let replays = mix.roles.first().is_some_and(|role| role.replay.is_some());
    let order = match mix.entries().next().map(|entry| &entry.keys) {
        _ if replays => REPLAY,
        Some(Choice::Sequential { step: 1 }) => "seq",
        Some(Choice::Uniform) | None => "rand",
        Some(_) => "skewed",
    };
    let percent = (100.0 * reads / f64::max(reads + writes, f64::MIN_POSITIVE)).round();
    match (reads > 0.0, writes > 0.0) {
        (true, true) => format!("{order} {percent:.0}/{:.0}", 100.0 - percent),
        (true, false) => format!("{order} read"),
        _ if trims > 0.0 && trims >= writes => format!("{order} trim"),
        _ => format!("{order} write"),
    }
}

/// The mean size of all I/Os of a phase.
fn mean_bytes(evidence: &CaseEvidence, phase: &str) -> u64 {
    let phases = evidence.record.iter().flat_map(|record| &record.phases);
    let roles =
        phases.filter(|record| record.name == phase).flat_map(|record| record.roles.iter().take(1));
    mean_moved(roles.flat_map(|role| &role.ops))
}

/// The mean size of the I/Os that move bytes: flushes and discards move none.
fn mean_moved<'o>(ops: impl Iterator<Item = (&'o String, &'o OpResult)>) -> u64 {
    let transfers = ops.filter(|(name, _)| !["flush", "delete"].contains(&name.as_str()));
    let (bytes, count) = transfers.fold((0, 0), |(bytes, count), (_, op)| {
        (bytes + op.read_bytes + op.write_bytes, count + op.count)
    });
    bytes.checked_div(count).unwrap_or(0)
}

/// The worker's report after a phase.
fn reported_text(case: &CaseEvidence, phase: &str, name: &str) -> Option<String> {
    match case.counters().ok()?.phases.get(phase)?.after.get(name)? {
        Value::Text(text) => Some(text.clone()),
        _ => None,
    }
}

/// The words for an operation of a bare drive: singular, plural.
pub fn drive_words(op: &str) -> (&'static str, &'static str) {
    match op {
        "get" => ("read", "reads"),
        "update" | "insert" => ("write", "writes"),
        "delete" => ("trim", "trims"),
        "flush" => ("fsync", "fsyncs"),
        _ => ("I/O", "I/Os"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kvdyno_record::workload::{Ends, MixEntry};
    use std::collections::BTreeMap;

    #[test]
    fn discards_and_flushes_move_no_bytes() {
        let op = |count: u64, bytes: u64| OpResult {
            count,
            write_bytes: count * bytes,
            ..OpResult::default()
        };
        let ops = [("update", op(10, 4_096)), ("delete", op(10, 0)), ("flush", op(3, 0))];
        let ops = BTreeMap::from(ops.map(|(name, op)| (name.to_owned(), op)));
        assert_eq!(mean_moved(ops.iter()), 4_096);
        assert_eq!(mean_moved(ops.iter().filter(|(name, _)| *name == "flush")), 0);
    }

    #[test]
    fn a_job_of_trims_only_has_its_name() {
        let entry = |op| MixEntry::new(op, 1.0, Choice::Uniform);
        let words = |ops: Vec<Op>| {
            let role = Role {
                name: "drive".to_owned(),
                threads: 1,
                mix: ops.into_iter().map(entry).collect(),
                rate: None,
                depth: None,
                think_ns: None,
                os_threads: None,
                flush_every: None,
                pilot: None,
                expected_hits: kvdyno_record::workload::ExpectedHits::All,
                replay: None,
            };
            let ends = Ends::after_ns(1);
            io(&Mix { roles: vec![role], ends })
        };
        assert_eq!(words(vec![Op::Delete, Op::Flush]), "rand trim");
        assert_eq!(words(vec![Op::Update]), "rand write");
        assert_eq!(words(vec![Op::Get, Op::Update]), "rand 50/50");
    }
}
