//! A workload of a run: its answer, its distinguishing settings, and its figures.

use crate::figures::Figures;
use crate::figures::catalogue as c;
use crate::figures::group::Group;
use crate::figures::metric::{Definition, Metric};
use crate::figures::naming;
use schemars::JsonSchema;
use serde::Serialize;

/// The answer of one workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Answer {
    /// The phase, and the settings that distinguish it from others of the run.
    pub workload: String,
    /// The answer in one sentence.
    pub sentence: String,
}

/// The settings that distinguish a group where a run has several: `RAM 64GiB`, `durability commit`.
pub(super) fn list_settings(figures: &Figures, group: &Group, by_volume: bool) -> Vec<String> {
    let mut settings = naming::list_settings(&figures.groups, group, by_volume);
    let mut others = figures.groups.iter().filter(|other| other.competes());
    if others.any(|other| other.durability != group.durability) {
        settings.push(format!("durability {}", group.durability.as_str()));
    }
    settings
}

/// Appends settings to the name of what has them: `readers, RAM 64GiB`.
pub(super) fn join_settings(what: &str, settings: &[String]) -> String {
    let settings = settings.iter().map(String::as_str);
    [what].into_iter().chain(settings).collect::<Vec<_>>().join(", ")
}

pub(super) fn rate<'g>(group: &'g Group, phase: &str, role: usize) -> Option<&'g Metric> {
    metric(group, phase, role, &c::OPS_PER_S).filter(|metric| metric.value.is_some())
}

pub(super) fn metric<'g>(
    group: &'g Group,
    phase: &str,
    role: usize,
    definition: &Definition,
) -> Option<&'g Metric> {
    group.run(phase)?.roles.get(role)?.metrics.get(definition)
}
