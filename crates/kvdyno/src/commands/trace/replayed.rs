//! What a suite is told of a trace that it replays.

use kvdyno_suite::Trace;
use kvdyno_trace::{FirstReads, Header, Kind, Times, TraceError, TraceReader};
use std::path::Path;

/// What is in the trace that a suite calls `named`: beside the suite's own file, where it is not
/// told from the root. How many keys are read first takes a pass over all of it.
pub(crate) fn look_at(suite: &Path, named: &str, first_reads: bool) -> Result<Trace, String> {
    let file = suite.parent().unwrap_or(Path::new("")).join(named);
    let file = std::path::absolute(&file).unwrap_or(file);
    let say = |error: TraceError| error.to_string();
    let reader = TraceReader::open(&file).map_err(say)?;
    let header: Header = reader.header().clone();
    let digest = reader.digest().map_err(say)?;
    let first_reads = first_reads.then(|| TraceReader::open(&file).and_then(FirstReads::count));
    let first_reads = first_reads.transpose().map_err(say)?;
    let requests = header.ops.iter().map(|(op, count)| (op.name().to_owned(), *count)).collect();
    Ok(Trace {
        file,
        digest,
        requests,
        keys: header.keys,
        records: header.source.recorded().map(|recorded| recorded.records),
        value_bytes_max: header.value_bytes_max,
        first_reads,
        span_ns: (header.times != Times::None).then_some(header.span_ns),
        multiple_of: (header.kind == Kind::Blocks).then(|| header.multiple_of.max(1)),
    })
}
