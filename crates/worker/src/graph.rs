//! Requests of a social graph: `LinkBench`, the second kind of work beside key-value operations.

mod audit;
mod ids;
mod latch;
mod load;
mod over_keys;
mod payload;
mod requests;
#[cfg(test)]
mod tests;

pub(crate) use audit::audit;
pub(crate) use over_keys::OverKeys;

use crate::block::{Block, Step};
use crate::kind::{BlockOf, Kind, Supply};
use crate::rng::Rng;
use crate::shared::Task;
use crate::tally::Tally;
use crate::values::touch;
use ids::{Ids, Links};
use kvdyno_engine::graph::{Chunk, Count, GraphEngine, Isolation, Link, LinkKey, Node};
use kvdyno_engine::{Result, graph};
use kvdyno_record::graph::Graph;
use kvdyno_record::workload::Role;
use load::{LinkLoad, NodeLoad};
use requests::Requests;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::atomic::AtomicU64;

/// The type of every node.
const NODE_KIND: u32 = 2_048;

/// The most lists whose ends a thread keeps, for requests of the links behind them.
const TAILS_MAX: usize = 2_048;

/// The part of a case's graph that all threads share.
pub(crate) struct GraphCase {
    graph: Graph,
    isolation: Isolation,
    ids: Ids,
    links: Links,
    /// The id of the next node.
    next_node: AtomicU64,
    /// The number of chunks of ids whose links no thread has begun to load; the last chunk is next.
    chunks_left: AtomicU64,
}

impl GraphCase {
    pub(crate) fn new(graph: &Graph, isolation: Isolation) -> Self {
        let ids = graph.totals.ids;
        Self {
            isolation,
            ids: Ids::new(graph),
            links: Links::new(graph),
            next_node: AtomicU64::new(ids::FIRST + ids),
            chunks_left: AtomicU64::new(load::chunks(ids)),
            graph: graph.clone(),
        }
    }

    /// How a link and its count are kept consistent.
    pub(crate) fn isolation(&self) -> Isolation {
        self.isolation
    }
}

/// The kind of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    AddNode,
    GetNode,
    UpdateNode,
    DeleteNode,
    /// Adds or updates a link: both are the same call.
    AddLink,
    DeleteLink,
    CountLink,
    MultigetLink,
    GetLinksList,
    LoadNodes,
    LoadLinks,
}

/// A request with its parameters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GraphRequest {
    request: Request,
    /// The key of the link; `id1` of it is the node of a request for a node.
    at: LinkKey,
    /// The index in the block at which its data or its second ids begin. A unit of a load needs
    /// none: it takes everything in the block.
    first: u32,
    /// The number of its bytes, or of its second ids.
    items: u32,
    /// For a list, the tail of earlier lists that it requests, from 1; 0: none.
    tail: u32,
}

/// The data of a block's steps.
#[derive(Debug, Default)]
pub(crate) struct Drawn {
    bytes: Vec<u8>,
    id2s: Vec<u64>,
    nodes: Vec<(u64, Range<u32>)>,
    links: Vec<(LinkKey, u64, Range<u32>)>,
    counts: Vec<Count>,
    /// The time when the block was prepared, in milliseconds.
    now_ms: u64,
}

type GraphBlock = Block<GraphRequest, Drawn>;

impl GraphBlock {
    fn begin(&mut self) {
        self.steps.clear();
        self.due.clear();
        self.writes = false;
        let data = &mut self.data;
        data.bytes.clear();
        data.id2s.clear();
        data.nodes.clear();
        data.links.clear();
        data.counts.clear();
        data.now_ms = crate::clock::unix_ns() / 1_000_000;
    }

    /// Adds a unit of a load, the only step of its block.
    fn push_unit(&mut self, request: Request, write_bytes: u64) {
        let link = LinkKey { id1: 0, kind: 0, id2: 0 };
        let action = GraphRequest { request, at: link, first: 0, items: 0, tail: 0 };
        self.writes = true;
        self.steps.push(Step { slot: 0, action, write_bytes });
    }
}

/// A block as it is performed.
pub(crate) struct View<'b> {
    drawn: &'b Drawn,
    nodes: Vec<(u64, Node<'b>)>,
    links: Vec<Link<'b>>,
}

