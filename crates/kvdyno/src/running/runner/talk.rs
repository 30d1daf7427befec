//! The conversation with a worker: starts phase after phase, with accounting and a time limit for
//! each. `outcome.rs` judges the results.

mod machine;
mod open_close;
mod overtime;
mod served;
pub(super) mod stopwatch;
mod turns;

use super::blockio::BlockIoOfCase;
use super::environment::CaseEnvironment;
use super::memory::CaseMemory;
use super::outcome::{self, EarlyEnd, Ending};
use super::profile::ProfileOfCase;
use super::supervisor::Supervisor;
use super::worker::{Worker, WorkerMessage};
use super::{case, timed_duration};
use crate::steps;
use kvdyno_host::cache;
use kvdyno_host::meter::Times;
use kvdyno_host::processor::Processor;
use kvdyno_host::wait_samples::WaitSampler;
use kvdyno_host::{Meter, Server, size};
use kvdyno_record::case::{CaseRecord, Clock, CounterFile, Outcome, PhaseRecord};
use kvdyno_record::engine::{Counters, ErrorClass};
use kvdyno_record::protocol::{Control, Event};
use kvdyno_record::turns::TurnsRecord;
use kvdyno_record::usage::{DatabaseSize, ProcessUsage, Residency, Snapshot};
use kvdyno_record::workload::{Activity, Phase};
use open_close::OpenClose;
use overtime::Overtime;
use std::fs::File;
use std::time::{Duration, Instant};
use turns::{Meanwhile, TurnsOfCase};

/// A worker gets this long to write its results after it was asked to stop.
const PATIENCE: Duration = Duration::from_secs(30);

/// Interval of checks of a silent worker, and of its threads.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The database's size is read less often than counters: it requires a walk through its files.
const SIZE_EVERY: Duration = Duration::from_secs(5);

/// The conversation with a worker, and its results.
pub(super) struct Talk<'r> {
    environment: &'r CaseEnvironment<'r>,
    memory: &'r CaseMemory<'r>,
    meter: Meter<'r>,
    supervisor: Option<Supervisor<'r>>,
    server: Server,
    processor: Option<Processor>,
    profile: ProfileOfCase,
    started: Instant,
    times: Times,
    machine: File,
    block_io: BlockIoOfCase,
    /// Samples of what the roles' threads do.
    wait_samples: WaitSampler,
    next_look: Instant,
    next_reading: Instant,
    next_size: Instant,
    /// The phase announced or running, with the readings before it.
    current: Option<RunningPhase>,
    stopping: Option<Instant>,
    open_close: OpenClose,
    pub(super) ending: Ending,
    pub(super) record: CaseRecord,
    counters: CounterFile,
    /// The turns, if the case is one of a pair.
    turns: Option<TurnsOfCase>,
}

/// A phase in progress.
struct RunningPhase {
    index: usize,
    before: Snapshot,
    resident_before: Option<Residency>,
    evicted: Option<String>,
    /// Items done at the last message of progress, and nanoseconds since the phase began.
    last_progress: (u64, u64),
    overtime: Option<Overtime>,
    /// What was counted while the case was stopped between its turns.
    left_out: Meanwhile,
    turns: Option<TurnsRecord>,
}

impl<'r> Talk<'r> {
    pub(super) fn new(
        environment: &'r CaseEnvironment<'r>,
        memory: &'r CaseMemory<'r>,
        supervisor: Option<Supervisor<'r>>,
        processor: Option<Processor>,
        profile: ProfileOfCase,
        mut record: CaseRecord,
        started: Instant,
    ) -> anyhow::Result<Self> {
        let meter = Meter {
            root: &environment.run.root,
            device: environment.site.device.as_ref(),
            group: memory.group(),
            swap: memory.swap(),
        };
        record.not_measured.extend(environment.site.not_measured.iter().cloned());
        record.not_measured.extend(processor.iter().flat_map(Processor::uncounted_events));
        let block_io = BlockIoOfCase::start(environment, &mut record.not_measured);
        let mut server = Server::default();
        server.set_processes(supervisor.iter().filter_map(Supervisor::pid).collect());
        Ok(Self {
            environment,
            memory,
            meter,
            supervisor,
            server,
            processor,
            profile,
            started,
            times: Times::now(),
            machine: File::create_new(environment.dir.path.join("machine.ndjson"))?,
            block_io,
            wait_samples: WaitSampler::default(),
            next_look: started,
            next_reading: started,
            next_size: started,
            current: None,
            stopping: None,
            open_close: OpenClose::begin(),
            ending: Ending::default(),
            record,
            counters: CounterFile::default(),
            turns: None,
        })
    }

