//! A run's answer, one sentence per workload: which engine is faster, by what factor, and how
//! certain that is.
//!
//! Engines are compared only at the same work and durability class; the null engine is left out. A
//! ratio's range is the widest that both ranges allow: low over high to high over low.

mod clause;
mod drive;
mod drives;
mod headline;
mod openings;
mod volumes;
mod words;
mod workload;

use super::search::SearchResult;
use crate::figures::Figures;
use crate::figures::catalogue as c;
use crate::figures::engines::name;
use crate::figures::group::{Group, RoleRow, RunRow};
use crate::figures::lists::{group_equal, has_several, list, unique};
use crate::figures::metric::Metric;
use crate::judge::claim::Claimed;
use clause::Standing;
use words::Words;
pub use workload::Answer;
use workload::{join_settings, list_settings, rate};

/// The run's answer in sentences: the headline, then a sentence for each workload.
pub(crate) fn sentences(
    figures: &Figures,
    search: Option<&SearchResult>,
    claims: &[Claimed],
) -> Vec<String> {
    let each = answers(figures, search).into_iter();
    let each = each.map(|answer| format!("{}: {}", answer.workload, answer.sentence));
    headline::headline(figures, search, claims).into_iter().chain(each).collect()
}

/// An answer for each workload: loads first, in the order of the plan.
pub fn answers(figures: &Figures, search: Option<&SearchResult>) -> Vec<Answer> {
    let (mut loads, mut runs) = (Vec::new(), Vec::new());
    for setting in settings(figures) {
        let first = setting.groups[0];
        let settings = list_settings(figures, first, true);
        if let Some(sentence) = setting.load_sentence() {
            let phase = first.load.as_ref().map_or("load", |load| load.phase.as_str());
            loads.push(Answer { workload: join_settings(phase, &settings), sentence });
        }
        for phase in setting.phases() {
            if let Some(sentence) = setting.run_sentence(phase) {
                runs.push(Answer { workload: join_settings(phase, &settings), sentence });
            }
        }
    }
    let (mut loads_by_volume, mut runs_by_volume) = volumes::answers(figures);
    loads.append(&mut loads_by_volume);
    match search {
        None => {
            loads.append(&mut runs);
            loads.append(&mut runs_by_volume);
        }
        // A search has one answer for all its points.
        Some(search) => {
            let (workload, sentence) = (search.phase.clone(), search.sentences.join(" "));
            loads.insert(0, Answer { workload, sentence });
        }
    }
    loads
}

/// Groups with the same work and resources; threads and engines may differ.
struct Setting<'s> {
    figures: &'s Figures,
    groups: Vec<&'s Group>,
}

fn settings(figures: &Figures) -> Vec<Setting<'_>> {
    let competing = figures.groups.iter().filter(|group| group.competes());
    // Only the first measured phase counts: an engine may be unable to do the later ones.
    let first = |group: &Group| group.runs.first().map(|run| run.peers.answer);
    let sets = group_equal(competing, |a, b| match (first(a), first(b)) {
        (None, None) => a.load_peers == b.load_peers,
        (a, b) => a == b,
    });
    sets.into_iter().map(|groups| Setting { figures, groups }).collect()
}

