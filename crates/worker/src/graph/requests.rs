//! The ten requests, drawn before they are timed.

use super::ids::{FIRST_KIND, IdPurpose};
use super::payload::Motifs;
use super::{Drawn, GraphBlock, GraphCase, GraphRequest, Request};
use crate::block::Step;
use crate::rng::Rng;
use crate::values::draw;
use kvdyno_engine::graph::LinkKey;
use kvdyno_record::graph::Graph;
use kvdyno_record::workload::{MixEntry, Op, Role};
use std::sync::atomic::Ordering::Relaxed;

/// The most requests of one block.
pub(super) const STEPS_MAX: usize = 512;

/// The rough share of existing links among those that a request is for: this share of the drawn
/// links was loaded.
#[derive(Clone, Copy)]
struct Existing(f64);

const OF_GETS: Existing = Existing(0.5);
const OF_UPDATES: Existing = Existing(0.9);
const OF_DELETES: Existing = Existing(0.9);
const OF_ADDS: Existing = Existing(0.05);

/// The tries for a second id that a request does not have yet.
const TRIES: usize = 100;

/// One thread's requests.
pub(crate) struct Requests<'p> {
    pub(super) case: &'p GraphCase,
    rng: Rng,
    mix: Vec<(f64, Op)>,
    of_links: Motifs,
    of_nodes: Motifs,
}

impl<'p> Requests<'p> {
    pub(super) fn new(case: &'p GraphCase, role: &Role, mut rng: Rng) -> Self {
        let total: f64 = role.mix.iter().map(|entry| entry.weight).sum();
        let mut until = 0.0;
        let entry = |entry: &MixEntry| {
            until += entry.weight / total;
            (until, entry.op.clone())
        };
        Self {
            case,
            mix: role.mix.iter().map(entry).collect(),
            of_links: Motifs::for_links(case.graph.motif_bytes, &mut rng),
            of_nodes: Motifs::for_nodes(case.graph.motif_bytes, &mut rng),
            rng,
        }
    }

    pub(super) fn fill(&mut self, block: &mut GraphBlock, steps: usize) {
        for _ in 0..steps {
            let quantile = self.rng.unit();
            let last = self.mix.len() - 1;
            let slot = self.mix.partition_point(|(until, _)| *until <= quantile).min(last);
            let request = request(&self.mix[slot].1);
            let from = block.data.bytes.len();
            let action = self.prepare(request, slot, &mut block.data);
            let data = (block.data.bytes.len() - from) as u64;
            let writes = self.mix[slot].1.writes();
            block.writes |= writes;
            let write_bytes = if writes { key_bytes(request) + data } else { 0 };
            block.steps.push(Step { slot: slot as u8, action, write_bytes });
        }
    }

    fn prepare(&mut self, request: Request, slot: usize, block: &mut Drawn) -> GraphRequest {
        let node = |id1| LinkKey { id1, kind: 0, id2: 0 };
        let mut step = GraphRequest { request, at: node(0), first: 0, items: 0, tail: 0 };
        match request {
            Request::AddNode => {
                step.at = node(self.case.next_node.fetch_add(1, Relaxed));
                self.data(true, block, &mut step);
            }
            Request::UpdateNode => {
                step.at = node(self.case.ids.draw(IdPurpose::NodeUpdate, &mut self.rng));
                self.data(true, block, &mut step);
            }
            Request::GetNode => {
                step.at = node(self.case.ids.draw(IdPurpose::NodeRead, &mut self.rng));
            }
            Request::DeleteNode => {
                step.at = node(self.case.ids.draw(IdPurpose::NodeDelete, &mut self.rng));
            }
            Request::AddLink => {
                let updates = self.mix[slot].1 == Op::UpdateLink;
                let existing = if updates { OF_UPDATES } else { OF_ADDS };
                step.at = self.draw_link(IdPurpose::LinkWrite, existing);
                self.data(false, block, &mut step);
            }
            Request::DeleteLink => step.at = self.draw_link(IdPurpose::LinkWrite, OF_DELETES),
            Request::CountLink => step.at = self.draw_list_key(IdPurpose::LinkRead),
            Request::MultigetLink => self.draw_several_links(block, &mut step),
            Request::GetLinksList => {
                step.at = self.draw_list_key(IdPurpose::LinkRead);
                if self.rng.unit() < self.case.graph.history {
                    step.tail = 1 + self.rng.below(u64::from(u32::MAX)) as u32;
                }
            }
            Request::LoadNodes | Request::LoadLinks => {}
        }
        step
    }

