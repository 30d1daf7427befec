//! The traces that suites and plans name: what a suite is told of one, and where those of a plan
//! are: as it says, or, of a run that is repeated elsewhere, where they are found. What is taken is
//! what was planned with, by its checksum.

use crate::exit::Complaint;
use kvdyno_record::plan::Plan;
use kvdyno_record::replay::{Replay, replays_mut};
use kvdyno_suite::Trace;
use kvdyno_trace::{FirstReads, Header, Kind, Times, TraceError, TraceReader};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

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

/// Refuses a plan of which a trace is not where it says, or is another one by now.
pub(crate) fn check(plan: &Plan) -> Result<(), Complaint> {
    locate(&mut plan.clone(), &[], None)
}

/// Gives a plan the traces that are here: one of those `given`, one of its name in the folder
/// `beside`, or where the plan says.
pub(crate) fn locate(
    plan: &mut Plan,
    given: &[PathBuf],
    beside: Option<&Path>,
) -> Result<(), Complaint> {
    let mut digests = BTreeMap::new();
    for file in given {
        let digest = digest(file).map_err(|why| Complaint::usage(format!("--trace: {why}")))?;
        digests.insert(digest, file);
    }
    let mut found: BTreeMap<String, PathBuf> = BTreeMap::new();
    for replay in plan.cases.iter_mut().flat_map(|case| &mut case.phases).flat_map(replays_mut) {
        let file = match found.get(&replay.digest) {
            Some(file) => file.clone(),
            None => one(replay, digests.get(&replay.digest).copied(), beside)?,
        };
        replay.file = std::path::absolute(&file).unwrap_or(file);
        found.insert(replay.digest.clone(), replay.file.clone());
    }
    Ok(())
}

fn one(
    replay: &Replay,
    given: Option<&PathBuf>,
    beside: Option<&Path>,
) -> Result<PathBuf, Complaint> {
    if let Some(file) = given {
        return Ok(file.clone());
    }
    let beside = beside.zip(replay.file.file_name()).map(|(folder, name)| folder.join(name));
    let mut looked = Vec::new();
    for file in beside.into_iter().chain([replay.file.clone()]) {
        match digest(&file) {
            Ok(found) if found == replay.digest => return Ok(file),
            Ok(found) => looked.push(format!("{} has {found}", file.display())),
            Err(why) => looked.push(why),
        }
    }
    let what =
        format!("the trace with checksum {} is not here: {}", replay.digest, looked.join("; "));
    Err(Complaint::usage(what).hint(
        "`kvdyno rerun --trace FILE` says where it is; `kvdyno trace show` tells the checksum",
    ))
}

/// The checksum of a trace's requests. What a stranger's plan names may be anything: nothing but a
/// file is opened.
fn digest(file: &Path) -> Result<String, String> {
    if !file.metadata().map_err(|error| format!("{}: {error}", file.display()))?.is_file() {
        return Err(format!("{} is no file", file.display()));
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
        let (at_ns, joined, key_bytes, value_bytes, client) = (0, false, 8, 0, 0);
        let request = Request { at_ns, op: Op::Get, joined, key, key_bytes, value_bytes, client };
        writer.write(request).unwrap();
        writer.finish().unwrap();
        digest(file).unwrap()
    }

    #[test]
    fn a_trace_is_known_by_its_checksum_wherever_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let (mut plan, gone) = (Fixture::new().plan, at("gone/t.kvtrace"));
        for phase in plan.cases.iter_mut().flat_map(|case| &mut case.phases) {
            let Activity::Measure(mix) = &mut phase.work else { continue };
            mix.roles[0].replay = Some(Replay {
                file: gone.clone(),
                digest: write(&at("elsewhere"), 7),
                requests: 1,
                keys: 8,
                value_bytes_max: 0,
                drive: None,
                speed: None,
            });
        }
        let located = |given: &[PathBuf], beside: Option<&Path>| {
            let mut plan = plan.clone();
            locate(&mut plan, given, beside).map_err(|complaint| complaint.to_string())?;
            let phases = plan.cases.iter_mut().flat_map(|case| &mut case.phases);
            let files: Vec<_> = phases.flat_map(replays_mut).map(|r| r.file.clone()).collect();
            assert!(!files.is_empty() && files.iter().all(|file| *file == files[0]));
            Ok::<_, String>(files[0].clone())
        };
        let told = located(&[], Some(folder.path())).unwrap_err();
        assert!(told.contains("is not here") && told.contains("gone/t.kvtrace: No such"), "{told}");
        assert_eq!(located(&[at("elsewhere")], None), Ok(at("elsewhere")));
        let other = write(&at("t.kvtrace"), 8);
        let told = located(&[], Some(folder.path())).unwrap_err();
        assert!(told.contains(&format!("t.kvtrace has {other}")), "{told}");
        write(&at("t.kvtrace"), 7);
        assert_eq!(located(&[], Some(folder.path())), Ok(at("t.kvtrace")));
        let told = located(&[folder.path().into()], None).unwrap_err();
        assert!(told.contains("is no file"), "{told}");
        check(&plan).unwrap_err();
        std::fs::create_dir(at("gone")).unwrap();
        write(&gone, 7);
        check(&plan).unwrap();
    }
}