impl Drawn {
    fn data(&self, range: &Range<u32>) -> &[u8] {
        &self.bytes[range.start as usize..range.end as usize]
    }

    fn node<'b>(&self, data: &'b [u8], version: u64) -> Node<'b> {
        Node { kind: NODE_KIND, version, time: (self.now_ms / 1_000) as u32, data }
    }
}

/// One thread's operations.
pub(crate) enum Source<'p> {
    Requests(Requests<'p>),
    Nodes(NodeLoad<'p>),
    Links(LinkLoad<'p>),
}

impl<'p> Source<'p> {
    /// Requests of a role.
    pub(crate) fn requests(case: &'p GraphCase, role: &Role, rng: Rng) -> Self {
        Self::Requests(Requests::new(case, role, rng))
    }

    /// The load of all nodes.
    pub(crate) fn nodes(case: &'p GraphCase, rng: Rng) -> Self {
        Self::Nodes(NodeLoad::new(case, rng))
    }

    /// A part of the load of the links.
    pub(crate) fn links(case: &'p GraphCase, rng: Rng) -> Self {
        Self::Links(LinkLoad::new(case, rng))
    }

    fn case(&self) -> &'p GraphCase {
        match self {
            Self::Requests(requests) => requests.case,
            Self::Nodes(nodes) => nodes.case,
            Self::Links(links) => links.case,
        }
    }
}

impl Supply<GraphRequest, Drawn> for Source<'_> {
    fn fill(&mut self, block: &mut GraphBlock, steps: usize) -> bool {
        block.begin();
        match self {
            Self::Requests(requests) => requests.fill(block, steps),
            Self::Nodes(nodes) => nodes.fill(block),
            Self::Links(links) => links.fill(block),
        }
        !block.steps.is_empty()
    }

    fn settle(&mut self, _block: &GraphBlock, _done: usize, _failed: &[usize]) {}

    fn steps_max(&self) -> usize {
        match self {
            Self::Requests(_) => requests::STEPS_MAX,
            // A unit of a load is a block.
            Self::Nodes(_) | Self::Links(_) => 1,
        }
    }
}

/// Requests of a graph on an engine.
pub(crate) struct Social<G>(PhantomData<G>);

/// The state of one thread.
pub(crate) struct Visitor<G> {
    graph: G,
    list_limit: u32,
    /// The ends of long lists: node, type, and time of the last link that was shown.
    tails: Vec<(u64, u64, u64)>,
}

impl<G: GraphEngine> Kind for Social<G> {
    type Engine = G::Engine;
    type Handle<'e> = Visitor<G::Graph<'e>>;
    type Action = GraphRequest;
    type Data = Drawn;
    type View<'b> = View<'b>;
    type Source<'p> = Source<'p>;

    fn open<'e>(engine: &'e G::Engine, source: &Source<'_>) -> Result<Visitor<G::Graph<'e>>> {
        let case = source.case();
        let graph = G::graph(engine, case.isolation)?;
        Ok(Visitor { graph, list_limit: case.graph.list_limit, tails: Vec::new() })
    }

    fn view<'b>(_: &'b Source<'_>, block: &'b BlockOf<Self>, _: &Task) -> View<'b> {
        let drawn = &block.data;
        let node = |(id, data): &(u64, Range<u32>)| (*id, drawn.node(drawn.data(data), 1));
        let link = |(key, time, data): &(LinkKey, u64, Range<u32>)| Link {
            key: *key,
            visible: true,
            time: *time,
            version: 0,
            data: drawn.data(data),
        };
        View {
            drawn,
            nodes: drawn.nodes.iter().map(node).collect(),
            links: drawn.links.iter().map(link).collect(),
        }
    }

    fn perform(
        visitor: &mut Visitor<G::Graph<'_>>,
        step: &Step<GraphRequest>,
        view: &View<'_>,
        tally: &mut Tally,
        sink: &mut u64,
    ) -> Result<()> {
        perform(visitor, &step.action, view, tally, sink)
    }
}

