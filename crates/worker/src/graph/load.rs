//! The load of a graph. One thread loads the nodes, in order; others load the links, chunk by
//! chunk, the last chunk first. The number of ids alone determines which links there are.

use super::ids::{FIRST, FIRST_KIND};
use super::payload::Motifs;
use super::{GraphBlock, GraphCase, Request};
use crate::rng::Rng;
use crate::values::draw;
use kvdyno_engine::graph::{Count, LinkKey};
use kvdyno_record::graph::Graph;
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

/// Ids of one chunk.
const CHUNK: u64 = 2_048;

/// Nodes, or links, of one unit.
const UNIT: usize = 1_024;

/// The most bytes of one unit.
const UNIT_BYTES: usize = 16 << 20;

/// The greatest age of a loaded link: links were made in the last 2^32 milliseconds.
const AGE_MS: u64 = 1 << 32;

pub(super) fn chunks(ids: u64) -> u64 {
    ids.div_ceil(CHUNK)
}

/// The load of all nodes.
pub(crate) struct NodeLoad<'p> {
    pub(super) case: &'p GraphCase,
    rng: Rng,
    motifs: Motifs,
    next: u64,
}

impl<'p> NodeLoad<'p> {
    pub(super) fn new(case: &'p GraphCase, mut rng: Rng) -> Self {
        let motifs = Motifs::for_nodes(case.graph.motif_bytes, &mut rng);
        Self { case, rng, motifs, next: FIRST }
    }

    pub(super) fn fill(&mut self, block: &mut GraphBlock) {
        let (graph, data) = (&self.case.graph, &mut block.data);
        let end = FIRST + graph.totals.ids;
        while self.next < end && data.nodes.len() < UNIT && data.bytes.len() < UNIT_BYTES {
            let from = data.bytes.len() as u32;
            let bytes = draw(&graph.node_bytes, &mut self.rng) as usize;
            self.motifs.fill(bytes, &mut self.rng, &mut data.bytes);
            data.nodes.push((self.next, from..data.bytes.len() as u32));
            self.next += 1;
        }
        let items = data.nodes.len();
        if items > 0 {
            let write_bytes = Graph::NODE_BYTES * items as u64 + data.bytes.len() as u64;
            block.push_unit(Request::LoadNodes, write_bytes);
        }
    }
}

/// A load of links. The count of a node and type is loaded with the last of its links.
pub(crate) struct LinkLoad<'p> {
    pub(super) case: &'p GraphCase,
    rng: Rng,
    motifs: Motifs,
    /// The lists of the current chunk that are not begun: id times the number of types, plus a
    /// type.
    places: Range<u64>,
    pending: Option<Pending>,
}

/// The links of a node and type that are being loaded.
struct Pending {
    count: Count,
    next: u64,
}

impl<'p> LinkLoad<'p> {
    pub(super) fn new(case: &'p GraphCase, mut rng: Rng) -> Self {
        let motifs = Motifs::for_links(case.graph.motif_bytes, &mut rng);
        Self { case, rng, motifs, places: 0..0, pending: None }
    }

    pub(super) fn fill(&mut self, block: &mut GraphBlock) {
        let data = &mut block.data;
        while data.links.len() < UNIT {
            let Some(mut pending) = self.pending.take().or_else(|| self.next_pending()) else {
                break;
            };
            while pending.next < pending.count.links && data.links.len() < UNIT {
                let from = data.bytes.len() as u32;
                let bytes = draw(&self.case.graph.link_bytes, &mut self.rng) as usize;
                self.motifs.fill(bytes, &mut self.rng, &mut data.bytes);
                let time = data.now_ms - AGE_MS + self.rng.below(AGE_MS);
                let (id1, kind) = (pending.count.id, pending.count.kind);
                let key = LinkKey { id1, kind, id2: id1 + pending.next };
                data.links.push((key, time, from..data.bytes.len() as u32));
                pending.count.time = pending.count.time.max(time);
                pending.next += 1;
            }
            if pending.next == pending.count.links {
                data.counts.push(pending.count);
            } else {
                self.pending = Some(pending);
            }
        }
        let (items, counts) = (data.links.len(), data.counts.len());
        if items > 0 {
            let write_bytes = Graph::LINK_BYTES * items as u64
                + Graph::COUNT_BYTES * counts as u64
                + data.bytes.len() as u64;
            block.push_unit(Request::LoadLinks, write_bytes);
        }
    }

    /// Returns the next node and type that has links.
    fn next_pending(&mut self) -> Option<Pending> {
        loop {
            for list in self.places.by_ref() {
                let (id, kind) = (list / Graph::TYPES, FIRST_KIND + list % Graph::TYPES);
                let links = self.case.links.count(id, kind);
                if links > 0 {
                    return Some(Pending { count: Count { id, kind, links, time: 0 }, next: 0 });
                }
            }
            let chunks_left = &self.case.chunks_left;
            let chunk =
                chunks_left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).ok()?;
            let first = FIRST + (chunk - 1) * CHUNK;
            let end = (first + CHUNK).min(FIRST + self.case.graph.totals.ids);
            self.places = first * Graph::TYPES..end * Graph::TYPES;
        }
    }
}