    /// Draws a node and a type.
    fn draw_list_key(&mut self, purpose: IdPurpose) -> LinkKey {
        let id1 = self.case.ids.draw(purpose, &mut self.rng);
        LinkKey { id1, kind: FIRST_KIND + self.rng.below(Graph::TYPES), id2: 0 }
    }

    fn draw_link(&mut self, purpose: IdPurpose, existing: Existing) -> LinkKey {
        let link = self.draw_list_key(purpose);
        let range = self.range(link, existing);
        LinkKey { id2: link.id1 + self.rng.below(range), ..link }
    }

    /// The number of second ids from which one is drawn. A node without links has one: its own id.
    fn range(&self, link: LinkKey, Existing(share): Existing) -> u64 {
        let links = self.case.links.count(link.id1, link.kind);
        ((1.0 / share * links as f64).ceil() as u64).max(1)
    }

    /// Draws several different links of a node.
    fn draw_several_links(&mut self, block: &mut Drawn, step: &mut GraphRequest) {
        let link = self.draw_list_key(IdPurpose::LinkRead);
        let count = draw(&self.case.graph.multiget, &mut self.rng);
        let range = self.range(link, OF_GETS);
        let first = block.id2s.len();
        for number in 0..count {
            if range <= count {
                block.id2s.push(link.id1 + number);
                continue;
            }
            let mut id2 = link.id1 + self.rng.below(range);
            for _ in 0..TRIES {
                if !block.id2s[first..].contains(&id2) {
                    break;
                }
                id2 = link.id1 + self.rng.below(range);
            }
            block.id2s.push(id2);
        }
        (step.at, step.first, step.items) = (link, first as u32, count as u32);
    }

    /// Draws the data of a node or a link.
    fn data(&mut self, node: bool, block: &mut Drawn, step: &mut GraphRequest) {
        let graph = &self.case.graph;
        let (size, motifs) = if node {
            (&graph.node_bytes, &self.of_nodes)
        } else {
            (&graph.link_bytes, &self.of_links)
        };
        let bytes = draw(size, &mut self.rng);
        step.first = block.bytes.len() as u32;
        step.items = bytes as u32;
        motifs.fill(bytes as usize, &mut self.rng, &mut block.bytes);
    }
}

fn request(op: &Op) -> Request {
    match op {
        Op::AddNode => Request::AddNode,
        Op::UpdateNode => Request::UpdateNode,
        Op::DeleteNode => Request::DeleteNode,
        Op::AddLink | Op::UpdateLink => Request::AddLink,
        Op::DeleteLink => Request::DeleteLink,
        Op::CountLink => Request::CountLink,
        Op::MultigetLink => Request::MultigetLink,
        Op::GetLinksList => Request::GetLinksList,
        Op::GetNode => Request::GetNode,
        op => unreachable!("{} is no request of a graph", op.name()),
    }
}

/// The bytes of a request besides its data, as the size of a graph counts them.
fn key_bytes(request: Request) -> u64 {
    match request {
        Request::AddLink => Graph::LINK_BYTES,
        Request::AddNode | Request::UpdateNode => Graph::NODE_BYTES,
        // The ids and the type of a link.
        Request::DeleteLink => 24,
        _ => 8,
    }
}
