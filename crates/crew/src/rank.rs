//! A rank at work: its own worker, the orders of the first rank; and of the first rank itself the
//! program's words, the captain, and the case's files.

use crate::transport::{Transport, unix_ns};
use kvdyno_crew::{Begin, Captain, ClockOffset, CrewLog, Hand, Order, RankSlice, Report, Turn};
use kvdyno_engine::ErrorClass;
use kvdyno_record::crew::Seat;
use kvdyno_record::files::sha256;
use kvdyno_record::protocol::{Control, Event, Job};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{self, BufRead as _, Write as _};
use std::path::Path;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::Duration;

/// Between two looks for messages: while a phase runs nobody waits for any but a stop.
const LOOK_AT_WORK: Duration = Duration::from_millis(10);
const LOOK: Duration = Duration::from_millis(1);

/// Round trips by which two clocks are held against each other.
const PINGS: u32 = 100;

/// Slices of each rank that are in memory together: a long phase of many ranks is not gathered at
/// once.
const SLICES: usize = 16;

/// One rank.
pub(crate) struct RankAtWork<'t> {
    transport: &'t Transport,
    command: Vec<OsString>,
    hand: Option<Hand>,
    /// A phase runs.
    at_work: bool,
    over: bool,
}

/// What only the first rank has.
struct First {
    captain: Captain,
    log: CrewLog,
    program: Receiver<String>,
    /// Reports that came while others were waited for.
    late: VecDeque<(u32, Report)>,
}

impl<'t> RankAtWork<'t> {
    pub(crate) fn new(transport: &'t Transport, command: Vec<OsString>) -> Self {
        Self { transport, command, hand: None, at_work: false, over: false }
    }

    /// From the job to the end of all ranks.
    pub(crate) fn run(&mut self) -> io::Result<()> {
        if self.transport.rank > 0 {
            return self.follow();
        }
        // The others wait for an end, whatever it is.
        self.lead().or_else(|error| self.refuse(&format!("the crew cannot go on: {error}")))
    }

    fn seat(&self) -> Seat {
        Seat { rank: self.transport.rank, ranks: self.transport.ranks }
    }

    /// Any rank but the first: it does what it is told, and reports what its worker says.
    fn follow(&mut self) -> io::Result<()> {
        self.transport.report(&host())?;
        while !self.over {
            while let Some(order) = self.transport.ordered()? {
                self.obey_and_report(order)?;
            }
            if let Some(report) = self.heard() {
                self.transport.report(&report)?;
            }
        }
        Ok(())
    }

    fn obey_and_report(&mut self, order: Order) -> io::Result<()> {
        match order {
            Order::Slices { phase, count } => {
                let hand = self.hand.as_mut().ok_or(io::ErrorKind::NotFound)?;
                let slices = hand.slices(&phase, count);
                self.transport.report(&slices.map_or_else(|error| lost(&error), Report::Slices))
            }
            Order::Pings { count } => {
                self.transport.answer_pings(count);
                Ok(())
            }
            order => match self.obey(order) {
                Ok(()) => Ok(()),
                Err(error) => self.transport.report(&lost(&error)),
            },
        }
    }

    /// What its worker says, waited for a moment.
    fn heard(&mut self) -> Option<Report> {
        let wait = if self.at_work { LOOK_AT_WORK } else { LOOK };
        let Some(hand) = &mut self.hand else {
            std::thread::sleep(wait);
            return None;
        };
        let report = hand.report(wait).unwrap_or_else(|error| {
            self.hand = None;
            Some(lost(&error))
        });
        if let Some(Report::Event { event: Event::Finished { .. } }) = report {
            self.at_work = false;
        }
        report
    }

    fn obey(&mut self, order: Order) -> io::Result<()> {
        match order {
            Order::Begin(begin) => {
                let own = worker_of(&self.command)?;
                if own != begin.worker {
                    let path = self.command[0].to_string_lossy();
                    return Err(io::Error::other(format!(
                        "{path} is another program here than on the first host: install the same"
                    )));
                }
                self.hand = Some(Hand::start(&self.command, self.seat(), &begin)?);
            }
            Order::Go => self.control(Control::Go),
            Order::GoTogether => {
                self.transport.meet();
                self.control(Control::Go);
                self.at_work = true;
            }
            Order::Stop => self.control(Control::Stop),
            Order::End => {
                self.hand = None;
                self.over = true;
            }
            Order::Pings { .. } | Order::Slices { .. } => {}
        }
        Ok(())
    }

    fn control(&mut self, control: Control) {
        if let Some(hand) = &mut self.hand {
            hand.control(control);
        }
    }

    /// The first rank: between the program and all ranks.
    fn lead(&mut self) -> io::Result<()> {
        let program = listen();
        let job = program.recv().map_err(|_| io::Error::other("no job came"))?;
        let job = Job::from_json(&job)?;
        let captain = Captain::new(job.clone(), self.transport.ranks);
        let log = CrewLog::create(&job.folder, unix_ns());
        let log = match log.and_then(|log| Ok((log, self.begin(job)?))) {
            Ok((log, begin)) => {
                self.order(&Order::Begin(Box::new(begin)))?;
                log
            }
            Err(error) => {
                let remedy = "the first host of a crew must be the machine that kvdyno runs on";
                return self.refuse(&format!("the crew cannot begin: {error}; {remedy}"));
            }
        };
        let late = VecDeque::from([(0, host())]);
        let mut first = First { captain, log, program, late };
        while !self.over {
            if let Some(report) = self.heard() {
                self.take_in(0, report, &mut first)?;
            }
            while let Some((rank, report)) = self.next_report(&mut first)? {
                self.take_in(rank, report, &mut first)?;
            }
            self.hear_program(&mut first)?;
        }
        Ok(())
    }

