//! An engine's description of itself, as data. A plan is checked against it before a process
//! starts.

use crate::durability::{Durability, PowerLoss, PowerLossUnder, Promise};
use crate::graph::Isolation;
use crate::{OptionKind, OptionSpec, Options, Transactions, Value};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// An engine's description of itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Description {
    /// The name a suite uses: lower case, as in `kvdyno-<name>`.
    pub name: String,
    /// The name people use: "LMDB".
    pub title: String,
    /// The version as the linked library states it.
    pub version: String,
    /// Other facts that decide its speed: crates, compiler, flags, assertions.
    pub build: BTreeMap<String, String>,
    /// What it can do.
    pub capabilities: Capabilities,
    /// Its options with types and defaults.
    pub options: Vec<OptionSpec>,
    /// What a plan should expect before anything was measured.
    pub planning: Planning,
}

/// The option by which an engine that has several kinds of transactions chooses one.
const TRANSACTIONS: &str = "transactions";

impl Description {
    /// Returns the kind of transactions under `options`: the one that the option `transactions`
    /// names, or the one of the capabilities where the engine has no such option.
    pub fn transactions(&self, options: &Options) -> Transactions {
        match options.text(TRANSACTIONS) {
            Ok("serial") => Transactions::Serial,
            Ok("optimistic") => Transactions::Optimistic,
            Ok("pessimistic") => Transactions::Locking,
            Ok(_) => Transactions::None,
            Err(_) => self.capabilities.transactions,
        }
    }

    /// Whether the engine's own transactions keep a link of a graph and its count consistent.
    pub fn has_atomic_link_counts(&self, options: &Options) -> bool {
        self.capabilities.graph.contains(&Isolation::Transaction)
            || self.transactions(options) != Transactions::None
    }

    /// Returns what a power loss does to completed writes under `options`; none: the engine lacks
    /// their durability class.
    pub fn power_loss(&self, options: &Options) -> Option<PowerLoss> {
        let promise = self.capabilities.durability.get(&options.durability)?;
        let mut exceptions = promise.exceptions.iter();
        let applies =
            |under: &&PowerLossUnder| options.values.get(&under.option) == Some(&under.value);
        Some(exceptions.find(applies).map_or(promise.power_loss, |under| under.power_loss))
    }

    /// Returns the words of the option `transactions`; none: the engine has no such option.
    pub fn transaction_words(&self) -> Option<&[String]> {
        let option = self.options.iter().find(|option| option.name == TRANSACTIONS)?;
        match &option.kind {
            OptionKind::Choice { of } => Some(of),
            _ => None,
        }
    }
}

/// What an engine can do. A plan that asks for more is refused, and its cell in a table stays
/// empty: a missing ability is never reported as zero.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[expect(clippy::struct_excessive_bools, reason = "each is an independent ability, as data")]
pub struct Capabilities {
    /// The durability classes it has.
    pub durability: BTreeMap<Durability, Promise>,
    /// Where its data can lie.
    pub places: Vec<PlaceKind>,
    /// Has `delete`.
    pub delete: bool,
    /// Has `scan` forward, in key order.
    pub scan_forward: bool,
    /// Has `scan` in reverse.
    pub scan_reverse: bool,
    /// Has a `multiget` of its own, not a loop of gets.
    pub native_multiget: bool,
    /// How the engine applies a batch of writes.
    pub batch: BatchKind,
    /// `read_modify_write` is one transaction.
    pub atomic_read_modify_write: bool,
    /// The kind of its transactions. If the engine has an option `transactions` (`off`, `serial`,
    /// `optimistic`, `pessimistic`), that option decides, and this is the best kind of them.
    #[serde(default)]
    pub transactions: Transactions,
    /// The engine's own ways to keep a link of a graph and its count consistent. Empty: its
    /// transactions or its batches do that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub graph: Vec<Isolation>,
    /// How many threads can write at the same moment; others wait. Null: any number.
    pub concurrent_writers: Option<u32>,
    /// Stores nothing: its figures are the load generator's own cost. Its reads find every key.
    pub stores_nothing: bool,
    /// A server keeps its data ([`crate::server::Served`]): CPU, memory and I/O are those of the
    /// server's processes.
    pub external_processes: bool,
    /// For each operation, the name of the [counter](crate::Engine::counters) that grows by one
    /// with every such operation, and with every write of a batch. `kvdyno check` compares it with
    /// the load generator's count.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counted: BTreeMap<String, String>,
    /// Takes only keys that stand for the numbers below [`crate::DataShape::records_max`],
    /// big-endian with zeros in front, and refuses others: a bare drive, an array.
    #[serde(default)]
    pub numbered_keys_only: bool,
    /// One session keeps several operations in flight: it has `submit_get` and the methods that go
    /// with it.
    #[serde(default)]
    pub pipelined: bool,
    /// Its sessions wait for a server only by [`Wire`](crate::server::Wire), each on one
    /// connection, so that several can share a thread ([`crate::server::shared_threads`]).
    #[serde(default)]
    pub shares_threads: bool,
    /// Has no keys and no index of its own: its figures are the drive's.
    #[serde(default)]
    pub bare_drive: bool,
    /// Any range of its bytes can be read and written: it has `read_at` and the methods that go
    /// with it.
    #[serde(default)]
    pub addressed: bool,
    /// A record can be written with a time to live: it has
    /// [`put_expiring`](crate::Session::put_expiring), and where it is pipelined
    /// [`submit_put_expiring`](crate::Session::submit_put_expiring). Null: records stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_to_live: Option<TimeToLive>,
    /// All of its data must fit in memory: with less it fails, or forgets records.
    #[serde(default)]
    pub in_memory: bool,
    /// Its code is a shared library that is chosen when its worker starts: see [`crate::library`].
    #[serde(default)]
    pub library: bool,
    /// Longest key, in bytes. Null: no limit.
    pub key_bytes_max: Option<u64>,
    /// Longest value, in bytes. Null: no limit.
    pub value_bytes_max: Option<u64>,
}

