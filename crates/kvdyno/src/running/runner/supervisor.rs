//! The supervisor of a case with a server: sends the commands to start and stop it, and waits for
//! the replies.

use super::count;
use super::environment::CaseEnvironment;
use super::memory::CaseMemory;
use super::profile::{self, OpenedWatch};
use super::talk::stopwatch::{Reminder, Step};
use super::worker::{Worker, WorkerMessage};
use kvdyno_host::processor::Processor;
use kvdyno_profile::Watched;
use kvdyno_record::case::{ServerRecord, WorkerIdentity, is_from_outside};
use kvdyno_record::engine::{ErrorClass, Options};
use kvdyno_record::protocol::{Event, ServerJob, SupervisorOrder};
use kvdyno_record::units;
use std::fs::File;
use std::time::{Duration, Instant};

/// Interval of checks for an interrupt.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// After an interrupt, a server that is starting or stopping gets this long.
const PATIENCE: Duration = Duration::from_secs(30);

/// A server that must end gets this long: a database elsewhere may be large.
const LEAVING: Duration = Duration::from_secs(120);

/// A slow start or stop of a server is reported after this time.
const TELL_AFTER: Duration = Duration::from_secs(5);

/// A supervisor that has closed its pipes ends in this time.
const ENDING: Duration = Duration::from_secs(1);

/// The reason why a server is absent, or not in the requested state.
#[derive(Clone, Debug)]
pub(super) struct ServerFailure {
    pub(super) class: ErrorClass,
    pub(super) message: String,
    /// The signal that the server or its supervisor died of, if somebody else sent it.
    pub(super) signal: Option<i32>,
}

impl ServerFailure {
    fn new(class: ErrorClass, message: impl Into<String>) -> Self {
        Self { class, message: message.into(), signal: None }
    }
}

/// A supervisor and its server.
pub(super) struct Supervisor<'r> {
    environment: &'r CaseEnvironment<'r>,
    worker: Worker,
    /// The counter of the server's instructions, if requested.
    pub(super) processor: Option<Processor>,
    /// The samples of the server's functions, if requested.
    pub(super) watch: OpenedWatch,
    record: ServerRecord,
    /// The server's options: the case's, until a phase sets others.
    pub(super) options: Options,
    /// The end of the case's budget.
    deadline: Instant,
}

impl<'r> Supervisor<'r> {
    /// Starts a supervisor inside the case's RAM limit, and starts the server; `None`: the engine
    /// is not a server. The server's output goes to `server.txt`.
    pub(super) fn start(
        environment: &'r CaseEnvironment<'r>,
        memory: &CaseMemory<'_>,
        identity: &WorkerIdentity,
    ) -> Result<Option<Self>, ServerFailure> {
        if !identity.description.engine.capabilities.external_processes {
            return Ok(None);
        }
        let started = File::create_new(environment.dir.path.join("server.txt"))
            .and_then(|log| memory.start(identity, "serve", log));
        let worker = started.map_err(|error| {
            let what = format!("failed to start {}: {error}", identity.path.display());
            ServerFailure::new(ErrorClass::Other, what)
        })?;
        let (record, options) = (ServerRecord::default(), environment.case.options.clone());
        let deadline = Instant::now() + Duration::from_nanos(environment.case.budget_ns);
        let is_own = environment.case.server.is_none();
        let processor = count::count_by_processor(environment, &worker).filter(|_| is_own);
        let watch = profile::watch(environment, &worker, Watched::Supervisor).filter(|_| is_own);
        let mut supervisor =
            Self { environment, worker, processor, watch, record, options, deadline };
        supervisor.serve()?;
        Ok(Some(supervisor))
    }

    /// Moves the end of the case's budget: the case was stopped for this long.
    pub(super) fn postpone(&mut self, stopped: Duration) {
        self.deadline += stopped;
    }

    /// The server's address.
    pub(super) fn address(&self) -> String {
        self.record.address.clone()
    }

    /// The supervisor's process: its CPU time and I/O, with its children's, are the server's.
    /// `None`: the server is attached, and the supervisor creates a database in it.
    pub(super) fn pid(&self) -> Option<u32> {
        self.environment.case.server.is_none().then(|| self.worker.pid())
    }

    /// Starts the server, at its previous address if it had one.
    pub(super) fn serve(&mut self) -> Result<(), ServerFailure> {
        let address = Some(self.record.address.clone()).filter(|address| !address.is_empty());
        let order = SupervisorOrder::Serve(ServerJob {
            location: self.environment.site.location(),
            address,
            options: self.options.clone(),
            shape: self.environment.case.shape.clone(),
            database: self.environment.database_elsewhere(),
        });
        match self.send_order(&order)? {
            Event::Serving { address, command, took_ns } => {
                self.record.starts_ns.push(took_ns);
                self.record = ServerRecord { address, command, ..self.record.clone() };
                Ok(())
            }
            other => Err(protocol_error(&other)),
        }
    }

    /// Stops the server cleanly.
    pub(super) fn halt(&mut self) -> Result<(), ServerFailure> {
        match self.send_order(&SupervisorOrder::Halt)? {
            Event::Halted { took_ns } => {
                self.record.stops_ns.push(took_ns);
                Ok(())
            }
            other => Err(protocol_error(&other)),
        }
    }

    /// Returns the reason why the server has ended, after waiting this long; `None`: it runs.
    pub(super) fn failure(&mut self, wait: Duration) -> Option<ServerFailure> {
        match self.worker.receive(wait) {
            WorkerMessage::Silence => None,
            message => Some(self.message_failure(message)),
        }
    }

