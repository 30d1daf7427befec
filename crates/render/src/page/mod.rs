//! What the report's page is made from: the summary, and the curves, maps and time lines behind it,
//! thinned so that the page stays small; and the page itself, one file of HTML.
//!
//! A pure function of a run's directory. The page's program (`report/` in the repository) draws it;
//! nothing here knows how.

mod block_heat;
mod curve;
mod fleet;
mod heat;
mod html;
mod list;
mod live;
mod mark;
mod sheet;
mod thin;
mod time_line;
mod trace;
mod trend;
mod versus;
mod workload;
mod written;

pub use block_heat::BlockHeat;
pub use curve::Curve;
pub use fleet::FleetData;
pub use heat::Heat;
pub use html::{Kind, TEMPLATE, html};
pub use list::{FindingCounts, RunEntry, RunSize, RunsData, VerdictCounts};
pub use live::{InFlight, LatencyNow, Live, State};
pub use mark::{Mark, MarkTotal};
pub use sheet::Sheet;
pub use time_line::{MachineLine, RoleLine, TimeLine};
pub use trace::TraceData;
pub use trend::TrendData;
pub use versus::{Between, Refused, VersusData};
pub use workload::Workload;
pub use written::{WriteReason, Written};

use super::header;
use super::versus::Line;
use kvdyno_analysis::answers::answer::{self, Answer};
use kvdyno_analysis::answers::summary::Summary;
use kvdyno_analysis::figures::catalogue;
use kvdyno_analysis::figures::efficiency::{self, CeilingCase};
use kvdyno_analysis::figures::evidence::{CaseEvidence, Evidence};
use kvdyno_analysis::figures::group::Group;
use kvdyno_analysis::figures::metric::Definition;
use kvdyno_analysis::figures::profile::{self, Flame};
use kvdyno_record::files::{RecordError, RunDir};
use schemars::JsonSchema;
use serde::Serialize;

/// All that the page of a run shows.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PageData {
    /// The kind of the page.
    pub kind: Kind,
    /// The program that made the page.
    pub program: String,
    /// A sentence for each workload.
    pub answers: Vec<Answer>,
    /// What was measured where, as the terminal says it: a word, and what it stands for.
    pub header: Vec<(String, String)>,
    /// What each timed phase does, in the words of a heading.
    pub workloads: Vec<Workload>,
    /// All figures.
    pub summary: Summary,
    /// What each figure is.
    pub definitions: Vec<&'static Definition>,
    /// Latencies by percentile, all trials together.
    pub curves: Vec<Curve>,
    /// Latencies over time, of the trial nearest to the median.
    pub heats: Vec<Heat>,
    /// Block I/O over time, of the same trials, where it was watched.
    pub block_heats: Vec<BlockHeat>,
    /// What operations and machine did over time, each trial.
    pub time_lines: Vec<TimeLine>,
    /// Bytes that engines report as written, by reason, each trial.
    pub written: Vec<Written>,
    /// The functions that threads were in, where they were profiled.
    pub flames: Vec<Flame>,
    /// A study beside the run, and the suite's claims, as tables that stand before the others.
    pub sheets: Vec<Sheet>,
    /// What the drive itself can do.
    pub ceilings: Vec<CeilingCase>,
    /// The suite's text.
    pub suite: String,
    /// The progress of the run, where a server shows it; null: the page is a file.
    pub live: Option<Live>,
}

impl PageData {
    /// Reads a run, and all that its page shows.
    pub fn read(dir: &RunDir) -> Result<Self, RecordError> {
        let evidence = Evidence::read(dir)?;
        let summary = Summary::from_evidence(&evidence)?;
        let path = dir.path.join("suite.toml");
        let suite = std::fs::read(&path).unwrap_or_default();
        let mut curves = Vec::new();
        let mut heats = Vec::new();
        let mut block_heats = Vec::new();
        let mut time_lines = Vec::new();
        let mut workloads: Vec<Workload> = Vec::new();
        let mut written = Vec::new();
        let budget = thin::Budget::from_summary(&summary);
        for (at, group) in summary.groups.iter().enumerate() {
            let trials = evidence.cases.iter().filter(|case| case.case.key == group.key);
            curves.extend(curve::read(at, &trials.collect::<Vec<_>>(), &summary)?);
        }
        for case in &evidence.cases {
            let Some(group) = find_group(&summary.groups, case) else { continue };
            if !workloads.iter().any(|workload| workload.group == group) {
                workloads.extend(workload::list_workloads(group, case));
            }
            let Some(dir) = case.dir() else { continue };
            if heat::is_typical(&summary.groups[group], case) {
                heats.extend(heat::read(group, case, dir, budget.heat_columns)?);
                block_heats.extend(block_heat::read(group, case, dir, budget.heat_columns)?);
            }
            time_lines.extend(time_line::read(group, case, dir, budget.slices)?);
            written.extend(written::read(group, case, dir)?);
        }
        Ok(Self {
            kind: Kind::Report,
            program: kvdyno_record::VERSION.to_owned(),
            answers: answer::answers(&summary, summary.search.as_ref()),
            workloads,
            header: header(&summary),
            definitions: catalogue::ALL.to_vec(),
            curves,
            heats,
            block_heats,
            time_lines,
            written,
            flames: profile::read(&evidence, &summary.groups).iter().map(Flame::from).collect(),
            sheets: Sheet::list_sheets(&summary),
            ceilings: efficiency::ceilings(&summary.groups),
            suite: String::from_utf8_lossy(&suite).into_owned(),
            live: None,
            summary,
        })
    }
}

/// The terminal's lines that the page has no other place for: a word and its text.
fn remarks(lines: impl IntoIterator<Item = Line>, elsewhere: &[&str]) -> Vec<(String, String)> {
    let lines = lines.into_iter().filter(|(_, word, _)| !elsewhere.contains(word));
    lines.map(|(_, word, text)| (word.to_owned(), text)).collect()
}

/// The definitions of the figures that a page shows.
fn definitions<'f>(names: impl Iterator<Item = &'f str>) -> Vec<&'static Definition> {
    let names: Vec<&str> = names.collect();
    let definitions = catalogue::ALL.iter().filter(|figure| names.contains(&figure.name));
    definitions.copied().collect()
}

/// A case's place among the groups.
fn find_group(groups: &[Group], case: &CaseEvidence) -> Option<usize> {
    groups.iter().position(|group| group.key == case.case.key)
}

/// A line without a word of its own goes on with the word above it.
fn header(summary: &Summary) -> Vec<(String, String)> {
    let lines = header::lines(summary).into_iter();
    lines.map(|(word, text)| (word.trim().to_owned(), text)).collect()
}

#[cfg(test)]
mod tests;
