//! The flat plan: every case that a suite expands to, with every default written out.

use crate::claim::Claim;
use crate::column::ColumnName;
use crate::crew::Crew;
use crate::left_out::LeftOut;
use crate::library::Library;
use crate::outcome::Outcome;
use crate::search::Search;
use crate::tier::{Memory, Tier};
use crate::volume::{Medium, Volume};
use crate::worker::AttachedServer;
use crate::workload::{Activity, Data, Phase, Role};
use kvdyno_engine::{DataShape, Options};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The engine of cases on the bare drive.
pub const DRIVE: &str = "drive";

/// The plan of a run (`plan.json`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// [`crate::FORMAT`].
    pub format: String,
    /// The suite's name.
    pub suite: String,
    /// One line about the suite.
    pub title: String,
    /// Decisions taken from the host rather than the suite, in words ("RAM limit 256 MiB = ...").
    pub sized: Vec<String>,
    /// Warnings, in words ("rocksdb may not fit its RAM limit: ...").
    pub warnings: Vec<String>,
    /// Parts of the suite that are not run here, each with its reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
    /// The cases, in the order they are run.
    pub cases: Vec<Case>,
    /// Additional columns of the run's tables.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<ColumnName>,
    /// The search that the plan's points belong to; null: no search, all cases are known
    /// beforehand.
    pub search: Option<Search>,
    /// The published study that it repeats, by id; null: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub study: Option<String>,
    /// Two rates that differ by less than this share are equal.
    pub within: f64,
    /// The share by which a primary figure of the second engine may be worse than that of the
    /// first; null: no gate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<f64>,
    /// The target that each engine must meet, in the form of `--target`; null: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The claims of the suite.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<Claim>,
    /// Its estimated cost.
    pub estimate: Estimate,
}

/// By default, two rates that differ by less are equal.
pub const WITHIN: f64 = 0.03;

/// One point of the suite, once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Case {
    /// Directory name: `0005_rocksdb_t4_r2`; unique and in order.
    pub id: String,
    /// A text of all that makes two cases comparable, without trial and host: equal keys mean equal
    /// work.
    pub key: String,
    /// The engine's name, as in its worker `kvdyno-<engine>`.
    pub engine: String,
    /// The engine's name in tables; differs from `engine` where a suite has one engine several
    /// times.
    pub label: String,
    /// The part of the suite that it belongs to; null: the suite has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// The library of the engine; null: it is part of its worker.
    pub library: Option<Library>,
    /// The attached server; null: no server is attached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<AttachedServer>,
    /// The crew that drives the engine; null: one worker drives it, on this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crew: Option<Crew>,
    /// Every option, resolved.
    pub options: Options,
    /// The number of the trial, from 1; 0: a pilot, which only sets rates ([`Case::is_pilot`]).
    pub trial: u32,
    /// Its place in tables: in the order of the suite, not in the random order of running. Cases
    /// with equal keys have equal numbers.
    pub listed: u32,
    /// Whether its figures are the limit that the other cases are compared with.
    pub ceiling: bool,
    /// The swept number of threads, or that of all roles of the first measured phase where none is
    /// swept; null for a case that only loads.
    pub threads: Option<u32>,
    /// The swept number of threads; null: none is swept.
    pub threads_swept: Option<u32>,
    /// The database it works on.
    pub database: Database,
    /// The volume of the database, where the suite names volumes; null: the run's data directory.
    pub volume: Option<Volume>,
    /// The RAM the worker and the page cache of its files may use; null: no limit.
    pub ram_limit_bytes: Option<u64>,
    /// The first phase that the limit holds in; the database is made before it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub ram_limit_from: u32,
    /// The memory tier below that limit; null: the suite names none.
    pub tier: Option<Tier>,
    /// The data set.
    pub data: Data,
    /// [`Data`] as the engine gets it.
    pub shape: DataShape,
    /// The phases, in order.
    pub phases: Vec<Phase>,
    /// The most time of the case; it is ended when it takes longer.
    pub budget_ns: u64,
    /// The case of the other engine that it is run side by side with, phase by phase or in turns
    /// ([`crate::turns`]); null: it runs alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns_with: Option<String>,
    /// Length of a slice of the series.
    pub slice_ns: u64,
    /// Whether block I/O is watched in the kernel while it runs, regardless of the command line.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub io_latency: bool,
    /// Whether the functions that its threads are in are sampled while they run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub profile: bool,
    /// The counter of instructions; null: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<Counting>,
    /// The most failed operations; with more of them the case fails.
    pub errors_max: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// The counter of instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Counting {
    /// Runs the worker under valgrind and counts in place of times.
    Valgrind,
    /// Counts instructions, cycles, cache misses and branch misses in the processor, next to the
    /// times.
    Processor,
}

/// The name of the part that `versus --why` adds to a part of a suite, or to a suite without parts:
/// its instructions are counted.
pub fn counted_part(part: Option<&str>) -> String {
    const COUNTED: &str = "counted";
    part.map_or_else(|| COUNTED.to_owned(), |part| format!("{part}-{COUNTED}"))
}

