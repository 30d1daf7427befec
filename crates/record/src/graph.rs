//! A data set that is a social graph: `LinkBench`'s, every choice of it resolved.

use crate::workload::Size;
use kvdyno_engine::graph::Isolation;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod degrees;

pub use degrees::{Table, Totals};

/// Nodes, the links between them, and how many links of each type a node has. The records of such
/// data are ids: each a node with its links and their counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Graph {
    /// How many links an id has.
    pub degrees: Degrees,
    /// How an id's links are divided among the types.
    pub split: Split,
    /// Numbers of ids, links and counts.
    pub totals: Totals,
    /// Data of a link, in bytes.
    pub link_bytes: Size,
    /// Data of a node, in bytes.
    pub node_bytes: Size,
    /// Bytes that are repeated in data are taken from a buffer of this length.
    pub motif_bytes: u32,
    /// The ids whose links are read.
    pub link_reads: Access,
    /// The ids whose links are written.
    pub link_writes: Access,
    /// Which nodes are read: Zipf with this exponent.
    pub node_reads_theta: f64,
    /// Which nodes are updated: Zipf with this exponent. Nodes to delete are drawn evenly.
    pub node_updates_theta: f64,
    /// Number of links in one request for several.
    pub multiget: Size,
    /// Links that a list shows at most.
    pub list_limit: u32,
    /// The share of lists that continue after an earlier list's last link.
    pub history: f64,
    /// How a link and its count are written.
    pub consistency: Consistency,
}

/// The published table that tells how often an id has how many links.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Degrees {
    /// `Distribution_2011.dat`: Facebook's, 45 % of the ids have none.
    #[serde(rename = "2011")]
    Of2011,
    /// `Distribution.dat` of 2020: each id has one or more.
    #[serde(rename = "2020")]
    Of2020,
}

/// How an id's links are dealt out to the two types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Split {
    /// Half to each type; an odd one goes to the first.
    Even,
    /// As `LinkBench` runs: half of the links, and one more for each type whose number is below the
    /// other half, so that 2 links become 3, and 4 become 6.
    Rounded,
}

/// How a request chooses the id whose links it is for: Zipf by Gray's formula, over the ids in the
/// order of their numbers of links, or in another order.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Access {
    /// The exponent where the hottest ids have the most links.
    pub theta: f64,
    /// The share of the requests that use the other order.
    pub uncorrelated: f64,
    /// The exponent of these requests.
    pub uncorrelated_theta: f64,
}

/// The consistency of a link and its count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Consistency {
    /// One transaction. An engine without transactions gets one atomic batch under a latch of the
    /// load generator, and the run shows it. `MongoDB` needs an attached replica set of 4.0 or
    /// later.
    Transaction,
    /// One write after the other, with a note of both until the end: a method for stores without
    /// transactions. An error or a killed client leaves incomplete work, and the audit finds it.
    /// `MongoDB` only.
    TwoPhase,
    /// A read and a write of the count without protection. Concurrent requests lose counts, and the
    /// audit fails.
    None,
}

impl Consistency {
    /// The isolation that it requires of an engine.
    pub fn isolation(self) -> Isolation {
        match self {
            Self::Transaction => Isolation::Transaction,
            Self::TwoPhase => Isolation::TwoPhase,
            Self::None => Isolation::None,
        }
    }
}

impl Graph {
    /// Types of links.
    pub const TYPES: u64 = 2;

    /// Bytes of a node besides its data: id, type, version, time.
    pub const NODE_BYTES: u64 = 8 + 4 + 8 + 4;

    /// Bytes of a link besides its data: two ids and a type, visibility, time, version.
    pub const LINK_BYTES: u64 = 24 + 1 + 8 + 4;

    /// Bytes of a count: id and type, count, time, version.
    pub const COUNT_BYTES: u64 = 16 + 8 + 8 + 8;

    /// Bytes of the longest key in an ordered store, that of a link by its time.
    pub const KEY_BYTES: u32 = 33;

    /// The fewest ids of a data set: `LinkBench` shuffles them in 1,024 groups.
    pub const IDS_MIN: u64 = 1_024;

    /// Bytes of all that is loaded, each node, link and count once.
    pub fn bytes(&self) -> f64 {
        let Totals { ids, links, counts } = self.totals;
        ids as f64 * (Self::NODE_BYTES as f64 + self.node_bytes.mean())
            + links as f64 * (Self::LINK_BYTES as f64 + self.link_bytes.mean())
            + (counts * Self::COUNT_BYTES) as f64
    }

    /// Mean bytes of a value in an ordered store, as if all keys were as long as the longest.
    pub fn value_bytes_mean(&self) -> u64 {
        let by_time = self.totals.links as f64 * (Self::LINK_BYTES as f64 + self.link_bytes.mean());
        let keys = self.keys() * u64::from(Self::KEY_BYTES);
        ((self.bytes() + by_time - keys as f64) / self.keys() as f64).max(1.0) as u64
    }

    /// Keys in an ordered store: nodes, each link twice (by its place, and by its time), counts.
    pub fn keys(&self) -> u64 {
        self.totals.ids + 2 * self.totals.links + self.totals.counts
    }
}

impl Split {
    /// Returns how many of `links` are of type `kind`, counted from 0.
    pub fn links_for_type(self, links: u64, kind: u64) -> u64 {
        let least = links / Graph::TYPES;
        let threshold = match self {
            Self::Even => links % Graph::TYPES,
            Self::Rounded => links - least,
        };
        least + u64::from(kind < threshold)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_a_plan() {
        let words = |degrees| serde_json::to_value(degrees).unwrap();
        assert_eq!(words(Degrees::Of2011), "2011");
        assert_eq!(serde_json::to_value(Split::Rounded).unwrap(), "rounded");
    }

    #[test]
    fn links_are_dealt_out_as_linkbench_does() {
        let rounded = |links| [0, 1].map(|kind| Split::Rounded.links_for_type(links, kind));
        assert_eq!(
            [0, 1, 2, 3, 4, 5].map(rounded),
            [[0, 0], [1, 0], [2, 1], [2, 2], [3, 3], [3, 3]]
        );
        let even = |links| [0, 1].map(|kind| Split::Even.links_for_type(links, kind));
        assert_eq!([0, 1, 2, 5].map(even), [[0, 0], [1, 0], [1, 1], [3, 2]]);
    }
}
