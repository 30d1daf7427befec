//! Phases, roles and operation mixes as typed.

use super::engine::Options;
use super::length::{Keys, Length, Written, WrittenKeys};
use super::mistake::Mistakes;
use super::rate::{Arrivals, WrittenRate};
use super::read::{At, Fields, FromToml, Or as _, Toml, table};
use super::replay::{Speed, TraceFile, WrittenSpeed};
use super::scalar::{Count, Name, Nanoseconds, Several, Switch, Threads};
use kvdyno_record::operations::{GRAPH_LOADS, OPERATIONS};
use kvdyno_record::workload::{Choice, LoadOrder, Op, Size};
use schemars::JsonSchema;
use std::collections::BTreeMap;
use toml::de::DeValue;

/// One step of a case. Without `name` a phase has the name of its kind, and the second of a kind is
/// `evict-2`.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(tag = "kind", rename_all = "snake_case")]
pub(super) enum Phase {
    /// Writes each record once. Its time includes the engine's sync.
    Load(Load),
    /// Waits for the engine's flushes and compactions.
    Settle(Settle),
    /// Reads a sample of the records and checks each value. With `linkbench` it is the audit of the
    /// graph.
    Verify(Verify),
    /// Closes the engine, removes its files from the page cache, and opens it again.
    Evict(Evict),
    /// Closes the engine and opens it again, with other options if given. It evicts nothing. A
    /// `reopen` right after the load belongs to the case that loads, and later cases keep its
    /// options.
    Reopen(Reopen),
    /// Runs the roles side by side and measures them. The phase ends with the first of `duration`,
    /// `operations` and a trace.
    Measure(Measure),
}

/// Writes each record once. Its time includes the engine's sync.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Load {
    /// The name of the phase in tables and files. Default: load.
    pub(super) name: Option<At<Name>>,
    /// The order of the writes. Default: sequential.
    pub(super) order: Option<At<LoadOrder>>,
    /// Records in one batch of the engine. Default: 1.
    pub(super) batch: Option<At<Several>>,
    /// Threads of the load, each with its own range of the order. `"sweep"` needs `database =
    /// "fresh"`. Default: 1.
    pub(super) threads: Option<At<Threads>>,
}

/// Waits for the engine's flushes and compactions.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Settle {
    /// The name of the phase in tables and files. Default: settle.
    pub(super) name: Option<At<Name>>,
    /// The longest wait. Default: 5m.
    pub(super) limit: Option<At<Nanoseconds>>,
}

/// Reads a sample of the records and checks each value. With `linkbench` it is the audit of the
/// graph.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Verify {
    /// The name of the phase in tables and files. Default: verify.
    pub(super) name: Option<At<Name>>,
    /// The number of keys to read, spread evenly over all. Default: 10000.
    pub(super) samples: Option<At<Count>>,
    /// Counts all records by a scan. `"auto"` counts where the engine can scan and the data is at
    /// most 16 GiB. Default: auto.
    pub(super) count: Option<At<Switch>>,
}

/// Closes the engine, removes its files from the page cache, and opens it again.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Evict {
    /// The name of the phase in tables and files. Default: evict.
    pub(super) name: Option<At<Name>>,
}

/// Closes the engine and opens it again, with other options if given. It evicts nothing. A `reopen`
/// right after the load belongs to the case that loads, and later cases keep its options.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Reopen {
    /// The name of the phase in tables and files. Default: reopen.
    pub(super) name: Option<At<Name>>,
    /// Options by the engine's label or name. Other options and other engines stay as they were.
    /// Default: none.
    #[schemars(default)]
    pub(super) options: ByEngine,
}

/// Options of several engines, by label or name.
#[derive(Clone, Debug, Default, JsonSchema)]
#[schemars(transparent)]
pub(super) struct ByEngine(
    #[schemars(with = "BTreeMap<String, Options>")] pub(super) Vec<(At<String>, Options)>,
);

