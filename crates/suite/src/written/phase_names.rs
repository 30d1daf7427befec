//! The names of phases in a plan: typed ones, and generated ones for the others.

use crate::written::phase::Phase;
use crate::written::read::At;
use std::collections::HashSet;

/// Returns the plan's name of a typed phase.
pub(crate) fn phase_name(typed: &[At<Phase>], index: usize) -> String {
    let mut names = PhaseNames::from_phases(typed);
    let mut name = String::new();
    for phase in &typed[..=index] {
        let typed_name = phase.name().map(|name| name.0.clone());
        name = typed_name.unwrap_or_else(|| names.unique_name(phase.kind()));
    }
    name
}

/// The names that are in use.
pub(crate) struct PhaseNames(HashSet<String>);

impl PhaseNames {
    /// Marks the typed names as used.
    pub(crate) fn new(typed: impl Iterator<Item = String>) -> Self {
        Self(typed.collect())
    }

    /// Collects the typed names.
    pub(crate) fn from_phases(phases: &[At<Phase>]) -> Self {
        Self::new(phases.iter().filter_map(|phase| phase.name()).map(|name| name.0.clone()))
    }

    /// Returns `base`, or `base-2`, `base-3`, ... if that exists, and marks it as used.
    pub(crate) fn unique_name(&mut self, base: &str) -> String {
        let mut name = base.to_owned();
        let mut number = 1;
        while !self.0.insert(name.clone()) {
            number += 1;
            name = format!("{base}-{number}");
        }
        name
    }
}
