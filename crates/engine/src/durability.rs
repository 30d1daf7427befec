//! What a completed write survives: the classes, and what a power loss does in each.

use crate::Value;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The durability class of a write. Tables mark figures of different classes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// No promise: no log, or a log without sync. A crash of the process may lose or damage data.
    None,
    /// The write is in the operating system. It survives the process, not the power.
    Async,
    /// The write is on stable storage before the call returns.
    Commit,
}

impl Durability {
    /// The class's word in a suite.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Async => "async",
            Self::Commit => "commit",
        }
    }
}

/// What an engine promises in one durability class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Promise {
    /// The engine's own settings behind the class, quoted.
    pub settings: String,
    /// What a power loss does to completed writes.
    pub power_loss: PowerLoss,
    /// Options under which a power loss does something else.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exceptions: Vec<PowerLossUnder>,
}

/// What a power loss does under one value of an option.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PowerLossUnder {
    /// The option.
    pub option: String,
    /// Its value.
    pub value: Value,
    /// What a power loss does then.
    pub power_loss: PowerLoss,
}

/// What a power loss does to completed writes, by the engine's documentation. `kvdyno torture`
/// tests it.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum PowerLoss {
    /// Every completed write is kept.
    Keeps,
    /// The last writes are lost; the database is as it was before them.
    LosesLast,
    /// All data is lost: it was in memory.
    LosesAll,
    /// The database may be damaged, or torn between old and new writes.
    Damages,
}

impl PowerLoss {
    /// The words that complete the sentence "in a power loss it ...".
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Keeps => "keeps all",
            Self::LosesLast => "loses last writes",
            Self::LosesAll => "loses all",
            Self::Damages => "may be damaged",
        }
    }
}
