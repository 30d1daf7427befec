//! The target of a search for its limit. Its points are ordinary cases of the plan; the result is
//! not stored here: it is computed from them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A search (`kvdyno size`, `kvdyno capacity`): one value of the suite is varied to find where a
/// target stops being met.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Search {
    /// The variable.
    pub axis: Axis,
    /// The target, as typed: `p99 < 1ms and reads > 50k/s`.
    pub target: String,
    /// The measured phase that must meet it.
    pub phase: String,
    /// The range of values that is searched; null: the search of a rate starts from what its role
    /// does as fast as it goes.
    pub between: Option<Between>,
    /// The two sides of the edge are close enough when they differ by no more than this share.
    pub within: f64,
    /// How often each point is measured.
    pub trials: u32,
    /// How points are made of the suite.
    pub making: Making,
}

/// The variable of a search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Axis {
    /// The RAM limit in bytes: the least is wanted.
    Ram,
    /// Operations that are due each second: the most are wanted.
    Rate {
        /// The role that has the rate.
        role: String,
    },
}

/// Two values, the lower one first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Between {
    /// The lowest.
    pub low: u64,
    /// The highest.
    pub high: u64,
}

/// How the suite beside the plan was changed for every point, so that `resume` can make more
/// points.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Making {
    /// The engine's label.
    pub engine: String,
    /// Changed settings as `path=value`, in order.
    pub set: Vec<String>,
    /// The one number of threads that is swept; null: none is.
    pub threads: Option<u32>,
    /// The duration of each measured phase, as `30s`; null: the suite's.
    pub duration: Option<String>,
}
