//! A social graph on an engine: nodes, links between them, and the number of visible links of each
//! node and type. `LinkBench` requires this of a store.

use crate::{Engine, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// A node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node<'a> {
    /// Its type.
    pub kind: u32,
    /// How often it was written.
    pub version: u64,
    /// When it was written, in seconds.
    pub time: u32,
    /// Its contents.
    pub data: &'a [u8],
}

/// The key of a link: there is at most one of a type from one node to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkKey {
    /// The node it leads from.
    pub id1: u64,
    /// Its type.
    pub kind: u64,
    /// The node it leads to.
    pub id2: u64,
}

/// A link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link<'a> {
    /// Its key.
    pub key: LinkKey,
    /// Whether it is visible. A hidden link stays stored, but is not counted.
    pub visible: bool,
    /// When it was written, in milliseconds.
    pub time: u64,
    /// Its version.
    pub version: u32,
    /// Its contents.
    pub data: &'a [u8],
}

/// The stored number of visible links of a node and a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// The node.
    pub id: u64,
    /// The type.
    pub kind: u64,
    /// The number of visible links.
    pub links: u64,
    /// When the count was last changed, in milliseconds.
    pub time: u64,
}

/// The effect of writing a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// It is new.
    Inserted,
    /// It was hidden, and is visible again.
    Shown,
    /// It was visible, and is overwritten.
    Updated,
}

/// A part of a load, stored as one unit. All of it is new to the store.
#[derive(Clone, Copy, Debug, Default)]
pub struct Chunk<'a> {
    /// Nodes with their ids.
    pub nodes: &'a [(u64, Node<'a>)],
    /// Links, all visible.
    pub links: &'a [Link<'a>],
    /// Counts of links that are loaded in this part or before it.
    pub counts: &'a [Count],
}

/// A count, compared with the links that exist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Audited {
    /// The node.
    pub id: u64,
    /// The type of its links.
    pub kind: u64,
    /// The stored count; 0: there is none.
    pub count: u64,
    /// The number of visible links that exist.
    pub links: u64,
    /// The number of links that a list would show: if it differs from `links`, an index is wrong.
    pub listed: u64,
}

impl Audited {
    /// Whether the count equals the number of links in every index.
    pub fn is_right(&self) -> bool {
        self.count == self.links && self.listed == self.links
    }
}

/// A node and a type, and their number of links.
pub type Links = ((u64, u64), u64);

/// Audits counts against numbers of visible links, two streams in the order of nodes and types.
/// `go_on` is called now and then: false ends the audit, and is returned.
pub fn side_by_side(
    mut counts: impl FnMut() -> Result<Option<Links>>,
    mut visible: impl FnMut() -> Result<Option<Links>>,
    go_on: impl Fn() -> bool,
    mut visit: impl FnMut(Audited),
) -> Result<bool> {
    const LOOK_EVERY: u64 = 65_536;
    let (mut count, mut linked, mut shown) = (counts()?, visible()?, 0);
    while let Some(next) = count.into_iter().chain(linked).map(|(next, _)| next).min() {
        let number = |stream: Option<Links>| {
            stream.filter(|(node, _)| *node == next).map(|(_, links)| links)
        };
        let (stored, listed) = (number(count), number(linked));
        let ((id, kind), links) = (next, listed.unwrap_or(0));
        // The links are counted by one index; the server keeps its other indexes right.
        visit(Audited { id, kind, count: stored.unwrap_or(0), links, listed: links });
        shown += 1;
        if shown % LOOK_EVERY == 0 && !go_on() {
            return Ok(false);
        }
        if stored.is_some() {
            count = counts()?;
        }
        if listed.is_some() {
            linked = visible()?;
        }
    }
    Ok(true)
}

/// How a link and its count are kept consistent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// By the engine's own transactions.
    Transaction,
    /// One after the other, with a temporary record of both.
    TwoPhase,
    /// By a latch of the load generator around the reads and one atomic batch: it protects against
    /// the load generator's own threads only.
    Latch,
    /// Not at all: concurrent requests lose counts.
    None,
}

/// One thread's handle on a graph. Each write is one unit, as [`Isolation`] says.
pub trait Graph {
    /// Adds a node. A store that numbers nodes itself takes its own next number.
    fn add_node(&mut self, id: u64, node: &Node<'_>) -> Result<()>;

    /// Shows a node, or `None`, exactly once.
    fn get_node(&mut self, id: u64, visit: impl FnOnce(Option<Node<'_>>)) -> Result<()>;

    /// Overwrites a node. False: it does not exist, and nothing was written.
    fn update_node(&mut self, id: u64, node: &Node<'_>) -> Result<bool>;

    /// Removes a node. False: it was not there.
    fn delete_node(&mut self, id: u64) -> Result<bool>;

    /// Writes a visible link; its count grows by one if it was not visible before.
    fn add_link(&mut self, link: &Link<'_>) -> Result<Added>;

    /// Hides a link at `time`; its count falls by one. False: it did not exist or was hidden, and
    /// nothing was written.
    fn delete_link(&mut self, link: LinkKey, time: u64) -> Result<bool>;

    /// Shows the links from `id1` to `id2s` that exist, hidden ones too. Returns how many were
    /// shown.
    fn get_links(
        &mut self,
        id1: u64,
        kind: u64,
        id2s: &[u64],
        visit: impl FnMut(Link<'_>),
    ) -> Result<u64>;

    /// Shows the visible links from `id1` within `times`, the newest first. Returns how many were
    /// shown.
    fn list_links(
        &mut self,
        id1: u64,
        kind: u64,
        times: RangeInclusive<u64>,
        limit: u32,
        visit: impl FnMut(Link<'_>),
    ) -> Result<u64>;

    /// Returns the stored count of the visible links from `id1`.
    fn count_links(&mut self, id1: u64, kind: u64) -> Result<u64>;

    /// Stores a part of a load.
    fn load(&mut self, chunk: &Chunk<'_>) -> Result<()>;

    /// Audits each node and type that has a count or a visible link, and returns how many nodes
    /// there are. `go_on` is called now and then: the audit ends when it returns false.
    fn audit(&mut self, go_on: impl Fn() -> bool, visit: impl FnMut(Audited)) -> Result<u64>;
}

/// An engine with a way of its own to keep a graph.
pub trait GraphEngine: 'static {
    /// The engine.
    type Engine: Engine;
    /// One thread's handle. It never leaves the thread that made it.
    type Graph<'e>: Graph;

    /// Returns a handle for the calling thread.
    fn graph(engine: &Self::Engine, isolation: Isolation) -> Result<Self::Graph<'_>>;
}
