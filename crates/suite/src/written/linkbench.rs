//! Data as a social graph: `linkbench = { ... }` of `[data]`, and its requests.

use crate::written::fidelity::Fidelity;
use crate::written::operation::Entry;
use crate::written::phase::{Phase, Role};
use crate::written::read::{At, Or as _, Word, table};
use crate::written::typed::Data;
use kvdyno_record::graph::{Access, Consistency, Degrees, Graph, Split};
use kvdyno_record::workload::{Op, Size};
use schemars::JsonSchema;

/// A social graph, as in the benchmark `LinkBench` (Armstrong et al., SIGMOD 2013). Each id is a
/// node with its links. The number of ids determines all links.
///
/// The hottest id has 961,963 links for any number of ids (`mix = "2020"`: 4,181,357). In small
/// graphs most links belong to it.
///
/// A role without `mix` makes the ten published requests. The graph chooses nodes and links, so
/// requests have no `keys`. All random choices precede the clock. A request that finds nothing to
/// write still counts its bytes.
///
/// A `verify` phase is the audit. After the load it compares the numbers of nodes, links and counts
/// with the loaded ones. Every count must equal the number of visible links, or the case fails.
///
/// Engines with ordered keys hold nodes, links, an index of visible links, and counts under
/// separate prefixes. A list reads the index alone. `MariaDB` and `PostgreSQL` have the original's
/// tables, and each write is one transaction in one round trip. The engine option `round_trips =
/// "original"` makes as many as the original. `MongoDB` has documents with the names of mdcallag's
/// binding. kvdyno refuses the other servers: they have no scans or no atomic batches.
///
/// The load's `records/s` counts nodes and links. In tables a record is an id with all its links.
/// Requests that write need `database = "fresh"` or `"state"`. kvdyno has no deletes that expunge,
/// no random ids (`randomid2max`), and no changes of mdcallag's fork without `never_change`.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct LinkBench {
    /// The requests and sizes. Default: 2011.
    pub(crate) mix: Option<At<Year>>,
    /// The description or the program. `as-run` has four deviations of the original program. Links
    /// are rounded up (44.46 M for 10 M ids, not 41.72), and writes are drawn as reads. Multigets
    /// have at least 2 links, and 512 bytes of data repeat. Default: as-written.
    pub(crate) fidelity: Option<At<Fidelity>>,
    /// The consistency of a link and its count. Default: transaction.
    pub(crate) consistency: Option<At<Consistency>>,
}

/// The requests and sizes of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(rename = "GraphMix")]
pub(crate) enum Year {
    /// Facebook's mix of 2011: half of the requests list links.
    #[schemars(rename = "2011")]
    Y2011,
    /// The mix of mdcallag's fork of 2020 with `never_change = true`: most requests read nodes, and
    /// nodes are larger.
    #[schemars(rename = "2020")]
    Y2020,
}

impl Word for Year {
    const WHAT: &'static str = "a mix of LinkBench";
    const ALL: &'static [(&'static str, Self)] = &[("2011", Self::Y2011), ("2020", Self::Y2020)];
}

impl Word for Consistency {
    const WHAT: &'static str = "a consistency";
    const ALL: &'static [(&'static str, Self)] =
        &[("transaction", Self::Transaction), ("two_phase", Self::TwoPhase), ("none", Self::None)];
}

table!(LinkBench, "linkbench of [data]": mix fidelity consistency);

/// The requests with their shares in percent: of 2011, and of 2020.
const REQUESTS: [(Op, f64, f64); 10] = [
    (Op::AddLink, 8.988_660_1, 5.350_38),
    (Op::DeleteLink, 2.990_766_4, 0.984_01),
    (Op::UpdateLink, 8.012_212_5, 4.755_89),
    (Op::CountLink, 4.886_356_7, 4.278_98),
    (Op::MultigetLink, 0.526_114_2, 12.147_25),
    (Op::GetLinksList, 50.711_914_5, 22.570_39),
    (Op::AddNode, 2.573_278_9, 2.611_98),
    (Op::UpdateNode, 7.366_437, 3.062_56),
    (Op::DeleteNode, 1.011_591_4, 0.251_66),
    (Op::GetNode, 12.932_668_3, 43.986_9),
];

/// Longest data of a link and of a node, by the limits of the original.
const LINK_BYTES_MAX: u64 = 254;
pub(crate) const NODE_BYTES_MAX: u64 = (1 << 20) - 1;

impl LinkBench {
    fn year(&self) -> Year {
        self.mix.value_or(Year::Y2011)
    }

    /// Returns the properties of a graph with this many ids.
    pub(crate) fn graph(&self, ids: u64) -> Graph {
        let as_run = self.fidelity.value_or(Fidelity::AsWritten) == Fidelity::AsRun;
        let (degrees, link, node) = match self.year() {
            Year::Y2011 => (Degrees::Of2011, 8, 128),
            Year::Y2020 => (Degrees::Of2020, 23, 168),
        };
        let split = if as_run { Split::Rounded } else { Split::Even };
        let lognormal = |median, max| Size::Lognormal { median, sigma: 1.0, max };
        let link_reads = Access { theta: 0.8, uncorrelated: 0.995, uncorrelated_theta: 0.8 };
        // The original program looks up the settings of writes under the names of those of reads.
        let (uncorrelated, uncorrelated_theta) = if as_run { (0.995, 0.8) } else { (0.95, 0.741) };
        let multiget_min = if as_run { 2 } else { 1 };
        Graph {
            degrees,
            split,
            totals: degrees.table().totals(ids, split),
            link_bytes: lognormal(link, LINK_BYTES_MAX),
            node_bytes: lognormal(node, NODE_BYTES_MAX),
            motif_bytes: if as_run { 512 } else { 128 },
            link_reads,
            link_writes: Access { theta: 0.741, uncorrelated, uncorrelated_theta },
            node_reads_theta: 0.625,
            node_updates_theta: 0.606,
            multiget: Size::Geometric { p: 0.382, min: multiget_min, max: 127 },
            list_limit: 10_000,
            history: 0.003,
            consistency: self.consistency.value_or(Consistency::Transaction),
        }
    }
}

/// Gives roles without a mix the published requests.
pub(crate) fn fill(data: &At<Data>, phases: &mut [At<Phase>]) {
    let Some(linkbench) = &data.linkbench else { return };
    let year = linkbench.year();
    let entry = |role: &At<Role>, (op, weight_2011, weight_2020): (Op, f64, f64)| {
        let weight = if year == Year::Y2011 { weight_2011 } else { weight_2020 };
        role.with(Entry { op, weight: Some(role.with(weight)), keys: None, ttl: None })
    };
    for phase in phases {
        let Phase::Measure(measure) = &mut phase.value else { continue };
        for role in &mut measure.role.value {
            if role.mix.is_none() {
                let mix = REQUESTS.map(|request| entry(role, request));
                role.value.mix = Some(role.with(mix.into()));
            }
        }
    }
}
