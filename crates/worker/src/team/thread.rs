//! One thread of a team, from its session to its last slice. It has a system thread of its own, or
//! is one of several clients that share one.

use crate::calls::{self, BLOCK_NS};
use crate::clock::Clock;
use crate::kind::{BlockOf, Kind, Supply as _};
use crate::pace::Pace;
use crate::recorder::Recorder;
use crate::shared::{Shared, Task, ThreadContext};
use crate::tally::{Packet, Tally, TimeLine, Timing};
use crate::usage;
use kvdyno_engine::server::shared_threads;
use kvdyno_engine::{Error, ErrorClass, Result};
use kvdyno_record::case::{RoleResult, ThreadWindow};
use kvdyno_record::operations::OpInfo;
use kvdyno_record::usage::ThreadsUsage;
use kvdyno_record::workload::Rate;
use kvdyno_trace::Spool;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::Sender;

/// A thread's place in the team.
pub(crate) struct ThreadSpec {
    pub(crate) role: usize,
    pub(crate) thread: usize,
    pub(crate) ops: Vec<&'static OpInfo>,
    pub(crate) depth: Option<u32>,
    pub(crate) think_ns: Option<u64>,
    pub(crate) pace: Option<(Rate, (u32, u32), crate::rng::Rng)>,
}

/// A thread of a role: alone on a system thread, or a client that shares one.
pub(crate) struct Client<S> {
    pub(crate) spec: ThreadSpec,
    pub(crate) source: S,
    pub(crate) packets: Sender<Packet>,
}

/// The result of a thread.
pub(crate) struct ThreadResult {
    pub(crate) role: usize,
    pub(crate) tallies: Vec<Tally>,
    pub(crate) last_end: u64,
    pub(crate) backlog: u64,
    pub(crate) own_ns: u64,
    pub(crate) paused_ns: u64,
    pub(crate) paused_runqueue_ns: u64,
    /// The usage of the system thread; the first of its clients has the usage of all, others none.
    pub(crate) usage: Option<ThreadsUsage>,
    pub(crate) requests: Option<Spool>,
}

/// The work of one system thread, from its clients' sessions to their last slices.
pub(crate) fn work<K: Kind, C: Clock>(
    engine: &K::Engine,
    clock: C,
    clients: Vec<Client<K::Source<'_>>>,
    task: &Task,
    shared: &Shared,
) -> Vec<ThreadResult> {
    let open_client = |client| OpenClient::<K>::new(engine, client, task, shared);
    let mut open_clients: Vec<_> = clients.into_iter().map(open_client).collect();
    shared.ready.wait();
    shared.ready.wait();
    // For a thread that wakes late, the time since the start counts as well.
    let before = usage::read_thread(clock.now().min(shared.start.load(Relaxed)));
    let work = |client: OpenClient<'_, '_, K>| client.work(clock, task, shared);
    let mut results = match (open_clients.pop(), open_clients.is_empty()) {
        (Some(alone), true) => vec![work(alone)],
        (last, _) => {
            let clients = open_clients.into_iter().chain(last);
            let turn = |client| -> ClientWork<'_> { Box::new(move || work(client)) };
            run_clients(clients.map(turn).collect(), shared)
        }
    };
    if let Some(first) = results.first_mut() {
        let now = clock.now() - first.paused_ns;
        let mut usage = usage::read_thread(now).since(&before);
        let paused_runqueue_ns = first.paused_runqueue_ns;
        usage.runqueue_ns =
            usage.runqueue_ns.map(|waited| waited.saturating_sub(paused_runqueue_ns));
        first.usage = Some(usage);
    }
    results
}

type ClientWork<'t> = Box<dyn FnOnce() -> ThreadResult + 't>;

/// Runs clients that share this thread.
fn run_clients(clients: Vec<ClientWork<'_>>, shared: &Shared) -> Vec<ThreadResult> {
    shared_threads::run_clients(clients).unwrap_or_else(|error| {
        shared.fail(Error::from(error).context("waiting for answers"));
        Vec::new()
    })
}

/// A client with its session and its first operations, or with the error that prevented them.
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
        let paced_max =
            paced.map(|(rate, thread, _)| Pace::count_thread_steps(rate, *thread, BLOCK_NS));
        let paced_max = paced_max.or(spec.think_ns.map(|_| 1));
        let begins = catch_unwind(AssertUnwindSafe(|| {
            let handle = K::open(engine, &source)?;
            let spool = |dir| Spool::create(dir, spec.thread as u32);
            let requests = task.spools.as_deref().map(spool).transpose()?;
            let block = calls::prepare_first_block::<K>(&mut source, shared, spec.role, paced_max);
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
        let mut recorder = spec.recorder(time, start);
        let (role, thread) = (spec.role, spec.thread);
        let (depth, think_ns) = (spec.depth, spec.think_ns);
        let mut pace = spec.into_pace(start);
        let recorder = match begins {
            Ok(_) if start == 0 => recorder,
            Ok((handle, block, requests)) => {
                recorder.requests = requests;
                // An open loop waits for its first operation by itself, and prepares before.
                while pace.is_none() && clock.now() < start {
                    std::hint::spin_loop();
                }
                let context =
                    ThreadContext { role, thread, handle, clock, recorder, think_ns, task, shared };
                match depth {
                    Some(depth) => K::run_in_flight(context, &mut source, block, depth),
                    None => calls::drive::<K, C>(context, &mut source, block, &mut pace),
                }
            }
            Err(error) => {
                shared.fail(error.context("opening a session"));
                recorder
            }
        };
        drop(at_work);
        let until = deadline.min(recorder.last_end);
        ThreadResult::new(role, recorder, pace, until, &mut || {
            source.count_unprepared(until - start)
        })
    }
}

/// Marks a thread as one that may still have work to do. A panic drops the mark too: otherwise the
/// other threads would wait for this one's part for ever.
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
    fn recorder(&self, time: TimeLine, start: u64) -> Recorder {
        let tallies = self.ops.iter().map(|op| Tally::new(op, self.timing())).collect();
        Recorder::new(tallies, time, start)
    }

    fn into_pace(self, start: u64) -> Option<Pace> {
        self.pace.map(|(rate, rank, rng)| Pace::new(&rate, rank, start, rng))
    }

    fn timing(&self) -> Timing {
        match (&self.pace, self.depth) {
            (Some(_), _) => Timing::Open,
            (None, Some(_)) => Timing::InFlight,
            (None, None) => Timing::Closed,
        }
    }
}

impl ThreadResult {
    /// The result of a thread that has ended. `left` counts recorded requests that were due and not
    /// prepared.
    pub(crate) fn new(
        role: usize,
        recorder: Recorder,
        pace: Option<Pace>,
        until: u64,
        left: &mut dyn FnMut() -> u64,
    ) -> Self {
        let Recorder {
            mut tallies,
            time,
            last_end,
            not_begun,
            own_ns,
            paused_ns,
            paused_runqueue_ns,
            requests,
            ..
        } = recorder;
        time.end(&mut tallies);
        let backlog = pace.map_or(0, |pace| not_begun + pace.count_until(until) + left());
        let usage = None;
        Self {
            role,
            tallies,
            last_end,
            backlog,
            own_ns,
            paused_ns,
            paused_runqueue_ns,
            usage,
            requests,
        }
    }

    /// Adds the thread's counts to its role; returns the thread's recording.
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
