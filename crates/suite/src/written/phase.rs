//! Phases, roles and operation mixes as typed.

use crate::written::duration::PhaseDuration;
use crate::written::engine::Options;
use crate::written::mistake::Mistakes;
use crate::written::operation::Entry;
use crate::written::rate::Arrivals;
use crate::written::read::{At, Fields, FromToml, Toml, read_named_values, table};
use crate::written::scalar::{Count, Name, Nanoseconds, Several, Switch, Threads, scalar_schema};
use crate::written::trace::{Speed, TraceFile};
use kvdyno_record::workload::{Choice, LoadOrder};
use schemars::JsonSchema;
use std::collections::BTreeMap;
use toml::de::DeValue;

/// One step of a case. Without `name` a phase has the name of its kind, and the second of a kind is
/// `evict-2`.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Phase {
    /// Writes each record once. Its time includes the engine's sync.
    Load(Load),
    /// Waits for the engine's flushes and compactions.
    Settle(Settle),
    /// Reads a sample of the records and checks each value. With `linkbench` it is the audit of the
    /// graph.
    Verify(Verify),
    /// Reads every record once, so that the next phases find the data in memory. Cases with a RAM
    /// limit skip the phase if their data is not smaller than the limit.
    Warm(Warm),
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
pub(crate) struct Load {
    /// The name of the phase in tables and files. Default: load.
    pub(crate) name: Option<At<Name>>,
    /// The order of the writes. Default: sequential.
    pub(crate) order: Option<At<LoadOrder>>,
    /// Records in one batch of the engine. Default: 1.
    pub(crate) batch: Option<At<Several>>,
    /// Threads of the load, each with its own range of the order. `"sweep"` needs `database =
    /// "fresh"`. Default: 1.
    pub(crate) threads: Option<At<Threads>>,
}

/// Waits for the engine's flushes and compactions.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Settle {
    /// The name of the phase in tables and files. Default: settle.
    pub(crate) name: Option<At<Name>>,
    /// The longest wait. Default: 5m.
    pub(crate) limit: Option<At<Nanoseconds>>,
}

/// Reads a sample of the records and checks each value. With `linkbench` it is the audit of the
/// graph.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Verify {
    /// The name of the phase in tables and files. Default: verify.
    pub(crate) name: Option<At<Name>>,
    /// The number of keys to read, spread evenly over all. Default: 10000.
    pub(crate) samples: Option<At<Count>>,
    /// Counts all records by a scan. `"auto"` counts where the engine can scan and the data is at
    /// most 16 GiB. Default: auto.
    pub(crate) count: Option<At<Switch>>,
}

/// Reads every record once, so that the next phases find the data in memory. Cases with a RAM limit
/// skip the phase if their data is not smaller than the limit.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Warm {
    /// The name of the phase in tables and files. Default: warm.
    pub(crate) name: Option<At<Name>>,
}

/// Closes the engine, removes its files from the page cache, and opens it again.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Evict {
    /// The name of the phase in tables and files. Default: evict.
    pub(crate) name: Option<At<Name>>,
}

/// Closes the engine and opens it again, with other options if given. It evicts nothing. A `reopen`
/// right after the load belongs to the case that loads, and later cases keep its options.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Reopen {
    /// The name of the phase in tables and files. Default: reopen.
    pub(crate) name: Option<At<Name>>,
    /// Options by the engine's label or name. Other options and other engines stay as they were.
    /// Default: none.
    #[schemars(default)]
    pub(crate) options: ByEngine,
}

/// Options of several engines, by label or name.
#[derive(Clone, Debug, Default, JsonSchema)]
#[schemars(transparent)]
pub(crate) struct ByEngine(
    #[schemars(with = "BTreeMap<String, Options>")] pub(crate) Vec<(At<String>, Options)>,
);

