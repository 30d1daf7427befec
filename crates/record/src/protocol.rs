//! The messages between program and worker: a [`Job`] and [`Control`] lines on the worker's
//! standard input, [`Event`] lines on its standard output; one JSON value a line.
//!
//! The worker announces each phase and waits; the program takes its readings and says go. When the
//! phase is over it waits again, so that nothing moves while the program reads what it did. So all
//! accounting stays with the program, the same for a library and for a server.
//!
//! A server has a supervisor, the same worker with another command: it reads [`SupervisorOrder`]
//! lines.

use crate::case::{RoleResult, Verified};
use crate::crew::{RankId, RankResult};
use crate::usage::ProcessUsage;
pub use crate::worker::{AttachedServer, NO_LOAD_GENERATOR, WorkerDescription};
use crate::workload::{Data, Phase};
use kvdyno_engine::{Counters, DataShape, Error, Location, Options};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The first line on a worker's standard input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Job {
    /// [`crate::PROTOCOL`] as the program was built with.
    pub protocol: u32,
    /// The case's id, for messages.
    pub case: String,
    /// The location of the data.
    pub location: Location,
    /// The engine's options.
    pub options: Options,
    /// The shape of the data.
    pub shape: DataShape,
    /// The data set.
    pub data: Data,
    /// The phases, in order.
    pub phases: Vec<Phase>,
    /// The phases that the database has behind it, by the cases that loaded and used it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases_before: Vec<Phase>,
    /// Length of a slice.
    pub slice_ns: u64,
    /// Failed operations allowed.
    pub errors_max: u64,
    /// The case's directory: series, events and histograms are written there.
    pub dir: PathBuf,
    /// Differs between trials, so that trials draw different keys.
    pub trial: u32,
    /// The worker's rank in a crew, in which each rank does its share; null: it works alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crew: Option<RankId>,
    /// Phases whose requests are recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recordings: Vec<Recording>,
}

/// A phase whose requests are recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Recording {
    /// Index into the phases.
    pub phase: u32,
    /// The trace that they become.
    pub file: PathBuf,
    /// The suite's name.
    pub suite: String,
    /// The engine's name in the suite.
    pub engine: String,
}

/// The lines after the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "control")]
pub enum Control {
    /// Continue: begin the announced phase; after `turn_ended`, the next turn begins; after
    /// `finished`, the readings are taken; after `closed` in a phase `evict`, the files are
    /// evicted.
    Go,
    /// End the running phase now, keep its measurements, and finish.
    Stop,
}

/// The orders of a supervisor, one per line; when the orders end, the supervisor ends with its
/// server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "order")]
pub enum SupervisorOrder {
    /// Start the server, which is not running.
    Serve(ServerJob),
    /// Stop the server in an orderly way, so that all its data is in its files.
    Halt,
}

/// The server of one case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerJob {
    /// The location of its data: a directory, or a device.
    pub location: Location,
    /// The address to listen at, which is that of an earlier start; null: the supervisor chooses.
    pub address: Option<String>,
    /// The engine's options.
    pub options: Options,
    /// The shape of the data.
    pub shape: DataShape,
    /// The name of the database in an attached server.
    pub database: String,
}

