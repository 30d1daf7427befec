//! The engines of a run in order, by question: who is best at what, by what factor the others are
//! behind, and which of them are tied.
//!
//! Only equal work is ranked, and only within a durability class. Differences are judged as `kvdyno
//! compare` judges two engines of a run. An engine without a figure comes last, with the reason.

mod question;
mod standing;
#[cfg(test)]
mod tests;

use crate::figures::Figures;
use crate::figures::catalogue as c;
use crate::figures::engines::{EngineInfo, name};
use crate::figures::evidence::Evidence;
use crate::figures::group::{Group, PhasePeers, RoleRow, RunRow};
use crate::figures::lists::{group_equal, has_several, unique};
use crate::figures::lost::Lost;
use crate::figures::metric::{Definition, Direction, Metric, Metrics};
use crate::figures::naming::list_settings;
use crate::figures::sweep::{format_threads, threads_in_words};
use kvdyno_record::engine::{Capabilities, Durability};
use kvdyno_record::workload::reads;
pub use question::Question;
use schemars::JsonSchema;
use serde::Serialize;
use standing::Runner;
pub use standing::Standing;

/// The engines at one question, the best first.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Ranking {
    /// The question.
    pub question: Question,
    /// The one to look at first among several with the same question and setting: a measured phase
    /// before a load, a role by itself before one with others, in the order of the plan.
    pub main: bool,
    /// Data, RAM and volume, where they distinguish it from others of the run.
    pub setting: String,
    /// The durability class: engines of other classes have rankings of their own.
    pub durability: Durability,
    /// The part of the suite; null: it has none.
    pub part: Option<String>,
    /// The phase.
    pub phase: String,
    /// The role; null for figures of the whole process.
    pub role: Option<String>,
    /// The operation, for a role that does several; null: all of them.
    pub op: Option<String>,
    /// The swept number of threads at which most engines have figures; of several, the largest.
    pub threads: Option<u32>,
    /// The threads of its role in words: `4 threads`, `with 4 readers`.
    #[serde(skip)]
    pub(crate) threads_in_words: Option<String>,
    /// The figure's name, as in the catalogue.
    pub figure: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// Which way is better.
    pub direction: Direction,
    /// The engines, the best first; those without a figure last.
    pub standings: Vec<Standing>,
}

impl Ranking {
    /// A column head: `reads/s`, `update p99 us`.
    pub fn title(&self) -> String {
        match (&self.op, self.question) {
            (Some(op), Question::Tail) => format!("{op} p99.9 us"),
            (Some(op), _) => format!("{op} p99 us"),
            (None, question) => question.title().to_owned(),
        }
    }

    /// `overwrite writer, 4 threads`: the phase and role behind it.
    pub fn source(&self) -> String {
        let role = self.role.as_ref().filter(|role| **role != self.phase);
        let text = role.map_or_else(|| self.phase.clone(), |role| format!("{} {role}", self.phase));
        match &self.threads_in_words {
            Some(threads) => format!("{text}, {threads}"),
            None => text,
        }
    }

    /// The engine's standing.
    pub fn standing(&self, engine: &str) -> Option<&Standing> {
        self.standings.iter().find(|standing| standing.engine == engine)
    }
}

/// All rankings: setting by setting, question by question, the main one of each first.
pub(crate) fn list_rankings(evidence: &Evidence, figures: &Figures) -> Vec<Ranking> {
    let Figures { groups, engines, .. } = figures;
    let competing = groups.iter().enumerate().filter(|(_, group)| group.competes());
    let means = |group: &Group| (group.data_sizes(), group.ram(), group.volume.clone());
    let fields = group_equal(competing, |a, b| means(a.1) == means(b.1));
    let mut rankings = Vec::new();
    for all in fields {
        // With one engine only there is nothing to rank.
        if !has_several(all.iter().map(|(_, group)| group.engine_label())) {
            continue;
        }
        let setting = &list_settings(groups, all[0].1, true).join(", ");
        for groups in group_equal(all.iter().copied(), |a, b| a.1.durability == b.1.durability) {
            let field = Field { evidence, engines, setting, groups };
            rankings.extend(field.rankings());
        }
    }
    rankings
}

