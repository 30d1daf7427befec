//! One case from nothing to its record: the worker is started inside its limit, told phase by
//! phase to go, accounted for around each, and judged at the end.

use super::outcome::{self, Cut, Ending};
use super::worker::{Heard, Worker};
use super::{Bench, Interrupt};
use crate::host::cache::{self, Reach};
use crate::host::child::Exit;
use crate::host::group::Group;
use crate::host::{Meter, meter, process, size};
use crate::printer::Progress;
use crate::redact::without_secrets;
use kvdyno_engine::{Counters, ErrorClass, Place};
use kvdyno_record::case::{
    CaseRecord, Clock, CounterFile, CounterPair, Outcome, PhaseRecord, RamLimit, WorkerIdentity,
};
use kvdyno_record::engine as kvdyno_engine;
use kvdyno_record::files::{CaseFolder, write_json};
use kvdyno_record::plan::Case;
use kvdyno_record::protocol::{Control, Event, Job};
use kvdyno_record::series::MachineReading;
use kvdyno_record::usage::{ProcessUsage, Residency, Snapshot};
use kvdyno_record::workload::Work;
use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// A worker that was asked to stop gets this long to write down what it has.
const PATIENCE: Duration = Duration::from_secs(30);

/// Between two looks at a silent worker.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The database's size is read less often than counters: it walks its files.
const SIZE_EVERY: Duration = Duration::from_secs(5);

/// What a case is run with.
pub(super) struct Setting<'r> {
    pub(super) bench: &'r Bench<'r>,
    pub(super) case: &'r Case,
    pub(super) folder: &'r CaseFolder,
    pub(super) identity: &'r WorkerIdentity,
    pub(super) place: PathBuf,
    pub(super) attempt: u32,
    pub(super) database_used_by: Vec<String>,
    pub(super) progress: &'r Progress<'r>,
    pub(super) interrupt: &'r Interrupt,
}

/// Runs a case. What goes wrong with the engine is in the record; `Err` is for what keeps the
/// record itself from being written.
pub(super) fn run(setting: &Setting<'_>) -> anyhow::Result<CaseRecord> {
    let started = Instant::now();
    let started_unix_ns = meter::unix_ns();
    let (group, mut ram_limit) = limit(setting);
    let log = File::create_new(setting.folder.path.join("log.txt"))?;
    let path = &setting.identity.path;
    let mut worker = match Worker::start(path, group.as_ref(), log) {
        Ok(worker) => worker,
        Err(error) => {
            let message = format!("failed to start {}: {error}", path.display());
            let identity = Some(setting.identity.clone());
            return not_run(setting.case, setting.folder, setting.attempt, identity, message);
        }
    };
    let job = job(setting);
    // A worker that dies before it has read its job is seen at its end.
    let _ = worker.give(&job);
    let mut talk = Talk::new(setting, group.as_ref(), started)?;
    talk.run(&mut worker);
    let ending = talk.ending();
    let exit = worker.wait()?;
    let wall_ns = started.elapsed().as_nanos() as u64;
    let mut learned = talk.learned;
    if let Some(group) = group {
        ram_limit.group = group.usage().ok();
        if let Err(error) = group.check_limit() {
            learned.not_measured.push(format!("RAM limit: {error}"));
        }
        if let Err(error) = group.remove() {
            learned.not_measured.push(format!("the RAM group could not be removed: {error}"));
        }
    }
    let record = CaseRecord {
        format: kvdyno_record::FORMAT.to_owned(),
        case: setting.case.clone(),
        attempt: setting.attempt,
        outcome: outcome::judge(setting.case, &learned.phases, &ending, &exit, &ram_limit),
        worker: Some(setting.identity.clone()),
        ram_limit,
        started_unix_ns,
        wall_ns,
        process: Some(exit.usage),
        opens_ns: learned.opens_ns,
        close_ns: learned.close_ns,
        clock: learned.clock,
        phases: learned.phases,
        database_used_by: setting.database_used_by.clone(),
        not_measured: learned.not_measured,
    };
    write_json(&setting.folder.path.join("counters.json"), &learned.counters)?;
    file(setting.folder, &record)
}

