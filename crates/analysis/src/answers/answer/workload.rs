//! A workload of a run: its answer, its distinguishing settings, and its figures.

use crate::answers::summary::Summary;
use crate::figures::catalogue as c;
use crate::figures::group::Group;
use crate::figures::metric::{Definition, Metric};
use kvdyno_record::units;
use schemars::JsonSchema;
use serde::Serialize;

/// The answer of one workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Answer {
    /// The phase, and what distinguishes it from others of the run.
    pub workload: String,
    /// One sentence.
    pub sentence: String,
}

/// The settings that distinguish a group where a run has several: `, RAM 64GiB, durability commit`.
pub(super) fn setting_suffix(summary: &Summary, group: &Group, by_volume: bool) -> String {
    let mut text = setting(&summary.groups, group, by_volume);
    let mut others = summary.groups.iter().filter(|other| other.competes());
    if others.any(|other| other.durability != group.durability) {
        text += &format!(", durability {}", group.durability.as_str());
    }
    text
}

/// The same settings without the durability class.
pub(crate) fn setting(groups: &[Group], group: &Group, by_volume: bool) -> String {
    let others = || groups.iter().filter(|other| other.competes());
    let mut text = String::new();
    if others().any(|other| other.data_sizes() != group.data_sizes()) {
        let (key, value) = (group.key_bytes, group.value_bytes_mean);
        text += &format!(", {} x {key}+{value} bytes", units::exact_count(group.records));
    }
    if others().any(|other| other.ram() != group.ram()) {
        text += &match group.ram_limit_bytes {
            Some(_) if group.ram_limit_held == Some(false) => {
                format!(", RAM {} not enforced", group.ram())
            }
            None if group.tier.is_none() => ", no RAM limit".to_owned(),
            _ => format!(", RAM {}", group.ram()),
        };
    }
    if let Some(volume) = group.volume.as_ref().filter(|_| by_volume)
        && others().any(|other| other.volume.as_ref() != Some(volume))
    {
        text += &format!(", on {volume}");
    }
    text
}

pub(super) fn rate(group: &Group, index: usize, role: usize) -> Option<&Metric> {
    metric(group, index, role, &c::OPS_PER_S).filter(|metric| metric.value.is_some())
}

pub(super) fn metric<'g>(
    group: &'g Group,
    index: usize,
    role: usize,
    definition: &Definition,
) -> Option<&'g Metric> {
    group.runs.get(index)?.roles.get(role)?.metrics.get(definition)
}
