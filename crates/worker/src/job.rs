//! One case from its job to its end: open, each phase announced and done, close.

use crate::chooser::Keyspace;
use crate::clock::{Clock, unix_ns};
use crate::control::Listener;
use crate::graph::{self, GraphCase, Social, audit};
use crate::keys::KeyWriter;
use crate::keyvalue::KeyValue;
use crate::kind::Kind;
use crate::output::{Files, send};
use crate::population::Population;
use crate::recording;
use crate::rng::Rng;
use crate::shared::Task;
use crate::source::{KeySupply, MixSource, Source};
use crate::team::{self, Done, RoleSpec};
use crate::usage;
use crate::values::Values;
use crate::verify;
use kvdyno_engine::graph::{GraphEngine, Isolation};
use kvdyno_engine::{Counters, Description, Engine, Error, ErrorClass, Options, Result};
use kvdyno_record::case::{RoleResult, Verified};
use kvdyno_record::crew::RankId;
use kvdyno_record::expected_hits::leaves_gaps;
use kvdyno_record::graph::Graph;
use kvdyno_record::operations::{GRAPH_LOADS, OpInfo};
use kvdyno_record::protocol::{Event, Job};
use kvdyno_record::replay::replays;
use kvdyno_record::steady::EndRule;
use kvdyno_record::usage::{ProcessUsage, ThreadsUsage};
use kvdyno_record::workload::{self, Activity, Load, Mix, Op, Phase, Role, Size};
use kvdyno_trace::Spool;
use live::LiveRecords;
use std::time::Duration;

mod live;
mod opening;
mod recorded;

/// A job at work.
pub(crate) struct Case<'j, G: GraphEngine, C: Clock> {
    job: &'j Job,
    seat: RankId,
    clock: C,
    listener: &'j Listener,
    files: Files,
    supply: KeySupply,
    population: &'j Population,
    live: LiveRecords,
    /// Of data that is a graph.
    graph: Option<&'j GraphCase>,
    /// What the engine is opened with: the job's, until a reopen phase has others.
    options: &'j Options,
    /// Gone only between the closing and the opening of an evict or a reopen phase.
    engine: Option<G::Engine>,
}

/// The result of a phase, for its `Finished` event.
#[derive(Default)]
struct PhaseResult {
    usage_before: ProcessUsage,
    started_unix_ns: u64,
    wall_ns: u64,
    roles: Vec<RoleResult>,
    requests: Vec<Spool>,
    verified: Option<Verified>,
    settled: Option<(bool, String)>,
    stopped: bool,
    failure: Option<Error>,
}

/// Runs a job. `Err`: the phase it was in, and why.
pub(crate) fn run<G: GraphEngine, C: Clock>(
    job: &Job,
    clock: C,
    listener: &Listener,
) -> Result<(), (Option<u32>, Error)> {
    let early = |error| (None, error);
    let files = Files::create(&job.folder).map_err(early)?;
    let seat = job.crew.unwrap_or(RankId::ALONE);
    let longest = replays(&job.phases).map(|replay| replay.value_bytes_max).max().unwrap_or(0);
    let isolation = |graph: &Graph| isolation(&G::Engine::describe(), &job.options, graph);
    let graph = job.data.graph.as_ref().map(|graph| GraphCase::new(graph, isolation(graph)));
    let supply = KeySupply {
        keys: KeyWriter::of_data(&job.data).map_err(early)?,
        values: Values::up_to(longest, &job.data.value, job.data.verify, job.data.seed),
        keyspace: Keyspace {
            records: job.data.records.max(1),
            ycsb_items: workload::ycsb_items(job.data.records, &job.phases),
            absent: job.shape.records_max.max(job.data.records),
            seed: job.data.seed,
        },
    };
    let missing = live::missing_keys(job, &supply);
    let population = Population::new(job.data.records, seat).without(missing);
    let mut case = Case::<G, C> {
        job,
        seat,
        clock,
        listener,
        files,
        supply,
        population: &population,
        live: LiveRecords::new(job, seat),
        graph: graph.as_ref(),
        options: &job.options,
        engine: None,
    };
    case.open().map_err(early)?;
    for (index, phase) in job.phases.iter().enumerate() {
        let index = index as u32;
        let stopped = case.phase(index, phase).map_err(|error| (Some(index), error))?;
        if stopped {
            break;
        }
    }
    case.close().map_err(early)
}

impl<'j, G: GraphEngine, C: Clock> Case<'j, G, C> {
    fn open(&mut self) -> Result<()> {
        let took_ns = self.open_engine()?;
        self.report_open(took_ns)
    }

