//! `torture.json`: the findings of power losses. Counts alone; readers judge them.

use crate::files::{read_json, write_json};
use crate::lines::Result;
use kvdyno_engine::{Durability, PowerLoss};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The name of the file.
pub const FILE: &str = "torture.json";

/// All that one call of `kvdyno torture` found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TortureRecord {
    /// [`crate::FORMAT`].
    pub format: String,
    /// The directory's name.
    pub id: String,
    /// The program's version.
    pub program: String,
    /// The command line, secrets struck out.
    pub command: Vec<String>,
    /// The kernel's release.
    pub kernel: String,
    /// When it began, by the system's clock.
    pub started_unix_ns: u64,
    /// When it ended; null: it was interrupted.
    pub ended_unix_ns: Option<u64>,
    /// The filesystem on the drive: `ext4`.
    pub filesystem: String,
    /// Seed of all draws.
    pub seed: u64,
    /// Number of writers.
    pub writers: u64,
    /// Requested states of a power loss, for each class.
    pub states: u64,
    /// The results of each class of each engine.
    pub classes: Vec<ClassRecord>,
}

/// One class of one engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClassRecord {
    /// The engine's name.
    pub engine: String,
    /// The engine's version, as the engine reports it.
    pub version: String,
    /// Checksum of its worker.
    pub worker_sha256: String,
    /// Checksum of its library, where it loads one.
    pub library_sha256: Option<String>,
    /// The class.
    pub durability: Durability,
    /// The engine's settings behind it, in its adapter's words.
    pub settings: String,
    /// What a power loss does, by the engine's own description.
    pub power_loss: PowerLoss,
    /// Options that differ from its defaults.
    pub options: Vec<String>,
    /// The trials.
    pub trials: Vec<Trial>,
    /// The recording of the power losses, in the record's directory, where it was kept.
    pub recording: Option<String>,
    /// Why the trials could not be finished; null: they were.
    pub failed: Option<String>,
    /// How long that took.
    pub took_ns: u64,
}

/// The kind of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrialKind {
    /// The engine's process is killed; the page cache survives.
    Kill,
    /// The power goes.
    Power,
    /// The power goes, and the drive had ignored flushes: losses must be seen.
    Control,
    /// A flush fails with EIO, once; then the power goes.
    FlushFails,
    /// Writes fail with ENOSPC for a moment; then the power goes.
    Full,
    /// The drive answers nothing for a while; then the power goes.
    Pause,
    /// The power goes as soon as the engine says that all its writes are durable.
    Sync,
}

impl TrialKind {
    /// Returns the name in tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Kill => "kill -9",
            Self::Power => "power loss",
            Self::Control => "control",
            Self::FlushFails => "EIO at a flush",
            Self::Full => "ENOSPC",
            Self::Pause => "pause",
            Self::Sync => "power loss after sync",
        }
    }
}

/// A trial of a class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// The kind of the trial.
    pub kind: TrialKind,
    /// The number of states with each finding.
    pub tally: Tally,
    /// Some states in which anything was found, the worst first.
    pub examples: Vec<Example>,
    /// How long that took.
    pub took_ns: u64,
}

/// Threads that write, at most.
pub const WRITERS_MAX: u64 = 64;

/// The number of states with each finding; one state may have several.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// States looked at.
    pub states: u64,
    /// States after the first acknowledgement in which the filesystem did mount: only these can
    /// lose anything. Null: earlier programs did not count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub promised: Option<u64>,
    /// States in which nothing was wrong.
    pub sound: u64,
    /// States in which acknowledged writes were lost.
    pub lost: u64,
    /// States in which a later write of a writer was there, and an earlier one was not.
    pub holes: u64,
    /// States in which only a part of a batch was there.
    pub partial_batches: u64,
    /// States in which a value was shown that was never written.
    pub torn: u64,
    /// States in which the database was not opened, or not read to its end.
    pub unopened: u64,
    /// States among those in which the process crashed or hung.
    pub crashes: u64,
    /// States in which records existed that were not written yet.
    pub phantoms: u64,
    /// States that were not opened, or that had torn values, partial batches or phantoms.
    pub corrupt: u64,
    /// States that were not opened, before anything was acknowledged: the database was being made.
    pub before_first_ack: u64,
    /// States in which the filesystem itself did not mount: the engine was not tested.
    pub unmounted: u64,
}

/// Returns the share of states that may lose writes where none of `states` did, with 95 %
/// confidence: the rule of three (Hanley and Lippman-Hand, If nothing goes wrong, is everything all
/// right?, JAMA 1983). It needs many states: for three it says nothing.
pub fn loss_bound(states: u64) -> Option<f64> {
    (states > 3).then(|| 3.0 / states as f64)
}

impl Tally {
    /// Returns the number of states in which acknowledged writes could have been lost. Where they
    /// were not counted, it is an upper bound.
    pub fn promised_states(&self) -> u64 {
        let judged = || self.states.saturating_sub(self.unmounted + self.before_first_ack);
        self.promised.unwrap_or_else(judged)
    }

    /// Whether nothing was found in any state.
    pub fn is_sound(&self) -> bool {
        self.lost + self.corrupt + self.holes == 0
    }
}

/// A state in which something was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Example {
    /// The state's number, by which it is replayed.
    pub state: u64,
    /// What was lost there, and when; for a kill: after how long.
    pub how: String,
    /// Writes acknowledged by then.
    pub acknowledged: u64,
    /// The finding in words.
    pub damage: String,
}

impl TortureRecord {
    /// Reads the record of a directory.
    pub fn read(dir: &Path) -> Result<Self> {
        read_json(&dir.join(FILE))
    }

    /// Reads the records below a directory of runs, newest first; one that cannot be read is
    /// skipped.
    pub fn read_all(runs: &Path) -> Vec<Self> {
        let entries = std::fs::read_dir(runs).into_iter().flatten().flatten();
        let dirs = entries.map(|entry| entry.path()).filter(|path| path.join(FILE).is_file());
        let mut records: Vec<Self> = dirs.filter_map(|path| Self::read(&path).ok()).collect();
        records.sort_by_key(|record| std::cmp::Reverse(record.started_unix_ns));
        records
    }

    /// Writes it into a directory, whole.
    pub fn write(&self, dir: &Path) -> Result<()> {
        write_json(&dir.join(FILE), self)
    }
}
