//! The engines of a run in order, question by question: who is best at what, how many times behind
//! the others are, and which of them cannot be told apart.
//!
//! Only equal work is ranked, and only within a durability class. What two figures are worth is
//! what `kvdyno compare` says of two engines of a run: interval, rank test and noise. An engine
//! that has no figure stands at the end, with the reason.

mod question;
mod standing;
#[cfg(test)]
mod tests;

use super::answer::setting;
use super::catalogue as c;
use super::engines::{EngineInfo, name};
use super::evidence::Evidence;
use super::group::{Group, RoleRow, RunRow};
use super::lists::{several, together, unique};
use super::lost::Lost;
use super::metric::{Definition, Direction, Metric, Metrics};
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
    /// What is asked.
    pub question: Question,
    /// Of several that answer the question at one setting, the first to look at: measured before
    /// loaded, by itself before beside others, in the order of the plan.
    pub main: bool,
    /// Data, RAM and volume, where those set it apart from others of the run.
    pub setting: String,
    /// What "done" meant for a write: engines of other classes have rankings of their own.
    pub durability: Durability,
    /// The part of the suite; null: it has none.
    pub part: Option<String>,
    /// The phase.
    pub phase: String,
    /// The role; null for figures of the whole process.
    pub role: Option<String>,
    /// The operation, of a role that does several; null: all of them.
    pub op: Option<String>,
    /// The swept number of threads: the most that most engines have figures for.
    pub threads: Option<u32>,
    /// The figure's name, as in the catalogue.
    pub figure: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// Which way is better.
    pub direction: Direction,
    /// The best first; those without a figure last.
    pub standings: Vec<Standing>,
}

impl Ranking {
    /// Over a column: `reads/s`, `update p99 us`.
    pub fn title(&self) -> String {
        match (&self.op, self.question) {
            (Some(op), Question::Tail) => format!("{op} p99.9 us"),
            (Some(op), _) => format!("{op} p99 us"),
            (None, question) => question.title().to_owned(),
        }
    }

    /// `overwrite writer, 4 threads`: what it was measured by.
    pub fn source(&self) -> String {
        let role = self.role.as_ref().filter(|role| **role != self.phase);
        let text = role.map_or_else(|| self.phase.clone(), |role| format!("{} {role}", self.phase));
        match self.threads {
            Some(1) => text + ", 1 thread",
            Some(threads) => format!("{text}, {threads} threads"),
            None => text,
        }
    }

    /// The engine's standing.
    pub fn standing(&self, engine: &str) -> Option<&Standing> {
        self.standings.iter().find(|standing| standing.engine == engine)
    }
}

/// All rankings: setting by setting, question by question, the main one of each first.
pub(super) fn list_rankings(
    evidence: &Evidence,
    groups: &[Group],
    engines: &[EngineInfo],
) -> Vec<Ranking> {
    let competing = groups.iter().enumerate().filter(|(_, group)| group.competes());
    let means = |group: &Group| (group.data_sizes(), group.ram(), group.volume.clone());
    let fields = together(competing, |a, b| means(a.1) == means(b.1));
    let mut rankings = Vec::new();
    for all in fields {
        // One engine is best at everything.
        if !several(all.iter().map(|(_, group)| group.engine_label())) {
            continue;
        }
        let setting = setting(groups, all[0].1, true);
        let setting = setting.trim_start_matches(", ");
        for groups in together(all.iter().copied(), |a, b| a.1.durability == b.1.durability) {
            let field = Field { evidence, engines, setting, groups };
            rankings.extend(field.rankings());
        }
    }
    rankings
}

/// Groups with the same data, means and durability class.
struct Field<'g> {
    evidence: &'g Evidence,
    engines: &'g [EngineInfo],
    setting: &'g str,
    groups: Vec<(usize, &'g Group)>,
}

