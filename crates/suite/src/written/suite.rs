//! A suite that both its reader and its checks accept.

use crate::written::engine::Engine;
use crate::written::part::Part;
use crate::written::phase_names::phase_name;
use crate::written::source::Source;
use crate::written::typed::Typed;
use crate::written::worker::{Pick, WorkerSpec};
use kvdyno_record::claim::Claim;
use kvdyno_record::column::ColumnName;
use kvdyno_record::plan::WITHIN;
use std::path::{Path, PathBuf};

/// A valid suite, as typed: values keep their positions for messages, and defaults are not filled
/// in.
#[derive(Clone, Debug)]
pub struct Suite {
    pub(crate) source: Source,
    /// The parts, at least one.
    pub(crate) parts: Vec<Part>,
    /// Notes on changes by the command line.
    pub(crate) notes: Vec<String>,
    pub(crate) claims: Vec<Claim>,
    pub(crate) data_dir: Option<PathBuf>,
}

impl Suite {
    /// Returns the settings that all parts share.
    fn shared_settings(&self) -> &Typed {
        &self.parts[0].typed
    }

    /// Returns the suite's name.
    pub fn name(&self) -> &str {
        &self.shared_settings().suite.name.0
    }

    /// Returns the suite's title; empty: it has none.
    pub fn title(&self) -> &str {
        self.shared_settings().suite.title.as_ref().map_or("", |title| title.as_str())
    }

    /// Returns the additional columns of its tables.
    pub(crate) fn columns(&self) -> Vec<ColumnName> {
        let columns = self.shared_settings().show.columns.iter().flat_map(|columns| columns.iter());
        columns.map(|column| column.value).collect()
    }

    /// Returns the tolerance: two rates that differ by less are equal.
    pub(crate) fn tolerance(&self) -> f64 {
        self.shared_settings().suite.within.as_ref().map_or(WITHIN, |within| within.0)
    }

    /// Returns the published study that it repeats.
    pub(crate) fn study(&self) -> Option<&str> {
        self.shared_settings().suite.study.as_ref().map(|study| study.as_str())
    }

    /// Returns the index of the phase that the plan calls `name`; phases without a typed name have
    /// generated ones.
    pub fn phase_index(&self, name: &str) -> Option<usize> {
        let typed = &self.shared_settings().phase;
        (0..typed.len()).find(|&index| phase_name(typed, index) == name)
    }

    /// Returns the directory for databases; none: a directory inside the run's own.
    pub fn data_dir(&self) -> Option<&Path> {
        let typed = self.shared_settings().data_dir.path.as_ref();
        self.data_dir.as_deref().or(typed.map(|directory| Path::new(directory.as_str())))
    }

    /// Returns the workers that the suite needs, each once for each library that it loads.
    pub fn worker_specs(&self) -> Vec<WorkerSpec> {
        let worker = |engine: &Engine| WorkerSpec {
            engine: engine.name.0.clone(),
            pick: engine.pick.value.clone(),
        };
        let typed = || self.parts.iter().map(|part| &part.typed);
        let drive = typed().filter_map(|typed| typed.drive.as_ref());
        let drive = drive.flat_map(|drive| drive.workers());
        let drive = drive.map(|name| WorkerSpec { engine: (*name).to_owned(), pick: Pick::Newest });
        let engines = typed().flat_map(|typed| &typed.engine).map(worker);
        let mut workers: Vec<WorkerSpec> = engines.chain(drive).collect();
        workers.sort_unstable();
        workers.dedup();
        workers
    }
}
