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
    let measured: Vec<_> = measured
        .filter(|(_, phase)| matches!(phase.work, Activity::Measure(_)))
        .collect();
    if let [(index, _)] = measured[..] {
        return vec![(index, to.to_owned())];
    }
    let file = |phase: &str| {
        let mut file = to.file_stem().unwrap_or_default().to_owned();
        file.push(".");
        file.push(phase);
        if let Some(extension) = to.extension() {
            file.push(".");
            file.push(extension);
        }
        to.with_file_name(file)
    };
    measured.into_iter().map(|(index, phase)| (index, file(&phase.name))).collect()
}

/// What its worker is told.
pub(super) fn of(environment: &CaseEnvironment<'_>) -> Vec<Recording> {
    let Some((to, suite)) = &environment.run.trace else { return Vec::new() };
    let case = environment.case;
    let recording = |(phase, file)| {
        let (suite, engine) = (suite.clone(), case.label.clone());
        Recording { phase, file, suite, engine }
    };
    files(to, case).into_iter().map(recording).collect()
}