    /// Returns how long it took.
    fn open_engine(&mut self) -> Result<u64> {
        let started = self.clock.now();
        let job = self.job;
        let engine = G::Engine::open(&job.location, self.options, &job.shape)
            .map_err(|error| error.context("opening"))?;
        self.engine = Some(engine);
        Ok(self.clock.now() - started)
    }

    fn report_open(&self, took_ns: u64) -> Result<()> {
        send(&Event::Opened { took_ns, crew: self.job.crew })
    }

    fn close(&mut self) -> Result<()> {
        let Some(engine) = self.engine.take() else { return Ok(()) };
        let started = self.clock.now();
        self.files.events(&engine.events())?;
        engine.close().map_err(|error| error.context("closing"))?;
        send(&Event::Closed { took_ns: self.clock.now() - started })
    }

    /// Runs a phase and reports. True: the program stopped it.
    ///
    /// It stays a function of its own: instructions of a phase are counted up to its end.
    #[inline(never)]
    fn phase(&mut self, index: u32, phase: &'j Phase) -> Result<bool> {
        let Some(result) = self.work(index, phase)? else { return Ok(true) };
        let stopped = result.stopped;
        send(&Event::Finished {
            phase: index,
            started_unix_ns: result.started_unix_ns,
            wall_ns: result.wall_ns,
            usage_before: result.usage_before,
            usage: usage::of_this_process(),
            counters: self.counters(),
            roles: result.roles,
            verified: result.verified,
            settled: result.settled,
            live_records: self.live.after(phase, self.population),
            stopped,
            failed: result.failure.as_ref().map(|error| (error.class, error.message.clone())),
            ranks: Vec::new(),
        })?;
        // Nothing may move until the program has read what this phase did.
        self.listener.wait_for_go()?;
        if result.failure.is_none() && !stopped {
            recording::end(self.job, index, result.requests)?;
        }
        result.failure.map_or(Ok(stopped), Err)
    }

    fn counters(&self) -> Counters {
        self.engine.as_ref().map(Engine::counters).unwrap_or_default()
    }

    fn engine(&self) -> Result<&G::Engine> {
        require_open(self.engine.as_ref())
    }

    /// `None`: the program stopped it before it began.
    fn work(&mut self, index: u32, phase: &'j Phase) -> Result<Option<PhaseResult>> {
        if let Activity::Load(load) = &phase.work {
            return self.load(index, phase, load);
        }
        if let Some(mix) = phase.mix() {
            return self.measure(index, phase, mix);
        }
        let Some(usage_before) = self.listener.gate(index).pass(self.engine()?)? else {
            return Ok(None);
        };
        let result = match &phase.work {
            Activity::Settle { limit_ns } => self.settle(*limit_ns),
            Activity::Verify { samples, count } => self.verify(index, *samples, *count),
            Activity::Warm => self.warm(index),
            Activity::Reopen { options } => {
                self.options = options;
                self.evict()
            }
            _ => self.evict(),
        };
        result.map(|result| Some(PhaseResult { usage_before, ..result }))
    }

    /// Runs `specs` on a team of threads, once the gate opens.
    fn team<K: Kind<Engine = G::Engine>>(
        &mut self,
        specs: Vec<RoleSpec<K::Source<'_>>>,
        task: &Task,
    ) -> Result<Option<PhaseResult>> {
        let engine = require_open(self.engine.as_ref())?;
        let gate = self.listener.gate(task.phase);
        let done = team::run::<K, C>(engine, self.clock, specs, task, &mut self.files, &gate)?;
        Ok(done.map(PhaseResult::from_done))
    }

    fn load(&mut self, index: u32, phase: &Phase, load: &Load) -> Result<Option<PhaseResult>> {
        // What was not written is missing.
        let errors_max = 0;
        let recorded = load.replay.as_ref().map(|replay| replay.requests);
        let total = Some(recorded.unwrap_or(self.job.data.loaded()));
        let task = Task { total, errors_max, ..self.task(index, phase) };
        let result = match self.graph {
            Some(graph) => self.team::<Social<G>>(self.graph_loaders(graph, index, load), &task)?,
            None => self.load_records(load, &task)?,
        };
        let Some(mut result) = result else { return Ok(None) };
        // A load is over when its last record is written: its threads' shares were dealt out.
        result.roles.iter_mut().for_each(|role| role.windows.clear());
        if result.failure.is_none() && !result.stopped {
            // What is not yet on its way to the disk is part of the price of a load.
            let started = self.clock.now();
            let (synced, used) = team::sync(self.engine()?, self.clock);
            synced.map_err(|error| error.context("sync after the load"))?;
            result.wall_ns += self.clock.now() - started;
            add_usage(&mut result.roles, &used);
        }
        Ok(Some(result))
    }

