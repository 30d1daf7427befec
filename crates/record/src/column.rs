//! Columns that a suite may ask for (`[show] columns`): its tables have them without `--wide`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An optional column of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ColumnName {
    /// Share of operations that took more than 1 ms.
    #[serde(rename = "over_1ms")]
    Over1Ms,
    /// More than 2 ms.
    #[serde(rename = "over_2ms")]
    Over2Ms,
    /// More than 4 ms.
    #[serde(rename = "over_4ms")]
    Over4Ms,
    /// Root of the mean square of the times.
    Rms,
    /// Standard deviation of the times.
    Deviation,
    /// From the start to the end of the last operation: with `operations` the time to so many.
    Took,
    /// Bytes of keys and values a second, read and written.
    MbPerS,
    /// Records or keys a second.
    ItemsPerS,
    /// I/Os at the device for a record.
    IosPerRecord,
}

impl ColumnName {
    /// As a suite calls each.
    pub const ALL: &'static [(&'static str, Self)] = &[
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
