//! The description that a plugin gives of itself, as JSON. The plugin lacks what it leaves out.

use crate::{
    BatchKind, Capabilities, Description, Durability, OptionSpec, Planning, Promise, Transactions,
};
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The result of a plugin's `describe`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PluginDescription {
    /// The name a suite uses, as in `libkvdyno-<name>.so`.
    pub name: String,
    /// The name people use: "LMDB".
    pub title: String,
    /// The version of the engine's code.
    pub version: String,
    /// Other facts that decide its speed: compiler, flags.
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

/// What a plugin can do: at most what the plugin header has functions for.
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
    /// How the engine applies a batch of writes. Default: `loop`.
    pub batch: Option<BatchKind>,
    /// The kind of its transactions. If the engine has an option `transactions` (`off`, `serial`,
    /// `optimistic`, `pessimistic`), that option decides, and this is the best kind of them.
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
    /// Stores nothing: its figures are the load generator's own cost. Its reads find every key.
    #[serde(default)]
    pub stores_nothing: bool,
    /// For each operation, the name of the counter that grows by one with every such operation, and
    /// with every write of a batch. `kvdyno check` compares it with the load generator's count.
    #[serde(default)]
    pub counted: BTreeMap<String, String>,
    /// Longest key, in bytes. Null: no limit.
    pub key_bytes_max: Option<u64>,
    /// Longest value, in bytes. Null: no limit.
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
