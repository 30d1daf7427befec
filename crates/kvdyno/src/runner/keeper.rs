//! The keeper of a case whose engine is a server: told to start it and to stop it, and heard until
//! it has.

use super::count;
use super::environment::CaseEnvironment;
use super::memory::CaseMemory;
use super::worker::{Heard, Worker};
use kvdyno_host::processor::Processor;
use kvdyno_record::case::{ServerRecord, WorkerIdentity};
use kvdyno_record::engine::{ErrorClass, Options};
use kvdyno_record::protocol::{Event, KeeperOrder, ServerJob};
use std::fs::File;
use std::time::{Duration, Instant};

/// Between two looks at whether the user wants an end.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// A server that is starting or stopping when the user wants an end gets this long.
const PATIENCE: Duration = Duration::from_secs(30);

/// One that is to end gets this long: a database elsewhere may be large.
const LEAVING: Duration = Duration::from_secs(120);

/// Why a server is not there, or not in the state it was told to be in.
pub(super) type Complaint = (ErrorClass, String);

/// A keeper and its server.
pub(super) struct Keeper<'r> {
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

impl<'r> Keeper<'r> {
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
            (ErrorClass::Other, what)
        })?;
        let (record, options) = (ServerRecord::default(), environment.case.options.clone());
        let deadline = Instant::now() + Duration::from_nanos(environment.case.budget_ns);
        let ours = environment.case.server.is_none();
        let processor = count::by_processor(environment, &worker).filter(|_| ours);
        let mut keeper = Self { environment, worker, processor, record, options, deadline };
        keeper.serve()?;
        Ok(Some(keeper))
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
        let order = KeeperOrder::Serve(ServerJob {
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
        match self.obeyed(&KeeperOrder::Halt)? {
            Event::Halted { took_ns } => {
                self.record.stops_ns.push(took_ns);
                Ok(())
            }
            other => Err(nonsense(&other)),
        }
    }

    /// Why the server is not there any more, waited for so long; none: it is.
    pub(super) fn complaint(&mut self, wait: Duration) -> Option<Complaint> {
        match self.worker.hear(wait) {
            Heard::Silence => None,
            heard => Some(unasked(heard)),
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
        while let Heard::Event(event) = self.worker.hear(Duration::ZERO) {
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

    fn obeyed(&mut self, order: &KeeperOrder) -> Result<Event, Complaint> {
        let gone = |error| (ErrorClass::Unavailable, format!("the keeper has gone: {error}"));
        self.worker.say(order).map_err(gone)?;
        let interrupt = &self.environment.run.interrupt;
        let (mut hurried, mut deadline) = (false, self.deadline);
        if self.pid().is_none() && matches!(order, KeeperOrder::Halt) {
            deadline = deadline.max(Instant::now() + LEAVING);
            hurried = true;
        }
        loop {
            let heard = self.worker.hear(LOOK_EVERY);
            match heard {
                Heard::Event(event) if !matches!(*event, Event::Failed { .. }) => {
                    return Ok(*event);
                }
                Heard::Silence => {}
                heard => return Err(unasked(heard)),
            }
            if interrupt.asked() && !hurried {
                (hurried, deadline) = (true, deadline.min(Instant::now() + PATIENCE));
            }
            if interrupt.insisted() || Instant::now() > deadline {
                self.give_up();
                let what = "the server did not start or stop within the case's budget, or its \
                            patience after an interrupt";
                return Err((ErrorClass::Unavailable, what.to_owned()));
            }
        }
    }
}

/// However a case ends, no database of it is left elsewhere.
impl Drop for Keeper<'_> {
    fn drop(&mut self) {
        if self.pid().is_none() {
            self.leave();
        }
    }
}

/// What a keeper says that nobody asked for is why there is no server.
fn unasked(heard: Heard) -> Complaint {
    match heard {
        Heard::Event(event) => match *event {
            Event::Failed { class, message, .. } => (class, message),
            other => nonsense(&other),
        },
        Heard::Nonsense(line) => (ErrorClass::Other, format!("the keeper said {line:?}")),
        Heard::End | Heard::Silence => {
            (ErrorClass::Unavailable, "the server's keeper has ended".to_owned())
        }
    }
}

fn nonsense(event: &Event) -> Complaint {
    (ErrorClass::Other, format!("the keeper said {event:?}"))
}
