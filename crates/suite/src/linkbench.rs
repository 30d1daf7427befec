//! Data as a social graph: `linkbench = { ... }` of `[data]`, and its consequences.

use super::check::measures;
use super::engine::Engine;
use super::fidelity::Fidelity;
use super::growth::inserts_max;
use super::mistake::Mistakes;
use super::phase::{Entry, Phase, Role};
use super::read::{At, Or as _, Word, table};
use super::sizing::SizedData;
use super::source::Span;
use super::typed::{Data, Typed};
use super::workload::sessions;
use kvdyno_record::engine::graph::Isolation;
use kvdyno_record::engine::{BatchKind, DataShape, Description, Options, Transactions};
use kvdyno_record::graph::{Access, Consistency, Degrees, Graph, Split};
use kvdyno_record::workload::{self, Op, Size};
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
/// Requests that write need `database = "fresh"` or `"copy"`. kvdyno has no deletes that expunge,
/// no random ids (`randomid2max`), and no changes of mdcallag's fork without `never_change`.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct LinkBench {
    /// The requests and sizes. Default: 2011.
    pub(super) mix: Option<At<Year>>,
    /// The description or the program. `as-run` has four deviations of the original program. Links
    /// are rounded up (44.46 M for 10 M ids, not 41.72), and writes are drawn as reads. Multigets
    /// have at least 2 links, and 512 bytes of data repeat. Default: as-written.
    pub(super) fidelity: Option<At<Fidelity>>,
    /// The consistency of a link and its count. Default: transaction.
    pub(super) consistency: Option<At<Consistency>>,
}

/// The requests and sizes of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(rename = "GraphMix")]
pub(super) enum Year {
    /// Facebook's of 2011: half of the requests list links.
    #[schemars(rename = "2011")]
    Y2011,
    /// mdcallag's fork of 2020 with `never_change = true`: most requests read nodes, and nodes are
    /// larger.
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

/// The requests, in percent: of 2011, and of 2020.
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
const NODE_BYTES_MAX: u64 = (1 << 20) - 1;

/// Upper bound of keys that one request adds to an ordered store.
const KEYS_OF_A_REQUEST: u64 = 3;

impl LinkBench {
    fn year(&self) -> Year {
        self.mix.value_or(Year::Y2011)
    }

