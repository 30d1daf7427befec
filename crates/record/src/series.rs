//! The time lines of a case: what the operations did (`series.ndjson`, written by the worker),
//! what the machine did (`machine.ndjson`, written by the program), and what the engine did inside
//! (`events.ndjson`, [`kvdyno_engine::EngineEvent`] a line).

use crate::usage::{DatabaseSize, Snapshot};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One slice of one phase: one line of `series.ndjson`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Slice {
    /// The phase's name.
    pub phase: String,
    /// Its number, from 0.
    pub slice: u64,
    /// Its start, since the phase began.
    pub start_ns: u64,
    /// Its length; the last may be shorter, or longer by the operation it waited for.
    pub length_ns: u64,
    /// Counts by role, then by operation name. An operation belongs to the slice it ended in.
    pub roles: BTreeMap<String, BTreeMap<String, SliceCounts>>,
}

/// The counts of one operation of one role in a slice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SliceCounts {
    /// Operations that ended in it.
    pub count: u64,
    /// Sum of their service times.
    pub service_ns: u64,
    /// The longest service time.
    pub service_ns_max: u64,
    /// Failed operations.
    pub errors: u64,
}

/// The machine in a slice: one line of `machine.ndjson`. Readings, not differences.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MachineReading {
    /// The phase's name.
    pub phase: String,
    /// The counters.
    pub reading: Snapshot,
    /// Memory resident in the worker (or server) now.
    pub rss_bytes: Option<u64>,
    /// The database's size; read less often than the rest.
    pub database: Option<DatabaseSize>,
}