/// Groups with the same data, resources and durability class.
struct Field<'g> {
    evidence: &'g Evidence,
    engines: &'g [EngineInfo],
    setting: &'g str,
    groups: Vec<(usize, &'g Group)>,
}

/// A figure of a group that answers a question.
#[derive(Clone, Copy)]
struct Entry<'g> {
    index: usize,
    group: &'g Group,
    question: Question,
    phase: &'g str,
    /// None: a load.
    run: Option<&'g RunRow>,
    /// None: the figure is the whole phase's.
    role: Option<&'g RoleRow>,
    /// None: the figure is of all the role's operations.
    op: Option<&'g str>,
    /// The operations, as the role's row names them.
    mix: &'g str,
    metric: &'g Metric,
}

impl<'g> Entry<'g> {
    /// The key of equal work of one part, at any number of threads.
    fn work(&self) -> (Question, Option<&'g str>, [&'g str; 3], (u64, &'g str)) {
        let group = self.group;
        let peers = self.peers_key(|peers| peers.answer);
        let role = self.role.map_or("", |role| &role.role);
        let scope = [self.phase, role, self.op.unwrap_or_default()];
        (self.question, group.part.as_deref(), scope, peers)
    }

    /// The key of equal work at one number of threads.
    fn peers(&self) -> (u64, &'g str) {
        self.peers_key(|peers| peers.engines)
    }

    fn peers_key(&self, of_run: impl Fn(&PhasePeers) -> u64) -> (u64, &'g str) {
        self.run.map_or((0, self.group.load_peers.as_str()), |run| (of_run(&run.peers), ""))
    }

    /// The sort key: the first to look at is the smallest.
    fn order(&self) -> (Question, usize) {
        (self.question, self.run.map_or(usize::MAX, |run| run.roles.len()))
    }
}

impl<'g> Field<'g> {
    fn rankings(&self) -> Vec<Ranking> {
        let mut sets = group_equal(self.entries(), |a, b| a.work() == b.work());
        sets.sort_by_key(|set| set[0].order());
        let mut rankings: Vec<Ranking> = Vec::new();
        for set in sets {
            let has_question = |ranking: &Ranking| {
                (ranking.question, ranking.op.as_deref()) == (set[0].question, set[0].op)
            };
            let main = !rankings.iter().any(has_question);
            rankings.extend(self.ranking(set, main));
        }
        rankings
    }