/// A figure of a group that answers a question.
#[derive(Clone, Copy)]
struct Entry<'g> {
    at: usize,
    group: &'g Group,
    question: Question,
    phase: &'g str,
    /// None: the whole phase's.
    role: Option<&'g RoleRow>,
    /// None: all of the role's.
    op: Option<&'g str>,
    /// What was done, as the role's row says it.
    mix: &'g str,
    /// Roles beside each other; none: a load.
    roles: Option<usize>,
    metric: &'g Metric,
}

impl<'g> Entry<'g> {
    /// Equal work of one part, the number of threads aside.
    fn work(&self) -> (Question, Option<&'g str>, [&'g str; 3], &'g str) {
        let group = self.group;
        let peers = if self.roles.is_some() { &group.answer_peers } else { &group.load_peers };
        let role = self.role.map_or("", |role| &role.role);
        let place = [self.phase, role, self.op.unwrap_or_default()];
        (self.question, group.part.as_deref(), place, peers)
    }

    fn peers(&self) -> &'g str {
        if self.roles.is_some() { &self.group.run_peers } else { &self.group.load_peers }
    }

    /// The first to look at is the least.
    fn order(&self) -> (Question, usize) {
        (self.question, self.roles.unwrap_or(usize::MAX))
    }
}

impl<'g> Field<'g> {
    fn rankings(&self) -> Vec<Ranking> {
        let mut sets = together(self.entries(), |a, b| a.work() == b.work());
        sets.sort_by_key(|set| set[0].order());
        let mut rankings: Vec<Ranking> = Vec::new();
        for set in sets {
            let is_asked = |known: &Ranking| {
                (known.question, known.op.as_deref()) == (set[0].question, set[0].op)
            };
            let main = !rankings.iter().any(is_asked);
            rankings.extend(self.ranking(set, main));
        }
        rankings
    }

    fn entries(&self) -> Vec<Entry<'g>> {
        let mut entries = Vec::new();
        for &(at, group) in &self.groups {
            if let Some(load) = &group.load {
                let whole = |question, figure| {
                    let metric = load.metrics.get(figure)?;
                    let (phase, mix) = (load.phase.as_str(), "insert");
                    Some(Entry {
                        at,
                        group,
                        question,
                        phase,
                        role: None,
                        op: None,
                        mix,
                        roles: None,
                        metric,
                    })
                };
                entries.extend(whole(Question::Loading, &c::RECORDS_PER_S));
                entries.extend(whole(Question::Space, &c::SPACE_AMPLIFICATION));
                entries.extend(whole(Question::WriteAmplification, &c::WRITE_AMPLIFICATION));
            }
            for run in &group.runs {
                of_run(at, group, run, &mut entries);
            }
        }
        entries
    }

    /// The engines at the most threads that the most of them have figures for, and those that are
    /// not among them; none where nobody has a figure.
    fn ranking(&self, set: Vec<Entry<'g>>, main: bool) -> Option<Ranking> {
        let figures = |entries: &[Entry<'_>]| {
            entries.iter().filter(|entry| entry.metric.value.is_some()).count()
        };
        let sets = together(set, |a, b| a.peers() == b.peers());
        let chosen = sets.into_iter().max_by_key(|set| (figures(set), set[0].group.threads))?;
        // Where each number of threads has a load of its own, the first stands for all.
        let chosen = together(chosen, |a, b| a.group.label == b.group.label);
        let chosen: Vec<Entry<'g>> = chosen.into_iter().map(|own| own[0]).collect();
        let first = *chosen.first()?;
        let runners = chosen.iter().map(|&Entry { at, group, metric, .. }| Runner {
            standing: Standing::new(name(self.engines, group, true), at, group, metric),
            metric,
            trials: group.trial_numbers(),
        });
        let mut standings = standing::ranked(runners.collect(), first.metric.direction)?;
        standings.extend(self.absent(&chosen, &first));
        for standing in &mut standings {
            standing.lost = self.lost(&standing.engine);
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
            threads: first.group.threads_swept.filter(|_| first.roles.is_some()),
            figure: first.metric.name,
            unit: first.metric.unit,
            direction: first.metric.direction,
            standings,
        })
    }

    /// Engines of the field that did not do this work, each with the reason.
    fn absent(&self, chosen: &[Entry<'_>], first: &Entry<'_>) -> Vec<Standing> {
        let there = |label: &str| chosen.iter().any(|entry| entry.group.engine_label() == label);
        let labels = unique(self.groups.iter().map(|(_, group)| group.engine_label()));
        let absent = labels.into_iter().filter(|label| !there(label));
        absent
            .filter_map(|label| {
                let own = || self.groups.iter().filter(|(_, group)| group.engine_label() == label);
                let (_, group) = own().next()?;
                let cannot = own().find_map(|(_, group)| self.cannot(group, first.mix));
                let has = own().any(|(_, group)| {
                    let mut phases = group.runs.iter().map(|run| run.phase.as_str());
                    phases.any(|phase| phase == first.phase)
                });
                let otherwise = if has { "its cases do other work" } else { "not asked of it" };
                let why = cannot.unwrap_or(otherwise);
                Some(Standing::absent(name(self.engines, group, true), why))
            })
            .collect()
    }

    /// What is known of the engine in this class.
    fn lost(&self, engine: &str) -> Option<Lost> {
        let own = |(_, group): &&(usize, &Group)| name(self.engines, group, true) == engine;
        let (_, group) = self.groups.iter().find(own)?;
        let of =
            |info: &&EngineInfo| (&info.label, info.durability) == (&group.label, group.durability);
        self.engines.iter().find(of)?.lost
    }

    /// What the engine does not have of a mix.
    fn cannot(&self, group: &Group, mix: &str) -> Option<&'static str> {
        let mut cases = self.evidence.cases.iter().filter(|case| case.case.key == group.key);
        let able: &Capabilities = cases.find_map(|case| case.capabilities())?;
        mix.split('+').find_map(|op| match op {
            "scan" | "walk" if !able.scan_forward && !able.scan_reverse => Some("it has no scans"),
            "delete" if !able.delete => Some("it has no deletes"),
            _ => None,
        })
    }
}

