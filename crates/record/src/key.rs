//! How a key number becomes bytes.

use crate::workload::Size;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a key number becomes bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Key {
    /// Length of every key; of the longest, where they differ.
    pub bytes: u32,
    /// The notation.
    pub format: KeyFormat,
    /// Where a record lies among the others.
    #[serde(default, skip_serializing_if = "KeyOrder::is_ordered")]
    pub order: KeyOrder,
    /// The distribution of the lengths, drawn for each key by its number; zeros after the
    /// notation's digits fill a key up. Null: all keys have one length.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lengths: Option<Size>,
}

/// The notation of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KeyFormat {
    /// 16 lower-case hexadecimal digits with leading zeros, as dbbench of LMDB. At least 16 bytes.
    Hex,
    /// Big-endian binary with leading zeros, long enough for the largest number.
    Binary,
    /// 8 bytes big-endian, then the digit 0 up to the length, as `db_bench`. Shorter keys have the
    /// last of these bytes.
    DbBench,
    /// `user` and up to 19 decimal digits, of the form of YCSB's. The hash is a bijection, not FNV:
    /// numbers have other keys than there.
    Ycsb,
}

/// The order of the records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KeyOrder {
    /// Keys have the order of their numbers: inserts land behind the last.
    #[default]
    Ordered,
    /// A bijection scatters the numbers, as in YCSB: inserts land everywhere.
    Hashed,
}

impl KeyOrder {
    /// Whether keys have the order of their numbers.
    pub fn is_ordered(&self) -> bool {
        *self == Self::Ordered
    }
}

/// Most bytes of a YCSB key: `user`, and a number below 2^63 in decimal digits.
pub const YCSB_BYTES_MAX: u32 = 4 + 19;

/// Mean bytes of a YCSB key, whose number is drawn evenly below 2^63.
const YCSB_BYTES_MEAN: f64 = 22.88;

impl Key {
    /// Keys of one length, in the order of their numbers.
    pub fn ordered(bytes: u32, format: KeyFormat) -> Self {
        Self { bytes, format, order: KeyOrder::Ordered, lengths: None }
    }

    /// Whether keys have the order of their numbers.
    pub fn is_ordered(&self) -> bool {
        self.order.is_ordered()
    }

    /// Length of a key on average.
    pub fn bytes_mean(&self) -> f64 {
        match &self.lengths {
            _ if self.format == KeyFormat::Ycsb => YCSB_BYTES_MEAN,
            Some(lengths) => lengths.mean(),
            None => f64::from(self.bytes),
        }
    }
}
