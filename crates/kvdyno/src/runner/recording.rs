//! Which phases of a case are recorded, and the trace that each becomes.

use super::environment::CaseEnvironment;
use kvdyno_record::plan::Case;
use kvdyno_record::protocol::Recording;
use kvdyno_record::workload::Activity;
use std::path::{Path, PathBuf};

/// The measured phases of a case, with the trace of each: `to`, or, of several, `to` with the
/// phase's name in it.
pub(crate) fn files(to: &Path, case: &Case) -> Vec<(u32, PathBuf)> {
    let measured = (0u32..).zip(&case.phases);
    let measured: Vec<_> =
        measured.filter(|(_, phase)| matches!(phase.work, Activity::Measure(_))).collect();
    if let [(index, _)] = measured[..] {
        return vec![(index, to.to_owned())];
    }
    let file = |phase: &str| {
        let mut file = to.file_stem().unwrap_or_default().to_owned();
        file.push(".");
        file.push(phase.replace('/', "_"));
        if let Some(extension) = to.extension() {
            file.push(".");
            file.push(extension);
        }
        to.with_file_name(file)
    };
    measured.into_iter().map(|(index, phase)| (index, file(&phase.name))).collect()
}

/// What its worker is told.
pub(super) fn list_recordings(environment: &CaseEnvironment<'_>) -> Vec<Recording> {
    let Some((to, suite)) = &environment.run.trace else { return Vec::new() };
    let case = environment.case;
    let recording = |(phase, file)| {
        let (suite, engine) = (suite.clone(), case.label.clone());
        Recording { phase, file, suite, engine }
    };
    files(to, case).into_iter().map(recording).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use kvdyno_analysis::fixture::Fixture;

    #[test]
    fn of_several_phases_each_trace_has_its_phases_name() {
        let mut case = Fixture::new().case("lmdb_t1_r1").record.case.clone();
        let measured = case.phases.iter().position(|phase| phase.name == "measure").unwrap();
        let named = |case: &Case, to: &str| files(Path::new(to), case);
        assert_eq!(named(&case, "/a/t.kvtrace"), [(measured as u32, "/a/t.kvtrace".into())]);
        let mut again = case.phases[measured].clone();
        again.name = "reads/late".to_owned();
        case.phases.push(again);
        let last = case.phases.len() as u32 - 1;
        let both = |a: &str, b: &str| [(measured as u32, a.into()), (last, b.into())];
        let found = named(&case, "/a/t.kvtrace");
        assert_eq!(found, both("/a/t.measure.kvtrace", "/a/t.reads_late.kvtrace"));
        assert_eq!(named(&case, "/a/t"), both("/a/t.measure", "/a/t.reads_late"));
    }
}
