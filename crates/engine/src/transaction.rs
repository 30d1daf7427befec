//! Several reads and writes that happen together.

use crate::{Range, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;

/// Is shown what a lookup found.
pub type ValueVisitor<'a> = dyn FnMut(Option<&[u8]>) + 'a;

/// Is shown the records of a scan, and may break off.
pub type Records<'a> = dyn FnMut(&[u8], &[u8]) -> ControlFlow<()> + 'a;

/// A transaction under way; made by [`Session::transaction`](crate::Session::transaction).
///
/// It sees what it has written itself, and nothing of others' that is not committed. It can be a
/// trait object on purpose: the type of a transaction would have to stand in every engine, and a
/// call by pointer is little beside what a transaction costs.
pub trait Transaction {
    /// Looks `key` up and shows the value, or `None`, to `seen` exactly once.
    fn get(&mut self, key: &[u8], seen: &mut ValueVisitor<'_>) -> Result<()>;

    /// As [`Self::get`], for a value that what is written will follow from: until the transaction
    /// has ended nobody else changes `key`, or it ends with a conflict.
    fn get_for_update(&mut self, key: &[u8], seen: &mut ValueVisitor<'_>) -> Result<()>;

    /// Stores `value` under `key`.
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()>;

    /// Removes `key`. Removing what is not there is not an error.
    fn delete(&mut self, key: &[u8]) -> Result<()>;

    /// Shows the records of `range` in its order until `seen` breaks off. Returns how many were
    /// shown.
    fn scan(&mut self, range: Range<'_>, seen: &mut Records<'_>) -> Result<u64>;
}

/// How an engine keeps transactions apart.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Transactions {
    /// It has none.
    #[default]
    None,
    /// One that writes at a time; others wait, and none conflicts.
    Serial,
    /// Side by side; of two that are in each other's way one finds out at its commit.
    Optimistic,
    /// Side by side; what one holds the others wait for, and a wait may end in a conflict.
    Locking,
}

impl Transactions {
    /// As written in a record.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Serial => "serial",
            Self::Optimistic => "optimistic",
            Self::Locking => "locking",
        }
    }
}