impl FromToml for ByEngine {
    fn from_toml(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Self> {
        let mut fields = Fields::read(toml, "options by engine", mistakes)?;
        let tables = fields.rest();
        let read = |(name, toml)| Some((name, Options::from_toml(toml, mistakes)?));
        tables
            .into_iter()
            .map(read)
            .collect::<Vec<_>>()
            .into_iter()
            .collect::<Option<_>>()
            .map(Self)
    }
}

/// Runs the roles side by side and measures them. The phase ends with the first of `duration`,
/// `operations` and a trace.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Measure {
    /// The name of the phase in tables and files. Default: measure.
    pub(super) name: Option<At<Name>>,
    /// The same work before the measurement. It becomes a phase `warmup` or `<name>-warmup`, and
    /// its figures are not results. Default: none.
    pub(super) warmup: Option<At<Nanoseconds>>,
    /// The end of the phase by time. It or `operations` is required without a `trace`. Threads that
    /// wait past the end get as long again, and at least two minutes, before kvdyno ends the case.
    pub(super) duration: Option<At<Nanoseconds>>,
    /// Divides the duration into measured phases of this length: `measure-w01`, `measure-w02` and
    /// so on. They share a process, so caches stay. kvdyno writes dirty data and the record after
    /// each, and a killed run keeps its finished windows. `resume` starts the case again with empty
    /// caches, as `cases/ID_a2`. Only with `duration` alone. Default: one window.
    pub(super) windows: Option<At<Nanoseconds>>,
    /// The end of the phase by a count of operations of the first role.
    pub(super) operations: Option<At<Count>>,
    /// The groups of threads that work side by side.
    #[schemars(length(min = 1))]
    pub(super) role: At<Vec<At<Role>>>,
}

/// A group of threads with the same mix. An operation with a conflict is repeated inside its own
/// time, up to 16 times; the figure `retries` counts these.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Role {
    /// The name of the role, unique in its phase.
    pub(super) name: At<Name>,
    /// The number of threads. Default: 1.
    pub(super) threads: Option<At<Threads>>,
    /// The operations with their weights. Required without a `trace`. With `linkbench` the default
    /// is the ten published requests.
    #[schemars(length(min = 1))]
    pub(super) mix: Option<At<Vec<At<Entry>>>>,
    /// The keys of operations without `keys` of their own. Default: uniform.
    pub(super) keys: Option<At<Choice>>,
    /// An open loop: operations start on a schedule, and response times count from the scheduled
    /// start. Default: a closed loop, as fast as the engine answers.
    #[schemars(with = "Option<WrittenRate>")]
    pub(super) rate: Option<At<Arrivals>>,
    /// Operations that each thread keeps in flight, in a closed loop. For `get`, `update` and
    /// `insert` on engines with `pipelined`. Default: one call at a time.
    pub(super) depth: Option<At<Several>>,
    /// Operating system threads that serve the role's threads in turn, as `--jobs` of pgbench
    /// (docs/servers.md). For engines with `takes_turns`, without `rate`, `depth` and TLS. Default:
    /// one for each thread.
    pub(super) os_threads: Option<At<Several>>,
    /// The share of looked-up keys that must exist. It is `"all"`, `"none"`, `"drawn"` (the share
    /// after a load with `order = "drawn"`), or a number such as 0.5. A share that is six standard
    /// deviations off fails the case. After deletes kvdyno checks nothing. Default: all, or drawn
    /// after a load in that order.
    #[schemars(with = "Option<WrittenFound>")]
    pub(super) expected_hits: Option<At<ExpectedHitsKey>>,
    /// A trace file to replay in place of a mix, relative to the suite (docs/traces.md). Only in
    /// the first role, without `mix`, `keys`, `rate`, `os_threads`, `expected_hits`, `warmup` and
    /// `windows`. Default: none.
    pub(super) trace: Option<At<TraceFile>>,
    /// The speed of a replay. A number from 0.001 to 1000000 divides the recorded times, and the
    /// replay is an open loop. `"max"` starts each request after the previous answer. A number
    /// excludes `depth`. Default: max.
    #[schemars(with = "Option<WrittenSpeed>")]
    pub(super) speed: Option<At<Speed>>,
    /// Takes the offsets of a drive's trace modulo the size of the data. A trace of a large drive
    /// then runs on a small one. Default: false.
    pub(super) fold: Option<At<bool>>,
}

/// The share of keys that exist.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ExpectedHitsKey {
    All,
    None,
    Drawn,
    Share(f64),
}

/// `"all"`, `"none"`, `"drawn"`, or a share of keys.
#[derive(JsonSchema)]
#[schemars(untagged, rename = "Found")]
#[expect(dead_code, reason = "describes the language for the schema")]
enum WrittenFound {
    Word(String),
    Share(f64),
}

