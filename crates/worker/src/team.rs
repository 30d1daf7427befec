//! The threads of a phase: they begin together, end together, and share nothing but a flag.
//!
//! The calling thread collects their slices, writes them to files, and reports the progress.

use crate::clock::{Best, Clock as _, unix_ns, with_clock};
use crate::collector::Collector;
use crate::control::Gate;
use crate::kind::Kind;
use crate::output::Files;
use crate::shared::{Shared, Task};
use crate::tally::Packet;
use crate::usage;
use crate::watch::Watch;
use kvdyno_engine::{Counters, Engine as _, EngineEvent, Error, ErrorClass, Result};
use kvdyno_record::case::RoleResult;
use kvdyno_record::operations::OpInfo;
use kvdyno_record::usage::{ProcessUsage, THREAD_NAME, ThreadsUsage};
use kvdyno_record::workload::Rate;
use kvdyno_trace::Spool;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::PoisonError;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, Scope, ScopedJoinHandle};

mod thread;

pub(crate) use thread::{Client, ThreadResult, ThreadSpec, work};

/// A role's threads and what each of them is to do.
pub(crate) struct RoleSpec<S> {
    pub(crate) name: String,
    /// The operations, in the order of the sources' slots.
    pub(crate) ops: Vec<&'static OpInfo>,
    pub(crate) rate: Option<Rate>,
    /// The operations that each thread keeps in flight; none: it waits for each.
    pub(crate) depth: Option<u32>,
    /// The pause of each thread after each operation.
    pub(crate) think_ns: Option<u64>,
    /// The number of system threads for the role's threads, which share them if there are fewer.
    pub(crate) on: usize,
    /// One source per thread.
    pub(crate) sources: Vec<S>,
    /// The random numbers of each thread's schedule in an open loop.
    pub(crate) seeds: Vec<crate::rng::Rng>,
    /// The index of the first of these threads among all `threads_total` of the role. In a crew,
    /// threads of other ranks are counted as well.
    pub(crate) first: u32,
    pub(crate) threads_total: u32,
}

/// The result of a team.
pub(crate) struct Done {
    pub(crate) started_unix_ns: u64,
    /// The duration by the worker's clock, without the time between turns.
    pub(crate) wall_ns: u64,
    /// The usage of the process when the team was allowed to begin.
    pub(crate) usage_before: ProcessUsage,
    pub(crate) roles: Vec<RoleResult>,
    /// Each thread's requests; empty: they are not recorded.
    pub(crate) requests: Vec<Spool>,
    pub(crate) stopped: bool,
    /// The error that ended the team early; the counts up to there are kept.
    pub(crate) failure: Option<Error>,
}

/// The threads of a task before they start, each with its clients.
pub(crate) struct TeamSpec<S> {
    threads: Vec<(usize, Vec<Client<S>>)>,
    roles: Vec<RoleResult>,
    watch: Watch,
    shared: Shared,
    packets: Receiver<Packet>,
}

impl<S> TeamSpec<S> {
    /// Distributes the clients of each role over its threads.
    pub(crate) fn new(specs: Vec<RoleSpec<S>>, task: &Task) -> Self {
        let clients: usize = specs.iter().map(|spec| spec.sources.len()).sum();
        let threads_total: usize = specs.iter().map(|spec| spec.on).sum();
        let counting = specs.first().map_or(0, |spec| spec.sources.len());
        let shared = Shared::new((clients, counting), threads_total + 1, task.operations);
        let roles = specs.iter().map(|spec| empty_result(spec, task.duration_ns)).collect();
        let watch = Watch::new(task.steady, &specs);
        let (sender, packets) = channel();
        let (mut threads, mut begun) = (Vec::new(), 0);
        for (role, spec) in specs.into_iter().enumerate() {
            let (clients_total, on) = (spec.sources.len(), spec.on);
            let mut clients = spec.into_clients(role, begun, &sender).into_iter();
            begun += clients_total;
            // As evenly as possible.
            for index in 0..on {
                let some = (index + 1) * clients_total / on - index * clients_total / on;
                threads.push((role, clients.by_ref().take(some).collect()));
            }
        }
        Self { threads, roles, watch, shared, packets }
    }
}

/// Runs a task to its end. The threads open their sessions and prepare their first blocks, and
/// begin when `gate` allows it. Returns none if the program stopped the phase before.
///
/// Only the work of a thread is compiled for each engine and clock.
pub(crate) fn run<K: Kind>(
    engine: &K::Engine,
    clock: Best,
    spec: TeamSpec<K::Source<'_>>,
    task: &Task,
    files: &mut Files,
    gate: &Gate<'_>,
) -> Result<Option<Done>> {
    let TeamSpec { threads, roles, watch, ref shared, packets } = spec;
    let start = |(role, clients)| -> (usize, ThreadWork<'_>) {
        with_clock!(clock, clock => {
            (role, Box::new(move || work::<K, _>(engine, clock, clients, task, shared)))
        })
    };
    let works = threads.into_iter().map(start).collect();
    let engine = Probes { counters: &|| engine.counters(), events: &|| engine.events() };
    Team { clock, task, shared, roles, watch, engine }.run(works, &packets, files, gate)
}