    /// The results.
    pub(super) fn into_result(mut self) -> (CaseRecord, CounterFile, Ending) {
        self.record.wall_ns = self.started.elapsed().as_nanos() as u64;
        if let Some(clock) = &mut self.record.clock {
            clock.time_of_day_step_ns = Some(self.times.step_ns());
        }
        (self.record, self.counters, self.ending)
    }

    /// Reads messages until the worker has closed its output, and waits for its end.
    pub(super) fn run(&mut self, worker: &mut Worker) {
        while self.read_message(worker) {}
        self.end(worker);
    }

    /// Reads one message, and does what is due. Returns whether there can be more.
    fn read_message(&mut self, worker: &mut Worker) -> bool {
        match worker.receive(LOOK_EVERY) {
            WorkerMessage::Event(event) => self.handle_event(*event, worker),
            WorkerMessage::Nonsense(line) => {
                self.refuse(format!("the worker sent {line:?}"), worker);
            }
            WorkerMessage::Silence => {}
            WorkerMessage::End => return false,
        }
        self.look(worker);
        true
    }

    /// Waits for the worker's end, and ends the case's recordings.
    fn end(&mut self, worker: &mut Worker) {
        self.wait_for_exit(worker);
        self.record.not_measured.extend(self.missing_samples());
        self.block_io.end(&self.environment.dir.path, &mut self.record.not_measured);
        self.profile.end(self.environment.dir, &mut self.record.not_measured);
        let stopped = self.environment.run.interrupt.is_requested() && !self.is_done();
        if stopped && self.ending.cut.is_none() {
            self.ending.cut = Some(EarlyEnd::Interrupted);
        }
        self.ending.phase = self.phase_name();
    }

    /// Waits for the end of a worker that has closed its output, and kills it after a while.
    fn wait_for_exit(&mut self, worker: &mut Worker) {
        worker.close_input();
        let begun = Instant::now();
        while !worker.has_ended() {
            self.look(worker);
            if begun.elapsed() > PATIENCE && !self.ending.killed_by_us {
                self.refuse("the worker closed its output and did not end".to_owned(), worker);
            }
        }
    }

    /// Ends a worker that sends invalid messages.
    fn refuse(&mut self, what: String, worker: &Worker) {
        self.fail(ErrorClass::Other, what);
        self.kill(worker);
    }

    fn is_done(&self) -> bool {
        let all = self.record.phases.len() == self.environment.case.phases.len();
        self.ending.is_done && all && self.record.phases.iter().all(|phase| !phase.stopped)
    }

    fn phase_name(&self) -> String {
        let phases = &self.environment.case.phases;
        match &self.current {
            Some(begun) => phases.get(begun.index).map(|phase| phase.name.clone()),
            None if self.record.phases.is_empty() => Some("opening".to_owned()),
            None => Some("closing".to_owned()),
        }
        .unwrap_or_default()
    }

    /// Does what is due by time: readings, checks of limits, the user's interrupt.
    fn look(&mut self, worker: &mut Worker) {
        let now = Instant::now();
        self.profile.look();
        if now >= self.next_look {
            self.next_look = now + LOOK_EVERY;
            self.sample_threads(worker.pid());
        }
        if self.current.is_some() && now >= self.next_reading {
            self.next_reading = now + Duration::from_nanos(self.environment.case.slice_ns);
            self.watch_processes(worker.pid());
            self.read_machine(worker.pid(), now);
        }
        self.check_server(worker);
        self.check_overtime(worker);
        self.check_open_close(worker);
        let budget = Duration::from_nanos(self.environment.case.budget_ns);
        if self.ending.cut.is_none() && self.started.elapsed() > budget {
            self.ending.cut = Some(EarlyEnd::Overrun);
            self.kill(worker);
        }
        let interrupt = &self.environment.run.interrupt;
        if interrupt.is_requested() && self.stopping.is_none() {
            self.stop(worker);
        }
        let out_of_patience = self.stopping.is_some_and(|since| since.elapsed() > PATIENCE);
        if (interrupt.is_urgent() || out_of_patience) && !self.ending.killed_by_us {
            self.kill(worker);
        }
    }

    fn stop(&mut self, worker: &mut Worker) {
        self.stopping = Some(Instant::now());
        worker.control(Control::Stop);
    }

    fn kill(&mut self, worker: &Worker) {
        self.ending.killed_by_us = true;
        worker.kill();
    }

    fn fail(&mut self, class: ErrorClass, message: String) {
        self.ending.failure.get_or_insert((class, message));
    }

