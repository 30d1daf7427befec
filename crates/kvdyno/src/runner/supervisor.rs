//! The supervisor of a case whose engine is a server: told to start it and to stop it, and heard
//! until it has.

use super::count;
use super::environment::CaseEnvironment;
use super::memory::CaseMemory;
use super::outcome::exit_words;
use super::worker::{Worker, WorkerMessage};
use kvdyno_host::processor::Processor;
use kvdyno_record::case::{ServerRecord, WorkerIdentity};
use kvdyno_record::engine::{ErrorClass, Options};
use kvdyno_record::protocol::{Event, ServerJob, SupervisorOrder};
use std::fs::File;
use std::time::{Duration, Instant};

/// Between two looks at whether the user wants an end.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// A server that is starting or stopping when the user wants an end gets this long.
const PATIENCE: Duration = Duration::from_secs(30);

/// One that is to end gets this long: a database elsewhere may be large.
const LEAVING: Duration = Duration::from_secs(120);

/// A supervisor that has closed its pipes ends so soon.
const ENDING: Duration = Duration::from_secs(1);

/// Why a server is not there, or not in the state it was told to be in.
#[derive(Clone, Debug)]
pub(super) struct Complaint {
    pub(super) class: ErrorClass,
    pub(super) message: String,
    /// What the supervisor died of, where that was not its own doing.
    pub(super) signal: Option<i32>,
}

impl Complaint {
    fn new(class: ErrorClass, message: impl Into<String>) -> Self {
        Self { class, message: message.into(), signal: None }
    }
}

/// A supervisor and its server.
pub(super) struct Supervisor<'r> {
    environment: &'r CaseEnvironment<'r>,
    worker: Worker,
    /// What counts the server's instructions, where somebody asked for that.
    pub(super) processor: Option<Processor>,
    record: ServerRecord,
    /// What the server is started with: the case's, until a phase has others.
    pub(super) options: Options,
    /// The end of the case's budget.
    deadline: Instant,
}

impl<'r> Supervisor<'r> {
    /// Starts one inside the case's RAM limit, and has it start the server; none: the engine is no
    /// server. What the server says goes to `server.txt`.
    pub(super) fn start(
        environment: &'r CaseEnvironment<'r>,
        memory: &CaseMemory<'_>,
        identity: &WorkerIdentity,
    ) -> Result<Option<Self>, Complaint> {
        if !identity.description.engine.capabilities.external_processes {
            return Ok(None);
        }
        let started = File::create_new(environment.folder.path.join("server.txt"))
            .and_then(|log| memory.start(identity, "serve", log));
        let worker = started.map_err(|error| {
            let what = format!("failed to start {}: {error}", identity.path.display());
            Complaint::new(ErrorClass::Other, what)
        })?;
        let (record, options) = (ServerRecord::default(), environment.case.options.clone());
        let deadline = Instant::now() + Duration::from_nanos(environment.case.budget_ns);
        let ours = environment.case.server.is_none();
        let processor = count::by_processor(environment, &worker).filter(|_| ours);
        let mut supervisor = Self { environment, worker, processor, record, options, deadline };
        supervisor.serve()?;
        Ok(Some(supervisor))
    }

    /// Where the server is reached.
    pub(super) fn address(&self) -> String {
        self.record.address.clone()
    }

    /// Whose CPU time and I/O are the server's, with those of its children; none: somebody else
    /// runs the server, and this process makes a database in it.
    pub(super) fn pid(&self) -> Option<u32> {
        self.environment.case.server.is_none().then(|| self.worker.pid())
    }

    /// Has it start the server, where it was before.
    pub(super) fn serve(&mut self) -> Result<(), Complaint> {
        let address = Some(self.record.address.clone()).filter(|before| !before.is_empty());
        let order = SupervisorOrder::Serve(ServerJob {
            place: self.environment.site.place(),
            address,
            options: self.options.clone(),
            shape: self.environment.case.shape.clone(),
            database: self.environment.database_elsewhere(),
        });
        match self.obeyed(&order)? {
            Event::Serving { address, command, took_ns } => {
                self.record.starts_ns.push(took_ns);
                self.record = ServerRecord { address, command, ..self.record.clone() };
                Ok(())
            }
            other => Err(nonsense(&other)),
        }
    }

    /// Has it stop the server in order.
    pub(super) fn halt(&mut self) -> Result<(), Complaint> {
        match self.obeyed(&SupervisorOrder::Halt)? {
            Event::Halted { took_ns } => {
                self.record.stops_ns.push(took_ns);
                Ok(())
            }
            other => Err(nonsense(&other)),
        }
    }