    /// The properties of a graph with this many ids.
    pub(super) fn graph(&self, ids: u64) -> Graph {
        let as_run = self.fidelity.value_or(Fidelity::AsWritten) == Fidelity::AsRun;
        let (degrees, link, node) = match self.year() {
            Year::Y2011 => (Degrees::Of2011, 8, 128),
            Year::Y2020 => (Degrees::Of2020, 23, 168),
        };
        let split = if as_run { Split::Rounded } else { Split::Even };
        let lognormal = |median, max| Size::Lognormal { median, sigma: 1.0, max };
        let link_reads = Access { theta: 0.8, uncorrelated: 0.995, uncorrelated_theta: 0.8 };
        // The original program looks up the writes' settings under the names of the reads'.
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

/// Roles without a mix get the published requests.
pub(super) fn fill(data: &At<Data>, phases: &mut [At<Phase>]) {
    let Some(linkbench) = &data.linkbench else { return };
    let year = linkbench.year();
    let entry = |role: &At<Role>, (op, weight_2011, weight_2020): (Op, f64, f64)| {
        let weight = if year == Year::Y2011 { weight_2011 } else { weight_2020 };
        role.with(Entry { op, weight: Some(role.with(weight)), keys: None })
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

/// Refuses requests outside of a graph, and other operations on a graph.
pub(super) fn check(typed: &Typed, mistakes: &mut Mistakes) {
    let entries = || {
        let roles = measures(typed).flat_map(|(_, measure)| measure.role.iter());
        roles.flat_map(|role| role.entries())
    };
    if typed.data.linkbench.is_none() {
        for entry in entries().filter(|entry| entry.op.is_of_graph()) {
            let message = format!("{} is a request of a graph", entry.op.name());
            let mistake = mistakes.at(&entry.span, message);
            mistake.label("expected `linkbench = {}` in [data] with it");
        }
        return;
    }
    for entry in entries().filter(|entry| !entry.op.is_of_graph()) {
        let message = format!("a graph does not support {}", entry.op.name());
        let mistake = mistakes.at(&entry.span, message);
        mistake.label("expected requests such as get_node, or no `mix` for the published requests");
    }
    for span in conflicting_keys(typed) {
        let mistake = mistakes.at(&span, "`linkbench` already determines this");
        mistake.label("expected no value here next to `linkbench`");
    }
    let least = Graph::IDS_MIN;
    let records = typed.data.records.iter().flat_map(|list| &list.0);
    for few in records.filter(|records| records.0 < least) {
        let message = format!("a graph of {} ids is too small", few.0);
        mistakes.at(&few.span, message).label(format!("expected at least {least}"));
    }
}

/// Keys of the suite that a graph already determines.
fn conflicting_keys(typed: &Typed) -> Vec<Span> {
    fn span<T>(value: Option<&At<T>>) -> Option<Span> {
        value.map(|at| at.span.clone())
    }
    let data = &typed.data;
    let mut spans = vec![
        span(data.size.as_ref()),
        span(data.key_bytes.as_ref()),
        span(data.key_format.as_ref()),
        span(data.key_order.as_ref()),
        span(data.value_bytes.as_ref()),
        span(data.compress_to.as_ref()),
        span(data.verify.as_ref()),
    ];
    for phase in &typed.phase {
        match &phase.value {
            Phase::Load(load) => {
                spans.extend([span(load.order.as_ref()), span(load.batch.as_ref())]);
            }
            Phase::Verify(verify) => {
                spans.extend([span(verify.samples.as_ref()), span(verify.count.as_ref())]);
            }
            Phase::Measure(measure) => {
                for role in measure.role.iter() {
                    spans.extend([span(role.keys.as_ref()), span(role.expected_hits.as_ref())]);
                    spans.extend(role.entries().iter().map(|entry| span(entry.keys.as_ref())));
                }
            }
            _ => {}
        }
    }
    spans.into_iter().flatten().collect()
}

/// Records what an engine with these options lacks for a graph.
pub(super) fn check_engine(
    typed: &Typed,
    engine: &Engine,
    description: &Description,
    options: &Options,
    mistakes: &mut Mistakes,
) {
    let Some(linkbench) = &typed.data.linkbench else { return };
    if let Some(pack) = &engine.pack {
        let mistake = mistakes.at(&pack.span, "`pack` does not support graphs");
        mistake.label("expected no `pack` next to `linkbench`");
    }
    let (abilities, name) = (&description.capabilities, &description.name);
    let consistency = linkbench.consistency.value_or(Consistency::Transaction);
    if abilities.graph.contains(&consistency.isolation()) {
        return;
    }
    let alone = abilities.batch != BatchKind::Atomic;
    let short = |most: Option<u64>, needed: u64| most.is_some_and(|most| most < needed);
    let missing = match abilities {
        _ if consistency == Consistency::TwoPhase => "two-phase consistency",
        _ if !abilities.scan_forward => "scan, needed for lists of links",
        _ if !abilities.delete => "delete, needed for links",
        _ if abilities.numbered_keys_only => "arbitrary keys, needed for a graph",
        _ if short(abilities.key_bytes_max, Graph::KEY_BYTES.into()) => "keys of 33 bytes",
        _ if short(abilities.value_bytes_max, NODE_BYTES_MAX + Graph::NODE_BYTES) => {
            "values of 1 MiB, needed for nodes"
        }
        _ if alone && description.transactions(options) == Transactions::None => {
            "atomic batches or transactions with these options, needed for a link and its count"
        }
        _ => return,
    };
    let instead = if abilities.graph.contains(&Isolation::TwoPhase) {
        format!("use `consistency = \"two_phase\"`, which {name} supports")
    } else {
        format!("leave {name} out with --engine, or remove the requirement")
    };
    mistakes.at(&linkbench.span, format!("{name} has no {missing}")).help(instead);
}

/// The data for an engine: the keys of an ordered store.
pub(super) fn shape(graph: &Graph, sized: &SizedData, phases: &[workload::Phase]) -> DataShape {
    let keys = graph.keys();
    let added = inserts_max(phases, sized.record_bytes).saturating_mul(KEYS_OF_A_REQUEST);
    DataShape {
        records: keys,
        records_max: keys.saturating_add(added),
        key_bytes: Graph::KEY_BYTES,
        value_bytes_mean: graph.value_bytes_mean(),
        value_bytes_max: NODE_BYTES_MAX + Graph::NODE_BYTES,
        // A separate thread loads the nodes.
        sessions: sessions(phases).saturating_add(1),
        depth: 1,
        requests: None,
    }
}
