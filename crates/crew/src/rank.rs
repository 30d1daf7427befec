//! A rank at work: its own worker, and the orders of the first rank. The first rank also handles
//! the program's messages, the coordinator, and the case's files.

use crate::transport::{Transport, unix_ns};
use kvdyno_crew::{
    Action, Begin, ClockOffset, Coordinator, CrewLog, Gatherer, Order, RankProxy, Report, Step,
    worker_checksum,
};
use kvdyno_engine::{Error, ErrorClass};
use kvdyno_record::crew::RankId;
use kvdyno_record::protocol::{Control, Event, Job};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{self, BufRead as _, Write as _};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::{Duration, Instant};

/// Intervals between polls for messages; while a phase runs, only a stop can come.
const LOOK_AT_WORK: Duration = Duration::from_millis(10);
const LOOK: Duration = Duration::from_millis(1);

/// Round trips to compare two clocks.
const PINGS: u32 = 100;

/// After another rank's failure, ranks get this long to write their results.
const PATIENCE: Duration = Duration::from_secs(10);

/// One rank.
pub(crate) struct RankAtWork<'t> {
    transport: &'t Transport,
    command: Vec<OsString>,
    rank_proxy: Option<RankProxy>,
    gatherer: Gatherer,
    /// Whether a phase runs.
    at_work: bool,
    ended: bool,
}

/// The state that only the first rank has.
struct First {
    coordinator: Coordinator,
    log: CrewLog,
    program: Receiver<String>,
    /// When the running phase began, by the first rank's worker; `None`: not reported yet.
    started_unix_ns: Option<u64>,
    /// The time since which a rank has failed in the running phase; `None`: no rank has.
    doomed: Option<Instant>,
    /// Reports that came while others were waited for.
    late: VecDeque<(u32, Report)>,
}

impl<'t> RankAtWork<'t> {
    pub(crate) fn new(transport: &'t Transport, command: Vec<OsString>) -> Self {
        let gatherer = Gatherer::new(transport.rank, transport.ranks);
        Self { transport, command, rank_proxy: None, gatherer, at_work: false, ended: false }
    }

    /// Runs the rank, from the job to the end of all ranks.
    pub(crate) fn run(&mut self) -> io::Result<()> {
        if self.transport.rank > 0 {
            return self.follow();
        }
        // The other ranks wait for an end, whatever its reason is.
        self.lead().or_else(|error| self.refuse(&format!("the crew cannot continue: {error}")))
    }

    fn rank_id(&self) -> RankId {
        RankId { rank: self.transport.rank, ranks: self.transport.ranks }
    }

    /// Runs any rank but the first: follows orders, and forwards its worker's events. A rank that
    /// cannot continue reports this, and waits for the end as the others do.
    fn follow(&mut self) -> io::Result<()> {
        self.transport.report(&host())?;
        while !self.ended {
            if let Err(error) = self.follow_once() {
                self.rank_proxy = None;
                self.transport.report(&lost_report(&error))?;
            }
        }
        Ok(())
    }

    fn follow_once(&mut self) -> io::Result<()> {
        while let Some(order) = self.transport.receive_order()? {
            self.execute_order(order)?;
        }
        if let Some(report) = self.receive() {
            self.transport.report(&report)?;
        }
        self.gather()
    }

    /// Passes slices on: its own, and those of the ranks below.
    fn gather(&mut self) -> io::Result<()> {
        if self.transport.is_requested() {
            self.gatherer.request();
        }
        while let Some((rank, slices)) = self.transport.receive_answer()? {
            self.gatherer.add_answer(rank, slices);
        }
        let files = self.rank_proxy.as_mut().and_then(RankProxy::files);
        for step in self.gatherer.steps(files, !self.at_work)? {
            match step {
                Step::Ask(rank) => self.transport.ask(rank),
                Step::Answer(slices) => self.transport.answer(&slices)?,
            }
        }
        Ok(())
    }

    /// Returns the next report of its worker, after a short wait.
    fn receive(&mut self) -> Option<Report> {
        let wait = if self.at_work { LOOK_AT_WORK } else { LOOK };
        let Some(rank_proxy) = &mut self.rank_proxy else {
            std::thread::sleep(wait);
            return None;
        };
        let report = rank_proxy.report(wait).unwrap_or_else(|error| {
            self.rank_proxy = None;
            Some(lost_report(&error))
        });
        if let Some(Report::Event { event: Event::Finished { .. } }) = report {
            self.at_work = false;
        }
        report
    }

