//! One case from its job to its end: the engine is opened, each phase is announced and run, and the
//! engine is closed.

use crate::clock::{Best, Clock as _, unix_ns};
use crate::control::Listener;
use crate::graph::{GraphCase, Social, audit};
use crate::kind::Kind;
use crate::output::{Files, send};
use crate::population::Population;
use crate::recording;
use crate::shared::Task;
use crate::team::{self, Done, TeamSpec};
use crate::usage;
use crate::verify;
use kvdyno_engine::graph::{GraphEngine, Isolation};
use kvdyno_engine::{Counters, Description, Engine, Error, ErrorClass, Options, Result};
use kvdyno_record::case::{RoleResult, Verified};
use kvdyno_record::crew::RankId;
use kvdyno_record::graph::Graph;
use kvdyno_record::protocol::{Event, Job};
use kvdyno_record::usage::{ProcessUsage, ThreadsUsage};
use kvdyno_record::workload::{Activity, Ends, Load, Mix, Phase};
use kvdyno_trace::Spool;
use live::LiveRecords;
use plan::Plan;
use std::time::Duration;

mod live;
mod opening;
mod plan;
mod recorded;

/// A job at work.
pub(crate) struct Case<'j, G: GraphEngine> {
    job: &'j Job,
    plan: Plan<'j>,
    clock: Best,
    listener: &'j Listener,
    files: Files,
    live: LiveRecords,
    /// The options that the engine is opened with: the job's, until a reopen phase has others.
    options: &'j Options,
    /// The open engine; none only between the closing and the opening of a phase that has both.
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

