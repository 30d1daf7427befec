//! The work of the threads: data, keys, values, phases, roles, operation mixes. Every field is
//! resolved: nothing here means "the default".

pub use crate::expected_hits::ExpectedHits;
use crate::graph::Graph;
pub use crate::key::{Key, KeyFormat, KeyOrder};
use crate::operations::{KeySource, OPERATIONS, OpInfo};
pub use crate::origin::Origin;
use crate::replay::Replay;
use kvdyno_engine::Options;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::mem::discriminant;

mod choice;
mod count;
mod phases;
mod rate;
mod size;
#[cfg(test)]
mod tests;

pub use choice::{Choice, Domain, RangeDraw, Spread};
pub use phases::{allows_misses, depth, may_remove, reads, ycsb_items};
pub use rate::{Rate, Schedule, Sine, Stage, Step};
pub use size::{Over, Size, normal_quantile};

/// The data set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Data {
    /// Records after the load.
    pub records: u64,
    /// How a key is written.
    pub key: Key,
    /// How a value is made.
    pub value: ValueShape,
    /// The seed of all random choices.
    pub seed: u64,
    /// Values carry their key, version and checksum, and every one read is checked.
    pub verify: bool,
    /// The social graph that the records are, ids with their links; null: they are records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph: Option<Graph>,
    /// The database that was there, whose records these are; null: they are loaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Origin>,
    /// What was packed to make these records; null: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packed: Option<Packing>,
}

/// Neighbouring records that an engine has under one key. Those of the data set are then the packed
/// ones, fewer and longer: an operation asks for one record of a value, or writes them all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Packing {
    /// How many records there are by themselves.
    pub records: u64,
    /// How many under one key.
    pub each: u32,
}

impl Data {
    /// The kind of data: records, or nodes and links.
    pub fn loaded_items(&self) -> u64 {
        self.graph.as_ref().map_or(self.records, |graph| graph.totals.ids + graph.totals.links)
    }

    /// The records by themselves, packed or not: the same for engines that are compared.
    #[must_use]
    pub fn unpacked(&self) -> Self {
        let Some(packed) = self.packed else { return self.clone() };
        let size = match self.value.size {
            Size::Fixed { bytes } => Size::Fixed { bytes: bytes / u64::from(packed.each) },
            ref drawn => drawn.clone(),
        };
        let value = ValueShape { size, ..self.value.clone() };
        Self { records: packed.records, value, packed: None, ..self.clone() }
    }
}

/// How a value is made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ValueShape {
    /// Its length.
    pub size: Size,
    /// Size it compresses to, as a share: 0.5 means half; 1.0 is random bytes.
    pub compress_to: f64,
}

/// One step of a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Phase {
    /// Its name, unique in its case.
    pub name: String,
    /// The longer phase that it is a window of; null: it is a phase of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<PhaseWindow>,
    /// Its work.
    #[serde(flatten)]
    pub work: Activity,
}

/// One of the phases that a longer one is divided into.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseWindow {
    /// The name of the longer phase.
    pub phase: String,
    /// Which of its windows, from 1.
    pub number: u32,
}

/// The work of a phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Activity {
    /// Each record is written once; ends with the engine's `sync`, inside the time.
    Load(Load),
    /// Make every write durable, and wait for the engine's background work.
    Settle {
        /// How long at most.
        limit_ns: u64,
    },
    /// Read a sample of keys and check each value; count all records where requested.
    Verify {
        /// How many keys, spread evenly over all.
        samples: u64,
        /// Count all records by a scan.
        count: bool,
    },
    /// Read every record once, so that the caches hold what fits into them.
    Warm,
    /// Close the engine, let the program evict its files from the page cache, open it again.
    Evict,
    /// Close the engine, open it again with these options.
    Reopen {
        /// Every option, resolved.
        options: Options,
    },
    /// As `measure`, but its figures are not results.
    Warmup(Mix),
    /// The roles work side by side in equal windows.
    Measure(Mix),
}

impl Activity {
    /// What its roles do, where it has any.
    pub fn mix(&self) -> Option<&Mix> {
        match self {
            Self::Warmup(mix) | Self::Measure(mix) => Some(mix),
            _ => None,
        }
    }

    /// The word for it in a record.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Load(_) => "load",
            Self::Settle { .. } => "settle",
            Self::Verify { .. } => "verify",
            Self::Warm => "warm",
            Self::Evict => "evict",
            Self::Reopen { .. } => "reopen",
            Self::Warmup(_) => "warmup",
            Self::Measure(_) => "measure",
        }
    }
}

