//! A phase's threads: they begin together, end together, and share nothing but a flag.
//!
//! The calling thread collects their slices, writes them out, and tells how far they are.

use crate::calls::{self, BLOCK_NS};
use crate::clock::{Clock, unix_ns};
use crate::collector::Collector;
use crate::control::Gate;
use crate::kind::{BlockOf, Kind, Supply as _};
use crate::output::Files;
use crate::pace::Pace;
use crate::recorder::Recorder;
use crate::shared::{Shared, Task, ThreadContext};
use crate::tally::{Packet, Tally, TimeLine, Timing};
use crate::usage;
use crate::watch::Watch;
use kvdyno_engine::server::shared_threads;
use kvdyno_engine::{Engine, Error, ErrorClass, Result};
use kvdyno_record::case::{RoleResult, ThreadWindow};
use kvdyno_record::operations::OpInfo;
use kvdyno_record::usage::{ProcessUsage, THREAD_NAME, ThreadsUsage};
use kvdyno_record::workload::Rate;
use kvdyno_trace::Spool;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::PoisonError;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Sender, channel};
use std::thread::{Builder, Scope, ScopedJoinHandle};

/// A role's threads and what each of them is to do.
pub(crate) struct RoleSpec<S> {
    pub(crate) name: String,
    /// In the order of the sources' slots.
    pub(crate) ops: Vec<&'static OpInfo>,
    pub(crate) rate: Option<Rate>,
    /// Operations each thread keeps in flight, where it does not wait for each.
    pub(crate) depth: Option<u32>,
    /// The pause of each thread after each operation.
    pub(crate) think_ns: Option<u64>,
    /// On how many threads of the system they are; where these are fewer, they share them.
    pub(crate) on: usize,
    /// One source a thread.
    pub(crate) sources: Vec<S>,
    /// Open loop: where each thread's schedule comes from.
    pub(crate) seeds: Vec<crate::rng::Rng>,
    /// Which of the role's threads the first of them is, and of how many: of a crew, those of its
    /// other ranks are counted as well.
    pub(crate) first: u32,
    pub(crate) threads_total: u32,
}

/// The result of a team.
pub(crate) struct Done {
    pub(crate) started_unix_ns: u64,
    /// By the worker's clock, without what was between turns.
    pub(crate) wall_ns: u64,
    /// When it was let begin.
    pub(crate) usage_before: ProcessUsage,
    pub(crate) roles: Vec<RoleResult>,
    /// Each thread's requests, where they are recorded.
    pub(crate) requests: Vec<Spool>,
    pub(crate) stopped: bool,
    /// What ended it early; the counts up to there are kept.
    pub(crate) failure: Option<Error>,
}

/// The result of a thread.
pub(crate) struct ThreadResult {
    pub(crate) role: usize,
    pub(crate) tallies: Vec<Tally>,
    pub(crate) last_end: u64,
    pub(crate) backlog: u64,
    pub(crate) own_ns: u64,
    pub(crate) paused_ns: u64,
    /// Of those that share a thread, the first has what all used.
    pub(crate) usage: Option<ThreadsUsage>,
    pub(crate) requests: Option<Spool>,
}

