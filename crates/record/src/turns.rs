//! Two cases side by side: both engines are open at once, and while one works all processes of the
//! other are stopped. Phases that only read are measured in short turns, so that the pair of
//! figures is of one time; every other phase is run by one engine and then by the other.

use crate::workload::{Ends, Phase, Role};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The turns of a phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TurnsRecord {
    /// Number of turns.
    pub number: u32,
    /// Total time that the case's processes were stopped between turns.
    pub stopped_ns: u64,
    /// The case that worked meanwhile.
    pub with: String,
}

/// Why a phase is measured at a stretch though its case is one of a pair; `None`: it can be
/// measured in turns.
pub fn no_turns_reason(phase: &Phase) -> Option<&'static str> {
    let mix = phase.mix()?;
    let some = |has: fn(&Role) -> bool| mix.roles.iter().any(has);
    let Ends { duration_ns, least_ns, operations, .. } = mix.ends;
    if phase.writes() {
        Some("it writes: what one engine leaves unwritten would burden the other")
    } else if duration_ns.is_none() || least_ns.is_some() || operations.is_some() {
        Some("it does not end after a given time")
    } else if some(|role| role.rate.is_some() || role.pilot.is_some()) {
        Some("its operations are begun at a given rate")
    } else if some(|role| role.think_ns.is_some()) {
        Some("its threads pause between operations")
    } else if some(|role| role.depth.is_some() || role.os_threads.is_some()) {
        Some("its threads do not wait for each operation")
    } else {
        None
    }
}