    /// Why the server is not there any more, waited for so long; none: it is.
    pub(super) fn complaint(&mut self, wait: Duration) -> Option<Complaint> {
        match self.worker.receive(wait) {
            WorkerMessage::Silence => None,
            heard => Some(self.unasked(heard)),
        }
    }

    /// What a supervisor says that nobody asked for is why there is no server.
    fn unasked(&mut self, heard: WorkerMessage) -> Complaint {
        match heard {
            WorkerMessage::Event(event) => match *event {
                Event::Failed { class, message, .. } => Complaint::new(class, message),
                other => nonsense(&other),
            },
            WorkerMessage::Nonsense(line) => {
                Complaint::new(ErrorClass::Other, format!("the supervisor said {line:?}"))
            }
            WorkerMessage::End | WorkerMessage::Silence => self.ended(),
        }
    }

    /// It said nothing, and is gone.
    fn ended(&mut self) -> Complaint {
        let begun = Instant::now();
        while !self.worker.has_ended() && begun.elapsed() < ENDING {}
        if !self.worker.has_ended() {
            self.worker.kill();
            let what = "the server's supervisor closed its output and did not end";
            return Complaint::new(ErrorClass::Unavailable, what);
        }
        let exit = self.worker.wait().ok();
        let how = exit.as_ref().map_or_else(|| "has ended".to_owned(), exit_words);
        Complaint {
            class: ErrorClass::Unavailable,
            message: format!("the server's supervisor {how}, and its server with it"),
            signal: exit.and_then(|exit| exit.signal),
        }
    }

    /// Ends it, and the server with it where that still runs; what the two have used, and what
    /// went wrong.
    pub(super) fn end(mut self) -> (ServerRecord, Option<String>) {
        let left = self.leave();
        let ours = self.pid().is_some();
        let usage = self.worker.wait().ok().map(|exit| exit.usage).filter(|_| ours);
        (ServerRecord { usage, ..std::mem::take(&mut self.record) }, left)
    }

    /// Has it end, and hears its last words. A database elsewhere is taken away first.
    fn leave(&mut self) -> Option<String> {
        self.worker.close_input();
        let begun = Instant::now();
        while !self.worker.has_ended() {
            let interrupted = self.environment.run.interrupt.insisted();
            if begun.elapsed() > LEAVING || interrupted {
                self.worker.kill();
            }
        }
        while let WorkerMessage::Event(event) = self.worker.receive(Duration::ZERO) {
            if let Event::Failed { message, .. } = *event {
                return Some(message);
            }
        }
        None
    }

    /// It takes too long. What is to take a database away does so when it hears nothing more.
    fn give_up(&mut self) {
        match self.pid() {
            Some(_) => self.worker.kill(),
            None => self.worker.close_input(),
        }
    }

    fn obeyed(&mut self, order: &SupervisorOrder) -> Result<Event, Complaint> {
        // One that has gone is heard to have gone.
        let said = self.worker.send(order);
        let interrupt = &self.environment.run.interrupt;
        let (mut hurried, mut deadline) = (false, self.deadline);
        if self.pid().is_none() && matches!(order, SupervisorOrder::Halt) {
            deadline = deadline.max(Instant::now() + LEAVING);
            hurried = true;
        }
        loop {
            let heard = self.worker.receive(LOOK_EVERY);
            match heard {
                WorkerMessage::Event(event) if !matches!(*event, Event::Failed { .. }) => {
                    return Ok(*event);
                }
                WorkerMessage::Silence if said.is_ok() => {}
                heard => return Err(self.unasked(heard)),
            }
            if interrupt.is_requested() && !hurried {
                (hurried, deadline) = (true, deadline.min(Instant::now() + PATIENCE));
            }
            if interrupt.insisted() || Instant::now() > deadline {
                self.give_up();
                let what = "the server did not start or stop within the case's budget, or its \
                            patience after an interrupt";
                return Err(Complaint::new(ErrorClass::Unavailable, what));
            }
        }
    }
}

/// However a case ends, no database of it is left elsewhere.
impl Drop for Supervisor<'_> {
    fn drop(&mut self) {
        if self.pid().is_none() {
            self.leave();
        }
    }
}

fn nonsense(event: &Event) -> Complaint {
    Complaint::new(ErrorClass::Other, format!("the supervisor said {event:?}"))
}
