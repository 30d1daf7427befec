//! The traces of suites and plans: their properties for a suite, and their paths for a plan. A
//! repeated run may have them elsewhere; the checksum identifies the planned one.

use crate::exit::Complaint;
use kvdyno_record::plan::Plan;
use kvdyno_record::replay::{Replay, replays_mut};
use kvdyno_suite::Trace;
use kvdyno_trace::{FirstReads, Header, Kind, Times, TraceError, TraceReader};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Reads the properties of a suite's trace. Its path is relative to the suite's own file, unless it
/// is absolute. Counting the keys that are read first takes a pass over all of it.
pub(crate) fn inspect_trace(suite: &Path, path: &str, first_reads: bool) -> Result<Trace, String> {
    let file = suite.parent().unwrap_or(Path::new("")).join(path);
    let file = std::path::absolute(&file).unwrap_or(file);
    let to_text = |error: TraceError| error.to_string();
    let reader = TraceReader::open(&file).map_err(to_text)?;
    let header: Header = reader.header().clone();
    let digest = reader.digest().map_err(to_text)?;
    let first_reads = first_reads.then(|| TraceReader::open(&file).and_then(FirstReads::count));
    let first_reads = first_reads.transpose().map_err(to_text)?;
    let requests = header.ops.iter().map(|(op, count)| (op.name().to_owned(), *count)).collect();
    Ok(Trace {
        file,
        digest,
        requests,
        keys: header.keys,
        records: header.source.as_recorded().map(|recorded| recorded.records),
        value_bytes_max: header.value_bytes_max,
        ttl_ns: header.ttl.map(|ttl| ttl.shortest_ns..=ttl.longest_ns),
        first_reads,
        span_ns: (header.times != Times::None).then_some(header.span_ns),
        multiple_of: (header.kind == Kind::Blocks).then(|| header.multiple_of.max(1)),
    })
}

/// Refuses a plan if a trace is missing, or has changed.
pub(crate) fn check(plan: &Plan) -> Result<(), Complaint> {
    locate(&mut plan.clone(), &[], None)
}

/// Sets the paths of a plan's traces: one of `user_files` by its checksum, one of the same name in
/// `dir`, or the planned path.
pub(crate) fn locate(
    plan: &mut Plan,
    user_files: &[PathBuf],
    dir: Option<&Path>,
) -> Result<(), Complaint> {
    let mut digests = BTreeMap::new();
    for file in user_files {
        let digest = digest(file).map_err(|why| Complaint::usage(format!("--trace: {why}")))?;
        digests.insert(digest, file);
    }
    let mut files: BTreeMap<String, PathBuf> = BTreeMap::new();
    for replay in plan.cases.iter_mut().flat_map(|case| &mut case.phases).flat_map(replays_mut) {
        let file = match files.get(&replay.digest) {
            Some(file) => file.clone(),
            None => find_trace(replay, digests.get(&replay.digest).copied(), dir)?,
        };
        replay.file = std::path::absolute(&file).unwrap_or(file);
        files.insert(replay.digest.clone(), replay.file.clone());
    }
    Ok(())
}

fn find_trace(
    replay: &Replay,
    user_file: Option<&PathBuf>,
    dir: Option<&Path>,
) -> Result<PathBuf, Complaint> {
    if let Some(file) = user_file {
        return Ok(file.clone());
    }
    let dir = dir.zip(replay.file.file_name()).map(|(dir, name)| dir.join(name));
    let mut reasons = Vec::new();
    for file in dir.into_iter().chain([replay.file.clone()]) {
        match digest(&file) {
            Ok(digest) if digest == replay.digest => return Ok(file),
            Ok(digest) => reasons.push(format!("{} has {digest}", file.display())),
            Err(why) => reasons.push(why),
        }
    }
    let what =
        format!("cannot find the trace with checksum {}: {}", replay.digest, reasons.join("; "));
    Err(Complaint::usage(what)
        .hint("name it with `kvdyno rerun --trace FILE`; `kvdyno trace show` shows the checksum"))
}

/// The checksum of a trace's requests. A stranger's plan may name anything: only regular files are
/// opened.
fn digest(file: &Path) -> Result<String, String> {
    if !file.metadata().map_err(|error| format!("{}: {error}", file.display()))?.is_file() {
        return Err(format!("{} is not a file", file.display()));
    }
    TraceReader::open(file).and_then(TraceReader::digest).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use kvdyno_analysis::fixture::Fixture;
    use kvdyno_record::workload::Activity;
    use kvdyno_trace::{Format, Op, Request, TraceWriter};

    fn write(file: &Path, key: u64) -> String {
        let header = Header::new(Kind::Keys, Format::Twitter, "t", Times::Exact);
        let mut writer = TraceWriter::create(file, header).unwrap();
        let (at_ns, joined, key_bytes, value_bytes, client, ttl_ns) = (0, false, 8, 0, 0, 0);
        let op = Op::Get;
        let request = Request { at_ns, op, joined, key, key_bytes, value_bytes, client, ttl_ns };
        writer.write(request).unwrap();
        writer.finish().unwrap();
        digest(file).unwrap()
    }

    #[test]
    fn a_trace_is_known_by_its_checksum_wherever_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        let (mut plan, gone) = (Fixture::new().plan, path("gone/t.kvtrace"));
        for phase in plan.cases.iter_mut().flat_map(|case| &mut case.phases) {
            let Activity::Measure(mix) = &mut phase.work else { continue };
            mix.roles[0].replay = Some(Replay {
                file: gone.clone(),
                digest: write(&path("elsewhere"), 7),
                requests: 1,
                keys: 8,
                value_bytes_max: 0,
                drive: None,
                recorded_ttl: false,
                speed: None,
            });
        }
        let located = |user_files: &[PathBuf], dir: Option<&Path>| {
            let mut plan = plan.clone();
            locate(&mut plan, user_files, dir).map_err(|complaint| complaint.to_string())?;
            let phases = plan.cases.iter_mut().flat_map(|case| &mut case.phases);
            let files: Vec<_> = phases.flat_map(replays_mut).map(|r| r.file.clone()).collect();
            assert!(!files.is_empty() && files.iter().all(|file| *file == files[0]));
            Ok::<_, String>(files[0].clone())
        };
        let message = located(&[], Some(dir.path())).unwrap_err();
        assert!(message.contains("gone/t.kvtrace"), "{message}");
        assert_eq!(located(&[path("elsewhere")], None), Ok(path("elsewhere")));
        let other = write(&path("t.kvtrace"), 8);
        let message = located(&[], Some(dir.path())).unwrap_err();
        assert!(message.contains(&other), "{message}");
        write(&path("t.kvtrace"), 7);
        assert_eq!(located(&[], Some(dir.path())), Ok(path("t.kvtrace")));
        located(&[dir.path().into()], None).unwrap_err();
        check(&plan).unwrap_err();
        std::fs::create_dir(path("gone")).unwrap();
        write(&gone, 7);
        check(&plan).unwrap();
    }
}
