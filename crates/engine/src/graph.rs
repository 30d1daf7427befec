//! A social graph on an engine: nodes, links between them, and of each node and type how many links
//! are visible. What `LinkBench` asks of a store.

use crate::{Engine, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// A node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node<'a> {
    /// What it is.
    pub kind: u32,
    /// How often it was written.
    pub version: u64,
    /// When, in seconds.
    pub time: u32,
    /// What it holds.
    pub data: &'a [u8],
}

/// Which link: there is one of a type from one node to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkKey {
    /// From this node.
    pub id1: u64,
    /// Of this type.
    pub kind: u64,
    /// To this node.
    pub id2: u64,
}

/// A link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link<'a> {
    /// Which.
    pub key: LinkKey,
    /// Hidden, it stays where it is and counts no more.
    pub visible: bool,
    /// When it was written, in milliseconds.
    pub time: u64,
    /// Its version.
    pub version: u32,
    /// What it holds.
    pub data: &'a [u8],
}

/// How many links a node has of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// The node.
    pub id: u64,
    /// The type.
    pub kind: u64,
    /// Visible links.
    pub links: u64,
    /// When it was last changed, in milliseconds.
    pub time: u64,
}

/// What became of a link that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// It is new.
    Inserted,
    /// It was hidden, and is visible again.
    Shown,
    /// It was visible, and is written anew.
    Updated,
}

/// A part of a load: what is new to the store, in one unit.
#[derive(Clone, Copy, Debug, Default)]
pub struct Chunk<'a> {
    /// Nodes with their ids.
    pub nodes: &'a [(u64, Node<'a>)],
    /// Links, all visible.
    pub links: &'a [Link<'a>],
    /// Counts of links that are loaded with it or before.
    pub counts: &'a [Count],
}

/// A count, held against the links that are there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Audited {
    /// The node.
    pub id: u64,
    /// The type of its links.
    pub kind: u64,
    /// What its count says; 0: it has none.
    pub count: u64,
    /// Visible links that are there.
    pub links: u64,
    /// Of them, those that a list would show: as many, or an index is not what it should be.
    pub listed: u64,
}

impl Audited {
    /// The count equals the links in every index.
    pub fn is_right(&self) -> bool {
        self.count == self.links && self.listed == self.links
    }
}

/// A node and a type, and how many links.
pub type Links = ((u64, u64), u64);

/// Shows counts and numbers of links from two streams, in the order of nodes and types. `go_on` is
/// called now and then: false ends it, and is returned.
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
        let (says, listed) = (number(count), number(linked));
        let ((id, kind), links) = (next, listed.unwrap_or(0));
        // They are counted by one index; the server keeps its other indexes right.
        visit(Audited { id, kind, count: says.unwrap_or(0), links, listed: links });
        shown += 1;
        if shown % LOOK_EVERY == 0 && !go_on() {
            return Ok(false);
        }
        if says.is_some() {
            count = counts()?;
        }
        if listed.is_some() {
            linked = visible()?;
        }
    }
    Ok(true)
}

/// How a link and its count are kept together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// By the engine's own transactions.
    Transaction,
    /// One after the other, with a temporary record of both.
    TwoPhase,
    /// By a latch of the load generator around reading and one atomic batch: from its own threads
    /// alone.
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

    /// Writes a node anew. False: it is not there, and nothing was written.
    fn update_node(&mut self, id: u64, node: &Node<'_>) -> Result<bool>;

    /// Removes a node. False: it was not there.
    fn delete_node(&mut self, id: u64) -> Result<bool>;

    /// Writes a visible link; its count grows by one if it was not visible before.
    fn add_link(&mut self, link: &Link<'_>) -> Result<Added>;

    /// Hides a link at `time`; its count falls by one. False: it was not there or hidden, and
    /// nothing was written.
    fn delete_link(&mut self, link: LinkKey, time: u64) -> Result<bool>;

    /// Shows those of the links from `id1` to `id2s` that are there, hidden ones too. Returns how
    /// many.
    fn get_links(
        &mut self,
        id1: u64,
        kind: u64,
        id2s: &[u64],
        visit: impl FnMut(Link<'_>),
    ) -> Result<u64>;

    /// Shows the visible links from `id1` of these times, the newest first. Returns how many.
    fn list_links(
        &mut self,
        id1: u64,
        kind: u64,
        times: RangeInclusive<u64>,
        limit: u32,
        visit: impl FnMut(Link<'_>),
    ) -> Result<u64>;

    /// How many visible links there are from `id1`, by the count.
    fn count_links(&mut self, id1: u64, kind: u64) -> Result<u64>;

    /// Takes a part of a load in.
    fn load(&mut self, chunk: &Chunk<'_>) -> Result<()>;

    /// Shows of each node and type that has a count or a visible link what there is, and returns
    /// how many nodes there are. `go_on` is asked now and then: it ends when that is false.
    fn audit(&mut self, go_on: impl Fn() -> bool, visit: impl FnMut(Audited)) -> Result<u64>;
}

/// An engine with a way of its own to keep a graph.
pub trait GraphEngine: 'static {
    /// Which one.
    type Engine: Engine;
    /// One thread's handle. It never leaves the thread that made it.
    type Graph<'e>: Graph;

    /// A handle for the calling thread.
    fn graph(engine: &Self::Engine, isolation: Isolation) -> Result<Self::Graph<'_>>;
}
