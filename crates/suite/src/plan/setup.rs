//! The subject of a case.

use crate::check::abilities::SkippedPhase;
use crate::plan::sizing::Limit;
use crate::written::engine::Engine;
use crate::written::read::At;
use crate::written::volume::Volume;
use kvdyno_record::engine::{Description, Options};
use kvdyno_record::library::Library;
use kvdyno_record::protocol::AttachedServer;
use kvdyno_record::workload::Phase;

/// An engine with one data set, under one RAM limit, on one volume.
#[derive(Clone)]
pub(crate) struct EngineSetup<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) description: &'a Description,
    /// The engine's library; none: it is embedded in its worker.
    pub(crate) library: Option<&'a Library>,
    /// The attached server, if there is one.
    pub(crate) server: Option<&'a AttachedServer>,
    pub(crate) options: Options,
    /// Notes on options that were given the same value in all its versions.
    pub(crate) agreed: Vec<String>,
    /// The options after each `reopen`, in order.
    pub(crate) reopened: Vec<Options>,
    /// Phases that it skips.
    pub(crate) skipped: Vec<SkippedPhase>,
    /// Its phases at each thread count of the sweep; none for a drive, whose jobs have their own.
    pub(crate) points: Vec<Point>,
    /// Index of its data set.
    pub(crate) data: usize,
    pub(crate) limit: Limit,
    /// The volume of its database; none: the data directory.
    pub(crate) volume: Option<&'a At<Volume>>,
}

/// All phases of a case that loads its own database, at one point of the sweep.
#[derive(Clone)]
pub(crate) struct Point {
    /// The thread count; none: the suite sweeps no threads.
    pub(crate) swept: Option<u32>,
    pub(crate) phases: Vec<Phase>,
}

impl<'a> EngineSetup<'a> {
    /// Returns the setup of an engine embedded in its worker, in the data directory, never
    /// reopened.
    pub(crate) fn embedded(
        engine: &'a Engine,
        description: &'a Description,
        options: Options,
        limit: &Limit,
        data: usize,
    ) -> Self {
        Self {
            engine,
            description,
            library: None,
            server: None,
            options,
            agreed: Vec::new(),
            reopened: Vec::new(),
            skipped: Vec::new(),
            points: Vec::new(),
            data,
            limit: limit.clone(),
            volume: None,
        }
    }
}
