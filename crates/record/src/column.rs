//! Columns that a suite may ask for (`[show] columns`): its tables have them without `--wide`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A column of the tables `run`, `load` and `cost`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ColumnName {
    /// The 95th percentile of the times, the median over trials. Tables `run` and `drive-times`.
    P95,
    /// The share of operations above 1 ms, the median over trials. With a rate response times have
    /// a line of their own. Table `run`.
    #[serde(rename = "over_1ms")]
    Over1Ms,
    /// The share of operations above 2 ms, the median over trials. Table `run`.
    #[serde(rename = "over_2ms")]
    Over2Ms,
    /// The share of operations above 4 ms, the median over trials. Table `run`.
    #[serde(rename = "over_4ms")]
    Over4Ms,
    /// The root mean square of the times. Table `run`.
    Rms,
    /// The standard deviation of the times. Table `run`.
    Deviation,
    /// The time from the start to the end of the last operation. With `operations` it is the time
    /// for that count. Table `run`.
    Took,
    /// Keys and values read and written, in MB (10^6 bytes) per second. Tables `run` and `load`.
    MbPerS,
    /// Records or keys per second. An operation of `scan`, `multiget` or `batch` has several. Table
    /// `run`.
    ItemsPerS,
    /// Reads and writes of the device per record. With `pack` a load counts records, and other
    /// operations count as one. Tables `load` and `cost`.
    IosPerRecord,
}

impl ColumnName {
    /// All columns, each with its name in a suite.
    pub const ALL: &'static [(&'static str, Self)] = &[
        ("p95", Self::P95),
        ("over_1ms", Self::Over1Ms),
        ("over_2ms", Self::Over2Ms),
        ("over_4ms", Self::Over4Ms),
        ("rms", Self::Rms),
        ("deviation", Self::Deviation),
        ("took", Self::Took),
        ("mb_per_s", Self::MbPerS),
        ("items_per_s", Self::ItemsPerS),
        ("ios_per_record", Self::IosPerRecord),
    ];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suite_and_a_record_call_them_the_same() {
        for (word, column) in ColumnName::ALL {
            assert_eq!(serde_json::to_value(column).unwrap(), *word);
        }
    }
}