    fn handle_event(&mut self, event: Event, worker: &mut Worker) {
        let (next, phases) = (self.record.phases.len(), self.environment.case.phases.len());
        let is_wrong = |phase: &u32| *phase as usize != next || next == phases;
        if let Some(phase) = event_phase(&event).filter(is_wrong) {
            let what = format!("protocol error: phase {phase} after {next} of {phases} phases");
            self.refuse(what, worker);
            return;
        }
        match event {
            Event::Hello { clock, clock_hz, clock_note, .. } => {
                let (kind, hz, note) = (clock, clock_hz, clock_note);
                let (drift_ppm, time_of_day_step_ns) = (None, None);
                self.record.clock = Some(Clock { kind, hz, note, drift_ppm, time_of_day_step_ns });
            }
            Event::Opened { took_ns, .. } => {
                self.record.opens_ns.push(took_ns);
                self.watch_processes(worker.pid());
            }
            Event::Ready { phase, usage, counters } => {
                self.handle_ready(phase as usize, usage, counters, worker);
            }
            Event::Progress { phase, done, total, elapsed_ns, threads, .. } => {
                let current = self.current.as_mut().and_then(|begun| begun.overtime.as_mut());
                if let Some(overtime) = current {
                    overtime.progress(done, threads);
                }
                self.handle_progress(phase as usize, done, total, elapsed_ns);
            }
            Event::TurnEnded { .. } => self.handle_turn_ended(worker),
            finished @ Event::Finished { .. } => {
                self.handle_finished(finished);
                self.go_or_hold(worker);
            }
            Event::Closed { took_ns } => {
                self.record.close_ns = Some(took_ns);
                self.handle_closed(worker);
            }
            Event::Done { drift_ppm } => {
                self.ending.is_done = true;
                if let Some(clock) = &mut self.record.clock {
                    clock.drift_ppm = drift_ppm;
                }
            }
            Event::Failed { class, message, .. } => self.fail(class, message),
            Event::Serving { .. } | Event::Halted { .. } => {
                self.refuse("the worker sent a supervisor's message".to_owned(), worker);
            }
        }
    }

    /// Starts an announced phase, after readings. After a failed check no phase starts.
    fn handle_ready(
        &mut self,
        index: usize,
        usage: ProcessUsage,
        counters: Counters,
        worker: &mut Worker,
    ) {
        let Some(phase) = self.environment.case.phases.get(index) else { return };
        self.counters.phases.entry(phase.name.clone()).or_default().before = counters;
        if outcome::is_void(self.environment.case, &self.record.phases) {
            self.stop(worker);
            return;
        }
        let resident_before = self.residency();
        self.watch_processes(worker.pid());
        self.block_io.begin_phase();
        self.wait_samples.begin_phase();
        let before = self.snapshot(usage);
        self.current = Some(RunningPhase {
            index,
            before,
            resident_before,
            evicted: None,
            last_progress: (0, 0),
            overtime: Overtime::from_phase(phase),
            left_out: Meanwhile::default(),
            turns: None,
        });
        self.next_reading = Instant::now();
        let roles = self.timed_roles();
        self.profile.begin_phase(phase, roles, &mut self.record.not_measured);
        self.environment.progress.phase(&phase.name, 0, None, None);
        worker.control(Control::Go);
    }

    /// Lets an engine go on that has closed its files. In an evict phase, and for cold operations,
    /// they are evicted first; in these and in a reopen phase a server is restarted first.
    fn handle_closed(&mut self, worker: &mut Worker) {
        let Some(index) = self.current.as_ref().map(|begun| begun.index) else { return };
        let phase = self.environment.case.phases.get(index);
        self.evict_or_restart(phase.map(|phase| &phase.work), worker);
        worker.control(Control::Go);
    }

    fn residency(&self) -> Option<Residency> {
        cache::residency(&self.environment.site.path).ok().filter(|cached| cached.file_bytes > 0)
    }

    /// The size of the database, if it is on this machine.
    fn size(&self) -> Option<DatabaseSize> {
        let CaseEnvironment { case, site, .. } = self.environment;
        size::measure(&site.path).ok().filter(|_| case.server.is_none())
    }

    /// Reads all counters. The worker's report, `usage`, is finer than a reading from here.
    fn snapshot(&mut self, usage: ProcessUsage) -> Snapshot {
        Snapshot {
            process: Some(usage),
            server: self.server.usage(self.meter.root),
            elsewhere: self.environment.case.server.is_some(),
            processor: self.processor.as_mut().map(Processor::usage),
            wait_samples: self.wait_samples.counts(),
            ..self.read_meter()
        }
    }

