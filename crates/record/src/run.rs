//! A run (`run.json`): who ran what, where, when.

use crate::blockio::Watch;
use crate::host::Host;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// `run.json`. Written when the run begins and again, whole, when it ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunRecord {
    /// [`crate::FORMAT`].
    pub format: String,
    /// The run directory's name.
    pub id: String,
    /// The suite's name.
    pub suite: String,
    /// Its name (`--name`); null: none.
    pub name: Option<String>,
    /// Its note (`--note`); null: none.
    pub note: Option<String>,
    /// The program's version.
    pub program: String,
    /// The command line, secrets struck out.
    pub command: Vec<String>,
    /// When it began, by the system's clock.
    pub started_unix_ns: u64,
    /// When it ended; null while it runs, or when it was killed.
    pub ended_unix_ns: Option<u64>,
    /// The times at which the run was resumed.
    pub resumed_unix_ns: Vec<u64>,
    /// The time at which it had stopped before each resumption; for a killed run, that of its last
    /// reading.
    #[serde(default)]
    pub stopped_unix_ns: Vec<u64>,
    /// The location of the databases.
    pub data_dir: String,
    /// The machine before the run.
    pub host_before: Host,
    /// The machine after the run; null while it runs, or when it was killed.
    pub host_after: Option<Host>,
    /// Overhead of the load generator: the null engine's time per operation, closed loop, one
    /// thread, taken by this run; null where the null engine was not found.
    pub load_generator_ns_per_op: Option<f64>,
    /// Interruptions of a thread that only reads the clock, measured by this run before its first
    /// case; null where not measured.
    pub hiccups: Option<Hiccups>,
    /// Whether block I/O is watched in the kernel.
    pub block_io: Watch,
    /// The most bytes of all kept states in its data directory (`--states`); 0: the run neither
    /// keeps nor uses any; null: it uses kept ones, and keeps none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub states_bytes: Option<u64>,
    /// The trace that requests of measured phases are recorded to (`trace record`); null: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<PathBuf>,
}

impl RunRecord {
    /// How long it was stopped before it was resumed, in all.
    pub fn paused_ns(&self) -> u64 {
        let pauses = self.stopped_unix_ns.iter().zip(&self.resumed_unix_ns);
        pauses.map(|(stopped, resumed)| resumed.saturating_sub(*stopped)).sum()
    }

    /// How long it was at work; none: it has not ended.
    pub fn took_ns(&self) -> Option<u64> {
        let took = self.ended_unix_ns?.checked_sub(self.started_unix_ns)?;
        Some(took.saturating_sub(self.paused_ns()))
    }
}

/// The times between two clock readings of a thread that does nothing else. Time beyond that of a
/// reading was taken by the machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Hiccups {
    /// How long the thread listened.
    pub length_ns: u64,
    /// The longest gap, exactly.
    pub max_ns: u64,
    /// All gaps in nanoseconds: an `HdrHistogram` V2, deflated, in base64.
    pub histogram: String,
}