impl FromToml for ExpectedHitsKey {
    fn from_toml(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Self> {
        const EXPECTED: &str = "expected \"all\", \"none\", \"drawn\", or a share such as 0.5";
        let span = toml.span();
        let text = match toml.into_inner() {
            DeValue::String(text) => match &*text {
                "all" => return Some(Self::All),
                "none" => return Some(Self::None),
                "drawn" => return Some(Self::Drawn),
                other => format!("`{other}` is not a share of keys"),
            },
            DeValue::Float(float) => match float.as_str().parse::<f64>() {
                Ok(share) if (0.0..=1.0).contains(&share) => return Some(Self::Share(share)),
                _ => format!("{} is not a share of keys", float.as_str()),
            },
            _ => "the value is not a share of keys".to_owned(),
        };
        mistakes.at(&span, text).label(EXPECTED);
        None
    }
}

/// One operation of a mix.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Entry {
    /// The operation.
    #[schemars(flatten, with = "Operation")]
    pub(super) op: Op,
    /// The frequency relative to the other operations, above 0. Default: 1.
    pub(super) weight: Option<At<f64>>,
    /// The keys of this operation; not for `walk` and the requests of a graph. Default: those of
    /// the role.
    pub(super) keys: Option<At<Choice>>,
}

/// The operations of a mix.
#[derive(JsonSchema)]
#[schemars(tag = "op", rename_all = "snake_case")]
#[expect(dead_code, reason = "describes the language for the schema")]
enum Operation {
    /// Looks up one key.
    Get,
    /// Writes a new key: the next number.
    Insert,
    /// Writes an existing key.
    Update,
    /// Removes a key.
    Delete,
    /// Reads neighbouring records in key order.
    Scan {
        /// Reads from high to low. Default: false.
        reverse: Option<At<bool>>,
        /// The number of records. Default: 100.
        length: Option<At<Written>>,
    },
    /// Reads the next records in key order from the end of the thread's previous walk. After the
    /// last record it starts again.
    Walk {
        /// Reads from high to low. Default: false.
        reverse: Option<At<bool>>,
        /// The number of records. Default: 1.
        length: Option<At<Written>>,
    },
    /// Looks up several keys in one call.
    Multiget {
        /// The number of keys. Default: 10.
        count: Option<At<WrittenKeys>>,
    },
    /// Reads a key and writes it again.
    Rmw,
    /// Updates several keys in one batch.
    Batch {
        /// The number of keys. Default: 10.
        count: Option<At<WrittenKeys>>,
    },
    /// Adds a node to a graph.
    AddNode,
    /// Looks up a node of a graph.
    GetNode,
    /// Writes a node of a graph again.
    UpdateNode,
    /// Removes a node of a graph.
    DeleteNode,
    /// Adds a link to a graph, usually a new one.
    AddLink,
    /// Writes a link of a graph, usually an existing one.
    UpdateLink,
    /// Hides a link of a graph.
    DeleteLink,
    /// Looks up a count of links.
    CountLink,
    /// Looks up several links of a node.
    MultigetLink,
    /// Lists the links of a node, the newest first.
    GetLinksList,
}

impl Phase {
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Load(_) => "load",
            Self::Settle(_) => "settle",
            Self::Verify(_) => "verify",
            Self::Evict(_) => "evict",
            Self::Reopen(_) => "reopen",
            Self::Measure(_) => "measure",
        }
    }

    pub(super) fn name(&self) -> Option<&At<Name>> {
        match self {
            Self::Load(Load { name, .. })
            | Self::Settle(Settle { name, .. })
            | Self::Verify(Verify { name, .. })
            | Self::Evict(Evict { name })
            | Self::Reopen(Reopen { name, .. })
            | Self::Measure(Measure { name, .. }) => name.as_ref(),
        }
    }
}

impl Role {
    /// The operations of its threads.
    pub(super) fn entries(&self) -> &[At<Entry>] {
        self.mix.as_ref().map_or(&[], |mix| &mix.value)
    }
}

