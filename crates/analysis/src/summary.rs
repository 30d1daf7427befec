//! All figures of a run, for tables, pages, spreadsheets and comparisons.

use super::block_io::PhaseIo;
use super::claim::Claimed;
use super::confidence::Confidence;
use super::copies::Copies;
use super::engines::EngineInfo;
use super::explain::Explained;
use super::findings::Finding;
use super::group::Group;
use super::hiccups::HiccupRow;
use super::history::History;
use super::load_generator::LoadGenerator;
use super::ranking::Ranking;
use super::ranks::RankRow;
use super::search::SearchResult;
use super::study::StudyComparison;
use kvdyno_record::column::ColumnName;
use kvdyno_record::exit::Exit;
use kvdyno_record::host::Host;
use kvdyno_record::left_out::LeftOut;
use kvdyno_record::tier::TierRecord;
use kvdyno_record::volume::VolumeRecord;
use schemars::JsonSchema;
use serde::Serialize;

/// The version of the computation of figures from a record. It changes whenever an old record would
/// give another figure than before, and is part of every export.
pub const METHOD_VERSION: u32 = 1;

/// All figures of a run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Summary {
    /// [`METHOD_VERSION`].
    pub method_version: u32,
    /// The result of its search; null: the run is none.
    pub run: RunInfo,
    /// The machine before the run.
    pub host: Host,
    /// The machine after it.
    pub host_after: Option<Host>,
    /// The engines under test, in the order of the suite.
    pub engines: Vec<EngineInfo>,
    /// The load generator's own cost on this machine; null: not measured.
    pub load_generator: Option<LoadGenerator>,
    /// The pauses of an idle thread before the run; null: not measured.
    pub hiccups: Option<HiccupRow>,
    /// What its search found; null: it is none.
    pub search: Option<SearchResult>,
    /// Cases over their trials, in the order of the suite.
    pub groups: Vec<Group>,
    /// The answer in sentences: the headline first, then one for each workload.
    pub answer: Vec<String>,
    /// Engines in order, question by question.
    pub rankings: Vec<Ranking>,
    /// The volumes that the suite names, each as it was made first.
    pub volumes: Vec<VolumeRecord>,
    /// The memory tiers that the suite names, each as a case had it first.
    pub tiers: Vec<TierRecord>,
    /// Copies of databases that cases worked on.
    pub copies: Vec<Copies>,
    /// Block I/O by group and phase, where it was traced.
    pub block_io: Vec<PhaseIo>,
    /// The figures of each rank of a crew, in loads and measured phases.
    pub ranks: Vec<RankRow>,
    /// Where the time of each load, and of each role of each measured phase, went.
    pub explained: Vec<Explained>,
    /// The confidence in the figures.
    pub confidence: Confidence,
    /// Engines over their versions, where the suite has several of one.
    pub history: Vec<History>,
    /// The suite's assertions, with their results.
    pub claims: Vec<Claimed>,
    /// A study's published figures, compared with these; null: none was chosen.
    pub study: Option<StudyComparison>,
    /// What was not enforced or not measured, each sentence once.
    pub not_measured: Vec<String>,
    /// The findings, the worst first.
    pub findings: Vec<Finding>,
    /// The exit code of a program that shows this.
    #[serde(skip)]
    pub(super) verdict: Exit,
}

/// The run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RunInfo {
    /// Its user's name for it; null: none.
    pub id: String,
    /// The suite.
    pub suite: String,
    /// What its user calls it; null: nothing.
    pub name: Option<String>,
    /// Its user's note; null: none.
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
    /// Everything planned was done.
    pub complete: bool,
    /// Cases in the plan.
    pub cases_planned: usize,
    /// Cases that left a record.
    pub cases_recorded: usize,
    /// Cases that ran to their end, every check passed.
    pub cases_done: usize,
}

impl Summary {
    /// Compares with a study, in place of the suite's own; none: no study.
    pub fn match_study(&mut self, study: Option<&str>) {
        self.study = study.and_then(|id| StudyComparison::from_summary(id, self));
    }

    /// Trials of each case, at most.
    pub fn trials(&self) -> usize {
        self.groups.iter().map(|group| group.trials.len()).max().unwrap_or(0)
    }
}

/// The exit code of a program that shows `summary`: 4 where a finding makes figures invalid, else 3
/// where an engine failed. An engine that does not fit its RAM limit has not failed: that is a
/// result.
pub fn verdict(summary: &Summary) -> Exit {
    summary.verdict
}
