//! The name of a case among the others of its run: only what distinguishes it.

use super::group::{Group, data};
use super::lists::has_several;
use kvdyno_record::units;

/// The properties of a case that differ within a run.
pub(crate) struct Naming {
    several_rams: bool,
    several_data: bool,
}

impl Naming {
    /// Finds the properties that differ among the cases of these groups.
    pub(crate) fn from_groups(groups: &[&Group]) -> Self {
        // A bare drive has no limit and no data of its own among engines that have. The case that
        // writes its file has larger blocks than the jobs.
        let engines = groups.iter().any(|group| group.competes());
        let is_left_out = |group: &Group| group.bare_drive && (engines || group.runs.is_empty());
        let all = || groups.iter().filter(|group| !is_left_out(group));
        Self {
            several_rams: has_several(all().map(|group| group.ram())),
            several_data: has_several(all().map(|group| data(group))),
        }
    }

    /// `lmdb t4 RAM 1 GiB on nvme`.
    pub(crate) fn name(&self, group: &Group) -> String {
        format!("{} {}", group.label, self.without_label(group))
    }

    /// `t4 RAM 1 GiB on nvme`.
    pub(crate) fn without_label(&self, group: &Group) -> String {
        let mut name = match group.threads {
            Some(threads) => format!("t{threads}"),
            None => "load".to_owned(),
        };
        if self.several_data {
            name += &format!(" {}", data(group));
        }
        if self.several_rams {
            name += &format!(" RAM {}", group.ram());
        }
        if let Some(volume) = &group.volume {
            name += &format!(" on {volume}");
        }
        name
    }
}

/// The settings that distinguish a group where a run has several, without the durability class:
/// `RAM 64GiB`, `on nvme`.
pub(crate) fn list_settings(groups: &[Group], group: &Group, by_volume: bool) -> Vec<String> {
    let others = || groups.iter().filter(|other| other.competes());
    let mut settings = Vec::new();
    if others().any(|other| other.data_sizes() != group.data_sizes()) {
        let (key, value) = (group.key_bytes, group.value_bytes_mean);
        settings.push(format!("{} x {key}+{value} bytes", units::exact_count(group.records)));
    }
    if others().any(|other| other.ram() != group.ram()) {
        settings.push(match group.ram_limit_bytes {
            Some(_) if group.ram_limit_held == Some(false) => {
                format!("RAM {} not enforced", group.ram())
            }
            None if group.tier.is_none() => "no RAM limit".to_owned(),
            _ => format!("RAM {}", group.ram()),
        });
    }
    if let Some(volume) = group.volume.as_ref().filter(|_| by_volume)
        && others().any(|other| other.volume.as_ref() != Some(volume))
    {
        settings.push(format!("on {volume}"));
    }
    settings
}

/// A label without the part that it ends with.
pub fn without_part<'l>(label: &'l str, part: Option<&str>) -> &'l str {
    let rest = part.and_then(|part| label.strip_suffix(part)?.strip_suffix(' '));
    rest.unwrap_or(label)
}