/// The RAM limit, or why there is none.
fn limit(setting: &Setting<'_>) -> (Option<Group>, RamLimit) {
    let Some(bytes) = setting.case.ram_limit_bytes else {
        return (None, RamLimit::default());
    };
    let limit = RamLimit { requested_bytes: Some(bytes), ..RamLimit::default() };
    match Group::create(setting.bench.root, &setting.case.id, bytes) {
        Ok(group) => {
            let enforced_by = Some(group.enforced_by());
            (Some(group), RamLimit { enforced_by, ..limit })
        }
        Err(unavailable) => {
            let reason = Some(format!("{}; {}", unavailable.reason, unavailable.remedy));
            (None, RamLimit { reason, ..limit })
        }
    }
}

fn job(setting: &Setting<'_>) -> Job {
    let case = setting.case;
    Job {
        protocol: kvdyno_record::PROTOCOL,
        case: case.id.clone(),
        place: Place::Directory(setting.place.clone()),
        options: case.options.clone(),
        shape: case.shape.clone(),
        data: case.data.clone(),
        phases: case.phases.clone(),
        slice_ns: case.slice_ns,
        errors_max: case.errors_max,
        folder: setting.folder.path.clone(),
        trial: case.trial,
    }
}

/// The conversation with a worker, and what is learned in it.
struct Talk<'r> {
    setting: &'r Setting<'r>,
    meter: Meter<'r>,
    started: Instant,
    machine: File,
    next_reading: Instant,
    next_size: Instant,
    /// The phase announced or running, with its readings from before.
    current: Option<Begun>,
    /// When the worker was asked to stop.
    stopping: Option<Instant>,
    failure: Option<(ErrorClass, String)>,
    overrun: bool,
    killed_by_us: bool,
    said_done: bool,
    learned: Learned,
}

/// What goes into the record.
#[derive(Default)]
struct Learned {
    phases: Vec<PhaseRecord>,
    counters: CounterFile,
    opens_ns: Vec<u64>,
    close_ns: Option<u64>,
    clock: Option<Clock>,
    not_measured: Vec<String>,
}

/// A phase that has been let go.
struct Begun {
    index: usize,
    before: Snapshot,
    resident_before: Option<Residency>,
    evicted: Option<String>,
    /// Items done at the last progress, for the rate.
    last_progress: (u64, u64),
}

impl<'r> Talk<'r> {
    fn new(
        setting: &'r Setting<'r>,
        group: Option<&'r Group>,
        started: Instant,
    ) -> anyhow::Result<Self> {
        let meter = Meter {
            root: setting.bench.root,
            processes: Vec::new(),
            device: setting.bench.device,
            group,
        };
        Ok(Self {
            setting,
            meter,
            started,
            machine: File::create_new(setting.folder.path.join("machine.ndjson"))?,
            next_reading: started,
            next_size: started,
            current: None,
            stopping: None,
            failure: None,
            overrun: false,
            killed_by_us: false,
            said_done: false,
            learned: Learned {
                not_measured: setting.bench.not_measured.clone(),
                ..Learned::default()
            },
        })
    }

    /// Listens until the worker has closed its end, and sees it off.
    fn run(&mut self, worker: &mut Worker) {
        loop {
            match worker.hear(LOOK_EVERY) {
                Heard::Event(event) => self.event(*event, worker),
                Heard::Nonsense(line) => {
                    self.refuse(format!("the worker said {line:?}"), worker);
                }
                Heard::Silence => {}
                Heard::End => break,
            }
            self.look(worker);
        }
        self.see_off(worker);
    }

    /// It has closed its end. One that lives on all the same is not waited for forever.
    fn see_off(&mut self, worker: &mut Worker) {
        worker.close_input();
        let begun = Instant::now();
        while !worker.has_ended() {
            self.look(worker);
            if begun.elapsed() > PATIENCE && !self.killed_by_us {
                let message = "the worker closed its output and did not end".to_owned();
                self.fail(ErrorClass::Other, message);
                self.kill(worker);
            }
        }
    }

