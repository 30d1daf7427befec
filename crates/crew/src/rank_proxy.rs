//! A rank's own worker: started with the job, read from, and ended with it.

use crate::message::{Begin, Report};
use crate::slices::{LATENCY, RankFiles};
use kvdyno_engine::{EngineEvent, ErrorClass};
use kvdyno_host::child::{Child, ExitStatus};
use kvdyno_record::crew::RankId;
use kvdyno_record::protocol::{Control, Event};
use serde::Serialize;
use std::ffi::OsString;
use std::io::{self, BufRead as _, BufReader, Read, Write as _};
use std::process::{ChildStdin, Command};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The most bytes that are read as one line: no event is longer.
const LINE_BYTES_MAX: u64 = 64 << 20;

/// A worker that has closed its output gets this long to end.
const PATIENCE: Duration = Duration::from_secs(2);

/// A worker at work. Dropping it kills the worker with all that it has started.
pub struct RankProxy {
    child: Child,
    input: Option<ChildStdin>,
    messages: Receiver<WorkerMessage>,
    /// The directory in which the worker creates its files, until they exist. Then their names are
    /// removed: however this ends, the files do not stay on the disk.
    dir: Option<TempDir>,
    files: Option<RankFiles>,
    /// Whether it has sent its last event: done or failed.
    said_last: bool,
    ended: bool,
}

enum WorkerMessage {
    Event(Box<Event>),
    Nonsense(String),
}

impl RankProxy {
    /// Starts a worker by its command line and hands it the job, with its rank. The worker dies
    /// with the thread that calls this.
    pub fn start(command: &[OsString], seat: RankId, begin: &Begin) -> io::Result<Self> {
        let (program, words) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut command = Command::new(program);
        command.args(words).envs(begin.variable.clone());
        let mut child = Child::spawn(command, None)?;
        let no_pipes = || io::Error::other("the child has no pipes");
        let output = child.stdout.take().ok_or_else(no_pipes)?;
        let errors = child.stderr.take().ok_or_else(no_pipes)?;
        let input = Some(child.stdin.take().ok_or_else(no_pipes)?);
        let (sender, messages) = channel();
        std::thread::spawn(move || listen(output, |message| sender.send(message).is_ok()));
        std::thread::spawn(move || print_errors(errors, seat.rank));
        let dir = tempfile::Builder::new().prefix("kvdyno-crew-").tempdir()?;
        let mut job = begin.job.clone();
        (job.dir, job.crew) = (dir.path().to_owned(), Some(seat));
        let (files, dir) = (None, Some(dir));
        let mut rank_proxy =
            Self { child, input, messages, dir, files, said_last: false, ended: false };
        // A worker that dies before it has read the job is noticed at its end.
        let _ = rank_proxy.send(&job);
        Ok(rank_proxy)
    }

    /// Sends go or stop. The error of a dying worker is ignored: its end follows.
    pub fn control(&mut self, control: Control) {
        let _ = self.send(&control);
    }

    fn send(&mut self, value: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(value)?;
        line.push(b'\n');
        self.input.as_mut().ok_or(io::ErrorKind::BrokenPipe)?.write_all(&line)
    }

    /// Returns the next report, after at most this wait; `None`: there is nothing, or the end was
    /// reported before.
    pub fn report(&mut self, wait: Duration) -> io::Result<Option<Report>> {
        if self.ended {
            std::thread::sleep(wait);
            return Ok(None);
        }
        let message = self.messages.recv_timeout(wait);
        self.open_files()?;
        match message {
            Ok(WorkerMessage::Event(event)) => {
                self.said_last |= matches!(*event, Event::Done { .. } | Event::Failed { .. });
                Ok(Some(Report::Event { event: *event }))
            }
            Ok(WorkerMessage::Nonsense(line)) => {
                self.ended = true;
                Ok(Some(lost_report(format!("unexpected output of the worker: {line:?}"))))
            }
            // The poll also ends the processes of a dead worker, which may hold its output open.
            Err(RecvTimeoutError::Timeout) => self.child.poll().map(|_| None),
            Err(RecvTimeoutError::Disconnected) => {
                self.ended = true;
                // Its input is closed, so that it has no reason to stay.
                self.input = None;
                let exit = self.exit()?;
                let ended =
                    || lost_report(format!("the worker {} without a message", format_exit(&exit)));
                Ok(Some(if self.said_last { Report::Ended } else { ended() }))
            }
        }
    }

