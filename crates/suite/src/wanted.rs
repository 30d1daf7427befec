//! What a suite needs to know of its engines before it can be expanded: which worker with which
//! library, and what came of looking for it.

use kvdyno_record::engine::Description;
use kvdyno_record::library::Library;
use kvdyno_record::protocol::WorkerDescription;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Which library an engine is loaded from, where its worker loads one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pick {
    /// The newest installed.
    Newest,
    /// An installed version.
    Version(String),
    /// This file.
    File(PathBuf),
    /// None: a server that somebody runs, by what leads to its URL (`env:NAME`).
    Server(String),
}

/// An engine that a suite asks for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WantedWorker {
    /// The worker: `kvdyno-<engine>`.
    pub engine: String,
    /// Its library.
    pub pick: Pick,
}

/// A worker that can do the work.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundWorker {
    /// What it says of itself, with this library.
    pub description: WorkerDescription,
    /// The library; none: the engine is part of its worker.
    pub library: Option<Library>,
}

/// Why a worker that is there cannot do the work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing {
    /// No library is installed, in the worker's words.
    NoLibrary(String),
    /// Not this version.
    NotInstalled {
        /// Those that are.
        installed: Vec<String>,
    },
    /// The engine is part of its worker, of this version.
    TakesNone {
        /// Its version.
        version: String,
    },
    /// The file cannot be used, in the words of whoever tried.
    Unusable(String),
}

/// What came of looking for the engines.
#[derive(Clone, Debug, Default)]
pub struct Engines {
    /// By what was asked for.
    pub asked: BTreeMap<WantedWorker, Result<FoundWorker, Missing>>,
    /// Names of all workers that are there.
    pub known: Vec<String>,
}

impl Pick {
    /// As it was typed.
    pub(super) fn words(&self) -> String {
        match self {
            Self::Newest => "the newest".to_owned(),
            Self::Version(version) => version.clone(),
            Self::File(path) => path.display().to_string(),
            Self::Server(reference) => reference.clone(),
        }
    }
}

impl FoundWorker {
    /// The engine, as it describes itself.
    pub(super) fn engine(&self) -> &Description {
        &self.description.engine
    }
}

impl Engines {
    /// What came of it; none: there is no such worker.
    pub(super) fn get(&self, engine: &str, pick: &Pick) -> Option<&Result<FoundWorker, Missing>> {
        self.asked.get(&WantedWorker { engine: engine.to_owned(), pick: pick.clone() })
    }

    /// The worker with the library that it takes by itself.
    pub(super) fn plain(&self, engine: &str) -> Option<&Description> {
        let found = self.get(engine, &Pick::Newest)?.as_ref().ok()?;
        Some(&found.description.engine)
    }
}
