//! Fills in each engine's ratios: beside the base engine (the suite's first) at the same work and
//! durability class, and beside itself on the first volume.

use super::catalogue as c;
use super::group::Group;
use super::metric::Metric;
use super::relative::RelativeTo;

/// Fills in every row's ratio.
pub(super) fn compare(groups: &mut [Group]) {
    for at in 0..groups.len() {
        if !groups[at].competes() {
            continue;
        }
        let load = BASES.map(|base| beside_load(groups, at, base));
        if let Some(row) = &mut groups[at].load {
            [row.beside, row.beside_volume] = load;
        }
        for run in 0..groups[at].runs.len() {
            for role in 0..groups[at].runs[run].roles.len() {
                let beside = BASES.map(|base| beside_role(groups, (at, run, role), base));
                let row = &mut groups[at].runs[run].roles[role];
                [row.beside, row.beside_volume] = beside;
            }
        }
    }
}

/// What a figure stands beside: the base's name, and what loads and cases must have in common.
#[derive(Clone, Copy)]
struct Base {
    name: fn(&Group) -> Option<&str>,
    loads: fn(&Group) -> &str,
    runs: fn(&Group) -> &str,
}

const BASES: [Base; 2] = [
    // Another engine's on the same volume.
    Base {
        name: |group| Some(&group.label),
        loads: |group| &group.load_peers,
        runs: |group| &group.run_peers,
    },
    // The same engine's on another volume.
    Base {
        name: |group| group.volume.as_deref(),
        loads: |group| &group.load_on_volumes,
        runs: |group| &group.run_on_volumes,
    },
];

fn beside_load(groups: &[Group], at: usize, by: Base) -> Option<RelativeTo> {
    let peer = |group: &Group| (by.loads)(group) == (by.loads)(&groups[at]) && group.load.is_some();
    let base = groups.iter().position(|group| group.competes() && peer(group))?;
    let rate = |group: usize| groups[group].load.as_ref()?.metrics.get(&c::RECORDS_PER_S);
    beside((by.name)(&groups[base])?, groups, [base, at], rate)
}

fn beside_role(
    groups: &[Group],
    (at, run, role): (usize, usize, usize),
    by: Base,
) -> Option<RelativeTo> {
    let peer = |group: &Group| (by.runs)(group) == (by.runs)(&groups[at]);
    let base = groups.iter().position(|group| group.competes() && peer(group))?;
    let rate =
        |group: usize| groups[group].runs.get(run)?.roles.get(role)?.metrics.get(&c::OPS_PER_S);
    beside((by.name)(&groups[base])?, groups, [base, at], rate)
}

fn beside<'g>(
    name: &str,
    groups: &'g [Group],
    [base, at]: [usize; 2],
    figure: impl Fn(usize) -> Option<&'g Metric>,
) -> Option<RelativeTo> {
    if base == at {
        return RelativeTo::itself(name, figure(at)?);
    }
    RelativeTo::between(name, (&groups[base], figure(base)?), (&groups[at], figure(at)?))
}
