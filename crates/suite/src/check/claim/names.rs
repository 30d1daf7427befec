//! The names that a claim can use: all that the suite has, before parts and arguments leave some
//! out.

use crate::edit::adjust::{tables, word};
use crate::edit::part::Document;
use crate::written::typed::Typed;

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
    /// The names of parts, unselected ones included, as typed.
    pub(crate) fn collect(documents: &[Document<'_>]) -> Self {
        let mut names = Self::default();
        for document in documents {
            names.parts.extend(document.name.as_ref().map(|name| name.0.clone()));
            for phase in tables(&document.tables, "phase") {
                let kind = word(phase, "kind");
                if !matches!(kind, Some("load" | "measure")) {
                    continue;
                }
                names.phases.extend(word(phase, "name").or(kind).map(str::to_owned));
                let roles = tables(phase, "role").filter_map(|role| word(role, "name"));
                names.roles.extend(roles.map(str::to_owned));
            }
        }
        names
    }

    /// The names that all parts have in common.
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
