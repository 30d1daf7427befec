//! Which key an operation takes: one closed vocabulary.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which key an operation takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "distribution")]
pub enum Choice {
    /// Each key that is there now equally often.
    Uniform,
    /// P(rank r) proportional to r^-theta, exactly (rejection-inversion); ranks are spread over
    /// the domain by a bijection.
    Zipf {
        /// The exponent, any value >= 0.
        theta: f64,
        /// Loaded: keys inserted later are not drawn.
        #[serde(default = "Domain::loaded", skip_serializing_if = "Domain::is_loaded")]
        domain: Domain,
    },
    /// What YCSB really runs: `gray_zipf` over 10^10 items with theta 0.99, hashed, of the
    /// predicted records. Merges and drops keys; only for standing beside published figures.
    YcsbZipfian,
    /// Zipf by the approximation of Gray et al. ("Quickly Generating Billion-Record Synthetic
    /// Databases", SIGMOD 1994), which YCSB and `LinkBench` use: its third rank is 20 % too hot.
    GrayZipf {
        /// The exponent, above 0 and below 1.
        theta: f64,
        /// How many ranks; null: as many as there are numbers in the domain.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        items: Option<u64>,
        /// Where the ranks are.
        spread: Spread,
        /// The numbers that are drawn.
        #[serde(default = "Domain::loaded", skip_serializing_if = "Domain::is_loaded")]
        domain: Domain,
    },
    /// Zipf over the age of a record: the newest is the hottest.
    Latest {
        /// The exponent; below 1 and above 0 where it is not exact.
        theta: f64,
        /// False: by Gray's approximation, as YCSB's `SkewedLatestGenerator`, which never draws
        /// the oldest record.
        #[serde(default = "yes", skip_serializing_if = "Clone::clone")]
        exact: bool,
    },
    /// A share of the operations goes to a share of the keys, uniform within both parts.
    Hotspot {
        /// Share of the keys that is hot.
        keys: f64,
        /// Share of the operations they get.
        operations: f64,
        /// Present: keys inserted later are cold. Loaded: they are not drawn, as in YCSB.
        #[serde(default = "Domain::present", skip_serializing_if = "Domain::is_present")]
        domain: Domain,
    },
    /// Exponentially falling with the key number: `percentile` % of the operations fall into the
    /// first `fraction` of the keys (YCSB: 95 and 0.857).
    Exponential {
        /// In percent.
        percentile: f64,
        /// Of the keys.
        fraction: f64,
        /// Where the tail ends.
        #[serde(default = "Domain::present", skip_serializing_if = "Domain::is_present")]
        domain: Domain,
    },
    /// Ascending, from the start again at the end; threads begin evenly apart.
    Sequential {
        /// From one key to the next.
        #[serde(default = "one", skip_serializing_if = "is_one")]
        step: u64,
    },
    /// The loaded keys in equal ranges, range i of `ranges` with the share a e^(b i) + c e^(d i);
    /// which range is where in key order is shuffled (`db_bench`'s mixgraph).
    Ranges {
        /// How many ranges; what is over after the last of them is not drawn.
        ranges: u32,
        /// Of the first term.
        a: f64,
        /// Its exponent.
        b: f64,
        /// Of the second term.
        c: f64,
        /// Its exponent.
        d: f64,
        /// Which key of a range.
        #[serde(default, skip_serializing_if = "RangeDraw::is_uniform")]
        within: RangeDraw,
    },
    /// A key that never exists: its number is above all that are ever inserted. With ordered keys
    /// it is after the last record, where an engine may find that out quickly.
    Absent,
}

impl Choice {
    /// A key of this choice is there, if nothing was deleted.
    pub fn finds(&self) -> bool {
        *self != Self::Absent
    }
}

/// The numbers that keys are drawn from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Domain {
    /// Those of the load: keys inserted later are not drawn.
    Loaded,
    /// Those that exist now.
    Present,
    /// Those of the load and those that YCSB would expect to be inserted ([`super::ycsb_items`]);
    /// what is drawn and not there yet is drawn again. So no insert moves a hot key.
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

/// Where ranks are among the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Spread {
    /// Rank r is key number r: the first key is the hottest.
    None,
    /// |FNV-1a-64(rank)| modulo the domain, as YCSB. Several ranks meet on one key, and some keys
    /// have none.
    Fnv,
    /// `LinkBench`'s `InvertibleShuffler` of 1024 groups: a rank moves by whole groups. Its sums of
    /// r^-theta are approximated as well.
    Linkbench {
        /// Of `java.util.Random`, which the moves are drawn by.
        seed: u64,
    },
}

/// Which key of a range is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RangeDraw {
    /// Each equally often.
    #[default]
    Uniform,
    /// The key that the number (u / a)^(1 / b) is hashed to, so that the share of the n hottest
    /// is a n^b (mixgraph: 0.002312 and 0.3467).
    Power {
        /// Of the hottest key.
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
