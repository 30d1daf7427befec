//! Fills in each engine's ratios: to the base engine (the suite's first) at the same work and
//! durability class, and to itself on the first volume.

use crate::figures::catalogue as c;
use crate::figures::group::{Group, RunRow};
use crate::figures::metric::Metric;
use crate::figures::relative::RelativeTo;

/// Fills in every row's ratio.
pub(crate) fn compare(groups: &mut [Group]) {
    for index in 0..groups.len() {
        if !groups[index].competes() {
            continue;
        }
        let load = BASES.map(|base| compare_load(groups, index, base));
        if let Some(row) = &mut groups[index].load {
            [row.relative, row.relative_volume] = load;
        }
        for run in 0..groups[index].runs.len() {
            for role in 0..groups[index].runs[run].roles.len() {
                let relative = BASES.map(|base| compare_role(groups, index, run, role, base));
                let row = &mut groups[index].runs[run].roles[role];
                [row.relative, row.relative_volume] = relative;
            }
        }
    }
}

/// What a figure is compared with: the base's name, and what loads and cases must have in
/// common.
#[derive(Clone, Copy)]
struct Base {
    name: fn(&Group) -> Option<&str>,
    loads: fn(&Group) -> &str,
    runs: fn(&RunRow) -> u64,
}

const BASES: [Base; 2] = [
    // Another engine on the same volume.
    Base {
        name: |group| Some(&group.label),
        loads: |group| &group.load_peers,
        runs: |run| run.peers.engines,
    },
    // The same engine on another volume.
    Base {
        name: |group| group.volume.as_deref(),
        loads: |group| &group.load_on_volumes,
        runs: |run| run.peers.volumes,
    },
];

fn compare_load(groups: &[Group], index: usize, by: Base) -> Option<RelativeTo> {
    let peer =
        |group: &Group| (by.loads)(group) == (by.loads)(&groups[index]) && group.load.is_some();
    let base = groups.iter().position(|group| group.competes() && peer(group))?;
    let rate = |group: usize| groups[group].load.as_ref()?.metrics.get(&c::RECORDS_PER_S);
    relative((by.name)(&groups[base])?, groups, [base, index], rate)
}

fn compare_role(
    groups: &[Group],
    index: usize,
    run: usize,
    role: usize,
    by: Base,
) -> Option<RelativeTo> {
    let run = &groups[index].runs[run];
    let like = |group: usize| groups[group].run(&run.phase);
    let peer = |group: usize| {
        groups[group].competes()
            && like(group).is_some_and(|other| (by.runs)(other) == (by.runs)(run))
    };
    let base = (0..groups.len()).find(|group| peer(*group))?;
    let rate = |group: usize| like(group)?.roles.get(role)?.metrics.get(&c::OPS_PER_S);
    relative((by.name)(&groups[base])?, groups, [base, index], rate)
}

fn relative<'g>(
    name: &str,
    groups: &'g [Group],
    [base, index]: [usize; 2],
    figure: impl Fn(usize) -> Option<&'g Metric>,
) -> Option<RelativeTo> {
    if base == index {
        return RelativeTo::itself(name, figure(index)?);
    }
    RelativeTo::between(name, (&groups[base], figure(base)?), (&groups[index], figure(index)?))
}