impl Capabilities {
    /// The capabilities of an engine that keeps its data in a directory and has only what both
    /// traits require. An adapter names its other abilities and leaves the rest to `..`, so that a
    /// new ability breaks no adapter:
    ///
    /// ```
    /// # use kvdyno_engine::{Capabilities, Durability, PowerLoss};
    /// let capabilities = Capabilities {
    ///     delete: true,
    ///     ..Capabilities::minimal([
    ///         (Durability::Commit, PowerLoss::Keeps, "fdatasync after each write"),
    ///     ])
    /// };
    /// assert!(!capabilities.scan_forward);
    /// ```
    pub fn minimal<const N: usize>(durability: [(Durability, PowerLoss, &str); N]) -> Self {
        let promise = |power_loss, settings: &str| Promise {
            settings: settings.to_owned(),
            power_loss,
            exceptions: Vec::new(),
        };
        Self {
            durability: durability.map(|(class, loss, text)| (class, promise(loss, text))).into(),
            places: vec![PlaceKind::Directory],
            delete: false,
            scan_forward: false,
            scan_reverse: false,
            native_multiget: false,
            batch: BatchKind::Loop,
            atomic_read_modify_write: false,
            transactions: Transactions::None,
            graph: Vec::new(),
            concurrent_writers: None,
            stores_nothing: false,
            external_processes: false,
            counted: BTreeMap::new(),
            numbered_keys_only: false,
            pipelined: false,
            shares_threads: false,
            bare_drive: false,
            addressed: false,
            time_to_live: None,
            in_memory: false,
            library: false,
            key_bytes_max: None,
            value_bytes_max: None,
        }
    }

    /// The capabilities of a bare drive: numbered blocks in a file or on a device, several in
    /// flight.
    pub fn bare_drive<const N: usize>(durability: [(Durability, PowerLoss, &str); N]) -> Self {
        Self {
            places: vec![PlaceKind::Directory, PlaceKind::Device],
            numbered_keys_only: true,
            pipelined: true,
            bare_drive: true,
            // The longest block: longer ones are cut by every device.
            value_bytes_max: Some(64 << 20),
            ..Self::minimal(durability)
        }
    }

    /// Adds an exception: under `option = value`, a power loss does `power_loss` to writes of
    /// `class`. The first exception that applies counts.
    #[must_use]
    pub fn except(
        mut self,
        class: Durability,
        option: &str,
        value: impl Into<Value>,
        power_loss: PowerLoss,
    ) -> Self {
        let exception =
            PowerLossUnder { option: option.to_owned(), value: value.into(), power_loss };
        if let Some(promise) = self.durability.get_mut(&class) {
            promise.exceptions.push(exception);
        }
        self
    }

    /// Whether each record of a batch commits by itself.
    pub fn commits_singly(&self, durability: Durability) -> bool {
        self.batch == BatchKind::Loop && durability == Durability::Commit
    }
}

/// The times to live that an engine can keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimeToLive {
    /// The unit in which the engine counts them, in nanoseconds.
    pub unit_ns: u64,
    /// The longest time to live, in nanoseconds. Null: there is no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest_ns: Option<u64>,
}

impl TimeToLive {
    /// The unit of an engine that counts seconds.
    pub const SECOND: u64 = 1_000_000_000;
    /// The unit of an engine that counts milliseconds.
    pub const MILLISECOND: u64 = 1_000_000;

    /// Returns `ttl` in whole units, rounded up, so that no record ends before its time.
    #[inline]
    pub fn units(self, ttl: Duration) -> u64 {
        ttl.as_nanos().div_ceil(u128::from(self.unit_ns.max(1))) as u64
    }
}

/// Kinds of [`crate::Location`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlaceKind {
    /// A directory of its own.
    Directory,
    /// A raw block device.
    Device,
    /// A server's address.
    Server,
}

/// How an engine applies a batch of writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BatchKind {
    /// All or nothing.
    Atomic,
    /// Sent together, applied one by one.
    Together,
    /// A loop over single writes.
    Loop,
}

/// Rough factors by which `kvdyno plan` estimates space and writes: measured once, on the safe
/// side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Planning {
    /// Most bytes on the volume per byte of user data, background work included.
    pub space_factor: f64,
    /// Bytes written to the device per byte of user data while loading.
    pub write_factor: f64,
    /// Least memory the engine needs beside its configured caches.
    pub ram_bytes_min: u64,
}
