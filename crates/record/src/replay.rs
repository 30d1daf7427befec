//! Recorded requests that a role makes again: which trace, and how fast.

use crate::workload::{MixEntry, Op, Phase, Role, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The trace that a role takes its requests from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Replay {
    /// Where it is: belongs to the host, not to the work.
    pub file: PathBuf,
    /// Checksum of its requests.
    pub digest: String,
    /// How many it has.
    pub requests: u64,
    /// Its keys are the numbers below this.
    pub keys: u64,
    /// Bytes of its longest value.
    pub value_bytes_max: u64,
    /// How many times faster than recorded requests are made, each at its time; null: each thread
    /// makes its next one when the one before has been answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed: Option<f64>,
}

/// The operation that a recorded request is performed as, by the request's name; none: it is made
/// to a drive. Of a scan it is known where it began, not how far it went: it shows one record.
pub fn operation(recorded: &str) -> Option<Op> {
    let scan = |reverse| Op::Scan { reverse, length: Size::Fixed { bytes: 1 } };
    Some(match recorded {
        "get" => Op::Get,
        "put" => Op::Update,
        "delete" => Op::Delete,
        "scan" => scan(false),
        "scan_reverse" => scan(true),
        "rmw" => Op::ReadModifyWrite,
        _ => return None,
    })
}

/// Which operation of a mix a recorded request is.
pub fn place_in(mix: &[MixEntry], recorded: &str) -> Option<usize> {
    let op = operation(recorded)?;
    mix.iter().position(|entry| entry.op == op)
}

/// All that phases replay.
pub fn replays(phases: &[Phase]) -> impl Iterator<Item = &Replay> {
    let roles = phases.iter().filter_map(Phase::mix).flat_map(|mix| &mix.roles);
    roles.filter_map(|role| role.replay.as_ref())
}

/// The phase without where its traces are.
#[must_use]
pub fn without_place(phase: &Phase) -> Phase {
    let mut phase = phase.clone();
    let roles = phase.mix_mut().into_iter().flat_map(|mix| &mut mix.roles);
    for Role { replay, .. } in roles {
        if let Some(replay) = replay {
            replay.file = PathBuf::new();
        }
    }
    phase
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::{Activity, Ends, Mix};

    #[test]
    fn where_a_trace_is_says_nothing_of_the_work() {
        let phase = |file: &str| {
            let replay = Replay {
                file: file.into(),
                digest: "1f".to_owned(),
                requests: 3,
                keys: 2,
                value_bytes_max: 10,
                speed: Some(2.0),
            };
            let role = Role { replay: Some(replay), ..Role::new("clients", 1, Vec::new()) };
            let ends = Ends { duration_ns: None, operations: Some(3) };
            let work = Activity::Measure(Mix { roles: vec![role], ends });
            Phase { name: "measure".to_owned(), work }
        };
        let (here, there) = (phase("/here"), phase("/there"));
        assert_ne!(here, there);
        assert_eq!(without_place(&here), without_place(&there));
        assert_eq!(replays(&[here]).map(|replay| replay.requests).sum::<u64>(), 3);
    }

    #[test]
    fn requests_to_a_drive_are_no_operations_on_keys() {
        let known = ["get", "put", "delete", "scan", "scan_reverse", "rmw"];
        assert!(known.iter().all(|name| operation(name).is_some()));
        assert!(["read", "write", "flush", "discard"].iter().all(|name| operation(name).is_none()));
    }
}
