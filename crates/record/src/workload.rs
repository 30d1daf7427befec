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
    /// Whether values carry their key, version and checksum, and every value read is checked.
    pub verify: bool,
    /// The social graph whose ids, with their links, are the records; null: the data is no graph.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph: Option<Graph>,
    /// The existing database whose records these are; null: they are loaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Origin>,
    /// How records were packed to make these; null: they were not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packed: Option<Packing>,
}

/// Neighbouring records that an engine has under one key. The records of the data set are then the
/// packed ones, fewer and longer: an operation asks for one record of a value, or writes all of
/// them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Packing {
    /// Number of records before packing.
    pub records: u64,
    /// Records under one key.
    pub each: u32,
}

impl Data {
    /// Returns the number of items that a load writes: records, or nodes and links.
    pub fn loaded_items(&self) -> u64 {
        self.graph.as_ref().map_or(self.records, |graph| graph.totals.ids + graph.totals.links)
    }

    /// Returns the data set without packing, which is the same for engines that are compared.
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
        /// The most time to wait.
        limit_ns: u64,
    },
    /// Read a sample of keys and check each value; count all records where requested.
    Verify {
        /// Number of keys to read, spread evenly over all.
        samples: u64,
        /// Whether all records are counted by a scan.
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
    /// Returns the mix of its roles, where it has any.
    pub fn mix(&self) -> Option<&Mix> {
        match self {
            Self::Warmup(mix) | Self::Measure(mix) => Some(mix),
            _ => None,
        }
    }

    /// Returns the word for it in a record.
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
    /// The order of the records.
    pub order: LoadOrder,
    /// Records in one engine batch.
    pub batch: u32,
    /// Threads; each takes a contiguous range of the order.
    pub threads: u32,
    /// The trace of the order `first_read`, with as many `requests` as there are records to load;
    /// null: another order, of all records.
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
    /// The roles.
    pub roles: Vec<Role>,
    /// When the phase ends.
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
    /// After exactly this many operations of the first role.
    pub operations: Option<u64>,
    /// Length of a turn. After each turn the phase pauses while the other case of its pair works
    /// ([`crate::turns`]); null: it is measured at a stretch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_ns: Option<u64>,
}

impl Ends {
    /// Ends a phase by time.
    pub fn after_ns(duration_ns: u64) -> Self {
        Self { duration_ns: Some(duration_ns), ..Self::default() }
    }

    /// Ends a phase by a count of operations.
    pub fn after_operations(operations: u64) -> Self {
        Self { operations: Some(operations), ..Self::default() }
    }
}

/// A group of threads with the same mix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Role {
    /// Its name, such as "readers" or "writer".
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
    /// The share of the slowest engine's rate in that phase.
    pub share: f64,
}

impl Role {
    /// Whether its rate is not found yet, so that it cannot be run.
    pub fn lacks_rate(&self) -> bool {
        self.pilot.is_some() && self.rate.is_none()
    }
}

/// One operation of a mix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MixEntry {
    /// The operation.
    #[serde(flatten)]
    pub op: Op,
    /// How often it is performed, relative to the others.
    pub weight: f64,
    /// The choice of its keys.
    pub keys: Choice,
    /// How long a record that it writes lives; null: until it is removed.
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
        /// Whether it reads from high to low keys.
        reverse: bool,
        /// Number of records.
        length: Size,
    },
    /// Look several keys up in one call.
    Multiget {
        /// Number of keys; its name in files is `count`, since `keys` is their choice.
        #[serde(rename = "count", with = "count")]
        #[schemars(with = "count::Count")]
        keys: Size,
    },
    /// Read a key and write it anew.
    ReadModifyWrite,
    /// Update several keys in one batch.
    Batch {
        /// Number of keys.
        #[serde(with = "count")]
        #[schemars(with = "count::Count")]
        writes: Size,
    },
    /// Read the next records in key order, from where the thread's previous walk ended; after the
    /// last record, from the first again. It takes no keys.
    Walk {
        /// Whether it reads from high to low keys.
        reverse: bool,
        /// Number of records.
        length: Size,
    },
    /// Close the engine, and open it again up to the first answer, which alone is timed.
    Open {
        /// Whether the program evicts the engine's files from the page cache before.
        cold: bool,
    },
    /// Open a database whose last process was killed while it updated records, up to the first
    /// answer. That opening alone is timed.
    Recover {
        /// Whether the program evicts the engine's files from the page cache after the kill.
        cold: bool,
        /// Updates that the process to be killed is offered, in its one second.
        writes: u64,
    },
    /// Make earlier writes durable; recorded, and never drawn.
    Flush,
    /// Add a node, the next one. This operation and those after it are requests of a graph, which
    /// chooses their nodes and links; they choose no keys.
    AddNode,
    /// Look a node up.
    GetNode,
    /// Write a node anew, if it is there.
    UpdateNode,
    /// Remove a node.
    DeleteNode,
    /// Add a link, or write it anew; its count grows where it was not there or hidden.
    AddLink,
    /// As `add_link`, for links that mostly exist.
    UpdateLink,
    /// Hide a link; its count falls.
    DeleteLink,
    /// Look a count of links up.
    CountLink,
    /// Look several links of a node up.
    MultigetLink,
    /// List the links of a node, the newest first.
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

    /// Whether it is a request of a graph.
    pub fn is_of_graph(&self) -> bool {
        self.info().keys == KeySource::Graph
    }

    /// Whether it opens the engine, and is then the only operation of its phase.
    pub fn opens(&self) -> bool {
        self.info().keys == KeySource::Opened
    }

    /// Whether it opens files that the program has evicted before.
    pub fn is_cold(&self) -> bool {
        matches!(self, Self::Open { cold: true } | Self::Recover { cold: true, .. })
    }

    /// Mean number of records that one such operation writes.
    pub fn records_written(&self) -> f64 {
        match self {
            Self::Batch { writes } => writes.mean(),
            op => f64::from(u8::from(op.writes())),
        }
    }

    /// Whether it writes records, which decides a role's column.
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

    /// Returns how many threads of the operating system `own_threads` of its threads take: all of
    /// its threads, or a rank's.
    pub fn count_os_threads(&self, own_threads: u32) -> u32 {
        let (threads, own_threads) = (u64::from(self.threads.max(1)), u64::from(own_threads));
        let share = |on: u32| (u64::from(on).min(threads) * own_threads).div_ceil(threads);
        self.os_threads.map_or(own_threads, share) as u32
    }
}

impl Phase {
    /// A phase of its own.
    pub fn new(name: impl Into<String>, work: Activity) -> Self {
        Self { name: name.into(), window: None, work }
    }

    /// Returns the mix of its roles, where it has any.
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

    /// Whether some operation writes. A trace counts as one that does, since its operations are not
    /// known here.
    pub fn writes(&self) -> bool {
        self.roles.iter().any(|role| role.replay.is_some())
            || self.entries().any(|entry| entry.op.writes())
    }
}