    fn execute_order(&mut self, order: Order) -> io::Result<()> {
        match order {
            Order::Begin(begin) => {
                let worker = worker_checksum(&self.command)?;
                if worker != begin.worker {
                    let path = self.command[0].to_string_lossy();
                    return Err(io::Error::other(format!(
                        "{path} differs from that on the first host: install the same program"
                    )));
                }
                self.rank_proxy = Some(RankProxy::start(&self.command, self.rank_id(), &begin)?);
            }
            Order::Go => self.control(Control::Go),
            Order::GoTogether { phase } => {
                self.gatherer.begin(&phase);
                self.transport.barrier();
                self.control(Control::Go);
                self.at_work = true;
            }
            Order::Stop => self.control(Control::Stop),
            // A worker that has failed, or is done, waits for go: a stop would let it go on.
            Order::Cut if self.at_work => self.control(Control::Stop),
            Order::Cut => {}
            Order::Pings { count } => self.transport.answer_pings(count),
            Order::End => {
                self.rank_proxy = None;
                self.ended = true;
            }
        }
        Ok(())
    }

    fn control(&mut self, control: Control) {
        if let Some(rank_proxy) = &mut self.rank_proxy {
            rank_proxy.control(control);
        }
    }

    /// Runs the first rank, between the program and all ranks.
    fn lead(&mut self) -> io::Result<()> {
        let program = listen();
        let job = program.recv().map_err(|_| {
            io::Error::other(
                "expected a job, found the end of \
            the input",
            )
        })?;
        let job = Job::from_json(&job)?;
        let coordinator = Coordinator::new(job.clone(), self.transport.ranks);
        let log = match CrewLog::create(&job.dir, unix_ns()) {
            Ok(log) => log,
            Err(error) => {
                let remedy = "the first host of a crew must be the machine that kvdyno runs on";
                return self.refuse(&format!("the crew cannot begin: {error}; {remedy}"));
            }
        };
        let begin = match Begin::new(job, &self.command) {
            Ok(begin) => begin,
            Err(error) => return self.refuse(&format!("the crew cannot begin: {error}")),
        };
        self.order(&Order::Begin(Box::new(begin)))?;
        let late = VecDeque::from([(0, host())]);
        let (started_unix_ns, doomed) = (None, None);
        let mut first = First { coordinator, log, program, started_unix_ns, doomed, late };
        while !self.ended {
            if let Some(report) = self.receive() {
                self.handle_report(0, report, &mut first)?;
            }
            while let Some((rank, report)) = self.next_report(&mut first)? {
                self.handle_report(rank, report, &mut first)?;
            }
            self.read_program(&mut first)?;
            if let Err(error) = self.gather_all(&mut first) {
                let failed = fail_gathering(&error, &mut first);
                self.perform(failed, &mut first)?;
            }
            self.give_up_if_doomed(&mut first)?;
        }
        Ok(())
    }

    /// Ends all ranks for a reason.
    fn refuse(&mut self, why: &str) -> io::Result<()> {
        let error = Error::new(ErrorClass::Other, why);
        // The program may be gone.
        let _ = send_event(&Event::from_error(None, &error));
        self.order(&Order::End)
    }

    fn next_report(&self, first: &mut First) -> io::Result<Option<(u32, Report)>> {
        match first.late.pop_front() {
            Some(late) => Ok(Some(late)),
            None => self.transport.receive_report(),
        }
    }

    fn read_program(&mut self, first: &mut First) -> io::Result<()> {
        loop {
            let line = match first.program.try_recv() {
                Ok(line) => line,
                Err(TryRecvError::Empty) => return Ok(()),
                // The program is dead, and nobody would keep the results.
                Err(TryRecvError::Disconnected) => return self.order(&Order::End),
            };
            let control = Control::from_json(&line)?;
            let actions = first.coordinator.control(control);
            self.perform(actions, first)?;
        }
    }

