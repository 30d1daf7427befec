//! What a run is: its suite, its program, and how much of its plan was done.

use super::evidence::Evidence;
use kvdyno_record::column::ColumnName;
use kvdyno_record::left_out::LeftOut;
use schemars::JsonSchema;
use serde::Serialize;

/// The run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RunInfo {
    /// The name of its directory.
    pub id: String,
    /// The suite.
    pub suite: String,
    /// The user's name for it; null: none.
    pub name: Option<String>,
    /// The user's note; null: none.
    pub note: Option<String>,
    /// One line about the suite.
    pub title: String,
    /// Version of the program that ran it.
    pub program: String,
    /// The record's format.
    pub format: String,
    /// The command line.
    pub command: Vec<String>,
    /// When it began.
    pub started_unix_ns: u64,
    /// When it ended; null: it has not.
    pub ended_unix_ns: Option<u64>,
    /// How long it was at work; null: it has not ended.
    pub took_ns: Option<u64>,
    /// The data directory.
    pub data_dir: String,
    /// Decisions that follow from the host, in words.
    pub sized: Vec<String>,
    /// Expected problems, reported before the run, in words.
    pub warnings: Vec<String>,
    /// What the suite contains but was not run, because the machine lacked what it needs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
    /// Additional columns that the suite lists.
    pub columns: Vec<ColumnName>,
    /// Whether everything planned was done.
    pub complete: bool,
    /// Cases in the plan.
    pub cases_planned: usize,
    /// Cases that left a record.
    pub cases_recorded: usize,
    /// Cases that ran to their end, every check passed.
    pub cases_done: usize,
}

impl RunInfo {
    pub(super) fn from_evidence(evidence: &Evidence) -> Self {
        let (run, plan) = (&evidence.run, &evidence.plan);
        Self {
            id: run.id.clone(),
            suite: run.suite.clone(),
            name: run.name.clone(),
            note: run.note.clone(),
            title: plan.title.clone(),
            program: run.program.clone(),
            format: run.format.clone(),
            command: run.command.clone(),
            started_unix_ns: run.started_unix_ns,
            ended_unix_ns: run.ended_unix_ns,
            took_ns: run.took_ns(),
            data_dir: run.data_dir.clone(),
            sized: plan.sized.clone(),
            warnings: plan.warnings.clone(),
            left_out: plan.left_out.clone(),
            columns: plan.columns.clone(),
            complete: evidence.complete,
            cases_planned: evidence.cases.len(),
            cases_recorded: evidence.recorded_cases().count(),
            cases_done: evidence.cases.iter().filter(|case| case.is_done()).count(),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::Fixture;

    #[test]
    fn pauses_are_no_work() {
        let mut fixture = Fixture::new();
        let [began, second] = [fixture.run.started_unix_ns, 1_000_000_000];
        let took_s = |fixture: &Fixture| {
            fixture.summary().figures.run.took_ns.map(|took_ns| took_ns / second)
        };
        assert_eq!(took_s(&fixture), Some(372));
        fixture.run.stopped_unix_ns = [10, 110].map(|at| began + at * second).into();
        fixture.run.resumed_unix_ns = [100, 120].map(|at| began + at * second).into();
        assert_eq!(took_s(&fixture), Some(272));
        fixture.run.ended_unix_ns = None;
        assert_eq!(took_s(&fixture), None);
    }
}