/// The work of a thread of a team.
type ThreadWork<'t> = Box<dyn FnOnce() -> Vec<ThreadResult> + Send + 't>;

/// The methods of a working engine that the collector calls.
struct Probes<'e> {
    counters: &'e dyn Fn() -> Counters,
    events: &'e dyn Fn() -> Vec<EngineEvent>,
}

/// Threads at work.
struct Team<'t> {
    clock: Best,
    task: &'t Task,
    shared: &'t Shared,
    roles: Vec<RoleResult>,
    watch: Watch,
    engine: Probes<'t>,
}

impl Team<'_> {
    fn run(
        self,
        works: Vec<(usize, ThreadWork<'_>)>,
        packets: &Receiver<Packet>,
        files: &mut Files,
        gate: &Gate<'_>,
    ) -> Result<Option<Done>> {
        let Self { clock, task, shared, mut roles, watch, engine } = self;
        let names: Vec<String> = roles.iter().map(|role| role.role.clone()).collect();
        std::thread::scope(|scope| {
            let start =
                |(role, work)| spawn_of_role(scope, role, move || work_or_fail(work, shared));
            let handles: Vec<_> = works.into_iter().map(start).collect();
            shared.ready.wait();
            let usage_before = gate.pass(engine.counters);
            let start = clock.now() + 200_000;
            let started_unix_ns = unix_ns() + 200_000;
            let begins = matches!(usage_before, Ok(Some(_)));
            if begins {
                shared.start.store(start, Relaxed);
            }
            shared.ready.wait();
            let collector = Collector { task, roles: &names, started_unix_ns, start, watch };
            let collected = collector.run(engine.events, clock, packets, shared, files, gate);
            let clock = collected.map_err(|error| shared.fail(error)).unwrap_or(clock);
            let mut requests = Vec::new();
            for handle in handles {
                // A thread that panicked has no results, and has ended the phase.
                let results = handle.join().unwrap_or_default();
                if begins {
                    let recorded = |result: ThreadResult| result.add_to(&mut roles, start);
                    requests.extend(results.into_iter().filter_map(recorded));
                }
            }
            let Some(usage_before) = usage_before? else { return Ok(None) };
            Ok(Some(Done {
                started_unix_ns,
                wall_ns: clock.now().saturating_sub(start),
                usage_before,
                roles,
                requests,
                stopped: gate.stop().is_set(),
                failure: shared.failure.lock().unwrap_or_else(PoisonError::into_inner).take(),
            }))
        })
    }
}

/// Works. A panic ends the phase at once: the other threads may wait for this one at the end of a
/// turn.
fn work_or_fail(work: ThreadWork<'_>, shared: &Shared) -> Vec<ThreadResult> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        shared.fail(Error::new(ErrorClass::Other, "a worker thread panicked"));
        Vec::new()
    })
}

/// Syncs the engine in a thread of the first role, so that the sync is accounted for as the role's
/// work is. Returns the thread's usage too.
pub(crate) fn sync(
    sync: &(dyn Fn() -> Result<()> + Sync),
    clock: Best,
) -> (Result<()>, ThreadsUsage) {
    std::thread::scope(|scope| {
        let synced = spawn_of_role(scope, 0, move || {
            let before = usage::read_thread(clock.now());
            let synced = sync();
            (synced, usage::read_thread(clock.now()).since(&before))
        });
        synced.join().unwrap_or_else(|_| {
            let error = Error::new(ErrorClass::Other, "the engine panicked");
            (Err(error), ThreadsUsage::default())
        })
    })
}

/// Starts a thread with a name that differs from the names of the engine's own threads.
pub(crate) fn spawn_of_role<'s, 'e, T: Send + 's>(
    scope: &'s Scope<'s, 'e>,
    role: usize,
    work: impl FnOnce() -> T + Send + 's,
) -> ScopedJoinHandle<'s, T> {
    let name = format!("{THREAD_NAME}{role}");
    // Panics as `Scope::spawn` does if the system gives no thread.
    Builder::new().name(name).spawn_scoped(scope, work).expect("a thread is started")
}

