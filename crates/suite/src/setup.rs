//! What a case is a case of.

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
    /// None: it is part of its worker.
    pub(super) library: Option<&'a Library>,
    /// The server that it is, where somebody else runs that.
    pub(super) server: Option<&'a AttachedServer>,
    pub(super) options: Options,
    /// Where its versions had to agree on an option, in words.
    pub(super) agreed: Vec<String>,
    /// What it has after each `reopen`, in order.
    pub(super) reopened: Vec<Options>,
    /// Phases that it is not run in.
    pub(super) skipped: Vec<SkippedPhase>,
    /// Which of the data sets.
    pub(super) data: usize,
    pub(super) limit: Limit,
    /// None: in the place.
    pub(super) volume: Option<&'a At<Volume>>,
}

impl<'a> EngineSetup<'a> {
    /// Of an engine that is part of its worker, in the place, and never opened again.
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