/// Runs a job. `Err`: the phase that failed, and the error.
pub(crate) fn run<G: GraphEngine>(
    job: &Job,
    clock: Best,
    listener: &Listener,
) -> Result<(), (Option<u32>, Error)> {
    let early = |error| (None, error);
    let files = Files::create(&job.dir).map_err(early)?;
    let seat = job.crew.unwrap_or(RankId::ALONE);
    let isolation = |graph: &Graph| isolation(&G::Engine::describe(), &job.options, graph);
    let graph = job.data.graph.as_ref().map(|graph| GraphCase::new(graph, isolation(graph)));
    let supply = plan::key_supply(job).map_err(early)?;
    let missing = live::missing_keys(job, &supply);
    let population = Population::new(job.data.records, seat).with_missing(missing);
    let mut case = Case::<G> {
        job,
        plan: Plan { job, seat, supply, population: &population, graph: graph.as_ref() },
        clock,
        listener,
        files,
        live: LiveRecords::new(job, seat),
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

impl<'j, G: GraphEngine> Case<'j, G> {
    fn open(&mut self) -> Result<()> {
        let took_ns = self.open_engine()?;
        self.report_open(took_ns)
    }

    /// Opens the engine. Returns how long that took.
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
        match self.close_engine()? {
            Some(took_ns) => send(&Event::Closed { took_ns }),
            None => Ok(()),
        }
    }

    /// Closes the engine. Returns how long that took; none: it was closed already.
    fn close_engine(&mut self) -> Result<Option<u64>> {
        let Some(engine) = self.engine.take() else { return Ok(None) };
        let started = self.clock.now();
        self.files.events(&engine.events())?;
        engine.close().map_err(|error| error.context("closing"))?;
        Ok(Some(self.clock.now() - started))
    }

    /// Runs a phase and reports its result. True: the program stopped the phase.
    ///
    /// It must not be inlined: instructions of a phase are counted up to the end of this function.
    #[inline(never)]
    fn phase(&mut self, index: u32, phase: &'j Phase) -> Result<bool> {
        let Some(result) = self.work(index, phase)? else { return Ok(true) };
        let live_records = self.live.count_after_phase(phase, self.plan.population);
        let counters = || self.engine.as_ref().map(Engine::counters).unwrap_or_default();
        let (phase, listener) = (index, self.listener);
        Finish { job: self.job, phase, listener, live_records }.report(result, &counters)
    }

    fn engine(&self) -> Result<&G::Engine> {
        require_open(self.engine.as_ref())
    }

    /// Runs a phase. `None`: the program stopped it before it began.
    fn work(&mut self, index: u32, phase: &'j Phase) -> Result<Option<PhaseResult>> {
        if let Activity::Load(load) = &phase.work {
            return self.load(index, phase, load);
        }
        if let Some(mix) = phase.mix() {
            return self.measure(index, phase, mix);
        }
        let engine = self.engine()?;
        let gate = self.listener.gate(index);
        let Some(usage_before) = gate.pass(&|| engine.counters())? else { return Ok(None) };
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

    /// Runs a team of threads, once the gate opens.
    fn run_team<K: Kind<Engine = G::Engine>>(
        &mut self,
        spec: TeamSpec<K::Source<'_>>,
        task: &Task,
    ) -> Result<Option<PhaseResult>> {
        let engine = require_open(self.engine.as_ref())?;
        let gate = self.listener.gate(task.phase);
        let done = team::run::<K>(engine, self.clock, spec, task, &mut self.files, &gate)?;
        Ok(done.map(PhaseResult::from_done))
    }

    fn load(&mut self, index: u32, phase: &Phase, load: &Load) -> Result<Option<PhaseResult>> {
        let task = self.plan.load_task(index, phase, load);
        let result = match self.plan.graph {
            Some(graph) => {
                self.run_team::<Social<G>>(self.plan.graph_loaders(graph, load, &task), &task)?
            }
            None => self.run_specs(self.plan.record_loaders(load, &task)?, &task)?,
        };
        let Some(mut result) = result else { return Ok(None) };
        // A load is over when its last record is written, as each thread had a fixed share.
        result.roles.iter_mut().for_each(|role| role.windows.clear());
        if result.failure.is_none() && !result.stopped {
            // Writing out what is not yet on its way to the disk is part of the cost of a load.
            let (started, engine) = (self.clock.now(), self.engine()?);
            let (synced, used) = team::sync(&|| engine.sync(), self.clock);
            synced.map_err(|error| error.context("sync after the load"))?;
            result.wall_ns += self.clock.now() - started;
            add_usage(&mut result.roles, &used);
        }
        Ok(Some(result))
    }

    fn measure(&mut self, index: u32, phase: &Phase, mix: &Mix) -> Result<Option<PhaseResult>> {
        if let Some(entry) = mix.entries().find(|entry| entry.op.opens()) {
            return self.measure_openings(index, phase, mix, &entry.op);
        }
        let mut task = self.plan.mix_task(index, phase, mix);
        let result = match self.plan.graph {
            Some(graph) => {
                self.run_team::<Social<G>>(self.plan.graph_roles(graph, mix, &task), &task)?
            }
            None => self.run_specs(self.plan.mix_roles(mix, &mut task)?, &task)?,
        };
        let Some(mut result) = result else { return Ok(None) };
        let counted = result.roles.first_mut().filter(|role| ended_by_count(&mix.ends, role));
        if let Some(role) = counted {
            // The operations were counted out beforehand, as in a load: the role ends with the
            // last.
            role.windows.clear();
        }
        // Data that was never stored cannot be wrong; the check took its time all the same. Only
        // then is the engine described: that may load a library, in memory that counts.
        let ops = || result.roles.iter().flat_map(|role| role.ops.values());
        if ops().any(|op| op.wrong > 0) && G::Engine::describe().capabilities.stores_nothing {
            let ops = result.roles.iter_mut().flat_map(|role| role.ops.values_mut());
            ops.for_each(|op| op.wrong = 0);
        }
        Ok(Some(result))
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
        let verified = if let Some(graph) = self.plan.graph {
            self.audit(index, graph, reporter)?
        } else {
            let check = verify::Check { samples, count, seat: self.plan.seat };
            verify::run(self.engine()?, self.job, check, reporter, &self.listener.stop)?
        };
        Ok(PhaseResult { verified: Some(verified), ..self.read_result(reporter) })
    }

    fn warm(&mut self, index: u32) -> Result<PhaseResult> {
        let reporter = verify::Reporter::new(self.clock, index);
        verify::warm(self.engine()?, self.job, reporter, &self.listener.stop)?;
        Ok(self.read_result(reporter))
    }

    /// Returns the result of a phase that only reads, at its end.
    fn read_result(&self, reporter: verify::Reporter) -> PhaseResult {
        PhaseResult {
            started_unix_ns: reporter.started_unix_ns,
            wall_ns: reporter.elapsed_ns(),
            stopped: self.listener.stop.is_set(),
            ..PhaseResult::default()
        }
    }

    fn audit(&self, phase: u32, graph: &GraphCase, reporter: verify::Reporter) -> Result<Verified> {
        let before = &self.job.phases[..phase as usize];
        let loads = |phase: &Phase| matches!(phase.work, Activity::Load(_));
        let untouched =
            before.iter().any(loads) && before.iter().all(|phase| phase.mix().is_none());
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
}

/// The end of a phase.
struct Finish<'j> {
    job: &'j Job,
    phase: u32,
    listener: &'j Listener,
    live_records: Option<u64>,
}

impl Finish<'_> {
    /// Reports the result, and waits for the order to go on. True: the program stopped the phase.
    fn report(self, result: PhaseResult, counters: &dyn Fn() -> Counters) -> Result<bool> {
        let stopped = result.stopped;
        send(&Event::Finished {
            phase: self.phase,
            started_unix_ns: result.started_unix_ns,
            wall_ns: result.wall_ns,
            usage_before: result.usage_before,
            usage: usage::read_process(),
            counters: counters(),
            roles: result.roles,
            verified: result.verified,
            settled: result.settled,
            live_records: self.live_records,
            stopped,
            failed: result.failure.as_ref().map(|error| (error.class, error.message.clone())),
            ranks: Vec::new(),
        })?;
        // Nothing may move until the program has read what this phase did.
        self.listener.wait_for_go()?;
        if result.failure.is_none() && !stopped {
            recording::end(self.job, self.phase, result.requests)?;
        }
        result.failure.map_or(Ok(stopped), Err)
    }
}

/// Returns how a link and its count are kept consistent with this engine.
fn isolation(engine: &Description, options: &Options, graph: &Graph) -> Isolation {
    match graph.consistency.isolation() {
        Isolation::Transaction if !engine.has_atomic_link_counts(options) => Isolation::Latch,
        isolation => isolation,
    }
}

/// Whether the count of operations ended a phase for its first role, and not time.
fn ended_by_count(ends: &Ends, role: &RoleResult) -> bool {
    ends.operations.is_some() && !ends.ended_by_time(role.window_ns)
}

fn require_open<E>(engine: Option<&E>) -> Result<&E> {
    engine.ok_or_else(|| Error::new(ErrorClass::Other, "the engine is closed"))
}

/// Adds usage to that of the first role.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression test: where time cut a count off, the threads' own windows were dropped too, and
    /// one thread that stalled at the end slowed all others down.
    #[test]
    fn a_count_ends_a_phase_that_is_over_before_its_time() {
        let role = RoleResult {
            role: "readers".to_owned(),
            threads: 8,
            window_ns: 35,
            windows: Vec::new(),
            offered_per_s: None,
            backlog: 0,
            own_ns: 0,
            usage: None,
            ops: std::collections::BTreeMap::new(),
        };
        let ends = |operations, least_ns, duration_ns| Ends {
            operations,
            least_ns,
            duration_ns,
            ..Ends::default()
        };
        assert!(ended_by_count(&ends(Some(9), None, None), &role));
        assert!(ended_by_count(&ends(Some(9), None, Some(40)), &role));
        assert!(!ended_by_count(&ends(Some(9), None, Some(30)), &role));
        assert!(!ended_by_count(&ends(Some(9), Some(30), Some(40)), &role), "rates were steady");
        assert!(!ended_by_count(&ends(None, None, Some(40)), &role), "nothing was counted out");
    }
}