    /// What a worker says that makes no sense ends it.
    fn refuse(&mut self, what: String, worker: &Worker) {
        self.fail(ErrorClass::Other, what);
        self.kill(worker);
    }

    fn ending(&self) -> Ending {
        Ending {
            failure: self.failure.clone(),
            cut: self.cut(),
            killed_by_us: self.killed_by_us,
            said_done: self.said_done,
            phase: self.phase_name(),
        }
    }

    fn cut(&self) -> Option<Cut> {
        if self.overrun {
            Some(Cut::Overrun)
        } else {
            let cut_short = self.setting.interrupt.asked() && !self.said_done_in_full();
            cut_short.then_some(Cut::Interrupted)
        }
    }

    fn said_done_in_full(&self) -> bool {
        let all = self.learned.phases.len() == self.setting.case.phases.len();
        self.said_done && all && self.learned.phases.iter().all(|phase| !phase.stopped)
    }

    fn phase_name(&self) -> String {
        let phases = &self.setting.case.phases;
        self.current.as_ref().map_or_else(
            || {
                if self.learned.phases.is_empty() {
                    "opening".to_owned()
                } else {
                    "closing".to_owned()
                }
            },
            |begun| phases.get(begun.index).map(|phase| phase.name.clone()).unwrap_or_default(),
        )
    }

    /// What has to happen by the clock: readings, the budget, the user's wish for an end.
    fn look(&mut self, worker: &mut Worker) {
        let now = Instant::now();
        if self.current.is_some() && now >= self.next_reading {
            self.next_reading = now + Duration::from_nanos(self.setting.case.slice_ns);
            self.read_machine(worker.pid(), now);
        }
        let budget = Duration::from_nanos(self.setting.case.budget_ns);
        if !self.overrun && self.started.elapsed() > budget {
            self.overrun = true;
            self.kill(worker);
        }
        let interrupt = self.setting.interrupt;
        if interrupt.asked() && self.stopping.is_none() {
            self.stop(worker);
        }
        let out_of_patience = self.stopping.is_some_and(|since| since.elapsed() > PATIENCE);
        if (interrupt.insisted() || out_of_patience) && !self.killed_by_us {
            self.kill(worker);
        }
    }

    fn stop(&mut self, worker: &mut Worker) {
        self.stopping = Some(Instant::now());
        worker.control(Control::Stop);
    }

    fn kill(&mut self, worker: &Worker) {
        self.killed_by_us = true;
        worker.kill();
    }

    fn fail(&mut self, class: ErrorClass, message: String) {
        self.failure.get_or_insert((class, message));
    }

    fn event(&mut self, event: Event, worker: &mut Worker) {
        let phases = self.setting.case.phases.len();
        if let Some(phase) = phase_of(&event).filter(|phase| *phase as usize >= phases) {
            let what = format!("the worker spoke of phase {phase}; there are {phases}, from 0");
            self.refuse(what, worker);
            return;
        }
        match event {
            Event::Hello { clock, clock_hz, clock_note, .. } => {
                self.learned.clock =
                    Some(Clock { kind: clock, hz: clock_hz, note: clock_note, drift_ppm: None });
            }
            Event::Opened { took_ns, processes } => {
                self.learned.opens_ns.push(took_ns);
                self.meter.processes = processes;
            }
            Event::Ready { phase, usage, counters } => {
                self.ready(phase as usize, usage, counters, worker);
            }
            Event::Progress { phase, done, total, elapsed_ns } => {
                self.progress(phase as usize, done, total, elapsed_ns);
            }
            finished @ Event::Finished { .. } => {
                self.finished(finished);
                worker.control(Control::Go);
            }
            Event::Closed { took_ns } => {
                self.learned.close_ns = Some(took_ns);
                self.closed(worker);
            }
            Event::Done { drift_ppm } => {
                self.said_done = true;
                if let Some(clock) = &mut self.learned.clock {
                    clock.drift_ppm = drift_ppm;
                }
            }
            Event::Failed { class, message, .. } => self.fail(class, message),
        }
    }