/// What the roles of a phase, and the phase as a whole, say to which questions.
fn of_run<'g>(at: usize, group: &'g Group, run: &'g RunRow, entries: &mut Vec<Entry<'g>>) {
    let roles = Some(run.roles.len());
    let writer = run.roles.iter().find(|role| role.does.writes);
    for role in &run.roles {
        let mut add = |question, op: Option<&'g str>, metrics: &'g Metrics, figure: &Definition| {
            let Some(metric) = metrics.get(figure) else { return };
            let (phase, mix) = (run.phase.as_str(), op.unwrap_or(&role.mix));
            let role = Some(role);
            entries.push(Entry { at, group, question, phase, role, op, mix, roles, metric });
        };
        // What was given a rate got that rate.
        if !role.open_loop {
            add(Question::of_mix(role.does, &role.mix), None, &role.metrics, &c::OPS_PER_S);
        }
        for row in &role.ops {
            let question =
                if reads(&row.op) { Question::ReadLatency } else { Question::WriteLatency };
            add(question, Some(&row.op), &row.metrics, role.p99());
        }
        let beside_writer = writer.is_some_and(|writer| writer.role != role.role);
        if beside_writer && !role.does.writes {
            let tail = if role.open_loop { &c::RESPONSE_P999 } else { &c::SERVICE_P999 };
            for (op, metrics) in role.by_operation() {
                add(Question::Tail, Some(op).filter(|_| role.is_mix()), metrics, tail);
            }
        }
    }
    let Some(writer) = writer else { return };
    let mut whole = |question, figure: &Definition| {
        let Some(metric) = run.metrics.get(figure) else { return };
        let (phase, mix) = (run.phase.as_str(), writer.mix.as_str());
        let (role, op) = (None, None);
        entries.push(Entry { at, group, question, phase, role, op, mix, roles, metric });
    };
    whole(Question::Space, &c::SPACE_AMPLIFICATION);
    whole(Question::WriteAmplification, &c::WRITE_AMPLIFICATION);
}