    /// Waits for the worker's end, and kills it if it does not end.
    fn exit(&mut self) -> io::Result<ExitStatus> {
        let begun = Instant::now();
        while self.child.poll()?.is_none() {
            if begun.elapsed() > PATIENCE {
                self.child.kill();
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        self.child.wait()
    }

    /// Opens the worker's files once they are there, and takes their names away.
    fn open_files(&mut self) -> io::Result<()> {
        let has_files = |dir: &TempDir| dir.path().join(LATENCY).exists();
        if let Some(dir) = self.dir.take_if(|dir| has_files(dir)) {
            self.files = Some(RankFiles::open(dir.path())?);
            dir.close()?;
        }
        Ok(())
    }

    /// The worker's files; `None`: it has made none yet.
    pub fn files(&mut self) -> Option<&mut RankFiles> {
        self.files.as_mut()
    }

    /// Reads the events inside the engine since the last call, as this worker saw them.
    pub fn events(&mut self) -> io::Result<Vec<EngineEvent>> {
        self.files.as_mut().map_or_else(|| Ok(Vec::new()), RankFiles::events)
    }
}

fn lost_report(message: String) -> Report {
    Report::Lost { class: ErrorClass::Other, message }
}

fn format_exit(exit: &ExitStatus) -> String {
    match (exit.code, exit.signal) {
        (_, Some(signal)) => format!("died of signal {signal}"),
        (Some(code), None) => format!("ended with code {code}"),
        (None, None) => "ended".to_owned(),
    }
}

fn listen(output: impl Read, mut on_message: impl FnMut(WorkerMessage) -> bool) {
    let mut output = BufReader::new(output);
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = output.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line);
        if !read.is_ok_and(|bytes| bytes > 0) {
            return;
        }
        let message = match serde_json::from_slice(&line) {
            Ok(event) => WorkerMessage::Event(Box::new(event)),
            Err(_) => {
                let text = String::from_utf8_lossy(&line);
                WorkerMessage::Nonsense(text.trim_end().chars().take(200).collect())
            }
        };
        if !on_message(message) {
            return;
        }
    }
}

/// Prints a worker's standard error with its rank: the launcher gathers it.
fn print_errors(errors: impl Read, rank: u32) {
    for line in BufReader::new(errors).split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line);
        let _ = writeln!(io::stderr(), "rank {rank}: {line}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coordinator::tests::job;

    /// Returns the reports of a rank whose worker is this script, until the worker has ended.
    fn run_script(script: &str) -> Vec<Report> {
        let begin = Begin { job: job(), variable: None, worker: String::new() };
        let command = ["sh", "-c", script].map(OsString::from);
        let seat = RankId { rank: 1, ranks: 2 };
        let mut rank_proxy = RankProxy::start(&command, seat, &begin).unwrap();
        let dir = rank_proxy.dir.as_ref().unwrap().path().to_owned();
        let begun = Instant::now();
        let mut reports = Vec::new();
        while !rank_proxy.ended {
            assert!(begun.elapsed() < Duration::from_secs(60), "{reports:?}");
            reports.extend(rank_proxy.report(Duration::from_millis(5)).unwrap());
        }
        drop(rank_proxy);
        assert!(!dir.exists(), "its directory goes with it");
        reports
    }

    #[test]
    fn a_worker_that_ends_is_noticed_though_what_it_started_lives() {
        let ended = "the worker ended with code 3 without a message";
        assert_eq!(run_script("sleep 1000 & exit 3"), [lost_report(ended.to_owned())]);
    }

    #[test]
    fn a_worker_that_closes_its_output_and_stays_is_killed() {
        let killed = "the worker died of signal 9 without a message";
        assert_eq!(run_script("exec >&-; sleep 1000"), [lost_report(killed.to_owned())]);
    }

    #[test]
    fn a_worker_that_talks_nonsense_is_lost() {
        let reports =
            run_script("echo '{\"event\":\"closed\",\"took_ns\":7}'; echo hello; sleep 1000");
        let closed = Report::Event { event: Event::Closed { took_ns: 7 } };
        assert_eq!(
            reports,
            [
                closed,
                lost_report(
                    "unexpected output of the worker: \
            \"hello\""
                        .to_owned()
                )
            ]
        );
    }
}
