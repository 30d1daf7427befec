//! The ids that requests are for, and the number of links of an id, as `LinkBench` draws them.

use crate::chooser::linkbench::Shuffler;
use crate::rng::Rng;
use crate::zipf::{GrayZipf, linkbench_zeta};
use kvdyno_record::graph::{Access, Graph, Split, Table};

/// The seed of the order by number of links, and of the requests that follow that order.
const BY_LINKS: u64 = 20_343_988_438_726_021;
/// The seed for requests of links in an order that is independent of the number of links.
const UNCORRELATED: u64 = 53_238_253_823_453;
/// The seed for requests of nodes.
const OF_NODES: u64 = 4_766_565_305_853_767_165;

/// The first id.
pub(super) const FIRST: u64 = 1;

/// The first type of links; the others follow.
pub(super) const FIRST_KIND: u64 = 123_456_789;

/// The number of links of each id.
#[derive(Clone, Debug)]
pub(super) struct Links {
    table: &'static Table,
    order: Shuffler,
    ids: u64,
    split: Split,
}

impl Links {
    pub(super) fn new(graph: &Graph) -> Self {
        let ids = graph.totals.ids;
        let order = Shuffler::new(BY_LINKS, ids);
        Self { table: graph.degrees.table(), order, ids, split: graph.split }
    }

    /// The number of links of type `kind` that are loaded from `id`.
    #[inline]
    pub(super) fn count(&self, id: u64, kind: u64) -> u64 {
        let all = self.table.links(self.order.rank_at(id - FIRST), self.ids);
        self.split.links_for_type(all, kind - FIRST_KIND)
    }
}

/// Draws ids.
#[derive(Clone, Debug)]
pub(super) struct Ids {
    count: u64,
    link_reads: Blend,
    link_writes: Blend,
    node_reads: Ranked,
    node_updates: Ranked,
}

#[derive(Clone, Debug)]
struct Ranked {
    zipf: GrayZipf,
    order: Shuffler,
}

#[derive(Clone, Debug)]
struct Blend {
    by_links: Ranked,
    uncorrelated: Ranked,
    share: f64,
}

impl Ranked {
    fn new(ids: u64, theta: f64, seed: u64) -> Self {
        let zipf = GrayZipf::with_zeta(ids, theta, linkbench_zeta(ids, theta));
        Self { zipf, order: Shuffler::new(seed, ids) }
    }

    #[inline]
    fn id(&self, rng: &mut Rng) -> u64 {
        FIRST + self.order.position(self.zipf.rank(rng))
    }
}

impl Blend {
    fn new(ids: u64, access: Access) -> Self {
        Self {
            by_links: Ranked::new(ids, access.theta, BY_LINKS),
            uncorrelated: Ranked::new(ids, access.uncorrelated_theta, UNCORRELATED),
            share: access.uncorrelated,
        }
    }

    #[inline]
    fn id(&self, rng: &mut Rng) -> u64 {
        let uncorrelated = rng.unit() < self.share;
        if uncorrelated { self.uncorrelated.id(rng) } else { self.by_links.id(rng) }
    }
}

/// The kind of request that an id is drawn for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IdPurpose {
    LinkRead,
    LinkWrite,
    NodeRead,
    NodeUpdate,
    NodeDelete,
}

impl Ids {
    pub(super) fn new(graph: &Graph) -> Self {
        let ids = graph.totals.ids;
        Self {
            count: ids,
            link_reads: Blend::new(ids, graph.link_reads),
            link_writes: Blend::new(ids, graph.link_writes),
            node_reads: Ranked::new(ids, graph.node_reads_theta, OF_NODES),
            node_updates: Ranked::new(ids, graph.node_updates_theta, OF_NODES),
        }
    }

    #[inline]
    pub(super) fn draw(&self, purpose: IdPurpose, rng: &mut Rng) -> u64 {
        match purpose {
            IdPurpose::LinkRead => self.link_reads.id(rng),
            IdPurpose::LinkWrite => self.link_writes.id(rng),
            IdPurpose::NodeRead => self.node_reads.id(rng),
            IdPurpose::NodeUpdate => self.node_updates.id(rng),
            IdPurpose::NodeDelete => FIRST + rng.below(self.count),
        }
    }
}