impl FromToml for ByEngine {
    fn from_toml(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Self> {
        read_named_values(toml, "options by engine", mistakes).map(Self)
    }
}

/// Runs the roles side by side and measures them. The phase ends with the first of `duration`,
/// `operations` and a trace.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Measure {
    /// The name of the phase in tables and files. Default: measure.
    pub(crate) name: Option<At<Name>>,
    /// The same work before the measurement. It becomes a phase `warmup` or `<name>-warmup`, and
    /// its figures are not results. Default: none.
    pub(crate) warmup: Option<At<Nanoseconds>>,
    /// The end of the phase by time. It or `operations` is required without a `trace`. A table such
    /// as `{ least = "3s", most = "60s" }` ends the phase once its rates are steady. Threads that
    /// wait past the end get as long again, and at least two minutes, before kvdyno ends the case.
    pub(crate) duration: Option<At<PhaseDuration>>,
    /// Divides the duration into measured phases of this length: `measure-w01`, `measure-w02` and
    /// so on. They share a process, so caches stay. kvdyno writes dirty data and the record after
    /// each, and a killed run keeps its finished windows. `resume` starts the case again with empty
    /// caches, as `cases/ID_a2`. Only with a fixed `duration` alone. Default: one window.
    pub(crate) windows: Option<At<Nanoseconds>>,
    /// The end of the phase by a count of operations of the first role.
    pub(crate) operations: Option<At<Count>>,
    /// Where cases share or copy a database, the case that loads it runs the phase, once for all
    /// thread counts. Such a phase has a `name`, no `"sweep"`, no `windows`, and nothing that adds
    /// or removes records; phases that are not `once` come after it. Default: false.
    pub(crate) once: Option<At<bool>>,
    /// The groups of threads that work side by side.
    #[schemars(length(min = 1))]
    pub(crate) role: At<Vec<At<Role>>>,
}

/// A group of threads with the same mix. An operation with a conflict is repeated up to 16 times,
/// and its latency includes the repetitions; the figure `retries` counts them.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Role {
    /// The name of the role, unique in its phase.
    pub(crate) name: At<Name>,
    /// The number of threads. Default: 1.
    pub(crate) threads: Option<At<Threads>>,
    /// The operations with their weights. Required without a `trace`. With `linkbench` the default
    /// is the ten published requests.
    #[schemars(length(min = 1))]
    pub(crate) mix: Option<At<Vec<At<Entry>>>>,
    /// The keys of operations without `keys` of their own. Default: uniform.
    pub(crate) keys: Option<At<Choice>>,
    /// An open loop: operations start on a schedule, and response times count from the scheduled
    /// start. Default: a closed loop, as fast as the engine answers.
    pub(crate) rate: Option<At<Arrivals>>,
    /// Operations that each thread keeps in flight, in a closed loop. For `get`, `update` and
    /// `insert` on engines with `pipelined`. Default: one call at a time.
    pub(crate) depth: Option<At<Several>>,
    /// The pause of each thread after each operation, in a closed loop. Latencies exclude it, and
    /// it lowers the rate. Without `rate`, `depth` and `trace`. Default: none.
    pub(crate) think_time: Option<At<Nanoseconds>>,
    /// Operating system threads that serve the role's threads in turn, as `--jobs` of pgbench
    /// (docs/servers.md). With `depth` each thread keeps as many operations in flight. For engines
    /// with `shares_threads`, without TLS. Default: one for each thread.
    pub(crate) os_threads: Option<At<Several>>,
    /// The share of looked-up keys that must exist. It is `"all"`, `"none"`, `"any"` (misses fail
    /// nothing; needs `database = "fresh"`, or `from` in `[data]`), `"drawn"` (the share after a
    /// load with `order = "drawn"`), or a number such as 0.5. A share that is six standard
    /// deviations off fails the case. After deletes, and where records have a `ttl`, kvdyno checks
    /// nothing. Required if the role looks up both absent and existing keys. Default: all, none for
    /// absent keys, or drawn after a load in that order.
    pub(crate) expected_hits: Option<At<ExpectedHitsKey>>,
    /// A trace file to replay in place of a mix, relative to the suite (docs/traces.md). Only in
    /// the first role, without `mix`, `keys`, `rate`, `think_time`, `os_threads`, `expected_hits`,
    /// `warmup` and `windows`. Default: none.
    pub(crate) trace: Option<At<TraceFile>>,
    /// The speed of a replay. A number from 0.001 to 1000000 divides the recorded times, and the
    /// replay is an open loop. `"max"` starts each request after the previous answer. A number
    /// excludes `depth`. Default: max.
    pub(crate) speed: Option<At<Speed>>,
    /// Gives records of a replay the times to live of the trace, divided by `speed` if that is a
    /// number. For engines with `time_to_live`. Default: false, records stay until they are
    /// removed.
    pub(crate) recorded_ttl: Option<At<bool>>,
    /// Takes the offsets of a drive's trace modulo the size of the data. A trace of a large drive
    /// then runs on a small one. Default: false.
    pub(crate) fold: Option<At<bool>>,
}

