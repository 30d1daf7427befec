//! The effect of the volume: each engine compared with itself on other volumes.

use super::clause::{self, Standing};
use super::words::{self, Words};
use super::workload::{Answer, join_settings, list_settings, metric, rate};
use crate::figures::Figures;
use crate::figures::catalogue as c;
use crate::figures::engines::title;
use crate::figures::group::Group;
use crate::figures::lists::group_equal;
use crate::figures::metric::Metric;

/// A sentence for each engine that was on several volumes: first for its loads, then for its
/// measured phases.
pub(super) fn answers(figures: &Figures) -> (Vec<Answer>, Vec<Answer>) {
    let on_volumes = || {
        let competing = figures.groups.iter().filter(|group| group.competes());
        competing.filter(|group| group.volume.is_some())
    };
    let engine_name = |group: &Group| {
        join_settings(title(&figures.engines, group), &list_settings(figures, group, false))
    };
    // On one volume a load may be its own case, on another the first phase of a case.
    let with_loads = on_volumes().filter(|group| group.load.is_some());
    let loads = group_equal(with_loads, |a, b| a.load_on_volumes == b.load_on_volumes);
    let loads = loads.into_iter().filter_map(|groups| {
        let workload = format!("load, {} by volume", engine_name(groups[0]));
        Some(Answer { workload, sentence: load(figures, groups)? })
    });
    let mut runs = Vec::new();
    let first = |group: &Group| group.runs.first().map(|run| run.peers.answer_on_volumes);
    for groups in group_equal(on_volumes(), |a, b| first(a) == first(b)) {
        let name = engine_name(groups[0]);
        for run_row in &groups[0].runs {
            let phase = run_row.phase.as_str();
            if let Some(sentence) = run(figures, &groups, phase) {
                runs.push(Answer { workload: format!("{phase}, {name} by volume"), sentence });
            }
        }
    }
    (loads.collect(), runs)
}

/// One group per volume, where there are several volumes.
fn group_per_volume<'s>(groups: impl Iterator<Item = &'s Group>) -> Option<Vec<&'s Group>> {
    let by_volume = group_equal(groups, |a, b| a.volume == b.volume);
    (by_volume.len() > 1).then(|| by_volume.into_iter().map(|groups| groups[0]).collect())
}

fn load<'s>(figures: &Figures, groups: Vec<&'s Group>) -> Option<String> {
    let groups = group_per_volume(groups.into_iter())?;
    let name = title(&figures.engines, groups[0]);
    let rate = |group: &'s Group| group.load.as_ref()?.metrics.get(&c::RECORDS_PER_S);
    Some(format!("{}.", sentence(&groups, name, rate, &words::LOADS)?))
}

/// Uses the number of threads at which most volumes have figures. Leaves out roles with a target
/// rate: their rate is the target.
fn run<'s>(figures: &Figures, groups: &[&'s Group], phase: &str) -> Option<String> {
    let peers = |group: &Group| group.run(phase).map(|run| run.peers.volumes);
    let measured_it = groups.iter().copied().filter(|group| peers(group).is_some());
    let sets = group_equal(measured_it, |a, b| peers(a) == peers(b));
    let rates = |group: &&&Group| rate(group, phase, 0).is_some();
    let measured = |set: &[&Group]| set.iter().filter(rates).count();
    let set = sets.into_iter().max_by_key(|set| (measured(set), set[0].threads))?;
    let groups = group_per_volume(set.into_iter())?;
    let first = groups[0].run(phase)?;
    let name = title(&figures.engines, groups[0]);
    let clauses = first.roles.iter().enumerate().filter(|(_, role)| !role.open_loop);
    let clauses: Vec<String> = clauses
        .filter_map(|(role, row)| {
            let rate = |group: &'s Group| metric(group, phase, role, &c::OPS_PER_S);
            sentence(&groups, name, rate, &Words::for_mix(&row.mix))
        })
        .collect();
    let threads = words::threads(&first.roles);
    let text = format!("At {threads}: {}.", clauses.join("; "));
    (!clauses.is_empty()).then_some(text)
}

fn sentence<'s>(
    groups: &[&'s Group],
    name: &str,
    figure: impl Fn(&'s Group) -> Option<&'s Metric>,
    words: &Words,
) -> Option<String> {
    let volume = |group: &Group| group.volume.clone().unwrap_or_default();
    let names: Vec<String> =
        groups.iter().map(|group| format!("{name} on {}", volume(group))).collect();
    let standings = groups.iter().zip(&names);
    let standings = standings.map(|(group, name)| Standing::new(name, group, figure(group)));
    clause::rates(standings.collect(), words)
}