    /// Ends all ranks for a reason.
    fn refuse(&mut self, why: &str) -> io::Result<()> {
        let (class, message) = (ErrorClass::Other, why.to_owned());
        // Nobody may be there to hear it.
        let _ = say(&Event::Failed { phase: None, class, message });
        self.order(&Order::End)
    }

    /// What all ranks need to know. A worker attached to a server finds its URL in a variable.
    fn begin(&self, job: Job) -> io::Result<Begin> {
        let mut words = self.command.iter().filter_map(|word| word.to_str());
        let name = words.find_map(|word| word.strip_prefix("env:"));
        let read = |name: &str| {
            let value = std::env::var(name).map_err(io::Error::other)?;
            Ok::<_, io::Error>((name.to_owned(), value))
        };
        let variable = name.map(read).transpose()?;
        Ok(Begin { job, variable, worker: worker_of(&self.command)? })
    }

    fn next_report(&self, first: &mut First) -> io::Result<Option<(u32, Report)>> {
        match first.late.pop_front() {
            Some(late) => Ok(Some(late)),
            None => self.transport.reported(),
        }
    }

    fn hear_program(&mut self, first: &mut First) -> io::Result<()> {
        loop {
            let line = match first.program.try_recv() {
                Ok(line) => line,
                Err(TryRecvError::Empty) => return Ok(()),
                // It is dead, and nobody would keep what is measured.
                Err(TryRecvError::Disconnected) => return self.order(&Order::End),
            };
            let control = Control::from_json(&line)?;
            let turns = first.captain.told(control);
            self.take(turns, first)?;
        }
    }

    fn take_in(&mut self, rank: u32, report: Report, first: &mut First) -> io::Result<()> {
        let turns = first.captain.hear(rank, report);
        self.take(turns, first)
    }

    fn take(&mut self, turns: Vec<Turn>, first: &mut First) -> io::Result<()> {
        for turn in turns {
            match turn {
                Turn::Say(event) => say(&event)?,
                Turn::Order(order) => self.order(&order)?,
                Turn::Clocks => {
                    let others =
                        (1..self.transport.ranks).map(|rank| self.transport.clock_of(rank, PINGS));
                    let clocks = others.collect::<io::Result<Vec<_>>>()?;
                    first.captain.clocks_are([ClockOffset::default()].into_iter().chain(clocks));
                }
                Turn::Merge { phase, started_unix_ns } => {
                    if let Err(error) = self.merge(&phase, started_unix_ns, first) {
                        let message = format!("putting slices together: {error}");
                        let turns = first.captain.fail(0, None, ErrorClass::Other, &message);
                        return self.take(turns, first);
                    }
                }
                Turn::Over => {
                    self.file_events(first)?;
                    self.order(&Order::End)?;
                }
            }
        }
        Ok(())
    }

    /// To all ranks, this one among them.
    fn order(&mut self, order: &Order) -> io::Result<()> {
        if !self.over {
            self.transport.order(order)?;
            self.obey(order.clone())?;
        }
        Ok(())
    }

    /// Puts all ranks' slices of a phase together, some at a time.
    fn merge(&mut self, phase: &str, started_unix_ns: u64, first: &mut First) -> io::Result<()> {
        let order = Order::Slices { phase: phase.to_owned(), count: SLICES };
        loop {
            self.transport.order(&order)?;
            let hand = self.hand.as_mut().ok_or(io::ErrorKind::NotFound)?;
            let own = hand.slices(phase, SLICES)?;
            let mut last = own.last;
            let mut by_rank: Vec<Vec<RankSlice>> = vec![own.slices];
            for rank in 1..self.transport.ranks {
                let slices = loop {
                    match self.transport.report_of(rank)? {
                        (_, Report::Slices(slices)) => break slices,
                        (_, Report::Lost { message, .. }) => {
                            return Err(io::Error::other(format!("rank {rank}: {message}")));
                        }
                        late => first.late.push_back(late),
                    }
                };
                last &= slices.last;
                by_rank.push(slices.slices);
            }
            first.log.add(started_unix_ns, &by_rank)?;
            if last {
                return self.file_events(first);
            }
        }
    }

    /// What happened inside the engine, as the first rank's worker saw it.
    fn file_events(&mut self, first: &mut First) -> io::Result<()> {
        let events = self.hand.as_mut().map_or_else(|| Ok(Vec::new()), Hand::events)?;
        first.log.events(&events)
    }
}

fn host() -> Report {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    Report::Host { name }
}

fn lost(error: &io::Error) -> Report {
    Report::Lost { class: ErrorClass::Other, message: error.to_string() }
}

/// The checksum of the worker that is to be started.
fn worker_of(command: &[OsString]) -> io::Result<String> {
    let path = command.first().ok_or(io::ErrorKind::InvalidInput)?;
    sha256(Path::new(path)).map_err(io::Error::other)
}

/// One event line to the program.
fn say(event: &Event) -> io::Result<()> {
    io::stdout().lock().write_all(&event.to_line()?)
}

/// The program's lines.
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
