//! What the threads do: data, keys, values, phases, roles, operation mixes. Every field is
//! resolved: nothing here means "the default".

use kvdyno_engine::Options;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[cfg(test)]
mod tests;

/// The data set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Data {
    /// Records after the load.
    pub records: u64,
    /// How a key is written.
    pub key: Key,
    /// How a value is made.
    pub value: ValueShape,
    /// What all random choices follow from.
    pub seed: u64,
    /// Values carry their key, version and checksum, and every one read is checked.
    pub verify: bool,
}

/// How a key number becomes bytes. Both formats keep the order of the numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Key {
    /// Length of every key.
    pub bytes: u32,
    /// The notation.
    pub format: KeyFormat,
}

/// Notations of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KeyFormat {
    /// 16 hexadecimal digits, lower case, zeros in front up to the length (at least 16 bytes): what
    /// LMDB's dbbench writes.
    Hex,
    /// Big-endian binary, zeros in front up to the length (at least as many bytes as the largest
    /// number needs).
    Binary,
}

/// How a value is made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ValueShape {
    /// Its length.
    pub size: Size,
    /// Size it compresses to, as a share: 0.5 means half; 1.0 is random bytes.
    pub compress_to: f64,
}

/// A length: fixed or drawn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Size {
    /// Always the same.
    Fixed {
        /// The length.
        bytes: u64,
    },
    /// Each length in the range equally often.
    Uniform {
        /// The shortest.
        min: u64,
        /// The longest.
        max: u64,
    },
    /// exp(Normal(ln median, sigma)), rounded to nearest and clamped to 1..=max (`LinkBench`).
    Lognormal {
        /// The median.
        median: u64,
        /// Standard deviation of the logarithm.
        sigma: f64,
        /// The longest.
        max: u64,
    },
    /// Generalized Pareto from 0, sigma/k ((1-u)^-k - 1) rounded up, as `db_bench`'s mixgraph draws
    /// its values: what is shorter than min is min, what is longer than max is folded (modulo max;
    /// three in a million there are shorter than min for that).
    Pareto {
        /// The shortest.
        min: u64,
        /// Shape.
        k: f64,
        /// Scale.
        sigma: f64,
        /// The longest.
        max: u64,
    },
}

impl Size {
    /// The mean length. For the clamped distributions this is computed numerically from their
    /// quantiles, so that plans and records agree with what is drawn.
    pub fn mean(&self) -> f64 {
        match *self {
            Self::Fixed { bytes } => bytes as f64,
            Self::Uniform { min, max } => f64::midpoint(min as f64, max as f64),
            Self::Lognormal { .. } | Self::Pareto { .. } => {
                mean_of_quantiles(|u| self.drawn(u) as f64)
            }
        }
    }

    /// The length that `u`, uniform in `0..1`, stands for.
    pub fn drawn(&self, u: f64) -> u64 {
        match *self {
            Self::Fixed { bytes } => bytes,
            Self::Uniform { min, max } => (min + (u * (max - min + 1) as f64) as u64).min(max),
            Self::Lognormal { median, sigma, max } => {
                let drawn = median as f64 * (sigma * normal_quantile(u)).exp();
                drawn.round().clamp(1.0, max as f64) as u64
            }
            Self::Pareto { min, k, sigma, max } => {
                let drawn = (sigma / k * ((1.0 - u).powf(-k) - 1.0)).ceil() as u64;
                let folded = if drawn > max { drawn % max.max(1) } else { drawn };
                folded.max(min).max(1)
            }
        }
    }

    /// The shortest length that can be drawn.
    pub fn min(&self) -> u64 {
        match *self {
            Self::Fixed { bytes } => bytes,
            Self::Uniform { min, .. } => min,
            Self::Lognormal { .. } => 1,
            Self::Pareto { min, .. } => min.max(1),
        }
    }

    /// The longest length that can be drawn.
    pub fn max(&self) -> u64 {
        match *self {
            Self::Fixed { bytes } => bytes,
            Self::Uniform { max, .. } | Self::Lognormal { max, .. } | Self::Pareto { max, .. } => {
                max
            }
        }
    }
}

/// The mean of a distribution given by its quantile function, by the midpoint rule.
fn mean_of_quantiles(quantile: impl Fn(f64) -> f64) -> f64 {
    const POINTS: u32 = 100_000;
    let sum: f64 = (0..POINTS).map(|i| quantile((f64::from(i) + 0.5) / f64::from(POINTS))).sum();
    sum / f64::from(POINTS)
}

