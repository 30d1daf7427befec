//! A run's answer in a sentence for each workload: who does how many times as much as whom, and how
//! sure that is.
//!
//! Engines are compared at the same work and durability class only; the null engine never is. A
//! ratio's range is the widest that the two ranges allow: low over high to high over low.

mod clause;
mod words;

use super::catalogue as c;
use super::group::{Group, RoleRow};
use super::metric::Metric;
use super::summary::Summary;
use crate::units;
use clause::Standing;
use schemars::JsonSchema;
use serde::Serialize;
use words::Words;

/// What a workload's figures come to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Answer {
    /// The phase, and what sets it apart from others of the run.
    pub workload: String,
    /// One sentence.
    pub sentence: String,
}

/// An answer for each workload: loads first, in the order of the plan.
pub fn answers(summary: &Summary) -> Vec<Answer> {
    let mut loads: Vec<Answer> = Vec::new();
    let mut runs: Vec<Answer> = Vec::new();
    for members in settings(&summary.groups) {
        let first = members[0];
        let apart = apart(summary, first);
        if let Some(sentence) = load_sentence(&members) {
            let phase = first.load.as_ref().map_or("load", |load| load.phase.as_str());
            loads.push(Answer { workload: format!("{phase}{apart}"), sentence });
        }
        for (at, run) in first.runs.iter().enumerate() {
            if let Some(sentence) = run_sentence(&members, at) {
                runs.push(Answer { workload: format!("{}{apart}", run.phase), sentence });
            }
        }
    }
    loads.extend(runs);
    loads
}

/// Groups that do the same work with the same means, numbers of threads and engines aside.
fn settings(groups: &[Group]) -> Vec<Vec<&Group>> {
    let mut settings: Vec<Vec<&Group>> = Vec::new();
    for group in groups.iter().filter(|group| !group.measures_the_harness) {
        match settings.iter_mut().find(|members| same_setting(members[0], group)) {
            Some(members) => members.push(group),
            None => settings.push(vec![group]),
        }
    }
    settings
}

fn same_setting(a: &Group, b: &Group) -> bool {
    let data = |group: &Group| (group.records, group.key_bytes, group.value_bytes_mean);
    let means = |group: &Group| (group.ram_limit_bytes, group.durability);
    let phases = |group: &Group| -> Vec<String> {
        let of_role = |role: &RoleRow| format!("{} {} {}", role.role, role.mix, role.open_loop);
        group
            .runs
            .iter()
            .flat_map(|run| run.roles.iter().map(|r| format!("{} {}", run.phase, of_role(r))))
            .collect()
    };
    data(a) == data(b) && means(a) == means(b) && phases(a) == phases(b)
}

/// What sets a group's setting apart where a run has several: `, RAM 64GiB, durability commit`.
fn apart(summary: &Summary, group: &Group) -> String {
    let others = || summary.groups.iter().filter(|other| !other.measures_the_harness);
    let mut text = String::new();
    let data = |group: &Group| (group.records, group.key_bytes, group.value_bytes_mean);
    if others().any(|other| data(other) != data(group)) {
        let (key, value) = (group.key_bytes, group.value_bytes_mean);
        text += &format!(", {} x {key}+{value} bytes", units::exact_count(group.records));
    }
    if others().any(|other| other.ram_limit_bytes != group.ram_limit_bytes) {
        text += &match group.ram_limit_bytes {
            Some(bytes) => format!(", RAM {}", units::bytes(bytes)),
            None => ", no RAM limit".to_owned(),
        };
    }
    if others().any(|other| other.durability != group.durability) {
        text += &format!(", durability {}", group.durability.as_str());
    }
    text
}

fn load_sentence(members: &[&Group]) -> Option<String> {
    let first = members.iter().find(|group| group.load.is_some())?;
    let peers = members.iter().filter(|group| group.load_peers == first.load_peers);
    let standings = peers.filter(|group| group.load.is_some()).map(|group| {
        Standing::new(group, group.load.as_ref().and_then(|l| l.metrics.get(&c::RECORDS_PER_S)))
    });
    let text = clause::rates(standings.collect(), &words::LOADS)?;
    Some(format!("{text}."))
}

/// At the most threads that the most engines have figures for.
fn run_sentence(members: &[&Group], at: usize) -> Option<String> {
    let chosen = by_threads(members).into_iter().max_by_key(|peers| {
        let threads = peers[0].threads;
        let figures = peers.iter().filter(|group| rate(group, at, 0).is_some()).count();
        (figures, threads)
    })?;
    let roles = &chosen[0].runs.get(at)?.roles;
    let clauses: Vec<String> =
        (0..roles.len()).filter_map(|role| role_clause(members, &chosen, at, role)).collect();
    if clauses.is_empty() {
        return None;
    }
    Some(format!("At {}: {}.", words::threads(roles), clauses.join("; ")))
}

/// Groups that differ in their engine alone, for each number of threads.
fn by_threads<'g>(members: &[&'g Group]) -> Vec<Vec<&'g Group>> {
    let mut sets: Vec<Vec<&Group>> = Vec::new();
    for group in members {
        match sets.iter_mut().find(|set| set[0].run_peers == group.run_peers) {
            Some(set) => set.push(group),
            None => sets.push(vec![group]),
        }
    }
    sets
}

fn role_clause<'g>(
    members: &[&'g Group],
    chosen: &[&'g Group],
    at: usize,
    role: usize,
) -> Option<String> {
    let row = chosen[0].runs.get(at)?.roles.get(role)?;
    if row.open_loop {
        let standings = standings(chosen, |group| metric(group, at, role, &c::RESPONSE_P99));
        return clause::responses(standings, &row.role);
    }
    let rates = |groups: &[&'g Group]| standings(groups, |group| rate(group, at, role));
    let words = Words::of(&row.mix);
    let text = clause::rates(rates(chosen), &words)?;
    let leader = clause::leader(rates(chosen));
    let reversed = by_threads(members).into_iter().filter(|peers| {
        let other = clause::leader(rates(peers));
        leader.is_some() && other.is_some() && other != leader
    });
    let threads: Vec<String> =
        reversed.filter_map(|peers| Some(peers[0].threads?.to_string())).collect();
    Some(match threads.as_slice() {
        [] => text,
        threads => format!("{text} (another leads at {})", words::list(threads)),
    })
}

fn standings<'g>(
    groups: &[&'g Group],
    figure: impl Fn(&'g Group) -> Option<&'g Metric>,
) -> Vec<Standing<'g>> {
    groups.iter().map(|group| Standing::new(group, figure(group))).collect()
}

fn rate(group: &Group, at: usize, role: usize) -> Option<&Metric> {
    metric(group, at, role, &c::OPS_PER_S).filter(|metric| metric.value.is_some())
}

fn metric<'g>(
    group: &'g Group,
    at: usize,
    role: usize,
    definition: &super::metric::Definition,
) -> Option<&'g Metric> {
    group.runs.get(at)?.roles.get(role)?.metrics.get(definition)
}

#[cfg(test)]
mod tests;
