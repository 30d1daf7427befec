//! What the page of all runs shows: `serve`'s list, and the index of a site.

use super::html::Kind;
use super::live::State;
use crate::brief;
use kvdyno_analysis::answers::summary::Summary;
use kvdyno_analysis::figures::about;
use kvdyno_analysis::figures::evidence::Evidence;
use kvdyno_analysis::figures::findings::Severity;
use kvdyno_record::units;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The runs that are kept.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RunsData {
    /// The kind of the page.
    pub kind: Kind,
    /// The program that made the page.
    pub program: String,
    /// The directory of the runs; null: they are part of a site, with reports and files beside this
    /// page, and no server.
    pub dir: Option<String>,
    /// The newest first.
    pub runs: Vec<RunEntry>,
}

/// A run in the list; by default one that cannot be read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunEntry {
    /// Its directory's name, by which it is asked for.
    pub name: String,
    /// The state of the run.
    pub state: State,
    /// Why it cannot be read; everything below is then empty.
    pub message: Option<String>,
    /// The suite.
    pub suite: String,
    /// One line about the suite.
    pub title: String,
    /// The run's name, as its user gave it; null: none.
    pub called: Option<String>,
    /// The run's note, as its user gave it; null: none.
    pub note: Option<String>,
    /// Records of the largest data set, the bytes of a key and a mean value, and the RAM limit.
    pub data: Option<RunSize>,
    /// The first sentence of its answer; null: it has none.
    pub answer: Option<String>,
    /// How many of its primary figures are decided.
    pub verdicts: VerdictCounts,
    /// The host's name.
    pub host: String,
    /// Its CPUs and memory.
    pub machine: String,
    /// The drive below the data; null: not known.
    pub drive: Option<String>,
    /// When it began; null: not known.
    pub started_unix_ns: Option<u64>,
    /// When it ended; null: it has not.
    pub ended_unix_ns: Option<u64>,
    /// How long it was stopped in between.
    pub paused_ns: u64,
    /// Labels of the engines under test; bare drives and the load generator's are left out.
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

/// How much data a run has, and how much memory.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunSize {
    /// Records.
    pub records: u64,
    /// Bytes of a key and of a mean value together.
    pub record_bytes: f64,
    /// Bytes that an engine and the page cache of its files may use; null: no limit.
    pub ram_limit_bytes: Option<u64>,
}

impl RunSize {
    /// Returns the size of the largest data set of the engines under test; none where only drives
    /// are measured, or nothing is recorded yet.
    fn from_summary(summary: &Summary) -> Option<Self> {
        let groups = summary.groups.iter().filter(|group| group.competes());
        let largest = groups.max_by_key(|group| group.user_bytes)?;
        Some(Self {
            records: largest.records,
            record_bytes: largest.user_bytes as f64 / largest.records.max(1) as f64,
            ram_limit_bytes: largest.ram_limit_bytes,
        })
    }
}

/// How many primary figures are compared with a base's, and how many of these are undecided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VerdictCounts {
    /// All.
    pub figures: usize,
    /// Those that are undecided.
    pub undecided: usize,
}

/// How many findings there are of each weight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FindingCounts {
    /// Findings that void figures.
    pub invalid: usize,
    /// Findings that are worth a look.
    pub warning: usize,
    /// Findings that say what the figures hold for.
    pub info: usize,
}

impl RunsData {
    /// The list of the runs in a directory.
    pub fn new(dir: &Path, runs: Vec<RunEntry>) -> Self {
        Self { dir: Some(dir.display().to_string()), ..Self::site(runs) }
    }

    /// The index of a site.
    pub fn site(runs: Vec<RunEntry>) -> Self {
        let program = kvdyno_record::VERSION.to_owned();
        Self { kind: Kind::Runs, program, dir: None, runs }
    }
}

impl RunEntry {
    /// A run by its record.
    pub fn new(name: &str, evidence: &Evidence, summary: &Summary, state: State) -> Self {
        let (run, host) = (&summary.run, &summary.host);
        Self {
            name: name.to_owned(),
            state,
            message: None,
            suite: run.suite.clone(),
            title: run.title.clone(),
            called: run.name.clone(),
            note: run.note.clone(),
            data: RunSize::from_summary(summary),
            answer: summary.answer.first().cloned(),
            verdicts: VerdictCounts {
                figures: summary.verdicts.figures,
                undecided: summary.verdicts.undecided.len(),
            },
            host: host.hostname.clone(),
            machine: format!(
                "{} x {}, {} of RAM",
                host.machine.cpus,
                host.machine.cpu_model,
                units::bytes(host.machine.memory_bytes)
            ),
            drive: brief::drive_name(host),
            started_unix_ns: Some(run.started_unix_ns),
            ended_unix_ns: run.ended_unix_ns,
            paused_ns: evidence.run.paused_ns(),
            engines: about::engines(evidence),
            cases_planned: run.cases_planned,
            cases_recorded: run.cases_recorded,
            cases_done: run.cases_done,
            findings: FindingCounts::from_summary(summary),
        }
    }

    /// A run whose record is damaged, or newer than this program.
    pub fn unreadable(name: &str, message: &str) -> Self {
        let message = Some(message.to_owned());
        Self { name: name.to_owned(), message, ..Self::default() }
    }
}

impl FindingCounts {
    fn from_summary(summary: &Summary) -> Self {
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
