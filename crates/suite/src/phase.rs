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

/// One step of a case.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(tag = "kind", rename_all = "snake_case")]
pub(super) enum Phase {
    /// Each record is written once.
    Load(Load),
    /// Wait for the engine's background work.
    Settle(Settle),
    /// Read a sample of keys and check each value.
    Verify(Verify),
    /// Close the engine, take its files out of the page cache, open it again.
    Evict(Evict),
    /// Close the engine, open it again, where asked with other options.
    Reopen(Reopen),
    /// The roles work side by side and are measured.
    Measure(Measure),
}

/// Each record is written once.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Load {
    /// Its name. Default: load.
    pub(super) name: Option<At<Name>>,
    /// Ascending keys, each key once in random order, each drawn anew, or those that the suite's
    /// trace reads before it writes them, with their recorded lengths. Default: sequential.
    pub(super) order: Option<At<LoadOrder>>,
    /// Records in one batch of the engine. Default: 1.
    pub(super) batch: Option<At<Several>>,
    /// Threads, each with its own range of the order. Default: 1.
    pub(super) threads: Option<At<Threads>>,
}

/// Wait for the engine's background work.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Settle {
    /// Its name. Default: settle.
    pub(super) name: Option<At<Name>>,
    /// How long at most. Default: 5m.
    pub(super) limit: Option<At<Nanoseconds>>,
}

/// Read a sample of keys and check each value.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Verify {
    /// Its name. Default: verify.
    pub(super) name: Option<At<Name>>,
    /// How many keys, spread evenly over all. Default: 10000.
    pub(super) samples: Option<At<Count>>,
    /// Count all records by a scan. Default: auto, if the engine scans and the data is small.
    pub(super) count: Option<At<Switch>>,
}

/// Close the engine, take its files out of the page cache, open it again.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Evict {
    /// Its name. Default: evict.
    pub(super) name: Option<At<Name>>,
}

/// Close the engine, open it again, where asked with other options.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Reopen {
    /// Its name. Default: reopen.
    pub(super) name: Option<At<Name>>,
    /// Options by engine, by label or name; what is not named stays as it was.
    #[schemars(default)]
    pub(super) options: ByEngine,
}

/// Options by engine.
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

/// The roles work side by side and are measured, until the first of the ends.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Measure {
    /// Its name. Default: measure.
    pub(super) name: Option<At<Name>>,
    /// The same work beforehand for this long; its figures are not results.
    pub(super) warmup: Option<At<Nanoseconds>>,
    /// End after this time.
    pub(super) duration: Option<At<Nanoseconds>>,
    /// The duration in pieces of this length, each a measured phase of its own.
    pub(super) windows: Option<At<Nanoseconds>>,
    /// End when the first role has done so many operations. Needed without `duration`, but for a
    /// `trace`.
    pub(super) operations: Option<At<Count>>,
    /// Who works.
    #[schemars(length(min = 1))]
    pub(super) role: At<Vec<At<Role>>>,
}

/// A group of threads with the same mix.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Role {
    /// "readers", "writer".
    pub(super) name: At<Name>,
    /// How many threads; "sweep": each of `run.threads` in turn. Default: 1.
    pub(super) threads: Option<At<Threads>>,
    /// What they do. Needed, but for a `trace`, and for `linkbench`: then the published requests.
    #[schemars(length(min = 1))]
    pub(super) mix: Option<At<Vec<At<Entry>>>>,
    /// To which keys, where an operation does not say. Default: uniform.
    pub(super) keys: Option<At<Choice>>,
    /// Open loop: operations start on a schedule. Default: as fast as it goes.
    #[schemars(with = "Option<WrittenRate>")]
    pub(super) rate: Option<At<Arrivals>>,
    /// Operations that each thread keeps in flight; gets, inserts and updates in a closed loop, of
    /// engines that are pipelined. Default: it calls and waits.
    pub(super) depth: Option<At<Several>>,
    /// Threads of the operating system on which those of the role take turns, of engines that are
    /// servers (pgbench's --jobs). Default: each has one of its own.
    pub(super) os_threads: Option<At<Several>>,
    /// How many of the keys that it looks up are there: `"all"`, `"none"`, `"drawn"` (as many as a
    /// load with `order = "drawn"` leaves), or a share such as 0.5. Default: as the load leaves.
    #[schemars(with = "Option<WrittenFound>")]
    pub(super) found: Option<At<ExpectedHitsKey>>,
    /// Instead of a mix, a file that `kvdyno trace import` wrote: its requests are made again, in
    /// their order for each key, and the phase ends with them. Beside the suite.
    pub(super) trace: Option<At<TraceFile>>,
    /// Of a trace: 1.0 makes its requests at their recorded times, 2.0 in half the time (an open
    /// loop); "max": each when the one before has been answered. Default: max.
    #[schemars(with = "Option<WrittenSpeed>")]
    pub(super) speed: Option<At<Speed>>,
    /// Of a trace of a drive: offsets are taken modulo the data's bytes, so that a trace of a large
    /// drive is replayed on a small one. Default: false.
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

/// `"all"`, `"none"`, `"drawn"`, or a share.
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
    /// What is done.
    #[schemars(flatten, with = "Operation")]
    pub(super) op: Op,
    /// How often, relative to the others. Default: 1.
    pub(super) weight: Option<At<f64>>,
    /// To which keys. Default: the role's.
    pub(super) keys: Option<At<Choice>>,
}

/// Operations. Only the schema is made from this; [`Op`] is what is read.
#[derive(JsonSchema)]
#[schemars(tag = "op", rename_all = "snake_case")]
#[expect(dead_code, reason = "describes the language for the schema")]
enum Operation {
    /// Look one key up.
    Get,
    /// Write a key that was never there.
    Insert,
    /// Write a key that is there.
    Update,
    /// Remove a key.
    Delete,
    /// Read neighbouring records in key order.
    Scan {
        /// From high to low. Default: false.
        reverse: Option<At<bool>>,
        /// How many records. Default: 100.
        length: Option<At<Written>>,
    },
    /// Read the next records in key order, from where the one before ended.
    Walk {
        /// From high to low. Default: false.
        reverse: Option<At<bool>>,
        /// How many records. Default: 1.
        length: Option<At<Written>>,
    },
    /// Look several keys up in one call.
    Multiget {
        /// How many. Default: 10.
        count: Option<At<WrittenKeys>>,
    },
    /// Read a key and write it anew.
    Rmw,
    /// Update several keys in one batch.
    Batch {
        /// How many. Default: 10.
        count: Option<At<WrittenKeys>>,
    },
    /// Of a graph: add a node.
    AddNode,
    /// Of a graph: look a node up.
    GetNode,
    /// Of a graph: write a node anew.
    UpdateNode,
    /// Of a graph: remove a node.
    DeleteNode,
    /// Of a graph: add a link, mostly a new one.
    AddLink,
    /// Of a graph: write a link, mostly one that is there.
    UpdateLink,
    /// Of a graph: hide a link.
    DeleteLink,
    /// Of a graph: look a count of links up.
    CountLink,
    /// Of a graph: look several links up.
    MultigetLink,
    /// Of a graph: list the links of a node, the newest first.
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
table!(Role, "[[phase.role]]": name threads mix keys rate depth os_threads found trace speed
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