/// Which database a case works on: one that it makes itself, or one that an earlier case left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Database {
    /// Its directory's name in its data directory: unique in the run.
    pub id: String,
    /// The case that loads it; its own id where it loads itself.
    pub loaded_by: String,
    /// Whether it is removed after this case.
    pub last_use: bool,
    /// Whether it stays as it was loaded: every other case works on a copy of it, made for the case
    /// and gone after it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_state: bool,
}

impl Plan {
    /// Whether all cases count instructions in place of times.
    pub fn is_counted(&self) -> bool {
        self.cases.iter().all(Case::is_counted)
    }

    /// Whether a case's instructions are counted beside the times of other cases. It explains their
    /// verdict, and has no part in it.
    pub fn is_beside(&self, case: &Case) -> bool {
        let is_timed = |other: &Case| {
            !other.is_counted() && case.part == Some(counted_part(other.part.as_deref()))
        };
        case.is_counted() && self.cases.iter().any(is_timed)
    }
}

impl Case {
    /// Whether instructions are counted in place of times.
    pub fn is_counted(&self) -> bool {
        self.count == Some(Counting::Valgrind)
    }

    /// Whether it only finds what an engine sustains, so that roles of other cases get a rate that
    /// all engines sustain. Its figures are not results.
    pub fn is_pilot(&self) -> bool {
        self.trial == 0
    }

    /// Whether some role of it waits for the rate of a pilot.
    pub fn lacks_rate(&self) -> bool {
        let mut roles = self.phases.iter().filter_map(Phase::mix).flat_map(|mix| &mix.roles);
        roles.any(Role::lacks_rate)
    }

    /// Mean bytes of a record's value; in a graph, of an id with all its links.
    pub fn value_bytes_mean(&self) -> u64 {
        match self.data.graph {
            Some(_) => self.data.value.size.mean() as u64,
            None => self.shape.value_bytes_mean,
        }
    }

    /// How many records its load phase of this name writes.
    pub fn loaded_items(&self, phase: &str) -> u64 {
        let all = self.data.loaded_items();
        let load = self.phases.iter().find_map(|planned| match &planned.work {
            Activity::Load(load) if planned.name == phase => Some(load),
            _ => None,
        });
        load.map_or(all, |load| load.written_records(all))
    }

    /// Bytes of keys and values of all records after the load.
    pub fn user_bytes(&self) -> u64 {
        match &self.data.graph {
            Some(graph) => graph.bytes() as u64,
            None => self.shape.user_bytes(),
        }
    }

    /// Bytes of keys and values of `records` records of mean length.
    pub fn bytes_for_records(&self, records: u64) -> f64 {
        self.user_bytes() as f64 * (records as f64 / self.data.records.max(1) as f64)
    }

    /// Whether it loads its database itself.
    pub fn makes_database(&self) -> bool {
        self.database.loaded_by == self.id
    }

    /// Whether it works on a copy of a state.
    pub fn copies_state(&self) -> bool {
        self.database.is_state && !self.makes_database()
    }

    /// Whether it loads a database for other cases that later runs can reuse. A case that also
    /// measures is done again by each run, and a volume that is made for a run is removed with it.
    /// The file of a bare drive is written as fast as it is copied.
    pub fn makes_state(&self) -> bool {
        let stays = |volume: &Volume| matches!(volume.medium, Medium::Directory { .. });
        self.makes_database()
            && !self.database.last_use
            && self.engine != DRIVE
            && self.server.is_none()
            && self.volume.as_ref().is_none_or(stays)
            && !self.phases.iter().any(|phase| matches!(phase.work, Activity::Measure(_)))
    }

    /// Whether a phase of it loads or writes.
    pub fn writes(&self) -> bool {
        self.phases.iter().any(Phase::writes)
    }

    /// The memory tier below its RAM limit; none where that tier is more of the same memory.
    pub fn tier_below(&self) -> Option<&Tier> {
        self.tier.as_ref().filter(|tier| tier.memory != Memory::Dram)
    }

    /// The swap it may use, and its swappiness.
    pub fn swap(&self) -> Option<(u64, u32)> {
        self.tier.as_ref()?.memory.swap()
    }

    /// Whether it would end the same way again: by itself, or because its database cannot be
    /// loaded. `done` has the outcome of each case's last try.
    pub fn is_settled(&self, done: &BTreeMap<String, Outcome>) -> bool {
        let load = || done.get(&self.database.loaded_by);
        match done.get(&self.id) {
            Some(Outcome::NotRun { .. }) => {
                self.lacks_rate() || load().is_some_and(Outcome::is_hopeless)
            }
            outcome => outcome.is_some_and(Outcome::is_final),
        }
    }
}

/// The estimated cost of a plan. Sums over all cases; factors are the engines' own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// The most time that it takes.
    pub wall_ns: u64,
    /// The time if all that is not timed were done in memory; null: not estimated.
    #[serde(default)]
    pub wall_least_ns: Option<u64>,
    /// Bytes written to the volume.
    pub write_bytes: u64,
    /// Most bytes on the volume at one time.
    pub space_bytes: u64,
    /// Bytes of the record, which grows with its slices.
    pub record_bytes: u64,
    /// The basis of the estimate, in words.
    pub assumptions: Vec<String>,
    /// Bytes of space, by database id.
    pub databases: BTreeMap<String, u64>,
}
