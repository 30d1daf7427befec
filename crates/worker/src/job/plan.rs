//! The roles of a case's phases, and the sources of their threads. Nothing here depends on the
//! engine, so this module is compiled once.

use crate::chooser::Keyspace;
use crate::graph::{self, GraphCase};
use crate::keys::KeyWriter;
use crate::population::Population;
use crate::recording;
use crate::rng::Rng;
use crate::shared::Task;
use crate::source::{KeySupply, MixSource, Source};
use crate::team::{RoleSpec, TeamSpec};
use crate::values::Values;
use kvdyno_engine::Result;
use kvdyno_record::crew::RankId;
use kvdyno_record::expected_hits::leaves_gaps;
use kvdyno_record::operations::{GRAPH_LOADS, OpInfo};
use kvdyno_record::protocol::Job;
use kvdyno_record::replay::replays;
use kvdyno_record::steady::EndRule;
use kvdyno_record::workload::{self, Load, Mix, Op, Phase, Role, Size};

/// The part of a case that the roles of its phases are made from.
pub(super) struct Plan<'j> {
    pub(super) job: &'j Job,
    pub(super) seat: RankId,
    pub(super) supply: KeySupply,
    pub(super) population: &'j Population,
    /// The graph; none: the data is records.
    pub(super) graph: Option<&'j GraphCase>,
}

/// Returns the supply of a job's keys and values.
pub(super) fn key_supply(job: &Job) -> Result<KeySupply> {
    let longest = replays(&job.phases).map(|replay| replay.value_bytes_max).max().unwrap_or(0);
    Ok(KeySupply {
        keys: KeyWriter::from_data(&job.data)?,
        values: Values::with_longest(longest, &job.data.value, job.data.verify, job.data.seed),
        keyspace: Keyspace {
            records: job.data.records.max(1),
            ycsb_items: workload::ycsb_items(job.data.records, &[]),
            absent: job.shape.records_max.max(job.data.records),
            seed: job.data.seed,
        },
    })
}

impl<'j> Plan<'j> {
    pub(super) fn loaders(
        &self,
        index: u32,
        load: &Load,
        sources: Vec<Source<'j>>,
    ) -> RoleSpec<Source<'j>> {
        let writes = Size::Fixed { bytes: load.batch.into() };
        let op = if load.batch == 1 { Op::Insert } else { Op::Batch { writes } };
        let threads = || self.seat.threads(load.threads);
        RoleSpec {
            name: "load".to_owned(),
            ops: vec![op.info()],
            rate: None,
            depth: None,
            think_ns: None,
            on: sources.len(),
            sources,
            seeds: threads().map(|t| self.rng(index, 1, (t, load.threads))).collect(),
            first: threads().start,
            threads_total: load.threads,
        }
    }

    /// The roles of a graph's load: its threads load links, and one more thread loads nodes.
    pub(super) fn graph_loaders(
        &self,
        graph: &'j GraphCase,
        load: &Load,
        task: &Task,
    ) -> TeamSpec<graph::Source<'j>> {
        let rng = |salt, thread| self.rng(task.phase, salt, (thread, load.threads));
        let role = |step: usize, name: &str, sources: Vec<graph::Source<'j>>| RoleSpec {
            name: name.to_owned(),
            ops: OpInfo::find_by_name(GRAPH_LOADS[step]).into_iter().collect(),
            rate: None,
            depth: None,
            think_ns: None,
            on: sources.len(),
            seeds: (0..sources.len() as u32).map(|thread| rng(2, thread)).collect(),
            first: 0,
            threads_total: sources.len() as u32,
            sources,
        };
        let links = |thread| graph::Source::links(graph, rng(0, thread));
        let specs = vec![
            role(1, "load", (0..load.threads).map(links).collect()),
            role(0, "nodes", vec![graph::Source::nodes(graph, rng(1, 0))]),
        ];
        TeamSpec::new(specs, task)
    }

    /// Returns a function that makes sources of the drawn operations of a phase.
    pub(super) fn mix_source(
        &self,
        index: u32,
        mix: &Mix,
    ) -> impl Fn(&Role, u32, Rng) -> Source<'j> + use<'j> {
        let grows = mix.entries().any(|entry| entry.op == Op::Insert);
        let (mut supply, population) = (self.supply.clone(), self.population);
        let phases = &self.job.phases[index as usize..];
        supply.keyspace.ycsb_items = workload::ycsb_items(self.job.data.records, phases);
        move |role, thread, rng| {
            Source::Mix(MixSource::new(role, thread, grows, &supply, rng, population))
        }
    }

    /// The roles of a mix, with a source for each of their threads.
    pub(super) fn roles<S>(
        &self,
        index: u32,
        mix: &Mix,
        mut source: impl FnMut(&Role, u32, Rng) -> S,
    ) -> Vec<RoleSpec<S>> {
        let spec = |(role_index, role): (usize, &Role)| {
            let rng = |salt, t| self.rng(index, role_index as u64 * 2 + salt, (t, role.threads));
            let threads = || self.seat.threads(role.threads);
            RoleSpec {
                name: role.name.clone(),
                ops: role.mix.iter().map(|entry| entry.op.info()).collect(),
                rate: role.rate.clone(),
                depth: role.depth,
                think_ns: role.think_ns,
                on: role.count_os_threads(threads().len() as u32) as usize,
                sources: threads().map(|t| source(role, t, rng(0, t))).collect(),
                seeds: threads().map(|thread| rng(1, thread)).collect(),
                first: threads().start,
                threads_total: role.threads,
            }
        };
        mix.roles.iter().enumerate().map(spec).collect()
    }

    pub(super) fn graph_roles(
        &self,
        graph: &'j GraphCase,
        mix: &Mix,
        task: &Task,
    ) -> TeamSpec<graph::Source<'j>> {
        let source = |role: &Role, _, rng| graph::Source::requests(graph, role, rng);
        TeamSpec::new(self.roles(task.phase, mix, source), task)
    }

    pub(super) fn load_task(&self, index: u32, phase: &Phase, load: &Load) -> Task {
        // A record that was not written is missing.
        let errors_max = 0;
        let recorded = load.replay.as_ref().map(|replay| replay.requests);
        let total = Some(recorded.unwrap_or(self.job.data.loaded_items()));
        Task { total, errors_max, ..self.task(index, phase) }
    }

    pub(super) fn mix_task(&self, index: u32, phase: &Phase, mix: &Mix) -> Task {
        let counting = mix.roles.first().map_or(1, |role| role.threads);
        Task {
            duration_ns: mix.ends.duration_ns,
            steady: mix.ends.least_ns.map(|least_ns| EndRule::new(least_ns, self.job.slice_ns)),
            turn_ns: mix.ends.turn_ns,
            operations: mix.ends.operations.map(|all| self.seat.own_count(all, counting)),
            total: mix.ends.operations.filter(|_| mix.ends.duration_ns.is_none()),
            ..self.task(index, phase)
        }
    }

    pub(super) fn task(&self, index: u32, phase: &Phase) -> Task {
        Task {
            phase: index,
            name: phase.name.clone(),
            duration_ns: None,
            steady: None,
            operations: None,
            total: None,
            slice_ns: self.job.slice_ns,
            turn_ns: None,
            errors_max: self.job.errors_max,
            verify: self.job.data.verify,
            gaps: leaves_gaps(&self.job.phases, self.job.data.records),
            spools: recording::dir(self.job, index),
        }
    }

    pub(super) fn rng(&self, phase: u32, role: u64, thread: (u32, u32)) -> Rng {
        Rng::for_thread(self.job.data.seed, self.job.trial, phase, role, thread)
    }
}