impl<'s> Setting<'s> {
    /// The measured phases of all engines, by their names.
    fn phases(&self) -> Vec<&'s str> {
        unique(self.groups.iter().flat_map(|group| &group.runs).map(|run| run.phase.as_str()))
    }

    /// Equal loads of all engines.
    fn loads(&self) -> Vec<&'s Group> {
        let Some(first) = self.groups.iter().find(|group| group.load.is_some()) else {
            return Vec::new();
        };
        let loads = |group: &&&Group| group.load.is_some() && group.load_peers == first.load_peers;
        let peers = self.groups.iter().filter(loads).copied();
        // Where each number of threads has its own load, the first one represents the engine.
        let peers = group_equal(peers, |a, b| a.label == b.label);
        peers.into_iter().map(|groups| groups[0]).collect()
    }

    fn load_sentence(&self) -> Option<String> {
        let peers = self.loads();
        let standings =
            self.standings(&peers, |group| group.load.as_ref()?.metrics.get(&c::RECORDS_PER_S));
        let text = clause::rates(standings, &words::LOADS)?;
        Some(format!("{text}."))
    }

    /// Uses the number of threads at which most engines have figures; of several, the largest.
    fn run_sentence(&self, phase: &str) -> Option<String> {
        let chosen = self.pick_peers(phase)?;
        let roles = &chosen[0].run(phase)?.roles;
        if let Some(sentence) = self.opening_sentence(&chosen, phase) {
            return Some(sentence);
        }
        let clauses: Vec<String> =
            (0..roles.len()).filter_map(|role| self.role_clause(&chosen, phase, role)).collect();
        if clauses.is_empty() {
            return None;
        }
        let drive = drive::sentence(self.ceilings(&chosen, phase));
        Some(format!("At {}: {}.{drive}", words::threads(roles), clauses.join("; ")))
    }

    /// The sentence of a phase that opens the engines; none for any other phase.
    fn opening_sentence(&self, chosen: &[&'s Group], phase: &str) -> Option<String> {
        let time = |group: &&'s Group| {
            if group.is_void() {
                return None;
            }
            let role = group.run(phase)?.roles.first()?;
            Some((self.name(group), role.metrics.value(&c::SERVICE_MEAN)?))
        };
        let times: Vec<_> = chosen.iter().filter_map(time).collect();
        openings::sentence(&chosen.first()?.run(phase)?.roles.first()?.mix, &times)
    }

    /// The engines at the number of threads at which most have figures; of several, the largest.
    fn pick_peers(&self, phase: &str) -> Option<Vec<&'s Group>> {
        self.groups_by_threads(phase).into_iter().max_by_key(|peers| {
            let threads = peers[0].threads;
            let figures = peers.iter().filter(|group| rate(group, phase, 0).is_some()).count();
            (figures, threads)
        })
    }

    /// Each engine's name, with its row.
    fn ceilings(&self, groups: &[&'s Group], phase: &str) -> Vec<(&'s str, &'s RunRow)> {
        let run = |group: &&'s Group| Some((self.name(group), group.run(phase)?));
        groups.iter().filter_map(run).collect()
    }

    /// Groups that differ in their engine alone, for each number of threads.
    fn groups_by_threads(&self, phase: &str) -> Vec<Vec<&'s Group>> {
        let peers = |group: &Group| group.run(phase).map(|run| run.peers.engines);
        let groups = self.groups.iter().copied().filter(|group| peers(group).is_some());
        group_equal(groups, |a, b| peers(a) == peers(b))
    }

    fn role_clause(&self, chosen: &[&'s Group], phase: &str, role: usize) -> Option<String> {
        let row = chosen[0].run(phase)?.roles.get(role)?;
        if row.open_loop {
            let offered = row.offered_rate();
            let each = row.metrics_by_operation().enumerate().filter_map(|(op, (name, _))| {
                let response = |group: &'s Group| {
                    let row = group.run(phase)?.roles.get(role)?;
                    let (_, metrics) = row.metrics_by_operation().nth(op)?;
                    metrics.get(&c::RESPONSE_P99)
                };
                let who = if row.is_mix() {
                    format!("{} of {}", words::format_operations(name), row.role)
                } else {
                    row.role.clone()
                };
                clause::responses(self.standings(chosen, response), &who, offered)
            });
            let behind = clause::describe_behind(&self.role_rows(chosen, phase, role));
            let behind = behind.map(|behind| format!("as {}, {behind}", row.role));
            let each: Vec<String> = each.chain(behind).collect();
            return (!each.is_empty()).then(|| each.join("; "));
        }
        let rates = |groups: &[&'s Group]| self.standings(groups, |group| rate(group, phase, role));
        let text = clause::rates(rates(chosen), &Words::for_mix(&row.mix))?;
        let leader = clause::leader(rates(chosen));
        let reversed = self.groups_by_threads(phase).into_iter().filter(|peers| {
            let other = clause::leader(rates(peers));
            leader.is_some() && other.is_some() && other != leader
        });
        let threads: Vec<String> =
            reversed.filter_map(|peers| Some(peers[0].threads?.to_string())).collect();
        Some(match threads.as_slice() {
            [] => text,
            threads => format!("{text} (another leads at {})", list(threads)),
        })
    }

    /// The rows of a role, each with its engine's name.
    fn role_rows(
        &self,
        groups: &[&'s Group],
        phase: &str,
        role: usize,
    ) -> Vec<(&'s str, &'s RoleRow)> {
        let row = |group: &&'s Group| Some((self.name(group), group.run(phase)?.roles.get(role)?));
        groups.iter().filter_map(row).collect()
    }

    fn standings(
        &self,
        groups: &[&'s Group],
        figure: impl Fn(&'s Group) -> Option<&'s Metric>,
    ) -> Vec<Standing<'s>> {
        let standing = |group: &&'s Group| Standing::new(self.name(group), group, figure(group));
        groups.iter().map(standing).collect()
    }

    /// The engine's usual name, unless the suite labels it.
    fn name(&self, group: &'s Group) -> &'s str {
        let one_part = !has_several(self.groups.iter().map(|group| &group.part));
        name(&self.figures.engines, group, one_part)
    }
}

#[cfg(test)]
mod tests;