/// The standard normal quantile by Acklam's rational approximation (relative error 1.15e-9).
pub fn normal_quantile(u: f64) -> f64 {
    const A: [f64; 6] = [
        -3.969_683_028_665_376e1,
        2.209_460_984_245_205e2,
        -2.759_285_104_469_687e2,
        1.383_577_518_672_69e2,
        -3.066_479_806_614_716e1,
        2.506_628_277_459_239,
    ];
    const B: [f64; 5] = [
        -5.447_609_879_822_406e1,
        1.615_858_368_580_409e2,
        -1.556_989_798_598_866e2,
        6.680_131_188_771_972e1,
        -1.328_068_155_288_572e1,
    ];
    const C: [f64; 6] = [
        -7.784_894_002_430_293e-3,
        -3.223_964_580_411_365e-1,
        -2.400_758_277_161_838,
        -2.549_732_539_343_734,
        4.374_664_141_464_968,
        2.938_163_982_698_783,
    ];
    const D: [f64; 4] = [
        7.784_695_709_041_462e-3,
        3.224_671_290_700_398e-1,
        2.445_134_137_142_996,
        3.754_408_661_907_416,
    ];
    const LOW: f64 = 0.024_25;
    let horner = |c: &[f64], x: f64| c.iter().fold(0.0, |sum, a| sum * x + a);
    let tail = |q: f64| horner(&C, q) / (horner(&D, q) * q + 1.0);
    let u = u.clamp(1e-300, 1.0 - 1e-16);
    if u < LOW {
        tail((-2.0 * u.ln()).sqrt())
    } else if u > 1.0 - LOW {
        -tail((-2.0 * (1.0 - u).ln()).sqrt())
    } else {
        let q = u - 0.5;
        let r = q * q;
        horner(&A, r) * q / (horner(&B, r) * r + 1.0)
    }
}

/// One step of a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Phase {
    /// Its name, unique in its case.
    pub name: String,
    /// What happens in it.
    #[serde(flatten)]
    pub work: Activity,
}

/// What happens in a phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Activity {
    /// Each record is written once; ends with the engine's `sync`, inside the time.
    Load(Load),
    /// Wait for the engine's background work.
    Settle {
        /// How long at most.
        limit_ns: u64,
    },
    /// Read a sample of keys and check each value; count all records where asked.
    Verify {
        /// How many keys, spread evenly over all.
        samples: u64,
        /// Count all records by a scan.
        count: bool,
    },
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
    /// The word for it in a record.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Load(_) => "load",
            Self::Settle { .. } => "settle",
            Self::Verify { .. } => "verify",
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
}

/// The order of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoadOrder {
    /// Ascending keys.
    Sequential,
    /// Each key once, in an order drawn by a bijection.
    Random,
}

/// Roles at work side by side until an end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Mix {
    /// Who works.
    pub roles: Vec<Role>,
    /// When it ends.
    pub ends: Ends,
}

/// The end of a phase: whichever comes first; at least one is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ends {
    /// After this time.
    pub duration_ns: Option<u64>,
    /// When the first role has done this many: exactly that many.
    pub operations: Option<u64>,
}

/// A group of threads with the same mix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Role {
    /// "readers", "writer".
    pub name: String,
    /// How many threads.
    pub threads: u32,
    /// What they do. Weights are relative to their sum.
    pub mix: Vec<MixEntry>,
    /// Open loop at this rate; null: closed loop, as fast as it goes.
    pub rate: Option<Rate>,
    /// Operations that each thread keeps in flight; null: it calls and waits, one at a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
}

/// An open loop: operations start on a schedule, whether or not the engine keeps up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rate {
    /// Of the whole role.
    pub operations_per_s: f64,
    /// The gaps.
    pub schedule: Schedule,
}

/// Gaps between scheduled starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Schedule {
    /// All equal.
    Fixed,
    /// Exponentially distributed: arrivals that know nothing of each other.
    Poisson,
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
        #[serde(rename = "count")]
        keys: u32,
    },
    /// Read a key and write it anew.
    ReadModifyWrite,
    /// Update several keys in one batch.
    Batch {
        /// How many.
        writes: u32,
    },
}

/// Each operation's name, for files and columns: in the order of [`Op::index`].
pub const OP_NAMES: [&str; 8] =
    ["get", "insert", "update", "delete", "scan", "multiget", "rmw", "batch"];