    fn handle_progress(&mut self, phase: usize, done: u64, total: Option<u64>, elapsed_ns: u64) {
        let Some(begun) = &mut self.current else { return };
        let (before, at_ns) = begun.last_progress;
        begun.last_progress = (done, elapsed_ns);
        let seconds = elapsed_ns.saturating_sub(at_ns) as f64 / 1e9;
        let per_s = (seconds > 0.0).then(|| done.saturating_sub(before) as f64 / seconds);
        let later =
            self.environment.case.phases.get(phase + 1..).map_or(Duration::ZERO, timed_duration);
        let Some(phase) = self.environment.case.phases.get(phase) else { return };
        let duration = phase.mix().and_then(|mix| mix.ends.duration_ns);
        // If the phase ends by time, the completed share is the share of the time.
        let (done, total) = match (total, duration) {
            (None, Some(duration)) => (elapsed_ns, Some(duration)),
            (total, _) => (done, total),
        };
        let phase_left = duration.map(|all| Duration::from_nanos(all.saturating_sub(elapsed_ns)));
        self.environment.progress.set_timed_left(later, phase_left);
        self.environment.progress.phase(&phase.name, done, total, per_s);
    }

    fn handle_finished(&mut self, event: Event) {
        let Event::Finished {
            phase,
            started_unix_ns,
            wall_ns,
            usage_before,
            usage,
            counters,
            roles,
            verified,
            settled,
            live_records,
            stopped,
            ranks,
            failed,
        } = event
        else {
            return;
        };
        if let Some((class, message)) = failed {
            // The engine may not return from its close.
            self.fail(class, message);
        }
        let after = self.snapshot(usage.clone());
        self.profile.end_phase(&mut self.record.not_measured);
        let Some(phase) = self.environment.case.phases.get(phase as usize) else { return };
        self.block_io.end_phase(&phase.name);
        let resident_after = self.residency();
        // Readings leave out what was between the turns of the current phase.
        let synced = (phase.work != Activity::Evict).then(|| self.sync(usage)).flatten();
        let Some(begun) = self.current.take() else { return };
        let before = Snapshot { process: Some(usage_before), ..begun.before };
        self.counters.phases.entry(phase.name.clone()).or_default().after = counters;
        self.record.phases.push(PhaseRecord {
            name: phase.name.clone(),
            kind: phase.work.kind().to_owned(),
            started_unix_ns,
            wall_ns,
            stopped,
            turns: begun.turns,
            before,
            after,
            synced,
            roles,
            ranks,
            instructions: None,
            verified,
            settled,
            live_records,
            evicted: begun.evicted,
            resident_before: begun.resident_before,
            resident_after,
            database: self.size(),
        });
        let missed =
            self.record.phases.last().and_then(|phase| self.block_io.missed_requests(phase));
        self.record.not_measured.extend(missed);
        self.store_partial_record();
    }

    /// Stores the results so far if more phases follow: hours of windows are not lost with the
    /// program. A failure is reported when the whole record is written.
    fn store_partial_record(&self) {
        let case = self.environment.case;
        let (done, rest) = case.phases.split_at(self.record.phases.len());
        let measures = |phase: &Phase| matches!(phase.work, Activity::Measure(_));
        let Some(last) = done.last().filter(|last| measures(last)) else { return };
        // A case of a pair waits for the other one.
        if !rest.iter().any(measures) && self.turns.is_none() {
            return;
        }
        let message = format!("kvdyno ended after `{}`", last.name);
        let record = CaseRecord {
            outcome: Outcome::Interrupted { message },
            ram_limit: self.memory.snapshot(),
            volume: self.environment.site.volume.clone(),
            wall_ns: self.started.elapsed().as_nanos() as u64,
            ..self.record.clone()
        };
        let _ = case::file(self.environment.dir, &record);
        steps::pass_step(&format!("{} of {}", last.name, case.id));
    }

    /// Syncs dirty data, so that the device's counters include all that the phase has written.
    fn sync(&mut self, usage: ProcessUsage) -> Option<(Snapshot, u64)> {
        if self.environment.case.server.is_some() {
            return None;
        }
        match cache::sync_volume(&self.environment.site.path) {
            Ok(took) => Some((self.snapshot(usage), took.as_nanos() as u64)),
            Err(error) => {
                self.record.not_measured.push(format!("data written after a phase: {error}"));
                None
            }
        }
    }
}

/// The phase of an event, by the worker's count.
fn event_phase(event: &Event) -> Option<u32> {
    match event {
        Event::Ready { phase, .. }
        | Event::Progress { phase, .. }
        | Event::Finished { phase, .. } => Some(*phase),
        _ => None,
    }
}
