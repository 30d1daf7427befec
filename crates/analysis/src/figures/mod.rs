//! What was measured: every number, finding and explanation that one run's record gives.

pub mod about;
pub mod block_io;
pub mod catalogue;
pub mod comparable;
mod compute;
pub mod copies;
mod cost;
pub mod efficiency;
pub mod engines;
pub mod evidence;
pub mod explain;
pub mod findings;
pub mod group;
pub mod hiccups;
mod instructions;
pub mod job;
pub mod lists;
pub mod load_generator;
pub mod lost;
pub mod metric;
pub(crate) mod naming;
pub(crate) mod narrow;
pub mod percentiles;
pub mod profile;
pub mod ranks;
pub(crate) mod rates;
pub mod ratio;
pub mod relative;
mod run_info;
pub mod scatter;
pub mod spent;
pub mod stalls;
pub mod sweep;
mod tail;
pub mod trials;
pub(crate) mod turns;
pub mod validity;
pub(crate) mod windows;

pub use run_info::RunInfo;

use block_io::PhaseIo;
use copies::Copies;
use engines::EngineInfo;
use explain::Explained;
use findings::Finding;
use group::Group;
use hiccups::HiccupRow;
use kvdyno_record::exit::Exit;
use kvdyno_record::host::Host;
use kvdyno_record::tier::TierRecord;
use kvdyno_record::volume::VolumeRecord;
use load_generator::LoadGenerator;
use profile::ThreadsFunctions;
use ranks::RankRow;
use schemars::JsonSchema;
use serde::Serialize;

/// The version of the computation of figures from a record. It changes whenever an old record would
/// give another figure than before, and is part of every export.
pub const METHOD_VERSION: u32 = 1;

/// All figures of a run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Figures {
    /// [`METHOD_VERSION`].
    pub method_version: u32,
    /// The run: its suite, its program, and how much of its plan was done.
    pub run: RunInfo,
    /// The machine before the run.
    pub host: Host,
    /// The machine after the run; null: not recorded.
    pub host_after: Option<Host>,
    /// The engines under test, in the order of the suite.
    pub engines: Vec<EngineInfo>,
    /// The load generator's own cost on this machine; null: not measured.
    pub load_generator: Option<LoadGenerator>,
    /// The pauses of an idle thread before the run; null: not measured.
    pub hiccups: Option<HiccupRow>,
    /// Cases over their trials, in the order of the suite.
    pub groups: Vec<Group>,
    /// Each volume that the suite names, as it was first made.
    pub volumes: Vec<VolumeRecord>,
    /// Each memory tier that the suite names, as it was in its first case.
    pub tiers: Vec<TierRecord>,
    /// Copies of databases that cases worked on.
    pub copies: Vec<Copies>,
    /// Block I/O by group and phase, where it was traced.
    pub block_io: Vec<PhaseIo>,
    /// The functions of threads by group and phase, where they were profiled.
    pub profile: Vec<ThreadsFunctions>,
    /// The figures of each rank of a crew, in loads and measured phases.
    pub ranks: Vec<RankRow>,
    /// Where the time of each load, and of each role of each measured phase, went.
    pub explained: Vec<Explained>,
    /// What was not enforced or not measured, each sentence once.
    pub not_measured: Vec<String>,
    /// How many cases another run on this machine disturbed, in words; null: none.
    pub disturbance: Option<String>,
    /// The findings, the worst first.
    pub findings: Vec<Finding>,
    /// The exit code of a program that shows these figures.
    #[serde(skip)]
    pub verdict: Exit,
}

impl Figures {
    /// The largest number of trials of any case.
    pub fn trials(&self) -> usize {
        self.groups.iter().map(|group| group.trials.len()).max().unwrap_or(0)
    }
}
