//! The names that a claim can use: all names of the suite, before parts and arguments leave some
//! out.

use crate::edit::adjust::{get_str, tables};
use crate::edit::part::Document;
use crate::written::fidelity::AS_RUN;
use crate::written::phase_names::PhaseNames;
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
                names.add_phase(phase, name.get_ref());
            }
        }
        names
    }

    /// Adds the phases of a list. Those without a name have the plan's names: `measure-2`.
    fn add_phases(&mut self, suite: &DeTable<'_>) {
        let typed = tables(suite, "phase").filter_map(|phase| get_str(phase, "name"));
        let mut names = PhaseNames::new(typed.map(str::to_owned));
        for phase in tables(suite, "phase") {
            let Some(kind) = get_str(phase, "kind") else { continue };
            let name = get_str(phase, "name");
            let name = name.map_or_else(|| names.unique_name(kind), str::to_owned);
            self.add_phase(phase, &name);
        }
    }

    /// Adds a phase with figures, and its roles in both versions.
    fn add_phase(&mut self, phase: &DeTable<'_>, name: &str) {
        if !matches!(get_str(phase, "kind"), Some("load" | "measure")) {
            return;
        }
        self.phases.push(name.to_owned());
        self.add_roles(phase);
        if let Some(as_run) = phase.get(AS_RUN).and_then(|as_run| as_run.get_ref().as_table()) {
            self.add_roles(as_run);
        }
    }

    /// Adds roles from a list or from a table by name.
    fn add_roles(&mut self, phase: &DeTable<'_>) {
        let listed = tables(phase, "role").filter_map(|role| get_str(role, "name"));
        self.roles.extend(listed.map(str::to_owned));
        let by_name = phase.get("role").and_then(|roles| roles.get_ref().as_table());
        let by_name = by_name.into_iter().flat_map(|roles| roles.keys());
        self.roles.extend(by_name.map(|name| name.get_ref().clone().into_owned()));
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
