//! Recorded requests that a role makes again: which trace, and how fast.

use crate::workload::{Activity, MixEntry, Op, Phase, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The trace that a role takes its requests from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Replay {
    /// Its location, which belongs to the host, not to the work.
    pub file: PathBuf,
    /// Checksum of its requests.
    pub digest: String,
    /// Its number of requests.
    pub requests: u64,
    /// The trace's keys are the numbers below this; for requests to a drive, the end of the last
    /// one.
    pub keys: u64,
    /// Bytes of the longest value; for requests to a drive, of the longest read or write.
    pub value_bytes_max: u64,
    /// The form of its requests to a drive; null: its requests have keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drive: Option<OfDrive>,
    /// Whether records live as long as they were written for, divided by `speed`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub recorded_ttl: bool,
    /// How many times faster than recorded requests are made, each at its time; null: each thread
    /// makes its next one when the one before has been answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed: Option<f64>,
}

/// Requests to a drive, by offset and length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OfDrive {
    /// All offsets and lengths are multiples of this.
    pub multiple_of: u64,
    /// Whether offsets are taken modulo the bytes of all records. A request that would reach past
    /// their end begins earlier.
    pub fold: bool,
}

/// Returns the operation that a recorded request is performed as, by the request's name. On a
/// drive, a read is a `get`, a write an `update` and a discard a `delete` of as many bytes. A trace
/// has the start of a scan, but not its length: the scan shows one record.
pub fn operation(recorded: &str) -> Option<Op> {
    let scan = |reverse| Op::Scan { reverse, length: Size::Fixed { bytes: 1 } };
    Some(match recorded {
        "get" | "read" => Op::Get,
        "put" | "write" => Op::Update,
        "delete" | "discard" => Op::Delete,
        "flush" => Op::Flush,
        "scan" => scan(false),
        "scan_reverse" => scan(true),
        "rmw" => Op::ReadModifyWrite,
        _ => return None,
    })
}

/// Returns the index of a recorded request's operation in a mix.
pub fn mix_entry_index(mix: &[MixEntry], recorded: &str) -> Option<usize> {
    let op = operation(recorded)?;
    mix.iter().position(|entry| entry.op == op)
}

/// Returns the traces that the roles of phases replay.
pub fn replays(phases: &[Phase]) -> impl Iterator<Item = &Replay> {
    let roles = phases.iter().filter_map(Phase::mix).flat_map(|mix| &mix.roles);
    roles.filter_map(|role| role.replay.as_ref())
}

/// Returns the phase without the paths of its traces.
#[must_use]
pub fn without_trace_path(phase: &Phase) -> Phase {
    let mut phase = phase.clone();
    replays_mut(&mut phase).for_each(|replay| replay.file = PathBuf::new());
    phase
}

/// Returns all traces of a phase, those of its load or its roles.
pub fn replays_mut(phase: &mut Phase) -> impl Iterator<Item = &mut Replay> {
    let (load, mix) = match &mut phase.work {
        Activity::Load(load) => (load.replay.as_mut(), None),
        Activity::Warmup(mix) | Activity::Measure(mix) => (None, Some(mix)),
        _ => (None, None),
    };
    let roles = mix.into_iter().flat_map(|mix| &mut mix.roles);
    load.into_iter().chain(roles.filter_map(|role| role.replay.as_mut()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::{Ends, Mix, Role};

    #[test]
    fn where_a_trace_is_says_nothing_of_the_work() {
        let phase = |file: &str| {
            let replay = Replay {
                file: file.into(),
                digest: "1f".to_owned(),
                requests: 3,
                keys: 2,
                value_bytes_max: 10,
                drive: None,
                recorded_ttl: false,
                speed: Some(2.0),
            };
            let role = Role { replay: Some(replay), ..Role::new("clients", 1, Vec::new()) };
            let ends = Ends::after_operations(3);
            let work = Activity::Measure(Mix { roles: vec![role], ends });
            Phase::new("measure", work)
        };
        let (first, second) = (phase("/here"), phase("/there"));
        assert_ne!(first, second);
        assert_eq!(without_trace_path(&first), without_trace_path(&second));
        assert_eq!(replays(&[first]).map(|replay| replay.requests).sum::<u64>(), 3);
    }

    #[test]
    fn what_is_recorded_is_an_operation() {
        let operations = ["get", "put", "delete", "scan", "scan_reverse", "rmw"];
        let of_drives = ["read", "write", "discard", "flush"];
        assert!(operations.iter().chain(&of_drives).all(|name| operation(name).is_some()));
        assert_eq!(operation("seek"), None);
    }
}