    /// A phase waits for its go: readings first. After a failed check there is no go any more.
    fn ready(
        &mut self,
        index: usize,
        usage: ProcessUsage,
        counters: Counters,
        worker: &mut Worker,
    ) {
        let Some(phase) = self.setting.case.phases.get(index) else {
            self.fail(ErrorClass::Other, format!("the worker announced a phase {index}"));
            self.kill(worker);
            return;
        };
        self.learned.counters.phases.entry(phase.name.clone()).or_default().before = counters;
        if outcome::is_void(self.setting.case, &self.learned.phases) {
            self.stop(worker);
            return;
        }
        let resident_before = self.residency();
        let before = self.snapshot(usage);
        let (last_progress, evicted) = ((0, 0), None);
        self.current = Some(Begun { index, before, resident_before, evicted, last_progress });
        self.next_reading = Instant::now();
        self.setting.progress.phase(&phase.name, 0, None, None);
        worker.control(Control::Go);
    }

    /// The engine has let go of its files. In an evict phase it waits until they are evicted.
    fn closed(&mut self, worker: &mut Worker) {
        if self.current.is_some() {
            let words = self.evict();
            if let Some(begun) = &mut self.current {
                begun.evicted = Some(words);
            }
            worker.control(Control::Go);
        }
    }

    fn evict(&mut self) -> String {
        let Setting { bench, place, .. } = self.setting;
        match cache::evict(bench.root, place, Reach::Files) {
            Ok(eviction) => {
                match &eviction.left {
                    Ok(left) if !eviction.is_cold() => {
                        let percent = 100.0 * cache::share(left);
                        self.learned.not_measured.push(format!(
                            "after eviction {percent:.0} % of the database was still cached"
                        ));
                    }
                    Ok(_) => {}
                    Err(error) => {
                        let sentence = format!("cached after eviction: {error}");
                        self.learned.not_measured.push(sentence);
                    }
                }
                eviction.words
            }
            Err(error) => {
                self.learned.not_measured.push(format!("the page cache was not emptied: {error}"));
                format!("failed: {error}")
            }
        }
    }

    fn residency(&self) -> Option<Residency> {
        cache::residency(&self.setting.place).ok().filter(|residency| residency.file_bytes > 0)
    }

    /// All counters; a worker's own are finer from itself, a server's are read here.
    fn snapshot(&self, usage: ProcessUsage) -> Snapshot {
        let snapshot = self.meter.snapshot();
        let process = snapshot.process.clone().or(Some(usage));
        Snapshot { process, ..snapshot }
    }

    fn progress(&mut self, phase: usize, done: u64, total: Option<u64>, elapsed_ns: u64) {
        let Some(begun) = &mut self.current else { return };
        let (before, at_ns) = begun.last_progress;
        begun.last_progress = (done, elapsed_ns);
        let seconds = elapsed_ns.saturating_sub(at_ns) as f64 / 1e9;
        let per_s = (seconds > 0.0).then(|| done.saturating_sub(before) as f64 / seconds);
        let Some(phase) = self.setting.case.phases.get(phase) else { return };
        let duration = match &phase.work {
            Work::Warmup(drive) | Work::Measure(drive) => drive.ends.duration_ns,
            _ => None,
        };
        // Where time decides, the share done is the share of the time.
        let (done, total) = match (total, duration) {
            (None, Some(duration)) => (elapsed_ns, Some(duration)),
            (total, _) => (done, total),
        };
        self.setting.progress.phase(&phase.name, done, total, per_s);
    }

