//! What a suite is told of a trace that it replays.

use kvdyno_suite::Trace;
use kvdyno_trace::{Header, Kind, Times, TraceError, TraceReader};
use std::path::Path;

/// What is in the trace that a suite calls `named`: beside the suite's own file, where it is not
/// told from the root.
pub(crate) fn look_at(suite: &Path, named: &str) -> Result<Trace, String> {
    let file = suite.parent().unwrap_or(Path::new("")).join(named);
    let file = std::path::absolute(&file).unwrap_or(file);
    let say = |error: TraceError| error.to_string();
    let reader = TraceReader::open(&file).map_err(say)?;
    let header: Header = reader.header().clone();
    let digest = reader.digest().map_err(say)?;
    let requests = header.ops.iter().map(|(op, count)| (op.name().to_owned(), *count)).collect();
    Ok(Trace {
        file,
        digest,
        requests,
        keys: header.keys,
        records: header.source.recorded().map(|recorded| recorded.records),
        value_bytes_max: header.value_bytes_max,
        span_ns: (header.times != Times::None).then_some(header.span_ns),
        of_drive: header.kind == Kind::Blocks,
    })
}