impl FromToml for Phase {
    fn from_toml(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Self> {
        const KINDS: [&str; 6] = ["load", "settle", "verify", "evict", "reopen", "measure"];
        let mut fields = Fields::read(toml, "[[phase]]", mistakes)?;
        let kind: At<String> = fields.required("kind")?;
        fields.call(format!("a {} phase", kind.value));
        if kind.value != "reopen" {
            refuse_options(&mut fields);
        }
        match kind.as_str() {
            "load" => Load::read(fields).map(Self::Load),
            "settle" => Settle::read(fields).map(Self::Settle),
            "verify" => Verify::read(fields).map(Self::Verify),
            "evict" => Evict::read(fields).map(Self::Evict),
            "reopen" => Reopen::read(fields).map(Self::Reopen),
            "measure" => Measure::read(fields).map(Self::Measure),
            "warmup" => {
                let mistake = mistakes.at(&kind.span, "a warmup belongs to a measure phase");
                mistake.label("expected `warmup = \"2s\"` inside the measure phase");
                None
            }
            other => {
                let message = format!("`{other}` is not a kind of phase");
                mistakes.unknown(&kind.span, message, other, &KINDS);
                None
            }
        }
    }
}

/// Only reopen phases open an engine with options.
fn refuse_options(fields: &mut Fields<'_, '_>) {
    if let Some(options) = fields.written("options") {
        let mistake =
            fields.mistakes.at(&options.span(), "the engine is already open in this phase");
        mistake
            .label("expected options only in a phase of kind \"reopen\"")
            .help("add a [[phase]] of kind \"reopen\" with these options before this phase");
    }
}

table!(Load, "a load phase": name order batch threads);
table!(Settle, "a settle phase": name limit);
table!(Verify, "a verify phase": name samples count);
table!(Evict, "an evict phase": name);
table!(Reopen, "a reopen phase": name options);
table!(Measure, "a measure phase": name warmup duration windows operations role);
table!(Role, "[[phase.role]]": name threads mix keys rate depth os_threads expected_hits trace speed
    fold);

impl FromToml for Entry {
    fn from_toml(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Self> {
        let mut fields = Fields::read(toml, "an operation", mistakes)?;
        let name: At<String> = fields.required("op")?;
        fields.call(format!("operation {}", name.value));
        let weight: Option<At<f64>> = fields.optional("weight");
        if let Some(weight) = weight.as_ref().filter(|weight| weight.value <= 0.0) {
            let mistake = fields.mistakes.at(&weight.span, format!("`weight` is {}", weight.value));
            mistake.label("expected a number above 0");
        }
        let op = operation(&name, &mut fields)?;
        let keys: Option<At<Choice>> = fields.optional("keys");
        let (what, takes) = match &op {
            Op::Insert => ("an insert chooses no keys", "it writes the next number"),
            Op::Walk { .. } => ("a walk chooses no keys", "it goes on where it ended"),
            _ => ("", ""),
        };
        if let (false, Some(keys)) = (what.is_empty(), &keys) {
            let mistake = fields.mistakes.at(&keys.span, what);
            mistake.label(format!("expected nothing: {takes}"));
        }
        fields.finish();
        Some(Self { op, weight, keys })
    }
}

fn operation(op: &At<String>, fields: &mut Fields<'_, '_>) -> Option<Op> {
    let mut count = || {
        let keys: Option<At<Keys>> = fields.optional("count");
        keys.map_or(Size::Fixed { bytes: 10 }, |keys| keys.value.0)
    };
    Some(match op.as_str() {
        "get" => Op::Get,
        "insert" => Op::Insert,
        "update" => Op::Update,
        "delete" => Op::Delete,
        "scan" => {
            let reverse = fields.optional("reverse").value_or(false);
            let length: Option<At<Length>> = fields.optional("length");
            let length = length.map_or(Size::Fixed { bytes: 100 }, |length| length.value.0);
            Op::Scan { reverse, length }
        }
        "walk" => {
            let reverse = fields.optional("reverse").value_or(false);
            let length: Option<At<Length>> = fields.optional("length");
            let length = length.map_or(Size::Fixed { bytes: 1 }, |length| length.value.0);
            Op::Walk { reverse, length }
        }
        "multiget" => Op::Multiget { keys: count() },
        "rmw" => Op::ReadModifyWrite,
        "batch" => Op::Batch { writes: count() },
        "add_node" => Op::AddNode,
        "get_node" => Op::GetNode,
        "update_node" => Op::UpdateNode,
        "delete_node" => Op::DeleteNode,
        "add_link" => Op::AddLink,
        "update_link" => Op::UpdateLink,
        "delete_link" => Op::DeleteLink,
        "count_link" => Op::CountLink,
        "multiget_link" => Op::MultigetLink,
        "get_links_list" => Op::GetLinksList,
        other => {
            let message = format!("`{other}` is not an operation");
            fields.mistakes.unknown(&op.span, message, other, &operations().collect::<Vec<_>>());
            return None;
        }
    })
}

/// The names of operations in a mix.
pub(super) fn operations() -> impl Iterator<Item = &'static str> {
    let unwritten = |name: &str| GRAPH_LOADS.contains(&name) || name == Op::Flush.name();
    OPERATIONS.iter().map(|op| op.name).filter(move |name| !unwritten(name))
}
