//! The subject of a case.

use super::abilities::SkippedPhase;
use super::engine::Engine;
use super::read::At;
use super::sizing::Limit;
use super::volume::Volume;
use kvdyno_record::engine::{Description, Options};
use kvdyno_record::library::Library;
use kvdyno_record::protocol::AttachedServer;

/// An engine with one data set, under one RAM limit, on one volume.
#[derive(Clone)]
pub(super) struct EngineSetup<'a> {
    pub(super) engine: &'a Engine,
    pub(super) description: &'a Description,
    /// None: it is embedded in its worker.
    pub(super) library: Option<&'a Library>,
    /// The attached server, if there is one.
    pub(super) server: Option<&'a AttachedServer>,
    pub(super) options: Options,
    /// Options that its versions have in common, as notes.
    pub(super) agreed: Vec<String>,
    /// The options after each `reopen`, in order.
    pub(super) reopened: Vec<Options>,
    /// Phases that it skips.
    pub(super) skipped: Vec<SkippedPhase>,
    /// Index of its data set.
    pub(super) data: usize,
    pub(super) limit: Limit,
    /// None: in the data directory.
    pub(super) volume: Option<&'a At<Volume>>,
}

impl<'a> EngineSetup<'a> {
    /// An engine embedded in its worker, in the data directory, never reopened.
    pub(super) fn plain(
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
            data,
            limit: limit.clone(),
            volume: None,
        }
    }
}
