//! What a search comes to: where the edge is, the points that show it, and what to measure next.

use super::target::Unit;
use kvdyno_record::search::{Axis, Between};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// What a search found.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SearchResult {
    /// The engine's label.
    pub engine: String,
    /// The target, as typed.
    pub target: String,
    /// What was varied.
    pub axis: Axis,
    /// The measured phase that was held against the target.
    pub phase: String,
    /// The target's conditions, in order.
    pub conditions: Vec<Condition>,
    /// The values searched; null: not known yet.
    pub between: Option<Between>,
    /// The share by which the two sides of the edge may differ, as asked for.
    pub within: f64,
    /// Bytes of keys and values of the data.
    pub user_bytes: u64,
    /// Where the edge is.
    pub result: Outcome,
    /// Values that met the target in all trials although an easier one did not.
    pub contradictions: Vec<u64>,
    /// What was found and how sure that is, each a sentence; the first is the answer.
    pub sentences: Vec<String>,
    /// The curve: every point measured, by value.
    pub points: Vec<Point>,
    /// The point with the role as fast as it goes, from which bounds follow; null: not measured.
    pub fastest: Option<Point>,
    /// What to measure next.
    #[serde(skip)]
    pub next: Option<Next>,
    /// How many points are left, at most, where trials agree.
    #[serde(skip)]
    pub left: u32,
    /// The run's id.
    #[serde(skip)]
    pub(super) run: String,
    /// Whether the run is complete.
    #[serde(skip)]
    pub(super) sealed: bool,
}

/// Where the edge is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "is")]
pub enum Outcome {
    /// The search is not over.
    Open,
    /// A point has no figures, so the search cannot go on: the point says why.
    Stopped,
    /// Not even the easiest value meets the target in every trial.
    Never {
        /// The easiest value tried.
        easiest: u64,
    },
    /// The hardest value meets it in every trial.
    Always {
        /// The hardest value tried.
        hardest: u64,
    },
    /// The edge lies between two values.
    Between {
        /// The hardest value at which every trial met the target, as at all easier ones.
        met: u64,
        /// The next harder one tried: some trial missed.
        missed: u64,
        /// From here on, at all harder ones tried, every trial missed: the edge lies between `met`
        /// and this. Null: some trial met it even at the hardest.
        surely_missed: Option<u64>,
        /// Whether both sides are as close as asked for.
        close: bool,
    },
}

/// A condition of the target.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Condition {
    /// What it is about, as typed: `p99`.
    pub about: String,
    /// The unit of its bound and values, and with it the side of the bound to stay on.
    pub unit: Unit,
    /// Whether a value that equals the bound meets it.
    pub inclusive: bool,
    /// The bound.
    pub bound: f64,
    /// The roles that it is about.
    pub roles: Vec<String>,
    /// The clock of a latency by role: `service` (of the calls) or `response` (from the schedule).
    pub clocks: BTreeMap<String, &'static str>,
}

/// A point of the curve.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Point {
    /// Bytes, or operations per second; null: the role as fast as it goes.
    pub value: Option<u64>,
    /// Trials that met the target.
    pub met: u32,
    /// All trials of the point.
    pub trials: u32,
    /// The figures, by condition and trial; null: the trial has none.
    pub figures: Vec<Vec<Option<f64>>>,
    /// Operations per second that the role did, by trial; empty: memory was varied.
    pub done_per_s: Vec<Option<f64>>,
    /// By how much of the database the page cache grew while it was measured, in the trial where it
    /// grew most; null: not known.
    pub cached_more: Option<f64>,
    /// Why trials missed, where figures do not show it: `does not fit`.
    pub whys: Vec<String>,
    /// Why the point cannot be judged; null: it can.
    pub void: Option<String>,
    /// Why it is not complete, where the host stopped it: a full disk, a missing library. Null: it
    /// is complete, or was cut off.
    pub stopped: Option<String>,
    /// Whether all its trials have ended.
    pub complete: bool,
    /// The ids of its cases.
    pub cases: Vec<String>,
}

/// What to measure next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The role as fast as it goes.
    Fastest,
    /// This value.
    At(u64),
}

impl SearchResult {
    /// The point of a value.
    pub fn point(&self, value: u64) -> Option<&Point> {
        self.points.iter().find(|point| point.value == Some(value))
    }

    /// The point at which the search could not go on: nothing can be said of it.
    pub fn void_point(&self) -> Option<&Point> {
        self.points.iter().chain(&self.fastest).find(|point| point.void.is_some())
    }
}
