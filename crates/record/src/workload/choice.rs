//! Which key an operation takes: one closed vocabulary.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A distribution of keys. Drawing takes less than 0.1 us a key, between blocks of operations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "distribution")]
pub enum Choice {
    /// Each present key is equally likely.
    Uniform,
    /// An exact Zipf distribution: the probability of rank r is proportional to r^-theta. A
    /// bijection spreads the ranks over the domain.
    Zipf {
        /// The exponent, from 0 to 100.
        theta: f64,
        /// The drawn keys: `loaded` or `predicted`. Default: loaded.
        #[serde(default = "Domain::loaded", skip_serializing_if = "Domain::is_loaded")]
        domain: Domain,
    },
    /// The Zipf distribution that YCSB runs, with its quirks. It is `gray_zipf` over 10^10 hashed
    /// items with theta 0.99, and it merges and drops keys. Only for comparisons with published
    /// figures.
    YcsbZipfian,
    /// Zipf by the approximation of Gray et al. (SIGMOD 1994), as in YCSB and `LinkBench`. Its
    /// third rank is 20 % too frequent.
    GrayZipf {
        /// The exponent, above 0 and below 1.
        theta: f64,
        /// The number of ranks. Default: the number of keys in the domain.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        items: Option<u64>,
        /// The place of the ranks among the keys. Default: none.
        spread: Spread,
        /// The drawn keys: `loaded` or `predicted`. Default: loaded.
        #[serde(default = "Domain::loaded", skip_serializing_if = "Domain::is_loaded")]
        domain: Domain,
    },
    /// A Zipf distribution over age: the newest record is the hottest.
    Latest {
        /// The exponent, from 0 to 100; without `exact` above 0 and below 1.
        theta: f64,
        /// False: Gray's approximation, as `SkewedLatestGenerator` of YCSB, which never draws the
        /// oldest record. Default: true.
        #[serde(default = "yes", skip_serializing_if = "Clone::clone")]
        exact: bool,
    },
    /// A share of the operations goes to a share of the keys, uniformly within both parts.
    Hotspot {
        /// The share of hot keys, above 0.
        keys: f64,
        /// The share of operations on hot keys, above 0.
        operations: f64,
        /// The drawn keys: `present` or `loaded`. With `present` inserted keys are cold; YCSB has
        /// `loaded`. Default: present.
        #[serde(default = "Domain::present", skip_serializing_if = "Domain::is_present")]
        domain: Domain,
    },
    /// The probability falls exponentially with the key number. YCSB has percentile 95 and fraction
    /// 0.857.
    Exponential {
        /// The percentage of operations on the first keys, between 0 and 100.
        percentile: f64,
        /// The share of the first keys, above 0.
        fraction: f64,
        /// The drawn keys: `present` or `loaded`. Default: present.
        #[serde(default = "Domain::present", skip_serializing_if = "Domain::is_present")]
        domain: Domain,
    },
    /// Ascending keys, from the start again at the end. Threads begin evenly apart.
    Sequential {
        /// The distance from one key to the next. Default: 1.
        #[serde(default = "one", skip_serializing_if = "is_one")]
        step: u64,
    },
    /// Equal ranges of the loaded keys, as in mixgraph of `db_bench`. Range i has the share a e^(b
    /// i) + c e^(d i), and the ranges are shuffled in key order.
    Ranges {
        /// The number of ranges. The remainder after the last range is not drawn.
        ranges: u32,
        /// The factor of the first term.
        a: f64,
        /// The exponent of the first term.
        b: f64,
        /// The factor of the second term.
        c: f64,
        /// The exponent of the second term.
        d: f64,
        /// The key within a range. Default: uniform.
        #[serde(default, skip_serializing_if = "RangeDraw::is_uniform")]
        within: RangeDraw,
    },
    /// Keys that never exist, for `get` and `multiget`. Their numbers are above all inserted ones,
    /// so ordered keys lie behind the last record.
    Absent,
}

impl Choice {
    /// Whether a key of this choice exists, if nothing was deleted.
    pub fn finds(&self) -> bool {
        *self != Self::Absent
    }
}

/// The keys that a distribution draws from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Domain {
    /// The keys of the load. Inserted keys are not drawn.
    Loaded,
    /// The keys that exist at the time.
    Present,
    /// The keys of the load and the inserts that YCSB expects from `operations`. Keys that do not
    /// exist yet are drawn again. No insert moves a hot key.
    Predicted,
}

impl Domain {
    fn loaded() -> Self {
        Self::Loaded
    }

    fn present() -> Self {
        Self::Present
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
    fn is_loaded(&self) -> bool {
        *self == Self::Loaded
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
    fn is_present(&self) -> bool {
        *self == Self::Present
    }
}

/// The place of ranks among the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Spread {
    /// Rank r is key number r: the first key is the hottest.
    None,
    /// The FNV-1a-64 hash of the rank, modulo the domain, as in YCSB. Several ranks share a key,
    /// and some keys have none.
    Fnv,
    /// `InvertibleShuffler` of `LinkBench` with 1024 groups. A rank moves by whole groups, and the
    /// sums of r^-theta are approximate.
    Linkbench {
        /// The seed of `java.util.Random`.
        seed: u64,
    },
}

/// The key within a range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RangeDraw {
    /// Each key is equally likely.
    #[default]
    Uniform,
    /// A power law: the n hottest keys have the share a n^b. mixgraph has a = 0.002312 and b =
    /// 0.3467. Drawing takes half a microsecond.
    Power {
        /// The share of the hottest key.
        a: f64,
        /// The exponent, above 0.
        b: f64,
    },
}

impl RangeDraw {
    fn is_uniform(&self) -> bool {
        *self == Self::Uniform
    }
}

fn yes() -> bool {
    true
}

fn one() -> u64 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_one(number: &u64) -> bool {
    *number == 1
}