/// Performs one request. All data that it shows is touched.
fn perform<G: graph::Graph>(
    visitor: &mut Visitor<G>,
    graph_request: &GraphRequest,
    view: &View<'_>,
    tally: &mut Tally,
    sink: &mut u64,
) -> Result<()> {
    let (graph, drawn) = (&mut visitor.graph, view.drawn);
    let GraphRequest { request, at, first, items, tail } = *graph_request;
    let (first, items) = (first as usize, items as usize);
    match request {
        Request::GetNode => {
            let mut bytes = None;
            graph.get_node(at.id1, |node| {
                bytes = node.map(|node| {
                    *sink ^= touch(node.data);
                    8 + node.data.len() as u64
                });
            })?;
            tally.missing += u64::from(bytes.is_none());
            tally.read_bytes += bytes.unwrap_or(0);
        }
        Request::AddNode => {
            graph.add_node(at.id1, &drawn.node(&drawn.bytes[first..first + items], 1))?;
        }
        Request::UpdateNode => {
            let node = drawn.node(&drawn.bytes[first..first + items], 2);
            graph.update_node(at.id1, &node).map(drop)?;
        }
        Request::DeleteNode => graph.delete_node(at.id1).map(drop)?,
        Request::AddLink => {
            let data = &drawn.bytes[first..first + items];
            let link = Link { key: at, visible: true, time: drawn.now_ms, version: 0, data };
            graph.add_link(&link).map(drop)?;
        }
        Request::DeleteLink => graph.delete_link(at, drawn.now_ms).map(drop)?,
        Request::CountLink => {
            *sink ^= graph.count_links(at.id1, at.kind)?;
            tally.read_bytes += 8;
        }
        Request::MultigetLink => {
            let id2s = &drawn.id2s[first..first + items];
            let mut bytes = 0;
            let shown_links = graph.get_links(at.id1, at.kind, id2s, |link| {
                *sink ^= touch(link.data);
                bytes += 24 + link.data.len() as u64;
            })?;
            tally.many_items += items as u64;
            tally.missing += (items as u64).saturating_sub(shown_links);
            tally.read_bytes += bytes;
        }
        Request::GetLinksList => list(visitor, at, tail, tally, sink)?,
        Request::LoadNodes => {
            graph.load(&Chunk { nodes: &view.nodes, ..Chunk::default() })?;
            tally.many_items += view.nodes.len() as u64;
        }
        Request::LoadLinks => {
            let (links, counts) = (&view.links, &drawn.counts);
            graph.load(&Chunk { links, counts, ..Chunk::default() })?;
            tally.many_items += links.len() as u64;
        }
    }
    Ok(())
}

/// Lists the links of a node. If the request is for a tail of earlier lists and there is one, lists
/// the links behind it instead.
fn list<G: graph::Graph>(
    visitor: &mut Visitor<G>,
    key: LinkKey,
    tail: u32,
    tally: &mut Tally,
    sink: &mut u64,
) -> Result<()> {
    let Visitor { graph, list_limit, tails } = visitor;
    let chosen = tail.checked_sub(1).filter(|_| !tails.is_empty());
    let chosen = chosen.map(|number| number as usize % tails.len());
    let (id1, kind, newest) = chosen.map_or((key.id1, key.kind, u64::MAX), |chosen| tails[chosen]);
    // The link that the tail begins with has been shown.
    let mut skipped = u64::from(chosen.is_some());
    let (mut bytes, mut last, limit) = (0, 0, *list_limit + skipped as u32);
    let shown = graph.list_links(id1, kind, 0..=newest, limit, |link| {
        if skipped > 0 {
            skipped -= 1;
            return;
        }
        *sink ^= touch(link.data);
        bytes += 24 + link.data.len() as u64;
        last = link.time;
    })?;
    let shown = shown.saturating_sub(u64::from(chosen.is_some()));
    tally.many_items += shown;
    tally.read_bytes += bytes;
    let more = shown >= u64::from(*list_limit);
    match chosen {
        Some(chosen) if more => tails[chosen].2 = last,
        Some(chosen) => drop(tails.swap_remove(chosen)),
        None if more && tails.iter().all(|other| (other.0, other.1) != (id1, kind)) => {
            // If there are too many tails, one that depends on the link's time makes room.
            if tails.len() == TAILS_MAX {
                tails.swap_remove((last % TAILS_MAX as u64) as usize);
            }
            tails.push((id1, kind, last));
        }
        None => {}
    }
    Ok(())
}
