//! The environment of a run, and of each of its cases.

use super::interrupt::Interrupt;
use super::states::RunStates;
use super::tiers::Tiers;
use super::volumes::{DatabaseLocation, Volumes};
use crate::printer::Progress;
use crate::running::workers::Workers;
use kvdyno_host::{Root, raw};
use kvdyno_record::blockio::Watch;
use kvdyno_record::files::{CaseDir, RunDir};
use kvdyno_record::plan::Case;
use kvdyno_record::run::RunRecord;
use kvdyno_record::workload::Phase;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

/// The resources of a run, until it is closed.
pub(crate) struct RunEnvironment {
    pub(crate) root: Root,
    pub(crate) dir: RunDir,
    pub(crate) block_io: Watch,
    /// The file for recorded requests, and their suite.
    pub(crate) trace: Option<(PathBuf, String)>,
    // Dropped in this order: resources are released before the run is unlocked.
    /// Memory tiers below the RAM limits.
    pub(crate) tiers: Tiers,
    pub(crate) volumes: Volumes,
    /// States that the run has found or made.
    pub(crate) states: RunStates,
    /// The lock of the directory.
    pub(crate) lock: File,
    /// Loaded and usable databases by id: the cases that have used each, in order.
    pub(crate) databases: BTreeMap<String, Vec<String>>,
    pub(crate) workers: Workers,
    pub(crate) interrupt: Interrupt,
}

impl RunEnvironment {
    /// The environment of a run with all of its resources, before its first case.
    pub(crate) fn new(
        dir: RunDir,
        lock: File,
        run: &RunRecord,
        tiers: Tiers,
        volumes: Volumes,
        workers: Workers,
        interrupt: Interrupt,
    ) -> Self {
        let (root, databases) = (Root::system(), BTreeMap::new());
        let trace = run.trace.clone().map(|file| (file, run.suite.clone()));
        let block_io = run.block_io;
        let states = RunStates::new(&dir.path, run.states_bytes);
        Self {
            root,
            dir,
            block_io,
            trace,
            tiers,
            volumes,
            states,
            lock,
            databases,
            workers,
            interrupt,
        }
    }

    /// The directory for swap images: in the data directory, or next to the records if the data
    /// directory is a device.
    pub(super) fn images(&self) -> &Path {
        images(self.volumes.data_dir(), &self.dir.path)
    }
}

/// The directory for swap images: the data directory, or `otherwise` if the data directory is a
/// device.
pub(crate) fn images<'p>(data_dir: &'p Path, otherwise: &'p Path) -> &'p Path {
    if raw::is_device(data_dir) { otherwise } else { data_dir }
}

/// The settings of a case.
pub(super) struct CaseEnvironment<'r> {
    pub(super) run: &'r RunEnvironment,
    pub(super) case: &'r Case,
    pub(super) dir: &'r CaseDir,
    pub(super) site: DatabaseLocation,
    pub(super) database_used_by: Vec<String>,
    /// The phases that the database has been through before this case.
    pub(super) phases_before: Vec<Phase>,
    pub(super) progress: &'r Progress<'r>,
}

impl CaseEnvironment<'_> {
    /// The name of its database on an attached server: unique for each run, case and attempt, and
    /// valid on every server.
    pub(super) fn database_elsewhere(&self) -> String {
        let name =
            |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let run = name(&self.run.dir.path);
        let (time, salt) = (run.get(..20).unwrap_or(&run), run.rsplit('_').next().unwrap_or(&run));
        let number = self.case.id.split('_').next().unwrap_or_default();
        let dir = name(&self.dir.path);
        let suffix = dir.strip_prefix(&self.case.id).unwrap_or_default();
        let words = ["kvdyno", time, salt, number].join("_") + suffix;
        let words = words.to_lowercase();
        words.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').collect()
    }
}