    fn loaders(&self, index: u32, load: &Load, sources: Vec<Source<'j>>) -> RoleSpec<Source<'j>> {
        let writes = Size::Fixed { bytes: load.batch.into() };
        let op = if load.batch == 1 { Op::Insert } else { Op::Batch { writes } };
        let ours = || self.seat.threads(load.threads);
        RoleSpec {
            name: "load".to_owned(),
            ops: vec![op.info()],
            rate: None,
            depth: None,
            think_ns: None,
            on: sources.len(),
            sources,
            seeds: ours().map(|t| self.rng(index, 1, (t, load.threads))).collect(),
            first: ours().start,
            threads_total: load.threads,
        }
    }

    /// Links by the threads of the load, nodes by one more.
    fn graph_loaders(
        &self,
        graph: &'j GraphCase,
        index: u32,
        load: &Load,
    ) -> Vec<RoleSpec<graph::Source<'j>>> {
        let rng = |salt, thread| self.rng(index, salt, (thread, load.threads));
        let role = |step: usize, name: &str, sources: Vec<graph::Source<'j>>| RoleSpec {
            name: name.to_owned(),
            ops: OpInfo::named(GRAPH_LOADS[step]).into_iter().collect(),
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
        vec![
            role(1, "load", (0..load.threads).map(links).collect()),
            role(0, "nodes", vec![graph::Source::nodes(graph, rng(1, 0))]),
        ]
    }

    fn measure(&mut self, index: u32, phase: &Phase, mix: &Mix) -> Result<Option<PhaseResult>> {
        if let Some(entry) = mix.entries().find(|entry| entry.op.opens()) {
            return self.open_again(index, phase, mix, &entry.op);
        }
        let counting = mix.roles.first().map_or(1, |role| role.threads);
        let mut task = Task {
            duration_ns: mix.ends.duration_ns,
            steady: mix.ends.least_ns.map(|least_ns| EndRule::new(least_ns, self.job.slice_ns)),
            turn_ns: mix.ends.turn_ns,
            operations: mix.ends.operations.map(|all| self.seat.share(all, counting)),
            total: mix.ends.operations.filter(|_| mix.ends.duration_ns.is_none()),
            ..self.task(index, phase)
        };
        let replayed = mix.roles.first().and_then(|role| Some((role, role.replay.as_ref()?)));
        let result = match (self.graph, replayed) {
            (Some(graph), _) => {
                let requests =
                    |role: &Role, _: u32, rng: Rng| graph::Source::requests(graph, role, rng);
                self.team::<Social<G>>(self.roles(index, mix, requests), &task)?
            }
            (None, Some((role, replay))) => {
                let requests = mix.ends.operations.unwrap_or(replay.requests);
                // The dealer counts them out: threads take what there is, until there is no more.
                task.operations = Some(u64::MAX);
                self.replay(mix, (role, replay), requests, &task)?
            }
            (None, None) => {
                let specs = self.roles(index, mix, self.mix_source(mix));
                self.team::<KeyValue<G::Engine>>(specs, &task)?
            }
        };
        let Some(mut result) = result else { return Ok(None) };
        if mix.ends.operations.is_some() {
            // Counted out beforehand, as a load is: over with its last operation.
            result.roles.iter_mut().take(1).for_each(|role| role.windows.clear());
        }
        // Data that was never stored cannot be wrong; the check took its time all the same. The
        // engine is described only then: that may load a library, in memory that counts.
        let ops = || result.roles.iter().flat_map(|role| role.ops.values());
        if ops().any(|op| op.wrong > 0) && G::Engine::describe().capabilities.stores_nothing {
            let ops = result.roles.iter_mut().flat_map(|role| role.ops.values_mut());
            ops.for_each(|op| op.wrong = 0);
        }
        Ok(Some(result))
    }

    /// Sources of operations that are drawn.
    fn mix_source(&self, mix: &Mix) -> impl Fn(&Role, u32, Rng) -> Source<'j> + use<'j, G, C> {
        let grows = mix.entries().any(|entry| entry.op == Op::Insert);
        let (supply, population) = (self.supply.clone(), self.population);
        move |role, thread, rng| {
            Source::Mix(MixSource::new(role, thread, grows, &supply, rng, population))
        }
    }

    /// The roles of a mix, with a source for each of their threads.
    fn roles<S>(
        &self,
        index: u32,
        mix: &Mix,
        mut source: impl FnMut(&Role, u32, Rng) -> S,
    ) -> Vec<RoleSpec<S>> {
        let spec = |(role_index, role): (usize, &Role)| {
            let rng = |salt, t| self.rng(index, role_index as u64 * 2 + salt, (t, role.threads));
            let ours = || self.seat.threads(role.threads);
            RoleSpec {
                name: role.name.clone(),
                ops: role.mix.iter().map(|entry| entry.op.info()).collect(),
                rate: role.rate.clone(),
                depth: role.depth,
                think_ns: role.think_ns,
                on: role.on(ours().len() as u32) as usize,
                sources: ours().map(|t| source(role, t, rng(0, t))).collect(),
                seeds: ours().map(|thread| rng(1, thread)).collect(),
                first: ours().start,
                threads_total: role.threads,
            }
        };
        mix.roles.iter().enumerate().map(spec).collect()
    }