/// The lines a worker writes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "event")]
#[expect(clippy::large_enum_variant, reason = "a few a second; boxes would only be in the way")]
pub enum Event {
    /// The first line.
    Hello {
        /// [`crate::PROTOCOL`] as the worker was built with; sent before the job is read.
        protocol: u32,
        /// The clock in use: `tsc` or `monotonic`.
        clock: String,
        /// Ticks of it in a second.
        clock_hz: f64,
        /// Why the clock is not the fastest one; empty: it is.
        clock_note: String,
    },
    /// The engine is open; sent once after each open.
    Opened {
        /// How long that took.
        took_ns: u64,
        /// Its rank in a crew, as in the job; null: none. It shows that the worker supports crews:
        /// one that does not would do all the work.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        crew: Option<RankId>,
    },
    /// A phase is ready: the program sends go.
    Ready {
        /// Index into the phases.
        phase: u32,
        /// Readings of the worker itself.
        usage: ProcessUsage,
        /// The engine's own counters.
        counters: Counters,
    },
    /// The progress of a phase, sent a few times a second.
    Progress {
        /// Index into the phases.
        phase: u32,
        /// When it began, by the system's clock.
        started_unix_ns: u64,
        /// Operations (records while loading) done.
        done: u64,
        /// Operations (records while loading) in all; null where time ends the phase.
        total: Option<u64>,
        /// Time since the phase began.
        elapsed_ns: u64,
        /// Threads that have not ended; null: not counted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        threads: Option<u32>,
    },
    /// A turn of a phase is over: all threads pause until the program sends go.
    TurnEnded {
        /// Index into the phases.
        phase: u32,
    },
    /// A phase is over: the program sends go after its readings.
    Finished {
        /// Index into the phases.
        phase: u32,
        /// When it began, by the system's clock.
        started_unix_ns: u64,
        /// How long it took.
        wall_ns: u64,
        /// Readings of the worker itself at go.
        usage_before: ProcessUsage,
        /// Readings of the worker itself at the end of the phase.
        usage: ProcessUsage,
        /// The engine's own counters.
        counters: Counters,
        /// The results of each role; a load is one role named `load`.
        roles: Vec<RoleResult>,
        /// The results of a verify phase; null for other phases.
        verified: Option<Verified>,
        /// Whether the engine settled, and the engine's report, for a settle phase; null for other
        /// phases.
        settled: Option<(bool, String)>,
        /// Records that the database has now; null: unknown. In a crew, the first rank's number
        /// includes the loaded records, and each rank's those that it inserted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        live_records: Option<u64>,
        /// Whether it was ended by [`Control::Stop`].
        stopped: bool,
        /// Class and message of the failure that ended it; null: none. After go the worker sends
        /// [`Event::Failed`] and nothing more.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failed: Option<(kvdyno_engine::ErrorClass, String)>,
        /// The results of each rank of a crew; empty: no crew.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        ranks: Vec<RankResult>,
    },
    /// The engine was closed: at the end, or in a phase `evict`, `reopen` or of openings, where it
    /// waits for go.
    Closed {
        /// How long that took.
        took_ns: u64,
    },
    /// A supervisor's server is ready.
    Serving {
        /// The server's address.
        address: String,
        /// How it was started.
        command: Vec<String>,
        /// How long that took, until it answered.
        took_ns: u64,
    },
    /// A supervisor's server has ended in an orderly way.
    Halted {
        /// How long that took.
        took_ns: u64,
    },
    /// The last line of a worker that did all its work.
    Done {
        /// How far its clock has drifted from the system's raw clock since it was calibrated.
        drift_ppm: Option<f64>,
    },
    /// The case cannot continue.
    Failed {
        /// Index of the phase; null: before the first, or while closing.
        phase: Option<u32>,
        /// The class of the error.
        class: kvdyno_engine::ErrorClass,
        /// In the engine's or the load generator's words.
        message: String,
        /// The signal that a supervisor's server died of; null: none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signal: Option<i32>,
    },
}

// The code that reads and writes a worker's JSON is compiled here. Otherwise each worker would
// contain it once more, and take the time to compile it.
impl WorkerDescription {
    /// Returns the description as `describe` prints it.
    pub fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string_pretty(self)
    }
}

impl Job {
    /// Returns the job as a line, with its line end.
    pub fn to_line(&self) -> serde_json::Result<Vec<u8>> {
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        Ok(line)
    }

    /// Parses the job of a line.
    pub fn from_json(line: &str) -> serde_json::Result<Self> {
        serde_json::from_slice(line.as_bytes())
    }
}

impl Control {
    /// Returns the order as a line, with its line end.
    pub fn to_line(self) -> serde_json::Result<Vec<u8>> {
        let mut line = serde_json::to_vec(&self)?;
        line.push(b'\n');
        Ok(line)
    }

    /// Parses the order of a line.
    pub fn from_json(line: &str) -> serde_json::Result<Self> {
        serde_json::from_slice(line.as_bytes())
    }
}

impl SupervisorOrder {
    /// Parses the order of a line.
    pub fn from_json(line: &str) -> serde_json::Result<Self> {
        serde_json::from_slice(line.as_bytes())
    }
}

impl Event {
    /// Returns the event as a line, with its line end.
    pub fn to_line(&self) -> serde_json::Result<Vec<u8>> {
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        Ok(line)
    }

    /// Parses the event of a line.
    pub fn from_json(line: &str) -> serde_json::Result<Self> {
        serde_json::from_slice(line.as_bytes())
    }

    /// The event of an engine's failure.
    pub fn from_error(phase: Option<u32>, error: &Error) -> Self {
        Self::Failed { phase, class: error.class, message: error.message.clone(), signal: None }
    }
}
