//! The engines that a screen compares.

use super::block::NAME_MAX;
use super::line::cut;
use kvdyno_analysis::answers::summary::Summary;
use kvdyno_analysis::figures::engines::title;
use kvdyno_analysis::figures::group::Group;
use kvdyno_analysis::figures::lists::{has_several, unique};
use kvdyno_analysis::figures::metric::Metrics;

/// What is compared: the engines, or in a run of nothing else the load generator itself.
pub(super) struct Contest<'s> {
    pub(super) summary: &'s Summary,
    pub(super) groups: Vec<&'s Group>,
    /// Labels of the engines, in the order of the suite.
    pub(super) labels: Vec<&'s str>,
}

impl<'s> Contest<'s> {
    pub(super) fn from_summary(summary: &'s Summary) -> Self {
        let select = |matches: &dyn Fn(&Group) -> bool| -> Vec<&'s Group> {
            summary.groups.iter().filter(|group| matches(group)).collect()
        };
        let mut groups = select(&Group::competes);
        if groups.is_empty() && !summary.groups.iter().any(|group| group.bare_drive) {
            groups = select(&|_| true);
        }
        let labels = unique(groups.iter().map(|group| group.label.as_str()));
        Self { summary, groups, labels }
    }

    /// Returns the number of engines, each once, in however many parts of the suite it is.
    pub(super) fn engines(&self) -> usize {
        unique(self.groups.iter().map(|group| group.engine_label())).len()
    }

    /// Whether instructions were counted in place of times.
    pub(super) fn is_counted(&self) -> bool {
        self.groups.iter().any(|group| group.is_counted())
    }

    /// Measured phases, in the order of the plan.
    pub(super) fn phases(&self) -> Vec<&'s str> {
        let runs = self.groups.iter().flat_map(|group| &group.runs);
        unique(runs.map(|run| run.phase.as_str()))
    }

    /// Whether there are any figures.
    pub(super) fn has_figures(&self) -> bool {
        let rows = self.groups.iter().flat_map(|group| {
            let runs = group.runs.iter().flat_map(|run| &run.roles).map(|role| &role.metrics);
            runs.chain(group.load.iter().map(|load| &load.metrics))
        });
        rows.into_iter().any(Metrics::has_values)
    }

    /// Returns the name of a label's engine; where several begin alike, the end of the name:
    /// `..k_cache=25%`.
    pub(super) fn name(&self, label: &str) -> String {
        let title = |label: &'s str| {
            let group = self.groups.iter().find(|group| group.label == label);
            group.map_or(label, |group| title(&self.summary.engines, group))
        };
        let short = |label: &'s str| cut(title(label), NAME_MAX);
        let Some(label) = self.labels.iter().find(|other| **other == label) else {
            return cut(label, NAME_MAX);
        };
        let twins = self.labels.iter().filter(|other| short(other) == short(label)).count();
        let name = kvdyno_record::text::escape_line(title(label)).into_owned();
        let beyond = name.chars().count().saturating_sub(NAME_MAX);
        if twins < 2 || beyond == 0 {
            return short(label);
        }
        format!("..{}", name.chars().skip(beyond + 2).collect::<String>())
    }

    /// Whether everything but engines and threads is the same for all: data, RAM, volume,
    /// durability, offered rates.
    pub(super) fn is_one_setting(&self) -> bool {
        let all = self.groups.iter();
        let equal_sizes = !has_several(all.clone().map(|group| (group.data_sizes(), group.ram())))
            && !has_several(all.clone().map(|group| (&group.volume, group.durability)));
        let once = all.clone().filter(|group| !group.runs.is_empty()).all(|group| {
            let twins = all.clone().filter(|other| !other.runs.is_empty());
            let twins = twins.filter(|other| {
                (&other.label, other.threads) == (&group.label, group.threads)
                    && other.runs[0].phase == group.runs[0].phase
            });
            twins.count() == 1
        });
        equal_sizes && once
    }
}