    fn entries(&self) -> Vec<Entry<'g>> {
        let mut entries = Vec::new();
        for &(index, group) in &self.groups {
            if let Some(load) = &group.load {
                let whole = |question, figure| {
                    let metric = load.metrics.get(figure)?;
                    let (phase, mix) = (load.phase.as_str(), "insert");
                    Some(Entry {
                        index,
                        group,
                        question,
                        phase,
                        run: None,
                        role: None,
                        op: None,
                        mix,
                        metric,
                    })
                };
                entries.extend(whole(Question::Loading, &c::RECORDS_PER_S));
                entries.extend(whole(Question::Space, &c::SPACE_AMPLIFICATION));
                entries.extend(whole(Question::WriteAmplification, &c::WRITE_AMPLIFICATION));
            }
            for run in &group.runs {
                add_run_entries(index, group, run, &mut entries);
            }
        }
        entries
    }

    /// Ranks the engines at the number of threads at which most have figures, and adds those that
    /// are absent; none without any figure.
    fn ranking(&self, set: Vec<Entry<'g>>, main: bool) -> Option<Ranking> {
        let figures = |entries: &[Entry<'_>]| {
            entries.iter().filter(|entry| entry.metric.value.is_some()).count()
        };
        let sets = group_equal(set, |a, b| a.peers() == b.peers());
        let chosen = sets.into_iter().max_by_key(|set| (figures(set), set[0].group.threads))?;
        // Where each number of threads has its own load, the first represents all.
        let chosen = group_equal(chosen, |a, b| a.group.label == b.group.label);
        let chosen: Vec<Entry<'g>> = chosen.into_iter().map(|entries| entries[0]).collect();
        let first = *chosen.first()?;
        let runners = chosen.iter().map(|&Entry { index, group, metric, .. }| Runner {
            standing: Standing::new(name(self.engines, group, true), index, group, metric),
            metric,
            group,
        });
        let mut standings = standing::rank_runners(runners.collect(), first.metric.direction)?;
        standings.extend(self.absent_standings(&chosen, &first));
        for standing in &mut standings {
            standing.lost = self.losses(&standing.engine);
        }
        Some(Ranking {
            question: first.question,
            main,
            setting: self.setting.to_owned(),
            durability: first.group.durability,
            part: first.group.part.clone(),
            phase: first.phase.to_owned(),
            role: first.role.map(|role| role.role.clone()),
            op: first.op.map(str::to_owned),
            threads: first.group.threads_swept.filter(|_| first.run.is_some()),
            threads_in_words: self.threads_in_words(&first),
            figure: first.metric.name,
            unit: first.metric.unit,
            direction: first.metric.direction,
            standings,
        })
    }

    /// The threads of a swept point; none: nothing is swept, or it is a load.
    fn threads_in_words(&self, entry: &Entry<'_>) -> Option<String> {
        let swept = entry.group.threads_swept?;
        let run = entry.run?;
        let groups = self.groups.iter().map(|(_, group)| *group);
        let at = entry.role.and_then(|role| run.roles.iter().position(|r| r.role == role.role));
        Some(match at {
            Some(at) => threads_in_words(&groups, entry.group, run, at),
            None => format_threads(swept),
        })
    }

    /// Engines of the field that did not do this work, each with the reason.
    fn absent_standings(&self, chosen: &[Entry<'_>], first: &Entry<'_>) -> Vec<Standing> {
        let took_part =
            |label: &str| chosen.iter().any(|entry| entry.group.engine_label() == label);
        let labels = unique(self.groups.iter().map(|(_, group)| group.engine_label()));
        let absent = labels.into_iter().filter(|label| !took_part(label));
        absent
            .filter_map(|label| {
                let groups =
                    || self.groups.iter().filter(|(_, group)| group.engine_label() == label);
                let (_, group) = groups().next()?;
                let cannot =
                    groups().find_map(|(_, group)| self.explain_inability(group, first.mix));
                let why = cannot
                    .unwrap_or_else(|| explain_absence(groups().map(|(_, group)| *group), first));
                Some(Standing::absent(name(self.engines, group, true), why))
            })
            .collect()
    }

    /// The engine's losses in this class.
    fn losses(&self, engine: &str) -> Option<Lost> {
        let is_engine = |(_, group): &&(usize, &Group)| name(self.engines, group, true) == engine;
        let (_, group) = self.groups.iter().find(is_engine)?;
        let is_class =
            |info: &&EngineInfo| (&info.label, info.durability) == (&group.label, group.durability);
        self.engines.iter().find(is_class)?.lost
    }

    /// Why the engine cannot do a mix.
    fn explain_inability(&self, group: &Group, mix: &str) -> Option<&'static str> {
        let mut cases = self.evidence.cases.iter().filter(|case| case.case.key == group.key);
        let able: &Capabilities = cases.find_map(|case| case.capabilities())?;
        mix.split('+').find_map(|op| match op {
            "scan" | "walk" if !able.scan_forward && !able.scan_reverse => Some("it has no scans"),
            "delete" if !able.delete => Some("it has no deletes"),
            "open" | "recover" if able.external_processes => {
                Some("it is a server, which its client does not open")
            }
            _ => None,
        })
    }
}