    fn task(&self, index: u32, phase: &Phase) -> Task {
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
            spools: recording::folder(self.job, index),
        }
    }

    fn settle(&mut self, limit_ns: u64) -> Result<PhaseResult> {
        let (started_unix_ns, start) = (unix_ns(), self.clock.now());
        let engine = self.engine()?;
        engine.sync().map_err(|error| error.context("sync after writes"))?;
        let settled = engine
            .settle(Duration::from_nanos(limit_ns))
            .map_err(|error| error.context("waiting for background work"))?;
        let events = engine.events();
        self.files.events(&events)?;
        Ok(PhaseResult {
            started_unix_ns,
            wall_ns: self.clock.now() - start,
            settled: Some((settled.idle, settled.note)),
            ..PhaseResult::default()
        })
    }

    fn verify(&mut self, index: u32, samples: u64, count: bool) -> Result<PhaseResult> {
        let reporter = verify::Reporter::new(self.clock, index);
        let verified = if let Some(graph) = self.graph {
            self.audit(index, graph, reporter)?
        } else {
            let check = verify::Check { samples, count, seat: self.seat };
            verify::run(self.engine()?, self.job, check, reporter, &self.listener.stop)?
        };
        Ok(PhaseResult { verified: Some(verified), ..self.read_result(reporter) })
    }

    fn warm(&mut self, index: u32) -> Result<PhaseResult> {
        let reporter = verify::Reporter::new(self.clock, index);
        verify::warm(self.engine()?, self.job, reporter, &self.listener.stop)?;
        Ok(self.read_result(reporter))
    }

    /// The result of a phase that only reads, at its end.
    fn read_result(&self, reporter: verify::Reporter<C>) -> PhaseResult {
        PhaseResult {
            started_unix_ns: reporter.started_unix_ns,
            wall_ns: reporter.elapsed_ns(),
            stopped: self.listener.stop.is_set(),
            ..PhaseResult::default()
        }
    }

    fn audit(
        &self,
        phase: u32,
        graph: &GraphCase,
        reporter: verify::Reporter<C>,
    ) -> Result<Verified> {
        let before = &self.job.phases[..phase as usize];
        let loads = |phase: &Phase| matches!(phase.work, Activity::Load(_));
        let untouched = before.iter().any(loads) && before.iter().all(|one| one.mix().is_none());
        let loaded = self.job.data.graph.as_ref().filter(|_| untouched).map(|graph| graph.totals);
        let total = self.job.data.graph.as_ref().map_or(0, |graph| graph.totals.counts);
        let tell = |done| reporter.report(done, total);
        let engine = self.engine()?;
        let audit = if G::Engine::describe().capabilities.stores_nothing {
            None
        } else {
            audit::<G>(engine, graph.isolation(), loaded, tell, &self.listener.stop)?
        };
        Ok(Verified { expected: self.job.data.records, audit, ..Verified::default() })
    }

    fn rng(&self, phase: u32, role: u64, thread: (u32, u32)) -> Rng {
        Rng::of_thread(self.job.data.seed, self.job.trial, phase, role, thread)
    }
}

/// How a link and its count are kept together by this engine.
fn isolation(engine: &Description, options: &Options, graph: &Graph) -> Isolation {
    match graph.consistency.isolation() {
        Isolation::Transaction if !engine.keeps_counts(options) => Isolation::Latch,
        isolation => isolation,
    }
}

fn require_open<E>(engine: Option<&E>) -> Result<&E> {
    engine.ok_or_else(|| Error::new(ErrorClass::Other, "the engine is closed"))
}

/// A thread of the first role's used this as well.
fn add_usage(roles: &mut [RoleResult], used: &ThreadsUsage) {
    let usage = roles.iter_mut().take(1).filter_map(|role| role.usage.as_mut());
    usage.for_each(|usage| *usage = usage.and(used));
}

impl PhaseResult {
    fn from_done(done: Done) -> Self {
        Self {
            usage_before: done.usage_before,
            started_unix_ns: done.started_unix_ns,
            wall_ns: done.wall_ns,
            roles: done.roles,
            requests: done.requests,
            stopped: done.stopped,
            failure: done.failure,
            ..Self::default()
        }
    }
}