    fn finished(&mut self, event: Event) {
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
            stopped,
        } = event
        else {
            return;
        };
        let Some(begun) = self.current.take() else { return };
        let after = self.snapshot(usage.clone());
        let resident_after = self.residency();
        let Some(phase) = self.setting.case.phases.get(phase as usize) else { return };
        let process =
            if self.meter.processes.is_empty() { Some(usage_before) } else { begun.before.process };
        let before = Snapshot { process, ..begun.before };
        let synced = (phase.work != Work::Evict).then(|| self.sync(usage)).flatten();
        let pair: &mut CounterPair =
            self.learned.counters.phases.entry(phase.name.clone()).or_default();
        pair.after = counters;
        self.learned.phases.push(PhaseRecord {
            name: phase.name.clone(),
            kind: phase.work.kind().to_owned(),
            started_unix_ns,
            wall_ns,
            stopped,
            before,
            after,
            synced,
            roles,
            verified,
            settled,
            evicted: begun.evicted,
            resident_before: begun.resident_before,
            resident_after,
            database: size::measure(&self.setting.place).ok(),
        });
    }

    /// Everything dirty onto the device, so that its counters tell all the phase has written.
    fn sync(&mut self, usage: ProcessUsage) -> Option<(Snapshot, u64)> {
        match cache::sync_volume(&self.setting.place) {
            Ok(took) => Some((self.snapshot(usage), took.as_nanos() as u64)),
            Err(error) => {
                self.learned.not_measured.push(format!("what was written after a phase: {error}"));
                None
            }
        }
    }

    /// One line of `machine.ndjson`. That a reading is lost must not end a case.
    fn read_machine(&mut self, pid: u32, now: Instant) {
        let own = [pid];
        let pids =
            if self.meter.processes.is_empty() { &own[..] } else { &self.meter.processes[..] };
        let meter = Meter { processes: pids.to_vec(), ..self.meter.clone() };
        let database = (now >= self.next_size).then(|| {
            self.next_size = now + SIZE_EVERY;
            size::measure(&self.setting.place).ok()
        });
        let reading = MachineReading {
            phase: self.phase_name(),
            reading: meter.snapshot(),
            rss_bytes: process::rss_bytes(self.meter.root, pids),
            database: database.flatten(),
        };
        if let Ok(mut line) = serde_json::to_vec(&reading) {
            line.push(b'\n');
            let _ = self.machine.write_all(&line);
        }
    }
}

/// The phase that an event is about, as its worker counts.
fn phase_of(event: &Event) -> Option<u32> {
    match event {
        Event::Ready { phase, .. }
        | Event::Progress { phase, .. }
        | Event::Finished { phase, .. } => Some(*phase),
        _ => None,
    }
}

/// A case that could not be started at all.
pub(super) fn not_run(
    case: &Case,
    folder: &CaseFolder,
    attempt: u32,
    worker: Option<WorkerIdentity>,
    message: String,
) -> anyhow::Result<CaseRecord> {
    let record = CaseRecord {
        format: kvdyno_record::FORMAT.to_owned(),
        case: case.clone(),
        attempt,
        outcome: Outcome::NotRun { message },
        worker,
        ram_limit: RamLimit { requested_bytes: case.ram_limit_bytes, ..RamLimit::default() },
        started_unix_ns: meter::unix_ns(),
        wall_ns: 0,
        process: None,
        opens_ns: Vec::new(),
        close_ns: None,
        clock: None,
        phases: Vec::new(),
        database_used_by: Vec::new(),
        not_measured: Vec::new(),
    };
    file(folder, &record)
}

/// Writes a record down; what an engine says may hold the address that it was given.
fn file(folder: &CaseFolder, record: &CaseRecord) -> anyhow::Result<CaseRecord> {
    let record = without_secrets(record)?;
    folder.write_record(&record)?;
    Ok(record)
}

/// How a worker process ended, in words.
pub(super) fn exit_words(exit: &Exit) -> String {
    match (exit.code, exit.signal) {
        (_, Some(signal)) => format!("died of signal {signal}"),
        (Some(code), None) => format!("ended with code {code}"),
        (None, None) => "ended".to_owned(),
    }
}