/// How the records are written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Load {
    /// In which order.
    pub order: LoadOrder,
    /// Records in one engine batch.
    pub batch: u32,
    /// Threads; each takes a contiguous range of the order.
    pub threads: u32,
    /// Of order `first_read`: the trace, with as many `requests` as there are records to load;
    /// null: the order is one of all records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<Replay>,
}

/// The order of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoadOrder {
    /// Ascending keys.
    Sequential,
    /// Each key once, in random order.
    Random,
    /// A random key for each write, as fillrandom of `db_bench` runs. Some keys are written several
    /// times, and 36.8 % never.
    Drawn,
    /// The keys that a trace reads before it writes them, in the order of their first reads. Each
    /// has its recorded length.
    FirstRead,
}

/// Roles at work side by side until an end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Mix {
    /// Who works.
    pub roles: Vec<Role>,
    /// When it ends.
    pub ends: Ends,
}

/// The end of a phase, whichever comes first (at least one is set), and of its turns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ends {
    /// After this time.
    pub duration_ns: Option<u64>,
    /// After this time as soon as the rates are steady ([`crate::steady::EndRule`]); null: at no
    /// time before `duration_ns`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least_ns: Option<u64>,
    /// When the first role has done this many: exactly that many.
    pub operations: Option<u64>,
    /// It pauses each time it has worked so long, while the other case of its pair works
    /// ([`crate::turns`]); null: it is measured at a stretch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_ns: Option<u64>,
}

impl Ends {
    /// By time.
    pub fn after_ns(duration_ns: u64) -> Self {
        Self { duration_ns: Some(duration_ns), ..Self::default() }
    }

    /// By a count of operations.
    pub fn after_operations(operations: u64) -> Self {
        Self { operations: Some(operations), ..Self::default() }
    }
}

/// A group of threads with the same mix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Role {
    /// "readers", "writer".
    pub name: String,
    /// How many threads.
    pub threads: u32,
    /// Their operations. Weights are relative to their sum.
    pub mix: Vec<MixEntry>,
    /// Open loop at this rate; null: closed loop, as fast as it goes.
    pub rate: Option<Rate>,
    /// How the rate is found, before the first trial; null: it was given, or there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pilot: Option<PilotRate>,
    /// Operations that each thread keeps in flight; null: it calls and waits, one at a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// The pause of each thread after each operation, in a closed loop; null: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think_ns: Option<u64>,
    /// Threads of the operating system that they share; null: each has one of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub os_threads: Option<u32>,
    /// Writes of a thread after which it flushes; null: it does not. The mix has the flush, with
    /// weight 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flush_every: Option<u32>,
    /// The share of its lookups that must find their key.
    #[serde(default, skip_serializing_if = "ExpectedHits::is_all")]
    pub expected_hits: ExpectedHits,
    /// The trace that its requests come from, each with its key and lengths; null: they are drawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<Replay>,
}

/// A rate that all engines can sustain: a share of the slowest one's own in an earlier phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PilotRate {
    /// The measured phase, as fast as it goes.
    pub phase: String,
    /// Of the slowest engine's rate in it.
    pub share: f64,
}

impl Role {
    /// Its rate is not found yet, so it cannot be run.
    pub fn lacks_rate(&self) -> bool {
        self.pilot.is_some() && self.rate.is_none()
    }
}

/// One operation of a mix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MixEntry {
    /// What is done.
    #[serde(flatten)]
    pub op: Op,
    /// How often, relative to the others.
    pub weight: f64,
    /// To which keys.
    pub keys: Choice,
    /// How long a record lives that it writes; null: until it is removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ns: Option<u64>,
}

impl MixEntry {
    /// An operation whose records stay.
    pub fn new(op: Op, weight: f64, keys: Choice) -> Self {
        Self { op, weight, keys, ttl_ns: None }
    }
}

