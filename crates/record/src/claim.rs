//! The claims of a suite, as the plan stores them: parsed and checked before the run, judged from
//! the record afterwards.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A sentence, and its condition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Claim {
    /// The sentence.
    pub text: String,
    /// The condition, as written.
    pub holds: String,
    /// The condition, parsed.
    pub relation: Relation,
    /// Its requirements, besides those of its cells.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<Need>,
}

/// A comparison of two sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Relation {
    /// The side that is tested.
    pub left: Side,
    /// The test that the left side must pass.
    pub test: Test,
}

/// A figure, or a function of two figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// One figure.
    Figure(Cell),
    /// The first over the second.
    Ratio(Cell, Cell),
    /// The first minus the second.
    Difference(Cell, Cell),
}

/// The test of a side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Test {
    /// Between two numbers.
    Within {
        /// The least value.
        low: f64,
        /// The greatest value.
        high: f64,
    },
    /// More than.
    Above(Bound),
    /// Less than.
    Below(Bound),
}

/// A number in the figure's unit, or another side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "a suite has a handful of them")]
pub enum Bound {
    /// A number.
    Number(f64),
    /// A function of other figures.
    Side(Side),
}

/// The cell of a figure in a run. An omitted dimension takes every measured value, the same in all
/// cells of a claim that omit it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cell {
    /// The suite's part.
    pub part: Option<String>,
    /// The phase.
    pub phase: String,
    /// One window of a phase that has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<Window>,
    /// The role of a measured phase.
    pub role: Option<String>,
    /// An operation of the role.
    pub op: Option<String>,
    /// The engine's label.
    pub engine: String,
    /// The volume.
    pub volume: Option<String>,
    /// The memory tier.
    pub tier: Option<String>,
    /// The swept number of threads.
    pub threads: Option<Threads>,
    /// The RAM limit.
    pub ram_bytes: Option<u64>,
    /// The number of records.
    pub records: Option<u64>,
    /// The figure, as the catalogue calls it.
    pub figure: String,
}

/// The numbers of threads that a cell takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Threads {
    /// This number.
    Exactly(u32),
    /// Each number from the first to the second.
    Between(u32, u32),
    /// The largest that was measured.
    Most,
}

/// The window of a phase that a cell takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Window {
    /// The window of this number, from 1.
    Number(u32),
    /// The last that was measured.
    Last,
}

/// A requirement of a claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Need {
    /// An engine with figures.
    Engine(String),
    /// A volume with figures.
    Volume(String),
    /// A part with figures.
    Part(String),
    /// A memory tier with figures.
    Tier(String),
    /// A point with at least this many threads.
    Threads(u32),
    /// A machine with at least this many processors.
    Cpus(u32),
    /// A machine with at least this much memory.
    Memory(u64),
    /// Data of at least this many times the RAM limit, in whole numbers.
    DataToRam(u32),
}

impl Relation {
    /// Its cells, in the order of writing.
    pub fn cells(&self) -> Vec<&Cell> {
        let right = match &self.test {
            Test::Above(Bound::Side(side)) | Test::Below(Bound::Side(side)) => Some(side),
            Test::Above(_) | Test::Below(_) | Test::Within { .. } => None,
        };
        std::iter::once(&self.left).chain(right).flat_map(Side::cells).collect()
    }
}

impl Side {
    /// Its cells.
    pub fn cells(&self) -> Vec<&Cell> {
        match self {
            Self::Figure(cell) => vec![cell],
            Self::Ratio(one, other) | Self::Difference(one, other) => vec![one, other],
        }
    }

    /// Computes the side's value. Its cells' figures are taken from `figures`, in the order of the
    /// cells.
    pub fn value(&self, figures: &mut impl Iterator<Item = f64>) -> f64 {
        let mut next = || figures.next().unwrap_or(f64::NAN);
        match self {
            Self::Figure(_) => next(),
            Self::Ratio(..) => {
                let first = next();
                first / next()
            }
            Self::Difference(..) => {
                let first = next();
                first - next()
            }
        }
    }
}