/// Why an engine's groups have no entry beside the first of a ranking.
fn explain_absence<'g>(
    groups: impl Iterator<Item = &'g Group> + Clone,
    first: &Entry<'_>,
) -> &'static str {
    // For each group that has the phase: whether it did the same work.
    let alike: Vec<bool> = match first.run {
        Some(first_run) => {
            let runs = groups.flat_map(|group| &group.runs).filter(|run| run.phase == first.phase);
            runs.map(|run| run.peers.answer == first_run.peers.answer).collect()
        }
        None => {
            let loads = groups
                .filter(|group| group.load.as_ref().is_some_and(|load| load.phase == first.phase));
            let is_equal = |group: &Group| group.load_peers == first.group.load_peers;
            loads.map(is_equal).collect()
        }
    };
    match first.question {
        _ if alike.is_empty() => "not planned for it",
        _ if !alike.contains(&true) => "its cases do other work",
        Question::WriteAmplification if first.run.is_some() => {
            "it wrote less than its database holds"
        }
        _ => "no figure",
    }
}

/// Adds the entries of a phase's roles, and of the phase as a whole.
fn add_run_entries<'g>(
    index: usize,
    group: &'g Group,
    run: &'g RunRow,
    entries: &mut Vec<Entry<'g>>,
) {
    let writer = run.roles.iter().find(|role| role.does.writes);
    for role in &run.roles {
        let mut add = |question, op: Option<&'g str>, metrics: &'g Metrics, figure: &Definition| {
            let Some(metric) = metrics.get(figure) else { return };
            let (phase, mix) = (run.phase.as_str(), op.unwrap_or(&role.mix));
            let role = Some(role);
            let run = Some(run);
            entries.push(Entry { index, group, question, phase, run, role, op, mix, metric });
        };
        // A role with an offered rate or pauses is not ranked by its rate.
        if !role.paced {
            let question = Question::from_mix(role.does, &role.mix);
            add(question, None, &role.metrics, question.figure());
        }
        for row in &role.ops {
            let question =
                if reads(&row.op) { Question::ReadLatency } else { Question::WriteLatency };
            add(question, Some(&row.op), &row.metrics, role.p99());
        }
        let beside_writer = writer.is_some_and(|writer| writer.role != role.role);
        if beside_writer && !role.does.writes {
            let tail = if role.open_loop { &c::RESPONSE_P999 } else { &c::SERVICE_P999 };
            for (op, metrics) in role.metrics_by_operation() {
                add(Question::Tail, Some(op).filter(|_| role.is_mix()), metrics, tail);
            }
        }
    }
    let Some(writer) = writer else { return };
    let mut whole = |question, figure: &Definition| {
        let Some(metric) = run.metrics.get(figure) else { return };
        let (phase, mix) = (run.phase.as_str(), writer.mix.as_str());
        let (run, role, op) = (Some(run), None, None);
        entries.push(Entry { index, group, question, phase, run, role, op, mix, metric });
    };
    whole(Question::Space, &c::SPACE_AMPLIFICATION);
    if overwrites_all(group, run) {
        whole(Question::WriteAmplification, &c::WRITE_AMPLIFICATION);
    }
}

/// Whether a phase wrote as much as the database holds. Until then, an LSM tree has not yet done
/// much of its work.
fn overwrites_all(group: &Group, run: &RunRow) -> bool {
    let written = run.roles.iter().map(|role| {
        let ops: Vec<&Metrics> = if role.is_mix() {
            role.ops.iter().filter(|row| !reads(&row.op)).map(|row| &row.metrics).collect()
        } else {
            Some(&role.metrics).filter(|_| role.does.writes).into_iter().collect()
        };
        let count = |metrics: &&Metrics| metrics.value(&c::ITEMS_PER_S).unwrap_or(0.0);
        let of_rate_s = role.metrics.value(&c::RATE_WINDOW).unwrap_or(0.0) / 1e9;
        ops.iter().map(count).sum::<f64>() * of_rate_s
    });
    written.sum::<f64>() >= group.records as f64
}
