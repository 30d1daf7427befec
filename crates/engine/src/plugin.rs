//! The description that a plugin gives of itself, as JSON: what it leaves out, it lacks.

use crate::{
    BatchKind, Capabilities, Description, Durability, OptionSpec, Planning, Promise, Transactions,
};
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;

/// What `describe` of a plugin returns.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PluginDescription {
    /// The name a suite uses, as in `libkvdyno-<name>.so`.
    pub name: String,
    /// The name people use: "LMDB".
    pub title: String,
    /// The version of the engine's code.
    pub version: String,
    /// What else decides its speed: compiler, flags.
    #[serde(default)]
    pub build: BTreeMap<String, String>,
    /// Words that only a build with assertions contains. kvdyno looks for them in the plugin and in
    /// `lib<name>*`, and warns. Default: it looks for none.
    pub assertions: Option<String>,
    /// What it can do.
    pub capabilities: PluginCapabilities,
    /// Its options with types and defaults.
    #[serde(default)]
    pub options: Vec<OptionSpec>,
    /// What a plan should expect before anything was measured.
    pub planning: Planning,
}

/// What a plugin can do: no more than its header has functions for.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is an independent ability, as data")]
pub struct PluginCapabilities {
    /// The durability classes it has.
    pub durability: BTreeMap<Durability, Promise>,
    /// Has `delete`.
    #[serde(default)]
    pub delete: bool,
    /// Has `scan` forward, in key order.
    #[serde(default)]
    pub scan_forward: bool,
    /// Has `scan` in reverse.
    #[serde(default)]
    pub scan_reverse: bool,
    /// Has a `multiget` of its own, not a loop of gets.
    #[serde(default)]
    pub native_multiget: bool,
    /// What a batch of writes is. Default: `loop`.
    pub batch: Option<BatchKind>,
    /// What its transactions are. Those of an engine with an option `transactions` are as the
    /// option says (`off`, `serial`, `optimistic`, `pessimistic`), and this is the best of them.
    #[serde(default)]
    pub transactions: Transactions,
    /// `read_modify_write` is one transaction.
    #[serde(default)]
    pub atomic_read_modify_write: bool,
    /// How many threads can write at the same moment; others wait. Null: any number.
    pub concurrent_writers: Option<u32>,
    /// All of its data must fit in memory: with less it fails, or forgets records.
    #[serde(default)]
    pub in_memory: bool,
    /// Stores nothing: figures of it are the load generator's own cost. Its reads find every key.
    #[serde(default)]
    pub stores_nothing: bool,
    /// By operation, the name of that one of its counters which goes
    /// up by one with each, and with each write of a batch: `kvdyno check` holds it against the
    /// load generator's count.
    #[serde(default)]
    pub counted: BTreeMap<String, String>,
    /// Longest key, where there is a limit.
    pub key_bytes_max: Option<u64>,
    /// Longest value, where there is a limit.
    pub value_bytes_max: Option<u64>,
}

impl From<PluginDescription> for Description {
    fn from(plugin: PluginDescription) -> Self {
        Self {
            name: plugin.name,
            title: plugin.title,
            version: plugin.version,
            build: plugin.build,
            capabilities: plugin.capabilities.into(),
            options: plugin.options,
            planning: plugin.planning,
        }
    }
}

impl From<PluginCapabilities> for Capabilities {
    fn from(plugin: PluginCapabilities) -> Self {
        Self {
            durability: plugin.durability,
            delete: plugin.delete,
            scan_forward: plugin.scan_forward,
            scan_reverse: plugin.scan_reverse,
            native_multiget: plugin.native_multiget,
            batch: plugin.batch.unwrap_or(BatchKind::Loop),
            transactions: plugin.transactions,
            atomic_read_modify_write: plugin.atomic_read_modify_write,
            concurrent_writers: plugin.concurrent_writers,
            in_memory: plugin.in_memory,
            stores_nothing: plugin.stores_nothing,
            counted: plugin.counted,
            key_bytes_max: plugin.key_bytes_max,
            value_bytes_max: plugin.value_bytes_max,
            library: true,
            ..Self::minimal([])
        }
    }
}