    /// Returns the failure that an unexpected message of the supervisor means.
    fn message_failure(&mut self, message: WorkerMessage) -> ServerFailure {
        match message {
            WorkerMessage::Event(event) => match *event {
                Event::Failed { class, message, signal, .. } => {
                    let signal = signal.filter(|signal| is_from_outside(*signal));
                    ServerFailure { class, message, signal }
                }
                other => protocol_error(&other),
            },
            WorkerMessage::Nonsense(line) => {
                ServerFailure::new(ErrorClass::Other, format!("the supervisor sent {line:?}"))
            }
            WorkerMessage::End | WorkerMessage::Silence => self.wait_for_end(),
        }
    }

    /// Waits for a supervisor that ends without a message, and returns the failure.
    fn wait_for_end(&mut self) -> ServerFailure {
        let begun = Instant::now();
        while !self.worker.has_ended() && begun.elapsed() < ENDING {}
        if !self.worker.has_ended() {
            self.worker.kill();
            let what = "the server's supervisor closed its output and did not end";
            return ServerFailure::new(ErrorClass::Unavailable, what);
        }
        let exit = self.worker.wait().ok();
        let how = exit.as_ref().map_or_else(|| "has ended".to_owned(), ToString::to_string);
        ServerFailure {
            class: ErrorClass::Unavailable,
            message: format!("the server's supervisor {how}, and its server with it"),
            signal: exit.and_then(|exit| exit.signal),
        }
    }

    /// Ends the supervisor, and the server if it still runs. Returns their resource usage and
    /// errors.
    pub(super) fn end(mut self) -> (ServerRecord, Option<String>) {
        let errors = self.leave();
        let is_own_server = self.pid().is_some();
        let usage = self.worker.wait().ok().map(|exit| exit.usage).filter(|_| is_own_server);
        (ServerRecord { usage, ..std::mem::take(&mut self.record) }, errors)
    }

    /// Ends the supervisor, and returns the error in its last messages. Before its end, it removes
    /// its database on an attached server.
    fn leave(&mut self) -> Option<String> {
        self.worker.close_input();
        let begun = Instant::now();
        while !self.worker.has_ended() {
            let interrupted = self.environment.run.interrupt.is_urgent();
            if begun.elapsed() > LEAVING || interrupted {
                self.worker.kill();
            }
        }
        // The supervisor's last message may not have been read yet.
        let _ = self.worker.wait();
        loop {
            match self.worker.receive(Duration::ZERO) {
                WorkerMessage::Event(event) => {
                    if let Event::Failed { message, .. } = *event {
                        return Some(message);
                    }
                }
                WorkerMessage::Nonsense(_) => {}
                WorkerMessage::End | WorkerMessage::Silence => return None,
            }
        }
    }

    /// Ends a supervisor that takes too long. One with an attached server is not killed: it removes
    /// its database when its input ends.
    fn end_worker(&mut self) {
        match self.pid() {
            Some(_) => self.worker.kill(),
            None => self.worker.close_input(),
        }
    }

    fn report_slow(&self, order: &SupervisorOrder, elapsed: Duration) {
        let what = match order {
            SupervisorOrder::Serve(_) => "starting",
            SupervisorOrder::Halt => "stopping",
        };
        let (id, label) = (&self.environment.case.id, &self.environment.case.label);
        let elapsed = units::duration(elapsed.as_nanos() as u64);
        let text = format!("{id}: {what} the server of {label} takes {elapsed} so far");
        self.environment.progress.warn(&text);
    }

    fn send_order(&mut self, order: &SupervisorOrder) -> Result<Event, ServerFailure> {
        // If the order cannot be sent, the messages below give the reason.
        let sent = self.worker.send(order);
        let interrupt = &self.environment.run.interrupt;
        let (mut hurried, mut deadline) = (false, self.deadline);
        if self.pid().is_none() && matches!(order, SupervisorOrder::Halt) {
            deadline = deadline.max(Instant::now() + LEAVING);
            hurried = true;
        }
        let (begun, mut reminder) = (Instant::now(), Reminder::after(TELL_AFTER));
        loop {
            let message = self.worker.receive(LOOK_EVERY);
            match message {
                WorkerMessage::Event(event) if !matches!(*event, Event::Failed { .. }) => {
                    return Ok(*event);
                }
                WorkerMessage::Silence if sent.is_ok() => {}
                message => return Err(self.message_failure(message)),
            }
            if reminder.step(begun.elapsed()) == Step::Tell {
                self.report_slow(order, begun.elapsed());
            }
            if interrupt.is_requested() && !hurried {
                (hurried, deadline) = (true, deadline.min(Instant::now() + PATIENCE));
            }
            if interrupt.is_urgent() || Instant::now() > deadline {
                self.end_worker();
                let what = "the server did not start or stop within the case's budget, or its \
                            patience after an interrupt";
                return Err(ServerFailure::new(ErrorClass::Unavailable, what));
            }
        }
    }
}

/// However a case ends, its database on an attached server is removed.
impl Drop for Supervisor<'_> {
    fn drop(&mut self) {
        if self.pid().is_none()
            && let Some(error) = self.leave()
        {
            self.environment.progress.warn(&error);
        }
    }
}

fn protocol_error(event: &Event) -> ServerFailure {
    ServerFailure::new(ErrorClass::Other, format!("the supervisor sent {event:?}"))
}