/// Operations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "op")]
pub enum Op {
    /// Look one key up.
    Get,
    /// Write a key that was never there: the next number.
    Insert,
    /// Write a key that is there.
    Update,
    /// Remove a key.
    Delete,
    /// Read neighbouring records in key order.
    Scan {
        /// From high to low.
        reverse: bool,
        /// How many.
        length: Size,
    },
    /// Look several keys up in one call.
    Multiget {
        /// How many; `count` in files, where `keys` says which.
        #[serde(rename = "count", with = "count")]
        #[schemars(with = "count::Count")]
        keys: Size,
    },
    /// Read a key and write it anew.
    ReadModifyWrite,
    /// Update several keys in one batch.
    Batch {
        /// How many.
        #[serde(with = "count")]
        #[schemars(with = "count::Count")]
        writes: Size,
    },
    /// Read the next records in key order, from where the one before ended; after the last, from
    /// the first again. It takes no keys.
    Walk {
        /// From high to low.
        reverse: bool,
        /// How many.
        length: Size,
    },
    /// Close the engine, and open it again up to the first answer, which alone is timed.
    Open {
        /// The program evicts its files from the page cache before.
        cold: bool,
    },
    /// The same of a database whose last process was killed while it updated records.
    Recover {
        /// The program evicts its files from the page cache after the kill.
        cold: bool,
        /// Updates of the process that is killed, offered in its one second.
        writes: u64,
    },
    /// Make earlier writes durable; recorded, and never drawn.
    Flush,
    /// Add a node, the next one. All from here on are requests of a graph, which says what they are
    /// for; they choose no keys.
    AddNode,
    /// Look a node up.
    GetNode,
    /// Write a node anew, if it is there.
    UpdateNode,
    /// Remove a node.
    DeleteNode,
    /// Add a link, or write it anew; its count grows where it was not there or hidden.
    AddLink,
    /// The same, of links that are mostly there.
    UpdateLink,
    /// Hide a link; its count falls.
    DeleteLink,
    /// Look a count of links up.
    CountLink,
    /// Look several links of a node up.
    MultigetLink,
    /// The links of a node, the newest first.
    GetLinksList,
}

impl Op {
    /// Its name in files and columns.
    pub fn name(&self) -> &'static str {
        self.info().name
    }

    /// Its properties.
    pub fn info(&self) -> &'static OpInfo {
        let is_it = |op: &Op| discriminant(op) == discriminant(self);
        let info = OPERATIONS.iter().find(|info| info.op.as_ref().is_some_and(is_it));
        info.unwrap_or_else(|| unreachable!("the table has every operation"))
    }

    /// It is a request of a graph.
    pub fn is_of_graph(&self) -> bool {
        self.info().keys == KeySource::Graph
    }

    /// It opens the engine: it is the only operation of its phase.
    pub fn opens(&self) -> bool {
        self.info().keys == KeySource::Opened
    }

    /// It opens files that the program has evicted before.
    pub fn is_cold(&self) -> bool {
        matches!(self, Self::Open { cold: true } | Self::Recover { cold: true, .. })
    }

    /// Records that one of it writes, in the mean.
    pub fn records_written(&self) -> f64 {
        match self {
            Self::Batch { writes } => writes.mean(),
            op => f64::from(u8::from(op.writes())),
        }
    }

    /// Reads, writes, or both: decides a role's column.
    pub fn writes(&self) -> bool {
        self.info().writes
    }
}

impl Role {
    /// A closed loop that finds all keys, one at a time.
    pub fn new(name: &str, threads: u32, mix: Vec<MixEntry>) -> Self {
        Self {
            name: name.to_owned(),
            threads,
            mix,
            rate: None,
            depth: None,
            think_ns: None,
            os_threads: None,
            flush_every: None,
            pilot: None,
            expected_hits: ExpectedHits::All,
            replay: None,
        }
    }

    /// Threads of the operating system that so many of its own take: all, or a rank's.
    pub fn count_os_threads(&self, ours: u32) -> u32 {
        let (threads, ours) = (u64::from(self.threads.max(1)), u64::from(ours));
        let share = |on: u32| (u64::from(on).min(threads) * ours).div_ceil(threads);
        self.os_threads.map_or(ours, share) as u32
    }
}

impl Phase {
    /// A phase of its own.
    pub fn new(name: impl Into<String>, work: Activity) -> Self {
        Self { name: name.into(), window: None, work }
    }

    /// What its roles do, where it has any.
    pub fn mix(&self) -> Option<&Mix> {
        self.work.mix()
    }

    /// Its roles, where it has any.
    pub fn roles_mut(&mut self) -> impl Iterator<Item = &mut Role> {
        let mix = match &mut self.work {
            Activity::Warmup(mix) | Activity::Measure(mix) => Some(mix),
            _ => None,
        };
        mix.into_iter().flat_map(|mix| &mut mix.roles)
    }

    /// Whether it writes records.
    pub fn writes(&self) -> bool {
        matches!(self.work, Activity::Load(_)) || self.mix().is_some_and(Mix::writes)
    }
}

impl Mix {
    /// Every operation of every role.
    pub fn entries(&self) -> impl Iterator<Item = &MixEntry> {
        self.roles.iter().flat_map(|role| &role.mix)
    }

    /// Some operation writes; what a trace does is not known here.
    pub fn writes(&self) -> bool {
        self.roles.iter().any(|role| role.replay.is_some())
            || self.entries().any(|entry| entry.op.writes())
    }
}
