//! The workers and libraries of a suite's engines, and whether they exist: a suite needs them to be
//! expanded.

use kvdyno_record::engine::Description;
use kvdyno_record::library::Library;
use kvdyno_record::protocol::WorkerDescription;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The library that an engine's worker loads.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pick {
    /// The newest installed version.
    Newest,
    /// An installed version.
    Version(String),
    /// This file.
    File(PathBuf),
    /// No library but an attached server, by the reference to its URL (`env:NAME`).
    Server(String),
}

/// An engine that a suite needs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WorkerSpec {
    /// The engine's name; its worker is `kvdyno-<engine>`.
    pub engine: String,
    /// The library that the worker loads.
    pub pick: Pick,
}

/// A worker that can run its engine.
#[derive(Clone, Debug, PartialEq)]
pub struct InstalledWorker {
    /// Its description, with this library.
    pub description: WorkerDescription,
    /// The library; none: the engine is embedded in its worker.
    pub library: Option<Library>,
}

/// The reason why an existing worker cannot run its engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing {
    /// No library is installed; the worker's message.
    NoLibrary(String),
    /// This version is not installed.
    NotInstalled {
        /// The installed versions.
        installed: Vec<String>,
    },
    /// The engine is embedded in its worker, in this version.
    TakesNone {
        /// The embedded version.
        version: String,
    },
    /// The file cannot be used; the reason.
    Unusable(String),
}

/// The results of the search for engines.
#[derive(Clone, Debug, Default)]
pub struct Engines {
    /// Workers by their engine and library.
    pub workers: BTreeMap<WorkerSpec, Result<InstalledWorker, Missing>>,
    /// Names of all existing workers.
    pub worker_names: Vec<String>,
}

impl Pick {
    /// Returns the library as it was typed.
    pub(crate) fn to_text(&self) -> String {
        match self {
            Self::Newest => "the newest".to_owned(),
            Self::Version(version) => version.clone(),
            Self::File(path) => path.display().to_string(),
            Self::Server(reference) => reference.clone(),
        }
    }
}

impl InstalledWorker {
    /// Returns the engine's description.
    pub(crate) fn engine(&self) -> &Description {
        &self.description.engine
    }
}

impl Engines {
    /// Returns the result of the search for an engine; none: there is no such worker.
    pub(crate) fn get(
        &self,
        engine: &str,
        pick: &Pick,
    ) -> Option<&Result<InstalledWorker, Missing>> {
        self.workers.get(&WorkerSpec { engine: engine.to_owned(), pick: pick.clone() })
    }

    /// Returns the engine's description with its newest library.
    pub(crate) fn newest_description(&self, engine: &str) -> Option<&Description> {
        let worker = self.get(engine, &Pick::Newest)?.as_ref().ok()?;
        Some(&worker.description.engine)
    }
}
