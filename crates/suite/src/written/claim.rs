//! `[[claim]]` as typed.

use crate::written::mistake::Mistakes;
use crate::written::read::{At, FromToml as _, members, table};
use schemars::JsonSchema;
use toml::de::DeTable;

/// A statement about the figures of a run. Unknown engines and figures are errors of the suite.
///
/// A cell is
/// `[PART:]PHASE[-wN][.ROLE[.OP]].ENGINE[@VOLUME][%TIER][#THREADS][/RAM][*RECORDS].FIGURE`.
/// Examples: `load.lmdb.wall_ns`, `measure.readers.lmdb@ext4#8.ops_per_s`,
/// `large:load.lmdb*100M.wall_ns`, `measure.readers.rocksdb/64GiB#max.service_ns_p99`. `#8`,
/// `#1..8` and `#max` select from the swept thread counts. A job of `[drive]` stands for an engine:
/// `measure.randread-4k-qd1.ops_per_s`. `PHASE-w2` is the second window, and `PHASE-wmax` is the
/// last measured one. docs/exports.md has the figures. `--scale` scales the records and RAM of
/// cells too.
///
/// A dimension that a cell omits is checked at every measured value: threads, volume, RAM limit and
/// window. The claim holds if it holds at all of them.
///
/// The verdict needs four trials: each gives a value of the condition, and their mean has a 99 %
/// interval. The claim holds if the interval lies within the bounds. It does not hold if the
/// interval lies outside. A claim that one thing is larger than another does not hold either if
/// the two are equal within 3 % (`--within`). Otherwise the verdict is `undecided`, with about how
/// many more trials would decide; `--budget` adds them.
///
/// A cell without a measurement has no verdict either: `volume flash-raw was not measured`.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields, rename = "Claim")]
pub(crate) struct ClaimTable {
    /// The statement, one line of at most 300 characters.
    pub(crate) text: At<String>,
    /// The condition: `SIDE in LOW..HIGH`, `SIDE > BOUND` or `SIDE < BOUND`. A side is `CELL`,
    /// `CELL / CELL` or `CELL - CELL`. A bound is a number with or without a unit, or a side.
    pub(crate) holds: At<String>,
    /// Conditions of a verdict: `"engine NAME"`, `"volume NAME"`, `"part NAME"`, `"tier NAME"`,
    /// `"threads N"`, `"cpus N"`, `"memory 64GiB"`, `"data_to_ram 4"`. Default: none.
    pub(crate) needs: Option<At<Vec<At<String>>>>,
}

table!(ClaimTable, "[[claim]]": text holds needs);

impl ClaimTable {
    /// Removes the claims from a suite and returns them: its parts have no claims of their own.
    pub(crate) fn take_from(suite: &mut DeTable<'_>, mistakes: &mut Mistakes) -> Vec<Self> {
        let Some(claims) = suite.remove("claim") else { return Vec::new() };
        let claims = members(claims, "[[claim]]", mistakes).unwrap_or_default();
        claims.into_iter().filter_map(|claim| Self::from_toml(claim, mistakes)).collect()
    }
}