/// The share of keys that exist.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ExpectedHitsKey {
    All,
    None,
    Any,
    Drawn,
    Share(f64),
}

const HITS: [(&str, ExpectedHitsKey); 4] = [
    ("all", ExpectedHitsKey::All),
    ("none", ExpectedHitsKey::None),
    ("any", ExpectedHitsKey::Any),
    ("drawn", ExpectedHitsKey::Drawn),
];

scalar_schema!(
    ExpectedHitsKey,
    "Found",
    "`\"all\"`, `\"none\"`, `\"any\"`, `\"drawn\"`, or a share of keys.",
    {
        "anyOf": [
            { "enum": HITS.map(|(word, _)| word) },
            { "type": "number", "minimum": 0, "maximum": 1 },
        ],
    }
);

impl FromToml for ExpectedHitsKey {
    fn from_toml(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Self> {
        const EXPECTED: &str =
            "expected \"all\", \"none\", \"any\", \"drawn\", or a share such as 0.5";
        let span = toml.span();
        let text = match toml.into_inner() {
            DeValue::String(text) => match HITS.iter().find(|(word, _)| *word == text) {
                Some((_, hits)) => return Some(*hits),
                None => format!("`{text}` is not a share of keys"),
            },
            number @ (DeValue::Float(_) | DeValue::Integer(_)) => {
                let share = f64::from_toml(Toml::new(span.clone(), number), mistakes)?;
                if (0.0..=1.0).contains(&share) {
                    return Some(Self::Share(share));
                }
                format!("{share} is not a share of keys")
            }
            _ => "the value is not a share of keys".to_owned(),
        };
        mistakes.at(&span, text).label(EXPECTED);
        None
    }
}

impl Phase {
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Load(_) => "load",
            Self::Settle(_) => "settle",
            Self::Verify(_) => "verify",
            Self::Warm(_) => "warm",
            Self::Evict(_) => "evict",
            Self::Reopen(_) => "reopen",
            Self::Measure(_) => "measure",
        }
    }

    pub(crate) fn name(&self) -> Option<&At<Name>> {
        match self {
            Self::Load(Load { name, .. })
            | Self::Settle(Settle { name, .. })
            | Self::Verify(Verify { name, .. })
            | Self::Warm(Warm { name })
            | Self::Evict(Evict { name })
            | Self::Reopen(Reopen { name, .. })
            | Self::Measure(Measure { name, .. }) => name.as_ref(),
        }
    }
}

impl Role {
    /// Returns the operations of its threads.
    pub(crate) fn entries(&self) -> &[At<Entry>] {
        self.mix.as_ref().map_or(&[], |mix| &mix.value)
    }
}

impl FromToml for Phase {
    fn from_toml(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Self> {
        const KINDS: [&str; 7] = ["load", "settle", "verify", "warm", "evict", "reopen", "measure"];
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
            "warm" => Warm::read(fields).map(Self::Warm),
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

/// Refuses `options`: only reopen phases open an engine with options.
fn refuse_options(fields: &mut Fields<'_, '_>) {
    if let Some(options) = fields.remove_key("options") {
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
table!(Warm, "a warm phase": name);
table!(Evict, "an evict phase": name);
table!(Reopen, "a reopen phase": name options);
table!(Measure, "a measure phase": name warmup duration windows operations once role);
table!(Role, "[[phase.role]]": name threads mix keys rate depth think_time os_threads expected_hits
    trace speed recorded_ttl fold);
