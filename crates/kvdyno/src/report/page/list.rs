//! What the page of all runs shows.

use super::{Kind, State};
use crate::findings::Severity;
use crate::report::evidence::Evidence;
use crate::report::summary::Summary;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::Path;

/// The runs that are kept.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RunsData {
    /// What it shows.
    pub kind: Kind,
    /// The program that made the page.
    pub program: String,
    /// The folder in which they are.
    pub folder: String,
    /// The newest first.
    pub runs: Vec<RunEntry>,
}

/// A run in the list.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RunEntry {
    /// Its folder's name, by which it is asked for.
    pub name: String,
    /// How it stands.
    pub state: State,
    /// Why it cannot be read; everything below is then empty.
    pub message: Option<String>,
    /// The suite.
    pub suite: String,
    /// One line about the suite.
    pub title: String,
    /// The host's name.
    pub host: String,
    /// When it began; null: not known.
    pub started_unix_ns: Option<u64>,
    /// When it ended; null: it has not.
    pub ended_unix_ns: Option<u64>,
    /// Labels of the engines under test, the harness's left out.
    pub engines: Vec<String>,
    /// Cases in the plan.
    pub cases_planned: usize,
    /// Cases that left a record.
    pub cases_recorded: usize,
    /// Cases that ran to their end, every check passed.
    pub cases_done: usize,
    /// How many findings there are of each weight.
    pub findings: FindingCounts,
}

/// How many findings there are of each weight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FindingCounts {
    /// They void figures.
    pub invalid: usize,
    /// Worth a look.
    pub warning: usize,
    /// What the figures hold for.
    pub info: usize,
}

impl RunsData {
    /// The list of the runs in a folder.
    pub fn of(folder: &Path, runs: Vec<RunEntry>) -> Self {
        let program = crate::cli::VERSION.to_owned();
        Self { kind: Kind::Runs, program, folder: folder.display().to_string(), runs }
    }
}

impl RunEntry {
    /// A run by its record.
    pub fn of(name: &str, evidence: &Evidence, summary: &Summary, state: State) -> Self {
        let run = &summary.run;
        Self {
            name: name.to_owned(),
            state,
            message: None,
            suite: run.suite.clone(),
            title: run.title.clone(),
            host: summary.host.hostname.clone(),
            started_unix_ns: Some(run.started_unix_ns),
            ended_unix_ns: run.ended_unix_ns,
            engines: engines(evidence),
            cases_planned: run.cases_planned,
            cases_recorded: run.cases_recorded,
            cases_done: run.cases_done,
            findings: FindingCounts::of(summary),
        }
    }

    /// A run whose record is damaged, or newer than this program.
    pub fn unreadable(name: &str, message: &str) -> Self {
        Self {
            name: name.to_owned(),
            state: State::Unreadable,
            message: Some(message.to_owned()),
            suite: String::new(),
            title: String::new(),
            host: String::new(),
            started_unix_ns: None,
            ended_unix_ns: None,
            engines: Vec::new(),
            cases_planned: 0,
            cases_recorded: 0,
            cases_done: 0,
            findings: FindingCounts::default(),
        }
    }
}

impl FindingCounts {
    fn of(summary: &Summary) -> Self {
        let count = |severity| {
            summary.findings.iter().filter(|finding| finding.severity == severity).count()
        };
        Self {
            invalid: count(Severity::Invalid),
            warning: count(Severity::Warning),
            info: count(Severity::Info),
        }
    }
}

/// In the order of the plan. Where nothing but the harness was run, that is what it is about.
fn engines(evidence: &Evidence) -> Vec<String> {
    let (mut engines, mut harness): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    for case in &evidence.cases {
        let list = if case.measures_the_harness() { &mut harness } else { &mut engines };
        if !list.contains(&case.case.label) {
            list.push(case.case.label.clone());
        }
    }
    engines.retain(|label| !harness.contains(label));
    if engines.is_empty() { harness } else { engines }
}