    /// Ends the crew, after a while, if ranks do not end a phase in which another rank has failed.
    fn give_up_if_doomed(&mut self, first: &mut First) -> io::Result<()> {
        if !first.coordinator.is_doomed() {
            first.doomed = None;
            return Ok(());
        }
        if first.doomed.get_or_insert_with(Instant::now).elapsed() < PATIENCE {
            return Ok(());
        }
        let actions = first.coordinator.give_up();
        self.perform(actions, first)
    }

    fn handle_report(&mut self, rank: u32, report: Report, first: &mut First) -> io::Result<()> {
        if let (0, Report::Event { event }) = (rank, &report) {
            first.started_unix_ns = started_unix_ns(event).or(first.started_unix_ns);
        }
        let actions = first.coordinator.receive(rank, report);
        self.perform(actions, first)
    }

    fn perform(&mut self, actions: Vec<Action>, first: &mut First) -> io::Result<()> {
        for action in actions {
            match action {
                Action::Say(event) => send_event(&event)?,
                Action::Order(order) => self.order(&order)?,
                Action::Clocks => {
                    let others = (1..self.transport.ranks)
                        .map(|rank| self.transport.measure_clock_offset(rank, PINGS));
                    let clocks = others.collect::<io::Result<Vec<_>>>()?;
                    first
                        .coordinator
                        .set_clocks([ClockOffset::default()].into_iter().chain(clocks));
                }
                Action::Gather => {
                    // A crew that has failed already has reported the reason, and ends with the
                    // slices at hand.
                    if let Err(error) = self.gather_rest(first) {
                        let failed = fail_gathering(&error, first);
                        if !failed.is_empty() {
                            return self.perform(failed, first);
                        }
                    }
                }
                Action::Over => {
                    self.file_events(first)?;
                    self.order(&Order::End)?;
                }
            }
        }
        Ok(())
    }

    /// Gives an order to all ranks, also to this one.
    fn order(&mut self, order: &Order) -> io::Result<()> {
        if !self.ended {
            self.transport.order(order)?;
            self.execute_order(order.clone())?;
        }
        Ok(())
    }

    /// Files the slices that all ranks have sent; for the first rank.
    fn gather_all(&mut self, first: &mut First) -> io::Result<()> {
        self.gather()?;
        let mut any = false;
        while let Some(started_unix_ns) = first.started_unix_ns
            && let Some(total) = self.gatherer.next_total()?
        {
            first.log.add(started_unix_ns, &total)?;
            any = true;
        }
        if any { self.file_events(first) } else { Ok(()) }
    }

    /// Files slices until all of the phase are there.
    fn gather_rest(&mut self, first: &mut First) -> io::Result<()> {
        loop {
            self.gather_all(first)?;
            if self.gatherer.is_over() {
                first.started_unix_ns = None;
                return self.file_events(first);
            }
            while let Some((rank, report)) = self.transport.receive_report()? {
                if let Report::Lost { message, .. } = &report {
                    return Err(io::Error::other(format!("rank {rank}: {message}")));
                }
                first.late.push_back((rank, report));
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Files the events inside the engine, as the first rank's worker saw them.
    fn file_events(&mut self, first: &mut First) -> io::Result<()> {
        let events = self.rank_proxy.as_mut().map_or_else(|| Ok(Vec::new()), RankProxy::events)?;
        first.log.events(&events)
    }
}

fn host() -> Report {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let cpus = std::thread::available_parallelism().map_or(1, |cpus| cpus.get() as u32);
    Report::Host { name, cpus }
}

fn lost_report(error: &io::Error) -> Report {
    Report::Lost { class: ErrorClass::Other, message: error.to_string() }
}

fn fail_gathering(error: &io::Error, first: &mut First) -> Vec<Action> {
    let message = format!("merging slices: {error}");
    first.coordinator.fail(0, None, ErrorClass::Other, &message)
}

/// The time when the running phase began, if the event contains it.
fn started_unix_ns(event: &Event) -> Option<u64> {
    match event {
        Event::Progress { started_unix_ns, .. } | Event::Finished { started_unix_ns, .. } => {
            Some(*started_unix_ns)
        }
        _ => None,
    }
}

/// Sends an event to the program, as one line.
fn send_event(event: &Event) -> io::Result<()> {
    io::stdout().lock().write_all(&event.to_line()?)
}

/// Returns the program's lines, which a thread reads.
fn listen() -> Receiver<String> {
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    lines
}
