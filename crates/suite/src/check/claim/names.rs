//! The names that a claim can use: all names of the suite, before parts and arguments leave some
//! out.

use crate::edit::adjust::{get_str, tables};
use crate::edit::part::Document;
use crate::written::typed::Typed;
use toml::de::DeTable;

/// The phase of a drive's job.
const DRIVE_PHASE: &str = "measure";

/// All names of a suite.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    pub(super) engines: Vec<String>,
    pub(super) volumes: Vec<String>,
    pub(super) tiers: Vec<String>,
    pub(super) parts: Vec<String>,
    pub(super) phases: Vec<String>,
    pub(super) roles: Vec<String>,
}

impl Names {
    /// Collects the phases of a suite, before `phases` selects from them.
    pub(crate) fn collect(suite: &DeTable<'_>) -> Self {
        let mut names = Self::default();
        names.add_phases(suite);
        let named_phases = suite.get("phases").and_then(|phases| phases.get_ref().as_table());
        for (name, phase) in named_phases.into_iter().flatten() {
            if let Some(phase) = phase.get_ref().as_table() {
                names.add_phase(phase, Some(name.get_ref().as_ref()));
            }
        }
        names
    }

    fn add_phases(&mut self, suite: &DeTable<'_>) {
        for phase in tables(suite, "phase") {
            self.add_phase(phase, get_str(phase, "kind"));
        }
    }

    /// Adds a phase with figures, and its roles. It is called `name` if it has no other name.
    fn add_phase(&mut self, phase: &DeTable<'_>, name: Option<&str>) {
        if !matches!(get_str(phase, "kind"), Some("load" | "measure")) {
            return;
        }
        self.phases.extend(get_str(phase, "name").or(name).map(str::to_owned));
        let roles = tables(phase, "role").filter_map(|role| get_str(role, "name"));
        self.roles.extend(roles.map(str::to_owned));
    }

    /// Adds all parts, also those that are not selected, with their phases as run.
    pub(crate) fn with_parts(mut self, documents: &[Document<'_>]) -> Self {
        for document in documents {
            self.parts.extend(document.name.as_ref().map(|name| name.0.clone()));
            self.add_phases(&document.tables);
        }
        self
    }

    /// Adds the engines, volumes, tiers and drive jobs of these parts, and sorts all names.
    pub(crate) fn with<'t>(mut self, typed: impl Iterator<Item = &'t Typed>) -> Self {
        for typed in typed {
            self.engines.extend(typed.engine.iter().map(|engine| engine.label.0.clone()));
            self.volumes.extend(typed.volume.iter().map(|volume| volume.name.0.clone()));
            self.tiers.extend(typed.ram.tier.iter().map(|tier| tier.name.0.clone()));
            if let Some(drive) = &typed.drive {
                let jobs = crate::written::drive::engines(drive);
                self.engines.extend(jobs.iter().map(|job| job.label.0.clone()));
                self.phases.push(DRIVE_PHASE.to_owned());
                let roles = drive.job.iter().map(|job| job.rw().role_name().to_owned());
                self.roles.extend(roles);
            }
        }
        let all = [&mut self.engines, &mut self.volumes, &mut self.tiers];
        for names in all.into_iter().chain([&mut self.parts, &mut self.phases, &mut self.roles]) {
            names.sort_unstable();
            names.dedup();
        }
        self
    }
}
