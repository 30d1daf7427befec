//! The recorded phases of a case, and their trace files.

use super::environment::CaseEnvironment;
use kvdyno_record::plan::Case;
use kvdyno_record::protocol::Recording;
use kvdyno_record::workload::Activity;
use std::path::{Path, PathBuf};

/// The measured phases of a case, with the trace of each: `file`, or, for several phases, `file`
/// with the phase's name added.
pub(crate) fn files(file: &Path, case: &Case) -> Vec<(u32, PathBuf)> {
    let measured = (0u32..).zip(&case.phases);
    let measured: Vec<_> =
        measured.filter(|(_, phase)| matches!(phase.work, Activity::Measure(_))).collect();
    if let [(index, _)] = measured[..] {
        return vec![(index, file.to_owned())];
    }
    let trace = |phase: &str| {
        let mut name = file.file_stem().unwrap_or_default().to_owned();
        name.push(".");
        name.push(phase.replace('/', "_"));
        if let Some(extension) = file.extension() {
            name.push(".");
            name.push(extension);
        }
        file.with_file_name(name)
    };
    measured.into_iter().map(|(index, phase)| (index, trace(&phase.name))).collect()
}

/// The worker's settings for the recorded phases.
pub(super) fn list_recordings(environment: &CaseEnvironment<'_>) -> Vec<Recording> {
    let Some((file, suite)) = &environment.run.trace else { return Vec::new() };
    let case = environment.case;
    let recording = |(phase, file)| {
        let (suite, engine) = (suite.clone(), case.label.clone());
        Recording { phase, file, suite, engine }
    };
    files(file, case).into_iter().map(recording).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use kvdyno_analysis::fixture::Fixture;

    #[test]
    fn of_several_phases_each_trace_has_its_phases_name() {
        let mut case = Fixture::new().case("lmdb_t1_r1").record.case.clone();
        let measured = case.phases.iter().position(|phase| phase.name == "measure").unwrap();
        let list = |case: &Case, file: &str| files(Path::new(file), case);
        assert_eq!(list(&case, "/a/t.kvtrace"), [(measured as u32, "/a/t.kvtrace".into())]);
        let mut again = case.phases[measured].clone();
        again.name = "reads/late".to_owned();
        case.phases.push(again);
        let last = case.phases.len() as u32 - 1;
        let both = |a: &str, b: &str| [(measured as u32, a.into()), (last, b.into())];
        let traces = list(&case, "/a/t.kvtrace");
        assert_eq!(traces, both("/a/t.measure.kvtrace", "/a/t.reads_late.kvtrace"));
        assert_eq!(list(&case, "/a/t"), both("/a/t.measure", "/a/t.reads_late"));
    }
}