/// Runs a task to its end. The threads open their sessions and prepare their first blocks, and
/// begin when `gate` lets them; none: it does not.
pub(crate) fn run<K: Kind, C: Clock>(
    engine: &K::Engine,
    clock: C,
    specs: Vec<RoleSpec<K::Source<'_>>>,
    task: &Task,
    files: &mut Files,
    gate: &Gate<'_>,
) -> Result<Option<Done>> {
    let clients: usize = specs.iter().map(|spec| spec.sources.len()).sum();
    let threads: usize = specs.iter().map(|spec| spec.on).sum();
    let counting = specs.first().map_or(0, |spec| spec.sources.len());
    let shared = Shared::new((clients, counting), threads + 1, task.operations);
    let mut roles: Vec<RoleResult> =
        specs.iter().map(|spec| empty_result(spec, task.duration_ns)).collect();
    let watch = Watch::new(task.steady, &specs);
    let names: Vec<String> = specs.iter().map(|spec| spec.name.clone()).collect();
    let (sender, packets) = channel();
    std::thread::scope(|scope| {
        let (mut handles, mut begun, shared) = (Vec::new(), 0, &shared);
        for (role, spec) in specs.into_iter().enumerate() {
            let (clients_total, on) = (spec.sources.len(), spec.on);
            let mut clients = spec.into_clients(role, begun, &sender).into_iter();
            begun += clients_total;
            // As evenly as can be.
            for thread_index in 0..on {
                let some =
                    (thread_index + 1) * clients_total / on - thread_index * clients_total / on;
                let some: Vec<_> = clients.by_ref().take(some).collect();
                let work = move || work::<K, C>(engine, clock, some, task, shared);
                handles.push(spawn_of_role(scope, role, work));
            }
        }
        drop(sender);
        shared.ready.wait();
        let usage_before = gate.pass(engine);
        let start = clock.now() + 200_000;
        let started_unix_ns = unix_ns() + 200_000;
        let begins = matches!(usage_before, Ok(Some(_)));
        if begins {
            shared.start.store(start, Relaxed);
        }
        shared.ready.wait();
        let collector = Collector { task, roles: &names, started_unix_ns, start, watch };
        let collected = collector.run(engine, clock, &packets, shared, files, gate);
        let clock = collected.map_err(|error| shared.fail(error)).unwrap_or(clock);
        let mut requests = Vec::new();
        for handle in handles {
            match handle.join() {
                Ok(results) if begins => {
                    let recorded = |result: ThreadResult| result.add_to(&mut roles, start);
                    requests.extend(results.into_iter().filter_map(recorded));
                }
                Ok(_) => {}
                Err(_) => shared.fail(Error::new(ErrorClass::Other, "a worker thread panicked")),
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

/// Syncs the engine in a thread of the first role's, so that it is accounted for as its threads
/// are.
pub(crate) fn sync<E: Engine, C: Clock>(engine: &E, clock: C) -> (Result<()>, ThreadsUsage) {
    std::thread::scope(|scope| {
        let synced = spawn_of_role(scope, 0, move || {
            let before = usage::of_this_thread(clock.now());
            let synced = engine.sync();
            (synced, usage::of_this_thread(clock.now()).since(&before))
        });
        synced.join().unwrap_or_else(|_| {
            let error = Error::new(ErrorClass::Other, "the engine panicked");
            (Err(error), ThreadsUsage::default())
        })
    })
}

/// A thread with a name that differs from those of the engine's own.
pub(crate) fn spawn_of_role<'s, 'e, T: Send + 's>(
    scope: &'s Scope<'s, 'e>,
    role: usize,
    work: impl FnOnce() -> T + Send + 's,
) -> ScopedJoinHandle<'s, T> {
    let name = format!("{THREAD_NAME}{role}");
    // As `Scope::spawn` does where the system gives no thread.
    Builder::new().name(name).spawn_scoped(scope, work).expect("a thread is started")
}

/// A thread's place in the team.
pub(crate) struct ThreadSpec {
    pub(crate) role: usize,
    pub(crate) thread: usize,
    pub(crate) ops: Vec<&'static OpInfo>,
    pub(crate) depth: Option<u32>,
    pub(crate) think_ns: Option<u64>,
    pub(crate) pace: Option<(Rate, (u32, u32), crate::rng::Rng)>,
}

/// A thread of a role's: alone on one of the system's, or a client that shares one.
pub(crate) struct Client<S> {
    pub(crate) spec: ThreadSpec,
    pub(crate) source: S,
    pub(crate) packets: Sender<Packet>,
}

impl<S> RoleSpec<S> {
    /// Those of one role; `begun` are of the roles before it.
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

/// One thread of the system, from its clients' sessions to their last slices.
pub(crate) fn work<K: Kind, C: Clock>(
    engine: &K::Engine,
    clock: C,
    clients: Vec<Client<K::Source<'_>>>,
    task: &Task,
    shared: &Shared,
) -> Vec<ThreadResult> {
    let open_client = |client| OpenClient::<K>::new(engine, client, task, shared);
    let mut open_client: Vec<_> = clients.into_iter().map(open_client).collect();
    shared.ready.wait();
    shared.ready.wait();
    // A thread that wakes late has waited since the start.
    let before = usage::of_this_thread(clock.now().min(shared.start.load(Relaxed)));
    let work = |client: OpenClient<'_, '_, K>| client.work(clock, task, shared);
    let mut results = match (open_client.pop(), open_client.is_empty()) {
        (Some(alone), true) => vec![work(alone)],
        (last, _) => {
            let clients = open_client.into_iter().chain(last);
            shared_threads::run_clients(clients.map(|client| move || work(client))).unwrap_or_else(
                |error| {
                    shared.fail(Error::from(error).context("waiting for answers"));
                    Vec::new()
                },
            )
        }
    };
    if let Some(first) = results.first_mut() {
        let now = clock.now() - first.paused_ns;
        first.usage = Some(usage::of_this_thread(now).since(&before));
    }
    results
}

/// A client that has a session, or none, and its first operations.
struct OpenClient<'e, 'p, K: Kind> {
    at_work: RunningThread<'e>,
    spec: ThreadSpec,
    source: K::Source<'p>,
    packets: Sender<Packet>,
    begins: Result<(K::Handle<'e>, BlockOf<K>, Option<Spool>)>,
}

impl<'e, 'p, K: Kind> OpenClient<'e, 'p, K> {
    fn new(
        engine: &'e K::Engine,
        client: Client<K::Source<'p>>,
        task: &Task,
        shared: &'e Shared,
    ) -> Self {
        let Client { spec, mut source, packets } = client;
        let at_work = RunningThread { shared, role: spec.role };
        // A panic here must not leave the others waiting at the barrier.
        let paced = spec.pace.as_ref();
        let paced_max = paced.map(|(rate, thread, _)| Pace::steps_of(rate, *thread, BLOCK_NS));
        let paced_max = paced_max.or(spec.think_ns.map(|_| 1));
        let begins = catch_unwind(AssertUnwindSafe(|| {
            let handle = K::open(engine, &source)?;
            let spool = |folder| Spool::create(folder, spec.thread as u32);
            let requests = task.spools.as_deref().map(spool).transpose()?;
            let block = calls::first_block::<K>(&mut source, shared, spec.role, paced_max);
            Ok((handle, block, requests))
        }));
        let begins =
            begins.unwrap_or_else(|_| Err(Error::new(ErrorClass::Other, "the engine panicked")));
        Self { at_work, spec, source, packets, begins }
    }

    fn work<C: Clock>(self, clock: C, task: &Task, shared: &Shared) -> ThreadResult {
        let Self { at_work, spec, mut source, packets, begins } = self;
        let start = shared.start.load(Relaxed);
        let deadline = task.duration_ns.map_or(u64::MAX, |duration| start + duration);
        let time = TimeLine::new((spec.role, spec.thread), start, task.slice_ns, deadline, packets);
        let tallies = spec.ops.iter().map(|op| Tally::new(op, spec.timing())).collect();
        let mut recorder = Recorder::new(tallies, time, start);
        let mut pace = spec.pace.map(|(rate, rank, rng)| Pace::new(&rate, rank, start, rng));
        let (role, thread, think_ns) = (spec.role, spec.thread, spec.think_ns);
        let recorder = match begins {
            Ok(_) if start == 0 => recorder,
            Ok((handle, block, requests)) => {
                recorder.requests = requests;
                // An open loop waits for its first operation, and prepares it before.
                while pace.is_none() && clock.now() < start {
                    std::hint::spin_loop();
                }
                let context =
                    ThreadContext { role, thread, handle, clock, recorder, think_ns, task, shared };
                match spec.depth {
                    Some(depth) => K::in_flight(context, &mut source, block, depth),
                    None => calls::drive::<K, C>(context, &mut source, block, &mut pace),
                }
            }
            Err(error) => {
                shared.fail(error.context("opening a session"));
                recorder
            }
        };
        drop(at_work);
        let Recorder {
            mut tallies, time, last_end, not_begun, own_ns, paused_ns, requests, ..
        } = recorder;
        time.end(&mut tallies);
        let until = deadline.min(last_end);
        let mut count_left =
            |pace: Pace| pace.count_until(until) + source.left_until(until - start);
        let backlog = pace.map_or(0, |pace| not_begun + count_left(pace));
        let usage = None;
        ThreadResult { role, tallies, last_end, backlog, own_ns, paused_ns, usage, requests }
    }
}

/// A thread that may still have something to do; ended by a panic as well, or the others would wait
/// for its part for ever.
struct RunningThread<'s> {
    shared: &'s Shared,
    role: usize,
}

impl Drop for RunningThread<'_> {
    fn drop(&mut self) {
        self.shared.leave(self.role);
    }
}

impl ThreadSpec {
    fn timing(&self) -> Timing {
        match (&self.pace, self.depth) {
            (Some(_), _) => Timing::Open,
            (None, Some(_)) => Timing::InFlight,
            (None, None) => Timing::Closed,
        }
    }
}

pub(crate) fn empty_result<S>(spec: &RoleSpec<S>, duration_ns: Option<u64>) -> RoleResult {
    RoleResult {
        role: spec.name.clone(),
        threads: spec.sources.len() as u32,
        window_ns: 0,
        offered_per_s: spec.rate.as_ref().map(|rate| rate.offered(duration_ns)),
        windows: Vec::new(),
        backlog: 0,
        own_ns: 0,
        usage: None,
        ops: std::collections::BTreeMap::new(),
    }
}

impl ThreadResult {
    /// Of a thread that worked alone.
    pub(crate) fn alone(tallies: Vec<Tally>, last_end: u64) -> Self {
        Self {
            role: 0,
            tallies,
            last_end,
            backlog: 0,
            own_ns: 0,
            paused_ns: 0,
            usage: None,
            requests: None,
        }
    }

    /// Adds its counts; returns its recording.
    pub(crate) fn add_to(self, roles: &mut [RoleResult], start: u64) -> Option<Spool> {
        let role = &mut roles[self.role];
        let window_ns = self.last_end - start;
        let operations = self.tallies.iter().map(|tally| tally.count).sum();
        role.window_ns = role.window_ns.max(window_ns);
        role.windows.push(ThreadWindow { window_ns, operations });
        role.backlog += self.backlog;
        role.own_ns += self.own_ns;
        if let Some(usage) = self.usage {
            role.usage = Some(role.usage.map_or(usage, |others| others.and(&usage)));
        }
        for tally in self.tallies {
            let name = tally.op.name.to_owned();
            tally.add_to(role.ops.entry(name).or_default());
        }
        self.requests
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scripted::{Play, START, Script};
    use kvdyno_record::workload::{Schedule, Sine};

    const MS: u64 = 1_000_000;

    fn result_of(results: impl IntoIterator<Item = ThreadResult>) -> RoleResult {
        let (ops, sources, seeds) = (Vec::new(), Vec::<()>::new(), Vec::new());
        let (name, rate, depth) = ("readers".to_owned(), None, None);
        let spec = RoleSpec {
            name,
            ops,
            rate,
            depth,
            think_ns: None,
            on: 0,
            sources,
            seeds,
            first: 0,
            threads_total: 0,
        };
        let mut roles = [empty_result(&spec, None)];
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

    /// Half a wave is above the mean of a whole: what was offered is what came.
    #[test]
    fn what_a_wave_offers_is_the_mean_of_the_phase() {
        let sine = Sine { amplitude: 500.0, period_ns: 100 * MS, step_ns: MS };
        let rate = Rate { sine: Some(sine), ..Rate::new(1_000.0, Schedule::Fixed) };
        let (ops, sources, seeds) = (Vec::new(), Vec::<()>::new(), Vec::new());
        let rate = Some(rate);
        let (name, depth) = ("readers".to_owned(), None);
        let spec = RoleSpec {
            name,
            ops,
            rate,
            depth,
            think_ns: None,
            on: 0,
            sources,
            seeds,
            first: 0,
            threads_total: 0,
        };
        let offered = |duration_ns| empty_result(&spec, duration_ns).offered_per_s.unwrap();
        let half = 1_000.0 + 500.0 * 2.0 / std::f64::consts::PI;
        assert!((offered(Some(50 * MS)) - half).abs() < 1.0, "{}", offered(Some(50 * MS)));
        assert!((offered(Some(300 * MS)) - 1_000.0).abs() < 1e-6);
        assert!((offered(None) - 1_000.0).abs() < 1e-6);
    }

    /// Both ways of ending: by the count, and by the time.
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
