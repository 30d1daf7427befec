//! A measured phase of all engines at once, and how much of it is shown.

use super::contest::Contest;
use kvdyno_analysis::figures::catalogue as c;
use kvdyno_analysis::figures::group::{Group, RunRow};

/// How much of a phase is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Detail {
    /// The rates at the largest number of threads, and their p99.
    Least,
    /// Few numbers of threads, p99, the cost in short.
    Short,
    /// A few numbers of threads.
    Few,
    /// Every number of threads, all percentiles, the cost.
    All,
}

impl Detail {
    /// All levels, from the most.
    pub(super) const ALL: [Self; 4] = [Self::All, Self::Few, Self::Short, Self::Least];

    /// The numbers of threads that are shown, of those there are.
    pub(super) fn threads(self, all: &[Option<u32>]) -> Vec<Option<u32>> {
        let most = match self {
            Self::All => all.len(),
            Self::Few => 4,
            Self::Short => 3,
            Self::Least => 1,
        };
        if all.len() <= most {
            return all.to_vec();
        }
        // The first and the last, and what lies between them.
        let step = |at: usize| at * (all.len() - 1) / (most - 1).max(1);
        match most {
            1 => all[all.len() - 1..].to_vec(),
            _ => (0..most).map(|at| all[step(at)]).collect(),
        }
    }
}

/// A measured phase of all engines.
pub(super) struct Runs<'s> {
    pub(super) contest: &'s Contest<'s>,
    pub(super) phase: &'s str,
    /// Numbers of threads that are shown.
    pub(super) shown: &'s [Option<u32>],
    pub(super) detail: Detail,
}

impl<'s> Runs<'s> {
    /// The phase of any engine: all have the same roles.
    pub(super) fn any_run(&self) -> Option<&'s RunRow> {
        let last = *self.shown.last()?;
        self.engine_runs(last).into_iter().find_map(|entry| Some(entry?.1))
    }

    /// The largest number of threads at which the most engines have figures: percentiles and
    /// costs are of these.
    pub(super) fn headline(&self) -> Option<u32> {
        let figures = |threads: &Option<u32>| {
            let entries = self.engine_runs(*threads).into_iter().flatten();
            entries.filter(|(_, run)| run.metrics.value(&c::WALL).is_some()).count()
        };
        let best = self.shown.iter().max_by_key(|threads| (figures(threads), **threads));
        best.copied().flatten()
    }

    /// Each engine's group and phase at a number of threads.
    pub(super) fn engine_runs(&self, threads: Option<u32>) -> Vec<Option<(&'s Group, &'s RunRow)>> {
        let entry_of = |label: &&str| {
            let groups = self.contest.groups.iter().copied();
            let mut groups_of_label = groups.filter(|g| g.label == **label && g.threads == threads);
            groups_of_label.find_map(|group| {
                Some((group, group.runs.iter().find(|run| run.phase == self.phase)?))
            })
        };
        self.contest.labels.iter().map(entry_of).collect()
    }
}
