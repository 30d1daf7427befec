//! Several reads and writes that happen together.

use crate::{Range, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;

/// A closure that is shown the value of a lookup.
pub type ValueVisitor<'a> = dyn FnMut(Option<&[u8]>) + 'a;

/// A closure that is shown the records of a scan (key and value), and may break off.
pub type Records<'a> = dyn FnMut(&[u8], &[u8]) -> ControlFlow<()> + 'a;

/// A transaction under way; made by [`Session::transaction`](crate::Session::transaction).
/// It sees its own writes, and no uncommitted writes of others. It can be a trait object on
/// purpose: otherwise every engine would name its transaction type, and a virtual call is cheap
/// compared with a transaction.
pub trait Transaction {
    /// Looks `key` up and shows the value, or `None`, to `visit` exactly once.
    fn get(&mut self, key: &[u8], visit: &mut ValueVisitor<'_>) -> Result<()>;

    /// Does the same as [`Self::get`] for a value that a later write depends on: until the
    /// transaction ends, no other changes `key`, or one of the two ends with a conflict.
    fn get_for_update(&mut self, key: &[u8], visit: &mut ValueVisitor<'_>) -> Result<()>;

    /// Stores `value` under `key`.
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()>;

    /// Removes `key`. Removing a key that does not exist is not an error.
    fn delete(&mut self, key: &[u8]) -> Result<()>;

    /// Shows the records of `range` in its order until `visit` breaks off. Returns how many were
    /// shown.
    fn scan(&mut self, range: Range<'_>, visit: &mut Records<'_>) -> Result<u64>;
}

/// How an engine keeps transactions apart.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Transactions {
    /// The engine has no transactions.
    #[default]
    None,
    /// One writer at a time; others wait, and none conflicts.
    Serial,
    /// Concurrent; one of two that conflict fails at its commit.
    Optimistic,
    /// Concurrent, with locks; a wait for a lock may end in a conflict.
    Locking,
}

impl Transactions {
    /// The word in a record.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Serial => "serial",
            Self::Optimistic => "optimistic",
            Self::Locking => "locking",
        }
    }
}