impl Op {
    /// Its place in [`OP_NAMES`].
    pub fn index(&self) -> usize {
        match self {
            Self::Get => 0,
            Self::Insert => 1,
            Self::Update => 2,
            Self::Delete => 3,
            Self::Scan { .. } => 4,
            Self::Multiget { .. } => 5,
            Self::ReadModifyWrite => 6,
            Self::Batch { .. } => 7,
        }
    }

    /// Its name in files and columns.
    pub fn name(&self) -> &'static str {
        OP_NAMES[self.index()]
    }

    /// Whether it reads, writes or does both is what decides a role's column.
    pub fn writes(&self) -> bool {
        !matches!(self, Self::Get | Self::Scan { .. } | Self::Multiget { .. })
    }
}

/// Which key an operation takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "distribution")]
pub enum Choice {
    /// Each key equally often.
    Uniform,
    /// P(rank r) proportional to r^-theta, exactly (rejection-inversion); ranks are spread over
    /// the keys of the load by a bijection: what is inserted later is not drawn.
    Zipf {
        /// The exponent, any value >= 0.
        theta: f64,
    },
    /// What YCSB really runs: Gray's approximation over 10^10 items with theta 0.99, FNV-1a hashed,
    /// modulo [`ycsb_items`], and drawn again where there is no such key yet. Merges and drops
    /// keys; only for standing beside published figures.
    YcsbZipfian,
    /// Zipf over the age of a record: the newest is the hottest.
    Latest {
        /// The exponent.
        theta: f64,
    },
    /// A share of the operations goes to a share of the keys, uniform within both parts.
    Hotspot {
        /// Share of the keys that is hot.
        keys: f64,
        /// Share of the operations they get.
        operations: f64,
    },
    /// Exponentially falling with the key number: `percentile` % of the operations fall into the
    /// first `fraction` of the keys (YCSB: 95 and 0.857).
    Exponential {
        /// In percent.
        percentile: f64,
        /// Of the keys.
        fraction: f64,
    },
    /// Ascending, from the start again at the end; threads begin evenly apart.
    Sequential,
}

impl Phase {
    /// What its roles do, where it has any.
    pub fn mix(&self) -> Option<&Mix> {
        match &self.work {
            Activity::Warmup(mix) | Activity::Measure(mix) => Some(mix),
            _ => None,
        }
    }
}

impl Mix {
    /// Every operation of every role.
    pub fn entries(&self) -> impl Iterator<Item = &MixEntry> {
        self.roles.iter().flat_map(|role| &role.mix)
    }

    /// Some operation writes.
    pub fn writes(&self) -> bool {
        self.entries().any(|entry| entry.op.writes())
    }
}

/// Some phase deletes: a key that is not there is then an answer.
pub fn deletes(phases: &[Phase]) -> bool {
    phases.iter().filter_map(Phase::mix).flat_map(Mix::entries).any(|entry| entry.op == Op::Delete)
}

/// The most operations that one thread keeps in flight; 1 where none does.
pub fn depth(phases: &[Phase]) -> u32 {
    let roles = phases.iter().filter_map(Phase::mix).flat_map(|mix| &mix.roles);
    roles.filter_map(|role| role.depth).max().unwrap_or(1)
}

/// How many items YCSB's scrambled zipfian hashes its ranks over: the records, the inserts that are
/// expected, and one, because its bounds are inclusive (`CoreWorkload.init`, YCSB 0.17).
///
/// The number is fixed beforehand, because one item more moves every hot key. YCSB expects twice as
/// many inserts as the operations' count and the mix say, and none where only time ends a run. Here
/// it is one number for all phases of a case, so that a warm-up warms what is measured.
pub fn ycsb_items(records: u64, phases: &[Phase]) -> u64 {
    let expected = phases.iter().filter_map(Phase::mix).filter_map(|mix| {
        let (operations, role) = (mix.ends.operations?, mix.roles.first()?);
        let weight = |inserts: bool| {
            let counted = role.mix.iter().filter(|entry| !inserts || entry.op == Op::Insert);
            counted.map(|entry| entry.weight).sum::<f64>()
        };
        Some((operations as f64 * weight(true) / weight(false) * 2.0) as u64)
    });
    records + expected.sum::<u64>() + 1
}

/// Whether an operation writes nothing, by its name.
pub fn reads(op: &str) -> bool {
    matches!(op, "get" | "scan" | "multiget")
}
