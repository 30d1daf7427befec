//! The data of a case as its engine sees it.

use crate::plan::growth::{inserts_max, inserts_of_a_fast_engine};
use crate::plan::sizing::SizedData;
use crate::plan::workload;
use crate::written::linkbench::NODE_BYTES_MAX;
use kvdyno_record::engine::{DataShape, Requests};
use kvdyno_record::graph::Graph;
use kvdyno_record::replay::{OfDrive, Replay, replays};
use kvdyno_record::workload::{Data, Mix, Phase};

/// Upper bound of keys that one request of a graph adds to an ordered store.
const KEYS_OF_A_REQUEST: u64 = 3;

/// Returns the shape of the data of a case with these phases.
pub(crate) fn data_shape(sized: &SizedData, phases: &[Phase]) -> DataShape {
    let data = &sized.data;
    if let Some(graph) = &data.graph {
        return graph_shape(graph, sized, phases);
    }
    DataShape {
        records: data.records,
        records_max: records_max(phases, sized),
        key_bytes: data.key.bytes,
        value_bytes_mean: sized.value_bytes_mean(),
        value_bytes_max: replays(phases)
            .filter(|replay| replay.drive.is_none())
            .map(|replay| replay.value_bytes_max)
            .fold(data.value.size.max(), u64::max),
        sessions: workload::sessions(phases),
        depth: kvdyno_record::workload::depth(phases),
        requests: requests(data, phases),
    }
}

/// Returns an upper bound of records, inserts included: a bound for address space, not for drives.
pub(crate) fn records_max(phases: &[Phase], sized: &SizedData) -> u64 {
    records_with(phases, sized, inserts_max(phases, sized.record_bytes))
}

/// Returns the records on a drive, including those that a fast engine inserts.
pub(crate) fn records_stored(phases: &[Phase], sized: &SizedData) -> u64 {
    records_with(phases, sized, inserts_of_a_fast_engine(phases, sized.record_bytes))
}

fn records_with(phases: &[Phase], sized: &SizedData, inserts: u64) -> u64 {
    let inserted = sized.data.records.saturating_add(inserts);
    let with_keys = replays(phases).filter(|replay| replay.drive.is_none());
    with_keys.map(|replay| replay.keys).fold(inserted, u64::max)
}

/// Returns the shape of a graph in an ordered store: its keys.
fn graph_shape(graph: &Graph, sized: &SizedData, phases: &[Phase]) -> DataShape {
    let keys = graph.keys();
    let added = inserts_max(phases, sized.record_bytes).saturating_mul(KEYS_OF_A_REQUEST);
    DataShape {
        records: keys,
        records_max: keys.saturating_add(added),
        key_bytes: Graph::KEY_BYTES,
        value_bytes_mean: graph.value_bytes_mean(),
        value_bytes_max: NODE_BYTES_MAX + Graph::NODE_BYTES,
        // A separate thread loads the nodes.
        sessions: workload::sessions(phases).saturating_add(1),
        depth: 1,
        requests: None,
    }
}

/// Returns the bounds of requests to a drive, by offset and length; none: no trace of a drive.
fn requests(data: &Data, phases: &[Phase]) -> Option<Requests> {
    let of_drives = replays(phases).filter_map(|replay| Some((replay, replay.drive?)));
    let bounds = |(replay, drive): (&Replay, OfDrive)| {
        // Folded offsets end with the records.
        let bytes = data.records.saturating_mul(data.value.size.max());
        let end = if drive.fold { 1 << bytes.trailing_zeros().min(63) } else { u64::MAX };
        (replay.value_bytes_max, drive.multiple_of.min(end))
    };
    let all = of_drives.map(bounds).reduce(|a, b| (a.0.max(b.0), a.1.min(b.1)));
    let mixes = phases.iter().filter_map(Phase::mix);
    let writes = mixes.flat_map(Mix::entries).any(|entry| entry.op.writes());
    all.map(|(longest, multiple_of)| Requests { bytes_max: longest, multiple_of, writes })
}