impl<S> RoleSpec<S> {
    /// The clients of this role; `begun` is the number of clients of the roles before it.
    fn into_clients(self, role: usize, begun: usize, packets: &Sender<Packet>) -> Vec<Client<S>> {
        let Self { ops, rate, depth, think_ns, sources, seeds, first, threads_total, .. } = self;
        let client = |(index, (source, rng)): (usize, (S, _))| {
            let pace = rate.clone().map(|rate| (rate, (first + index as u32, threads_total), rng));
            let (thread, ops) = (begun + index, ops.clone());
            let spec = ThreadSpec { role, thread, ops, depth, think_ns, pace };
            Client { spec, source, packets: packets.clone() }
        };
        sources.into_iter().zip(seeds).enumerate().map(client).collect()
    }
}

pub(crate) fn empty_result<S>(spec: &RoleSpec<S>, duration_ns: Option<u64>) -> RoleResult {
    RoleResult {
        role: spec.name.clone(),
        threads: spec.sources.len() as u32,
        window_ns: 0,
        offered_per_s: spec.rate.as_ref().map(|rate| rate.mean_rate(duration_ns)),
        windows: Vec::new(),
        backlog: 0,
        own_ns: 0,
        usage: None,
        ops: std::collections::BTreeMap::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scripted::{Play, START, Script};
    use kvdyno_record::workload::{Schedule, Sine};

    const MS: u64 = 1_000_000;

    fn spec_with(rate: Option<Rate>) -> RoleSpec<()> {
        RoleSpec {
            name: "readers".to_owned(),
            ops: Vec::new(),
            rate,
            depth: None,
            think_ns: None,
            on: 0,
            sources: Vec::new(),
            seeds: Vec::new(),
            first: 0,
            threads_total: 0,
        }
    }

    fn result_of(results: impl IntoIterator<Item = ThreadResult>) -> RoleResult {
        let mut roles = [empty_result(&spec_with(None), None)];
        results.into_iter().for_each(|result| drop(result.add_to(&mut roles, START)));
        let [role] = roles;
        role
    }

    /// Regression test for fault 1: seven threads' operations were divided by the eighth's window.
    #[test]
    fn a_stall_at_the_end_slows_its_own_thread_only() {
        let play = || Play { duration_ns: Some(30 * MS), ..Play::default() };
        let stalled = || {
            let mut calls = vec![Ok(9_999); 2_990];
            calls.push(Ok(5 * MS + 100_000));
            play().run(Script::new(&calls, 9_999)).result
        };
        let steady = || play().run(Script::new(&[], 9_999)).result;
        let role = result_of((0..7).map(|_| steady()).chain([stalled()]));
        let rate = role.per_second(role.ops["get"].count).unwrap();
        let exact = 7.0 * 100_000.0 + 2_991.0 / 0.035;
        assert!((rate / exact - 1.0).abs() < 0.001, "expected {exact:.0}/s, found {rate:.0}/s");
    }

    /// Regression test: threads that paused between turns waited for ever for one that had
    /// panicked.
    #[test]
    fn a_panic_of_one_thread_ends_the_phase_for_all() {
        let shared = Shared::new((2, 2), 0, None);
        let panics = || -> Vec<ThreadResult> { panic!("scripted") };
        assert!(work_or_fail(Box::new(panics), &shared).is_empty() && shared.is_over());
        let failure = shared.failure.lock().unwrap().take().unwrap();
        assert_eq!(failure.message, "a worker thread panicked");
    }

    /// Half a wave is above the mean of a whole one: the offered rate is that of the phase.
    #[test]
    fn what_a_wave_offers_is_the_mean_of_the_phase() {
        let sine = Sine { amplitude: 500.0, period_ns: 100 * MS, step_ns: MS };
        let rate = Rate { sine: Some(sine), ..Rate::new(1_000.0, Schedule::Fixed) };
        let spec = spec_with(Some(rate));
        let offered = |duration_ns| empty_result(&spec, duration_ns).offered_per_s.unwrap();
        let half = 1_000.0 + 500.0 * 2.0 / std::f64::consts::PI;
        assert!((offered(Some(50 * MS)) - half).abs() < 1.0, "{}", offered(Some(50 * MS)));
        assert!((offered(Some(300 * MS)) - 1_000.0).abs() < 1e-6);
        assert!((offered(None) - 1_000.0).abs() < 1e-6);
    }

    /// A phase ends by its count or by its time, whichever comes first.
    #[test]
    fn a_phase_ends_when_its_operations_are_done() {
        let play = Play { operations: Some(1_000), duration_ns: Some(30 * MS), ..Play::default() };
        let played = play.run(Script::new(&[], 999));
        assert_eq!(played.count(), 1_000);
        let play = Play { operations: Some(1_000), duration_ns: Some(MS / 2), ..Play::default() };
        let played = play.run(Script::new(&[], 999));
        assert_eq!(played.count(), 500);
    }
}
